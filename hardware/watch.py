"""What a robot's readings tell of it: whether they are new, whole and within its limits, and its loop in time."""

import math

import numpy as np

from pliant.errors import ConfigurationError, RobotError, unknown_name
from pliant.hardware.robot import RobotInfo, State
from pliant.hardware.safety_config import SafetyConfig, watched


class Watch:
    """Judges every reading of a robot by the one before it.

    Args:
        info: of the robot.
        config: limits of its joints, and patience.

    Raises:
        ConfigurationError: a limit names no joint of the robot.
    """

    def __init__(self, info: RobotInfo, config: SafetyConfig) -> None:
        self._info, self._config = info, config
        for name in config.joints:
            if name not in info.joints:
                raise unknown_name("joint", name, info.joints, "the safety limits")
        measured = {name: watched(name, info, config) for name in info.joints}
        self._low, self._high, self._speed, self._torque = np.array(
            [(limit.low, limit.high, limit.speed, limit.torque) for limit in measured.values()], dtype=np.float64
        ).T
        self._limited = tuple(f"{name}/{what}" for name, limit in measured.items() for what in limit.limited)
        self._placed = np.zeros(len(info.joints), dtype=bool)
        """Joints whose position was measured in the first reading."""
        self.state: State | None = None
        """The newest reading that was believed; None before the first."""
        self.commands = 0
        """Sent since a reading was asked for last."""
        self.overruns = 0
        """Periods that took half a period too long."""
        self._missed = self._beyond = self._late = 0
        self._since, self._lag = 0, 0.0

    def start(self, state: State) -> None:
        """Begin anew from a reading."""
        self.state = state
        self._placed = np.isfinite(state.position)
        self.commands = self._missed = self._beyond = self._late = 0
        self._since, self._lag = 0, 0.0

    def refuse_blind(self, unmeasured: frozenset[str]) -> None:
        """Raise `ConfigurationError` if a limit is set of something that is not measured."""
        blind = [name for name in self._limited if name in unmeasured]
        if not blind:
            return
        joint = blind[0].rpartition("/")[0]
        remedy = "Leave it out, or give the joint a servo or an encoder that measures it."
        if joint not in self._config.joints:
            remedy = (
                "A joint that is commanded torques has one of its speed of its own accord. If nothing need stop "
                f"it when its control fails, say so: +safety.joints.{joint}.speed=inf"
            )
        raise ConfigurationError(
            f"{self._info.name} does not measure {', '.join(blind)}; a limit of it in the safety limits would "
            f"keep nothing. {remedy}"
        )

    def not_finite(self, state: State) -> frozenset[str]:
        """Return what a state has no number for, as `Robot.unmeasured` names it."""
        columns = {"position": state.position, "velocity": state.velocity, "torque": state.torque}
        return frozenset(
            f"{joint}/{what}"
            for what, values in columns.items()
            for joint, value in zip(self._info.joints, values, strict=True)
            if not math.isfinite(value)
        )

    def commanded(self) -> None:
        """A command was sent, and took a period."""
        self.commands += 1
        self._since += 1

    def check_fresh(self, state: State) -> None:
        """Raise if the state is as old as the last one, older, falls behind, or lacks a place or what is limited.

        Every command takes a period, so of n commands the state must have grown older by n periods; what it lacks
        adds up.

        Raises:
            RobotError: the reading is no better than none.
        """
        if self.state is None:
            return
        period = self._info.period
        ahead = state.time - self.state.time
        if not (ahead > 0 if self._since else ahead >= 0):
            raise RobotError(f"the reading is old: its time stands at {state.time:.3f} s")
        lag = max(0.0, self._lag + self._since * period - ahead)
        if lag > (self._config.patience + 1) * period:
            raise RobotError(f"the reading is {lag:.3f} s old, and falls behind")
        lost = sorted(set(self._limited) & self.not_finite(state)) if self._limited else []
        if gone := [self._info.joints[k] for k in np.flatnonzero(self._placed & ~np.isfinite(state.position))]:
            raise RobotError(f"the position of joint {', '.join(gone)} is not measured any more")
        if lost:
            raise RobotError(f"{', '.join(lost)}, which has a limit, is not measured any more")
        self._lag = lag

    def missed(self) -> int:
        """A reading failed. Returns how many have in a row."""
        self._missed += 1
        self.commands = 0
        return self._missed

    def fault(self, state: State) -> str:
        """Why the robot must stop: a joint beyond its limits, or a loop too slow; empty if it need not."""
        beyond = (
            (state.position < self._low)
            | (state.position > self._high)
            | (np.abs(state.velocity) > self._speed)
            | (np.abs(state.torque) > self._torque)
        )
        self._beyond = self._beyond + 1 if beyond.any() else 0
        if self._beyond >= self._config.excess:
            return self._excess(state)
        if self.state is None or self._missed or not self.commands:
            return ""
        late = state.time - self.state.time > (self.commands + 0.5) * self._info.period
        self.overruns += late
        self._late = self._late + 1 if late else 0
        return f"{self._late} periods in a row took too long" if self._late > self._config.overruns else ""

    def _excess(self, state: State) -> str:
        """Which joints are beyond which limits."""
        found: dict[str, list[str]] = {}
        for quantity, values, low, high in (
            ("position", state.position, self._low, self._high),
            ("velocity", state.velocity, -self._speed, self._speed),
            ("torque", state.torque, -self._torque, self._torque),
        ):
            for k in np.flatnonzero((values < low) | (values > high)):
                name = self._info.joints[k]
                unit = self._info.signals[self._info.signal(f"{name}/{quantity}")].unit
                limit = low[k] if values[k] < low[k] else high[k]
                found.setdefault(name, []).append(f"{quantity} {values[k]:.3f} {unit}, limit {limit:.4g} {unit}")
        told = "; ".join(f"joint {name} beyond its limits: {', '.join(each)}" for name, each in found.items())
        return f"{told}; at {state.time:.3f} s"

    def believe(self, state: State) -> None:
        """Go on from a reading."""
        self.state, self._missed, self.commands, self._since = state, 0, 0, 0
