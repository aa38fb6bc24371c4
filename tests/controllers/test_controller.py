"""The one loop: what a controller sees, what is sent, who is told, and what is left when something fails."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from pliant.controllers.controller import Adjustable, Controller, End, check_names, periods, run, run_before
from pliant.controllers.feedforward import Rows
from pliant.controllers.joint_pid import ComputedTorque, JointPID
from pliant.controllers.recorded import Recorded
from pliant.controllers.setpoints import Setpoints
from pliant.controllers.trajectories import MinimumJerk, Step
from pliant.errors import MismatchError, OutOfBoundsError, RobotError, ShapeError, UnknownNameError
from pliant.hardware.robot import Channel, Robot, RobotInfo, State, check_command
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig
from pliant.hardware.timing import StepClock

PERIOD = 0.1
COMMAND = (Channel("a/position", "rad", -1.0, 1.0), Channel("b/position", "rad", -2.0, 2.0))
INFO = RobotInfo("pair", ("a", "b"), (), COMMAND, PERIOD)


class Pair(Robot):
    """Links that are at once where they are sent, within bounds; time passes with every command."""

    def __init__(self, info=INFO, late=()):
        self._info = info
        self.clock, self.position = 5.0, np.zeros(len(info.joints))
        self.late = list(late)
        """Further time that each of the coming periods takes, s."""
        self.commands, self.calls = [], []
        self.failing_read = self.failing_send = math.inf
        """Which read or send fails, counted from 1."""

    info = property(lambda self: self._info)

    def connect(self):
        pass

    def read(self):
        self.calls.append("read")
        if self.calls.count("read") == self.failing_read:
            raise RobotError("lost")
        none, unknown = np.empty(0), np.full(len(self.position), np.nan)
        here = self.position.copy()
        return State(self.clock, here, unknown, unknown, unknown, none, none, none, none, here)

    def send(self, command):
        self.calls.append("send")
        if self.calls.count("send") == self.failing_send:
            raise RobotError("refused")
        sent = np.clip(check_command(command, self.info), self.info.low, self.info.high)
        self.commands.append(sent)
        self.position = sent[: len(self.position)]
        self.clock += self.info.period + (self.late.pop(0) if self.late else 0.0)
        return sent

    def stop(self):
        self.calls.append("stop")

    def close(self):
        pass


class Steps(Controller):
    """Goes on by a tenth of a radian from where it is, and notes what it was told."""

    def __init__(self, command=None):
        self.times, self.resets = [], []
        self.command = command or (lambda state, t: state.position + 0.1)

    def reset(self, state):
        self.resets.append(state)

    def update(self, state, t):
        self.times.append(t)
        return self.command(state, t)


def test_a_run_is_the_motion_from_where_the_robot_is():
    robot, controller = Pair(), Steps()
    robot.position[:] = [0.2, -0.3]
    done = run(robot, controller, 0.3)
    np.testing.assert_allclose(
        done.motion.position, [[0.2, -0.3], [0.3, -0.2], [0.4, -0.1], [0.5, 0.0]], atol=1e-12
    )
    np.testing.assert_allclose(done.motion.time, [5.0, 5.1, 5.2, 5.3])
    np.testing.assert_allclose(done.sent, done.motion.position[1:])
    assert (done.reason, robot.calls.count("stop")) == (End.COMPLETED, 0)
    assert [state.position.tolist() for state in controller.resets] == [[0.2, -0.3]]


def test_a_robot_is_read_and_commanded_once_a_period():
    robot = Pair()
    run(robot, Steps(), 0.2)
    assert robot.calls == ["read", "send", "read", "send", "read"]


def test_time_is_the_robots_own():
    controller = Steps()
    run(Pair(late=[0.0, 0.25]), controller, 0.4)
    np.testing.assert_allclose(controller.times, [0.0, 0.1, 0.45, 0.55])


@pytest.mark.parametrize(("duration", "count"), [(0.0, 0), (0.04, 0), (0.3, 3), (0.26, 3)])
def test_a_duration_is_whole_periods(duration, count):
    done = run(Pair(), Steps(), duration)
    assert (len(done.sent), done.motion.position.shape, done.sent.shape) == (count, (count + 1, 2), (count, 2))


def test_what_is_reported_as_sent_is_what_the_robot_made_of_it():
    done = run(Pair(), Steps(lambda state, t: [9.0, 0.5]), 0.2)
    np.testing.assert_array_equal(done.asked, [[9.0, 0.5]] * 2)
    np.testing.assert_array_equal(done.sent, [[1.0, 0.5]] * 2)


def test_observers_get_every_state_that_was_acted_on_and_what_was_sent_for_it():
    seen = []
    done = run(Pair(), Steps(), 0.3, [lambda state, sent: seen.append((state.position, sent))])
    np.testing.assert_array_equal([position for position, _ in seen], done.motion.position[:-1])
    np.testing.assert_array_equal([sent for _, sent in seen], done.sent)


def test_an_observer_may_end_it_and_all_hear_of_the_last_period():
    counts = [0, 0]

    def first(state, sent):
        counts[0] += 1
        return "the elbow is high enough" if sent[1] > 0.25 else None

    def second(state, sent):
        counts[1] += 1

    done = run(Pair(), Steps(), math.inf, [first, second])
    assert (done.reason, done.detail) == (End.OBSERVER, "the elbow is high enough")
    assert counts == [3, 3]
    np.testing.assert_allclose(done.motion.position[:, 0], [0.0, 0.1, 0.2, 0.3])


def test_an_end_without_a_reason_is_an_end():
    assert run(Pair(), Steps(), math.inf, [lambda state, sent: True]).reason is End.OBSERVER


def failing(after, error):
    def command(state, t):
        if t > after:
            raise error
        return state.position + 0.1

    return Steps(command)


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), KeyboardInterrupt(), SystemExit(143)])
def test_what_a_controller_raises_passes_through_with_the_robot_stopped_and_the_motion_kept(error):
    robot = Pair()
    with pytest.raises(type(error)) as caught:
        run(robot, failing(0.15, error), 1.0)
    assert caught.value is error
    assert robot.calls[-1] == "stop"
    before = run_before(caught.value)
    np.testing.assert_allclose(before.motion.position[:, 0], [0.0, 0.1, 0.2])
    np.testing.assert_allclose(before.sent[:, 0], [0.1, 0.2])
    assert before.reason is (End.FAILED if isinstance(error, Exception) else End.INTERRUPTED)
    assert type(error).__name__ in before.detail


def test_what_an_observer_raises_likewise():
    robot, seen = Pair(), []

    def full(state, sent):
        seen.append(sent)
        if len(seen) == 2:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full") as caught:
        run(robot, Steps(), 1.0, [full])
    assert robot.calls[-1] == "stop"
    assert len(run_before(caught.value).sent) == 2


@pytest.mark.parametrize(("kind", "states"), [("read", 2), ("send", 3)])
def test_a_robot_that_fails_is_stopped_and_what_it_did_is_kept(kind, states):
    robot = Pair()
    setattr(robot, f"failing_{kind}", 3)
    with pytest.raises(RobotError) as caught:
        run(robot, Steps(), 1.0)
    assert robot.calls[-1] == "stop"
    before = run_before(caught.value)
    assert (len(before.motion.position), len(before.sent)) == (states, 2)


def test_what_never_began_has_no_motion():
    robot = Pair()
    robot.failing_read = 1
    with pytest.raises(RobotError) as caught:
        run(robot, Steps(), 1.0)
    assert run_before(caught.value) is None
    assert run_before(ValueError()) is None


def test_a_command_that_is_not_a_number_is_not_sent():
    robot = Pair()
    controller = Steps(lambda state, t: [0.1, 0.1 if t < 0.15 else math.nan])
    with pytest.raises(OutOfBoundsError, match=r"Steps at t = 0\.2 s.*no finite value for b/position"):
        run(robot, controller, 1.0)
    assert len(robot.commands) == 2
    assert robot.calls[-1] == "stop"


@pytest.mark.parametrize("command", [[0.1], [0.1, 0.2, 0.3], 0.1, [[0.1, 0.2]]])
def test_a_command_of_another_size_is_not_sent(command):
    robot = Pair()
    with pytest.raises(ShapeError, match=r"Steps at t = 0 s.*\(a/position, b/position\)"):
        run(robot, Steps(lambda state, t: command), 1.0)
    assert robot.commands == []


@pytest.mark.parametrize("duration", [-0.1, math.nan, -math.inf])
def test_a_duration_that_is_none_is_refused_before_anything_moves(duration):
    robot = Pair()
    with pytest.raises(OutOfBoundsError, match="duration"):
        run(robot, Steps(), duration)
    assert robot.calls == []


OTHER = RobotInfo("leg", ("hip", "a"), (), (Channel("hip/position", "rad", -1.0, 1.0), COMMAND[0]), PERIOD)
TORQUES = RobotInfo(
    "pair", ("a", "b"), (), (Channel("a/torque", "N·m", -9.0, 9.0), Channel("b/torque", "N·m", -9.0, 9.0)), PERIOD
)
PID = JointPID(Step([0.0, 0.0], [0.5, 0.5], 0.0, 1.0), 1.0, 0.1)


@pytest.mark.parametrize(
    ("controller", "robot", "message"),
    [
        (Setpoints(MinimumJerk([0.0, 0.0], [0.5, 0.4], 1.0), INFO), OTHER, "'b' is unknown.*'hip' is missing"),
        (Rows(np.zeros((2, 2)), INFO.command_names), OTHER, "'b/position' is unknown"),
        (Rows(np.zeros((2, 3))), INFO, r"rows of 3 numbers.*takes 2 \(a/position, b/position\)"),
        (PID, INFO, "a/position in rad, b/position in rad"),
        (ComputedTorque(PID, lambda q, dq, ddq: ddq), INFO, "commands torques"),
        (JointPID(Step(0.0, 0.5, 0.0, 1.0), 1.0, 0.1), TORQUES, r"of 1 joint.*a, b"),
    ],
)
def test_a_controller_for_another_robot_is_refused_by_name_before_anything_moves(controller, robot, message):
    machine = Pair(robot)
    with pytest.raises(MismatchError, match=f"(?s){message}"):
        run(machine, controller, 1.0)
    assert machine.calls == []


def test_the_same_names_in_another_order_are_another_robot():
    with pytest.raises(MismatchError, match="another order"):
        check_names("it", ("b", "a"), ("b/position", "a/position"), INFO)
    check_names("it", INFO.joints, INFO.command_names, INFO)


def test_at_the_callers_pace_one_period_passes_for_every_item():
    robot = Pair()
    turns = periods(robot, Steps())
    for k in range(1, 4):
        assert next(turns).sent[0] == pytest.approx(0.1 * k)
        assert len(robot.commands) == k
    turns.close()
    assert "stop" not in robot.calls, "a screen that is closed is no failure"


def test_setpoints_move_the_chosen_columns_and_leave_the_others_at_rest():
    soft = (
        Channel("a/equilibrium", "rad", -1.0, 1.0),
        Channel("a/preset", "rad", 0.0, 0.6, 0.2),
        Channel("b/equilibrium", "rad", -1.0, 1.0),
        Channel("b/preset", "rad", 0.0, 0.6, 0.3),
    )
    info = RobotInfo("soft", ("a", "b"), (), soft, PERIOD)
    recorded = Recorded([0.0, 1.0], [[0.0, 0.5], [1.0, 0.5]], ("b", "a"))
    nothing = Pair(INFO).read()
    np.testing.assert_allclose(Setpoints(recorded, info).update(nothing, 0.25), [0.5, 0.2, 0.25, 0.3])
    presets = Setpoints(recorded, info, ["a/preset", "b/preset"], through=lambda q: q / 2)
    np.testing.assert_allclose(presets.update(nothing, 0.5), [0.0, 0.25, 0.0, 0.25])


def test_a_trajectory_in_degrees_is_refused_before_anything_moves():
    degrees = MinimumJerk([0.0, 0.0], [40.0, 0.0], 1.0)
    with pytest.raises(OutOfBoundsError, match=r"joint 'a' .* is asked for .* 40° would be 0\.6981 rad"):
        Setpoints(degrees, INFO)
    torques = RobotInfo(
        "pair", ("a", "b"), (), tuple(Channel(f"{n}/torque", "N·m", -9.0, 9.0) for n in "ab"), PERIOD
    )
    with pytest.raises(OutOfBoundsError, match="40° would be"):
        JointPID(degrees, kp=1.0, kd=0.1).check(torques)


def test_rows_are_given_one_a_period_and_the_last_one_goes_on():
    rows = [[0.1, 0.2], [0.3, 0.4]]
    controller = Rows(rows)
    for _ in range(2):
        done = run(Pair(late=[0.3]), controller, 0.4)
        np.testing.assert_array_equal(done.sent, [*rows, rows[-1], rows[-1]])
        assert controller.finished


def test_behind_a_safety_layer_a_failure_leads_home_instead_of_letting_go():
    machine = Pair(replace(INFO, period=0.01))
    home = SafeRobot(machine, SafetyConfig(hold_time=0.0), clock=StepClock())
    with pytest.raises(ZeroDivisionError), home:
        run(home, failing(0.15, ZeroDivisionError()), 1.0)
    assert np.abs(machine.commands).max() > 0.05
    np.testing.assert_allclose(machine.position, [0.0, 0.0], atol=1e-12)


def test_the_loop_adds_little_to_a_period_of_a_millisecond():
    robot = Pair(replace(INFO, period=1e-3))
    run(robot, Rows(np.zeros((1, 2))), 0.1)
    times = []
    for _ in range(5):
        begin = time.process_time()
        run(robot, Rows(np.zeros((1, 2))), 0.2)
        times.append((time.process_time() - begin) / 200)
    assert min(times) < 3e-4, "with this robot's own work included"


class Tuned(Controller):
    """A controller with a number and a switch that can be changed."""

    def __init__(self):
        self.gain, self.on = 2.0, False

    @property
    def adjustables(self):
        return {"gain": Adjustable(0.0, 5.0, self.gain), "on": Adjustable(0.0, 1.0, self.on)}

    def _adjust(self, name, value):
        setattr(self, name, value)

    def update(self, state, t):
        return [self.gain]


def test_numbers_of_a_controller_change_within_their_bounds():
    controller = Tuned()
    controller.adjust("gain", 3)
    controller.adjust("on", 1.0)
    assert controller.adjustables == {"gain": (0.0, 5.0, 3.0), "on": (0.0, 1.0, True)}
    for wrong in (6.0, float("nan")):
        with pytest.raises(OutOfBoundsError, match="Tuned: gain"):
            controller.adjust("gain", wrong)
    with pytest.raises(UnknownNameError, match="unknown adjustable number 'gian'"):
        controller.adjust("gian", 1.0)
