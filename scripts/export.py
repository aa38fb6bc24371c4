"""Write a policy as an ONNX file that runs without Python, torch and Pliant."""

from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.controllers.policies import SB3Policy, export_onnx
from pliant.controllers.policies.loading import policy_file
from pliant.errors import ConfigurationError
from pliant.training.evaluation import WITHOUT_FILE
from pliant.training.run_settings import bare_word


def job(config: DictConfig) -> None:
    """Export a policy and print how well the file agrees with it."""
    if config.policy in WITHOUT_FILE:
        raise ConfigurationError(f"the policy {config.policy!r} is not learned; there is nothing to export.")
    file = policy_file(config.policy)
    if file.suffix != ".zip":
        raise ConfigurationError(f"{file} is not a policy.zip of pliant train; only those can be exported.")
    policy = SB3Policy.load(file)
    target = file.with_suffix(".onnx") if config.to is None else Path(config.to)
    difference = export_onnx(policy, target)
    info, console = policy.info, Console(soft_wrap=True)
    console.print(f"joints: {', '.join(info.joints)}; period {info.period:g} s")
    for kind, channels in (("observation", info.observations), ("action", info.actions)):
        for k, channel in enumerate(channels):
            name = f"{kind}\\[{k}]  {channel.name}"
            console.print(f"{name:44} \\[{channel.low:g}, {channel.high:g}] {channel.unit}", highlight=False)
    console.print(f"largest difference in an action: {difference:.1e}")
    console.print(f"written: {target}")


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "export", bare_word)


if __name__ == "__main__":
    main()
