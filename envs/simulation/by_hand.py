"""Columns of a robot's command that a person has taken over from whatever commands it."""

from pliant.errors import check_bounds, unknown_name
from pliant.hardware.robot import Array, RobotInfo


class ByHand:
    """What is sent of the columns that a person has taken over; the others are sent as they are commanded."""

    def __init__(self, info: RobotInfo) -> None:
        """Take none over yet.

        Args:
            info: of the robot.
        """
        self._info = info
        self._values = dict[int, float]()

    @property
    def values(self) -> dict[str, float]:
        """The columns that are taken over, by name, and what is sent of them."""
        return {self._info.command[column].name: value for column, value in self._values.items()}

    def take(self, column: str, value: float) -> None:
        """Send this for a column, whatever is commanded; over all resets.

        Args:
            column: its name, one of `info.command_names`.
            value: within its bounds, in its unit.

        Raises:
            UnknownNameError: no such column.
            OutOfBoundsError: a value out of its bounds or not finite.
        """
        where = f"robot {self._info.name!r}"
        if column not in self._info.command_names:
            raise unknown_name("command column", column, self._info.command_names, where)
        k = self._info.command_names.index(column)
        channel = self._info.command[k]
        what = f"{where}: {column} by hand"
        self._values[k] = float(check_bounds(what, value, channel.low, channel.high, channel.unit))

    def give_back(self) -> None:
        """Send all columns as they are commanded again."""
        self._values.clear()

    def apply(self, command: Array) -> None:
        """Write what is by hand into a command, (columns,)."""
        if self._values:
            command[list(self._values)] = list(self._values.values())
