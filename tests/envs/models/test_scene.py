from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.arm5 import arm5
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.scene import INTEGRATORS, new_spec
from pliant.envs.models.two_link import two_link
from pliant.errors import OutOfBoundsError, UnknownNameError

ROBOTS: dict[str, Callable[[], RobotModel]] = {
    "rig1": rig1,
    "arm2": arm2,
    "arm2 lying": lambda: arm2(vertical=False),
    "arm5": arm5,
    "two_link": two_link,
    "two_link lying": lambda: two_link(vertical=False),
}


@pytest.mark.parametrize("name", INTEGRATORS)
def test_integrators_go_by_their_names(name):
    spec = new_spec("x", 2e-3, name)
    assert int(spec.option.integrator) == int(getattr(mujoco.mjtIntegrator, f"mjINT_{name.upper()}"))
    assert spec.option.timestep == 2e-3


def test_an_unknown_integrator_is_refused_with_the_choices():
    with pytest.raises(UnknownNameError, match=r"implicitfats.*rig1.*implicitfast.*euler"):
        rig1(integrator="implicitfats")


@pytest.mark.parametrize("timestep", [0.0, -1e-3, float("nan"), float("inf"), 1.0])
def test_an_impossible_time_step_is_refused(timestep):
    with pytest.raises(OutOfBoundsError, match="timestep"):
        arm2(timestep=timestep)


def test_gravity_can_be_switched_off():
    assert compile_model(arm2(gravity=False).spec).opt.gravity[2] == 0.0
    assert compile_model(arm2().spec).opt.gravity[2] == pytest.approx(-9.81)


def picture_coordinates(model: mujoco.MjModel, data: mujoco.MjData, camera: str, point: np.ndarray) -> np.ndarray:
    """Where a camera sees a point: ±1 is the edge of the picture, vertically, and ±4/3 horizontally."""
    view = data.camera(camera)
    x, y, z = view.xmat.reshape(3, 3).T @ (point - view.xpos)
    assert z < 0.0, "behind the camera"
    return np.array([x, y]) / (-z * np.tan(np.radians(model.camera(camera).fovy[0] / 2)))


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("camera", ["front", "side", "tracking"])
def test_cameras_keep_the_tip_in_the_picture(name, camera, at_pose):
    robot = ROBOTS[name]()
    random = np.random.default_rng(0)
    model, data = at_pose(robot)
    poses = [np.zeros(model.nv), *random.uniform(-0.8, 0.8, (6, model.nv))]
    for pose in poses:
        limited = model.jnt_limited.astype(bool)
        data.qpos[:] = np.where(limited, np.clip(pose, model.jnt_range[:, 0], model.jnt_range[:, 1]), pose)
        mujoco.mj_forward(model, data)
        seen = picture_coordinates(model, data, camera, data.site(robot.end_effectors["tip"]).xpos)
        assert abs(seen[0]) < 4 / 3
        assert abs(seen[1]) < 1.0


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_at_rest_touches_nothing_not_even_its_stand(name, at_pose):
    robot = ROBOTS[name]()
    random = np.random.default_rng(1)
    model, data = at_pose(robot)
    for pose in random.uniform(-1.5, 1.5, (20, model.nv)):
        data.qpos[:] = pose if name != "arm5" else np.clip(pose, model.jnt_range[:, 0], model.jnt_range[:, 1])
        mujoco.mj_forward(model, data)
        assert data.ncon == 0


def test_the_floor_carries_what_is_put_on_it():
    spec = arm5().spec
    box = spec.worldbody.add_body(name="box", pos=[0.4, 0.0, 0.06])
    box.add_freejoint()
    box.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.05, 0.05, 0.05], mass=1.0)
    model = compile_model(spec)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)
    assert data.body("box").xpos[2] == pytest.approx(0.05, abs=2e-3)
