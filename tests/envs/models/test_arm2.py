import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, Mode, compile_model, find_law, install
from pliant.envs.models import parts
from pliant.envs.models.arm2 import JOINTS, LENGTHS, arm2, arm2_joints
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

FLANGE, CUBE, HAND = (part.inertial for part in (parts.C_FLANGE, parts.CUBE, parts.HAND_FLANGE))


def in_plane(*points):
    """Moment m·(x, y) of point masses (m, x, y)."""
    return sum(np.array([m * x, m * y]) for m, x, y in points)


# first moments of the links in their own frame, x along the link
UPPER = in_plane((FLANGE.mass, FLANGE.centre[0], 0.0), (CUBE.mass, 0.090 + CUBE.centre[0], CUBE.centre[1]))
FORE = in_plane(
    (FLANGE.mass, FLANGE.centre[0], 0.0),
    (HAND.mass, parts.C_TO_FACE + HAND.centre[2], HAND.centre[1]),
)
FORE_MASS = FLANGE.mass + HAND.mass


def along_and_across(moment, angle):
    """Turn a moment by `angle`: its parts along x and y of the base."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * moment[0] - s * moment[1], s * moment[0] + c * moment[1]])


def test_the_arm_is_a_chain_of_shoulder_and_elbow():
    robot = arm2()
    model = compile_model(robot.spec)
    assert robot.joints == JOINTS == ("shoulder", "elbow")
    assert [model.joint(i).name for i in range(model.njnt)] == list(JOINTS)
    assert [model.actuator(i).name for i in range(model.nu)] == [
        "shoulder/equilibrium", "shoulder/preset", "elbow/equilibrium", "elbow/preset",
    ]  # fmt: skip


def test_links_weigh_what_their_parts_weigh():
    model = compile_model(arm2().spec)
    assert model.body("link1").mass[0] == pytest.approx(0.08664 + 0.45419, rel=1e-12)
    assert model.body("link2").mass[0] == pytest.approx(0.08664 + 0.03481, rel=1e-12)
    assert model.body_mass.sum() == pytest.approx(2 * 0.08664 + 0.45419 + 0.03481, rel=1e-12)


@pytest.mark.parametrize("q", [(0.0, 0.0), (0.8, 0.8), (-1.2, 0.4), (0.3, -1.5)])
def test_gravity_torques_are_those_of_the_parts(q, at_pose):
    _, data = at_pose(arm2(), q)
    fore = along_and_across(FORE, q[0] + q[1])[1]
    upper = along_and_across(UPPER + np.array([FORE_MASS * 0.090, 0.0]), q[0])[1]
    np.testing.assert_allclose(data.qfrc_bias, 9.81 * np.array([upper + fore, fore]), atol=1e-12)


def test_the_stretched_arm_stays_below_the_nominal_load_of_a_qbmove(at_pose):
    _, data = at_pose(arm2(), (np.pi / 2, 0.0))
    assert 0.5 < data.qfrc_bias[0] < 1.5


@pytest.mark.parametrize("q", [(0.0, 0.0), (0.8, 0.8), (-0.5, 1.2)])
@pytest.mark.parametrize("vertical", [True, False])
def test_the_tip_follows_the_planar_chain(q, vertical, at_pose):
    _, data = at_pose(arm2(vertical=vertical), q)
    along = LENGTHS[0] * np.cos(q[0]) + LENGTHS[1] * np.cos(q[0] + q[1])
    across = LENGTHS[0] * np.sin(q[0]) + LENGTHS[1] * np.sin(q[0] + q[1])
    tip = data.site("tip").xpos - data.joint("shoulder").xanchor
    np.testing.assert_allclose(tip, [across, 0, -along] if vertical else [along, across, 0], atol=1e-12)


def test_gravity_does_not_move_the_lying_arm(at_pose):
    _, data = at_pose(arm2(vertical=False), (0.7, -0.4))
    np.testing.assert_allclose(data.qfrc_bias, 0.0, atol=1e-12)


def test_joints_have_the_published_damping_friction_and_springs():
    model = compile_model(arm2().spec)
    np.testing.assert_array_equal(model.dof_damping, 0.065)
    np.testing.assert_array_equal(model.dof_frictionloss, 0.025)
    first, second = arm2_joints()
    assert first.law.parameters["k1"] == 0.01038
    assert second.law.parameters["a2"] == 7.011
    assert first.mode is Mode.EQUILIBRIUM_PRESET_MOTORS
    assert first.preset_bounds == second.preset_bounds == (0.0, 0.6)
    assert first.resting_preset == 0.2


def test_a_preset_for_all_joints_replaces_their_own():
    references = compile_model(arm2(preset=0.5).spec)
    text = bytes(references.text_data).decode()
    assert text.count('"preset": 0.5') == 2


@pytest.mark.parametrize("mode", [2, 3, 4, 5, 6])
def test_the_arm_runs_in_every_mode_with_springs(mode):
    model = compile_model(arm2(arm2_joints(mode)).spec)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 500)
    assert np.abs(data.qpos).max() < 1.5


def test_laws_may_differ_from_joint_to_joint():
    joints = (CompliantJoint(find_law("sea")(k=20.0)), CompliantJoint(find_law("rigid")(), Mode.LINK_POSITION))
    model = compile_model(arm2(joints).spec)
    assert [model.actuator(i).name for i in range(model.nu)] == ["shoulder/equilibrium", "elbow/position"]


def test_the_arm_is_built_and_compiled_while_the_interpreted_back_end_runs():
    install("python")
    model = compile_model(arm2().spec)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 10)
    assert np.isfinite(data.qpos).all()


def test_wrong_arguments_are_refused():
    joint = arm2_joints()[0]
    with pytest.raises(ConfigurationError, match=r"arm2 has 2 joint\(s\) \(shoulder, elbow\); 3 given"):
        arm2((joint, joint, joint))
    with pytest.raises(ConfigurationError, match="CompliantJoint, not as str"):
        arm2(("qbmove", "qbmove"))
    with pytest.raises(OutOfBoundsError, match="preset"):
        arm2(preset=0.7)
    with pytest.raises(OutOfBoundsError, match="'shoulder': damping"):
        arm2(damping=-0.1)
    with pytest.raises(OutOfBoundsError, match="'shoulder': friction"):
        arm2(friction=np.nan)
    with pytest.raises(UnknownNameError, match="operation mode"):
        arm2_joints(7)
