"""Many copies of a simulated robot, stepped together by `mujoco.batch.Batch`."""

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import NDArray

from pliant.actuators import Backend, Mode, install
from pliant.actuators.callbacks import check_installed
from pliant.actuators.model import actuator_of_control
from pliant.envs.randomisation.randomised_robot import Conditions, Values
from pliant.envs.simulation.lines import DelayLine, NoiseStreams
from pliant.envs.simulation.native_readings import BatchSensors
from pliant.envs.simulation.readings import diverged
from pliant.envs.simulation.simulated_robot import SimulatedRobot
from pliant.envs.simulation.start import fill_histories
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.robot import Array

Index = NDArray[np.intp]
"""Which robots, ascending, (k,)."""

_OF_BATCH = ("compiled", "_batch", "_qpos", "_control", "_time", "_expanded", "_in_force", "_sensors")
"""Attributes that look into one `Batch`, or come from the original."""


class _Saved(NamedTuple):
    """What a copy makes its own `Batch` of."""

    threads: int
    state: Array
    """MuJoCo's mjSTATE_INTEGRATION of each, (n, size)."""
    expanded: Mapping[str, Array]
    """Fields of the model that differ among robots."""
    in_force: Array
    """Controls in force, (n, nu)."""


class SimulatedRobots:
    """n robots like one `SimulatedRobot`; each does to the last bit what that one would do with its seed.

    A robot that diverges stays as it is until it is reset; the others go on. None moves before its first reset.
    Copies, by `copy.deepcopy` or `pickle`, go on to the last bit as these do.
    """

    def __init__(
        self, robot: SimulatedRobot, n: int, threads: int = 0, reads: Collection[str] | None = None
    ) -> None:
        """Copy a robot, which is reset for it.

        Args:
            robot: the original; its model must not be changed afterwards.
            n: how many.
            threads: that step them; 0: as many as there are CPUs.
            reads: the signals that will be looked at; None: all. Where none of them needs it, positions and speeds
                that sensors measure are not computed anew after the last physics step of a period, and so are one
                step old.

        Raises:
            ConfigurationError: the Python back end is in force, which `Batch` cannot run.
            OutOfBoundsError: n or threads.
        """
        check_bounds("number of robots", n, 1, 1e7)
        check_bounds("threads", threads, 0, 1e4)
        self.info, self.compiled, self._robot = robot.info, robot.compiled, robot
        self._randomised = self.compiled.randomised
        self._install()
        robot.connect()
        self.start, self._rest_control = robot.get_state().integration, robot.data.ctrl.tolist()
        self._threads = threads
        self.values: list[Values] = [()] * n
        """What was drawn of each robot, in the order of `names`."""
        self.names = self._randomised.names
        """Which parameters are drawn."""
        self._low, self._high = self.info.low, self.info.high
        self._simulate(n)
        self._make_lines(n)
        self._sensors = self._make_sensors()
        self._deviations = np.zeros_like(self._sensors.values)
        readings = self.compiled.readings
        self._noise = NoiseStreams(*self._deviations.shape) if self._randomised.noisy or readings.noisy else None
        anew = readings.stale if reads is None else readings.stale_among(reads)
        self._stage = int(mujoco.mjtStage.mjSTAGE_VEL if anew else mujoco.mjtStage.mjSTAGE_NONE)
        if not self.names:
            self._set_conditions(slice(None), self._randomised.conditions(()))

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name not in _OF_BATCH}
        expanded = {name: rows.copy() for name, rows in self._expanded.items()}
        saved = _Saved(self._threads, self._batch.state.copy(), expanded, self._in_force.copy())
        return {**state, "_saved": saved}

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved: _Saved = state.pop("_saved")
        vars(self).update(state)
        self.compiled = self._robot.compiled
        self._install()
        self._simulate(len(saved.state))
        for name, rows in saved.expanded.items():
            self._expanded[name][:] = rows
        if self._randomised.derived:
            self._batch.set_const(np.array([i for i, values in enumerate(self.values) if values], dtype=np.intp))
        self._batch.state[:] = saved.state
        self._in_force = self._control if self._commands is None else saved.in_force
        self._sensors = self._make_sensors()

    def _simulate(self, n: int) -> None:
        """Make the simulations."""
        self._batch = Batch(self.compiled.bare, n, self._threads)
        self._qpos, self._control, self._time = (self._batch.bind(name) for name in ("qpos", "ctrl", "time"))
        self._expanded = {name: self._batch.expand(name) for name in self._randomised.fields}

    def _make_sensors(self) -> BatchSensors:
        """Make what reads the simulations."""
        compiled, rows = self.compiled, self._expanded.get("actuator_user")
        return BatchSensors(self._batch, compiled.joints, compiled.readings, self._in_force, rows)

    def _make_lines(self, n: int) -> None:
        """Make the lines that commands and measurements travel along, where there is a delay at all."""
        slowest = int(self._command_lag(self._randomised.longest_delays).max())
        self._commands = DelayLine(n, self._control.shape[1], slowest) if slowest else None
        self._in_force = self._control if self._commands is None else np.zeros_like(self._control)
        lag = round(self._randomised.extremes.sensor_delay / self.info.period)
        width = len(self.info.signals) + len(self.compiled.controls)
        self._measured = DelayLine(n, width, lag) if lag else None

    def reset(
        self,
        index: Index,
        seeds: Sequence[int],
        positions: Array,
        signals: Array,
        command: Array,
        bodies: Mapping[str, Array] | None = None,
    ) -> None:
        """Put robots to rest, as `SimulatedRobot.reset` does, and read them.

        Args:
            index: which.
            seeds: of each, (k,).
            positions: link angles of each, (k, joints), rad.
            signals: what is read, (n, signals), written where `index` says.
            command: in force, (n, columns), written likewise.
            bodies: poses of free bodies by name, (k, 7) each.
        """
        self._install()
        self._batch.reset(index, stage=int(mujoco.mjtStage.mjSTAGE_NONE))  # forgets its warnings
        generators = [np.random.default_rng(seed) for seed in seeds]
        self._batch.state[index] = self.start
        self._qpos[np.ix_(index, self.compiled.positions)] = positions
        for name, poses in (bodies or {}).items():
            self._qpos[np.ix_(index, self.compiled.bodies[name])] = poses
        self._rest_motors(index, positions)
        if self.names or self._noise is not None:
            self._draw(index, generators)
        if self.compiled.readings.uses_sensors:
            self._sense(index)
        self._begin_lines(index)
        command[index] = self.info.rest
        signals[index] = self._measure(index)
        if self._measured is not None:
            self._measured.fill(index, np.hstack([signals[index], command[index]]))

    def send(self, index: Index, command: Array, signals: Array) -> dict[int, str]:
        """Limit commands to their bounds, hold them for one period, and read the robots.

        Args:
            index: which robots; the others stay as they are.
            command: finite, (n, columns); afterwards what is in force where it was measured.
            signals: what is read, (n, signals), written; not finite where a robot failed.

        Returns:
            The reasons why robots failed in this period, by number.
        """
        np.clip(command, self._low, self._high, out=command)
        which = index[:, None] if len(index) < len(command) else slice(None)  # all is quicker said so
        self._control[which, self.compiled.controls] = command[index] * self.compiled.scale
        failures = self._step(index)
        if self._commands is not None:
            self._commands.push(self._control)
            self._in_force[:] = self._commands.late()
        signals[index] = self._measure(index)
        for i in index[~self._sensors.sound[index]].tolist():
            failures.setdefault(i, diverged(self.info.name, float(self._time[i]), self._sensors.counts[i]))
        if self._measured is not None:
            self._measured.push(np.hstack([signals, command]))
            late = self._measured.late()
            signals[:], command[:] = late[:, : signals.shape[1]], late[:, signals.shape[1] :]
        return failures

    def parameters(self, i: int) -> dict[str, float]:
        """Return what was drawn of robot i, by name; empty before its first reset."""
        return dict(zip(self.names, self.values[i], strict=False))

    def apply_torque(self, i: int, joint: str, torque: float) -> None:
        """Apply an external torque to a joint of robot i; see `SimulatedRobot.apply_torque`."""
        if joint not in self.info.joints:
            raise unknown_name("joint", joint, self.info.joints, f"robot {self.info.name!r}")
        value = check_bounds(f"external torque on joint {joint!r}", torque, -1e300, 1e300, "N·m")
        self._batch.bind("qfrc_applied")[i, self.compiled.model.joint(joint).dofadr[0]] = value

    def model(self, i: int) -> mujoco.MjModel:
        """Return a copy of the model of robot i, as it was drawn."""
        model = copy.copy(self.compiled.model)
        for name, rows in self._expanded.items():
            getattr(model, name)[:] = rows[i]
        if self._randomised.derived:
            mujoco.mj_setConst(model, mujoco.MjData(model))
        return model

    def data(self, i: int) -> mujoco.MjData:
        """Return a copy of the simulation of robot i as it is now, with all that MuJoCo derives of its state."""
        self._install()
        data = mujoco.MjData(model := self.model(i))
        mujoco.mj_setState(model, data, self._batch.state[i], int(mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_forward(model, data)
        return data

    def show(self, i: int) -> None:
        """Copy the state of robot i into the data of the original, to draw it."""
        state = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_setState(self.compiled.model, self._robot.data, self._batch.state[i], state)

    def _install(self) -> None:
        if install(self.compiled.backend) is Backend.PYTHON:
            raise ConfigurationError(
                'many robots are stepped by mujoco.batch, which runs compiled joints only: use backend="native".'
            )

    def _step(self, index: Index) -> dict[int, str]:
        """Step robots through a period; returns what MuJoCo raised, by robot."""
        if self.compiled.joints:
            check_installed(joint.name for joint in self.compiled.joints)
        try:
            which = index if len(index) < self._batch.nsim else None
            self._batch.step(which, nstep=self.compiled.substeps, stage=self._stage)
        except SimulationError as error:
            name = self.info.name
            return {i: f"simulated robot {name!r} failed: {self._batch.error(i)}" for i in error.ids.tolist()}
        return {}

    def _measure(self, index: Index) -> Array:
        """Return what the sensors of robots take now, noise included, (k, size)."""
        self._sensors.read(index)
        values = self._sensors.values[index]
        readings = self.compiled.readings
        if readings.biased:
            values += readings.bias + readings.drift * self._time[index, None]
        if self._noise is not None:
            values += self._deviations[index] * self._noise.draw(index)
        return values

    def _sense(self, index: Index) -> None:
        """Compute what the sensors of robots read at their start, as if it had always been so."""
        if self.compiled.readings.remembering:
            for i in index.tolist():
                model, data = self._batch.get_model(i), self._batch.get_data(i)
                fill_histories(model, data)
                mujoco.mj_getState(model, data, self._batch.state[i], int(mujoco.mjtState.mjSTATE_INTEGRATION))
        self._batch.forward(index)
        self._batch.bind("qacc_warmstart")[index] = 0.0

    def _draw(self, index: Index, random: Sequence[np.random.Generator]) -> None:
        """Draw robots' parameters, each from its own generator, which goes on as its noise."""
        for i, generator in zip(index.tolist() if self.names else (), random, strict=False):
            self.values[i] = values = self._randomised.draw(generator)
            self._randomised.apply(values, {name: rows[i] for name, rows in self._expanded.items()})
            self._set_conditions(i, self._randomised.conditions(values))
        if self._randomised.derived:
            self._batch.set_const(index)
        if self._noise is not None:
            self._noise.restart(index, random)

    def _set_conditions(self, which: int | slice, conditions: Conditions) -> None:
        self._deviations[which] = self.compiled.readings.deviations(*conditions[2:])
        if self._measured is not None:
            self._measured.lag[which] = round(conditions.sensor_delay / self.info.period)

    def _rest_motors(self, index: Index, positions: Array) -> None:
        """In mode 4 motors rest where the link is; in all others it makes no difference to them."""
        model, act = self.compiled.model, self._batch.bind("act")
        for joint in self.compiled.joints:
            if joint.description.mode is not Mode.MOTOR_TORQUES:
                continue
            first = joint.actuators[0]
            at, size = (int(a[first]) for a in (model.actuator_actadr, model.actuator_actnum))
            rest = [self._rest_control[control] for control in joint.controls]
            place = self.info.joints.index(joint.name)
            for i, position in zip(index.tolist(), positions[:, place].tolist(), strict=True):
                act[i, at : at + size] = joint.description.resting_act(position, rest)

    def _begin_lines(self, index: Index) -> None:
        """Let commands of robots be as if the resting one had always been in force."""
        if self._commands is None:
            return
        delay = self._expanded.get("actuator_delay")
        shared = self.compiled.model.actuator_delay
        self._commands.lag[index] = self._command_lag(shared if delay is None else delay[index])
        self._commands.fill(index, self._control[index])
        self._in_force[index] = self._control[index]

    def _command_lag(self, delay: Array) -> NDArray[np.intp]:
        """Periods by which the control in force at the end of a period is older than the newest, (…, nu).

        It is the one given a step before, or as many steps as the delay (of each actuator) is long.
        """
        delay = delay[..., actuator_of_control(self.compiled.model)]
        steps = np.maximum(np.ceil(delay / float(self.compiled.model.opt.timestep) - 1e-6), 1.0)
        lag: NDArray[np.intp] = (np.ceil(steps / self.compiled.substeps) - 1.0).astype(np.intp)
        return lag
