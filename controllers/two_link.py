"""The planar two-link arm: geometry and rigid-body dynamics in closed form.

Two uniform rods move in the vertical x–z plane, the shoulder at the origin, z up. q1 is the angle of the first
rod from the +x axis (horizontal), q2 that of the second from the direction of the first, both positive from +x
towards +z, counter-clockwise with x to the right: q = (0, 0) stretches the arm out along +x, q = (−π/2, 0) lets
it hang. In MuJoCo these are hinges about (0, −1, 0), and C·q̇ + g(q) is its `qfrc_bias`. Gravity pulls towards −z;
with `gravity=0` the plane may as well lie, x–y. The torques are those the drives apply, positive along +q:

    M(q)·q̈ + C(q, q̇)·q̇ + g(q) = τ

Every function is pure and works on any number of configurations at once: vectors are (..., 2), matrices
(..., 2, 2), and arguments broadcast against each other. Angles rad, lengths m, torques N·m.

Raises, everywhere: ShapeError where the last axis is not 2 or shapes do not broadcast; OutOfBoundsError for NaN.

Source: Spong, Hutchinson & Vidyasagar 2006, Robot Modeling and Control, the planar elbow manipulator, with centres
of mass at l/2 and inertias m·l²/12.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.controllers.checks import Array, all_finite, number_array, positive
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name

Elbow = Literal["up", "down", "nearest"]
"""Which solution of the inverse kinematics: q2 ≤ 0, q2 ≥ 0, or the one nearest to a configuration."""

_EDGE = 1e-9
"""A target past the edge of the reach by less than this share of it is on the edge: absorbs rounding."""

_SINGULAR = 1e-6
"""Below this |sin q2| the arm counts as straight or folded."""


@dataclass(frozen=True)
class TwoLinkArm:
    """Lengths, masses and gravity of a planar arm of two uniform rods; see the module for the convention."""

    l1: float = 1.0
    """Length from shoulder to elbow, m."""
    l2: float = 1.0
    """Length from elbow to tip, m."""
    m1: float = 1.0
    """Mass of the first rod, kg."""
    m2: float = 1.0
    """Mass of the second rod, kg."""
    gravity: float = 9.81
    """m/s², along −z; 0 in a horizontal plane."""

    def __post_init__(self) -> None:
        for name, unit in (("l1", "m"), ("l2", "m"), ("m1", "kg"), ("m2", "kg")):
            object.__setattr__(self, name, positive(f"TwoLinkArm {name}", getattr(self, name), unit))
        gravity = check_bounds("TwoLinkArm gravity", self.gravity, 0.0, 1e6, "m/s²")
        object.__setattr__(self, "gravity", gravity)

    @property
    def reach(self) -> tuple[float, float]:
        """Smallest and largest distance of the tip from the shoulder, |l1 − l2| and l1 + l2, m."""
        return abs(self.l1 - self.l2), self.l1 + self.l2

    def forward_kinematics(self, q: ArrayLike) -> Array:
        """Return the tip (x, z), (..., 2), m: l1·(cos q1, sin q1) + l2·(cos(q1 + q2), sin(q1 + q2))."""
        first, both = _angles(*_pairs(q=q))
        return _vector(
            self.l1 * np.cos(first) + self.l2 * np.cos(both), self.l1 * np.sin(first) + self.l2 * np.sin(both)
        )

    def jacobian(self, q: ArrayLike) -> Array:
        """Return J = ∂(x, z)/∂q, (..., 2, 2), m; det J = l1·l2·sin q2."""
        first, both = _angles(*_pairs(q=q))
        far_x, far_z = self.l2 * np.cos(both), self.l2 * np.sin(both)
        return _matrix(-self.l1 * np.sin(first) - far_z, -far_z, self.l1 * np.cos(first) + far_x, far_x)

    def inverse_kinematics(
        self, position: ArrayLike, near: ArrayLike | None = None, elbow: Elbow = "nearest"
    ) -> Array:
        """Return the angles that put the tip at `position`, (..., 2), rad.

        cos q2 = (r² − l1² − l2²)/(2·l1·l2) for the distance r, computed as its half-angle tangent
        tan²(q2/2) = ((l1 + l2)² − r²)/(r² − (l1 − l2)²), which stays exact where the arm is nearly straight or
        folded. Where both coincide with the shoulder (l1 = l2, r = 0) q1 is free and some value is returned.

        Args:
            position: (x, z) of the tip, (..., 2), m.
            near: a configuration, (..., 2), rad. Of the angles that differ by whole turns those nearest to it
                are returned; without it, those in [−π, π].
            elbow: 'up' is the solution with q2 ≤ 0: the elbow is on the left of the line from shoulder to tip,
                so above it for a tip at x > 0. 'down' is the other one. 'nearest' is the one nearer to `near`.

        Raises:
            OutOfBoundsError: the tip cannot get there; says the distance and the reach.
            ConfigurationError: 'nearest' without `near`.
            UnknownNameError: another elbow.
        """
        if elbow not in get_args(Elbow):
            raise unknown_name("elbow", elbow, get_args(Elbow), "the inverse kinematics")
        if near is None and elbow == "nearest":
            raise ConfigurationError(
                "inverse kinematics: the elbow 'nearest' needs the configuration `near`; or choose 'up' or 'down'."
            )
        target, around = _pairs(position=position, near=np.zeros(2) if near is None else near)
        bend, bearing = self._bend(target), np.arctan2(target[..., 1], target[..., 0])
        up, down = (around + _wrapped(self._branch(bearing, q2) - around) for q2 in (-bend, bend))
        if elbow == "nearest":
            is_up = np.linalg.norm(up - around, axis=-1) <= np.linalg.norm(down - around, axis=-1)
            return np.where(is_up[..., None], up, down)
        return up if elbow == "up" else down

    def inverse_velocity(self, q: ArrayLike, velocity: ArrayLike) -> Array:
        """Return the joint speeds J⁻¹·v that move the tip at `velocity`, (..., 2), rad/s.

        Args:
            q: configuration, (..., 2), rad.
            velocity: (ẋ, ż) of the tip, (..., 2), m/s.

        Raises:
            OutOfBoundsError: the arm is straight or folded (sin q2 = 0), where the tip can only move across it.
                A velocity of zero is always possible.
        """
        q, v = np.broadcast_arrays(*_pairs(q=q, velocity=velocity))
        singular = np.abs(np.sin(q[..., 1])) < _SINGULAR
        stuck = singular & (v != 0.0).any(axis=-1)
        if stuck.any():
            index = _first(stuck)
            raise OutOfBoundsError(
                f"q{_place(index)} = {_show(q[index])} rad is singular (sin q2 = {np.sin(q[index][1]):.1e}: the "
                f"arm is straight or folded): no joint speeds move the tip at {_show(v[index])} m/s."
            )
        J = np.where(singular[..., None, None], np.eye(2), self.jacobian(q))  # where singular, v = 0 and so is dq
        return _solved(J, v)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M(q), (..., 2, 2), kg·m²: symmetric, positive definite, a function of q2 alone."""
        (q,) = _pairs(q=q)
        near = (self.m1 / 3.0 + self.m2) * self.l1**2
        far = self.m2 * self.l2**2 / 3.0
        coupling = self._coupling * np.cos(q[..., 1])
        return _matrix(near + far + 2.0 * coupling, far + coupling, far + coupling, far)

    def coriolis_matrix(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return C(q, q̇), (..., 2, 2), N·m·s, from the Christoffel symbols of M, so that Ṁ − 2C is skew."""
        q, dq = _pairs(q=q, dq=dq)
        h = self._coupling * np.sin(q[..., 1])
        return _matrix(-h * dq[..., 1], -h * (dq[..., 0] + dq[..., 1]), h * dq[..., 0], 0.0)

    def gravity_torque(self, q: ArrayLike) -> Array:
        """Return g(q), (..., 2), N·m: the torques that hold the arm still, ∂/∂q of the potential energy."""
        first, both = _angles(*_pairs(q=q))
        far = 0.5 * self.m2 * self.gravity * self.l2 * np.cos(both)
        near = (0.5 * self.m1 + self.m2) * self.gravity * self.l1 * np.cos(first)
        return _vector(near + far, far)

    def inverse_dynamics(self, q: ArrayLike, dq: ArrayLike, ddq: ArrayLike) -> Array:
        """Return the torques M·q̈ + C·q̇ + g of a motion, (..., 2), N·m."""
        q, dq, ddq = _pairs(q=q, dq=dq, ddq=ddq)
        return _product(self.mass_matrix(q), ddq) + self._bias(q, dq)

    def forward_dynamics(self, q: ArrayLike, dq: ArrayLike, torque: ArrayLike) -> Array:
        """Return the accelerations q̈ = M⁻¹·(τ − C·q̇ − g) under the drives' torques, (..., 2), rad/s²."""
        q, dq, torque = _pairs(q=q, dq=dq, torque=torque)
        return _solved(self.mass_matrix(q), torque - self._bias(q, dq))

    def energy(self, q: ArrayLike, dq: ArrayLike) -> Array:
        """Return the kinetic energy ½·q̇ᵀ·M·q̇ plus the potential one, zero at the shoulder's height, (...), J."""
        q, dq = _pairs(q=q, dq=dq)
        first, both = _angles(q)
        height = (0.5 * self.m1 + self.m2) * self.l1 * np.sin(first) + 0.5 * self.m2 * self.l2 * np.sin(both)
        kinetic = 0.5 * np.sum(dq * _product(self.mass_matrix(q), dq), axis=-1)
        return np.asarray(kinetic + self.gravity * height, dtype=np.float64)

    @property
    def _coupling(self) -> float:
        return 0.5 * self.m2 * self.l1 * self.l2

    def _bias(self, q: Array, dq: Array) -> Array:
        return _product(self.coriolis_matrix(q, dq), dq) + self.gravity_torque(q)

    def _bend(self, target: Array) -> Array:
        """Return |q2| for tips at `target`, in [0, π]; raise if one is out of reach."""
        near, far = self.reach
        distance = np.hypot(target[..., 0], target[..., 1])
        outside = (distance > far * (1.0 + _EDGE)) | (distance < near - far * _EDGE)
        if outside.any():
            index = _first(outside)
            fault = "near" if distance[index] < near else "far"
            raise OutOfBoundsError(
                f"position{_place(index)} = {_show(target[index])} m is too {fault}: {distance[index]:.6g} m from "
                f"the shoulder; the arm reaches from {near:.6g} to {far:.6g} m."
            )
        r = np.clip(distance, near, far)
        return 2.0 * np.arctan2(np.sqrt((far - r) * (far + r)), np.sqrt((r - near) * (r + near)))

    def _branch(self, bearing: Array, q2: Array) -> Array:
        """Return (q1, q2) for a tip seen from the shoulder at the angle `bearing`."""
        q1 = bearing - np.arctan2(self.l2 * np.sin(q2), self.l1 + self.l2 * np.cos(q2))
        return _vector(q1, q2)


def _pairs(**values: ArrayLike) -> tuple[Array, ...]:
    """Return every value as finite floats (..., 2) that broadcast against each other."""
    arrays = {name: all_finite(name, number_array(name, value)) for name, value in values.items()}
    for name, array in arrays.items():
        if array.shape[-1:] != (2,):
            raise ShapeError(f"{name} has shape {array.shape}; (..., 2) is needed: one number per joint or axis.")
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ShapeError(f"shapes do not broadcast against each other: {found}.") from error
    return tuple(arrays.values())


def _angles(q: Array) -> tuple[Array, Array]:
    """Return the directions of both rods from +x, each (...)."""
    return q[..., 0], q[..., 0] + q[..., 1]


def _wrapped(angle: Array) -> Array:
    """Return the angle less the whole turns in it, in [−π, π]."""
    return angle - 2.0 * np.pi * np.round(angle / (2.0 * np.pi))


def _vector(a: Array, b: Array) -> Array:
    """Return (a, b) for entries of shape (...). Much faster than `np.stack` for a single configuration."""
    vector = np.empty((*np.broadcast_shapes(a.shape, b.shape), 2))
    vector[..., 0], vector[..., 1] = a, b
    return vector


def _matrix(a: Array, b: Array, c: Array, d: Array | float) -> Array:
    """Return [[a, b], [c, d]] for entries of shape (...)."""
    matrix = np.empty((*np.broadcast_shapes(a.shape, b.shape), 2, 2))
    matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 0], matrix[..., 1, 1] = a, b, c, d
    return matrix


def _product(matrix: Array, vector: Array) -> Array:
    return np.asarray(np.matmul(matrix, vector[..., None])[..., 0], dtype=np.float64)


def _solved(matrix: Array, vector: Array) -> Array:
    """Return x of matrix·x = vector."""
    return np.asarray(np.linalg.solve(matrix, vector[..., None])[..., 0], dtype=np.float64)


def _first(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the index of the first True."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def _place(index: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""


def _show(pair: Array) -> str:
    return f"({pair[0]:.6g}, {pair[1]:.6g})"
