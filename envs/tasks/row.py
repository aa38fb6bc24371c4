"""The numbers of an episode in one row: what a robot reads, what a task adds, and where each stands."""

from collections.abc import Sequence
from typing import Final

from pliant.errors import ConfigurationError
from pliant.hardware.robot import Channel, RobotInfo

STEP: Final = 0
"""Column of the periods since the episode began."""
STATUS: Final = 1
"""Column that says whether the period could be judged: `SOUND`, or one of the two below."""
SOUND: Final = 0.0
UNREAD: Final = 1.0
"""An observation is NaN."""
UNJUDGED: Final = 2.0
"""The reward is not a finite number."""

REWARD: Final = -4
SUCCESS: Final = -3
TERMINATED: Final = -2
TRUNCATED: Final = -1
VERDICT: Final = 4
"""The last columns of an outcome, and how many they are; the reward's terms come before them."""


class Row:
    """Lays out the columns, and knows the names of those that terms may choose among."""

    def __init__(self, info: RobotInfo) -> None:
        self.info = info
        self.size = 2
        """Columns so far."""
        self.places: dict[str, int] = {}
        """Column of each named number."""
        self.used: set[str] = set()
        """Names of the numbers that terms use."""
        self.signals: list[Channel] = []
        """The signals that terms see: the robot's, then the measures'."""
        self.goals: list[Channel] = []
        """The goal's numbers."""
        self.compared: list[str] = []
        """The signal that each of the goal's numbers is compared with."""

    def take(self, count: int) -> slice:
        """Reserve columns."""
        part = slice(self.size, self.size + count)
        self.size += count
        return part

    def name(self, channels: Sequence[Channel]) -> slice:
        """Reserve a column for each channel, under its name."""
        part = self.take(len(channels))
        for column, channel in zip(range(part.start, part.stop), channels, strict=True):
            if channel.name in self.places:
                raise ConfigurationError(
                    f"{channel.name!r} would name two numbers of a task on robot {self.info.name!r}: a signal, a "
                    "measure or a goal has it already."
                )
            self.places[channel.name] = column
        return part

    def columns(self, channels: Sequence[Channel]) -> list[int]:
        """Columns of named channels."""
        self.used |= {channel.name for channel in channels}
        return [self.places[channel.name] for channel in channels]
