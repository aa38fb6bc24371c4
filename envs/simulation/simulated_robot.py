"""A robot that MuJoCo simulates, behind the same interface as a real one."""

import copy
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.actuators import Backend, install
from pliant.actuators.callbacks import check_installed
from pliant.actuators.compiled import compiled
from pliant.controllers.checks import finite_array
from pliant.envs.models.robot_model import RobotModel, as_pose
from pliant.envs.randomisation.randomisation import Randomisation
from pliant.envs.randomisation.randomised_robot import Conditions, Values
from pliant.envs.simulation.by_hand import ByHand
from pliant.envs.simulation.compiled_robot import compile_robot, recalled
from pliant.envs.simulation.readings import Sensors, deliver, diverged, give
from pliant.envs.simulation.resting import put_at_rest
from pliant.envs.simulation.rollout import OpenLoop, run_open_loop
from pliant.envs.simulation.sensing import Sensing
from pliant.envs.simulation.sensor_errors import SensorErrors
from pliant.envs.simulation.start import fill_histories
from pliant.envs.simulation.targets import Targets
from pliant.errors import ConfigurationError, RobotError, ShapeError, check_bounds, unknown_name
from pliant.hardware.robot import Array, Robot, RobotInfo, State, check_command, stacked

if TYPE_CHECKING:
    from pliant.envs.simulation.kinematics import ModelKinematics

_INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_PHYSICS = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
_LARGEST = float(np.finfo(np.float64).max)

Measurement = tuple[float, Array, Array]
"""What the sensors took at one instant: time, the numbers in the order of `info.signals`, the command."""


class Snapshot(NamedTuple):
    """Everything that decides how a simulated robot goes on; see `SimulatedRobot.get_state`."""

    integration: Array
    """MuJoCo's mjSTATE_INTEGRATION: positions, velocities, activations, delayed commands, inputs."""
    measured: tuple[Measurement, ...]
    """What is on its way through the sensors, the oldest first."""
    noise: Mapping[str, Any]
    """State of the noise generator."""
    parameters: Values
    """What the last reset drew."""


class _Asked(NamedTuple):
    """Where a reset was to put the robot."""

    position: ArrayLike | None
    command: Array
    bodies: Mapping[str, Array]
    settled: bool


class _Start(NamedTuple):
    """What the last reset left behind, for `rollout`."""

    asked: _Asked
    physics: Array
    control: Array
    sensordata: Array
    noise: np.random.Generator


class _Begun(NamedTuple):
    """A run of `rollout` at its beginning."""

    model: mujoco.MjModel
    start: _Start
    lag: int
    errors: SensorErrors


