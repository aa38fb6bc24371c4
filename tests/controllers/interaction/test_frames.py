"""Frames of a configuration, and wrenches and twists in them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.controllers.interaction.frames import (
    ArmFrames,
    Frame,
    as_frame,
    mounted,
    offset_pose,
    own_offset_pose,
    tool_wrench,
    twist_in,
    wrench_in,
)
from pliant.controllers.poses import difference
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError


def random_pose(random):
    return np.concatenate([random.uniform(-1, 1, 3), Rotation.random(rng=random).as_quat(scalar_first=True)])


def homogeneous(pose):
    found = np.eye(4)
    found[:3, :3] = Rotation.from_quat(pose[3:], scalar_first=True).as_matrix()
    found[:3, 3] = pose[:3]
    return found


def test_a_wrench_and_a_twist_have_the_same_power_in_every_frame():
    random = np.random.default_rng(0)
    for _ in range(20):
        frame, wrench, twist = random_pose(random), random.normal(size=6), random.normal(size=6)
        assert wrench_in(frame, wrench) @ twist_in(frame, twist) == pytest.approx(wrench @ twist)


def test_a_force_beside_the_tip_is_a_torque_at_it():
    """10 N sideways at a sensor 0.195 m above the tip; nothing at the tip, if it comes from there."""
    down = np.array([0.0, 0.0, -0.195, 1.0, 0.0, 0.0, 0.0])  # the sensor, seen from the tip
    at_sensor = np.array([10.0, 0.0, 0.0, 0.0, 1.95, 0.0])
    np.testing.assert_allclose(wrench_in(down, at_sensor), [10.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-12)


def test_the_wrench_of_the_law_is_that_of_the_transforms():
    random = np.random.default_rng(1)
    for _ in range(20):
        tool, mount, wrench = random_pose(random), random_pose(random), random.normal(size=6)
        axes = Rotation.random(rng=random).as_matrix()
        world = homogeneous(tool) @ homogeneous(mount)
        sensor = np.concatenate([world[:3, 3], Rotation.from_matrix(world[:3, :3]).as_quat(scalar_first=True)])
        at_tool = wrench_in(mount, wrench).reshape(2, 3)
        expected = at_tool @ homogeneous(tool)[:3, :3].T @ axes
        found = tool_wrench(wrench, np.ascontiguousarray(world[:3, :3]), sensor, tool, axes)
        np.testing.assert_allclose(found, expected.ravel(), atol=1e-12)


def test_an_offset_moves_along_and_turns_about_the_axes():
    random = np.random.default_rng(2)
    for _ in range(20):
        pose, offset = random_pose(random), random.normal(size=6)
        axes = Rotation.random(rng=random).as_matrix()
        before = random_pose(random)
        found, way = offset_pose(pose, offset, axes, before)
        np.testing.assert_allclose(way, difference(found, before), atol=1e-12)
        np.testing.assert_allclose(found[:3], pose[:3] + axes @ offset[:3])
        turned = Rotation.from_rotvec(axes @ offset[3:]).as_matrix() @ homogeneous(pose)[:3, :3]
        np.testing.assert_allclose(homogeneous(found)[:3, :3], turned, atol=1e-12)


def test_an_offset_of_its_own_turns_about_the_axes_of_the_pose():
    random = np.random.default_rng(4)
    for _ in range(20):
        pose, offset, before = random_pose(random), random.normal(size=6), random_pose(random)
        found, way = own_offset_pose(pose, offset, before)
        np.testing.assert_allclose(found[:3], pose[:3] + offset[:3])
        turned = homogeneous(pose)[:3, :3] @ Rotation.from_rotvec(offset[3:]).as_matrix()
        np.testing.assert_allclose(homogeneous(found)[:3, :3], turned, atol=1e-12)
        np.testing.assert_allclose(way, difference(found, before), atol=1e-12)
        place, rotation = mounted(pose, before)
        np.testing.assert_allclose(homogeneous(place), homogeneous(pose) @ homogeneous(before), atol=1e-12)
        np.testing.assert_allclose(rotation, homogeneous(place)[:3, :3], atol=1e-12)


def test_every_frame_is_where_it_is_said_to_be_moved_and_turned():
    random = np.random.default_rng(3)
    base, flange, sensor, tool, start = (random_pose(random) for _ in range(5))
    frames = ArmFrames(base, flange, sensor)
    moved = np.eye(4)
    moved[:3, :3] = Rotation.from_rotvec([0.0, 0.0, np.pi / 4]).as_matrix()
    moved[:3, 3] = [0.1, 0.2, 0.3]
    expected = {
        "world": np.eye(4),
        "base": homogeneous(base),
        "tool": homogeneous(tool),
        "start": homogeneous(start),
        "flange": homogeneous(tool) @ homogeneous(flange),
        "sensor": homogeneous(tool) @ homogeneous(sensor),
    }
    for name, where in expected.items():
        found = frames.locate(Frame(name, [0.1, 0.2, 0.3], [0.0, 0.0, np.pi / 4]), tool, start)
        np.testing.assert_allclose(homogeneous(found), where @ moved, atol=1e-12)


def test_frames_come_from_names_and_entries():
    assert as_frame("tool") == Frame("tool")
    assert as_frame({"of": "base", "rotation": [0, 0, 1]}) == Frame("base", rotation=(0.0, 0.0, 1.0))
    for wrong, error, part in (
        ("tol", UnknownNameError, "Did you mean 'tool'"),
        ({"off": "tool"}, UnknownNameError, "unknown entry 'off'"),
        ({"of": "tool", "position": [0, 0]}, ShapeError, "position"),
        ({"of": "tool", "position": [0, 0, float("nan")]}, OutOfBoundsError, "position"),
        (3, ConfigurationError, "frame is 3"),
    ):
        with pytest.raises(error, match=part):
            as_frame(wrong)
