"""Task-space control from a robot's description: what can be said of it, and what is told of wrong words."""

import math

import numpy as np
import pytest

from pliant.controllers import Circle, Line, MinimumJerk, run
from pliant.controllers.task_space import FrameTask, PostureTask, TaskSpaceController
from pliant.envs.description import describe
from pliant.envs.task_space import task_space
from pliant.errors import (
    ConfigurationError,
    MismatchError,
    OutOfBoundsError,
    PliantError,
    ShapeError,
    UnknownNameError,
)

ARM = {
    "_target_": "pliant.envs.description.RobotDescription",
    "model": {"_target_": "pliant.envs.models.ur.ur", "arm": "ur10e", "mode": "torque"},
    "period": 0.004,
}
HOME = np.array([-0.6914, -0.17415, 0.67685])


def made(entry=None, robot=ARM, posture=None, **settings):
    tasks = {"tool": {"task": "point", "frame": "tip", "stiffness": 225.0, "damping": 30.0, **(entry or {})}}
    tasks["rest"] = posture or {"task": "posture", "stiffness": 25.0, "level": 2}
    return task_space(describe(robot), tasks, **settings)


def played(controller, duration, robot=ARM, **changes):
    with describe(robot).simulated(**changes) as machine:
        done = run(machine, controller, duration)
        return done, np.array(machine.read().sensors[:3])


def test_a_point_goes_to_its_target_and_the_joints_keep_what_is_left():
    goal = np.add(HOME, [0.1, 0.15, 0.05])
    controller = made({"target": goal.tolist(), "speed": 0.4})
    played(controller, 1.5)
    assert controller.errors()["tool"] < 1e-3
    assert not controller.events


def test_without_a_target_everything_stays_where_it_is():
    done, _ = played(made(), 0.5)
    assert np.ptp(done.motion.position, axis=0).max() < 1e-9


@pytest.mark.parametrize(
    "path",
    [
        Line(HOME, np.add(HOME, [0.1, 0.2, 0.05]), 1.0),
        Circle(np.subtract(HOME, [0, 0.1, 0]), 0.1, 1.5, plane="yz"),
    ],
    ids=["line", "circle"],
)
def test_a_path_is_followed_by_its_velocity_and_acceleration(path):
    controller = made({"path": path})
    worst = 0.0

    def look(state, sent):
        nonlocal worst
        worst = max(worst, controller.errors()["tool"])

    with describe(ARM).simulated() as robot:
        run(robot, controller, path.duration + 0.2, [look])
    assert worst < 2e-3, "m"
    assert controller.errors()["tool"] < 1e-4


def test_a_target_in_the_scene_is_followed_where_it_is_moved():
    robot = {**ARM, "targets": {"tip": (np.add(HOME, [0.05, 0.0, 0.0])).tolist()}}
    controller = made({"follow": "tip_target"}, robot)
    played(controller, 1.0, robot)
    assert controller.errors()["tool"] < 1e-3
    np.testing.assert_allclose(controller.stack.tasks["tool"].target[:3], np.add(HOME, [0.05, 0, 0]), atol=1e-6)


def test_a_sensed_pose_goes_before_what_the_joints_tell():
    controller = made({"sense": "tip"})
    with describe(ARM).simulated() as robot:
        controller.check(robot.info)
        state = robot.read()
        controller.reset(state)
        sensors = state.sensors.copy()
        names = [channel.name for channel in robot.info.sensors]
        sensors[names.index("tip/position_x")] += 0.01
        controller.update(state._replace(sensors=sensors), 0.0)
        assert controller.stack.tasks["tool"].error[0] == pytest.approx(-0.01, abs=1e-9)
        controller.sensing = False
        controller.update(state._replace(sensors=sensors), 0.004)
        assert controller.stack.tasks["tool"].error[0] == pytest.approx(0.0, abs=1e-9)


def test_dry_friction_of_the_model_is_made_up_for_where_the_joints_are_about_to_go():
    arm = {**ARM, "model": {**ARM["model"], "friction": [16.5, 16.5, 7.5, 2.7, 2.7, 2.7]}}
    left = {}
    for share in (0.0, 0.8):
        controller = made({"target": (np.add(HOME, [0.1, 0.1, 0.0])).tolist(), "speed": 0.4}, arm, friction=share)
        played(controller, 2.0, arm)
        left[share] = controller.errors()["tool"]
    assert left[0.8] < 0.5 * left[0.0]


