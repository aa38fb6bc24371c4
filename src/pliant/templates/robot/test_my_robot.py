"""The description fits its model, and the robot goes where it is sent."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest

import pliant.envs
from pliant.envs import describe

FILE = Path(__file__).parent / "my_robot.yaml"


def test_joints_commands_and_signals_are_those_of_the_file():
    info = describe(str(FILE)).simulated().info
    assert info.joints == ("shoulder", "elbow")
    assert info.command_names == ("shoulder/equilibrium", "shoulder/preset", "elbow/position")
    assert "gyro/angular_velocity_y" in info.signal_names
    assert info.period == pytest.approx(0.02)


def test_it_goes_where_it_is_sent():
    with describe(str(FILE)).simulated() as robot:
        goal = np.array([0.5, 0.4, 0.3])  # equilibrium, preset, position, rad
        for _ in range(150):
            robot.send(goal)
        position = robot.read().position
    # the soft joint hangs below its equilibrium by what its springs yield, the stiff one a little
    assert 0.3 < position[0] < 0.5
    assert position[1] == pytest.approx(0.3, abs=0.03)


def test_a_task_runs_on_it():
    pliant.envs.register()
    env = gymnasium.make("pliant/Robot-v0", robot=str(FILE), task="reach")
    env.reset(seed=0)
    observation, reward, *_ = env.step(env.action_space.sample())
    assert np.isfinite(observation).all()
    assert np.isfinite(reward)
