"""Explain a robot: its joints and drives, what is read, what limits it; or write a first description of a file.

Usage: pliant robot ROBOT [out=FILE]

ROBOT is a name (see pliant list robots), a description (./leg.yaml) or a model (./leg.xml, ./leg.urdf). With
out=leg.yaml a first description of the model is written, to be changed and trained on:

  pliant robot leg.xml out=leg.yaml
  pliant train robot=./leg.yaml task=reach
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pliant import command_line
from pliant.deployment.machines import torques_that_nothing_tells
from pliant.envs.description import RobotDescription, describe, is_file
from pliant.envs.explanation import JointFacts, RobotFacts, explain, first_description
from pliant.errors import ConfigurationError, OutputError, PliantError
from pliant.files import existing_file, write_bytes

_MODELS = (".xml", ".mjcf", ".urdf")
_NOTHING = 1e-9
"""What a joint carries, N·m or N, below which it carries nothing but rounding."""


def show(facts: RobotFacts, console: Console) -> None:
    """Print what there is to know of a robot."""
    info, count = facts.robot.info, len(facts.joints)
    console.print(
        f"[bold]{info.name}[/]: {count} joint{'' if count == 1 else 's'}, {facts.mass:.3g} kg; "
        f"a command every {info.period:g} s, physics every {facts.timestep:g} s",
        highlight=False,
    )
    for kind in dict.fromkeys(joint.kind for joint in facts.joints):
        console.print(_table([joint for joint in facts.joints if joint.kind == kind], kind))
    if facts.slowest_joint:
        console.print(
            f"the longest time step is {facts.largest_step:.3g} s, because of joint {facts.slowest_joint!r}",
            highlight=False,
        )
    columns = Table("command", "from", "to", "rest", "unit", box=None)
    for c in info.command:
        columns.add_row(c.name, f"{c.low:.4g}", f"{c.high:.4g}", f"{c.rest:.4g}", c.unit)
    if info.command:
        console.print(columns)
    read = ", ".join(c.name for c in info.sensors) or "nothing besides joints and motors"
    console.print(f"read: {read}", highlight=False)
    for what, names in (("could be read", facts.groups), ("keyframes", facts.keyframes), ("sites", facts.sites)):
        if names:
            console.print(f"{what}: {', '.join(names)}", highlight=False)
    for line in facts.missing:
        console.print(f"missing: {line}", highlight=False)


def _table(joints: Sequence[JointFacts], kind: str) -> Table:
    """A table of joints of one kind, with their units in its head; 80 columns hold names of up to 20 letters."""
    length, inertia, force = ("m", "kg", "N") if kind == "slide" else ("rad", "kg·m²", "N·m")
    heads = ("joint", f"range\n{length}", "driven by", f"inertia\n{inertia}", f"gravity\n{force}")
    table = Table(*heads, f"stiffness a\nstep carries\n{force}/{length}", box=None, padding=(0, 1, 0, 0))
    for column in table.columns:
        column.overflow = "fold"
    for joint in joints:
        table.add_row(
            joint.name,
            f"{joint.low:.3g} … {joint.high:.3g}",
            joint.drive,
            f"{joint.inertia:.2e}",
            f"{0.0 if abs(joint.load) < _NOTHING else joint.load:.3g}",
            f"{joint.stiffness:.3g}",
        )
    return table


def _bench(description: RobotDescription) -> Iterator[str]:
    """Lines on what its servos lack."""
    on = "hardware=emulated and hardware=real"
    try:
        blind = torques_that_nothing_tells(description)
    except PliantError as error:
        yield f"missing: a machine that fits, for {on}: {error}"
        return
    if blind:
        yield (
            f"missing: no servo tells the torque of {', '.join(blind)}: a policy for {on} learns without, "
            "'task.observations.joints.names=[*/position,*/velocity]'"
        )


def job(arguments: list[str]) -> None:
    """Explain, or write a description."""
    words = [word for word in arguments if "=" not in word]
    settings = dict(word.split("=", 1) for word in arguments if "=" in word)
    for key in set(settings) - {"out"}:
        raise ConfigurationError(
            f"pliant robot knows no setting {key!r}, only out=FILE: it explains a robot as its file has it. "
            "What may be said of one: pliant train robot=ROBOT --help."
        )
    if len(words) != 1:
        raise ConfigurationError("say which robot: pliant robot ROBOT [out=FILE]; more: pliant robot --help.")
    (name,), console = words, Console(soft_wrap=True)
    if "out" not in settings:
        description = describe(name)
        show(explain(description), console)
        for line in _bench(description):
            console.print(line, highlight=False, markup=False)
        return
    if not (is_file(name) and Path(name).suffix in _MODELS):
        raise ConfigurationError(
            f"a description is written of a model file ({', '.join(_MODELS)}), not of {name!r}."
        )
    file, out = existing_file(name, "model").resolve(), Path(settings["out"])
    if out.exists():
        raise OutputError(f"{out} exists and is not overwritten; choose another name or move it away.")
    if out.resolve().parent != file.parent:
        raise ConfigurationError(f"the description belongs beside its model: out={file.parent / out.name}.")
    write_bytes(out, first_description(file).encode())
    name = str(out) if len(out.parts) > 1 else f"./{out}"
    console.print(f"written: {out}\nnext: pliant robot {name}; pliant train robot={name} task=reach")


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run_plainly(__doc__, job)


if __name__ == "__main__":
    main()
