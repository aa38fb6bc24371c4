"""The lying two-joint arm with Coulomb friction, from event to event: what simulations are compared with.

A joint sticks, or slips in one direction, until its speed passes zero or the load on it exceeds its friction;
between such events the motion is smooth and is left to SciPy. The planar arm, motors, position loops and friction
are written out here; MuJoCo has a part in the numbers of the links only.
"""

import itertools
from collections.abc import Callable, Sequence

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.actuators import compliant_joints
from pliant.controllers.checks import Array
from pliant.errors import ConfigurationError, RobotError

_ROUNDING = 1e-9
"""Share of its friction by which the load on a stuck joint may exceed it; part of an interval left off its end."""
_MOST_EVENTS = 10_000
"""Between two jumps of the reference."""
_Inputs = Callable[[float], tuple[Array, Array]]
"""Motor references, (4,), rad, and push on the joints, (2,), N·m, at a time."""


class CoulombArm:
    """Two links in a plane without gravity, each joint with springs between two motors in mode 6.

    The state is q (2), q̇ (2), θ (4), θ̇ (4), the anchors of the motors' bristles (4) and their smoothed references
    (4), rad and rad/s; the two motors of the first joint go before those of the second.

    Args:
        model: of the arm; its dry friction is that of this one, its solver has no part in it.

    Raises:
        ConfigurationError: not two hinges with one axis, or not joints of two motors in mode 6 with a PID.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        joints = compliant_joints(model)
        descriptions = [joint.description for joint in joints]
        gains = [d.pid for d in descriptions if d.pid is not None and d.pid.derivative_filter > 0.0]
        if len(joints) != 2 or len(gains) != 2 or any(d.mode.value != 6 or d.motors != 2 for d in descriptions):
            raise ConfigurationError(
                "CoulombArm: two joints of two motors in mode 6 with a PID and its derivative filter are needed."
            )
        self._laws = [description.law for description in descriptions]
        self._motors = [description.motor for description in descriptions for _ in range(2)]
        self._gains = [pid for pid in gains for _ in range(2)]
        self._friction = np.array(model.dof_frictionloss)
        self._damping = np.array(model.dof_damping)
        self._mass = _mass_matrix(model)

    def run(
        self,
        breaks: Sequence[float],
        reference: Callable[[float], ArrayLike],
        times: Array,
        push: Callable[[float], ArrayLike] = lambda _: (0.0, 0.0),
    ) -> Array:
        """Return q and q̇ at `times`, (n, 4), from rest at q = 0 with the motors at their first references.

        Args:
            breaks: the first and the last instant, and between them those at which reference or push jump, s.
            reference: of the motors at a time, (4,), rad; smooth between the breaks.
            push: torque on the joints at a time besides the springs', (2,), N·m; smooth between the breaks.
            times: increasing, s.

        Raises:
            RobotError: the integration fails.
        """
        first = np.asarray(reference(breaks[0]), np.float64)
        state, found = np.concatenate([np.zeros(4), first, np.zeros(4), first, first]), []
        for begin, end in itertools.pairwise(breaks):
            edge = _ROUNDING * (end - begin)  # so that neither end belongs to the interval beyond it

            def at(t: float, low: float = begin + edge, high: float = end - edge) -> tuple[Array, Array]:
                t = min(max(t, low), high)
                return np.asarray(reference(t), np.float64), np.asarray(push(t), np.float64)

            state, part = self._interval(state, at, begin, end, times[(times >= begin) & (times < end)])
            found.append(part)
        return np.concatenate([*found, np.repeat(state[None, :4], np.count_nonzero(times >= breaks[-1]), axis=0)])

    def _interval(self, state: Array, at: _Inputs, now: float, end: float, times: Array) -> tuple[Array, Array]:
        """State at the end of an interval without jumps, and q and q̇ at the times within it, (n, 4)."""
        from scipy.integrate import solve_ivp

        found = np.empty((len(times), 4))
        slip = self._slip(state, *at(now), np.zeros(2, bool))
        for _ in range(_MOST_EVENTS):

            def rates(t: float, x: Array, slip: Array = slip) -> Array:
                return self._rates(x, *at(t), slip)[0]

            motion = solve_ivp(
                rates,
                (now, end),
                state,
                "DOP853",
                dense_output=True,
                events=[self._event(joint, slip, at) for joint in range(2)],
                rtol=1e-8,
                atol=1e-10,
            )
            assert motion.sol is not None
            assert motion.t_events is not None
            passed = (times >= now) & (times < motion.t[-1])
            if passed.any():
                found[passed] = motion.sol(times[passed])[:4].T
            now, state = float(motion.t[-1]), np.array(motion.y[:, -1])
            if motion.status == 0:
                return state, found
            if motion.status < 0:
                break
            met = np.array([len(instants) > 0 for instants in motion.t_events])
            state[2:4][met & (slip != 0)] = 0.0
            slip = self._slip(state, *at(now), met & (slip == 0))
        raise RobotError(f"CoulombArm: the integration fails at {now:.4f} s: {motion.message}")

    def _event(self, joint: int, slip: Array, at: _Inputs) -> Callable[[float, Array], float]:
        """What passes zero when a joint stops, or when the load on a stuck one exceeds its friction."""

        def margin(t: float, x: Array) -> float:
            if slip[joint]:
                return float(slip[joint] * x[2 + joint]) + 1e-12
            held = self._rates(x, *at(t), slip)[1][joint]
            return float(self._friction[joint] * (1.0 + _ROUNDING) - abs(held))

        margin.terminal, margin.direction = True, -1.0  # type: ignore[attr-defined]
        return margin

    def _slip(self, state: Array, reference: Array, push: Array, torn: NDArray[np.bool_]) -> Array:
        """Direction in which each joint slips from here on, (2,); 0 where it sticks and is not torn loose."""
        held = self._rates(state, reference, push, np.sign(state[2:4]))[1]
        choices = [(int(np.sign(speed)),) if speed else (0, -1, 1) for speed in state[2:4]]
        choices = [(-int(np.sign(held[j])),) if torn[j] else ways for j, ways in enumerate(choices)]
        for slip in itertools.product(*choices):
            rates, held = self._rates(state, reference, push, np.array(slip))
            if all(
                abs(held[j]) <= self._friction[j] * (1.0 + _ROUNDING) if way == 0 else way * rates[2 + j] > 0.0
                for j, way in enumerate(slip)
                if state[2 + j] == 0.0 and not torn[j]
            ):
                return np.array(slip)
        raise RobotError("CoulombArm: no joint can stick or slip.")

    def _rates(self, x: Array, reference: Array, push: Array, slip: Array) -> tuple[Array, Array]:
        """Time derivative of the state, (20,), and the friction that holds stuck joints, (2,), N·m."""
        q, dq, theta, speed, anchor, smoothed = x[:2], x[2:4], x[4:8], x[8:12], x[12:16], x[16:]
        springs = np.array([law.torques(q[j], *theta[2 * j : 2 * j + 2]) for j, law in enumerate(self._laws)])
        mass, coriolis = self._mass(q[1], dq)
        load = springs.sum(axis=1) - self._damping * dq - coriolis + push - self._friction * slip
        free, stuck = np.flatnonzero(slip), np.flatnonzero(slip == 0)
        acceleration, held = np.zeros(2), np.zeros(2)
        acceleration[free] = np.linalg.solve(mass[np.ix_(free, free)], load[free])
        held[stuck] = (mass @ acceleration - load)[stuck]
        rates = np.concatenate([np.where(slip, dq, 0.0), acceleration, speed, np.zeros(12)])
        for k, (motor, gains) in enumerate(zip(self._motors, self._gains, strict=True)):
            wanted = (reference[k] - smoothed[k]) / gains.derivative_filter
            slower = gains.derivative_weight * wanted - speed[k]
            torque = gains.kp * (reference[k] - theta[k]) + gains.kd * slower
            bristle = motor.bristle_stiffness * (theta[k] - anchor[k])
            friction = min(max(bristle, -motor.static_friction), motor.static_friction)
            force = min(max(torque, -motor.torque_limit), motor.torque_limit)
            net = force - motor.damping * speed[k] - friction - springs[k // 2, k % 2]
            at_limit = abs(speed[k]) >= motor.speed_limit and net * speed[k] > 0.0
            rates[8 + k] = 0.0 if at_limit else net / motor.inertia
            slipping = abs(bristle) >= motor.static_friction and bristle * speed[k] >= 0.0
            rates[12 + k] = speed[k] if slipping else 0.0
            rates[16 + k] = wanted
        return rates, held


def _mass_matrix(model: mujoco.MjModel) -> Callable[[float, Array], tuple[Array, Array]]:
    """Inertia matrix and torque of centripetal and Coriolis forces of a planar arm of two links with z axes."""
    links = model.jnt_bodyid
    if not np.allclose(model.jnt_axis, [0.0, 0.0, 1.0]) or not np.allclose(
        model.body_quat[links[1]], [1, 0, 0, 0]
    ):
        raise ConfigurationError("CoulombArm: both hinges must turn about the z axis of their links.")
    (m1, m2), (c1, c2) = model.body_mass[links], model.body_ipos[links]
    turned = np.zeros((2, 9))
    for k, link in enumerate(links):
        mujoco.mju_quat2Mat(turned[k], model.body_iquat[link])
    i1, i2 = (
        float(turned[k].reshape(3, 3)[2] ** 2 @ model.body_inertia[link]) + model.dof_armature[k]
        for k, link in enumerate(links)
    )
    elbow = model.body_pos[links[1]][:2]
    own1 = float(i1 + m1 * c1[:2] @ c1[:2] + m2 * elbow @ elbow)
    own2 = float(i2 + m2 * c2[:2] @ c2[:2])

    def matrix(q2: float, dq: Array) -> tuple[Array, Array]:
        turn = np.array([[np.cos(q2), -np.sin(q2)], [np.sin(q2), np.cos(q2)]])
        across = float(m2 * elbow @ turn @ c2[:2])
        slope = float(m2 * elbow @ turn @ np.array([-c2[1], c2[0]]))
        both = own2 + across
        mass = np.array([[own1 + own2 + 2.0 * across, both], [both, own2]])
        return mass, slope * np.array([2.0 * dq[0] * dq[1] + dq[1] ** 2, -(dq[0] ** 2)])

    return matrix
