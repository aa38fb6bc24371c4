"""Atlas as bodies: links and joints, what touches, what drives a moving pelvis, sites and inertial sensors."""

from collections.abc import Mapping, Sequence
from typing import Final

import mujoco
import numpy as np

from pliant.envs.models.parts import COLLISION_GROUP
from pliant.hardware.atlas import AtlasJoint, AtlasLink, Shape

PELVIS: Final = "pelvis"
"""The body, its site, and its free joint if it floats."""
PELVIS_JOINTS: Final = ("pelvis_x", "pelvis_y", "pelvis_z", "pelvis_roll", "pelvis_pitch", "pelvis_yaw")
"""Joints of a moving pelvis: position in the world, m, and angles about x, then y, then z, rad: R = Rx·Ry·Rz."""
FRICTION: Final = 0.7
"""Of all that touches."""

_HAND = (0.0, 0.1, 0.01)
"""The left hand's point, in its link, m …"""
_SOLE = (0.048, 0.0, -0.081119)
"""… and the middle of the sole in the foot."""
_CARRIED = 1e6
"""Inertia that a moving pelvis has by its drive, kg and kg·m²: what the robot does then does not move it …"""
_PULL = 100.0
"""… and the rate at which it takes on the position that is commanded, 1/s; the speed it takes on in a step."""
_LATE = {int(mujoco.mjtIntegrator.mjINT_DISCRETE): 0.5, int(mujoco.mjtIntegrator.mjINT_RK4): 0.0}
"""How many steps after its middle an integrator takes the positions that drives see; others: at its beginning."""


def add_links(
    spec: mujoco.MjSpec,
    pelvis: AtlasLink,
    joints: Sequence[AtlasJoint],
    angles: Mapping[str, float],
    moved: set[str],
    self_collision: bool,
) -> None:
    """Add all links; a joint that is not among those that move is stiff at its angle."""
    affinity = int(self_collision)
    bodies = {pelvis.name: spec.worldbody.add_body(name=pelvis.name)}
    parents: dict[str, str] = {}
    _weigh(bodies[pelvis.name], pelvis)
    _touch(bodies[pelvis.name], pelvis.shapes, affinity)
    for joint in joints:
        link = joint.child
        body = bodies[link.name] = bodies[joint.parent].add_body(name=link.name, pos=list(joint.position))
        parents[link.name] = joint.parent
        _weigh(body, link)
        if joint.name not in moved:
            angle = angles[joint.name] / 2.0
            body.quat = [np.cos(angle), *(np.sin(angle) * np.array(joint.axis))]
            continue
        _touch(body, link.shapes, affinity)
        hinge = body.add_joint(name=joint.name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=list(joint.axis))
        hinge.limited, hinge.range = mujoco.mjtLimited.mjLIMITED_TRUE, list(joint.range)
    if self_collision:
        for one, other in _neighbours(parents):
            spec.add_exclude(bodyname1=one, bodyname2=other)


def _weigh(body: mujoco.MjsBody, link: AtlasLink) -> None:
    ixx, ixy, ixz, iyy, iyz, izz = link.link.inertia
    body.explicitinertial = True
    body.mass, body.ipos = link.link.mass, list(link.link.com)
    body.fullinertia = [ixx, iyy, izz, ixy, ixz, iyz]


def _touch(body: mujoco.MjsBody, shapes: Sequence[Shape], affinity: int) -> None:
    """Add what touches, unseen and without mass."""
    for k, shape in enumerate(shapes):
        kind = mujoco.mjtGeom.mjGEOM_BOX if shape.box else mujoco.mjtGeom.mjGEOM_CYLINDER
        size = [length / 2 for length in shape.size] if shape.box else [shape.size[0], shape.size[1] / 2, 0.0]
        quat = np.zeros(4)
        mujoco.mju_euler2Quat(quat, list(shape.rpy), "XYZ")
        body.add_geom(
            name=f"{body.name}_{k}",
            type=kind,
            size=size,
            pos=list(shape.position),
            quat=quat,
            contype=1,
            conaffinity=affinity,
            friction=[FRICTION, 0.005, 0.0001],
            group=COLLISION_GROUP,
            mass=0.0,
            rgba=[0.9, 0.3, 0.2, 0.3],
        )


def _neighbours(parents: Mapping[str, str]) -> set[tuple[str, str]]:
    """Pairs of links with one to three joints between them, which overlap or nearly do."""

    def chain(link: str) -> list[str]:
        return [link, *(chain(parents[link]) if link in parents else [])]

    found = set()
    links = [PELVIS, *parents]
    for k, one in enumerate(links):
        for other in links[k + 1 :]:
            first, second = chain(one), chain(other)
            shared = sum(a == b for a, b in zip(reversed(first), reversed(second), strict=False))
            if len(first) + len(second) - 2 * shared <= 3:
                found.add((one, other))
    return found


def let_pelvis_move(spec: mujoco.MjSpec, pelvis: mujoco.MjsBody) -> None:
    """Let the pelvis move as it is commanded, by a = rate·(v* − v + pull·(x* − x)), whatever pulls at it.

    x is that in the middle of a physics step, v that at its end.
    """
    pelvis.pos = [0.0, 0.0, 0.0]
    step = float(spec.option.timestep)
    late = _LATE.get(int(spec.option.integrator), -0.5)
    kv = _CARRIED / step
    kp = kv * _PULL
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    for k, name in enumerate(PELVIS_JOINTS):
        joint = pelvis.add_joint(name=name, type=slide if k < 3 else hinge, axis=np.eye(3)[k % 3].tolist())
        joint.armature = _CARRIED
        joint.limited, joint.range = mujoco.mjtLimited.mjLIMITED_FALSE, [0.0, 0.0]
        position, speed = (
            spec.add_actuator(name=f"{name}_{what}", target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            for what in ("position", "velocity")
        )
        position.set_to_position(kp=kp)
        speed.set_to_velocity(kv=kv)
        speed.biasprm[2] = late * step * kp - kv


def add_sites(spec: mujoco.MjSpec, imu: Sequence[float]) -> None:
    """Sites that are read, and the inertial sensors."""
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hand, foot = spec.body(f"{side[0]}_hand"), spec.body(f"{side[0]}_foot")
        hand.add_site(name=f"{side}_hand", pos=[_HAND[0], sign * _HAND[1], _HAND[2]], size=[0.004], group=4)
        foot.add_site(name=f"{side}_foot", size=[0.004], group=4)
        foot.add_site(name=f"{side}_sole", pos=list(_SOLE), size=[0.004], group=4)
    spec.body("head").add_site(name="head", size=[0.004], group=4)
    pelvis = spec.body(PELVIS)
    pelvis.add_site(name=PELVIS, size=[0.004], group=4)
    pelvis.add_site(name="imu", pos=list(imu), size=[0.004], group=4)
    for name, kind in (
        ("imu_gyro", mujoco.mjtSensor.mjSENS_GYRO),
        ("imu_accelerometer", mujoco.mjtSensor.mjSENS_ACCELEROMETER),
        ("imu_orientation", mujoco.mjtSensor.mjSENS_FRAMEQUAT),
    ):
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="imu")
