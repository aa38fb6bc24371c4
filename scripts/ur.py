"""Look after an arm of Universal Robots: see how it is, what keeps it from moving, lead it by hand, unlock it."""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from pliant import command_line
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.stopping import Interrupts, StopKey
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.preflight import preflight
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.ur.service import lead_by_hand, look_at, unlock

_USAGE = """\
pliant ur: look after an arm of Universal Robots. Nothing here moves it by itself.

Usage: pliant ur ACTION host=ADDRESS [model=ur10e] [key=value ...]

Actions:
  info       how controller and arm are
  preflight  what keeps it from moving, and what to press    [mode=position]
  freedrive  lead it by hand, until Ctrl-C or a key          [axes=111111]  x, y, z, and about them: 1 gives way
  zero       zero the force-torque sensor; let the tool hang free
  unlock     release a protective stop, once its cause is found
"""

Options = Mapping[str, str]


def _info(options: Options, console: Console) -> None:
    table = Table("", "")
    for name, value in look_at(options["host"]).items():
        table.add_row(name.replace("_", " "), _text(value))
    console.print(table)


def _text(value: object) -> str:
    if isinstance(value, list):
        return "  ".join(f"{number:.4g}" for number in value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _config(options: Options) -> URConfig:
    mode = options.get("mode", "position")
    # A look needs no place to rest.
    rest = [0.5, 0.0, 0.5, 0.0, 0.0, 0.0] if mode == "tool" else None
    return URConfig(options["host"], model=options.get("model", "ur10e"), mode=mode, rest=rest)  # type: ignore[arg-type]


def _preflight(options: Options, console: Console) -> None:
    found = preflight(_config(options))
    for text in found.warnings:
        console.print(f"note: {text}", highlight=False, soft_wrap=True, markup=False)
    for text in found.refusals:
        console.print(f"- {text}", highlight=False, soft_wrap=True, markup=False)
    if found.refusals:
        raise SystemExit(1)
    console.print(f"PolyScope {found.version}: it may move.", highlight=False)


def _freedrive(options: Options, console: Console) -> None:
    axes = options.get("axes", "111111")
    if len(axes) != 6 or not set(axes) <= {"0", "1"}:
        raise ConfigurationError(f"axes={axes}: six of 0 and 1 are needed, such as 111000.")
    console.print("the arm gives way; Ctrl-C or a key holds it again", highlight=False)
    with StopKey(" q\x1b\n") as key, Interrupts() as signals, signals.deferred():
        lead_by_hand(_config(options), lambda: key() or signals.count > 0, [int(axis) for axis in axes])
        signals.pending = None
    console.print("the arm is held.", highlight=False)


def _zero(options: Options, console: Console) -> None:
    robot = URRobot(_config(options))
    with robot:
        robot.zero_force()
    console.print("the force-torque sensor is zeroed.", highlight=False)


def _unlock(options: Options, console: Console) -> None:
    unlock(options["host"])
    console.print("the protective stop is released.", highlight=False)


_ACTIONS: Mapping[str, tuple[Callable[[Options, Console], None], tuple[str, ...]]] = {
    "info": (_info, ()),
    "preflight": (_preflight, ("model", "mode")),
    "freedrive": (_freedrive, ("model", "axes")),
    "zero": (_zero, ("model",)),
    "unlock": (_unlock, ()),
}


def parse(action: str, arguments: Sequence[str]) -> Options:
    """Return the key=value arguments of an action.

    Raises:
        UnknownNameError: an argument that the action does not know.
        ConfigurationError: an argument that is not `key=value`, is given twice, or no host.
    """
    keys = ("host", *_ACTIONS[action][1])
    values: dict[str, str] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise ConfigurationError(f"{argument!r} is not key=value; see: pliant ur --help")
        if key not in keys:
            raise unknown_name("argument", key, keys, f"pliant ur {action}")
        if key in values:
            raise ConfigurationError(f"{key}= is given twice.")
        values[key] = value
    if not values.get("host"):
        raise ConfigurationError(f"pliant ur {action} needs host=ADDRESS; see: pliant ur --help")
    return values


def run(arguments: Sequence[str]) -> None:
    """Carry out an action.

    Raises:
        UnknownNameError: there is no such action or argument.
        ConfigurationError: an argument is missing or makes no sense.
        RobotError: the controller does not answer, or refuses.
    """
    action, *rest = arguments
    if action not in _ACTIONS:
        raise unknown_name("action", action, _ACTIONS, "pliant ur")
    _ACTIONS[action][0](parse(action, rest), Console())


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run_plainly(_USAGE, run)


if __name__ == "__main__":
    main()
