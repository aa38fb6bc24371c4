import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model
from pliant.envs.models.two_link import soft_joints, torque_joints, two_link
from pliant.errors import ConfigurationError, OutOfBoundsError

CASES = [((1.0, 1.0), (1.0, 1.0)), ((0.7, 1.3), (2.0, 0.5))]
RANDOM = np.random.default_rng(0)
STATES = RANDOM.uniform(-3.0, 3.0, (6, 4))


def manipulator(q, dq, lengths, masses):
    """M, C·q̇ and g of two uniform rods in a vertical plane (Spong et al., planar elbow manipulator)."""
    (l1, l2), (m1, m2) = lengths, masses
    c1, c2 = l1 / 2, l2 / 2
    i1, i2 = m1 * l1**2 / 12, m2 * l2**2 / 12
    a = l1**2 + c2**2 + 2 * l1 * c2 * np.cos(q[1])
    b = c2**2 + l1 * c2 * np.cos(q[1])
    M = np.array([[m1 * c1**2 + m2 * a + i1 + i2, m2 * b + i2], [m2 * b + i2, m2 * c2**2 + i2]])
    h = -m2 * l1 * c2 * np.sin(q[1])
    C = np.array([[h * dq[1], h * (dq[0] + dq[1])], [-h * dq[0], 0.0]])
    g2 = m2 * c2 * 9.81 * np.cos(q[0] + q[1])
    g = np.array([(m1 * c1 + m2 * l1) * 9.81 * np.cos(q[0]) + g2, g2])
    return M, C @ dq, g


@pytest.mark.parametrize(("lengths", "masses"), CASES)
@pytest.mark.parametrize("vertical", [True, False])
def test_the_model_obeys_the_manipulator_equations(lengths, masses, vertical, at_pose, mass_matrix):
    robot = two_link(lengths=lengths, masses=masses, vertical=vertical)
    for state in STATES:
        q, dq = state[:2], state[2:]
        model, data = at_pose(robot, q, dq)
        M, coriolis, gravity = manipulator(q, dq, lengths, masses)
        np.testing.assert_allclose(mass_matrix(model, data), M, atol=1e-9)
        np.testing.assert_allclose(data.qfrc_bias, coriolis + (gravity if vertical else 0.0), atol=1e-9)


@pytest.mark.parametrize("vertical", [True, False])
def test_the_tip_follows_the_planar_chain(vertical, at_pose):
    robot = two_link(lengths=(0.7, 1.3), vertical=vertical)
    for state in STATES:
        q = state[:2]
        _, data = at_pose(robot, q)
        x = 0.7 * np.cos(q[0]) + 1.3 * np.cos(q[0] + q[1])
        y = 0.7 * np.sin(q[0]) + 1.3 * np.sin(q[0] + q[1])
        tip = data.site("tip").xpos - data.joint("shoulder").xanchor
        np.testing.assert_allclose(tip, [x, 0, y] if vertical else [x, y, 0], atol=1e-9)


def test_the_rigid_arm_takes_torques(at_pose, mass_matrix):
    model, data = at_pose(two_link(), (0.3, -0.5))
    data.ctrl[:] = [12.0, -4.0]
    mujoco.mj_forward(model, data)
    M, _, gravity = manipulator((0.3, -0.5), (0.0, 0.0), (1.0, 1.0), (1.0, 1.0))
    np.testing.assert_allclose(M @ data.qacc, np.array([12.0, -4.0]) - gravity, atol=1e-9)
    np.testing.assert_array_equal(model.actuator_ctrlrange, [[-60.0, 60.0], [-60.0, 60.0]])


def test_torques_held_against_gravity_keep_the_arm_still():
    model = compile_model(two_link().spec)
    data = mujoco.MjData(model)
    data.ctrl[:] = manipulator((0.0, 0.0), (0.0, 0.0), (1.0, 1.0), (1.0, 1.0))[2]
    mujoco.mj_step(model, data, 200)
    np.testing.assert_allclose(data.qpos, 0.0, atol=1e-6)


def test_the_soft_arm_sags_by_its_load_over_its_stiffness():
    model = compile_model(two_link(soft_joints(400.0), damping=40.0).spec)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 4000)
    gravity = manipulator(data.qpos, (0.0, 0.0), (1.0, 1.0), (1.0, 1.0))[2]
    np.testing.assert_allclose(data.qpos, -gravity / 400.0, atol=1e-6)


def test_wrong_arguments_are_refused():
    with pytest.raises(ConfigurationError, match="lengths takes 2 numbers, 3 given"):
        two_link(lengths=(1.0, 1.0, 1.0))
    with pytest.raises(OutOfBoundsError, match="masses"):
        two_link(masses=(1.0, -1.0))
    with pytest.raises(OutOfBoundsError, match="lengths"):
        two_link(lengths=(np.nan, 1.0))
    with pytest.raises(ConfigurationError, match=r"two_link has 2 joint\(s\)"):
        two_link(torque_joints()[:1])
    with pytest.raises(OutOfBoundsError, match="torque_limit"):
        torque_joints(-1.0)
    with pytest.raises(OutOfBoundsError, match="law 'sea': k"):
        soft_joints(np.nan)


@pytest.mark.parametrize("no", [0, np.False_])
def test_whatever_means_no_lays_the_arm_down(no):
    assert two_link(vertical=no).spec.to_xml() == two_link(vertical=False).spec.to_xml()
    assert two_link(vertical=no).spec.to_xml() != two_link().spec.to_xml()
