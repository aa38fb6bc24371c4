"""Closed-form kinematics of the arms of Universal Robots: forward, Jacobian, and all eight inverse branches.

Standard Denavit–Hartenberg convention, Tᵢ = Rz(qᵢ)·Tz(dᵢ)·Tx(aᵢ)·Rx(αᵢ), with the parameters of
`pliant.hardware.ur_arms`. With the radius w = a₂c₂ + a₃c₂₃ + d₅s₂₃₄ of the wrist in the plane of the arm,

    |det J| = |a₂·a₃·s₃·s₅·w|,

so that the signs of w, s₃ and s₅ name the eight branches, and their zeros the singularities: shoulder,
elbow, wrist.

Source: K. P. Hawkins, "Analytic Inverse Kinematics for the Universal Robots UR-5/UR-10 Arms" (2013); derived anew,
with atan2 in place of acos where that loses digits.
"""

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array
from pliant.errors import OutOfBoundsError
from pliant.hardware.ur_arms import ALPHA, UrArm, ur_arm

SINGULARITIES: Final = ("shoulder", "elbow", "wrist")
_SINGULAR = 1e-6
"""Below this |w|/(|a₂| + |a₃|), |s₃| or |s₅| counts as 0."""
_FREE = 1e-12
"""Below this |s₅| the last joint may stand anywhere: then it stands where it did."""
_BOUNDARY = 1e-10
"""How far beyond its reach a pose may be that is taken as just reached, m: rounding of a stretched arm."""
_ROTATION = 1e-6
"""How far from orthonormal the rotation of a pose may be."""
_COS_ALPHA = np.array([round(math.cos(alpha)) for alpha in ALPHA], np.float64)
_SIN_ALPHA = np.array([round(math.sin(alpha)) for alpha in ALPHA], np.float64)

Branch = tuple[int, int, int]
"""Signs, ±1, of the wrist's radius w, of sin q₃ and of sin q₅: shoulder, elbow and wrist."""


class Solution(NamedTuple):
    """Joint angles that reach a pose."""

    q: Array
    """(6,), rad."""
    branch: Branch
    """Which of the eight."""
    singular: tuple[str, ...]
    """Which of `SINGULARITIES` the arm is in there; in `wrist` the last joint stays as in the reference."""


