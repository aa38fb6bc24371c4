"""The robot behind the controller: an arm in MuJoCo with parameters of its own, and its sensors.

Under position control a joint is a motor that follows its reference, and a gear between motor and link, which is
a series elastic actuator's spring: τ = k·(θ − q) + d·(θ̇ − q̇). It is an affine actuator of MuJoCo's own, which is
integrated implicitly. Under torque control (`directTorque`, freedrive, teaching) the torque acts on the link
together with the inertia of the rotor and with friction.
"""

import math

import mujoco
import numpy as np

from pliant.envs.emulators.ur.arm import FLANGE, FORCE, TOOL, TORQUE, Arm
from pliant.envs.emulators.ur.poses import Array
from pliant.envs.emulators.ur.settings import ControllerSettings, Gap
from pliant.hardware.ur_arms import JOINTS, LINKS

_STEP = 0.001
"""Longest time step, s."""
_STIFFNESS = 60.0
"""Stiffness of a gear, as a multiple of the joint's largest torque, 1/rad: about 20 kN·m/rad at the shoulder."""
_RIGID = 20.0
"""How many times stiffer than usual a gear without compliance is."""
_LOOP = 300.0
"""Bandwidth of the motor's position loop, rad/s."""
_COULOMB, _VISCOUS = 0.05, 0.04
"""Friction in the joints, as parts of the largest torque: N·m, and N·m·s/rad."""
_ROTOR = 0.005
"""Inertia of the rotor seen from the link, as a part of the largest torque, s²."""
_CONSTANT = (14.5, 14.5, 11.5, 9.5, 9.5, 9.5)
"""Torque at the joint per current of its motor, N·m/A; estimated."""
_DRIFT_TIME = 300.0
"""Time in which most of the force sensor's drift comes about, s."""
_UNKNOWN_RADIUS = 0.05
"""Radius of gyration of the mass that the controller does not know of, m."""
_JOINTS = len(JOINTS)
"""The arm's joints come first; what stands around it may have some of its own."""
_SLOW = 0.5
"""Rate at which the joints' own encoders correct what the gears yield, 1/s."""


