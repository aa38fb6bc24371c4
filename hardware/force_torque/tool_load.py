"""What hangs on a force-torque sensor, from readings at rest in several orientations.

With g the gravity and c the centre of the mass m in the sensor's axes, a sensor at rest reads

    f = b_f − m·g,   τ = b_τ + g × h,   h = m·c,

which is linear in mass, first moment h and bias: two least-squares problems in closed form, one of forces and one
of torques. The bias of the force can be told from the weight only if the direction of gravity differs between the
poses, the bias of the torque only if it does so in two directions.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    OutOfBoundsError,
    PliantError,
    ShapeError,
    check_numbers,
)
from pliant.files import PathLike, check_json, existing_file, plain, read_bytes, write_json
from pliant.hardware.force_torque.wrench import GRAVITY, ToolLoad
from pliant.hardware.robot import Array

_KIND: Final = "tool load"
SMALLEST_SPREAD: Final = 0.1
"""Root-mean-square spread of gravity's directions below which nothing is told, 1: poses 12° or so apart."""


@dataclass(frozen=True)
class IdentifiedLoad:
    """A load with what is known of its accuracy.

    Standard deviations are those of independent noise of one size on all forces and one on all torques, as the
    residuals show it.
    """

    load: ToolLoad
    bias: Array
    """What the sensor reads without a load, (6,), N and N·m."""
    mass_deviation: float
    """Standard deviation of the mass, kg."""
    com_deviation: Array
    """Of the centre of mass, (3,), m."""
    bias_deviation: Array
    """Of the bias, (6,), N and N·m."""
    residuals: Array
    """Readings less what the load explains, (poses, 6), N and N·m."""
    noise: tuple[float, float]
    """Standard deviation of single forces, N, and torques, N·m, by the residuals."""
    spread: tuple[float, float]
    """How far the directions of gravity spread, along the direction in which they do most, and across it; 1."""

    def summary(self) -> dict[str, Any]:
        """Return it as plain data, in kg, m, N and N·m."""
        return {
            "mass": self.load.mass,
            "mass_deviation": self.mass_deviation,
            "com": list(self.load.com),
            "com_deviation": [d if math.isfinite(d) else None for d in self.com_deviation.tolist()],
            "bias": self.bias.tolist(),
            "bias_deviation": self.bias_deviation.tolist(),
            "residuals": self.residuals.tolist(),
        }

    def save(self, path: PathLike, robot: str, sensor: str) -> Path:
        """Write it, as `.json`; see `read_load`.

        Args:
            path: the file.
            robot: on whose sensor it hangs.
            sensor: the name of that.

        Raises:
            OutputError: that cannot be done.
        """
        said = {"kind": _KIND, "robot": robot, "sensor": sensor, "units": "kg, m, N, N·m"}
        return write_json(path, {**said, **plain(self.summary())}, checksum=True)


def read_load(path: PathLike) -> ToolLoad:
    """Return the load of a file of `IdentifiedLoad.save`, with the names of its robot and sensor.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is damaged, or none.
    """
    what = f"tool load {path}"
    content = read_bytes(existing_file(path, "tool load"), what)
    try:
        data = json.loads(content)
    except (UnicodeDecodeError, ValueError) as error:
        raise FileFormatError(f"{what} is no JSON: {error}.") from error
    check_json(data, what)
    if not isinstance(data, dict) or data.get("kind") != _KIND:
        raise FileFormatError(f"{what} is none: `pliant weigh` writes one.")
    robot, sensor = data.get("robot"), data.get("sensor")
    if not isinstance(robot, str) or not isinstance(sensor, str):
        raise FileFormatError(f"{what} does not say of which robot and sensor.")
    try:
        return ToolLoad(data["mass"], data["com"], robot, sensor)
    except (KeyError, TypeError, PliantError) as error:
        raise FileFormatError(f"{what}: {error}") from error


