"""Where an arm with soft joints rests and what it is like there, from spring laws and gravity alone.

What simulations are compared with: nothing is simulated here. The laws are evaluated in Python and the balance
is found by root finding, so that neither the compiled joints nor an integrator has a part in it. Only gravity and
inertia come from MuJoCo.
"""

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import CompliantJoint, JointOnModel, compliant_joints
from pliant.controllers.checks import Array, finite_array
from pliant.controllers.frequency_response import LinearJoint
from pliant.controllers.spring_compensation import GravityTorque, holding_equilibria
from pliant.errors import ConfigurationError, RobotError

_STEP = 1e-5
"""Half the width of the central difference of gravity, rad."""


class StaticArm:
    """The balance of an arm whose every degree of freedom is an elastic joint given equilibrium and preset.

    Raises:
        ConfigurationError: the model moves in other ways too, or a joint is not in mode 3 or 6.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model, self._data, self._holding = model, mujoco.MjData(model), GravityTorque(model)
        found = compliant_joints(model)
        if len(found) != model.nv:
            raise ConfigurationError(f"{model.nv} degrees of freedom, but {len(found)} of them compliant joints.")
        for joint in found:
            if not joint.description.mode.maps_references:
                raise ConfigurationError(
                    f"joint {joint.name!r} is in mode {int(joint.description.mode)}; a rest angle follows from "
                    "equilibrium and preset, modes 3 and 6."
                )
        self._joints = found
        self._qpos = model.jnt_qposadr[[joint.joint for joint in found]]
        self._dof = model.jnt_dofadr[[joint.joint for joint in found]]
        self._yield = np.array([_motor_compliance(joint) for joint in found])

    @property
    def joints(self) -> tuple[JointOnModel, ...]:
        """The joints, in the order of every per-joint array."""
        return self._joints

    def gravity(self, position: ArrayLike) -> Array:
        """Torque of gravity on the joints, (joints,), N·m, positive along +q."""
        angles = np.zeros(self._model.nq)
        angles[self._qpos] = finite_array("position", position, (len(self._joints),))
        return np.array(-self._holding(angles)[self._dof])

    def inertia(self, position: ArrayLike) -> Array:
        """Inertia that each joint moves while the others stand still, M_ii, (joints,), kg·m²."""
        self._data.qpos[self._qpos] = finite_array("position", position, (len(self._joints),))
        mujoco.mj_fwdPosition(self._model, self._data)
        mass = np.empty((self._model.nv, self._model.nv))
        mujoco.mj_fullM(self._model, self._data, mass)
        return np.array(mass.diagonal()[self._dof])

    def rest(
        self,
        equilibrium: ArrayLike,
        preset: ArrayLike,
        guess: ArrayLike | None = None,
        load: ArrayLike | None = None,
    ) -> Array:
        """Angles at which the arm rests, without dry friction, (joints,), rad.

        The q that solves Σᵢ τᵢ(q, θ1, θ2) + τ_gravity(q) + load = 0. Ideal motors (mode 3) stand at their
        references r; in mode 6 the position loop yields to the spring, θᵢ = rᵢ − τᵢ/kp (not with integral action).

        Args:
            equilibrium: θeq, (joints,), rad.
            preset: stiffness preset, (joints,), rad (m for a pivot).
            guess: angles to start from, (joints,), rad; None: `equilibrium`.
            load: further torque on the joints, (joints,), N·m, as dry friction puts on them; None: none.

        Raises:
            RobotError: no balance is found: the springs cannot hold the arm, or the guess is too far off.
        """
        from scipy.optimize import root

        count = len(self._joints)
        references = self._references(equilibrium, preset)
        start = finite_array("guess", equilibrium if guess is None else guess, (count,))
        further = finite_array("load", np.zeros(count) if load is None else load, (count,))

        def springs(position: Array, torques: Array) -> Array:
            """Torques of the springs on the link, (joints, 2), with the motors that `torques` leave behind."""
            motors = references - torques * self._yield[:, None]
            lines = zip(self._joints, position.tolist(), motors.tolist(), strict=True)
            return np.array([joint.description.law.torques(q, *pair) for joint, q, pair in lines])

        def unbalance(unknown: Array) -> Array:
            position, torques = unknown[:count], unknown[count:].reshape(count, 2)
            balance = torques.sum(axis=1) + self.gravity(position) + further
            return np.concatenate([balance, (springs(position, torques) - torques).ravel()])

        found = root(unbalance, np.concatenate([start, np.zeros(2 * count)]), tol=1e-12)
        if np.abs(unbalance(found.x)).max() > 1e-9:
            raise RobotError(f"no balance found from {np.round(start, 4).tolist()} rad: {found.message}")
        return np.array(found.x[:count])

    def holding(self, position: ArrayLike, preset: ArrayLike) -> Array:
        """Equilibria that hold the arm at `position`, (joints,), rad, with ideal motors: the inverse of `rest`.

        Args:
            position: q, (joints,), rad.
            preset: stiffness preset, (joints,), rad (m for a pivot).

        Raises:
            OutOfBoundsError: a spring cannot hold its joint there.
        """
        laws = [joint.description.law for joint in self._joints]
        return holding_equilibria(laws, position, -self.gravity(position), preset)

    def linear(
        self, equilibrium: ArrayLike, preset: ArrayLike, position: ArrayLike | None = None
    ) -> tuple[LinearJoint, ...]:
        """The joints linearised where they rest, each with the others held and with ideal motors.

        K = −∂τ/∂q of the law, I = M_ii, d of MuJoCo's joint, G = −∂τ_gravity,i/∂qᵢ by a central difference.

        Args:
            equilibrium: θeq, (joints,), rad.
            preset: stiffness preset, (joints,), rad (m for a pivot).
            position: linearise here instead, (joints,), rad.
        """
        q = self.rest(equilibrium, preset) if position is None else finite_array("position", position, (None,))
        inertia = self.inertia(q)
        linear = []
        for i, (joint, pair) in enumerate(
            zip(self._joints, self._references(equilibrium, preset).tolist(), strict=True)
        ):
            step = _STEP * np.eye(len(q))[i]
            fall = (self.gravity(q - step) - self.gravity(q + step))[i] / (2.0 * _STEP)
            stiffness = joint.description.law.stiffness(float(q[i]), *pair)
            damping = float(self._model.dof_damping[self._dof[i]])
            linear.append(LinearJoint(stiffness, float(inertia[i]), damping, float(fall)))
        return tuple(linear)

    def _references(self, equilibrium: ArrayLike, preset: ArrayLike) -> Array:
        """Motor references, (joints, 2); the second is not used by a joint with one motor."""
        count = len(self._joints)
        first = finite_array("equilibrium", equilibrium, (count,)).tolist()
        second = finite_array("preset", preset, (count,)).tolist()
        pairs = [
            joint.description.law.references(e, s) for joint, e, s in zip(self._joints, first, second, strict=True)
        ]
        return np.array(pairs, dtype=np.float64)


def _motor_compliance(joint: JointOnModel) -> float:
    """How far a loaded motor stays behind its reference, rad per N·m; 0 for ideal motors and integral action."""
    description: CompliantJoint = joint.description
    if not description.mode.has_motors or description.pid is None or description.pid.ki > 0.0:
        return 0.0
    return 1.0 / description.pid.kp