def test_what_rests_away_from_its_target_is_told_once():
    elsewhere = {"task": "posture", "stiffness": 25.0, "level": 2, "target": 6 * [0.5]}
    controller = made({"task": "pose"}, posture=elsewhere)
    played(controller, 1.5)
    (told,) = controller.events
    assert told.text.startswith("rest rests 2.97 ")
    assert "a task above it" in told.text
    assert 0.45 < told.time < 0.6


def test_a_target_beyond_all_links_is_told_at_once_and_again_when_it_has_come_back():
    controller = made({"target": [-1.7, 0.0, 0.3], "speed": 0.2})
    with describe(ARM).simulated() as robot:
        controller.check(robot.info)
        state = robot.read()
        controller.reset(state)
        for k in range(3):
            controller.update(state, 0.004 * k)
        (told,) = controller.events
        assert told.time == 0.0
        start, _, beyond = told.text.removesuffix(" m beyond all links together").rpartition(" ")
        assert start == "the target of tool is out of reach:"
        assert 0.1 < float(beyond) < 0.39, "m, more than 1.3 m of a UR10e reach"
        target = controller.stack.tasks["tool"].target
        for x, count in ((-0.7, 1), (-1.7, 2), (math.nan, 2)):
            target[0] = x
            controller.events.extend(controller._shortfall.look(0.1, 0.004))
            assert len(controller.events) == count


def test_entries_make_the_tasks_that_they_name():
    controller = made({"task": "pose", "axes": ["x", "rz"], "level": 3, "weight": 2.0, "turning": 0.5})
    task = controller.stack.tasks["tool"]
    assert isinstance(controller, TaskSpaceController)
    assert isinstance(task, FrameTask)
    assert (task.axes, task.level, task.weight, task.largest[1]) == ((0, 5), 3, 2.0, 0.5)
    assert isinstance(controller.stack.tasks["rest"], PostureTask)
    assert list(controller.stack.tasks) == ["rest", "tool"], "by level"


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        ({"task": "pont"}, UnknownNameError, "pont.*point"),
        ({"task": None}, UnknownNameError, "point, orientation"),
        ({"frame": "tipp"}, UnknownNameError, "frame 'tipp' in task 'tool'.*'tip'.*Valid: tip, .*tcp.*forearm"),
        ({"frame": 3}, UnknownNameError, "frame 3"),
        ({"relative_to": "table"}, UnknownNameError, "frame 'table'"),
        ({"axes": ["x", "q"]}, UnknownNameError, "axis 'q'"),
        ({"axes": ["x", "x"]}, ConfigurationError, "each once"),
        ({"axes": []}, ConfigurationError, "each once"),
        ({"stifness": 3}, UnknownNameError, "stifness.*stiffness"),
        ({"mechanics": 3}, UnknownNameError, "mechanics"),
        ({"stiffness": -1}, OutOfBoundsError, "stiffness"),
        ({"stiffness": [1, 2]}, ShapeError, "stiffness"),
        ({"damping": math.nan}, OutOfBoundsError, "damping"),
        ({"level": 0}, OutOfBoundsError, "level is 0"),
        ({"level": 1.5}, OutOfBoundsError, "level is 1.5"),
        ({"weight": 0}, OutOfBoundsError, "weight"),
        ({"speed": 0}, OutOfBoundsError, "speed is 0"),
        ({"speed": "fast"}, PliantError, "speed is 'fast'"),
        ({"target": [0, 0]}, ConfigurationError, "3 or 7"),
        ({"target": [0, math.nan, 0]}, OutOfBoundsError, "target of task 'tool'"),
        ({"target": "there"}, PliantError, "target of task 'tool'"),
        ({"target": [0.4, 0.1, 0.5, 0, 0, 0, 0]}, OutOfBoundsError, "quaternion"),
        ({"target": [0.4, 0.1, 0.5, 90, 0, 0, 0]}, OutOfBoundsError, "quaternion"),
        ({"path": [0, 0, 0]}, ConfigurationError, "path of task 'tool'"),
        ({"path": Circle([0.0, 0.0], 0.1, 1.0)}, ShapeError, "path of task 'tool' has 2.*3"),
        ({"path": Line(HOME, HOME, 1.0), "target": HOME}, ConfigurationError, "target and path"),
        ({"follow": 3}, ConfigurationError, "'tool'.*a name"),
        ({"sense": ["tip"]}, ConfigurationError, "'tool'.*a name"),
    ],
)
def test_wrong_entries_of_a_task_are_told(entry, error, words):
    with pytest.raises(error, match=words):
        made(entry)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"posture": {"task": "posture", "path": Line(HOME, HOME, 1.0)}}, ConfigurationError, "has no path"),
        ({"posture": {"task": "posture", "sense": "tip"}}, ConfigurationError, "has no sensed pose"),
        ({"posture": {"task": "posture", "target": [0, 0]}}, ConfigurationError, "6 are needed"),
        ({"posture": {"task": "posture", "joints": ["elbo"]}}, UnknownNameError, "elbo.*elbow"),
        ({"posture": 3}, ConfigurationError, "one of point, orientation"),
        ({"constraints": {"foot": {"constraint": "glue", "frame": "tip"}}}, UnknownNameError, "glue.*weld"),
        ({"constraints": {"foot": {"frame": "tip"}}}, ConfigurationError, "weld, contact, prescribed"),
        ({"constraints": {"foot": {"constraint": "weld"}}}, ConfigurationError, "frame"),
        ({"constraints": 3}, ConfigurationError, "constraints.*by name"),
        ({"limits": {"speeed": 1}}, UnknownNameError, "speeed.*speed"),
        ({"limits": {"speed": -1.0}}, OutOfBoundsError, "speed"),
        ({"limits": {"speed": "fast"}}, PliantError, "speed"),
        ({"limits": {"speed": [1.0, 1.0]}}, PliantError, "speed"),
        ({"limits": {"window": 0}}, OutOfBoundsError, "window"),
        ({"limits": {"margin": 4}}, OutOfBoundsError, "margin"),
        ({"limits": 3}, ConfigurationError, "limits.*by name"),
        ({"solver": 3}, ConfigurationError, "solver"),
        ({"base_motion": "sped"}, UnknownNameError, "pose, velocity"),
        ({"friction": 2}, OutOfBoundsError, "friction"),
        ({"brake_after": -1}, OutOfBoundsError, "brake_after"),
    ],
)
def test_wrong_settings_are_told(settings, error, words):
    with pytest.raises(error, match=words):
        made(**settings)


