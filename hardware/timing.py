"""The beat of a control loop: when the next period begins, and how late one is."""

import time
from typing import NamedTuple, Protocol


class Clock(Protocol):
    """Where a robot takes its time from."""

    def now(self) -> float:
        """Return the time, s; only differences mean anything."""

    def sleep_until(self, time: float) -> None:
        """Return at `time`, or at once if that is past."""


class SystemClock:
    """The computer's monotonic clock."""

    def now(self) -> float:
        """Return the time, s."""
        return time.monotonic()

    def sleep_until(self, time_: float) -> None:
        """Sleep until `time_`."""
        delay = time_ - time.monotonic()
        if delay > 0:
            time.sleep(delay)


class StepClock:
    """A clock that moves only when it is slept on: a loop on it runs as fast as it can.

    For a machine whose time advances with its bus cycles, such as an emulator in lock step.
    """

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        """Return the time, s."""
        return self._now

    def sleep_until(self, time_: float) -> None:
        """Jump to `time_`."""
        self._now = max(self._now, time_)


class Beat(NamedTuple):
    """One turn of a loop."""

    lateness: float
    """Time by which the loop missed its deadline, s; 0 if it did not."""
    missed: int
    """Periods that went by without a turn."""


class Ticker:
    """Waits for the next period, on deadlines that do not drift.

    After a turn that took too long, the periods that are past are left out, not caught up with.

    Args:
        period: s.
        clock: Where time comes from.
    """

    def __init__(self, period: float, clock: Clock) -> None:
        self.period = period
        self._clock = clock
        self._next = clock.now() + period

    def restart(self) -> None:
        """Begin a period now."""
        self._next = self._clock.now() + self.period

    def wait(self) -> Beat:
        """Return when the next period begins."""
        lateness = self._clock.now() - self._next
        if lateness <= 0:
            self._clock.sleep_until(self._next)
            self._next += self.period
            return Beat(0.0, 0)
        missed = int(lateness / self.period)
        self._next += (missed + 1) * self.period
        return Beat(lateness, missed)
