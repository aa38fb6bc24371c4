"""Show what a policy sees and does, and copy its file: an ONNX file that runs without Python, torch and Pliant."""

from functools import partial
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.controllers.policies import OnnxPolicy
from pliant.controllers.policies.loading import policy_file
from pliant.errors import ConfigurationError
from pliant.examples.catalogue import named_example
from pliant.files import write_bytes
from pliant.training.evaluation import WITHOUT_FILE
from pliant.training.run_settings import bare_word


def job(config: DictConfig) -> None:
    """Check a policy's file, print what is in it, and copy it if that is asked for."""
    if config.policy in WITHOUT_FILE:
        raise ConfigurationError(f"the policy {config.policy!r} is not learned; there is nothing to export.")
    file = policy_file(config.policy)
    if file.suffix != ".onnx":
        raise ConfigurationError(f"{file} is not a policy.onnx of pliant train; only those can be exported.")
    info, console = OnnxPolicy.load(file).info, Console(soft_wrap=True)
    of = f"joints: {', '.join(info.joints)}" if info.joints else f"environment: {info.robot}"
    console.print(f"{of}; period {info.period:g} s")
    rows = [
        (f"{kind}[{k}]  {channel.name}", f"[{channel.low:g}, {channel.high:g}] {channel.unit}")
        for kind, channels in (("observation", info.observations), ("action", info.actions))
        for k, channel in enumerate(channels)
    ]
    width = max((len(name) for name, _ in rows), default=0)
    for name, bounds in rows:
        console.print(f"{name:{width}}  {bounds}", highlight=False, markup=False)
    if config.to is not None:
        file = write_bytes(Path(config.to), file.read_bytes())
    console.print(f"{'file' if config.to is None else 'written'}: {file}")


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "export", partial(named_example, "export"), bare_word)


if __name__ == "__main__":
    main()
