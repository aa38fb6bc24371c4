from collections.abc import Callable, Iterator

import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model, uninstall
from pliant.envs.models.robot_model import RobotModel

Run = tuple[mujoco.MjModel, mujoco.MjData]


@pytest.fixture(autouse=True)
def no_callback_outlives_a_test() -> Iterator[None]:
    yield
    uninstall()


@pytest.fixture
def at_pose() -> Callable[..., Run]:
    """Return a function that compiles a robot and evaluates it at joint angles and speeds."""

    def evaluate(robot: RobotModel, q=None, dq=None) -> Run:
        model = compile_model(robot.spec)
        data = mujoco.MjData(model)
        data.qpos[: model.nv] = 0.0 if q is None else q
        data.qvel[:] = 0.0 if dq is None else dq
        mujoco.mj_forward(model, data)
        return model, data

    return evaluate


@pytest.fixture
def mass_matrix() -> Callable[[mujoco.MjModel, mujoco.MjData], np.ndarray]:
    def full(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
        matrix = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, matrix)
        return matrix

    return full
