"""Poses: position, m, and unit quaternion, w first, seven numbers; and what leads from one to another.

A pose `b` in the frame `a` is written a⁻¹b. The arithmetic is MuJoCo's own.
"""

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array


def pose(position: ArrayLike, rotation: ArrayLike = (0.0, 0.0, 0.0)) -> Array:
    """Return the pose, (7,), of a position, (3,), m, and a rotation vector, (3,), rad.

    Raises:
        ShapeError, OutOfBoundsError: not three finite numbers each.
    """
    found = np.empty(7)
    found[:3] = finite_array("position", position, (3,))
    turn(found[3:], np.array([1.0, 0.0, 0.0, 0.0]), finite_array("rotation vector", rotation, (3,)))
    return found


def turn(found: Array, orientation: Array, vector: Array) -> None:
    """Write into `found`, (4,), an orientation turned by a rotation vector, (3,), rad, in its own axes."""
    found[:] = orientation
    mujoco.mju_quatIntegrate(found, vector, 1.0)


def compose(frame: Array, inside: Array) -> Array:
    """Return the pose `inside`, given in the frame `frame`, in the frame that `frame` is given in; (7,) each."""
    found = np.empty(7)
    mujoco.mju_mulPose(found[:3], found[3:], frame[:3], frame[3:], inside[:3], inside[3:])
    mujoco.mju_normalize4(found[3:])
    return found


def inverse(frame: Array) -> Array:
    """Return the pose, (7,), of the frame that `frame` is given in, seen from `frame`."""
    found = np.empty(7)
    mujoco.mju_negPose(found[:3], found[3:], frame[:3], frame[3:])
    return found


def rotation_vector(orientation: Array) -> Array:
    """Return the rotation vector, (3,), rad, at most π long, of a unit quaternion, (4,)."""
    found = np.empty(3)
    mujoco.mju_quat2Vel(found, orientation, 1.0)
    return found


def matrix(orientation: Array) -> Array:
    """Return the rotation matrix, (3, 3), of a unit quaternion, (4,)."""
    found = np.empty(9)
    mujoco.mju_quat2Mat(found, orientation)
    return found.reshape(3, 3)


def difference(target: Array, actual: Array) -> Array:
    """Return the way from the pose `actual` to `target`, (6,): m, and a rotation vector, rad.

    Both are along the axes of the frame that the poses are given in. The rotation is the shortest: the logarithm
    of R_target·R_actualᵀ.
    """
    found, local = np.empty(6), np.empty(3)
    np.subtract(target[:3], actual[:3], out=found[:3])
    mujoco.mju_subQuat(local, target[3:], actual[3:])
    mujoco.mju_rotVecQuat(found[3:], local, actual[3:])
    return found


def between(begin: Array, end: Array, share: float) -> Array:
    """Return the pose, (7,), at `share` (0 … 1) of the way from `begin` to `end`: straight, and turning evenly."""
    found, local = np.empty(7), np.empty(3)
    found[:3] = begin[:3] + share * (end[:3] - begin[:3])
    mujoco.mju_subQuat(local, end[3:], begin[3:])
    turn(found[3:], begin[3:], share * local)
    return found
