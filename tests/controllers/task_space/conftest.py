"""Robots for task-space control: an arm, and a floating one with two legs and two arms."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model
from pliant.controllers.task_space import Mechanics
from pliant.envs.models.atlas import atlas
from pliant.envs.models.ur import ur

SEED = 20261129


def walker_model() -> mujoco.MjModel:
    """A floating trunk with two legs of six joints and two arms of four, with feet and hands."""
    spec = mujoco.MjSpec()
    trunk = spec.worldbody.add_body(name="trunk", pos=[0, 0, 1.0])
    trunk.add_freejoint(name="free")
    trunk.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1, 0.15, 0.25], mass=20.0, pos=[0.01, 0, 0.1])
    for side, sign in (("left", 1.0), ("right", -1.0)):
        axes = {"yaw": (0, 0, 1), "roll": (1, 0, 0), "pitch": (0, 1, 0), "knee": (0, 1, 0), "ankle": (0, 1, 0)}
        body, drop = trunk, [0.0, 0.1 * sign, -0.2]
        for name, axis in (*axes.items(), ("tilt", (1, 0, 0))):
            body = body.add_body(pos=drop, name=f"{side}_{name}")
            body.add_joint(name=f"{side}_{name}", axis=axis, range=[-2.0, 2.0], damping=[0.1, 0, 0])
            length = 0.4 if name in ("pitch", "knee") else 0.02
            body.add_geom(fromto=[0, 0, 0, 0, 0, -length], size=[0.04, 0, 0], type=mujoco.mjtGeom.mjGEOM_CAPSULE)
            drop = [0.0, 0.0, -length]
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.12, 0.06, 0.02], pos=[0.03, 0, -0.05], mass=1.5)
        body.add_site(name=f"{side}_sole", pos=[0.03, 0, -0.07])
        body, drop = trunk, [0.0, 0.2 * sign, 0.3]
        for name, axis in (("lift", (0, 1, 0)), ("spread", (1, 0, 0)), ("twist", (0, 0, 1)), ("elbow", (0, 1, 0))):
            body = body.add_body(pos=drop, name=f"{side}_{name}")
            body.add_joint(name=f"{side}_{name}", axis=axis, armature=0.01)
            length = 0.3 if name in ("twist", "elbow") else 0.03
            body.add_geom(fromto=[0, 0, 0, 0, 0, -length], size=[0.03, 0, 0], type=mujoco.mjtGeom.mjGEOM_CAPSULE)
            drop = [0.0, 0.0, -length]
        body.add_site(name=f"{side}_hand", pos=[0.0, 0.0, -0.3], euler=[20, 30, 40])
    return spec.compile()


def hinges(model: mujoco.MjModel) -> list[str]:
    return [model.joint(k).name for k in range(model.njnt) if model.jnt_type[k] == mujoco.mjtJoint.mjJNT_HINGE]


@pytest.fixture
def walker() -> Mechanics:
    model = walker_model()
    return Mechanics(model, hinges(model), "trunk")


@pytest.fixture
def humanoid() -> Mechanics:
    robot = atlas(base="floating")
    return Mechanics(compile_model(robot.spec), robot.joints, robot.base)


@pytest.fixture
def arm() -> Mechanics:
    robot = ur("ur10", mode="torque", gravity_compensation=False)
    return Mechanics(robot.spec.compile(), robot.joints)


def place(mechanics: Mechanics, random: np.random.Generator) -> None:
    """Bring mechanics to a random instant."""
    count = len(mechanics.joints)
    pose = np.concatenate([random.normal(size=3), random.normal(size=4)])
    pose[3:] /= np.linalg.norm(pose[3:])
    mechanics.update(random.uniform(-1.5, 1.5, count), random.normal(size=count), pose, random.normal(size=6))
