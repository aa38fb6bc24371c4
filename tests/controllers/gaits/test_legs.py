import math

import numpy as np
import pytest

from pliant.controllers.gaits import LEGS, Legs, hexapod_legs
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError

LEGS_OF_HEXAPOD = hexapod_legs()


def test_the_default_pose_is_the_papers():
    legs = LEGS_OF_HEXAPOD
    feet = legs.forward_kinematics(legs.stand)
    mounts = np.array([mount[1:3] for mount in legs.mounts])
    np.testing.assert_allclose(np.hypot(*(feet[:, :2] - mounts).T), 0.1393, atol=1e-4)
    np.testing.assert_allclose(feet[:, 2], -0.1173, atol=1e-4)


def test_sides_are_mirror_images():
    feet = LEGS_OF_HEXAPOD.forward_kinematics(LEGS_OF_HEXAPOD.stand)
    np.testing.assert_allclose(feet[:3] * [-1, 1, 1], feet[3:], atol=1e-12)


def test_kinematics_and_their_inverse_undo_each_other():
    rng, legs = np.random.default_rng(0), LEGS_OF_HEXAPOD
    for _ in range(100):
        raised = rng.uniform(-0.6, 1.2, 6)
        bend = rng.uniform(-1.5, 0.4, 6)  # the knee is up as long as the tibia is below the femur's line
        angles = np.stack([rng.uniform(-1.2, 1.2, 6), legs.sides * raised, legs.sides * bend], axis=-1)
        feet = legs.forward_kinematics(angles)
        mounts = np.array([mount[1:3] for mount in legs.mounts])
        if (np.hypot(*(feet[:, :2] - mounts).T) < 0.06).any():
            continue  # the foot is under the trunk's side of the femur's axis
        found = legs.inverse_kinematics(feet)
        np.testing.assert_allclose(legs.forward_kinematics(found), feet, atol=1e-12)
        np.testing.assert_allclose(found, angles, atol=1e-9)


def test_a_right_angle_between_femur_and_tibia_by_hand():
    # a leg along x, femur level, tibia straight down
    mounts = [(leg, 0.0, 0.0, 0.0, 1.0) for leg in LEGS]
    legs = Legs(mounts, coxa=0.1, femur=0.3, tibia=0.4)
    angles = legs.inverse_kinematics(np.tile([0.4, 0.0, -0.4], (6, 1)))
    np.testing.assert_allclose(angles, np.tile([0.0, 0.0, -math.pi / 2], (6, 1)), atol=1e-12)


def test_points_out_of_reach_are_refused_with_the_leg():
    feet = np.array(LEGS_OF_HEXAPOD.forward_kinematics(LEGS_OF_HEXAPOD.stand))
    far = feet.copy()
    far[4, 0] += 0.2
    with pytest.raises(OutOfBoundsError, match=r"middle_right leg: .* out of reach.*0\.072 to 0\.204 m"):
        LEGS_OF_HEXAPOD.inverse_kinematics(far)
    misses = LEGS_OF_HEXAPOD.nearest(far)[1]
    out, up = far[4, 0] - 0.1005 - 0.052, far[4, 2]
    assert misses[4] == pytest.approx(math.hypot(out, up) - 0.204)
    assert np.delete(misses, 4).max() < 1e-12
    behind = feet.copy()
    behind[4, :2] = 0.1005, 0.12
    with pytest.raises(OutOfBoundsError, match="middle_right_coxa"):
        LEGS_OF_HEXAPOD.inverse_kinematics(behind)
    with pytest.raises(ShapeError):
        LEGS_OF_HEXAPOD.inverse_kinematics(feet[:5])


def test_legs_that_cannot_be_are_refused():
    mounts = list(LEGS_OF_HEXAPOD.mounts)
    with pytest.raises(ConfigurationError, match="front_left, middle_left"):
        Legs(mounts[::-1], coxa=0.1, femur=0.1, tibia=0.1)
    with pytest.raises(OutOfBoundsError, match="length of the femur"):
        Legs(mounts, coxa=0.1, femur=0.0, tibia=0.1)