class UrKinematics:
    """Kinematics of an arm with a tool. Poses are (4, 4), of the tool's centre point in the controller's `base`.

    Args:
        arm: name, such as `ur10e`, or its parameters.
        tcp: pose of the tool's centre point in the flange, (4, 4); None: the flange itself.

    Raises:
        UnknownNameError: no such arm.
        ShapeError, OutOfBoundsError: `tcp` is no pose.
    """

    def __init__(self, arm: str | UrArm, tcp: ArrayLike | None = None) -> None:
        self.arm = ur_arm(arm) if isinstance(arm, str) else arm
        self.tcp = np.eye(4) if tcp is None else _pose("tcp", tcp)
        self._from_tcp = _inverse(self.tcp)
        bounds = [(-math.inf, math.inf) if range_ is None else range_ for range_ in self.arm.range]
        self._low, self._high = (np.array(column) for column in zip(*bounds, strict=True))

    def frames(self, q: ArrayLike) -> Array:
        """Return the poses of frames 0 to 6 in the base, (7, 4, 4), at joint angles (6,), rad."""
        angles = finite_array("q", q, (6,))
        found = np.empty((7, 4, 4))
        found[0] = np.eye(4)
        for i in range(6):
            found[i + 1] = found[i] @ self._link(i, float(angles[i]))
        return found

    def forward(self, q: ArrayLike) -> Array:
        """Return the pose of the tool's centre point, (4, 4), at joint angles (6,), rad.

        Raises:
            ShapeError, OutOfBoundsError: `q` is not six finite numbers.
        """
        return np.asarray(self.frames(q)[6] @ self.tcp)

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the geometric Jacobian of the tool's centre point, (6, 6), in base axes.

        Rows: linear velocity, m/s, then angular velocity, rad/s, for joint speeds of 1 rad/s. Errors of `forward`.
        """
        frames = self.frames(q)
        point = (frames[6] @ self.tcp)[:3, 3]
        axes, origins = frames[:6, :3, 2], frames[:6, :3, 3]
        return np.vstack([np.cross(axes, point - origins).T, axes.T])

    def branch(self, q: ArrayLike) -> Branch:
        """Return the branch that joint angles (6,), rad, are on; a sign is 0 where it is singular to 1e-6."""
        signs = [0 if abs(value) < _SINGULAR else int(math.copysign(1, value)) for value in self._measures(q)]
        return signs[0], signs[1], signs[2]

    def singularities(self, q: ArrayLike) -> tuple[str, ...]:
        """Return the names of the singularities that joint angles (6,), rad, are in, to 1e-6."""
        return tuple(name for name, sign in zip(SINGULARITIES, self.branch(q), strict=True) if sign == 0)

    def inverse(self, pose: ArrayLike, near: ArrayLike | None = None) -> list[Solution]:
        """Return all joint angles that reach a pose, at most one for each of the eight branches, nearest first.

        Of angles that differ by whole turns each solution has those nearest to the reference within the joints'
        ranges. Where branches meet, in a singularity, both are listed.

        Args:
            pose: (4, 4).
            near: reference angles, (6,), rad; None: all zero.

        Raises:
            ShapeError, OutOfBoundsError: not a pose or not angles; or the pose is out of reach, with by how much.
        """
        reference = np.zeros(6) if near is None else finite_array("near", near, (6,))
        found, misses = self._solve(_pose("pose", pose), reference)
        if not found:
            raise self._unreachable(misses)
        return sorted(found, key=lambda solution: float(np.abs(solution.q - reference).max()))

    def nearest(self, pose: ArrayLike, near: ArrayLike) -> Array:
        """Return the joint angles, (6,), that reach a pose on the branch of the reference, nearest to it.

        Along a path each result is the reference of the next pose, so that nothing jumps. A reference in a
        singularity is on several branches; the nearest solution of these is taken.

        Args:
            pose: (4, 4).
            near: (6,), rad.

        Raises:
            ShapeError, OutOfBoundsError: as `inverse`; or only other branches reach the pose, with by how much
                this one misses it.
        """
        reference = finite_array("near", near, (6,))
        wanted = self.branch(reference)
        found, misses = self._solve(_pose("pose", pose), reference)
        if not found:
            raise self._unreachable(misses)
        alike = [s for s in found if all(w in (0, b) for w, b in zip(wanted, s.branch, strict=True))]
        if not alike:
            short = {b: m for b, m in misses.items() if all(w in (0, x) for w, x in zip(wanted, b, strict=True))}
            raise OutOfBoundsError(
                f"{self._unreachable(short)} Branches that reach it: {', '.join(str(s.branch) for s in found)}."
            )
        return min(alike, key=lambda solution: float(np.abs(solution.q - reference).max())).q

    def _link(self, i: int, angle: float) -> Array:
        c, s, ca, sa = math.cos(angle), math.sin(angle), _COS_ALPHA[i], _SIN_ALPHA[i]
        a, d = self.arm.a[i], self.arm.d[i]
        return np.array(
            [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0.0, sa, ca, d], [0.0, 0.0, 0.0, 1.0]]
        )

    def _measures(self, q: ArrayLike) -> tuple[float, float, float]:
        """What is 0 in a shoulder, elbow or wrist singularity; the first as a share of the arm's length."""
        _, q2, q3, q4, q5, _ = finite_array("q", q, (6,)).tolist()
        a2, a3 = self.arm.a[1], self.arm.a[2]
        radius = a2 * math.cos(q2) + a3 * math.cos(q2 + q3) + self.arm.d[4] * math.sin(q2 + q3 + q4)
        return radius / (abs(a2) + abs(a3)), math.sin(q3), math.sin(q5)

    def _solve(self, pose: Array, near: Array) -> tuple[list[Solution], dict[Branch, tuple[str, float]]]:
        """Return the solutions, and for branches without one what misses the pose and by how much, m."""
        flange = pose @ self._from_tcp
        found: list[Solution] = []
        misses: dict[Branch, tuple[str, float]] = {}
        wrist = flange[:3, 3] - self.arm.d[5] * flange[:3, 2]
        d4 = self.arm.d[3]
        squared = wrist[0] ** 2 + wrist[1] ** 2 - d4**2
        lacking = abs(d4) - math.hypot(wrist[0], wrist[1])
        if lacking > _BOUNDARY:
            for branch in _branches():
                misses[branch] = ("the wrist is too close to the first axis, by", lacking)
            return found, misses
        radius = math.sqrt(max(squared, 0.0))
        for shoulder in (1, -1):
            q1 = math.atan2(wrist[1], wrist[0]) + math.atan2(d4, shoulder * radius)
            arm_axis = np.array([math.sin(q1), -math.cos(q1), 0.0]) @ flange[:3, :3]  # z₁ in the flange
            sine = math.hypot(arm_axis[0], arm_axis[1])
            for bend in (1, -1):
                q5 = math.atan2(bend * sine, arm_axis[2])
                q6 = math.atan2(-bend * arm_axis[1], bend * arm_axis[0]) if sine > _FREE else float(near[5])
                self._bend_elbow(flange, near, (shoulder, bend), (q1, q5, q6), found, misses)
        return found, misses

    def _bend_elbow(
        self,
        flange: Array,
        near: Array,
        signs: tuple[int, int],
        outer: tuple[float, float, float],
        found: list[Solution],
        misses: dict[Branch, tuple[str, float]],
    ) -> None:
        """Add both elbows for given angles of the first and the last two joints."""
        q1, q5, q6 = outer
        a2, a3 = self.arm.a[1], self.arm.a[2]
        fourth = _inverse(self._link(0, q1)) @ flange @ _inverse(self._link(4, q5) @ self._link(5, q6))
        x, y = float(fourth[0, 3]), float(fourth[1, 3])
        lean = math.atan2(fourth[1, 0], fourth[0, 0])
        distance = math.hypot(x, y)
        far, close = distance - abs(a2) - abs(a3), abs(abs(a2) - abs(a3)) - distance
        if max(far, close) > _BOUNDARY:
            why = ("the wrist is too far from the shoulder, by", far)
            if close > far:
                why = ("the wrist is too close to the shoulder, by", close)
            for elbow in (1, -1):
                misses[signs[0], elbow, signs[1]] = why
            return
        cosine = (distance**2 - a2**2 - a3**2) / (2.0 * a2 * a3)
        sine = math.sqrt(max(1.0 - cosine**2, 0.0))
        for elbow in (1, -1):
            q3 = math.atan2(elbow * sine, cosine)
            q2 = math.atan2(y, x) - math.atan2(a3 * elbow * sine, a2 + a3 * cosine)
            q = self._turns(np.array([q1, q2, q3, lean - q2 - q3, q5, q6]), near)
            if q is not None:
                found.append(Solution(q, (signs[0], elbow, signs[1]), self.singularities(q)))

    def _turns(self, q: Array, near: Array) -> Array | None:
        """Whole turns added so that each angle is nearest to the reference within its range."""
        turn = 2.0 * math.pi
        q = near + (q - near + math.pi) % turn - math.pi
        q = np.where(q > self._high, q - turn * np.ceil((q - self._high) / turn), q)
        q = np.where(q < self._low, q + turn * np.ceil((self._low - q) / turn), q)
        return q if bool((q <= self._high).all()) else None

    def _unreachable(self, misses: dict[Branch, tuple[str, float]]) -> OutOfBoundsError:
        if not misses:
            return OutOfBoundsError(f"{self.arm.name} does not reach the pose within the ranges of its joints.")
        why, amount = min(misses.values(), key=lambda miss: miss[1])
        return OutOfBoundsError(f"{self.arm.name} does not reach the pose: {why} {amount:.4g} m.")