class Plant:
    """The arm, moved on cycle by cycle.

    Args:
        arm: with what is mounted on it.
        settings: start, payload and gap.
        cycle: of the controller, s.
    """

    def __init__(self, arm: Arm, settings: ControllerSettings, cycle: float) -> None:
        gap = settings.gap
        self._gap = gap
        self._random = np.random.default_rng(settings.seed)
        self.limit = arm.torque
        """Largest torques, N·m."""
        self._substeps = math.ceil(cycle / _STEP - 1e-9)
        softness = gap.flexibility if gap.flexibility > 1.0 / _RIGID else 1.0 / _RIGID
        self._stiffness = _STIFFNESS * self.limit / softness
        self.model = self._compile(arm, gap, cycle / self._substeps)
        self.data = mujoco.MjData(self.model)
        self.q[:] = settings.start
        mujoco.mj_forward(self.model, self.data)
        self._damping = -self.model.actuator_biasprm[:, 2].copy()
        self.coulomb = gap.friction * _COULOMB * self.limit
        """Coulomb friction of the joints, N·m."""
        self._viscous = gap.friction * _VISCOUS * self.limit
        self._body = int(self.model.body(TOOL).id)
        self._site = int(self.model.site(FLANGE).id)
        self._sensors = [int(self.model.sensor(name).adr[0]) for name in (FORCE, TORQUE)]
        self._cycle = cycle
        self._follow = 1.0 - math.exp(-_LOOP * cycle)
        self.torque = np.zeros(6)
        """Torques of the motors, N·m, friction included."""
        self.push = np.zeros(6)
        """Force, N, and torque, N·m, that somebody exerts on the flange, in base axes."""
        self._motor = self.q.copy()
        self._correction = np.zeros(6)
        self._target = self._motor.copy()
        self._torque_mode = False
        self._drift = 0.0
        self._extra_drift = np.zeros(6)

    def _compile(self, arm: Arm, gap: Gap, step: float) -> mujoco.MjModel:
        spec = arm.spec.copy()
        spec.option.timestep = step
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
        for name in LINKS:
            body = spec.body(name)
            body.mass *= 1.0 + gap.mass
            body.fullinertia = body.fullinertia * (1.0 + gap.mass)
        if gap.payload > 0.0:
            unknown = spec.body(TOOL).add_body(name="unknown payload")
            unknown.explicitinertial, unknown.mass = True, gap.payload
            unknown.inertia = [_UNKNOWN_RADIUS**2 * gap.payload] * 3
        for joint in spec.joints:
            # A limit here would cut what the gears do explicitly, of which the integrator takes back a part; what
            # the motors cannot give stops the arm instead, see `Safety`.
            joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE
        for name, stiffness in zip(JOINTS, self._stiffness, strict=True):
            actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            actuator.set_to_position(kp=float(stiffness), dampratio=1.0)
            actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
        return spec.compile()

    @property
    def q(self) -> Array:
        """Angles of the links, rad: a view."""
        q: Array = self.data.qpos[:_JOINTS]
        return q

    @property
    def qd(self) -> Array:
        """Speeds of the links, rad/s: a view."""
        qd: Array = self.data.qvel[:_JOINTS]
        return qd

    def settle(self, feedforward: Array) -> None:
        """Let the motors stand where the gears carry the arm in its pose.

        Args:
            feedforward: torques that the controller expects the gears to carry, N·m.
        """
        data = self.data
        data.qvel[:] = 0.0
        mujoco.mj_forward(self.model, data)
        self.torque = data.qfrc_bias[:_JOINTS].copy()
        self._motor[:] = self.q + self.torque / self._stiffness
        self._correction = (self.torque - feedforward) / self._stiffness
        data.ctrl[:] = self._motor
        mujoco.mj_forward(self.model, data)

    def track(self, q: Array, qd: Array, feedforward: Array) -> None:
        """Move on by a cycle with the motors on their way to `q`.

        Args:
            q, qd: target angles, rad, and speeds, rad/s.
            feedforward: torques that the controller expects the gears to carry, N·m.
        """
        model, data = self.model, self.data
        if self._torque_mode:
            self._leave_torque_mode(feedforward)
        self._correction += _SLOW * self._cycle * (self._target - self.q)
        self._target = q
        goal = q + feedforward / self._stiffness + self._correction
        before = self._motor
        self._motor = before + self._follow * (goal - before) + (1.0 - self._follow) * qd * self._cycle
        speed = (self._motor - before) / self._cycle
        data.ctrl[:] = before + self._damping / self._stiffness * speed
        step = (self._motor - before) / self._substeps
        self._apply_push()
        for _ in range(self._substeps):
            data.ctrl += step
            mujoco.mj_step(model, data)
        # What the gears carry, and what the motors need beyond it against friction. The integrator takes the gears
        # implicitly, so what they carry is told by the end of the step.
        carried = self._stiffness * (data.ctrl - self.q) - self._damping * self.qd
        self.torque = carried + self._viscous * speed + self.coulomb * np.tanh(speed / 0.01)

    def push_through(self, torque: Array) -> None:
        """Move on by a cycle with torques of the motors, N·m; friction is theirs to overcome."""
        model, data = self.model, self.data
        if not self._torque_mode:
            self._enter_torque_mode()
        self.torque = np.clip(torque, -self.limit, self.limit)
        data.qfrc_applied[:_JOINTS] = self.torque
        self._apply_push()
        for _ in range(self._substeps):
            mujoco.mj_step(model, data)

    def _apply_push(self) -> None:
        """Let the push act at the flange; MuJoCo takes it at the centre of the tool's mass."""
        data = self.data
        applied = data.xfrc_applied[self._body]
        applied[:] = self.push
        if self.push.any():
            applied[3:] += np.cross(data.site_xpos[self._site] - data.xipos[self._body], self.push[:3])

    def _enter_torque_mode(self) -> None:
        self._torque_mode = True
        self.model.opt.disableactuator |= 1
        self.model.dof_armature[:_JOINTS] = _ROTOR * self.limit
        self.model.dof_frictionloss[:_JOINTS] = self.coulomb
        self.model.dof_damping[:_JOINTS] = self._viscous

    def _leave_torque_mode(self, feedforward: Array) -> None:
        self._torque_mode = False
        self.model.opt.disableactuator &= ~1
        for friction in (self.model.dof_armature, self.model.dof_frictionloss, self.model.dof_damping):
            friction[:_JOINTS] = 0.0
        self.data.qfrc_applied[:] = 0.0
        self._motor = self.q + feedforward / self._stiffness
        self._correction[:] = 0.0
        self._target = self.q.copy()

    # Sensors

    def measured(self) -> tuple[Array, Array, Array]:
        """Return angles, rad, speeds, rad/s, and currents, A, as measured."""
        noise = self._random.standard_normal((3, 6))
        gap = self._gap
        q = self.q + gap.position_noise * noise[0]
        qd = self.qd + gap.velocity_noise * noise[1]
        return q, qd, self.torque / _CONSTANT + gap.current_noise * noise[2]

    def wrench(self) -> Array:
        """Return what the sensor at the flange measures: on the tool, N and N·m, in base axes.

        It feels weight and inertia of the payload and what pushes on it.
        """
        gap = self._gap
        turn = self.data.site_xmat[self._site].reshape(3, 3)
        # MuJoCo's sensors tell what the arm exerts on the tool; the tool feels the opposite.
        felt = -np.concatenate([turn @ self.data.sensordata[at : at + 3] for at in self._sensors])
        noise = gap.force_noise * self._random.standard_normal(6)
        noise[3:] *= 0.1
        self._drift += self._cycle
        share = gap.force_drift * (1.0 - math.exp(-3.0 * self._drift / _DRIFT_TIME))
        drift = share * np.array([0.3, -0.4, 0.87, 0.03, 0.04, -0.087])
        return felt + noise + drift + self._extra_drift

    def zeroed(self) -> None:
        """Begin a new drift of the force sensor."""
        self._drift = 0.0

    def drift(self, wrench: Array) -> None:
        """Let the force sensor be off by this from now on, N and N·m in base axes."""
        self._extra_drift = wrench

    @staticmethod
    def current_of(torque: Array) -> Array:
        """Return the currents that torques need, A."""
        return torque / _CONSTANT

    @staticmethod
    def torque_of(current: Array) -> Array:
        """Return the torques that currents stand for, N·m."""
        return current * _CONSTANT
