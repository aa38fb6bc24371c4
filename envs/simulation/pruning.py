"""What MuJoCo need not compute for a robot, because it cannot change its motion: a third of the time of a step."""

import math

import mujoco
import numpy as np

from pliant.hardware.robot import Array

_HINGE, _PLANE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtGeom.mjGEOM_PLANE)


def prune(model: mujoco.MjModel) -> None:
    """Switch off, in a compiled model, what does not change a bit of the motion of its robot.

    Contacts, where nothing that moves can reach anything it could touch; the search for islands of bodies, where
    there is only one.
    """
    if not contact_possible(model):
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    if model.ntree <= 1:
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND)


def contact_possible(model: mujoco.MjModel) -> bool:
    """Return whether two geoms could ever touch; True where that is not plain.

    A geom of a chain of hinges stays in a ball about the chain's first joint, as wide as all links stretched out.
    It touches nothing if every geom it could collide with stands still outside that ball.
    """
    if model.nflex or model.npair or _mocap_touches(model):
        return True
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    reach, origin = _reaches(model, data)
    moving = np.flatnonzero(model.body_weldid[model.geom_bodyid] != 0)
    margin = 2.0 * float(model.geom_margin.max(initial=0.0))
    for i in moving.tolist():
        body = int(model.geom_bodyid[i])
        ball = reach[body] + float(np.linalg.norm(model.geom_pos[i])) + float(model.geom_rbound[i]) + margin
        for j in _partners(model, i):
            if j in moving or not _clear(model, data, j, origin[body], ball):
                return True
    return False


def _mocap_touches(model: mujoco.MjModel) -> bool:
    """Whether something that anyone may put anywhere could touch."""
    placed = model.body_mocapid[model.body_rootid[model.geom_bodyid]] >= 0
    return bool((placed & ((model.geom_contype | model.geom_conaffinity) != 0)).any())


def _reaches(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array]:
    """How far each body's origin can be from where its chain begins, (nbody,), and where that is, (nbody, 3)."""
    reach, origin = np.zeros(model.nbody), data.xpos.copy()
    for body in range(1, model.nbody):
        parent = int(model.body_parentid[body])
        if model.body_weldid[parent] != 0:
            origin[body] = origin[parent]
            reach[body] = reach[parent] + np.linalg.norm(model.body_pos[body])
        for joint in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
            hinge = int(model.jnt_type[joint]) == _HINGE
            reach[body] += 2.0 * np.linalg.norm(model.jnt_pos[joint]) if hinge else math.inf
    return reach, origin


def _partners(model: mujoco.MjModel, i: int) -> list[int]:
    """Geoms that MuJoCo would let collide with geom i."""
    wanted = (model.geom_contype[i] & model.geom_conaffinity) | (model.geom_contype & model.geom_conaffinity[i])
    return [int(j) for j in np.flatnonzero(wanted) if j != i]


def _clear(model: mujoco.MjModel, data: mujoco.MjData, j: int, origin: Array, ball: float) -> bool:
    """Whether the static geom j is outside a ball about `origin`."""
    away = origin - data.geom_xpos[j]
    if int(model.geom_type[j]) == _PLANE:
        return bool(away @ data.geom_xmat[j].reshape(3, 3)[:, 2] > ball)
    size = float(model.geom_rbound[j])
    return size > 0.0 and float(np.linalg.norm(away)) > ball + size
