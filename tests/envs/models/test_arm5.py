import mujoco
import numpy as np
import pytest

from pliant.actuators import Mode, compile_model, load_model, save_model
from pliant.envs.models.arm5 import JOINTS, LINKS, arm5, arm5_joints, forward_kinematics
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError


def rotation_z(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def rotation_x(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def lift(d):
    matrix = np.eye(4)
    matrix[2, 3] = d
    return matrix


def published_chain(q):
    """Product of the published Denavit–Hartenberg parameters, written out."""
    d = (0.084, 0.0, 0.168, 0.0, 0.18)
    alpha = (-np.pi / 2, -np.pi / 2, -np.pi / 2, np.pi / 2, 0.0)
    offset = (0.0, np.pi / 2, np.pi / 2, 0.0, np.pi)
    pose = np.eye(4)
    for i in range(5):
        pose = pose @ rotation_z(q[i] + offset[i]) @ lift(d[i]) @ rotation_x(alpha[i])
    return pose


def test_kinematics_are_the_published_chain_everywhere(at_pose):
    model, data = at_pose(arm5())
    random = np.random.default_rng(0)
    for _ in range(20):
        q = random.uniform(model.jnt_range[:, 0], model.jnt_range[:, 1])
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        base, tip = data.site("base"), data.site("tip")
        turn = base.xmat.reshape(3, 3).T
        pose = published_chain(q)
        np.testing.assert_allclose(turn @ (tip.xpos - base.xpos), pose[:3, 3], atol=1e-9)
        np.testing.assert_allclose(turn @ tip.xmat.reshape(3, 3), pose[:3, :3], atol=1e-9)
        np.testing.assert_allclose(forward_kinematics(q), pose, atol=1e-12)


def test_at_zero_the_arm_hangs_down_beside_its_stand(at_pose):
    _, data = at_pose(arm5(height=0.5))
    np.testing.assert_allclose(data.site("tip").xpos, [0.0, 0.084, 0.5 - 0.348], atol=1e-12)


def test_the_elbow_bends_forward_and_the_second_joint_lifts_sideways(at_pose):
    _, data = at_pose(arm5(), [0, 0, 0, -np.pi / 2, 0])
    np.testing.assert_allclose(data.site("tip").xpos, [0.18, 0.084, 0.45 - 0.168], atol=1e-9)
    _, data = at_pose(arm5(), [0, np.pi / 2, 0, 0, 0])
    np.testing.assert_allclose(data.site("tip").xpos, [0.0, 0.084 + 0.348, 0.45], atol=1e-9)


def test_limits_are_the_published_ones():
    model = compile_model(arm5().spec)
    assert [model.joint(name).id for name in JOINTS] == [0, 1, 2, 3, 4]
    expected = [(-1.57, 1.57), (-0.81, 1.57), (-1.57, 1.57), (-2.355, 0.0), (-1.57, 1.57)]
    np.testing.assert_array_equal(model.jnt_range, expected)
    assert model.jnt_limited.all()


def test_links_weigh_what_their_parts_weigh():
    model = compile_model(arm5().spec)
    cube, flat, bracket, hand = 0.45419, 0.04190, 0.08664, 0.03481
    expected = [flat + cube, bracket + cube, flat + cube, bracket + cube, flat + hand]
    np.testing.assert_allclose([model.body(f"link{i}").mass[0] for i in range(1, 6)], expected, rtol=1e-12)
    assert model.body_mass.sum() == pytest.approx(4 * cube + 3 * flat + 2 * bracket + hand, rel=1e-12)


@pytest.mark.parametrize("q", [[0.0] * 5, [0.4, 0.6, -0.5, -1.2, 0.7]])
def test_cubes_sit_at_the_published_distances(q, at_pose):
    model, data = at_pose(arm5(), q)
    housing = [g for g in range(model.ngeom) if model.geom(g).matid >= 0 and _is_cube(model, g)]
    centres = {model.body(model.geom_bodyid[g]).name: data.geom_xpos[g] for g in housing}
    shoulder, elbow = data.joint("joint2").xanchor, data.joint("joint4").xanchor
    np.testing.assert_allclose(centres["link1"], shoulder, atol=1e-9)
    np.testing.assert_allclose(centres["link3"], elbow, atol=1e-9)
    assert np.linalg.norm(centres["link2"] - shoulder) == pytest.approx(0.090)
    assert np.linalg.norm(centres["link4"] - elbow) == pytest.approx(0.090)
    # 90 + 40.5 + 37 mm, within the half millimetre that the published d3 rounds
    assert np.linalg.norm(centres["link3"] - centres["link2"]) == pytest.approx(0.0775, abs=6e-4)


def _is_cube(model, geom):
    return model.mesh(model.geom_dataid[geom]).name == "cube_housing" if model.geom_dataid[geom] >= 0 else False


def test_gravity_torques_are_the_slope_of_the_potential_energy(at_pose):
    model, data = at_pose(arm5())
    q, step = np.array([0.3, 0.5, -0.4, -1.1, 0.2]), 1e-6

    def energy(angles):
        data.qpos[:] = angles
        mujoco.mj_forward(model, data)
        return 9.81 * sum(model.body_mass[b] * data.xipos[b, 2] for b in range(model.nbody))

    slope = [(energy(q + step * e) - energy(q - step * e)) / (2 * step) for e in np.eye(5)]
    energy(q)
    np.testing.assert_allclose(data.qfrc_bias, slope, atol=1e-7)


def test_the_soft_arm_hangs_still_in_mode_6():
    robot = arm5()
    assert all(joint.mode is Mode.EQUILIBRIUM_PRESET_MOTORS for joint in arm5_joints())
    model = compile_model(robot.spec)
    data = mujoco.MjData(model)
    data.ctrl[1::2] = 0.2
    mujoco.mj_step(model, data, 1500)
    assert np.abs(data.qpos).max() < 0.1
    assert np.abs(data.qvel).max() < 0.05


def test_the_tip_can_push_what_stands_in_its_way():
    spec = arm5(height=0.35).spec
    box = spec.worldbody.add_body(name="box", pos=[0.18 + 0.05, 0.084, 0.35 - 0.168])
    box.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.051, 0.1, 0.1])
    model = compile_model(spec)
    data = mujoco.MjData(model)
    data.qpos[3] = -np.pi / 2
    mujoco.mj_forward(model, data)
    touching = {model.geom(g).name for contact in data.contact for g in contact.geom}
    assert "tip" in touching


def test_the_arm_survives_a_file(tmp_path):
    robot = arm5()
    save_model(robot.spec, tmp_path / "arm.xml")
    model = load_model(tmp_path / "arm.xml")
    data = mujoco.MjData(model)
    q = [0.4, 0.6, -0.5, -1.2, 0.7]
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    base, tip = data.site("base"), data.site("tip")
    here = base.xmat.reshape(3, 3).T @ (tip.xpos - base.xpos)
    np.testing.assert_allclose(here, published_chain(q)[:3, 3], atol=1e-5)


def test_wrong_arguments_are_refused():
    with pytest.raises(ConfigurationError, match=r"arm5 has 5 joint\(s\)"):
        arm5(arm5_joints()[:4])
    with pytest.raises(OutOfBoundsError, match="height"):
        arm5(height=-1.0)
    with pytest.raises(ShapeError, match="5 joint angles"):
        forward_kinematics([0.0] * 4)
    assert len(LINKS) == 5
