"""Judge a policy on episodes it has not seen and on robots that differ."""

import sys
import webbrowser
from typing import Any

from omegaconf import DictConfig
from rich.console import Console
from rich.progress import track

from pliant.errors import check_bounds
from pliant.files import write_json
from pliant.scripts import _app
from pliant.scripts._environments import Env, make_environment, offered
from pliant.scripts._evaluate_report import rate, write_report
from pliant.scripts._evaluation import Episode, run_episode, summary
from pliant.scripts._policies import find_policy, named_policy

AS_BUILT, RANDOMISED = "as built", "randomised"


def run_all(config: DictConfig, env: Env, count: int, what: str, console: Console) -> list[Episode]:
    """Run a policy's episodes in one environment, and close it."""
    seed = int(config.seed)
    try:
        policy = find_policy(str(config.policy), offered(env), seed)
        shown = track(range(count), what, console=console, transient=True, disable=not console.is_terminal)
        return [run_episode(policy, env, seed + k) for k in shown]
    finally:
        env.close()


def job(config: DictConfig) -> float:
    """Evaluate; write `metrics.json` and `report.html` into the run's folder. Returns the success rate."""
    folder, console = _app.run_folder(), Console(soft_wrap=True)
    check_bounds("episodes", config.episodes, 1, 10**9)
    check_bounds("robots", config.robots, 0, 10**9)
    environments = {AS_BUILT: (make_environment(config), int(config.episodes))}
    if config.robots:
        varied = make_environment(config, randomisation=config.get("randomisation"))
        environments[RANDOMISED] = (varied, int(config.robots))
    conditions = {name: run_all(config, *pair, name, console) for name, pair in environments.items()}
    found = {name: summary(episodes) for name, episodes in conditions.items()}
    metrics = {
        "policy": str(config.policy),
        "task": str(config.task.name),
        "seed": int(config.seed),
        **found[AS_BUILT],
        **{f"{name}_randomised": value for name, value in found.get(RANDOMISED, {}).items()},
        "each": {name: [episode._asdict() for episode in episodes] for name, episodes in conditions.items()},
    }
    write_json(folder / "metrics.json", metrics)
    for name, values in found.items():
        show(name, values, console)
    console.print(f"results in {folder}")
    report = write_report(folder, str(config.policy), conditions, found) if config.report.write else None
    if report is not None:
        console.print(f"report: {report}")
        if config.report.open:
            webbrowser.open(report.resolve().as_uri())
    return float(found[AS_BUILT]["success_rate"])


def show(name: str, found: dict[str, Any], console: Console) -> None:
    """Print what was found under one condition."""
    mean, deviation, lowest, highest = (
        found[f"reward_{kind}"] for kind in ("mean", "deviation", "lowest", "highest")
    )
    console.print(f"{name:12} {found['episodes']:6} episodes: {rate(found)}", highlight=False)
    console.print(
        f"{'':12} reward {mean:.2f} ± {deviation:.2f}, from {lowest:.2f} to {highest:.2f}; "
        f"{found['length_mean']:.0f} periods, {found['failures']} failures of the robot",
        highlight=False,
    )


def main() -> None:
    """Run the verb on the command line's arguments."""
    with _app.explained_errors():
        sys.argv[1:] = named_policy(sys.argv[1:])
    _app.run(job, "evaluate")


if __name__ == "__main__":
    main()
