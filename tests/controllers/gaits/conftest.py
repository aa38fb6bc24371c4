import numpy as np
import pytest

from pliant.controllers.gaits import hexapod_legs
from pliant.hardware.robot import Channel, RobotInfo, State


@pytest.fixture(scope="session")
def info():
    """A robot whose columns and joints come in other orders than a gait's."""
    joints = hexapod_legs().joints
    columns = tuple(Channel(f"{joint}/position", "rad", -2.6, 2.6) for joint in reversed(joints))
    return RobotInfo("hexapod", (*joints[9:], *joints[:9]), (), columns, 0.019)


@pytest.fixture(scope="session")
def at(info):
    """Return a maker of states: joint angles by the gait's order, (18,), rad."""

    def make(angles, command=0.0):
        position = np.concatenate([np.asarray(angles)[9:], np.asarray(angles)[:9]])
        unknown, none = np.full(18, np.nan), np.empty(0)
        return State(0.0, position, unknown, unknown, unknown, *[none] * 4, np.full(18, command))

    return make


@pytest.fixture(scope="session")
def walk():
    """Return a function that updates a gait for a time: joint targets by the gait's order, (n, 18), rad."""

    def take(gait, duration, *, begin=0.0, period=0.019):
        times = begin + period * np.arange(1, round(duration / period) + 1)
        return np.array([gait.update(None, t) for t in times])[:, ::-1]

    return take