def test_tasks_that_are_none_are_told():
    for tasks in ({}, None, 3):
        with pytest.raises(ConfigurationError, match="task"):
            task_space(describe(ARM), tasks)


def test_a_robot_without_torques_is_told_how_to_take_them():
    arm = {**ARM, "model": {**ARM["model"], "mode": "position"}}
    with pytest.raises(ConfigurationError, match=r"commanded no torques.*robot.model.mode=torque"):
        made(robot=arm)


def test_a_robot_that_lacks_what_is_needed_is_told_all_of_it():
    controller = made({"sense": "tip", "follow": "tip_target"})
    info = describe({**ARM, "model": {**ARM["model"], "mode": "position"}}).simulated(signals=["wrist"]).info
    with pytest.raises(MismatchError) as caught:
        controller.check(info)
    told = str(caught.value)
    for what in ("column 'elbow/torque'", "column 'wrist_3/torque'", "signal 'tip_target/position_x'"):
        assert what in told


def test_a_joint_that_is_not_read_is_named():
    controller = made()
    with describe(ARM).simulated() as robot:
        controller.check(robot.info)
        state = robot.read()
        controller.reset(state)
        state.position[2] = math.nan
        with pytest.raises(OutOfBoundsError, match="does not tell elbow/position"):
            controller.update(state, 0.0)


def test_joints_that_follow_a_trajectory_are_as_many_as_there_are():
    controller = made(others=MinimumJerk([0.0, 0.0], [0.1, 0.1], 1.0))
    with pytest.raises(ConfigurationError, match=r"2 joint.*has 0"):
        controller.check(describe(ARM).simulated().info)


def test_speeds_are_those_that_are_given_else_the_models_if_it_has_any():
    of = {}
    for speed in (None, True, False, 2.0, 6 * [3.0]):
        limits = made(limits={"speed": speed}).stack.limits
        assert limits is not None
        of[str(speed)] = limits.speed.max()
    assert of["None"] == of["True"] == pytest.approx(math.pi, rel=1e-3)
    assert (of["False"], of["2.0"]) == (math.inf, 2.0)
    assert of[str(6 * [3.0])] == 3.0
