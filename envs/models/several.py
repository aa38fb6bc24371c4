"""Several robots in one scene, each under a prefix of its own: `left/elbow`, `right/elbow`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import mujoco
import numpy as np

from pliant.actuators import compile_model
from pliant.envs.models.robot_model import RobotModel, Start, as_pose
from pliant.envs.simulation.start import free_places, starting_state
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array

_NAME = re.compile(r"\w[\w-]*")
_SHARED = ("integrator", "gravity")
"""Options of a simulation in which robots of one scene cannot differ."""


class Placed(NamedTuple):
    """A robot, and where it is put."""

    robot: RobotModel
    at: Sequence[float] | Array = (0.0, 0.0, 0.0)
    """Position (m) in the scene, (3,), or position and orientation (unit quaternion, w first), (7,)."""


def in_one_scene(robots: Mapping[str, Placed], scene: RobotModel | None = None) -> RobotModel:
    """Put robots into one scene.

    All names of a robot get its own before them: joints, sites, sensors, command columns, `left/elbow`. Its
    floating base becomes a free body `left/base`. It starts as it does by itself, moved to where it is put, and
    rests where its joints start. Its lights, and the planes that it stands on, are left away where the scene has
    such already.

    Args:
        robots: by name.
        scene: what is there besides, which may have joints of its own; its spec is changed. Its time step, gravity
            and integrator hold for all. None: nothing, see `empty_scene`.

    Raises:
        ConfigurationError: a name that cannot be one; or as `empty_scene`.
        ShapeError, OutOfBoundsError: a pose that is none.
    """
    whole = RobotModel("robots", empty_scene(robots), ()) if scene is None else scene
    for name, (robot, at) in robots.items():
        if not _NAME.fullmatch(name):
            raise ConfigurationError(f"robot {name!r} of a scene: letters, digits, - and _ make up a name.")
        pose = as_pose(f"robot {name!r}: at", at)
        whole = _joined(whole, f"{name}/", robot, pose)
        _attach(whole.spec, robot.spec.copy(), f"{name}/", pose)
    return whole


def empty_scene(robots: Mapping[str, Placed]) -> mujoco.MjSpec:
    """Return a scene with nothing in it but the options that robots share, and the shortest of their time steps.

    Raises:
        ConfigurationError: they differ in gravity or integrator.
    """
    specs = {name: placed.robot.spec for name, placed in robots.items()}
    for option in _SHARED:
        values = {name: np.asarray(getattr(spec.option, option)).tolist() for name, spec in specs.items()}
        if any(value != next(iter(values.values())) for value in values.values()):
            said = ", ".join(f"{value} of {name!r}" for name, value in values.items())
            raise ConfigurationError(
                f"robots in one scene cannot differ in {option} ({said}); give them a scene, a model of its own, "
                "that says which holds."
            )
    scene, first = mujoco.MjSpec(), next(iter(specs.values()))
    scene.option, scene.visual = first.option, first.visual
    scene.option.timestep = min(spec.option.timestep for spec in specs.values())
    return scene


def _attach(scene: mujoco.MjSpec, robot: mujoco.MjSpec, prefix: str, pose: Array) -> None:
    """Attach a robot's spec, which is changed, to a scene's."""
    robot.option, robot.visual = scene.option, scene.visual  # in which nothing can then be in conflict
    for there, own in (
        (scene.lights, robot.worldbody.lights),
        (_planes(scene.geoms), _planes(robot.worldbody.geoms)),
    ):
        for element in own if there else ():
            robot.delete(element)
    scene.attach(robot, prefix=prefix, frame=scene.worldbody.add_frame(pos=pose[:3], quat=pose[3:]))


def _planes(geoms: Sequence[mujoco.MjsGeom]) -> list[mujoco.MjsGeom]:
    return [geom for geom in geoms if geom.type == mujoco.mjtGeom.mjGEOM_PLANE]


def _joined(whole: RobotModel, prefix: str, robot: RobotModel, pose: Array) -> RobotModel:
    """What is known of a scene with one robot more, whose spec is not yet attached."""

    def named(names: Mapping[str, str]) -> dict[str, str]:
        return {prefix + name: prefix + there for name, there in names.items()}

    start, own = whole.start, _start(robot, pose)
    return replace(
        whole,
        joints=(*whole.joints, *(prefix + joint for joint in robot.joints)),
        end_effectors={**whole.end_effectors, **named(robot.end_effectors)},
        bodies={**whole.bodies, **named(robot.floating)},
        force_torque={**whole.force_torque, **named(robot.force_torque)},
        targets={**whole.targets, **named(robot.targets)},
        signals=(*whole.signals, *(prefix + signal for signal in robot.signals)),
        ranges={**whole.ranges, **{prefix + column: bounds for column, bounds in robot.ranges.items()}},
        start=replace(
            start,
            joints={**{prefix + joint: angle for joint, angle in own.joints.items()}, **start.joints},
            bodies={**{prefix + body: there for body, there in own.bodies.items()}, **start.bodies},
            settle=max(start.settle, own.settle),
        ),
    )


def _start(robot: RobotModel, pose: Array) -> Start:
    """Where a robot's joints and bodies start if all of it is moved to a pose."""
    model = compile_model(robot.spec.copy())
    qpos, _ = starting_state(model, robot)
    joints = {name: float(qpos[int(model.joint(name).qposadr[0])]) for name in robot.joints}
    bodies: dict[str, Array] = {}
    for name, place in free_places(model, robot).items():
        moved, own = np.empty(7), qpos[place : place + 7]
        mujoco.mju_mulPose(moved[:3], moved[3:], pose[:3], pose[3:], own[:3], own[3:])
        bodies[name] = moved
    return Start(joints=joints, bodies=bodies, settle=robot.start.settle)
