"""Judge a policy on episodes it has not seen and on robots that differ."""

from functools import partial
from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.envs.description import described
from pliant.examples.catalogue import named_example
from pliant.files import write_json
from pliant.training.evaluation import AS_BUILT, evaluate, evaluation_metrics, missing_episodes
from pliant.training.reports import write_evaluation_report
from pliant.training.run_settings import named_policy, registered_environment, settings
from pliant.training.statistics import joint_errors, reward_text, success_text, summary

_JOINTS = 6
"""How many joints are told of, those with the largest errors."""


def job(config: DictConfig) -> float:
    """Evaluate; write `metrics.json` and `report.html` into the run's folder.

    Returns:
        The success rate, or the mean reward where the environment does not tell of success.
    """
    folder, console = command_line.run_folder(), Console(soft_wrap=True)
    conditions = evaluate(config, console)
    found = {name: summary(episodes) for name, episodes in conditions.items()}
    write_json(folder / "metrics.json", evaluation_metrics(config, conditions, found))
    for name, values in found.items():
        show(name, values, console)
    console.print(f"results in {folder}")
    if missing := missing_episodes(config, conditions):
        raise KeyboardInterrupt(f"only {missing} are in these results")
    if config.report.write:
        ran = command_line.ran(str(config.env) if config.get("env") else described(config.robot).model.name)
        report = write_evaluation_report(folder, str(config.policy), conditions, found, ran)
        command_line.show_report(report, console, browse=config.report.open)
    rate, reward = (found[AS_BUILT][name] for name in ("success_rate", "reward_mean"))
    return float(reward if rate is None else rate)


def show(name: str, found: dict[str, Any], console: Console) -> None:
    """Print what was found under one condition."""
    deviation, lowest, highest = (found[f"reward_{kind}"] for kind in ("deviation", "lowest", "highest"))
    console.print(f"{name:12} {found['episodes']:6} episodes: {success_text(found)}", highlight=False)
    console.print(f"{'':12} {reward_text(found)}", highlight=False)
    failed = f", {found['failures']} failures of the robot" if found["failures"] else ""
    console.print(
        f"{'':12} ± {deviation:.2f}, {lowest:.2f} to {highest:.2f}; {found['length_mean']:.0f} periods{failed}",
        highlight=False,
    )
    what, joints = joint_errors(found)
    if joints:
        width = max(len(joint) for joint, *_ in joints)
        console.print(f"{'':12} {what} of joints, rad (slides m): largest, root mean square", highlight=False)
        for joint, largest, rms in sorted(joints, key=lambda one: -one[1])[:_JOINTS]:
            console.print(f"{'':14} {joint:{width}} {largest:8.4f} {rms:8.4f}", highlight=False)
    if len(joints) > _JOINTS:
        console.print(f"{'':14} {len(joints) - _JOINTS} joints with less: metrics.json", highlight=False)


def main() -> None:
    """Run the verb on the command line's arguments."""
    environment = registered_environment("robot", "task", "randomisation", robots=0)
    command_line.run(job, "evaluate", partial(named_example, "evaluate"), named_policy, settings, environment)


if __name__ == "__main__":
    main()
