"""Targets in the scene: where something is to go, to be dragged in a viewer and read by name."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import mujoco
import numpy as np

from pliant.envs.models.robot_model import RobotModel, as_pose
from pliant.errors import ConfigurationError

SUFFIX: Final = "_target"
"""What the name of a target ends with, after the name that it is given."""
_RADIUS = 0.035
"""Of the sphere, m …"""
_AXIS = 0.09
"""… and the length of the axes."""
_COLOUR = (0.98, 0.62, 0.10, 0.45)


def with_targets(robot: RobotModel, targets: Mapping[str, Any] | None) -> RobotModel:
    """Return a robot with targets around it, of which position and orientation are read as `NAME_target/…`.

    A target is a mocap body of MuJoCo's: it touches nothing and stays where it is put, until it is dragged in a
    viewer or moved by `SimulatedRobot.targets.move`. Simulated robots alone have such.

    Args:
        robot: is not changed.
        targets: pose by name, as `as_pose`, in the world: often the name of an end effector that is to go there.

    Raises:
        ConfigurationError: no such mapping, or a name that something in the model has.
        ShapeError, OutOfBoundsError: no pose.
    """
    if not targets:
        return robot
    if not isinstance(targets, Mapping):
        raise ConfigurationError(
            f"targets are {targets!r}; positions by name are needed: {{right_hand: [0.4, -0.1, 1.0]}}."
        )
    spec = robot.spec.copy()
    taken = {part.name for part in (*spec.bodies, *spec.sites) if part.name}
    names = []
    for given, where in targets.items():
        name = f"{given}{SUFFIX}"
        if not isinstance(given, str) or not given or name in taken:
            raise ConfigurationError(
                f"targets: {given!r} is no name, or the model of {robot.name!r} has a {name!r} already."
            )
        _add(spec, name, as_pose(f"targets: {given!r}", where))
        names.append(name)
    return replace(
        robot,
        spec=spec,
        targets={**robot.targets, **{name: name for name in names}},
        signals=(*robot.signals, *names),
    )


def _add(spec: mujoco.MjSpec, name: str, pose: np.ndarray) -> None:
    """Add a target; every field that a model's defaults could set is set."""
    body = spec.worldbody.add_body(name=name, pos=pose[:3].tolist(), quat=pose[3:].tolist(), mocap=True)
    body.add_site(name=name, pos=[0.0, 0.0, 0.0], quat=[1.0, 0.0, 0.0, 0.0], size=[0.004, 0.0, 0.0], group=4)
    unseen = {"contype": 0, "conaffinity": 0, "group": 0, "mass": 0.0, "material": "", "pos": [0.0, 0.0, 0.0]}
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[_RADIUS, 0.0, 0.0], rgba=list(_COLOUR), **unseen)
    for axis in np.eye(3):
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE,
            size=[0.1 * _RADIUS, 0.0, 0.0],
            fromto=[0.0, 0.0, 0.0, *(_AXIS * axis)],
            rgba=[*(0.15 + 0.7 * axis), 0.9],
            **{key: value for key, value in unseen.items() if key != "pos"},
        )
