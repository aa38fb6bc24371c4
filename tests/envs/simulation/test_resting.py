"""A robot that begins under the command that holds it, its motors loaded, does not move."""

import numpy as np
import pytest

from pliant.actuators import CompliantJoint, Mode, ServoDrive, find_law
from pliant.actuators.pid import PID
from pliant.controllers import IterativeLearning, MinimumJerk, PTypeILC, desired_motion
from pliant.controllers.trial import JointTrials, joint_columns
from pliant.envs.models.arm2 import arm2, arm2_joints
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.two_link import soft_joints, two_link
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.holding import link_ranges, resting_command, trial_start
from pliant.envs.simulation.resting import joint_loads
from pliant.errors import OutOfBoundsError, ShapeError

LIFTED = (0.5, 0.5)
LINK_LOOP = PID(0.8, 0.3, 0.1)


def elastic(law, mode, **options):
    return rig1(CompliantJoint(find_law(law)(), mode, **options), timestep=1e-4)


def holding(robot, position):
    columns = joint_columns(robot.info)
    return resting_command(robot.compiled, position, columns)


def drift(model, position, seconds=2.0, *, settled=True):
    """Furthest that a robot moves under the command that holds it, rad."""
    with SimulatedRobot(model, 0.01) as robot:
        command = holding(robot, position)
        robot.reset(position=position, command=command, settled=settled)
        motion = robot.rollout(np.tile(command, (round(seconds / 0.01), 1)))
        return np.abs(motion.position - position).max()


RESTING = {
    **{f"arm2, mode {mode}": (arm2(arm2_joints(mode), friction=0.0), LIFTED) for mode in (3, 4, 6)},
    **{
        f"{law}, mode {mode}": (elastic(law, mode), [0.3])
        for law in ("sea", "qbmove", "awas2", "bavs")
        for mode in (3, 4, 5, 6)
    },
    "torques": (arm2([CompliantJoint("rigid", Mode.LINK_TORQUE)] * 2, friction=0.0), LIFTED),
    "link loop": (arm2([CompliantJoint("rigid", 1, pid=PID(0.8, 0.0, 0.1))] * 2, friction=0.0), LIFTED),
    "link loop with integral": (arm2([CompliantJoint("rigid", 1, pid=LINK_LOOP)] * 2, friction=0.0), LIFTED),
    "motor loop with integral": (elastic("qbmove", 6, pid=PID(ki=50.0)), [0.3]),
    "two links, torques": (two_link(), LIFTED),
    "two links, springs": (two_link(soft_joints(200.0)), LIFTED),
}


@pytest.mark.parametrize("name", RESTING)
def test_under_the_holding_command_nothing_moves(name):
    assert drift(*RESTING[name]) < 1e-9


def test_motors_that_do_not_yet_carry_their_load_let_the_link_sink():
    model, position = RESTING["arm2, mode 6"]
    assert drift(model, position, settled=False) > 1e-4


@pytest.mark.parametrize("servo", [ServoDrive("XL330/m6", p_gain=400), ServoDrive("AX-12A")])
def test_a_servo_holds_by_what_its_motor_gives(servo):
    model = rig1(CompliantJoint("rigid", "link_position", servo=servo))
    assert drift(model, [0.6]) < 2e-3


def test_the_loads_are_the_weight_of_what_hangs_on_each_joint():
    robot = SimulatedRobot(rig1(CompliantJoint(find_law("sea")(), 3)))
    hanging, level = (joint_loads(robot.model, np.array([q]))[0] for q in (0.0, np.pi / 2))
    assert hanging == pytest.approx(0.0, abs=1e-12)
    assert level == pytest.approx(0.2 * 9.81 * 0.04, rel=1e-3)


@pytest.mark.parametrize(
    ("model", "position", "message"),
    [
        (
            arm2(arm2_joints(5)),
            LIFTED,
            r"no command holds joint 'shoulder' of robot 'arm2' at 0\.5 rad: its load there is 0\.3096 N·m, "
            r"and with shoulder/motor1 in \[-2\.17, 2\.17\] rad, shoulder/motor2 at -0\.2 rad it carries",
        ),
        (arm2(), (1.6, 0.0), r"'shoulder' of robot 'arm2' is asked for 1\.6 rad, outside its range of \[-1\.57"),
        (arm2(), (28.6, 0.0), r"28\.6° would be 0\.4992 rad"),
    ],
)
def test_where_nothing_holds_it_the_error_says_why(model, position, message):
    robot = SimulatedRobot(model)
    with pytest.raises(OutOfBoundsError, match=message):
        holding(robot, position)


@pytest.mark.parametrize(("position", "error"), [([0.5], ShapeError), ([0.5, np.nan], OutOfBoundsError)])
def test_angles_that_are_no_use_are_refused(position, error):
    with pytest.raises(error):
        holding(SimulatedRobot(arm2()), position)


def test_joints_without_stops_have_no_range():
    robot = SimulatedRobot(two_link())
    np.testing.assert_array_equal(link_ranges(robot.compiled), [[-np.inf] * 2, [np.inf] * 2])


def start_of(robot, position):
    return trial_start(robot.compiled, position, joint_columns(robot.info))


def test_at_the_robots_own_start_a_trial_begins_as_the_robot_does():
    robot = SimulatedRobot(arm2())
    start = start_of(robot, (0.0, 0.0))
    assert (start.position, start.settled) == (None, False)
    np.testing.assert_array_equal(start.command, robot.info.rest)
    np.testing.assert_array_equal(start.lift, [0.0, 0.0])


def test_a_motion_that_begins_lifted_is_learned_from_there():
    """Before, it began hanging, and thirty trials ended at 0.505 rad."""
    with SimulatedRobot(arm2(), 0.01) as robot:
        trials = JointTrials(robot)
        motion = desired_motion(MinimumJerk(LIFTED, (0.8, 0.8), 6.0), robot.info)
        start = start_of(robot, LIFTED)
        robot.reset(position=start.position, command=start.command, settled=start.settled)
        first = motion.position + start.lift
        np.testing.assert_allclose(trials.robot_command(first)[0], start.command)
        learning = IterativeLearning(PTypeILC(), motion, trials, 0.01, 15, trials.low, trials.high, first)
        history = list(learning)
    assert learning.result.reason == "converged"
    assert history[0].max_error < 0.1
    for trial in history:
        assert np.abs(trial.error[0]).max() == 0.0
        np.testing.assert_allclose(trial.command[0], first[0], atol=1e-12)
        assert np.abs(trial.error[:20]).max() < 2e-3, "it does not fall when it begins"
