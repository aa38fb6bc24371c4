from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from pliant.actuators import CompliantJoint, find_law, uninstall
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.simulation import SimulatedRobot


def _identical(a: Any, b: Any, path: str = "") -> None:
    if isinstance(a, Mapping):
        assert set(a) == set(b), f"{path}: {set(a) ^ set(b)}"
        for key in a:
            _identical(a[key], b[key], f"{path}/{key}")
    elif isinstance(a, tuple | list):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            _identical(x, y, f"{path}/{i}")
    elif isinstance(a, np.ndarray) and a.dtype == object:
        _identical(a.tolist(), b.tolist(), path)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), f"{path}: {a} is not {b}"
    else:
        assert a == b, f"{path}: {a} is not {b}"


@pytest.fixture
def identical() -> Callable[..., None]:
    """Return a function that fails unless two results are the same to the last bit, in type and layout."""
    return _identical


@pytest.fixture(autouse=True)
def no_callback_outlives_a_test() -> Iterator[None]:
    yield
    uninstall()


@pytest.fixture
def weightless_arm() -> Callable[..., RobotModel]:
    """Return a maker of the two-joint arm without gravity, with equal springs in every joint."""

    def make(mode: int = 3, **options) -> RobotModel:
        law = find_law("rigid" if mode < 2 else "qbmove")
        springs = {} if mode < 2 else {"preset": 0.3, "preset_range": (0.0, 0.6)}
        joint = CompliantJoint(
            law(**({} if mode < 2 else {"k1": 0.02, "k2": 0.02, "a1": 6.0, "a2": 6.0})), mode, **springs
        )
        return arm2((joint, joint), gravity=False, **options)

    return make


@pytest.fixture
def rig() -> Callable[..., SimulatedRobot]:
    """Return a maker of a connected one-joint robot; options are those of `SimulatedRobot`."""

    def make(law: str = "qbmove", mode: int = 3, **options) -> SimulatedRobot:
        robot = SimulatedRobot(rig1(CompliantJoint(law, mode)), **options)
        robot.connect()
        return robot

    return make