class SimulatedRobot(Robot):
    """A `RobotModel` in MuJoCo. Time passes only in `send`: one period, in one `mj_step` call.

    Measurements are taken once a period, so `read` returns the same state until the next `send`. Positions and
    speeds are those of that instant; forces and accelerations, which MuJoCo finds in a step, those of the last
    physics step, and so are the torques of joints without a law. Noise is white and Gaussian: on every angle and
    speed (links and motors, but not the pivot of a lever) and every torque; `sensing` says more of single signals.

    Delays: `command_delay` shifts the whole command on its way to the joints, all columns alike; what runs
    inside a joint (spring, motor, PID) is never delayed, as on a machine whose bus is slow. MuJoCo's control
    history carries it, on top of the joints' own delay. `sensor_delay` shifts the whole `State`, its time and
    command included; until the first delayed measurement arrives, `read` returns the one of the reset. A loop
    closed through both sees their sum.

    A simulation that diverges raises `RobotError` and stays as it is until `reset`: MuJoCo's automatic reset is
    switched off in the robot's model.

    Not for several threads at once. The callbacks that run the joints belong to the whole process; `reset`
    installs them again if they were removed.
    """

    def __init__(
        self,
        model: RobotModel,
        period: float = 0.01,
        *,
        position_noise: float = 0.0,
        velocity_noise: float = 0.0,
        torque_noise: float = 0.0,
        command_delay: float = 0.0,
        sensor_delay: float = 0.0,
        transaction: float = 0.0,
        signals: Sequence[str] = (),
        sensing: Mapping[str, Sensing] | None = None,
        randomisation: Randomisation | None = None,
        seed: int | None = None,
        backend: Backend | str | None = None,
    ) -> None:
        """Compile the model; does not connect.

        Args:
            model: the robot.
            period: time from one command to the next, s; a whole multiple of the model's time step.
            position_noise: standard deviation of angles, rad.
            velocity_noise: standard deviation of speeds, rad/s.
            torque_noise: standard deviation of torques, N·m.
            command_delay: s; a whole multiple of the model's time step.
            sensor_delay: s; a whole multiple of the period.
            transaction: of reading one joint over a bus that all joints share, s: they are read one after another;
                0: all at the end of every period. See `signals.in_turn`.
            signals: what is read besides what the model says, as `RobotModel.signals`.
            sensing: how well signals are measured, by name or glob (`*/position`).
            randomisation: what is drawn anew at every reset; see `parameters`.
            seed: of noise and randomisation; None for another run every time.
            backend: see `pliant.actuators.install`.

        Raises:
            ConfigurationError: period or delays are not such multiples; see also `compile_model`.
            OutOfBoundsError: a period, delay or noise that is negative or not finite; drawn values out of bounds.
            UnknownNameError: the model's spec has no such joint, site, sensor or keyframe, the robot no such
                signal, or a joint no such parameter to draw.
        """
        conditions = Conditions(command_delay, sensor_delay, position_noise, velocity_noise, torque_noise)
        self.compiled = compile_robot(
            model, period, conditions, randomisation, backend, signals, sensing, transaction
        )
        """What is fixed about it."""
        self._end_effectors, self._force_torque = dict(model.end_effectors), dict(model.force_torque)
        self._target_sites = dict(model.targets)
        self._info, self._model, self._controls = self.compiled.info, self.compiled.model, self.compiled.controls
        self.by_hand = ByHand(self._info)
        """Columns of the command that a person has taken over; `rollout` sends what it is given."""
        noisy = self.compiled.randomised.noisy or self.compiled.readings.noisy
        self.sensor_errors = SensorErrors(self._info, self.compiled.readings, noisy=noisy)
        """Bias, drift and noise of what is read."""
        self._low, self._high, self._rest = self._info.low, self._info.high, self._info.rest
        self._seed = seed
        self._values: Values = ()
        self._random = np.random.default_rng(seed)
        self._data = mujoco.MjData(self._model)
        self._connected = False
        self._trouble: str | None = f"simulated robot {model.name!r} is not connected; call connect() first."
        self._attach()
        self._set_conditions(conditions)

    @property
    def info(self) -> RobotInfo:
        """Names, command layout and period."""
        return self._info

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model, for viewers, and to be copied and perturbed for `rollout`."""
        return self._model

    @property
    def data(self) -> mujoco.MjData:
        """The simulation itself, for viewers. What MuJoCo derives from its state lags by one physics step."""
        return self._data

    @property
    def targets(self) -> Targets:
        """The targets in its scene, to be moved."""
        return Targets(self._target_sites, self._model, self._data, f"robot {self._info.name!r}")

    @property
    def sites(self) -> dict[str, str]:
        """The model's site of every end effector, force-torque sensor and target, by name."""
        return {**self._target_sites, **self._force_torque, **self._end_effectors}

    @property
    def parameters(self) -> dict[str, float]:
        """What the last reset drew, by name (`link1/mass`, `elbow/k1`, `command_delay`, …), in SI units."""
        return dict(zip(self.compiled.randomised.names, self._values, strict=False))

    @property
    def kinematics(self) -> "ModelKinematics":
        """Where its end effectors are for given joint positions."""
        from pliant.envs.simulation.kinematics import ModelKinematics

        return ModelKinematics(self.compiled, self._end_effectors, self._force_torque)

    def connect(self) -> None:
        """Put the robot at its start, with the noise seeded as at construction."""
        self._random = np.random.default_rng(self._seed)
        self._connected = True
        self.reset()

    def reset(
        self,
        seed: int | None = None,
        position: ArrayLike | None = None,
        command: ArrayLike | None = None,
        *,
        bodies: Mapping[str, ArrayLike] | None = None,
        settled: bool = False,
    ) -> State:
        """Put the robot to rest at time 0, without external torques, and return what it reads.

        Motors stand at their references and delayed commands are as if `command` had always been in force, so
        that nothing jumps. In mode 4, where a command is a torque, they stand where the springs carry no load.

        Args:
            seed: reseeds the noise; None lets it go on.
            position: link angles, (joints,), rad; None: the model's own.
            command: in force at the start, (columns,); None: the resting one.
            bodies: position and unit quaternion (w first), (7,), of free bodies by name, and of a floating `base`;
                the others lie where they start.
            settled: whether motors stand where they have come to rest under the load of the links at `position`
                instead of at their references. With a `resting_command` nothing moves then at all.

        Raises:
            RobotError: not connected.
            ShapeError, OutOfBoundsError: a position, command or pose of the wrong shape or not finite.
            UnknownNameError: no such free body.
        """
        self._prepare()
        start = self._bounded(self._rest if command is None else check_command(command, self._info))
        if position is not None:
            position = finite_array(f"robot {self._info.name!r}: position", position, (len(self._info.joints),))
        poses = self._poses(bodies or {})
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self._vary(self.compiled.randomised.draw(self._random))
        mujoco.mj_resetData(self._model, self._data)
        self._data.qpos[:] = self.compiled.qpos
        if position is not None:
            self._data.qpos[self.compiled.positions] = position
        for name, pose in poses.items():
            self._data.qpos[self.compiled.bodies[name]] = pose
        self._control[:] = self.compiled.control(start)
        put_at_rest(self._model, self._data, self.compiled.joints, settled=settled)
        if self.compiled.readings.remembering:
            fill_histories(self._model, self._data)
        mujoco.mj_forward(self._model, self._data)
        self._data.qacc_warmstart[:] = 0.0  # as `mujoco.rollout` starts
        physics, control, sensed = self._simulation(_PHYSICS), self._control.copy(), self._data.sensordata.copy()
        asked = _Asked(position, start, poses, settled)
        self._start = _Start(asked, physics, control, sensed, copy.deepcopy(self._random))
        self._trouble = None
        self._measure(start)
        return self.read()

    def read(self) -> State:
        """Return the newest state that the sensors deliver. Its arrays are the caller's.

        Raises:
            RobotError: not connected, or diverged.
        """
        if self._trouble is not None:
            raise RobotError(self._trouble)
        time, values, in_force = self._measured[0]
        return self.compiled.readings.state(time, values.copy(), in_force.copy())

    def read_into(self, signals: Array, command: Array) -> None:
        """Write what `read` returns into arrays, which is quicker.

        Args:
            signals: (signals,), in the order of `info.signals`.
            command: the command in force, (columns,).

        Raises:
            RobotError: not connected, or diverged.
        """
        if self._trouble is not None:
            raise RobotError(self._trouble)
        _, values, in_force = self._measured[0]
        self._deliver(values, in_force, signals, command)

    def send(self, command: ArrayLike) -> Array:
        """Limit a command to its bounds, hold it for one period, and return it as it was sent.

        Args:
            command: (columns,), in the units of `info.command`.

        Raises:
            ShapeError, OutOfBoundsError: wrong shape, or an entry is not finite. Nothing is sent.
            RobotError: not connected, or the simulation diverges.
            CallbackOwnershipError: somebody removed the joints' callbacks. Nothing is sent; `reset` installs them.
        """
        if self._trouble is not None:
            raise RobotError(self._trouble)
        sent = np.array(command, dtype=np.float64)
        if sent.shape == self._low.shape:
            self.by_hand.apply(sent)
        if sent.shape != self._low.shape or not self._give(
            sent, self._low, self._high, self._controls, self.compiled.scale, self._control
        ):
            check_command(command, self._info)  # raises, and says why
        if self._compliant:
            check_installed(self._compliant)
        mujoco.mj_step(self._model, self._data, self.compiled.substeps)
        if self.compiled.readings.stale:
            mujoco.mj_step1(self._model, self._data)
        self._measure(sent)
        return sent.copy()

    def stop(self) -> None:
        """Do nothing: simulated time stands still between commands, so there is no motion to stop."""

    def carry_on(self) -> bool:
        """See `Robot.carry_on`: all of it can be moved, unless it has diverged or is not connected."""
        return self._trouble is None

    def close(self) -> None:
        """Disconnect. Model and data stay readable."""
        self._connected = False
        self._trouble = f"simulated robot {self._info.name!r} is closed; call connect() first."

    def apply_torque(self, joint: str, torque: float) -> None:
        """Apply an external torque to a joint, in any mode, until it is changed or the robot is reset.

        Args:
            joint: its name.
            torque: N·m, positive along +q; replaces the one before.

        Raises:
            RobotError: not connected.
            UnknownNameError: no such joint.
            OutOfBoundsError: not a finite number.
        """
        self._check_connected()
        if joint not in self._info.joints:
            raise unknown_name("joint", joint, self._info.joints, f"robot {self._info.name!r}")
        value = check_bounds(f"external torque on joint {joint!r}", torque, -_LARGEST, _LARGEST, "N·m")
        self._data.qfrc_applied[self._model.joint(joint).dofadr[0]] = value

    @property
    def command(self) -> Array:
        """The command in force, (columns,): the last that was sent, or that of the reset."""
        return np.asarray(self._control[self._controls] / self.compiled.scale, dtype=np.float64)

    def rollout(
        self,
        command: ArrayLike,
        models: Sequence[mujoco.MjModel] | None = None,
        *,
        seeds: Sequence[int] | None = None,
    ) -> State:
        """Run commands open-loop from the state of the last reset, all in C, and return what would be read.

        Row k is what `read` returns before the command of row k is sent, and the last row what it returns at
        the end: to the last bit what `reset` and as many `send`s give, noise and delays included. The robot
        itself is left alone. From where a run diverges its rows are NaN.

        Several runs go together on as many threads as there are CPUs: of several commands, on several models, or
        of several robots that are drawn. Each gives to the last bit what it gives by itself, noise included.

        Args:
            command: (n, columns), or (runs, n, columns) for commands of each run; a row is held for one period
                and limited to its bounds.
            models: one a run, perturbed copies of `model` (of the same parts, `mj_setConst` called where it must
                be).
            seeds: one a run, of what is drawn: it begins as after a `reset` with that seed, and with whatever else
                the last reset was told.

        Returns:
            A state with a leading axis of n + 1 instants, one period apart, and before it one of the runs if there
            are commands, models or seeds of each: position (n + 1, joints) or (runs, n + 1, joints), and so on.

        Raises:
            RobotError: not connected.
            ShapeError, OutOfBoundsError: commands of the wrong shape or not finite.
            ConfigurationError: both models and seeds, none, or another number of them than of commands; or models
                that differ in more than their values.
        """
        self._prepare()
        shape = (*(None,) * (max(np.ndim(command), 2) - 1), len(self._rest))
        what = f"robot {self._info.name!r}: commands of a rollout"
        rows = self._bounded(finite_array(what, command, shape[-3:]))
        counts = [len(given) for given in (models, seeds) if given is not None] + [len(rows)] * (rows.ndim == 3)
        if len(set(counts)) > 1 or 0 in counts or None not in (models, seeds):
            given = {"commands": rows if rows.ndim == 3 else None, "models": models, "seeds": seeds}
            found = ", ".join(f"{len(of)} {name}" for name, of in given.items() if of is not None)
            raise ConfigurationError(
                "rollout: every run has a command sequence, and a model or a seed, of its own or shared; got "
                f"{found}."
            )
        begun = self._begun(max(counts, default=1), models, seeds)
        rows = np.broadcast_to(rows, (len(begun), *rows.shape[-2:]))
        runs = [
            OpenLoop(one.model, *one.start[1:4], self.compiled.control(row))
            for one, row in zip(begun, rows, strict=True)
        ]
        time, measured = run_open_loop(runs, self.compiled)
        states = [self._seen(*of) for of in zip(begun, time, measured, rows, strict=True)]
        return stacked(states) if counts else states[0]

    def _begun(
        self, count: int, models: Sequence[mujoco.MjModel] | None, seeds: Sequence[int] | None
    ) -> list[_Begun]:
        """How the runs of a rollout begin."""
        if seeds is None:
            own = models or [self._model] * count
            return [_Begun(model, self._start, self._lag, self.sensor_errors) for model in own]
        robot, begun = copy.deepcopy(self), []
        for seed in seeds:
            robot.reset(seed, **self._start.asked._asdict())
            model, errors = copy.copy(robot._model), copy.copy(robot.sensor_errors)
            begun.append(_Begun(model, robot._start, robot._lag, errors))
        return begun

    def _seen(self, begun: _Begun, time: Array, measured: Array, rows: Array) -> State:
        """What the sensors deliver of a run."""
        begun.errors.add(measured, time[:, None], copy.deepcopy(begun.start.noise))
        sent = np.vstack([begun.start.asked.command, rows])
        late = np.maximum(np.arange(len(time)) - begun.lag, 0)
        return self.compiled.readings.state(time[late], measured[late], sent[late])

    def run(self, commands: ArrayLike) -> State:
        """Run commands from the state of the last reset, every time, with new noise; see `rollout`.

        In C, and to the last bit what `pliant.controllers.run` gives with `Rows` of them.

        Args:
            commands: (n, columns).
        """
        motion = self.rollout(commands)
        self._start = self._start._replace(noise=self._start.noise.spawn(1)[0])
        return motion

    def get_state(self) -> Snapshot:
        """Return everything that decides how the robot goes on.

        Raises:
            RobotError: not connected, or diverged.
        """
        self.read()
        noise = self._random.bit_generator.state
        return Snapshot(self._simulation(_INTEGRATION), tuple(self._measured), noise, self._values)

    def set_state(self, snapshot: Snapshot) -> None:
        """Go on exactly, to the last bit, as the robot whose snapshot it is.

        Args:
            snapshot: from this robot, or from one made alike.

        Raises:
            RobotError: not connected.
            ShapeError: it is from another kind of robot.
        """
        self._prepare()
        size = mujoco.mj_stateSize(self._model, _INTEGRATION)
        drawn = len(self.compiled.randomised.names)
        if snapshot.integration.shape != (size,) or len(snapshot.parameters) != drawn:
            raise ShapeError(
                f"robot {self._info.name!r}: a state is {size} numbers and {drawn} drawn parameters, the snapshot "
                f"{snapshot.integration.size} and {len(snapshot.parameters)}: it is from another kind of robot."
            )
        self._vary(snapshot.parameters)
        mujoco.mj_resetData(self._model, self._data)
        mujoco.mj_setState(self._model, self._data, snapshot.integration, _INTEGRATION)
        mujoco.mj_forward(self._model, self._data)
        mujoco.mj_setState(self._model, self._data, snapshot.integration, _INTEGRATION)  # warm start as it was
        self._random.bit_generator.state = snapshot.noise
        self._measured.extend(snapshot.measured)
        self._trouble = None

    def __getstate__(self) -> dict[str, Any]:
        """What copies and other processes get: everything but what belongs to this very simulation."""
        own = ("_control", "_give", "_deliver", "_sensors")
        state = {name: value for name, value in vars(self).items() if name not in own}
        return {**state, "compiled": replace(self.compiled, joints=())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.compiled = recalled(self.compiled)
        self._attach()

    def _attach(self) -> None:
        """Look up what changes commands and measurements of this very simulation."""
        self._control = self._data.ctrl
        self._compliant = [joint.name for joint in self.compiled.joints]
        self._give, self._deliver = compiled(give), compiled(deliver)
        self._sensors = Sensors(self._model, self._data, self.compiled.joints, self.compiled.readings)

    def _vary(self, values: Values) -> None:
        """Become the robot that was drawn; what is on its way through the sensors is lost."""
        randomised, self._values = self.compiled.randomised, values
        randomised.apply(values, {name: getattr(self._model, name) for name in randomised.fields})
        if randomised.derived:
            mujoco.mj_setConst(self._model, self._data)
        self._set_conditions(randomised.conditions(values))

    def _set_conditions(self, conditions: Conditions) -> None:
        self._lag = round(conditions.sensor_delay / self._info.period)
        self.sensor_errors.renew(*conditions[2:])
        self._measured: deque[Measurement] = deque(maxlen=self._lag + 1)

    def _check_connected(self) -> None:
        if not self._connected:
            raise RobotError(self._trouble or "")

    def _prepare(self) -> None:
        """Raise if not connected, and put the joints' callbacks back if someone removed or changed them."""
        self._check_connected()
        install(self.compiled.backend)
        self._attach()

    def _measure(self, command: Array) -> None:
        """Take the state after a period; raise if the simulation has diverged in it."""
        if not self._sensors.read():
            self._trouble = diverged(self._info.name, self._data.time, self._sensors.counts)
            raise RobotError(self._trouble)
        values = self._sensors.values.copy()
        self.sensor_errors.add(values, self._data.time, self._random)
        self._measured.append((self._data.time, values, command))

    def _poses(self, bodies: Mapping[str, ArrayLike]) -> dict[str, Array]:
        """Where free bodies are to be placed, checked."""
        robot = f"robot {self._info.name!r}"
        for name in bodies:
            if name not in self.compiled.bodies:
                raise unknown_name("free body", name, self.compiled.bodies, robot)
        return {name: as_pose(f"{robot}: {name}", pose) for name, pose in bodies.items()}

    def _bounded(self, command: Array) -> Array:
        return np.minimum(np.maximum(command, self._low), self._high)

    def _simulation(self, parts: int) -> Array:
        state = np.empty(mujoco.mj_stateSize(self._model, parts))
        mujoco.mj_getState(self._model, self._data, state, parts)
        return state
