"""What a robot's own model says of an instant: mass matrix, bias forces, Jacobians and their drift.

A controller's model is its own: nothing of a simulation is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.actuators.compiled import compiled
from pliant.actuators.mujoco_calls import (
    long,
    mj_com_pos,
    mj_com_vel,
    mj_full_m,
    mj_kinematics,
    mj_make_m,
    mj_passive,
    mj_rne,
    numbers,
    record,
    table,
    whole,
)
from pliant.controllers.checks import Array, finite_array
from pliant.errors import ConfigurationError, unknown_name

_BRAKING: Final = 10.0
"""1/s"""
_NO_ACCELERATION: Final = np.int32(0)
_FREE: Final = int(mujoco.mjtJoint.mjJNT_FREE)
_SCALAR: Final = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


@dataclass(frozen=True)
class Frame:
    """A place on a body of a model."""

    name: str
    body: int
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """In the body, m."""
    orientation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """In the body, unit quaternion, w first."""


class Mechanics:
    """Mechanics of a robot at one instant.

        M·u̇ + h = τ + Jᵀ·λ

    `update` writes the arrays below; they stay the same objects. Torques are those that drives are to be
    commanded: what a drive adds by itself, such as the arm's weight, is not in h.

    Args:
        model: of the robot, as its controller believes it to be; it is kept, and must not be changed meanwhile but
            for masses, gravity and the like.
        joints: hinges and slides that are read, in the order of a robot's state. All others stand at zero.
        base: the body that floats, if one does.

    Raises:
        UnknownNameError: no such joint or body.
        ConfigurationError: a joint is neither a hinge nor a slide, or the base does not float.
    """

    def __init__(self, model: mujoco.MjModel, joints: Sequence[str], base: str | None = None) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        self.joints, self.base = tuple(joints), base
        self.places, self.dofs = self._joints(joints)
        free = -1 if base is None else self._free_joint(base)
        self.nv = model.nv
        self.root = self._root()
        """The body below which all of the robot is."""
        self.q, self.u = np.zeros(len(joints)), np.zeros(len(joints))
        """Positions and velocities of the joints, (joints,), rad or m, to be written before `refresh`."""
        self.base_pose, self.base_twist = np.array([0.0, 0, 0, 1, 0, 0, 0]), np.zeros(6)
        """Of a floating base: position and unit quaternion, (7,); linear velocity in the world's axes and angular
        velocity in its own, (6,). To be written before `refresh`."""
        self.inertia, self.bias, self.gravity = np.zeros((self.nv, self.nv)), np.zeros(self.nv), np.zeros(self.nv)
        """M, (nv, nv); h, (nv,): Coriolis, gravity, damping, less what drives add; and the part of h that stays at
        rest."""
        self.braking = np.zeros(self.nv)
        """u̇, (nv,), by which it comes to rest: −10·u."""
        self.drift = np.zeros((model.nbody, 6))
        """Acceleration of each body when u̇ = 0, angular then linear, about the centre of mass of its tree."""
        carries = np.zeros(self.nv, dtype=np.int64)
        for joint in range(model.njnt):
            if model.jnt_actgravcomp[joint]:
                width = 6 if model.jnt_type[joint] == _FREE else 3 if model.jnt_type[joint] not in _SCALAR else 1
                first = model.jnt_dofadr[joint]
                carries[first : first + width] = 1
        m, d = model, self.data
        arrays: dict[str, NDArray[Any]] = {
            "q": self.q, "u": self.u, "places": self.places, "dofs": self.dofs, "base_pose": self.base_pose,
            "base_twist": self.base_twist, "qpos": d.qpos, "qvel": d.qvel, "inertia": self.inertia,
            "bias": self.bias, "gravity": self.gravity, "drift": self.drift, "braking": self.braking,
            "passive": d.qfrc_passive, "carried": d.qfrc_gravcomp, "carries": carries,
            "parent": m.body_parentid, "root": m.body_rootid,
            "first_dof": m.body_dofadr, "dof_count": m.body_dofnum, "dof_body": m.dof_bodyid, "cdof": d.cdof,
            "cdof_dot": d.cdof_dot, "cvel": d.cvel, "subtree_com": d.subtree_com,
            "subtree_mass": m.body_subtreemass, "xpos": d.xpos, "xquat": d.xquat, "xipos": d.xipos,
            "ximat": d.ximat, "mass": m.body_mass, "body_inertia": m.body_inertia, "g": m.opt.gravity,
            "scratch": np.zeros((12, m.nv)),
        }  # fmt: skip
        self._kept = arrays
        place, dof = (-1, -1) if free < 0 else (int(m.jnt_qposadr[free]), int(m.jnt_dofadr[free]))
        self.record = record(
            m=m._address, d=d._address, nv=m.nv, nq=m.nq, bodies=m.nbody, joints=len(joints),
            base_place=place, base_dof=dof, **arrays,
        )  # fmt: skip
        """What compiled functions find all of it by."""
        self._refresh = compiled(refresh_mechanics)
        self.refresh()

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew where it is unpickled: compiled code finds its arrays by their places."""
        instant = (self.q, self.u, self.base_pose, self.base_twist)
        return type(self), (self.model, self.joints, self.base), instant

    def __setstate__(self, instant: tuple[Array, ...]) -> None:
        for array, values in zip((self.q, self.u, self.base_pose, self.base_twist), instant, strict=True):
            array[:] = values
        self.refresh()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = type(self)(self.model, self.joints, self.base)  # the model, which nobody changes, is shared
        made.__setstate__((self.q, self.u, self.base_pose, self.base_twist))
        return made

    def update(
        self,
        position: ArrayLike,
        velocity: ArrayLike,
        base_pose: ArrayLike | None = None,
        base_twist: ArrayLike | None = None,
    ) -> None:
        """Compute everything at an instant.

        Args:
            position: of the joints, (joints,), rad or m.
            velocity: of them, (joints,), rad/s or m/s.
            base_pose: of a floating base, (7,): position, m, and unit quaternion, w first.
            base_twist: of it, (6,): velocity in the world, m/s, angular velocity in its own axes, rad/s.

        Raises:
            ShapeError, OutOfBoundsError: not so many finite numbers.
        """
        self.q[:] = finite_array("position", position, self.q.shape)
        self.u[:] = finite_array("velocity", velocity, self.u.shape)
        if base_pose is not None:
            self.base_pose[:] = finite_array("base_pose", base_pose, (7,))
        if base_twist is not None:
            self.base_twist[:] = finite_array("base_twist", base_twist, (6,))
        self.refresh()

    def refresh(self) -> None:
        """Compute everything from `q`, `u`, `base_pose` and `base_twist` as they are."""
        self._refresh(self.record)

    def frame(self, name: str) -> Frame:
        """Return the frame of a site or body of that name, `world` among them; raise `UnknownNameError`.

        Where a site and a body have the same name, it is the site.
        """
        model = self.model
        sites, bodies = self._frames()
        if name in sites:
            site = model.site(name)
            return Frame(name, int(site.bodyid[0]), _three(site.pos), _four(site.quat))
        if name in bodies:
            return Frame(name, int(model.body(name).id))
        raise unknown_name("frame", name, self.frames, "the model")

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames: sites, then bodies. One of both is the site."""
        sites, bodies = self._frames()
        return tuple(name for name in dict.fromkeys([*sites, *bodies]) if name)

    def _frames(self) -> tuple[list[str], list[str]]:
        model = self.model
        return [model.site(k).name for k in range(model.nsite)], [model.body(k).name for k in range(model.nbody)]

    def pose(self, frame: Frame) -> Array:
        """Return the pose of a frame, (7,), in the world, at the last `refresh`."""
        found, turn = np.empty(7), np.empty(4)
        mujoco.mju_mulPose(
            found[:3],
            found[3:],
            self.data.xpos[frame.body],
            self.data.xquat[frame.body],
            np.array(frame.position),
            np.array(frame.orientation),
        )
        turn[:] = found[3:]
        mujoco.mju_normalize4(turn)
        found[3:] = turn
        return found

    def reach(self, frame: Frame) -> tuple[Array, float]:
        """Return a point that does not move, (3,), m, and how far from it a frame's origin can be at most, m.

        The lengths of all links together, from one joint's place to the next one's: what is farther is out of
        reach for sure, what is nearer may be too. Infinite where something floats or slides without an end.
        """
        model, data = self.model, self.data
        place, longest, body = self.pose(frame)[:3], 0.0, frame.body
        while body:
            first = int(model.body_jntadr[body])
            for joint in reversed(range(first, first + int(model.body_jntnum[body]))):
                anchor = data.xanchor[joint]
                longest += float(np.linalg.norm(place - anchor))
                if model.jnt_type[joint] == _SCALAR[1]:
                    ends = model.jnt_range[joint]
                    longest += float(ends[1] - ends[0]) if model.jnt_limited[joint] else np.inf
                elif model.jnt_type[joint] == _FREE:
                    longest = np.inf
                place = anchor.copy()
            body = int(model.body_parentid[body])
        return place, longest

    def jacobian(self, frame: Frame) -> Array:
        """Return the Jacobian of a frame's origin, (6, nv), linear then angular, in the world's axes."""
        found = np.zeros((6, self.nv))
        mujoco.mj_jac(self.model, self.data, found[:3], found[3:], self.pose(frame)[:3], frame.body)
        return found

    def com_jacobian(self) -> Array:
        """Return the Jacobian of the centre of mass of everything, (3, nv)."""
        found = np.zeros((3, self.nv))
        mujoco.mj_jacSubtreeCom(self.model, self.data, found, 0)
        return found

    def acceleration_drift(self, frame: Frame) -> Array:
        """Return J̇·u of a frame's origin, (6,), linear then angular: exact, from one pass over the bodies."""
        found = np.empty(6)
        compiled(point_drift)(self.record, frame.body, self.pose(frame)[:3], found)
        return found

    @property
    def velocity(self) -> Array:
        """U of all degrees of freedom, (nv,)."""
        found: Array = self.data.qvel
        return found

    def _joints(self, joints: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        model = self.model
        known = [model.joint(i).name for i in range(model.njnt)]
        for name in joints:
            if name not in known:
                raise unknown_name("joint", name, known, "the controller's model")
            if int(model.joint(name).type[0]) not in _SCALAR:
                raise ConfigurationError(
                    f"joint {name!r} of the controller's model is neither a hinge nor a slide."
                )
        ids = [model.joint(name).id for name in joints]
        return model.jnt_qposadr[ids].astype(np.int64), model.jnt_dofadr[ids].astype(np.int64)

    def _root(self) -> int:
        """The body on the world that carries every joint; the world itself, if they are on several."""
        model = self.model
        paths = []
        for body in {int(model.dof_bodyid[dof]) for dof in self.dofs}:
            path = [body]
            while path[-1]:
                path.append(int(model.body_parentid[path[-1]]))
            paths.append(path[::-1])
        shared = [bodies[0] for bodies in zip(*paths, strict=False) if len(set(bodies)) == 1]
        return shared[1] if len(shared) > 1 else 0

    def _free_joint(self, base: str) -> int:
        model = self.model
        bodies = [model.body(k).name for k in range(model.nbody)]
        if base not in bodies:
            raise unknown_name("body", base, bodies, "the controller's model")
        first = int(model.body(base).jntadr[0])
        if first < 0 or int(model.jnt_type[first]) != _FREE:
            raise ConfigurationError(
                f"body {base!r} of the controller's model does not float: it has no free joint."
            )
        return first


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = map(float, values)
    return x, y, z


def _four(values: Array) -> tuple[float, float, float, float]:
    w, x, y, z = map(float, values)
    return w, x, y, z


def refresh_mechanics(row: Any) -> None:
    """Compute everything at q and u, of a record as above."""
    r = row[0]
    m, d, nv = r.m, r.d, r.nv
    qpos, qvel, q, u = numbers(r.qpos, r.nq), numbers(r.qvel, nv), numbers(r.q, r.joints), numbers(r.u, r.joints)
    for i in range(r.joints):
        qpos[long(r.places, i)] = q[i]
        qvel[long(r.dofs, i)] = u[i]
    if r.base_place >= 0:
        qpos[r.base_place : r.base_place + 7] = numbers(r.base_pose, 7)
        qvel[r.base_dof : r.base_dof + 6] = numbers(r.base_twist, 6)
    mj_kinematics(m, d)
    mj_com_pos(m, d)
    mj_make_m(m, d)
    mj_com_vel(m, d)
    mj_passive(m, d)
    mj_rne(m, d, _NO_ACCELERATION, r.bias)
    mj_full_m(m, d, r.inertia)
    bias, gravity = numbers(r.bias, nv), numbers(r.gravity, nv)
    passive, carried = numbers(r.passive, nv), numbers(r.carried, nv)
    cdof, com, mass, g = (
        table(r.cdof, nv, 6),
        table(r.subtree_com, r.bodies, 3),
        numbers(r.subtree_mass, r.bodies),
        numbers(r.g, 3),
    )
    braking = numbers(r.braking, nv)
    for i in range(nv):
        braking[i] = -_BRAKING * qvel[i]
        bias[i] -= passive[i]
        if long(r.carries, i) != 0:
            bias[i] -= carried[i]
        body = whole(r.dof_body, i)
        root = whole(r.root, body)
        x, y, z = com[body, 0] - com[root, 0], com[body, 1] - com[root, 1], com[body, 2] - com[root, 2]
        vx = cdof[i, 3] + cdof[i, 1] * z - cdof[i, 2] * y
        vy = cdof[i, 4] + cdof[i, 2] * x - cdof[i, 0] * z
        vz = cdof[i, 5] + cdof[i, 0] * y - cdof[i, 1] * x
        gravity[i] = -mass[body] * (vx * g[0] + vy * g[1] + vz * g[2]) - carried[i]
    drift, cdof_dot = table(r.drift, r.bodies, 6), table(r.cdof_dot, nv, 6)
    drift[0] = 0.0
    for body in range(1, r.bodies):
        first, parent = whole(r.first_dof, body), whole(r.parent, body)
        for k in range(6):
            sum_ = drift[parent, k]
            for i in range(first, first + whole(r.dof_count, body)):
                sum_ += cdof_dot[i, k] * qvel[i]
            drift[body, k] = sum_


def point_drift(row: Any, body: int, point: Array, found: Array) -> None:
    """Write J̇·u of a point of a body, (6,), linear then angular, into `found`."""
    r = row[0]
    root = whole(r.root, body)
    com, velocity = table(r.subtree_com, r.bodies, 3), table(r.cvel, r.bodies, 6)
    drift = table(r.drift, r.bodies, 6)
    x, y, z = point[0] - com[root, 0], point[1] - com[root, 1], point[2] - com[root, 2]
    wx, wy, wz = velocity[body, 0], velocity[body, 1], velocity[body, 2]
    ax, ay, az = drift[body, 0], drift[body, 1], drift[body, 2]
    vx = velocity[body, 3] + wy * z - wz * y
    vy = velocity[body, 4] + wz * x - wx * z
    vz = velocity[body, 5] + wx * y - wy * x
    found[0] = drift[body, 3] + ay * z - az * y + wy * vz - wz * vy
    found[1] = drift[body, 4] + az * x - ax * z + wz * vx - wx * vz
    found[2] = drift[body, 5] + ax * y - ay * x + wx * vy - wy * vx
    found[3], found[4], found[5] = ax, ay, az
