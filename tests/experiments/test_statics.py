import numpy as np
import pytest

from pliant.actuators import CompliantJoint, find_law
from pliant.envs.models.arm2 import arm2, arm2_joints
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.two_link import soft_joints, two_link
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError
from pliant.experiments.statics import StaticArm

MGL, INERTIA = 0.2 * 9.81 * 0.04, 0.2 * 0.04**2


def statics(model):
    return StaticArm(SimulatedRobot(model).model)


@pytest.mark.parametrize("angle", [-1.2, 0.0, 0.5, 2.0])
def test_gravity_and_inertia_of_the_rig_are_those_of_a_point_mass(angle):
    rig = statics(rig1())
    assert rig.gravity([angle])[0] == pytest.approx(-MGL * np.sin(angle), abs=1e-9)
    assert rig.inertia([angle])[0] == pytest.approx(INERTIA, rel=1e-6)


@pytest.mark.parametrize(
    ("preset", "offsets", "stiffness"),
    [(0.2, [-0.1043, -0.0314], [0.5951, 1.1975]), (0.6, [-0.0709, -0.1583], [3.553, 6.865])],
)
def test_unequal_springs_have_the_published_equilibrium_and_stiffness(preset, offsets, stiffness):
    arm = statics(arm2(arm2_joints(mode=3), preset=preset, vertical=False))
    np.testing.assert_allclose(arm.rest([0.3, -0.4], [preset] * 2) - [0.3, -0.4], offsets, atol=6e-5)
    linear = arm.linear([0.0, 0.0], [preset] * 2)
    np.testing.assert_allclose([joint.stiffness for joint in linear], stiffness, rtol=2e-4)
    np.testing.assert_allclose([joint.gravity_stiffness for joint in linear], 0.0, atol=1e-9)


@pytest.mark.parametrize("preset", [0.2, 0.6])
def test_a_simulated_arm_without_friction_comes_to_rest_where_the_balance_is(preset):
    robot = SimulatedRobot(arm2(preset=preset, friction=0.0))
    with robot:
        command = robot.info.rest
        command[[0, 2]] = 0.5, -0.3
        motion = robot.rollout(np.tile(command, (600, 1)))
    balance = StaticArm(robot.model).rest([0.5, -0.3], [preset] * 2)
    assert np.abs(motion.velocity[-1]).max() < 1e-3
    np.testing.assert_allclose(motion.position[-1], balance, atol=5e-4)  # the motors' own friction


def test_a_loaded_motor_yields_to_its_spring():
    ideal, real = (statics(arm2(arm2_joints(mode=mode))).rest([0.8, 0.8], [0.2] * 2) for mode in (3, 6))
    assert ideal[0] > real[0]
    np.testing.assert_allclose(ideal, real, atol=0.01)


@pytest.mark.parametrize("position", [[0.0, 0.0], [0.8, 0.8], [-0.5, 1.0]])
def test_the_holding_equilibrium_is_the_inverse_of_the_rest_angle(position):
    arm = statics(arm2(arm2_joints(mode=3)))
    equilibrium = arm.holding(position, [0.2, 0.3])
    np.testing.assert_allclose(arm.rest(equilibrium, [0.2, 0.3]), position, atol=1e-8)


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_the_linear_joint_is_the_derivative_of_the_balance(angle):
    rig = statics(rig1(preset=0.6))
    (joint,) = rig.linear([angle], [0.6])
    rest = rig.rest([angle], [0.6])[0]
    assert joint.gravity_stiffness == pytest.approx(MGL * np.cos(rest), rel=1e-6)
    assert (joint.inertia, joint.damping) == pytest.approx((INERTIA, 0.02), rel=1e-6)
    slope = (rig.rest([angle + 1e-4], [0.6]) - rig.rest([angle - 1e-4], [0.6]))[0] / 2e-4
    assert joint.static_gain == pytest.approx(slope, rel=1e-5)


def test_a_joint_with_one_motor_rests_too():
    k = 40.0
    arm = statics(two_link(soft_joints(stiffness=k)))
    equilibrium = np.array([0.3, 0.2])
    rest = arm.rest(equilibrium, [0.0, 0.0])
    np.testing.assert_allclose(k * (equilibrium - rest), -arm.gravity(rest), atol=1e-6)


def test_what_cannot_be_balanced_is_refused():
    weak = statics(rig1(CompliantJoint(find_law("qbmove")()), mass=50.0))
    with pytest.raises(OutOfBoundsError, match="springs of law 'qbmove'"):
        weak.holding([1.5], [0.0])
    assert weak.rest([1.5], [0.0])[0] < 0.2  # it hangs on its saturated spring
    with pytest.raises(ConfigurationError, match="mode 5"):
        statics(rig1(CompliantJoint(find_law("qbmove")(), mode=5)))
    arm = statics(arm2())
    with pytest.raises(ShapeError, match="preset"):
        arm.rest([0.0, 0.0], [0.2])
    with pytest.raises(OutOfBoundsError, match="equilibrium"):
        arm.rest([0.0, np.nan], [0.2, 0.2])
