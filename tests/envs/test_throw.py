"""The task `throw`: ballistics by hand, bookkeeping, and what it is for — an arm that must be soft to win."""

import math
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import pliant.envs
from pliant.actuators import CompliantJoint, find_law
from pliant.envs import SimulatedRobot, Throw
from pliant.envs.models.arm2 import LENGTHS, arm2, arm2_joints
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.tasks.throw import judge_throwing
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError


def flown(angles, rates, lengths=LENGTHS, height=0.42) -> float:
    """Distance by integrating the flight of a ball that leaves the tip, in small steps."""
    q, dq = np.cumsum(angles), np.cumsum(rates)
    l_ = np.array(lengths)
    place = np.array([l_ @ np.sin(q), height - l_ @ np.cos(q)])
    speed = np.array([l_ @ (dq * np.cos(q)), l_ @ (dq * np.sin(q))])
    step = 1e-4
    while place[1] > 0.0:
        place = place + step * speed + np.array([0.0, -0.5 * 9.81 * step**2])
        speed = speed - np.array([0.0, 9.81 * step])
    return float(place[0])


def judge(reading: np.ndarray, **memory: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, joints = reading.shape[0], reading.shape[1] // 3
    state = np.zeros((n, 3))
    for name, value in memory.items():
        state[:, ("step", "tally", "change").index(name)] = value
    added, outcome = np.zeros((n, 3)), np.zeros((n, 6))
    judge_throwing(state, reading, added, outcome, np.array(LENGTHS[:joints]), 0.42, 9.81, 0.45, 0.1, 10, 0.02)
    return state, added, outcome


def test_a_ball_flies_as_its_equation_of_motion_says():
    random = np.random.default_rng(0)
    angles, rates = random.uniform(-1.5, 1.5, (20, 2)), random.uniform(-15.0, 15.0, (20, 2))
    _, added, _ = judge(np.hstack([angles, rates, np.zeros((20, 2))]))
    for i in range(20):
        assert added[i, 0] == pytest.approx(flown(angles[i], rates[i]), abs=2e-3)


def test_a_ball_let_go_at_rest_falls_straight_down():
    q = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [math.pi / 2, 0.0, 0.0, 0.0, 0.0, 0.0]])
    assert judge(q)[1][:, 0] == pytest.approx([0.0, sum(LENGTHS)])


def test_only_what_is_farther_than_ever_before_is_rewarded():
    reading = np.tile([0.8, 0.4, 6.0, 6.0, 0.0, 0.0], (3, 1))
    now = judge(reading)[1][0, 0]
    for tally, gain in ((0.0, now), (now - 0.01, 0.01), (now + 0.01, 0.0)):
        state, added, outcome = judge(reading, tally=tally)
        assert outcome[0, 0] == pytest.approx(gain)
        assert state[0, 1] == added[0, 1] == pytest.approx(tally + gain)


def test_success_smoothness_and_the_end_are_reported():
    reading = np.tile([0.8, 0.4, 6.0, 6.0, 0.0, 0.0], (1, 1))
    state, added, outcome = judge(reading, step=8, change=2.0)
    assert outcome[0].tolist() == [outcome[0, 0], -0.2, outcome[0, 0] - 0.2, 1.0, 0.0, 0.0]
    assert (state[0, 0], added[0, 2]) == (9.0, 0.02)
    _, added, outcome = judge(np.zeros((1, 6)), step=9, tally=0.44)
    assert outcome[0].tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert added[0, 2] == 0.0


def test_the_return_of_an_episode_is_the_throws_distance():
    pliant.envs.register()
    env = gymnasium.make("pliant/CompliantArm2-v0", task=Throw(duration=0.6, spread=0.0))
    observation, _ = env.reset(seed=0)
    names = [channel.name for channel in env.unwrapped.observations]
    now, best, left = (names.index(f"throw/{name}") for name in ("now", "best", "time_left"))
    assert observation[[now, best, left]].tolist() == pytest.approx([0.0, 0.0, 0.6])
    total, farthest, truncated, steps = 0.0, 0.0, False, 0
    while not truncated:
        observation, reward, terminated, truncated, info = env.step([1.0, -1.0, 1.0, -1.0])
        assert not terminated
        total, farthest, steps = total + reward, max(farthest, float(observation[now])), steps + 1
        assert observation[best] == pytest.approx(farthest, abs=1e-6)
    assert steps == 30
    assert total == pytest.approx(farthest, abs=1e-6)
    assert total > 0.3
    assert info["is_success"] is (total >= 0.95)


