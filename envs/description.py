"""From a robot's model to what is known of the robot before it runs."""

import math
from collections.abc import Sequence

import mujoco

from pliant.actuators import JointOnModel, compliant_joints
from pliant.errors import unknown_name
from pliant.files import plain
from pliant.hardware.robot import Channel, RobotInfo


def delayed(spec: mujoco.MjSpec, delay: float) -> mujoco.MjSpec:
    """Return a spec whose actuators all get their controls later by `delay` (s); the spec itself for 0."""
    if delay == 0.0:
        return spec
    late = spec.copy()
    for actuator in late.actuators:
        actuator.delay += delay
        actuator.nsample = max(math.ceil(actuator.delay / late.option.timestep - 1e-9), 1)
    return late


def named_joints(model: mujoco.MjModel, names: Sequence[str], robot: str) -> tuple[JointOnModel, ...]:
    """Return the compliant joints of a compiled model that are named, in that order.

    Raises:
        UnknownNameError: the model has no compliant joint of that name; `robot` is the model's name.
    """
    found = {joint.name: joint for joint in compliant_joints(model)}
    for name in names:
        if name not in found:
            raise unknown_name("compliant joint", name, found, f"model {robot!r}")
    return tuple(found[name] for name in names)


def robot_info(name: str, joints: Sequence[JointOnModel], motors: tuple[str, ...], period: float) -> RobotInfo:
    """Return names, command layout and parameters of a robot with these joints and motors."""
    return RobotInfo(
        name=name,
        joints=tuple(joint.name for joint in joints),
        motors=motors,
        command=tuple(
            Channel(f"{joint.name}/{r.name}", r.unit, r.low, r.high, r.rest)
            for joint in joints
            for r in joint.references
        ),
        period=period,
        parameters={joint.name: plain(joint.description.describe()) for joint in joints},
    )
