"""Poses as the controller writes them: position, m, and rotation vector, rad, six numbers."""

from collections.abc import Sequence

import mujoco
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def rotation_matrix(vector: Sequence[float] | Array) -> Array:
    """Return the rotation, shape (3, 3), of a rotation vector, rad."""
    v = np.array(vector, dtype=float)
    angle = float(np.linalg.norm(v))
    quaternion, matrix = np.zeros(4), np.zeros(9)
    mujoco.mju_axisAngle2Quat(quaternion, v / angle if angle > 1e-12 else np.array([1.0, 0.0, 0.0]), angle)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def rotation_vector(matrix: Array) -> Array:
    """Return the rotation vector, rad, of a rotation, shape (3, 3)."""
    quaternion, vector = np.zeros(4), np.zeros(3)
    mujoco.mju_mat2Quat(quaternion, matrix.ravel())
    mujoco.mju_quat2Vel(vector, quaternion, 1.0)
    return vector


def as_matrix(pose: Sequence[float] | Array) -> Array:
    """Return a pose as a homogeneous transformation, shape (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation_matrix(pose[3:6]), pose[:3]
    return matrix


def compose(pose: Sequence[float] | Array, then: Sequence[float] | Array) -> Array:
    """Return the pose `then`, given in the frame `pose`, in the frame that `pose` is in."""
    turn = rotation_matrix(pose[3:6])
    place = np.asarray(pose[:3]) + turn @ np.asarray(then[:3])
    return np.concatenate([place, rotation_vector(turn @ rotation_matrix(then[3:6]))])


def difference(target: Array, actual: Array) -> Array:
    """Return the twist, in base axes, that leads from `actual` to `target` in a second."""
    turn = rotation_matrix(target[3:6]) @ rotation_matrix(actual[3:6]).T
    return np.concatenate([target[:3] - actual[:3], rotation_vector(turn)])


def between(begin: Array, end: Array, share: float) -> Array:
    """Return the pose at `share` (0 … 1) of the straight way from `begin` to `end`, turning evenly."""
    twist = difference(end, begin)
    turn = rotation_matrix(share * twist[3:]) @ rotation_matrix(begin[3:6])
    return np.concatenate([begin[:3] + share * twist[:3], rotation_vector(turn)])
