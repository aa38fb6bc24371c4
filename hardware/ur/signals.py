"""What an arm of Universal Robots is read for, and how a package of its controller becomes a state."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np

from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array, Channel, RobotInfo, State, joint_signals
from pliant.hardware.ur.config import INPUTS, TOOL_COLUMNS, URConfig

_TOOL_SPEEDS: Final = ("vx", "vy", "vz", "wx", "wy", "wz")
_WRENCH: Final = ("fx", "fy", "fz", "tx", "ty", "tz")


def robot_info(config: URConfig) -> RobotInfo:
    """Return joints, signals, command columns and period, known without connecting."""
    joints = tuple(config.joints)
    ranges = {channel.name: channel for channel in config.positions}
    signals = [ranges.get(channel.name, channel) for channel in joint_signals(joints, ())]

    def free(names: Iterator[str], unit: str | Callable[[int], str]) -> None:
        for k, name in enumerate(names):
            signals.append(Channel(name, unit if isinstance(unit, str) else unit(k), -math.inf, math.inf))

    free((f"{joint}/target_position" for joint in joints), "rad")
    free((f"{joint}/current" for joint in joints), "A")
    free((f"{joint}/controller_torque" for joint in joints), "N·m")
    free((f"tcp/{name}" for name in TOOL_COLUMNS), lambda k: "m" if k < 3 else "rad")
    free((f"tcp/{name}" for name in _TOOL_SPEEDS), lambda k: "m/s" if k < 3 else "rad/s")
    free((f"tcp/{name}" for name in _WRENCH), lambda k: "N" if k < 3 else "N·m")
    free(iter(["controller/timestamp"]), "s")
    free(iter(["controller/speed_scaling"]), "1")
    if config.end_effector is not None:
        free((f"{config.end_effector}/position_{axis}" for axis in "xyz"), "m")
        free((f"{config.end_effector}/orientation_{axis}" for axis in "wxyz"), "1")
    free((f"inputs/{name}" for name in config.inputs), "1")
    free((f"outputs/{name}" for name in config.outputs), "1")
    if config.low is None or config.high is None or config.rest is None or config.period is None:
        raise ConfigurationError("the arm's ranges are not settled.")
    columns = zip(config.columns, config.units, config.low, config.high, config.rest, strict=True)
    return RobotInfo(
        name=config.name,
        joints=joints,
        motors=(),
        command=tuple(Channel(*column) for column in columns),
        period=config.period,
        parameters=config.parameters,
        signals=tuple(signals),
    )


def state_of(config: URConfig, package: Mapping[str, Array], command: Array, start: float, near: Array) -> State:
    """Return the state that a package of the controller tells.

    Args:
        config: the arm.
        package: the controller's variables by name.
        command: in force, (6,).
        start: the controller's time that counts as 0, s.
        near: rotation vector, rad, of the whole turns of which the tool's is the nearest, (3,).
    """
    nan, empty = np.full(6, math.nan), np.empty(0)
    constants, moment = config.torque_constants, package["target_moment"]
    pose = package["actual_TCP_pose"]
    rotation = nearest_rotation(pose[3:], near) if config.mode == "tool" else pose[3:]
    return State(
        time=float(package["timestamp"][0]) - start,
        position=package["actual_q"].copy(),
        velocity=package["actual_qd"].copy(),
        torque=moment.copy() if constants is None else package["actual_current"] * np.array(constants),
        stiffness=nan,
        motor_position=empty,
        motor_velocity=empty.copy(),
        motor_torque=empty.copy(),
        spring_torque=empty.copy(),
        command=command,
        sensors=np.concatenate(
            [
                *(package[name] for name in ("target_q", "actual_current", "target_moment")),
                *(pose[:3], rotation),
                *(package[name] for name in ("actual_TCP_speed", "actual_TCP_force")),
                *(package[name] for name in ("timestamp", "speed_scaling")),
                *((pose[:3], quaternion(pose[3:])) if config.end_effector is not None else ()),
                *(_pin(package, "input", name) for name in config.inputs),
                *(_pin(package, "output", name) for name in config.outputs),
            ]
        ),
    )


def nearest_rotation(rotation: Array, near: Array) -> Array:
    """Return the same rotation as a vector, by whole turns about its axis, nearest to another vector, rad."""
    angle = float(np.linalg.norm(rotation))
    if angle < 1e-9:
        return rotation.copy()
    axis = rotation / angle
    turns = round((float(near @ axis) - angle) / (2 * math.pi))
    nearest: Array = rotation + 2 * math.pi * turns * axis
    return nearest


def quaternion(rotation: Array) -> Array:
    """Return the unit quaternion, w first, of a rotation vector, rad."""
    angle = float(np.linalg.norm(rotation))
    # sinc is of pi·x
    return np.concatenate([[math.cos(angle / 2)], 0.5 * np.sinc(angle / (2 * math.pi)) * rotation])


def _pin(package: Mapping[str, Array], kind: str, name: str) -> Array:
    """Value of an input or output, (1,)."""
    number = INPUTS.index(name)
    if name.startswith("analog"):
        return package[f"standard_analog_{kind}{name[-1]}"]
    bits = int(package[f"actual_digital_{kind}_bits"][0])
    return np.array([float(bits >> number & 1)])