def pose_of(position: ArrayLike, rotation: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return the pose, (4, 4), of a position (3,), m, and a rotation vector (3,), rad, as the controller has it.

    Raises:
        ShapeError, OutOfBoundsError: not three finite numbers each.
    """
    vector = finite_array("rotation vector", rotation, (3,))
    angle = float(np.linalg.norm(vector))
    pose = np.eye(4)
    pose[:3, 3] = finite_array("position", position, (3,))
    if angle > 0.0:
        x, y, z = vector / angle
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        pose[:3, :3] += math.sin(angle) * cross + 2.0 * math.sin(angle / 2.0) ** 2 * (cross @ cross)
    return pose


def _branches() -> Iterator[Branch]:
    for shoulder in (1, -1):
        for elbow in (1, -1):
            for wrist in (1, -1):
                yield shoulder, elbow, wrist


def _inverse(pose: Array) -> Array:
    found = np.eye(4)
    found[:3, :3] = pose[:3, :3].T
    found[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return found


def _pose(what: str, value: ArrayLike) -> Array:
    """Check a pose, (4, 4)."""
    pose = finite_array(what, value, (4, 4))
    rotation = pose[:3, :3]
    off = float(np.abs(rotation @ rotation.T - np.eye(3)).max())
    if off > _ROTATION or np.linalg.det(rotation) < 0.0 or not np.array_equal(pose[3], [0.0, 0.0, 0.0, 1.0]):
        raise OutOfBoundsError(
            f"{what} is no pose: its upper left (3, 3) must be a rotation (it is off by "
            f"{off:.3g}) and its last row 0, 0, 0, 1."
        )
    return pose