def identify_load(
    rotations: ArrayLike, readings: ArrayLike, *, gravity: Sequence[float] = GRAVITY
) -> IdentifiedLoad:
    """Return mass, centre of mass and bias from raw readings in at least three poses, at rest and free.

    Best are poses that bring gravity along all axes of the sensor, both ways; a reading may be the mean of many.

    Args:
        rotations: of the sensor in the world, (poses, 3, 3).
        readings: (poses, 6), N and N·m, raw: by which the arm holds the load.
        gravity: in the axes of the world, m/s².

    Raises:
        ShapeError: arrays of other shapes, or fewer than three poses.
        OutOfBoundsError: a number that is not finite, or a rotation that is none.
        ConfigurationError: the poses cannot tell one of the unknowns from another, or the mass is negative, as
            with a sensor that reads the opposite.
    """
    turns, wrenches = np.array(rotations, np.float64), np.array(readings, np.float64)
    count = len(wrenches) if wrenches.ndim == 2 else 0
    if wrenches.shape != (count, 6) or turns.shape != (count, 3, 3):
        raise ShapeError(
            f"rotations have shape {turns.shape}, readings {wrenches.shape}; (poses, 3, 3) and (poses, 6) are "
            "needed."
        )
    if count < 3:
        raise ShapeError(f"{count} poses; three of different orientation are needed at least.")
    for what, array in (("rotations", turns), ("readings", wrenches)):
        if not np.isfinite(array).all():
            pose = int(np.argwhere(~np.isfinite(array))[0][0])
            raise OutOfBoundsError(f"{what} of pose {pose}: finite numbers are needed.")
    wrong = np.abs(turns @ turns.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2)) > 1e-6
    if wrong.any() or (np.linalg.det(turns) < 0.0).any():
        pose = int(np.argmax(wrong | (np.linalg.det(turns) < 0.0)))
        raise OutOfBoundsError(f"rotations of pose {pose}: the matrix is no rotation.")
    down = np.array(check_numbers("gravity", gravity, 3, -100.0, 100.0, "m/s²"))
    size = float(np.linalg.norm(down))
    if size == 0.0:
        raise OutOfBoundsError("gravity is zero; a load without weight cannot be told.")
    local = turns.transpose(0, 2, 1) @ down
    spread = _check_poses(local / size)

    design = np.zeros((count, 3, 4))
    design[:, :, 0] = -local
    design[:, :, 1:] = np.eye(3)
    mass, force_bias, force_deviation, force_left, force_noise = _solve(design, wrenches[:, :3])
    if mass[0] < -3.0 * force_deviation[0] and mass[0] < 0.0:
        raise ConfigurationError(
            f"the mass comes out as {mass[0]:.4g} kg: the sensor reads the opposite of what is needed, the wrench "
            "by which the arm holds what is behind it."
        )
    design = np.zeros((count, 3, 6))
    design[:, :, :3] = _cross_matrices(local)
    design[:, :, 3:] = np.eye(3)
    moment, torque_bias, torque_deviation, torque_left, torque_noise = _solve(design, wrenches[:, 3:])

    kilograms = max(float(mass[0]), 0.0)
    com, com_deviation = np.zeros(3), np.full(3, math.inf)
    if kilograms > 0.0:
        com = moment / kilograms
        com_deviation = np.hypot(torque_deviation[:3], com * force_deviation[0]) / kilograms
        if np.abs(com).max() > 5.0:  # a mass that is nothing but noise has its centre anywhere
            com, com_deviation = np.zeros(3), np.full(3, math.inf)
    return IdentifiedLoad(
        load=ToolLoad(kilograms, com.tolist()),
        bias=np.concatenate([force_bias, torque_bias]),
        mass_deviation=float(force_deviation[0]),
        com_deviation=com_deviation,
        bias_deviation=np.concatenate([force_deviation[1:], torque_deviation[3:]]),
        residuals=np.hstack([force_left, torque_left]),
        noise=(force_noise, torque_noise),
        spread=spread,
    )


def _check_poses(directions: Array) -> tuple[float, float]:
    """Return how far directions, (poses, 3), spread, or raise with what they cannot tell."""
    centred = directions - directions.mean(axis=0)
    _, values, axes = np.linalg.svd(centred, full_matrices=True)
    first, second = (float(value) / math.sqrt(len(directions)) for value in values[:2])
    if first < SMALLEST_SPREAD:
        widest = float(np.degrees(np.arccos(np.clip((directions @ directions.T).min(), -1.0, 1.0))))
        raise ConfigurationError(
            f"gravity's direction differs by no more than {widest:.2g}° between the poses: mass and centre of "
            "mass cannot be told from the bias. Turn the sensor by 30° and more, about two level axes."
        )
    if second < SMALLEST_SPREAD:
        along = np.array2string(axes[0], precision=2, suppress_small=True, separator=", ")
        raise ConfigurationError(
            f"gravity's direction differs along {along} of the sensor alone, a spread of {second:.2g} across it: "
            "the centre of mass along that axis cannot be told from the bias of the torque. Add poses that are "
            "turned about another axis."
        )
    return first, second


def _solve(design: Array, measured: Array) -> tuple[Array, Array, Array, Array, float]:
    """Least squares: unknowns but the last three, these (the bias), deviations, residuals, noise."""
    unknowns = design.shape[2]
    matrix = design.reshape(-1, unknowns)
    q, r = np.linalg.qr(matrix)
    found = np.linalg.solve(r, q.T @ measured.ravel())
    left = measured - design @ found
    free = matrix.shape[0] - unknowns
    noise = math.sqrt(float((left**2).sum()) / free)
    deviation = noise * np.linalg.norm(np.linalg.inv(r), axis=1)
    return found[:-3], found[-3:], deviation, left, noise


def _cross_matrices(vectors: Array) -> Array:
    """The matrices, (n, 3, 3), of the cross products with vectors, (n, 3)."""
    matrices = np.zeros((len(vectors), 3, 3))
    x, y, z = vectors.T
    matrices[:, 0, 1], matrices[:, 0, 2], matrices[:, 1, 2] = -z, y, -x
    matrices[:, 1, 0], matrices[:, 2, 0], matrices[:, 2, 1] = z, -y, x
    return matrices
