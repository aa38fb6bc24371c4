"""Task-space actions: what displaces the tool is the action, what moves the joints a controller."""

import copy
import pickle

import numpy as np
import pytest

from pliant.controllers.task_space import FrameTask, PostureTask, TaskSpaceController, TaskStack
from pliant.envs import PliantEnv, describe
from pliant.envs.tasks import ReachPose
from pliant.envs.tasks.task_space import TaskSpace
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

ARM = {
    "_target_": "pliant.envs.description.RobotDescription",
    "model": {"_target_": "pliant.envs.models.ur.ur", "arm": "ur10", "mode": "torque"},
    "period": 0.016,
}
REACH = ReachPose(low=[-0.9, -0.4, 0.3], high=[-0.5, 0.3, 0.8])


@pytest.fixture(scope="module")
def arm():
    return describe(ARM)


def env_of(arm, **settings):
    return PliantEnv(arm.simulated(), REACH.but(action=TaskSpace(**settings)))


def test_it_commands_what_a_controller_of_the_same_tasks_does(arm):
    env = env_of(arm, reach=0.2, speed=0.4)
    env.reset(seed=0)
    sent = [env.step([0.5, -1.0, 0.25]) and env.robot.read().command for _ in range(60)]
    robot = arm.simulated()
    mechanics, frames = robot.kinematics.mechanics()
    tool = FrameTask(frames["tip"], axes=["x", "y", "z"], stiffness=225.0, damping=30.0, speed=0.4)
    stack = TaskStack(
        mechanics,
        {"tool": tool, "posture": PostureTask(mechanics=mechanics, stiffness=10.0)},
        torque=[(c.low, c.high) for c in robot.info.command],
    )
    controller = TaskSpaceController(stack)
    controller.check(robot.info)
    with robot:
        robot.reset(seed=0)
        controller.reset(robot.read())
        for k, expected in enumerate(sent):
            state = robot.read()
            place = robot.kinematics.pose("tip", state.position)[:3]
            tool.target[:3] = np.add(place, [0.1, -0.2, 0.05])
            command = np.clip(controller.update(state, k * 0.016), robot.info.low, robot.info.high)
            np.testing.assert_allclose(command, expected, rtol=0.0, atol=1e-8)
            robot.send(command)


def test_an_action_at_rest_keeps_the_tool_where_it_comes_to_rest(arm):
    env = env_of(arm)
    env.reset(seed=0)
    for _ in range(40):
        env.step([1.0, 0.0, 0.0])
    for _ in range(60):
        env.step([0.0, 0.0, 0.0])
    here = env.robot.kinematics.pose("tip", env.robot.read().position)[:3]
    for _ in range(20):
        env.step([0.0, 0.0, 0.0])
    there = env.robot.kinematics.pose("tip", env.robot.read().position)[:3]
    assert np.linalg.norm(there - here) < 1e-3


def test_a_displacement_moves_the_tool_along_its_own_axis_alone(arm):
    for k in range(3):
        env = env_of(arm)
        env.reset(seed=0)
        begin = env.robot.kinematics.pose("tip", env.robot.read().position)[:3]
        for _ in range(25):
            env.step(np.eye(3)[k])
        way = env.robot.kinematics.pose("tip", env.robot.read().position)[:3] - begin
        assert way[k] > 0.08
        assert np.abs(np.delete(way, k)).max() < 0.1 * way[k]


def test_an_oriented_one_turns_the_tool_and_leaves_it_in_its_place(arm):
    env = env_of(arm, oriented=True)
    assert [c.name for c in env.actions][3:] == [f"tool/rotation_{axis}" for axis in "xyz"]
    env.reset(seed=0)
    begin = env.robot.kinematics.pose("tip", env.robot.read().position)
    for _ in range(25):
        env.step([0.0, 0.0, 0.0, 0.0, 0.0, 0.5])
    end = env.robot.kinematics.pose("tip", env.robot.read().position)
    assert np.linalg.norm(end[:3] - begin[:3]) < 5e-3
    assert 2 * np.arccos(abs(begin[3:] @ end[3:])) > 0.3


def test_many_do_to_the_last_bit_what_one_does(arm):
    task = REACH.but(action=TaskSpace())
    envs = PliantVectorEnv(arm.simulated(), task, 3)
    one = env_of(arm)
    rng = np.random.default_rng(5)
    actions = rng.uniform(-1, 1, (40, 3, 3)).astype(np.float32)
    seen, _ = envs.reset(seed=7)
    rows = []
    for action in actions:
        seen, *_ = envs.step(action)
        rows.append(seen[0].copy())
    one.reset(seed=7)
    for action, row in zip(actions, rows, strict=True):
        np.testing.assert_array_equal(one.step(action[0])[0], row)


def test_copies_go_on_as_it_does(arm):
    env = env_of(arm)
    env.reset(seed=3)
    for _ in range(10):
        env.step([0.5, -0.5, 1.0])
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    for k in range(20):
        action = [np.sin(k), np.cos(k), -0.3]
        expected = env.step(action)[0]
        for other in copies:
            np.testing.assert_array_equal(other.step(action)[0], expected)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"site": "tipp"}, UnknownNameError, "tipp.*tip"),
        ({"axes": "xq"}, UnknownNameError, "axis 'q'"),
        ({"axes": ""}, ConfigurationError, "each once"),
        ({"reach": 0.0}, OutOfBoundsError, "reach"),
        ({"turn": float("nan")}, OutOfBoundsError, "turn"),
        ({"stiffness": -1.0}, OutOfBoundsError, "stiffness"),
        ({"speed": 0.0}, OutOfBoundsError, "speed"),
        ({"damping": 70.0}, ConfigurationError, "below 1"),
        ({"commanded": "elbow/position"}, UnknownNameError, "elbow/position"),
    ],
)
def test_what_cannot_be_is_told(arm, settings, error, words):
    with pytest.raises(error, match=words):
        env_of(arm, **settings)


def test_a_robot_that_is_commanded_positions_is_told_what_is_needed():
    positions = describe({**ARM, "model": {**ARM["model"], "mode": "position"}})
    with pytest.raises(ConfigurationError, match=r"torques are needed.*robot.model.mode=torque"):
        env_of(positions)
