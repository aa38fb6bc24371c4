from math import inf

import numpy as np
import pytest

from pliant.envs.tasks import Episodes, TaskOnRobot
from pliant.hardware.robot import Channel, RobotInfo, joint_signals

PERIOD = 0.02


def triple(name: str, unit: str, axes: str = "xyz") -> list[Channel]:
    return [Channel(f"{name}_{axis}", unit, -inf, inf) for axis in axes]


@pytest.fixture(scope="session")
def info() -> RobotInfo:
    """A robot with everything: two joints, a floating base, an end effector, a force-torque sensor."""
    joints = ("hip", "knee")
    own = [
        *triple("base/position", "m"),
        *triple("base/orientation", "1", "wxyz"),
        *triple("base/velocity", "m/s"),
        *triple("base/angular_velocity", "rad/s"),
        *triple("tip/position", "m"),
        *triple("tip/orientation", "1", "wxyz"),
        *triple("tip/velocity", "m/s"),
        *triple("wrist/force", "N"),
        *triple("wrist/torque", "N·m"),
    ]
    return RobotInfo(
        name="everything",
        joints=joints,
        motors=("hip/1", "knee/1"),
        command=(
            Channel("hip/equilibrium", "rad", -1.0, 1.0, 0.5),
            Channel("hip/preset", "rad", 0.0, 0.6, 0.2),
            Channel("knee/equilibrium", "rad", -2.0, 2.0),
        ),
        period=PERIOD,
        signals=(*joint_signals(joints, ("hip/1", "knee/1")), *own),
    )


@pytest.fixture
def upright(info):
    """Signals of the robot standing upright, still, by name."""
    values = dict.fromkeys(info.signal_names, 0.0)
    return {**values, "base/orientation_w": 1.0, "tip/orientation_w": 1.0, "base/position_z": 0.4}


@pytest.fixture
def begin(info, upright):
    """Begin one episode of a task; returns both."""

    def start(task, seed: int = 0, **options) -> tuple[TaskOnRobot, Episodes]:
        made = task.on(info, **options)
        episodes = made.episodes(1)
        made.begin(episodes, 0, np.random.default_rng(seed))
        episodes.signals[0] = list(upright.values())
        assert made.observe(episodes)
        return made, episodes

    return start


@pytest.fixture
def lead(info, upright):
    """One period that leads to the given signals; returns the outcome by name and the observation by name."""

    def period(task: TaskOnRobot, episodes: Episodes, action=0.0, /, **signals) -> tuple[dict, dict]:
        values = {**upright, **{name.replace("__", "/"): value for name, value in signals.items()}}
        assert set(values) == set(upright)
        episodes.action[:] = action
        assert task.act(episodes)
        episodes.signals[0] = list(values.values())
        assert task.judge(episodes), task.trouble(episodes, 0)
        names = [*task.terms, "reward", "is_success", "terminated", "truncated"]
        outcome = dict(zip(names, episodes.outcome[0].tolist(), strict=True))
        seen = [channel.name for channel in task.observations]
        return outcome, dict(zip(seen, episodes.observation[0].tolist(), strict=True))

    return period
