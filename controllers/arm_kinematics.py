"""A point of an arm by its joints: where it is, and the joint motion that takes it from pose to pose.

For any robot that is fixed to the world. The kinematics is MuJoCo's; arms of Universal Robots have a closed form
of all branches too, `ur_kinematics`.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.poses import between, difference
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, unknown_name

_TOLERANCE: Final = 1e-9
"""A point is there, m and rad."""
_STRIDE: Final = 0.1
"""Longest way in one iteration, m or rad: the Jacobian holds only nearby."""
_ITERATIONS: Final = 100
_CORRECTION: Final = 0.5
"""Fastest way back to the target, m/s: one that has run away does not pull harder."""
_OUTSIDE: Final = 1e-9
"""A joint past its limit by less than this is at the limit, rad or m: absorbs rounding."""

FREE: Final = 0
SINGULAR: Final = 1
AT_LIMIT: Final = 2
TOO_FAST: Final = 3


class ToolStep(NamedTuple):
    """Joint positions a period later, and what kept the point from going all the way."""

    q: Array
    """(joints,), rad or m."""
    velocity: Array
    """Of the joints over the period, (joints,), rad/s or m/s."""
    held: str
    """Why the point did less than was wanted: `singular`, or the joint at its limit or speed limit; empty: nothing
    did."""


class ArmKinematics:
    """Kinematics of a site of a robot. Poses are position and unit quaternion (w first), (7,), in the world.

    Args:
        model: of the robot, as a controller believes it to be. Nothing of it is changed.
        site: whose kinematics.
        joints: hinges and slides that move it; all others stand still.
        posture: positions of the whole model, (nq,), where the others stand; None: the model's zero.
        length: what a rotation of 1 rad counts as against metres, m, where a pose cannot be followed wholly. 0:
            the position alone is followed, the orientation is as it comes.
        singular: singular value of the Jacobian, m, below which the point slows down in that direction. Of its
            motion there the part (value/singular)² is done, so that joints stay slow and nothing jumps.

    Raises:
        UnknownNameError: no such site or joint.
        ConfigurationError: a joint that is neither hinge nor slide, or none moves the site.
        OutOfBoundsError, ShapeError: numbers that cannot be.
    """

    _data: mujoco.MjData
    _position: Array
    _matrix: Array
    _all: Array

    def __init__(
        self,
        model: mujoco.MjModel,
        site: str,
        joints: Sequence[str],
        posture: ArrayLike | None = None,
        *,
        length: float = 0.3,
        singular: float = 0.06,
    ) -> None:
        names = [model.site(i).name for i in range(model.nsite)]
        if site not in names:
            raise unknown_name("site", site, names, "the model")
        known = [model.joint(i).name for i in range(model.njnt)]
        for name in joints:
            if name not in known:
                raise unknown_name("joint", name, known, "the model")
            if int(model.joint(name).type[0]) not in _SCALAR:
                raise ConfigurationError(f"kinematics of {site!r}: joint {name!r} is neither a hinge nor a slide.")
        self.site, self.joints = site, tuple(joints)
        numbers = [model.joint(name).id for name in joints]
        self._model = model
        self._posture = None if posture is None else finite_array("posture", posture, (model.nq,))
        self._places, self._dofs = model.jnt_qposadr[numbers], model.jnt_dofadr[numbers]
        limited = model.jnt_limited[numbers].astype(bool)
        self.low = np.where(limited, model.jnt_range[numbers, 0], -math.inf)
        """Smallest joint positions, (joints,), rad or m."""
        self.high = np.where(limited, model.jnt_range[numbers, 1], math.inf)
        self._number = model.site(site).id
        self._length = check_bounds("kinematics: length", length, 0.0, 100.0, "m")
        self._singular = positive("kinematics: singular", singular, "m")
        self._make_room()
        if not self.jacobian(np.clip(np.zeros(len(joints)), self.low, self.high) + 0.1).any():
            raise ConfigurationError(f"site {site!r} is moved by none of the joints {', '.join(joints)}.")

    def pose(self, q: ArrayLike) -> Array:
        """Return the pose of the site, (7,), at joint positions (joints,), rad or m.

        Raises:
            ShapeError, OutOfBoundsError: not that many finite numbers.
        """
        return self.place(finite_array("q", q, self.low.shape))

    def place(self, q: Array) -> Array:
        """As `pose`, of joint positions that are known to be so many finite numbers: for a control loop."""
        self._set(q)
        return self._pose()

    def jacobian(self, q: ArrayLike) -> Array:
        """Return the geometric Jacobian of the site, (6, joints), in world axes. Errors of `pose`.

        Rows: linear velocity, m/s, then angular velocity, rad/s, for joint speeds of 1 rad/s or m/s.
        """
        self._set(finite_array("q", q, self.low.shape))
        return self._jacobian()

    def step(
        self,
        q: Array,
        target: Array,
        twist: Array,
        period: float,
        *,
        gain: float,
        speed: Array,
    ) -> ToolStep:
        """Return the joint positions a period later with which the site follows a moving pose.

            J·q̇ = twist + gain·(target − x(q)),   low ≤ q + q̇·period ≤ high,   |q̇| ≤ speed

        The second term is at most 0.5 m/s.
        The loop closes over these positions, not over measurements, so that what is soft stays soft. Where not all
        can be done: near a singularity the site slows down in the direction that it cannot go; a joint at its
        limit stays there and the others do what they can; at its speed limit all slow down alike, on the way that
        they go. Joints beyond those needed move as little as possible.

        Source: Siciliano et al. 2009, Robotics, section 3.7.1; limits in the manner of Flacco, De Luca and Khatib
        2012, "Motion control of redundant robots under joint constraints".

        Args:
            q: the positions now, (joints,), within their limits.
            target: pose of the site now, (7,).
            twist: its velocity, (6,), m/s and rad/s, in world axes.
            period: s.
            gain: of the loop, 1/s, at most 1/period.
            speed: largest joint speeds, (joints,), rad/s or m/s.
        """
        self._set(q)
        back = gain * difference(target, self._pose())
        velocity, why, which = compiled(_resolve)(
            self._jacobian(), twist, back, q, self.low, self.high, speed, period, self._length, self._singular
        )
        held = "" if why == FREE else "singular" if why == SINGULAR else f"{_WHY[why]} of {self.joints[which]}"
        return ToolStep(q + period * velocity, velocity, held)

    def reach(self, target: ArrayLike, near: ArrayLike) -> Array:
        """Return joint positions, (joints,), at which the site has a pose, found by going there from `near`.

        It is there to 1e-9 m and rad, and at that position alone if `length` is 0.

        Args:
            target: pose, (7,), in the world.
            near: joint positions, (joints,), rad or m.

        Raises:
            ShapeError, OutOfBoundsError: numbers that cannot be; or it does not get there: out of reach, behind a
                joint's limit, or behind a singular posture as seen from `near`.
        """
        goal, q = finite_array("pose", target, (7,)), finite_array("near", near, self.low.shape)
        for name, value, low, high in zip(self.joints, q, self.low, self.high, strict=True):
            if not low - _OUTSIDE <= value <= high + _OUTSIDE:
                check_bounds(f"joint {name!r}", value, low, high, "rad")
        q, still, fast, held = np.clip(q, self.low, self.high), np.zeros(6), np.full(q.shape, math.inf), ""
        for _ in range(_ITERATIONS):
            self._set(q)
            here = self._pose()
            way = np.linalg.norm(difference(goal, here).reshape(2, 3), axis=1)
            way[1] *= self._length > 0.0
            if way.max() < _TOLERANCE:
                return q
            nearer = between(here, goal, min(1.0, _STRIDE / way.max()))
            q, _, held = self.step(q, nearer, still, 1.0, gain=1.0, speed=fast)
        because = {"": "it may be out of reach", "singular": _SINGULAR_POSTURE}.get(held, held)
        raise OutOfBoundsError(
            f"site {self.site!r} does not get to {np.round(goal, 4).tolist()} from the posture "
            f"{np.round(np.asarray(near), 3).tolist()}: it stays {way[0]:.3g} m and {way[1]:.3g} rad away; "
            f"{because}."
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ArmKinematics.__annotations__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_room()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copy.copy(self)  # the model, which nobody changes, is shared

    def _make_room(self) -> None:
        """Make what is computed in."""
        self._data = mujoco.MjData(self._model)
        if self._posture is not None:
            self._data.qpos[:] = self._posture
        self._position, self._matrix = self._data.site_xpos[self._number], self._data.site_xmat[self._number]
        self._all = np.zeros((6, self._model.nv))

    def _set(self, q: Array) -> None:
        self._data.qpos[self._places] = q
        mujoco.mj_kinematics(self._model, self._data)

    def _pose(self) -> Array:
        found = np.empty(7)
        found[:3] = self._position
        mujoco.mju_mat2Quat(found[3:], self._matrix)
        return found

    def _jacobian(self) -> Array:
        """Where the joints have been set."""
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_jacSite(self._model, self._data, self._all[:3], self._all[3:], self._number)
        found: Array = self._all[:, self._dofs]
        return found


_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_SINGULAR_POSTURE = "it is beyond a singular posture, or the arm has too few joints for it"
_WHY = {AT_LIMIT: "the limit", TOO_FAST: "the speed limit"}


def _resolve(
    jacobian: Array,
    twist: Array,
    back: Array,
    q: Array,
    low: Array,
    high: Array,
    speed: Array,
    period: float,
    length: float,
    singular: float,
) -> tuple[Array, int, int]:
    """Least joint speeds for a twist, within limits; why it is not wholly done, and which joint's fault it is."""
    joints = jacobian.shape[1]
    weighted, wanted, back = jacobian.copy(), twist.copy(), back.copy()
    weighted[3:] *= length
    wanted[3:] *= length
    back[3:] *= length
    size = math.sqrt((back**2).sum())
    wanted += back if size < _CORRECTION else back * _CORRECTION / size
    velocity = np.zeros(joints)
    why, which = FREE, 0
    for _ in range(joints + 1):
        moved, slowed = _least(weighted, wanted, singular)
        if slowed and why == FREE:
            why = SINGULAR
        worst, most = -1, 1e-12
        for j in range(joints):
            after = q[j] + period * moved[j]
            beyond = max(low[j] - after, after - high[j])
            if beyond > most:
                worst, most = j, beyond
        if worst < 0:
            break
        # that joint goes to its limit, the others do what is left
        limit = low[worst] if moved[worst] < 0.0 else high[worst]
        velocity[worst] = (limit - q[worst]) / period
        wanted -= weighted[:, worst] * velocity[worst]
        weighted[:, worst] = 0.0
        why, which = AT_LIMIT, worst
    velocity += moved
    scale = 1.0
    for j in range(joints):
        if abs(velocity[j]) * scale > speed[j]:
            scale = speed[j] / abs(velocity[j])
            why, which = TOO_FAST, j
    return velocity * scale, why, which


def _least(jacobian: Array, wanted: Array, singular: float) -> tuple[Array, bool]:
    """Least speeds for a twist, slowed along singular directions; whether they are.

    Where ‖J⁻¹‖ ≤ 1/singular, no singular value is below that: the inverse is all, and quicker.
    """
    joints = jacobian.shape[1]
    if joints == 6 and np.abs(jacobian).sum(axis=0).min() > 0.0:
        try:
            inverse = np.linalg.inv(jacobian)
            if singular**2 * (inverse**2).sum() <= 1.0:
                return inverse @ wanted, False
        except Exception:  # singular to the last bit: compiled code cannot catch LinAlgError by name
            pass
    u, sizes, vt = np.linalg.svd(jacobian, False)
    parts = u.T @ wanted
    moved, slowed = np.zeros(joints), False
    for k in range(sizes.size):
        if sizes[k] >= singular:
            moved += parts[k] / sizes[k] * vt[k]
        else:
            moved += parts[k] * sizes[k] / singular**2 * vt[k]
            slowed = slowed or abs(parts[k]) > 1e-9
    return moved, slowed
