"""List what there is to choose from: laws and their parameters, modes, robots, motions, environments."""

import argparse

from rich.console import Console
from rich.table import Table

from pliant.conf.reference import choices, groups
from pliant.errors import unknown_name


def laws(console: Console) -> None:
    """Compliance laws, their parameters and named sets."""
    from pliant.actuators import find_law, law_names

    table = Table("law", "parameter", "default", "bounds", "meaning", title="Compliance laws")
    for column in table.columns[:2]:
        column.no_wrap = True
    for name in law_names():
        law = find_law(name)
        first = name
        for parameter in law.parameters:
            bounds = f"{parameter.low:g} … {parameter.high:g}"
            default = f"{parameter.default:g} {parameter.unit if parameter.unit != '1' else ''}"
            table.add_row(first, parameter.name, default, bounds, parameter.meaning)
            first = ""
        if law.sets:
            table.add_row(first, "(sets)", "", "", ", ".join(("default", *law.sets)))
        elif not law.parameters:
            table.add_row(first, "", "", "", "")
        table.add_section()
    console.print(table)


def modes(console: Console) -> None:
    """Operation modes."""
    from pliant.actuators import Mode

    table = Table("mode", "name", "references; what runs", title="Operation modes")
    for mode in Mode:
        table.add_row(str(int(mode)), mode.name.lower(), mode.description)
    console.print(table)


def servos(console: Console) -> None:
    """Servos that can drive a joint, with what is known of them."""
    from pliant.actuators import ServoDrive
    from pliant.actuators.servo import drive_names, servo_named

    table = Table("servo", "loop", "friction", "supply (V)", "stall (N·m)", "armature (kg·m²)", title="Servos")
    for name in drive_names():
        drive = ServoDrive(servo_named(name), p_gain=None if name == "AX-12A" else 1.0)
        motor, loop = drive.motor, "compliance" if name == "AX-12A" else "P gain"
        stall = motor.torque(1.0, 0.0)
        table.add_row(name, loop, motor.model, f"{motor.voltage:g}", f"{stall:.3g}", f"{drive.armature:.3g}")
    console.print(table)


def configs(console: Console) -> None:
    """Groups of the configuration and the choices in each."""
    table = Table("group", "choices", title="Configuration: group=choice")
    for group in groups():
        table.add_row(group, ", ".join(choice.name for choice in choices(group)))
    console.print(table)


def motions(console: Console) -> None:
    """Desired motions; `pliant ilc trajectory=NAME --help` tells more of one."""
    table = Table("trajectory", "what it is", title="Motions: trajectory=NAME")
    for choice in choices("trajectory"):
        table.add_row(choice.name, choice.summary)
    console.print(table)


def environments(console: Console) -> None:
    """Gymnasium environments."""
    import gymnasium

    import pliant.envs  # noqa: F401  registers them

    table = Table("id", "steps", title="Gymnasium environments")
    for name, spec in sorted(gymnasium.registry.items()):
        if name.startswith("pliant/"):
            table.add_row(name, str(spec.max_episode_steps or "by task"))
    console.print(table)


def robots(console: Console) -> None:
    """Robots that come with Pliant; `pliant robot NAME` tells more of one."""
    from pliant.envs.description import describe, robot_names

    table = Table(
        "robot", "joints", "commands", "period (s)", title="Robots (or a file of yours: robot=./leg.yaml)"
    )
    for name in robot_names():
        description = describe(name)
        info = description.simulated().info
        table.add_row(name, str(len(info.joints)), ", ".join(info.command_names), f"{info.period:g}")
    console.print(table)


_LISTS = {
    "robots": robots,
    "laws": laws,
    "modes": modes,
    "servos": servos,
    "motions": motions,
    "configs": configs,
    "environments": environments,
}


def main() -> None:
    """Print the lists asked for, or all."""
    parser = argparse.ArgumentParser(prog="pliant list", description=__doc__)
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"any of: {', '.join(_LISTS)}; all when left out")
    asked = parser.parse_args().what or _LISTS
    for what in asked:
        if what not in _LISTS:
            raise unknown_name("list", what, _LISTS)
    console = Console()
    for what in asked:
        _LISTS[what](console)


if __name__ == "__main__":
    main()