def test_it_is_for_any_planar_chain_and_says_where_it_does_not_fit():
    Throw(lengths=(0.04,), height=0.3).on(SimulatedRobot(rig1()).info)
    with pytest.raises(ConfigurationError, match=r"2 lengths for the 1 joints of 'rig1' \(joint\)"):
        Throw().on(SimulatedRobot(rig1()).info)
    with pytest.raises(ConfigurationError, match=r"at a height of 0\.1 m an arm of 0\.178 m hits the floor"):
        Throw(height=0.1)
    with pytest.raises(ShapeError, match="Throw start"):
        Throw(start=(0.0, 0.0, 0.0)).on(SimulatedRobot(arm2()).info)
    for name in ("goal", "duration", "gravity", "height"):
        with pytest.raises(OutOfBoundsError, match=f"Throw {name}"):
            Throw(**{name: 0.0})
    with pytest.raises(OutOfBoundsError, match="Throw smoothness"):
        Throw(smoothness=-1.0)


# What it is for -----------------------------------------------------------------------------------------------

KNOTS, POPULATION, GENERATIONS, ELITE = 8, 128, 20, 16


def farthest_throw(robot: RobotModel, task: Throw, seed: int) -> float:
    """The best throw that the cross-entropy method finds, m.

    Motions are piecewise linear between eight actions spread over the episode. Every robot gets the same search.
    """
    env = PliantVectorEnv(SimulatedRobot(robot, 0.02), task, POPULATION, autoreset_mode="Disabled")
    periods, columns = round(task.duration / 0.02), env.single_action_space.shape[0]
    random = np.random.default_rng(seed)
    mean, deviation = np.zeros((KNOTS, columns)), np.full((KNOTS, columns), 0.8)
    place = np.linspace(0, KNOTS - 1, periods)
    before = np.minimum(place.astype(int), KNOTS - 2)
    part = (place - before)[:, None]
    best = 0.0
    for _ in range(GENERATIONS):
        knots = np.clip(mean + deviation * random.standard_normal((POPULATION, KNOTS, columns)), -1.0, 1.0)
        motions = knots[:, before] * (1 - part) + knots[:, before + 1] * part
        env.reset(seed=0)
        distance = np.zeros(POPULATION)
        for k in range(periods):
            distance += env.step(motions[:, k])[1]
        order = np.argsort(-distance)[:ELITE]
        mean = 0.3 * mean + 0.7 * knots[order].mean(axis=0)
        deviation = np.maximum(0.3 * deviation + 0.7 * knots[order].std(axis=0), 0.02)
        best = max(best, float(distance.max()))
    env.close()
    return best


@pytest.mark.slow
def test_a_soft_arm_throws_farther_than_a_rigid_one_with_the_same_motors():
    """Rigid: springs of 200 N·m/rad, which give way by less than 1°; links, motors and their limits alike.

    Half-way: the arm's own springs with the stiffness preset held at its stiffest and at its resting setting.
    """
    reach = {"position_range": (-1.57, 1.57)}
    own = [replace(joint, **reach) for joint in arm2_joints()]
    rigid = CompliantJoint(find_law("sea")(k=200.0), 6, **reach)
    free, held = Throw(spread=0.0), Throw(spread=0.0, commanded="equilibrium")
    found = {
        "rigid": farthest_throw(arm2([rigid, rigid], timestep=5e-4), free, 0),
        "stiffest": farthest_throw(arm2([replace(joint, preset=0.6) for joint in own]), held, 0),
        "resting": farthest_throw(arm2(own), held, 0),
        "free": farthest_throw(arm2(own), free, 0),
    }
    assert found["rigid"] < found["stiffest"] < found["resting"] < found["free"], found
    assert found["rigid"] < 0.8 < free.goal < found["free"], found
    assert found["resting"] < free.goal, found
