import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint
from pliant.actuators.layout import SIGNALS
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.arm5 import arm5
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.two_link import soft_joints, two_link
from pliant.envs.rendering import add_shapes, as_geoms, update_positions
from pliant.envs.simulation import SimulatedRobot
from pliant.viewing.overlay import (
    STIFFNESS_SCALE,
    Overlay,
    gauge_shapes,
    place_gauges,
    stiffness_colour,
    torque_angle,
)

CYLINDER, BOX, ARROW = (int(getattr(mujoco.mjtGeom, f"mjGEOM_{k}")) for k in ("CYLINDER", "BOX", "ARROW"))


@pytest.fixture
def robot():
    robot = SimulatedRobot(arm2())
    robot.connect()
    for _ in range(40):
        robot.send([0.7, 0.3, -0.4, 0.1])
    update_positions(robot.model, robot.data)
    return robot


def signals(**values):
    return np.array([values.get(name, 0.0) for name in SIGNALS])


def needles(shapes):
    """Directions of the link's needle and the motors'."""
    return [shape.frame[:, 0] for shape in shapes if shape.kind == BOX]


def signed_angle(a, b, axis):
    return np.arctan2(np.cross(a, b) @ axis, a @ b)


def test_the_angle_between_link_and_motor_needles_is_the_springs_deflection(robot):
    state = robot.read()
    shapes = Overlay(robot.model, robot.data, robot.compiled.joints).shapes()
    for j, joint in enumerate(robot.compiled.joints):
        link, *motors = needles(shapes)[3 * j : 3 * j + 3]
        for needle, angle in zip(motors, state.motor_position[2 * j : 2 * j + 2], strict=True):
            drawn = signed_angle(link, needle, robot.data.xaxis[joint.joint])
            assert drawn == pytest.approx(angle - state.position[j], abs=1e-9)


def test_the_links_needle_lies_along_the_link(robot):
    shapes = Overlay(robot.model, robot.data, robot.compiled.joints).shapes()
    shoulder, elbow = (robot.data.xanchor[joint.joint] for joint in robot.compiled.joints)
    along = (elbow - shoulder) / np.linalg.norm(elbow - shoulder)
    assert needles(shapes)[0] @ along > 0.99


def test_gauges_lie_across_their_axes_and_their_frames_are_rotations(robot):
    for shape in Overlay(robot.model, robot.data, robot.compiled.joints).shapes():
        np.testing.assert_allclose(shape.frame.T @ shape.frame, np.eye(3), atol=1e-9)
        assert np.linalg.det(shape.frame) == pytest.approx(1.0)
        if shape.kind in (CYLINDER, BOX):
            np.testing.assert_allclose(shape.frame[:, 2], robot.data.xaxis[0], atol=1e-6)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_the_arc_turns_as_the_torque_does(robot, sign):
    (gauge, _) = place_gauges(robot.model, robot.compiled.joints)
    shapes = gauge_shapes(robot.data, gauge, signals(torque=0.5 * sign))
    (arrow,) = (shape for shape in shapes if shape.kind == ARROW)
    centre = shapes[0].position
    outward = arrow.position - centre
    assert np.cross(outward, arrow.frame[:, 2]) @ robot.data.xaxis[gauge.joint] * sign > 0.0


def test_without_torque_there_is_no_arrow(robot):
    (gauge, _) = place_gauges(robot.model, robot.compiled.joints)
    assert not [s for s in gauge_shapes(robot.data, gauge, signals()) if s.kind == ARROW]


def test_torque_arcs_count_decades():
    assert torque_angle(0.0) == 0.0
    assert torque_angle(1.0) == pytest.approx(np.radians(120), rel=0.01)
    assert torque_angle(-10.0) == pytest.approx(-np.pi, rel=0.01)
    assert torque_angle(1e9) == pytest.approx(np.radians(300))


def test_stiffness_colours_follow_the_scale_and_stay_at_its_ends():
    for value, colour in STIFFNESS_SCALE:
        assert stiffness_colour(value) == pytest.approx(colour)
    assert stiffness_colour(-1.0) == stiffness_colour(0.0) == pytest.approx(STIFFNESS_SCALE[0][1])
    assert stiffness_colour(1e4) == pytest.approx(STIFFNESS_SCALE[-1][1])
    middle = stiffness_colour(np.sqrt(0.5 * 1.6))
    np.testing.assert_allclose(middle, np.mean([STIFFNESS_SCALE[0][1], STIFFNESS_SCALE[1][1]], axis=0))


def test_a_stiffer_preset_changes_the_disc(robot):
    def disc():
        return Overlay(robot.model, robot.data, robot.compiled.joints).shapes()[0].colour

    soft = disc()
    for _ in range(60):
        robot.send([0.7, 0.6, -0.4, 0.6])
    assert np.abs(np.subtract(disc(), soft)).max() > 0.1


def test_a_rigid_joint_has_no_motor_needles_and_no_colour():
    robot = SimulatedRobot(two_link())
    robot.connect()
    shapes = Overlay(robot.model, robot.data, robot.compiled.joints).shapes()
    assert len(needles(shapes)) == 2
    red, green, blue, _ = shapes[0].colour
    assert max(red, green, blue) - min(red, green, blue) < 0.1


def test_a_levers_pivot_is_no_needle():
    robot = SimulatedRobot(rig1(CompliantJoint("awas2", 3), timestep=2e-4))
    robot.connect()
    assert len(needles(Overlay(robot.model, robot.data, robot.compiled.joints).shapes())) == 2


def test_a_signal_that_is_not_finite_is_not_drawn(robot):
    (gauge, _) = place_gauges(robot.model, robot.compiled.joints)
    shapes = gauge_shapes(robot.data, gauge, signals(torque=np.nan, motor_position1=np.nan, stiffness=np.nan))
    assert all(np.isfinite(np.concatenate([s.position, s.size, s.frame.ravel(), s.colour])).all() for s in shapes)


@pytest.mark.parametrize("model", [arm2(), arm5(), rig1(), two_link(soft_joints(200.0))], ids=lambda m: m.name)
def test_every_robot_has_a_gauge_at_every_joint(model):
    robot = SimulatedRobot(model)
    robot.connect()
    gauges = place_gauges(robot.model, robot.compiled.joints)
    assert len(gauges) == len(model.joints)
    for gauge in gauges:
        assert np.linalg.norm(gauge.along) == pytest.approx(1.0)
        assert gauge.along @ robot.model.jnt_axis[gauge.joint] == pytest.approx(0.0, abs=1e-9)


def test_scenes_and_browsers_get_the_same_and_a_full_scene_takes_no_more(robot):
    shapes = Overlay(robot.model, robot.data, robot.compiled.joints).shapes()
    scene = mujoco.MjvScene(robot.model, maxgeom=len(shapes) - 2)
    add_shapes(scene, shapes)
    assert scene.ngeom == len(shapes) - 2
    for geom, other, shape in zip(scene.geoms, as_geoms(shapes), shapes, strict=False):
        np.testing.assert_allclose(geom.pos, shape.position, atol=1e-6)
        np.testing.assert_allclose(geom.mat, shape.frame, atol=1e-6)
        np.testing.assert_array_equal(geom.pos, other.pos)
        assert geom.type == other.type == shape.kind


def test_drawing_changes_nothing_in_the_simulation(robot):
    before = robot.get_state().integration
    Overlay(robot.model, robot.data, robot.compiled.joints).shapes()
    np.testing.assert_array_equal(robot.get_state().integration, before)
