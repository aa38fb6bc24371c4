"""The arms that can stand behind an emulated controller: their model and the limits of their joints.

Kinematics, masses and limits are Universal Robots' published ones (standard Denavit-Hartenberg parameters).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from pliant.errors import unknown_name

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
PAYLOAD = "payload"
"""Body at the flange that carries the payload, and the site and sensors between the two."""


@dataclass(frozen=True)
class Arm:
    """Parameters of an arm."""

    d: tuple[float, ...]
    a: tuple[float, ...]
    masses: tuple[float, ...]
    torque: tuple[float, ...]
    """Largest torques, N·m."""
    speed: tuple[float, ...] = (math.radians(120.0),) * 2 + (math.radians(180.0),) * 4
    """Largest speeds, rad/s."""
    range: tuple[float, ...] = (2 * math.pi,) * 6
    """Largest angles either way, rad."""


_ALPHA = (math.pi / 2, 0.0, 0.0, math.pi / 2, -math.pi / 2, 0.0)
_CENTRES = ((0.021, 0, 0.027), (0.38, 0, 0.158), (0.24, 0, 0.068), (0, 0.007, 0.018), (0, 0.007, 0.018), (0, 0, -0.026))
_WRIST = (0.00296, -1e-5, 0.0, 0.00222, -0.00024, 0.00258)
_INERTIAS = (
    (0.03408, 2e-5, -0.00425, 0.03529, 8e-5, 0.02156),
    (0.02814, 5e-5, -0.01561, 0.77068, 2e-5, 0.76943),
    (0.01014, 8e-5, 0.00916, 0.30928, 0.0, 0.30646),
    _WRIST,
    _WRIST,
    (0.0004, 0.0, 0.0, 0.00041, 0.0, 0.00034),
)

ARMS: Mapping[str, Arm] = {
    "ur10": Arm(
        (0.1273, 0.0, 0.0, 0.163941, 0.1157, 0.0922),
        (0.0, -0.612, -0.5723, 0.0, 0.0, 0.0),
        (7.1, 12.7, 4.27, 2.0, 2.0, 0.365),
        (330.0, 330.0, 150.0, 56.0, 56.0, 56.0),
    ),
    "ur10e": Arm(
        (0.1807, 0.0, 0.0, 0.17415, 0.11985, 0.11655),
        (0.0, -0.6127, -0.57155, 0.0, 0.0, 0.0),
        (7.369, 13.051, 3.989, 2.1, 1.98, 0.615),
        (330.0, 330.0, 150.0, 54.0, 54.0, 54.0),
    ),
}


def arm(name: str) -> Arm:
    """Return an arm by its name; raises `UnknownNameError`."""
    if name not in ARMS:
        raise unknown_name("arm", name, ARMS, "the emulated controllers")
    return ARMS[name]


def arm_spec(parameters: Arm) -> mujoco.MjSpec:
    """Return the model of an arm on its base, whose axes are those of the controller's base frame.

    Bodies and joints are called as in `JOINTS`; the body `payload` on the flange has hardly any mass.
    """
    spec = mujoco.MjSpec()
    parent = spec.worldbody
    position, rotation = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    for n, name in enumerate(JOINTS):
        body = parent.add_body(name=name, pos=position, quat=rotation)
        joint = body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1])
        joint.limited = mujoco.mjtLimited.mjLIMITED_FALSE
        half = _ALPHA[n] / 2
        rotation = np.array([math.cos(half), math.sin(half), 0.0, 0.0])
        position = np.array([parameters.a[n], 0.0, parameters.d[n]])
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, rotation)
        turn = turn.reshape(3, 3)
        xx, xy, xz, yy, yz, zz = _INERTIAS[n]
        inertia = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
        body.mass = parameters.masses[n]
        body.ipos = position + turn @ np.array(_CENTRES[n])
        body.fullinertia = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        body.explicitinertial = True
        parent = body
    payload = parent.add_body(name=PAYLOAD, pos=position, quat=rotation)
    payload.mass, payload.inertia, payload.explicitinertial = 1e-6, [1e-9] * 3, True
    payload.add_site(name=PAYLOAD)
    for kind, name in ((mujoco.mjtSensor.mjSENS_FORCE, "force"), (mujoco.mjtSensor.mjSENS_TORQUE, "torque")):
        spec.add_sensor(name=name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname=PAYLOAD)
    return spec
