"""What the controller takes its arm to be: kinematics and dynamics with payload and TCP as set."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pliant.envs.emulators.ur.arm import TOOL, nominal_spec
from pliant.envs.emulators.ur.poses import Array, compose, difference, rotation_matrix, rotation_vector
from pliant.hardware.ur_arms import UrArm

_ITERATIONS = 100
_LARGEST_STEP = 0.5
"""Of one iteration of inverse kinematics, rad."""


class NominalArm:
    """Kinematics and dynamics of the arm as it should be.

    Args:
        parameters: of the arm.
    """

    def __init__(self, parameters: UrArm) -> None:
        self.parameters = parameters
        self.model = nominal_spec(parameters).compile()
        self.data = mujoco.MjData(self.model)
        self._body = int(self.model.body(TOOL).id)
        self._linear, self._angular = np.zeros((3, 6)), np.zeros((3, 6))
        self._mass = np.zeros((6, 6))
        self.tcp = np.zeros(6)
        self._tcp_turn = np.eye(3)
        self.payload = 0.0
        self.cog = np.zeros(3)

    def set_tcp(self, pose: Sequence[float] | Array) -> None:
        """Set the tool centre point in the flange."""
        self.tcp = np.array(pose, dtype=float)
        self._tcp_turn = rotation_matrix(self.tcp[3:])

    def set_payload(self, mass: float, cog: Sequence[float] | Array) -> None:
        """Set the payload, kg, and its centre in the flange, m."""
        self.payload, self.cog = float(mass), np.array(cog, dtype=float)
        self.model.body_mass[self._body] = max(mass, 1e-6)
        self.model.body_ipos[self._body] = self.cog
        mujoco.mj_setConst(self.model, self.data)

    def set_gravity(self, direction: Sequence[float] | Array) -> None:
        """Set the acceleration of gravity as the client gives it: against the direction things fall in, m/s²."""
        self.model.opt.gravity[:] = -np.asarray(direction, dtype=float)

    def move(self, q: Array, qd: Array | None = None) -> None:
        """Put the arm where the following questions are asked."""
        self.data.qpos[:] = q
        self.data.qvel[:] = 0.0 if qd is None else qd
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def flange(self) -> tuple[Array, Array]:
        """Return place and rotation of the flange, views."""
        return self.data.xpos[self._body], self.data.xmat[self._body].reshape(3, 3)

    def pose(self) -> Array:
        """Return the pose of the TCP in the base."""
        place, turn = self.flange()
        out = np.empty(6)
        out[:3] = place + turn @ self.tcp[:3]
        out[3:] = rotation_vector(turn @ self._tcp_turn)
        return out

    def flange_pose(self) -> Array:
        """Return the pose of the flange in the base."""
        place, turn = self.flange()
        return np.concatenate([place, rotation_vector(turn)])

    def jacobian(self) -> Array:
        """Return the Jacobian of the TCP, shape (6, 6): linear rows first, in base axes."""
        place, turn = self.flange()
        point = place + turn @ self.tcp[:3]
        mujoco.mj_jac(self.model, self.data, self._linear, self._angular, point, self._body)
        return np.vstack([self._linear, self._angular])

    def jacobian_derivative(self, q: Array, qd: Array) -> Array:
        """Return the time derivative of the Jacobian of the TCP at a state, shape (6, 6)."""
        self.move(q, qd)
        mujoco.mj_comVel(self.model, self.data)
        place, turn = self.flange()
        point = place + turn @ self.tcp[:3]
        mujoco.mj_jacDot(self.model, self.data, self._linear, self._angular, point, self._body)
        return np.vstack([self._linear, self._angular])

    def torques(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return the torques of a motion by inverse dynamics, N·m."""
        data = self.data
        self.move(q, qd)
        data.qacc[:] = qdd
        mujoco.mj_comVel(self.model, data)
        out = np.zeros(6)
        mujoco.mj_rne(self.model, data, 1, out)
        return out

    def gravity(self, q: Array) -> Array:
        """Return the torques that hold the arm, N·m."""
        return self.torques(q, np.zeros(6), np.zeros(6))

    def mass_matrix(self, q: Array) -> Array:
        """Return the mass matrix at a pose, shape (6, 6)."""
        self.move(q)
        mujoco.mj_makeM(self.model, self.data)
        mujoco.mj_fullM(self.model, self.data, self._mass)
        return self._mass.copy()

    def forward(self, q: Array, tcp: Sequence[float] | Array | None = None) -> Array:
        """Return the pose of the TCP, or of `tcp`, at joint angles."""
        self.move(q)
        return self.pose() if tcp is None else compose(self.flange_pose(), tcp)

    def inverse(
        self, pose: Array, near: Array, position: float = 1e-10, orientation: float = 1e-10
    ) -> Array | None:
        """Return joint angles near `near` that bring the TCP to a pose; None if none are found.

        Newton's steps on the twist that is left, damped where the arm is singular.
        """
        q = np.array(near, dtype=float)
        tolerance = max(position, 1e-9), max(orientation, 1e-9)
        for _ in range(_ITERATIONS):
            self.move(q)
            left = difference(pose, self.pose())
            if np.linalg.norm(left[:3]) <= tolerance[0] and np.linalg.norm(left[3:]) <= tolerance[1]:
                return q
            step = self.solve(left)
            largest = float(np.abs(step).max())
            q = q + (step if largest < _LARGEST_STEP else step * (_LARGEST_STEP / largest))
        return None

    def solve(self, twist: Array, damping: float = 1e-6) -> Array:
        """Return the joint speeds of a twist of the TCP where the arm is, damped least squares."""
        jacobian = self.jacobian()
        weighted = jacobian @ jacobian.T
        weighted[np.diag_indices(6)] += damping
        out: Array = jacobian.T @ np.linalg.solve(weighted, twist)
        return out
