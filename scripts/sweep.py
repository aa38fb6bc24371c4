"""Sum a sweep or a search up: table, best run, parallel coordinates and learning curves."""

import argparse
from pathlib import Path

from rich.console import Console
from rich.text import Text

from pliant import command_line
from pliant.errors import MissingFileError
from pliant.files import write_json
from pliant.training.sweep_report import Sweep, write_report
from pliant.training.sweeps import collect, show_jobs

_EPILOG = """\
A sweep is run by the verb that is varied, with --multirun:
  pliant ilc --multirun ilc.gain=0.3,0.5,0.7 robot.preset=0.2,0.6
  pliant train --multirun algo.gamma=0.97,0.98 seed=0,1 hydra/launcher=joblib
  pliant train --multirun hydra/sweeper=search 'algo.learning_rate.start=tag(log, interval(1e-4, 3e-3))'
"""


def main() -> None:
    """Sum up the folder on the command line."""
    parser = argparse.ArgumentParser(
        prog="pliant sweep",
        description=__doc__,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="SWEEPFOLDER", help="of a --multirun")
    parser.add_argument("--metric", help="number of metrics.json that counts; by default the verb's own")
    direction = parser.add_mutually_exclusive_group()
    direction.add_argument("--maximise", action="store_true", help="the largest is best")
    direction.add_argument("--minimise", action="store_true", help="the smallest is best")
    parser.add_argument("--open", action="store_true", help="show the report in a browser")
    options = parser.parse_args()
    command_line.note_command("sweep")
    with command_line.explained_errors():
        folder: Path = options.folder
        if not folder.is_dir():
            raise MissingFileError(f"sweep folder {folder} does not exist; looked from {Path.cwd()}.")
        sign = 1.0 if options.maximise else -1.0 if options.minimise else None
        sweep = Sweep.of(folder, collect(folder), options.metric, sign)
        console = Console()
        show_jobs(console, f"Sweep {sweep.folder}", sweep.jobs, sweep.numbers, sweep.best)
        console.print(Text(sweep.verdict), soft_wrap=True)
        write_json(folder / "summary.json", [job._asdict() for job in sweep.jobs])
        ran = command_line.ran(", ".join(sweep.robots), f"{len(sweep.jobs)} runs, summed up")
        command_line.show_report(write_report(sweep, ran), console, browse=options.open)


if __name__ == "__main__":
    main()
