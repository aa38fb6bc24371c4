"""A six-legged robot on 18 AX-12A servos that stands on its feet.

Geometry, masses and numbers of the servos: Tables 1 and 2 of the paper of Čížek, Faigl et al. on this robot; x
forward, y to the left. Joints are called by leg and link, `front_left_coxa`; sides and signs:
`hexapod_body.add_leg`.
"""

from collections.abc import Mapping
from dataclasses import fields
from math import cos, pi, sin
from typing import Any, Final

import mujoco
import numpy as np

from pliant.actuators import CompliantJoint, Mode, ServoDrive, add_compliant_joint, find_law
from pliant.actuators.ax12a import AX12A
from pliant.envs.models.choices import changed_view
from pliant.envs.models.hexapod_body import (
    COLLISIONS,
    IMU,
    LEGS,
    LINKS,
    RANGES,
    TOUCHES,
    TRUNK,
    add_leg,
    add_sensors,
    add_trunk,
)
from pliant.envs.models.hexapod_looks import add_looks
from pliant.envs.models.robot_model import RobotModel, Start
from pliant.envs.models.scene import View, add_scene, new_spec
from pliant.envs.models.terrain import add_terrain
from pliant.errors import ConfigurationError, check_bounds, check_count, unknown_name

NAME: Final = "hexapod"
JOINTS: Final = tuple(f"{leg}_{link}" for leg in LEGS for link in LINKS)
"""Leg by leg as in Table 1, from the trunk outwards."""
_RAISED: Final = {"coxa": 0.0, "femur": pi / 6, "tibia": -pi / 3}
STANCE: Final[Mapping[str, float]] = {
    f"{leg}_{link}": angle if LEGS[leg].y < 0.0 else -angle for leg in LEGS for link, angle in _RAISED.items()
}
"""Default pose, rad: feet 139.3 mm from the axes of their coxae, which are 117.3 mm above them."""
WALKING: Final[Mapping[str, float]] = {
    **STANCE,
    "front_left_coxa": pi / 8,
    "rear_left_coxa": -pi / 8,
    "front_right_coxa": -pi / 8,
    "rear_right_coxa": pi / 8,
}
"""Pose about which it walks, rad: the corner legs are turned sideways."""
REFERENCE_SERVO: Final[Mapping[str, float]] = {"armature": 0.0012, "no_load_speed": 1.5 / 0.243, "damping": 0.0}
"""`servo` of the values that this robot's experiments are compared with: the data sheet's line of torque and
speed, 1.5 N·m·drive − 0.243 N·m·s·speed, and less inertia than was found in recordings of single servos."""
_HEIGHT = 0.1173
_SERVO_FIELDS = tuple(field.name for field in fields(AX12A))


