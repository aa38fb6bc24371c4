"""A robot as a MuJoCo spec, and what of it is moved, read and put where at the start."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import mujoco

from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.robot import Array


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
    force_torque: Mapping[str, str] = field(default_factory=dict)
    """Force-torque sensors by name: the site that each is at, whose axes it measures along."""
    signals: tuple[str, ...] = ()
    """What is read besides the joints: `base`, end effectors, force-torque sensors and the model's own sensors by
    name or glob, or single signals likewise (`imu/*_x`)."""
    start: Start = field(default_factory=Start)
    """Where it stands at the start."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Bounds of command columns of the model's own actuators that have none, by column."""
