"""The linear model that a law learns by, against closed forms and against the robot itself."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from pliant.actuators import CompliantJoint, add_compliant_joint, find_law
from pliant.controllers import IterativeLearning, MinimumJerk, joint_impulse_response, sample
from pliant.controllers.trial import JointTrials
from pliant.envs.description import RobotDescription, describe
from pliant.envs.linearisation import built_law, impulse_responses
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.simulation.holding import resting_command, slow_commands, trial_start
from pliant.errors import ConfigurationError

STIFFNESS, INERTIA, DAMPING = 3.0, 0.02, 0.2


def lying(mode, damping=DAMPING, friction=0.0):
    """One link that gravity does not move, behind a spring, with a stop where it stands."""
    spec = mujoco.MjSpec.from_string(
        '<mujoco model="lying"><compiler angle="radian"/><option timestep="0.001" gravity="0 0 0" '
        'integrator="implicitfast"/><worldbody><body name="link"><joint name="joint" axis="0 0 1" limited="true" '
        f'range="0 2" damping="{damping}" frictionloss="{friction}"/><inertial mass="1" pos="0 0 0" '
        f'diaginertia="{INERTIA} {INERTIA} {INERTIA}"/></body></worldbody></mujoco>'
    )
    add_compliant_joint(spec, "joint", CompliantJoint(find_law("sea")(k=STIFFNESS) if mode else "rigid", mode))
    return RobotDescription(RobotModel("lying", spec, ("joint",)))


@pytest.mark.parametrize("friction", [0.0, 0.1])
def test_a_spring_driven_link_answers_by_its_closed_form(friction):
    """Mode 3, motors at their references; neither dry friction nor the stop at which it stands is in it."""
    omega = np.sqrt(STIFFNESS / INERTIA)
    closed = joint_impulse_response(omega, DAMPING / (2 * np.sqrt(STIFFNESS * INERTIA)), 0.01, 2.0)
    found = impulse_responses(lying(3, friction=friction), np.zeros((5, 1)), [0], poses=2)
    assert found.shape[0] == 2
    for response in found[..., 0, 0]:
        m = min(len(response), len(closed))
        np.testing.assert_allclose(response[:m], closed[:m], atol=0.02 * closed.max())
        assert response.sum() == pytest.approx(1.0, abs=1e-3)


def test_delays_are_in_the_model_and_noise_is_not():
    plain = impulse_responses(lying(3), np.zeros((5, 1)), [0], poses=1)[0, :, 0, 0]
    options = {"command_delay": 0.02, "sensor_delay": 0.03, "position_noise": 0.1}
    late = impulse_responses(replace(lying(3), simulation=options), np.zeros((5, 1)), [0], poses=1)[0, :, 0, 0]
    np.testing.assert_allclose(late[5 : len(plain)], plain[: len(plain) - 5], atol=1e-6)


def test_a_command_that_leads_to_no_rest_is_refused_by_name():
    with pytest.raises(ConfigurationError, match=r"joint/torque, so it has no model .*ilc=p_type"):
        impulse_responses(lying(0), np.zeros((5, 1)), [0], poses=1)


def test_a_robot_whose_base_floats_has_no_such_model():
    with pytest.raises(ConfigurationError, match="the base of robot 'hexapod' floats"):
        impulse_responses(describe("hexapod"), np.zeros((2, 18)), range(18))


def test_joints_are_coupled_as_their_weights_are():
    """Static gains of the arm are those of its statics: command and pose under the loads of nearby poses."""
    description = describe("arm2")
    pose, columns = np.array([0.4, 0.3]), [0, 2]
    gain = impulse_responses(description, pose[None], columns, poses=1)[0].sum(axis=0)
    robot, inverse = description.simulated().compiled, np.empty((2, 2))
    for j, step in enumerate(1e-3 * np.eye(2)):
        ahead, behind = (resting_command(robot, pose + sign * step, columns)[columns] for sign in (1, -1))
        inverse[:, j] = (ahead - behind) / 2e-3
    np.testing.assert_allclose(gain @ inverse, np.eye(2), atol=0.03)


def slow_error(description, motion):
    """Largest error of the first trial, rad."""
    robot = description.simulated()
    trials = JointTrials(robot)
    with robot:
        start = trial_start(robot.compiled, motion.position[0], trials.columns, held=True)
        robot.reset(position=start.position, command=start.command, settled=True)
        commands = slow_commands(robot.compiled, motion, trials.columns)
        np.testing.assert_allclose(commands[0], start.command[list(trials.columns)], atol=1e-3)
        return np.abs(trials(commands) - motion.position).max()


def test_inverse_dynamics_carries_weight_and_friction_and_leaves_the_stops_alone():
    arm = describe("arm2")
    motion = sample(MinimumJerk([0.0, 0.0], [0.8, 0.8], 10.0), 0.01)
    assert slow_error(arm, motion) < 0.01
    sticky = sample(MinimumJerk([0.0], [1.0], 10.0), 0.01)  # begins at a stop
    assert slow_error(lying(3, friction=0.3), sticky) < 0.01  # the spring yields 0.1 rad before it moves


def learned(robot, motion, trials=6):
    """Largest errors of norm-optimal learning as the command line sets it."""
    with initialize_config_module("pliant.conf", version_base="1.3"):
        node = compose("ilc", ["ilc=norm_optimal"]).ilc
    description = describe(robot)
    simulated = description.simulated()
    runner = JointTrials(simulated)
    law = built_law(node, description, motion, runner.columns)
    with simulated:
        start = trial_start(simulated.compiled, motion.position[0], runner.columns, held=True)
        simulated.reset(position=start.position, command=start.command, settled=True)
        first = slow_commands(simulated.compiled, motion, runner.columns)
        learning = IterativeLearning(law, motion, runner, 1e-9, trials, runner.low, runner.high, first)
        return [trial.max_error for trial in learning], learning.result.best


@pytest.mark.parametrize(
    ("robot", "start", "goal", "duration"),
    [
        ("arm2", [0.0, 0.0], [0.8, 0.8], 20.0),
        ("arm2", [0.5, 0.5], [0.0, 0.8], 3.0),
        pytest.param("arm5", [0.0, 0.0, 0.0, -0.1, 0.0], [0.8, 0.5, -0.5, -1.2, 0.8], 8.0, marks=pytest.mark.slow),
    ],
)
def test_norm_optimal_learning_is_quick_and_monotone(robot, start, goal, duration):
    motion = sample(MinimumJerk(start, goal, duration), 0.01)
    errors, best = learned(robot, motion)
    assert min(errors[:3]) < 0.01
    assert (np.diff(errors) < 1e-4).all(), "never rises, down to where the links stick"
    steps = np.abs(np.diff(best.command, axis=0)).max(axis=1)
    assert steps[-5:].max() < steps[:-5].max()
    assert np.abs(np.diff(best.command, 2, axis=0)).max() < 15.0 * 0.01**2, (
        "within the limits of deployment, rad/s²"
    )


def test_a_law_gets_the_period_of_a_robot_whose_file_says_none():
    node = OmegaConf.create({"_target_": "pliant.controllers.PDTypeILC", "period": None, "input_gain": 40.0})
    motion = sample(MinimumJerk([0.0], [0.1], 1.0), 0.01)
    assert built_law(node, lying(3), motion, [0]).period == 0.01
