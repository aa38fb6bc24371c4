"""What the controller takes its arm to be: kinematics and dynamics with payload and TCP as set."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pliant.controllers.ur_kinematics import UrKinematics
from pliant.envs.emulators.ur.arm import TOOL, nominal_spec
from pliant.envs.emulators.ur.poses import Array, as_matrix, compose, rotation_matrix, rotation_vector
from pliant.errors import OutOfBoundsError
from pliant.hardware.ur_arms import UrArm

_IDENTITY = np.eye(6)
_ITERATIONS = 10
_CLOSE = 0.3
"""How far Newton's steps may lead and still be taken for the nearest solution, rad."""


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
        self.set_tcp(np.zeros(6))
        self.payload = 0.0
        self.cog = np.zeros(3)

    def set_tcp(self, pose: Sequence[float] | Array) -> None:
        """Set the tool centre point in the flange."""
        self.tcp = np.array(pose, dtype=float)
        self._tcp_turn = rotation_matrix(self.tcp[3:])
        self._closed = UrKinematics(self.parameters, as_matrix(self.tcp))

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
        """Return the joint angles nearest to `near` that bring the TCP to a pose; None if it is out of reach.

        Newton's steps, if they end close by, as they do on a path; else the nearest of all closed solutions.
        """
        q = self._newton(pose, near, max(position, 1e-9), max(orientation, 1e-9))
        if q is not None and float(np.abs(q - near).max()) < _CLOSE:
            return q
        try:
            return self._closed.inverse(as_matrix(pose), near)[0].q
        except OutOfBoundsError:
            return None

    def _newton(self, pose: Array, near: Array, position: float, orientation: float) -> Array | None:
        q = np.array(near, dtype=float)
        goal, turn = pose[:3], rotation_matrix(pose[3:])
        left = np.empty(6)
        for _ in range(_ITERATIONS):
            self.move(q)
            place, flange = self.flange()
            left[:3] = goal - place - flange @ self.tcp[:3]
            left[3:] = rotation_vector(turn @ (flange @ self._tcp_turn).T)
            squares = left * left
            if squares[:3].sum() <= position**2 and squares[3:].sum() <= orientation**2:
                return q
            q = q + self.solve(left)
        return None

    def solve(self, twist: Array, damping: float = 1e-6) -> Array:
        """Return the joint speeds of a twist of the TCP where the arm is, damped least squares."""
        jacobian = self.jacobian()
        weighted = jacobian @ jacobian.T + damping * _IDENTITY
        out: Array = jacobian.T @ np.linalg.solve(weighted, twist)
        return out