def hexapod(
    *,
    batteries: int = 1,
    servo: Mapping[str, float] | None = None,
    supply: float | None = None,
    start: Mapping[str, float] | None = None,
    settle: float = 1.0,
    thickness: float = 0.02,
    friction: float = 0.8,
    self_collision: bool = True,
    terrain: Mapping[str, Any] | None = None,
    view: Mapping[str, Any] | None = None,
    gravity: bool = True,
    timestep: float = 1e-3,
    integrator: str = "implicitfast",
) -> RobotModel:
    """Build the robot on its feet.

    Of each leg there are the end effector `front_left_foot`, the force-torque sensor `front_left_force`, which
    reads the force by which the tibia holds the foot, its x along the tibia, and the sensor `front_left_touch`, N.
    Inertial sensors in the trunk are those of `IMU`. The sensors of `COLLISIONS` count contacts between legs, and
    of legs and trunk.

    Args:
        batteries: 0, 1 or 2, of 0.33 kg.
        servo: registers and physics of all servos in place of the defaults, by name: fields of an `AX12A`.
        supply: of the servos, V; None: the servos' own, 12 V.
        start: joint angles at the start in place of those of `STANCE`, rad.
        settle: for how long it stands until it is taken as it stands, s.
        thickness: of the capsules that touch for the legs, m.
        friction: of the feet, on whatever they stand.
        self_collision: whether legs touch each other and the trunk; the links of one leg never touch each other.
        terrain: what it walks on, see `terrain.add_terrain`; None: a flat floor.
        view: what the cameras look at, as far as it is not ours: entries of a `View`.
        gravity: whether there is any.
        timestep: s.
        integrator: euler, implicit, implicitfast or discrete.

    Raises:
        UnknownNameError: no such field, joint, terrain, entry or integrator.
        OutOfBoundsError: numbers that cannot be.
        ConfigurationError: what is no mapping, number of batteries, or yes or no.
    """
    check_count(f"{NAME}: batteries", batteries, 0, 2)
    for what, value in (("self_collision", self_collision), ("gravity", gravity)):
        if not isinstance(value, bool):
            raise ConfigurationError(f"{NAME}: {what} is {value!r}; true or false is needed.")
    angles = {**STANCE, **_entries("start", start, JOINTS, "joint")}
    for joint, angle in angles.items():
        reach = RANGES[joint.rsplit("_", 1)[1]]
        check_bounds(f"{NAME}: start of joint {joint!r}", angle, -reach, reach, "rad")
    drive = ServoDrive(AX12A(**_entries("servo", servo, _SERVO_FIELDS, "field of an AX-12A")), voltage=supply)
    thickness = check_bounds(f"{NAME}: thickness", thickness, 0.002, 0.05, "m")
    friction = check_bounds(f"{NAME}: friction", friction, 0.0, 10.0)

    spec = new_spec(NAME, timestep, integrator, gravity)
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
    trunk = add_trunk(spec, batteries, self_collision)
    for leg in LEGS:
        add_leg(spec, trunk, leg, thickness, friction, self_collision)
    for joint in JOINTS:
        reach = RANGES[joint.rsplit("_", 1)[1]]
        description = CompliantJoint(
            find_law("rigid")(), Mode.LINK_POSITION, position_range=(-reach, reach), servo=drive
        )
        add_compliant_joint(spec, joint, description)
    add_sensors(spec)
    add_looks(spec, batteries)
    add_scene(spec, changed_view(NAME, View((0.0, 0.0, 0.08), 0.28, TRUNK, elevation=22.0, azimuth=40.0), view))
    tilt = add_terrain(spec, terrain, NAME) / 2
    return RobotModel(
        name=NAME,
        spec=spec,
        joints=JOINTS,
        end_effectors={f"{leg}_foot": f"{leg}_foot" for leg in LEGS},
        base=TRUNK,
        force_torque={f"{leg}_force": f"{leg}_force" for leg in LEGS},
        signals=("base", "*_foot", "*_touch", *IMU, *COLLISIONS),
        start=Start(
            joints=angles,
            base=np.array([0.0, 0.0, _HEIGHT, cos(tilt), 0.0, -sin(tilt), 0.0]),
            settle=settle if gravity else 0.0,
        ),
    )


def legs_of(signal: str) -> tuple[str, ...]:
    """Return the legs, or leg and trunk, that a signal `…_touch/…` or `…_meets_…/…` is of; () of any other."""
    sensor = signal.split("/", 1)[0]
    return COLLISIONS.get(sensor) or tuple(filter(None, (TOUCHES.get(sensor),)))


def _entries(what: str, given: Mapping[str, Any] | None, known: tuple[str, ...], kind: str) -> dict[str, Any]:
    """Return a mapping whose keys are known."""
    if given is not None and not isinstance(given, Mapping):
        raise ConfigurationError(f"{NAME}: {what} is {given!r}; a mapping from each {kind} to a number is needed.")
    for name in given or {}:
        if name not in known:
            raise unknown_name(kind, name, known, f"{NAME}: {what}")
    return dict(given or {})
