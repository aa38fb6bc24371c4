"""A robot as a MuJoCo spec, and what of it is moved, read and put where at the start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import all_finite, number_array
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name
from pliant.hardware.force_torque.wrench import ToolLoad
from pliant.hardware.robot import Array

_UNIT = 1e-12
BASE = "base"
"""What the body of a floating robot is called, whatever its name in the model."""


def as_pose(what: str, value: ArrayLike) -> Array:
    """Return position and unit quaternion (w first), (7,), of a position (3,), upright, or of both (7,).

    Raises:
        ShapeError: neither three nor seven numbers.
        OutOfBoundsError: one is not finite, or the quaternion is of no length.
    """
    array = all_finite(what, number_array(what, value))
    if array.shape not in ((3,), (7,)):
        raise ShapeError(
            f"{what} has shape {array.shape}; a position [x, y, z], or [x, y, z, w, i, j, k] with a quaternion, "
            "is needed."
        )
    turn = array[3:] if len(array) == 7 else np.array([1.0, 0.0, 0.0, 0.0])
    length = float(np.linalg.norm(turn))
    if length < 1e-6:
        raise OutOfBoundsError(f"{what}: {turn.tolist()} is no quaternion.")
    if abs(length - 1.0) > _UNIT:  # a pose that has passed here stays as it is, to the last bit
        turn = turn / length
    return np.concatenate([array[:3], turn])


@dataclass(frozen=True)
class Start:
    """Where a robot stands when an episode begins, unless the task says otherwise.

    Joints that nothing is said of stand at the model's own zero, or at the nearest angle that their range allows.
    """

    keyframe: str | None = None
    """A keyframe of the model: positions and, for the model's own actuators, controls."""
    joints: Mapping[str, float] = field(default_factory=dict)
    """Angles (rad; m of a slide) by joint, in place of the keyframe's."""
    base: Array | None = None
    """Position (m, world) and orientation (unit quaternion, w first) of a floating base, (7,)."""
    bodies: Mapping[str, Sequence[float] | Array] = field(default_factory=dict)
    """Position, (3,), or both, (7,), of free bodies by name, in place of the keyframe's."""
    on_floor: bool = True
    """Lower or lift a floating base until the robot just touches what is below it."""
    settle: float = 0.0
    """For how long the robot then stands with its resting command until it is taken as it stands, s."""

    def __post_init__(self) -> None:
        """Raise `OutOfBoundsError` or `ConfigurationError` for what is no number or no yes or no."""
        if not isinstance(self.joints, Mapping):
            raise ConfigurationError(
                f"start: joints are {self.joints!r}; angles by joint are needed: {{elbow: 0.3}}."
            )
        if not isinstance(self.bodies, Mapping):
            raise ConfigurationError(f"start: bodies are {self.bodies!r}; poses are needed: {{ball: [0, 0, 1]}}.")
        for name, angle in self.joints.items():
            check_bounds(f"start of joint {name!r}", angle, -1e6, 1e6)
        if not isinstance(self.on_floor, bool):
            raise ConfigurationError(f"start: on_floor is {self.on_floor!r}; true or false is needed.")
        check_bounds("start: settle", self.settle, 0.0, 1e3, "s")


@dataclass(frozen=True)
class RobotModel:
    """A spec ready to compile, and what the layers above need to know of it.

    A joint of the robot is a hinge or slide. It is driven by what `add_compliant_joint` put on it, or by the
    actuators that the model brings, or by nothing: then it is only read.
    """

    name: str
    spec: mujoco.MjSpec
    joints: tuple[str, ...]
    """Names of the joints, from base to tip."""
    end_effectors: Mapping[str, str] = field(default_factory=dict)
    """Sites at the tips, by the names that tasks call them by. Poses can be read of them."""
    base: str | None = None
    """The body that floats, if the robot is not fixed. Its pose and motion can be read."""
    bodies: Mapping[str, str] = field(default_factory=dict)
    """Other bodies that are free, by the names that tasks call them by: what lies around. Tasks may read and place
    them."""
    force_torque: Mapping[str, str] = field(default_factory=dict)
    """Force-torque sensors by name: the site that each is at, whose axes it measures along."""
    targets: Mapping[str, str] = field(default_factory=dict)
    """Targets that can be moved, by name: the site of each, on a mocap body. Poses can be read of them."""
    signals: tuple[str, ...] = ()
    """What is read besides the joints: `base`, free bodies, end effectors, force-torque sensors, targets and the
    model's own sensors by name or glob, or single signals likewise (`imu/*_x`)."""
    start: Start = field(default_factory=Start)
    """Where it stands at the start."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Bounds of command columns of the model's own actuators that have none, by column."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "RobotModel":
        """A copy with a spec of its own, which Python cannot copy by itself."""
        return replace(self, spec=self.spec.copy())

    @property
    def floating(self) -> dict[str, str]:
        """Everything that floats, by name: `base`, if there is one, and the free bodies."""
        return {**({} if self.base is None else {BASE: self.base}), **self.bodies}


def tool_load(model: RobotModel, sensor: str) -> ToolLoad:
    """Return what hangs on a force-torque sensor: mass and centre of all behind it, its joints at 0.

    Args:
        model: of the robot.
        sensor: its name, of `model.force_torque`.

    Raises:
        UnknownNameError: no such sensor, or no such site.
    """
    site = sensor_site(model.name, model.force_torque, sensor)
    compiled = model.spec.copy().compile()
    sites = [compiled.site(k).name for k in range(compiled.nsite)]
    if site not in sites:
        raise unknown_name("site", site, sites, f"the model of robot {model.name!r}")
    return load_at(compiled, site)


def sensor_site(robot: str, sensors: Mapping[str, str], name: str) -> str:
    """Return the site of a robot's force-torque sensor; raises `UnknownNameError` if there is none."""
    if name not in sensors:
        raise unknown_name("force-torque sensor", name, sensors, f"robot {robot!r}")
    return sensors[name]


def load_at(model: mujoco.MjModel, name: str) -> ToolLoad:
    """Return mass and centre of all that the body of a site carries, joints at 0, in the site's axes."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    site = data.site(name)
    body = int(model.site_bodyid[site.id])
    mass = float(model.body_subtreemass[body])
    centre = site.xmat.reshape(3, 3).T @ (data.subtree_com[body] - site.xpos)
    return ToolLoad(mass, centre.tolist() if mass > 0.0 else (0.0, 0.0, 0.0))
