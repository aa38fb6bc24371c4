"""Identify a servo's motor and friction from recordings of a pendulum, and report how far to trust it."""

from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.actuators.bam import friction_model
from pliant.controllers.identification import SOURCE, HeldOut, identify, leave_one_gain_out, search_count
from pliant.controllers.pendulum_bench import load_recordings
from pliant.errors import ConfigurationError
from pliant.experiments.identification_report import write_report
from pliant.files import write_json
from pliant.progress import progress


def job(config: DictConfig) -> dict[str, Any]:
    """Identify, cross-validate, and write `servo.json`, `metrics.json` and `report.html`."""
    console = Console()
    folder = command_line.run_folder()
    recordings = load_recordings(config.recordings)
    console.print(f"{len(recordings)} recordings of servo {recordings[0].servo}; identifying {config.model} …")
    friction_model(str(config.model))  # an unknown one is refused before any work
    gains = {recording.p_gain for recording in recordings}
    if config.leave_one_gain_out and len(gains) < 2:
        raise ConfigurationError(
            f"all recordings have the P gain {gains.pop():g}, so none can be left out: leave_one_gain_out=false."
        )
    options: dict[str, Any] = {"starts": int(config.starts), "seed": int(config.seed)}
    searches = search_count(options["starts"])
    with progress(console, "identifying", searches, unit="searches") as steps:
        result = identify(recordings, str(config.model), source=SOURCE, note=steps.advance, **options)
    for estimate in result.estimates:
        console.print(
            f"  {estimate.name:18} {estimate.value:10.4g} ± {estimate.standard_error:.2g} {estimate.unit}",
            highlight=False,
        )
    console.print(f"mean absolute position error {1e3 * result.mae:.1f} mrad")
    folds: tuple[HeldOut, ...] = ()
    interrupted = False
    try:
        if config.leave_one_gain_out:
            with progress(console, "predicting unseen gains", searches * len(gains), unit="searches") as steps:
                folds = leave_one_gain_out(recordings, str(config.model), note=steps.advance, **options)
    except KeyboardInterrupt:
        interrupted = True
    for fold in folds:
        console.print(
            f"P gain {fold.p_gain:g} unseen, {'between' if fold.between else 'beyond'} those fitted: "
            f"{1e3 * fold.mae:.1f} mrad, up to {1e3 * fold.worst_mae:.1f} with fits as good; "
            f"{fold.covered:.0%} of it inside the 95 % band",
            highlight=False,
            soft_wrap=True,
        )
    entry = {**result.summary(), "leave_one_gain_out": [fold.summary() for fold in folds]}
    names = [recording.name for recording in recordings]
    write_json(folder / "servo.json", {"source": SOURCE, "recordings": names, "models": [entry]}, checksum=True)
    metrics = {
        "mae_rad": result.mae,
        "mae_per_recording_rad": {r.recording: r.mae for r in result.residuals},
        "mae_of_unseen_gain_rad": {f"{fold.p_gain:g}": fold.mae for fold in folds},
        "worst_mae_of_unseen_gain_rad": {f"{fold.p_gain:g}": fold.worst_mae for fold in folds},
        "covered_of_unseen_gain": {f"{fold.p_gain:g}": fold.covered for fold in folds},
    }
    write_json(folder / "metrics.json", metrics)
    if interrupted:
        raise KeyboardInterrupt(f"without the prediction of unseen gains and the report; the servo is in {folder}")
    ran = command_line.ran(f"servo {recordings[0].servo}", "simulated beside recordings of the real servo")
    report = write_report(folder, recordings, result, folds, ran)
    console.print(f"results in {folder}" + ("" if report is None else f"; report: {report}"), soft_wrap=True)
    return metrics


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "identify")


if __name__ == "__main__":
    main()
