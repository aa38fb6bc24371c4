"""What holds a robot: welds, points, soles on the ground, and joints that something else moves.

They are level 1 of every hierarchy: rows J·u̇ = −J̇·u − K_D·J·u − K_P·e, with forces λ that the world exerts on the
robot. Soles and points can push but not pull, and hold by friction; they come and go with forces that ramp.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pliant.controllers.checks import Array
from pliant.controllers.task_space.mechanics import Mechanics
from pliant.controllers.task_space.tasks import AXES, POSTURE, WORLD, FrameTask, Gain, Task
from pliant.errors import ConfigurationError, check_bounds, check_numbers, unknown_name

_POINT: Final = AXES[:3]


class Constraint(FrameTask):
    """A frame that is held to another one, with forces of any size: a weld, or part of one.

    Args:
        frame: name of a site or body.
        relative_to: likewise.
        axes: that are held, some of x, y, z, rx, ry, rz of the other frame.
        stiffness: with which a drift goes back to where it was held, 1/s².
        damping: with which a speed goes to rest, 1/s.
    """

    cone_rows = 0
    """Of the bounds of its forces."""

    def __init__(
        self,
        frame: str,
        *,
        relative_to: str = WORLD,
        axes: Sequence[str] = AXES,
        stiffness: Gain = 0.0,
        damping: Gain = 40.0,
    ) -> None:
        super().__init__(frame, relative_to=relative_to, axes=axes, stiffness=stiffness, damping=damping)

    def cone(self) -> tuple[Array, Array, Array]:
        """Return C, (cone_rows, rows), and the bounds of C·λ, (cone_rows,) each, as they are now."""
        return np.empty((0, self.rows)), np.empty(0), np.empty(0)

    def advance(self, period: float, force: Array) -> bool:
        """Let time pass; returns whether the bounds or `holds` have changed.

        Args:
            period: s.
            force: λ at the last instant, (rows,).
        """
        return False

    @property
    def holds(self) -> bool:
        """Whether it holds the frame at all."""
        return True


class Contact(Constraint):
    """A rectangular sole, or a point, that stands on something and can slip, tip and lift off.

    Forces are in the axes of the frame, whose z points from the ground into the robot, at its origin, the middle
    of the sole. They stay within the friction cone, taken as an inner pyramid, the centre of pressure within the
    sole, and the torque about z within what friction allows beside the rest: without that fast motions fall.

    Args:
        frame: name of a site, in the plane of the sole.
        size: half the length along x and along y, m; None: a point, which resists no torque.
        friction: coefficient.
        share: of friction and of the sole that is made use of.
        force: largest normal force, N; None: twice the robot's weight.
        ramp: time in which the normal force comes and goes, s.
        stiffness: see `Constraint`.
        damping: see `Constraint`.

    Source: Caron, Pham and Nakamura 2015, "Stability of surface contacts for humanoid robots".
    """

    def __init__(
        self,
        frame: str,
        *,
        size: Sequence[float] | None = None,
        friction: float = 0.7,
        share: float = 0.9,
        force: float | None = None,
        ramp: float = 0.2,
        stiffness: Gain = 0.0,
        damping: Gain = 40.0,
    ) -> None:
        self.size = None if size is None else check_numbers(f"contact {frame!r}: size", size, 2, 1e-4, 10.0)
        axes = _POINT if size is None else AXES
        super().__init__(frame, axes=axes, stiffness=stiffness, damping=damping)
        self.local = True
        self.friction = check_bounds(f"contact {frame!r}: friction", friction, 0.01, 10.0)
        self.share = check_bounds(f"contact {frame!r}: share", share, 0.05, 1.0)
        self._force = None if force is None else check_bounds(f"contact {frame!r}: force", force, 1.0, 1e7, "N")
        self.ramp = check_bounds(f"contact {frame!r}: ramp", ramp, 0.0, 10.0, "s")
        self.active = True
        """Whether it is to bear on the ground. Switched off, its force ramps to 0, then the frame is free."""
        self._largest = self._bound = self._leaving = math.inf
        self._was_active = True
        self._rows = _pyramid(self.friction * self.share, None if size is None else self.size, self.share)
        self.cone_rows = len(self._rows) + 1

    def bind(self, mechanics: Mechanics) -> dict[str, Any]:
        """See `Task`."""
        self._mechanics = mechanics
        model = mechanics.model
        weight = float(model.body_subtreemass[mechanics.root] * np.linalg.norm(model.opt.gravity))
        self._largest = self._bound = (2.0 * weight or 1.0) if self._force is None else self._force
        return super().bind(mechanics)

    def cone(self) -> tuple[Array, Array, Array]:
        """See `Constraint`: friction, pressure and yaw, each at most 0, then the normal force."""
        rows = np.zeros((self.cone_rows, self.rows))
        rows[:-1] = self._rows
        rows[-1, 2] = 1.0
        low, high = np.full(self.cone_rows, -math.inf), np.zeros(self.cone_rows)
        low[-1], high[-1] = 0.0, self._bound
        return rows, low, high

    def advance(self, period: float, force: Array) -> bool:
        """See `Constraint`."""
        before, whole = self._bound, self._largest
        if self.active:
            if before == 0.0:
                self.hold(self._mechanics)  # where it is put down
            self._bound = whole if self.ramp == 0.0 else min(before + whole * period / self.ramp, whole)
        else:
            if self._was_active:  # from the force that it bears
                self._leaving = self._bound = min(before, max(float(force[2]), 0.0))
            step = math.inf if self.ramp == 0.0 else self._leaving * period / self.ramp
            self._bound = max(self._bound - step, 0.0)
        self._was_active = self.active
        return self._bound != before

    @property
    def holds(self) -> bool:
        """See `Constraint`."""
        return self.active or self._bound > 0.0


class Prescribed(Task):
    """Joints that something else moves: a base on a platform. Their acceleration is an input, 0 unless it is set.

    Args:
        joints: names, of the mechanics.
        mechanics: of the robot.
    """

    cone_rows = 0

    def __init__(self, joints: Sequence[str], *, mechanics: Mechanics) -> None:
        for name in joints:
            if name not in mechanics.joints:
                raise unknown_name("joint", name, mechanics.joints, "the controller's model")
        if not joints:
            raise ConfigurationError("Prescribed: no joints.")
        self.joints = tuple(joints)
        count = len(self.joints)
        super().__init__(POSTURE, count, count, count, 0.0, 0.0, 1, 1.0)
        which = [mechanics.joints.index(name) for name in joints]
        self._places, self._dofs = mechanics.places[which], mechanics.dofs[which]

    def bind(self, mechanics: Mechanics) -> dict[str, Any]:
        """See `Task`."""
        return {"place": self._places, "chosen": self._dofs}

    def measure(self, mechanics: Mechanics) -> Array:
        """See `Task`."""
        return np.array(mechanics.data.qpos[self._places])

    def cone(self) -> tuple[Array, Array, Array]:
        """See `Constraint`."""
        return np.empty((0, self.rows)), np.empty(0), np.empty(0)

    def advance(self, period: float, force: Array) -> bool:
        """See `Constraint`."""
        return False

    @property
    def holds(self) -> bool:
        """See `Constraint`."""
        return True

    @property
    def dofs(self) -> NDArray[np.int64]:
        """Degrees of freedom of its joints, (joints,)."""
        return self._dofs


def _pyramid(friction: float, size: Sequence[float] | None, share: float) -> Array:
    """Rows whose products with a force, or a wrench, are at most 0."""
    side = friction / math.sqrt(2.0)
    if size is None:
        return np.array([[1, 0, -side], [-1, 0, -side], [0, 1, -side], [0, -1, -side]])
    x, y = share * size[0], share * size[1]
    rows = [
        [1, 0, -side, 0, 0, 0],
        [-1, 0, -side, 0, 0, 0],
        [0, 1, -side, 0, 0, 0],
        [0, -1, -side, 0, 0, 0],
        [0, 0, -y, 1, 0, 0],
        [0, 0, -y, -1, 0, 0],
        [0, 0, -x, 0, 1, 0],
        [0, 0, -x, 0, -1, 0],
    ]
    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            rows.append([a * y, b * x, -side * (x + y), a * side, b * side, 1.0])
            rows.append([a * y, b * x, -side * (x + y), -a * side, -b * side, -1.0])
    return np.array(rows)
