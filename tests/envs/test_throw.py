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
from pliant.envs.tasks.row import STEP
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.robot import Channel, RobotInfo


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


THROW = Throw(lengths=LENGTHS, goal=0.45, smoothness=0.1, duration=0.2)
"""Ten periods."""


def robot(joints: int) -> RobotInfo:
    names = tuple(f"joint{j + 1}" for j in range(joints))
    return RobotInfo(
        "chain", names, (), tuple(Channel(f"{name}/torque", "N·m", -1.0, 1.0) for name in names), 0.02
    )


def judge(angles, rates, step: int = 0, best: float = 0.0, change: float = 0.0):
    """What a period leads to: how far a ball flies now, the best, the time left; and the outcome."""
    task = THROW.on(robot(2))
    episodes = task.episodes(1)
    task.begin(episodes, 0, np.random.default_rng(0))
    assert task.observe(episodes)
    episodes.action[:] = math.sqrt(change)
    assert task.act(episodes)
    episodes.block[0, STEP] = step
    names = [channel.name for channel in task.observations]
    measures = episodes.signals.shape[1]
    episodes.block[0, 2 + 4 * 2 + measures + 1] = best  # after two counters, three actions and the command
    episodes.signals[0, :4] = [*angles, *rates]
    assert task.judge(episodes)
    seen = dict(zip(names, episodes.observation[0].tolist(), strict=True))
    return [seen[name] for name in ("throw/now", "throw/best", "time/left")], episodes.outcome[0]


def test_a_ball_flies_as_its_equation_of_motion_says():
    random = np.random.default_rng(0)
    for angles, rates in zip(
        random.uniform(-1.5, 1.5, (20, 2)), random.uniform(-15.0, 15.0, (20, 2)), strict=True
    ):
        assert judge(angles, rates)[0][0] == pytest.approx(flown(angles, rates), abs=2e-3)


def test_a_ball_let_go_at_rest_falls_straight_down():
    assert judge([0.0, 0.0], [0.0, 0.0])[0][0] == pytest.approx(0.0)
    assert judge([math.pi / 2, 0.0], [0.0, 0.0])[0][0] == pytest.approx(sum(LENGTHS))


def test_only_what_is_farther_than_ever_before_is_rewarded():
    throw = [0.8, 0.4], [6.0, 6.0]
    now = judge(*throw)[0][0]
    for best, gain in ((0.0, now), (now - 0.01, 0.01), (now + 0.01, 0.0)):
        (_, farthest, _), outcome = judge(*throw, best=best)
        assert outcome[0] == pytest.approx(gain, abs=1e-7)
        assert farthest == pytest.approx(best + gain, abs=1e-6)


def test_success_smoothness_and_the_end_are_reported():
    (_, _, left), outcome = judge([0.8, 0.4], [6.0, 6.0], step=8, change=0.5)
    gain = outcome[0]
    assert outcome.tolist() == pytest.approx([gain, -0.05, gain - 0.05, 1.0, 0.0, 0.0])
    assert left == pytest.approx(0.02)
    (_, _, left), outcome = judge([0.0, 0.0], [0.0, 0.0], step=9, best=0.44)
    assert outcome.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert left == 0.0


def test_a_tip_that_the_robot_reads_throws_as_far_as_the_chain_it_belongs_to():
    chain = robot(2)
    tip = [
        Channel(f"tip/{q}_{axis}", u, -math.inf, math.inf)
        for q, u in (("position", "m"), ("velocity", "m/s"))
        for axis in "xyz"
    ]
    info = replace(chain, signals=(*chain.signals, *tip))
    task = Throw(lengths=None, height=0.42).on(info)
    episodes = task.episodes(1)
    task.begin(episodes, 0, np.random.default_rng(0))
    q, dq, l_ = np.array([0.8, 1.2]), np.array([6.0, 12.0]), np.array(LENGTHS)
    episodes.action[:] = 0.0
    assert task.act(episodes)
    place = [l_ @ np.sin(q), 0.0, -l_ @ np.cos(q)]
    episodes.signals[0, -6:] = [*place, l_ @ (dq * np.cos(q)), 0.0, l_ @ (dq * np.sin(q))]
    assert task.judge(episodes)
    assert episodes.outcome[0, 0] == pytest.approx(judge([0.8, 0.4], [6.0, 6.0])[1][0])
    with pytest.raises(UnknownNameError, match=r"'tip/position_\[xz\]' in robot 'chain', which measure 'flight'"):
        Throw(lengths=None).on(chain)


def test_the_return_of_an_episode_is_the_throws_distance():
    pliant.envs.register()
    env = gymnasium.make("pliant/CompliantArm2-v0", task=Throw(duration=0.6, spread=0.0))
    observation, _ = env.reset(seed=0)
    names = [channel.name for channel in env.unwrapped.observations]
    now, best, left = (names.index(name) for name in ("throw/now", "throw/best", "time/left"))
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
    with pytest.raises(ConfigurationError, match=r"2 lengths for the 1 joints \(joint\)"):
        Throw().on(SimulatedRobot(rig1()).info)
    with pytest.raises(ConfigurationError, match=r"at a height of 0\.1 m an arm of 0\.178 m hits the floor"):
        Throw(height=0.1).on(SimulatedRobot(arm2()).info)
    with pytest.raises(ShapeError, match="start: angles"):
        Throw(start=(0.0, 0.0, 0.0)).on(SimulatedRobot(arm2()).info)
    for name in ("duration", "gravity", "height"):
        with pytest.raises(OutOfBoundsError, match=name):
            Throw(**{name: 0.0})
    with pytest.raises(OutOfBoundsError, match="limit"):
        Throw(goal=math.nan)


# What it is for -----------------------------------------------------------------------------------------------

KNOTS, POPULATION, GENERATIONS, ELITE = 8, 128, 20, 16


def farthest_throw(robot: RobotModel, task: Throw, seed: int) -> float:
    """The best throw that the cross-entropy method finds, m.

    Motions are piecewise linear between eight actions spread over the episode. Every robot gets the same search.
    """
    env = PliantVectorEnv(SimulatedRobot(robot, 0.02), task, POPULATION, autoreset_mode="Disabled")
    periods, columns = round(task.ends["time"].values["duration"] / 0.02), env.single_action_space.shape[0]
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
    assert found["rigid"] < 0.8 < free.ends["far"].values["limit"] < found["free"], found
    assert found["resting"] < free.ends["far"].values["limit"], found


def test_no_lengths_at_all_is_no_value(verb):
    status, _, err = verb("play", "random", "task=throw", "task.lengths=null", "episodes=1")
    assert status == 2
    assert "lengths is null, which is no value" in err
