"""Look after the servos of a Dynamixel bus: scan, ping, read, write, set-id, set-baud, reboot."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from pliant import command_line
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.service import USUAL_RATES, scan, set_baud_rate, set_id

_USAGE = """\
pliant bus: look after the servos of a Dynamixel bus. Nothing here moves a servo, except a goal that is written.

Usage: pliant bus ACTION port=PORT [baud=1000000] [protocol=2] [key=value ...]

Actions:
  scan      who is there             [rates=all | 57600,1000000] [servo=1,2,5-9]
  ping      whether servos answer    servo=1,2
  read      registers, by name       servo=1,2 [register=present_position]   without one: the whole table
  write     a register               servo=1 register=torque_enable value=0
  set-id    give it another id       servo=1 id=3
  set-baud  give it another rate     servo=3 rate=1000000
  reboot    restart, torque off      servo=3

Values are counts, as in the servo's manual. The torque must be off where the EEPROM is written.
Exit status: 0 done, 1 a servo does not answer (scan: none does), 2 nothing could be done.
"""

_COMMON = ("port", "baud", "protocol")


@dataclass(frozen=True)
class Options:
    """The key=value arguments of an action."""

    action: str
    values: Mapping[str, str]

    def text(self, key: str) -> str:
        """Return a value that is needed; raise `ConfigurationError` if it is not there."""
        if not self.values.get(key):
            raise ConfigurationError(f"pliant bus {self.action} needs {key}=…; see: pliant bus --help")
        return self.values[key]

    def number(self, key: str, default: int | None = None) -> int:
        """Return a whole number."""
        return _whole(key, self.text(key) if default is None or key in self.values else str(default))

    def numbers(self, key: str) -> list[int]:
        """Return the whole numbers of a list such as `1,2,5-9`."""
        found: list[int] = []
        for part in self.text(key).strip("[]").split(","):
            first, dash, last = part.strip().partition("-")
            low = _whole(key, first)
            high = _whole(key, last) if dash else low
            if high < low:
                raise ConfigurationError(f"{key}: the range {part.strip()} descends; write {high}-{low}.")
            found += range(low, high + 1)
        return found


def _whole(key: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:
        raise ConfigurationError(f"{key}={text}: a whole number is needed.") from error


def parse(action: str, arguments: Sequence[str], keys: Sequence[str]) -> Options:
    """Return the options of an action.

    Args:
        action: its name.
        arguments: `key=value`, each at most once.
        keys: what the action knows, beside port, baud and protocol.

    Raises:
        UnknownNameError: a key that the action does not know.
        ConfigurationError: an argument that is not `key=value`, or is given twice.
    """
    values: dict[str, str] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise ConfigurationError(f"{argument!r} is not key=value; see: pliant bus --help")
        if key not in (*_COMMON, *keys):
            raise unknown_name("argument", key, (*_COMMON, *keys), f"pliant bus {action}")
        if key in values:
            raise ConfigurationError(f"{key}= is given twice.")
        values[key] = value
    return Options(action, values)


def _scan(bus: Bus, options: Options, console: Console) -> None:
    wanted = options.values.get("rates", "")
    rates = list(USUAL_RATES) if wanted == "all" else options.numbers("rates") if wanted else [bus.baud_rate]
    servos = options.numbers("servo") if "servo" in options.values else None
    table = Table("servo", "model", "baud")
    for found in scan(bus, servos, rates):
        table.add_row(str(found.servo), found.model, str(found.baud_rate))
    if table.row_count:
        console.print(table)
    else:
        tried, spoken = ", ".join(map(str, rates)), options.number("protocol", 2)
        console.print(
            f"no servo answers on {bus.path} at {tried} bit/s in Protocol {spoken}. Others: rates=all, "
            f"protocol={3 - spoken} (AX and MX servos speak 1)",
            highlight=False,
            soft_wrap=True,
        )
        raise SystemExit(1)


def _ping(bus: Bus, options: Options, console: Console) -> None:
    silent = [servo for servo in options.numbers("servo") if not _answers(bus, servo, console)]
    if silent:
        raise SystemExit(1)


def _answers(bus: Bus, servo: int, console: Console) -> bool:
    there = bus.ping(servo, tries=1 + bus.retries)
    console.print(f"servo {servo}: {bus.model(servo).name if there else 'no answer'}", highlight=False)
    return there


def _read(bus: Bus, options: Options, console: Console) -> None:
    for servo in options.numbers("servo"):
        if options.values.get("register"):
            name = options.text("register")
            console.print(f"servo {servo}: {name} = {bus.read(servo, name)}", highlight=False)
            continue
        model = bus.model(servo)
        table = Table("address", "register", "count", "value", title=f"servo {servo}, {model.name}")
        for register in model.table:
            count = bus.read(servo, register.name)
            value = f"{count * register.scale:g} {register.unit}" if register.unit != "1" else ""
            table.add_row(str(register.address), register.name, str(count), value)
        console.print(table)


def _write(bus: Bus, options: Options, console: Console) -> None:
    servo, name = options.number("servo"), options.text("register")
    for own, instead in (("id", "set-id"), ("baud_rate", "set-baud")):
        if name == own:
            raise ConfigurationError(f"{name} is changed by: pliant bus {instead}")
    before = bus.read(servo, name)
    bus.write(servo, name, options.number("value"))
    console.print(f"servo {servo}: {name} = {bus.read(servo, name)} (was {before})", highlight=False)


def _set_id(bus: Bus, options: Options, console: Console) -> None:
    servo, new = options.number("servo"), options.number("id")
    set_id(bus, servo, new)
    console.print(f"servo {servo} now has the id {new}.", highlight=False)


def _set_baud(bus: Bus, options: Options, console: Console) -> None:
    servo, rate = options.number("servo"), options.number("rate")
    set_baud_rate(bus, servo, rate)
    console.print(f"servo {servo} now speaks at {rate} bit/s.", highlight=False)


def _reboot(bus: Bus, options: Options, console: Console) -> None:
    for servo in options.numbers("servo"):
        bus.reboot(servo)
        console.print(f"servo {servo} has restarted; its torque is off.", highlight=False)


_ACTIONS: Mapping[str, tuple[Callable[[Bus, Options, Console], None], tuple[str, ...]]] = {
    "scan": (_scan, ("rates", "servo")),
    "ping": (_ping, ("servo",)),
    "read": (_read, ("servo", "register")),
    "write": (_write, ("servo", "register", "value")),
    "set-id": (_set_id, ("servo", "id")),
    "set-baud": (_set_baud, ("servo", "rate")),
    "reboot": (_reboot, ("servo",)),
}


def run(arguments: Sequence[str]) -> None:
    """Carry out an action.

    Raises:
        UnknownNameError: there is no such action, argument or register.
        ConfigurationError: an argument is missing or no number.
        RobotError: the port cannot be opened, or a servo does not answer.
    """
    action, *rest = arguments
    if action not in _ACTIONS:
        raise unknown_name("action", action, _ACTIONS, "pliant bus")
    carry_out, keys = _ACTIONS[action]
    options = parse(action, rest, keys)
    protocol = options.number("protocol", 2)
    with Bus(options.text("port"), options.number("baud", 1_000_000), protocol) as bus:
        carry_out(bus, options, Console())


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run_plainly(_USAGE, run)


if __name__ == "__main__":
    main()
