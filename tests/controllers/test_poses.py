"""Poses against matrices and SciPy's rotations."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.controllers.poses import between, compose, difference, inverse, matrix, pose, rotation_vector
from pliant.errors import OutOfBoundsError, ShapeError

RANDOM = np.random.default_rng(3)
POSES = [pose(RANDOM.normal(size=3), RANDOM.normal(size=3)) for _ in range(40)]
PAIRS = list(zip(POSES[::2], POSES[1::2], strict=True))


def homogeneous(value):
    found = np.eye(4)
    found[:3, 3] = value[:3]
    found[:3, :3] = Rotation.from_quat(value[3:], scalar_first=True).as_matrix()
    return found


def test_a_pose_is_its_position_and_the_exponential_of_its_rotation_vector():
    for _ in range(20):
        vector = RANDOM.normal(size=3) * RANDOM.choice([1e-9, 1.0, 0.9])
        found = pose([1.0, 2.0, 3.0], vector)
        np.testing.assert_array_equal(found[:3], [1.0, 2.0, 3.0])
        np.testing.assert_allclose(matrix(found[3:]), Rotation.from_rotvec(vector).as_matrix(), atol=1e-15)
        np.testing.assert_allclose(rotation_vector(found[3:]), vector, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_poses_are_composed_and_inverted_as_matrices_are(a, b):
    np.testing.assert_allclose(homogeneous(compose(a, b)), homogeneous(a) @ homogeneous(b), atol=1e-14)
    np.testing.assert_allclose(homogeneous(inverse(a)), np.linalg.inv(homogeneous(a)), atol=1e-14)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_difference_is_the_way_in_world_axes(a, b):
    way = difference(a, b)
    np.testing.assert_allclose(way[:3], a[:3] - b[:3], atol=1e-15)
    turned = Rotation.from_rotvec(way[3:]).as_matrix() @ homogeneous(b)[:3, :3]
    np.testing.assert_allclose(turned, homogeneous(a)[:3, :3], atol=1e-13)
    assert np.linalg.norm(way[3:]) <= np.pi


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_between_two_poses_it_goes_straight_and_turns_evenly(a, b):
    np.testing.assert_allclose(homogeneous(between(a, b, 0.0)), homogeneous(a), atol=1e-13)
    np.testing.assert_allclose(homogeneous(between(a, b, 1.0)), homogeneous(b), atol=1e-13)
    whole, part = difference(b, a), difference(between(a, b, 0.3), a)
    np.testing.assert_allclose(part, 0.3 * whole, atol=1e-12)


def test_what_is_no_pose_is_refused():
    with pytest.raises(ShapeError, match="position"):
        pose([1.0, 2.0])
    with pytest.raises(OutOfBoundsError, match="rotation vector"):
        pose([1.0, 2.0, 3.0], [0.0, np.nan, 0.0])
