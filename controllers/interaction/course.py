"""A motion of the tool on its way: along a trajectory, or until it touches something."""

from dataclasses import replace
from typing import Final

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.interaction.frames import as_frame
from pliant.controllers.interaction.gains import Gains, LawLimits
from pliant.controllers.interaction.goals import Approach, CartesianTrajectory
from pliant.controllers.interaction.motion import STILL, CartesianMotion
from pliant.controllers.interaction.planning import Arm
from pliant.controllers.interaction.tracking import Tracking
from pliant.controllers.interaction.wrench import WrenchRamp, WrenchSensing

_CHANGE: Final = 0.5
"""How long a pause, going on, or an end before its time takes on a trajectory, s."""


class Course:
    """A goal on its way: from the law's desired pose on or, where the law may be far from that, the commanded one.

    During an approach no axis gives way. At a contact the law takes over again, with the wrench of the goal.

    Args:
        goal: what to do.
        arm: see `Arm`.
        tool: which it moves.
        asked: the desired wrench.
        wrench: the measured one.
        period: s.
        limits: of its speed.
    """

    def __init__(
        self,
        goal: CartesianTrajectory | Approach,
        arm: Arm,
        tool: Tracking,
        asked: WrenchRamp,
        wrench: WrenchSensing,
        period: float,
        limits: LawLimits,
    ) -> None:
        self._goal, self._tool, self._asked, self._wrench, self._period = goal, tool, asked, wrench, period
        self._asked_before, self._stuck = asked.value, 0.0
        self._gains: Gains | None = None
        """Of the law after an approach; None where it is at work."""
        if tool.led_by_force or isinstance(goal, Approach):
            tool.anchor()
        wrench.turn(tool.begin_motion())
        if isinstance(goal, Approach):
            self._gains = tool.law.gains
            tool.law.gains = replace(tool.law.gains, axes=())
            path = goal.path(tool.axes, tool.desired)
        else:
            path = goal.path(arm.frames.locate(as_frame(goal.frame), tool.target, tool.start), tool.desired)
        self.motion = CartesianMotion(path, period, limits.speed, limits.turning, self._change(limits))

    def _change(self, limits: LawLimits) -> float:
        """How long a stop takes, s: short at a contact, but no faster than the limits of the law let pass."""
        if isinstance(self._goal, CartesianTrajectory):
            return _CHANGE
        return max(1.875 * self._goal.speed / limits.acceleration, 5.0 * self._period)

    @property
    def gains(self) -> Gains:
        """Of the law, also while no axis gives way. Setting them changes the law."""
        found: Gains = self._tool.law.gains if self._gains is None else self._gains
        return found

    @gains.setter
    def gains(self, gains: Gains) -> None:
        if self._gains is not None:
            self._gains = gains
        else:
            self._tool.change(gains, moving=True)

    @property
    def approaching(self) -> bool:
        """Whether it looks for a contact."""
        return self._gains is not None

    @property
    def passed(self) -> int:
        """Waypoints of a trajectory that have been passed."""
        return 0 if isinstance(self._goal, Approach) else self.motion.passed

    def advance(self) -> tuple[Array, Array, bool]:
        """Let a period pass; returns the desired pose, the way to it, and whether a contact was made in it."""
        way, touched = self.motion.advance(not self._tool.held), False
        goal = self._goal
        if isinstance(goal, Approach):
            pressing = float(self._wrench.value[:3] @ np.asarray(goal.direction))
            touched = self.approaching and pressing >= goal.force
            if touched:
                self.let_go()
                self.motion.cancelled = True
                self._asked.go_to(np.asarray(goal.wrench))
        elif goal.wrench is not None:
            line, share = self.motion.place
            wrenches = np.asarray(goal.wrench)
            before = wrenches[line - 1] if line else self._asked_before
            self._asked.go_to(before + share * (wrenches[line] - before))
        return self.motion.pose, way, touched

    def trouble(self, stuck_after: float) -> str:
        """Return why it cannot go on, asked once a period; empty if it can.

        Args:
            stuck_after: s without any progress.
        """
        standing = self._tool.held and self.motion.clock.rate == 0.0
        self._stuck = self._stuck + self._period if standing else 0.0
        if self._stuck > stuck_after:
            return f"kinematics: the tool is kept from its way: {self._tool.held}"
        if (
            isinstance(self._goal, Approach)
            and self.approaching
            and self.motion.done
            and not self.motion.cancelled
        ):
            return f"nothing was touched within {self._goal.distance:g} m"
        return ""

    def end(self) -> None:
        """Leave the law at work and, after a trajectory with a wrench, nothing desired of it."""
        self.let_go()
        if isinstance(self._goal, CartesianTrajectory) and self._goal.wrench is not None:
            self._asked.go_to(STILL)

    def let_go(self) -> None:
        """Let the law be at work again."""
        if self._gains is not None:
            self._tool.change(self._gains, moving=True)
            self._gains = None
