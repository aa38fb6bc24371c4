"""A robot's model, compiled: what is fixed about a simulation, and how commands and measurements pass."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import Backend, JointOnModel, compile_model, compliant_joints, prepare_model
from pliant.actuators.mounting import TEXT_PREFIX
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.randomisation.randomisation import Randomisation
from pliant.envs.randomisation.randomised_robot import Conditions, RandomisedRobot, extremes
from pliant.envs.simulation.columns import (
    Column,
    check_ranges,
    compliant_columns,
    native_actuators,
    native_columns,
    resting_controls,
)
from pliant.envs.simulation.parameters import robot_parameters
from pliant.envs.simulation.pruning import prune
from pliant.envs.simulation.sensing import Sensing, in_turn, sensing_of
from pliant.envs.simulation.signal_layout import Readings
from pliant.envs.simulation.signals import add_sensors, check_names, check_sampled, choose
from pliant.envs.simulation.start import free_places, settled, starting_state
from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.robot import Array, RobotInfo

_MOST = 100_000
"""Time steps in a period or a delay, all of which are remembered."""
_LARGEST = 1e6
"""Noise."""
_NOISE = {"position_noise": "rad", "velocity_noise": "rad/s", "torque_noise": "N·m"}
_RANGEFINDER = int(mujoco.mjtSensor.mjSENS_RANGEFINDER)


@dataclass(frozen=True)
class CompiledRobot:
    """How a robot is simulated, by one `SimulatedRobot` or by many together."""

    info: RobotInfo
    model: mujoco.MjModel
    bare: mujoco.MjModel
    """The model without what is only looked at: the same motion, a tenth quicker."""
    joints: tuple[JointOnModel, ...]
    """The compliant joints, in the robot's order."""
    readings: Readings
    """What is measured."""
    controls: NDArray[np.intp]
    """The control of the simulation that each column of a command sets, (columns,)."""
    scale: Array
    """Control for a command of one unit, (columns,)."""
    positions: NDArray[np.intp]
    """Where the joints' positions are in `qpos`, (joints,)."""
    bodies: Mapping[str, NDArray[np.intp]]
    """Where in `qpos` the poses of what floats are, (7,) each, by name."""
    qpos: Array
    """Positions at the start, (nq,)."""
    rest: Array
    """Controls at the start, (nu,)."""
    substeps: int
    """Physics steps in a period."""
    randomised: RandomisedRobot
    """What is drawn anew at every reset."""
    backend: Backend | str | None
    spec: mujoco.MjSpec | None
    """What `model` was compiled from; None in copies and pickles, as MuJoCo cannot pickle it."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "spec": None}

    def control(self, command: Array) -> Array:
        """Return the controls of the simulation for commands, (…, columns) → (…, nu)."""
        controls = np.broadcast_to(self.rest, (*command.shape[:-1], len(self.rest))).copy()
        controls[..., self.controls] = command * self.scale
        return controls


def compile_robot(
    robot: RobotModel,
    period: float,
    conditions: Conditions,
    randomisation: Randomisation | None,
    backend: Backend | str | None,
    signals: Sequence[str] = (),
    sensing: Mapping[str, Sensing] | None = None,
    transaction: float = 0.0,
) -> CompiledRobot:
    """Compile a robot's model; arguments and errors as of `SimulatedRobot`."""
    check_names(robot)
    step = float(robot.spec.option.timestep)
    substeps = _multiple("period", period, "the model's time step", step, least=1)
    _multiple("command_delay", conditions.command_delay, "the model's time step", step)
    _multiple("sensor_delay", conditions.sensor_delay, "the period", period)
    for name, unit in _NOISE.items():
        check_bounds(name, getattr(conditions, name), 0.0, _LARGEST, unit)
    varied = Randomisation() if randomisation is None else randomisation
    if not isinstance(varied, Randomisation):
        raise ConfigurationError(
            f"randomisation is {varied!r}; a Randomisation is needed (in a configuration, a node with "
            "_target_: pliant.envs.randomisation.Randomisation)."
        )
    chosen = choose(robot, (*robot.signals, *signals))
    spec = robot.spec.copy()
    compliant = ["".join(text.name.split(TEXT_PREFIX)) for text in spec.texts if TEXT_PREFIX in text.name]
    known = [f"{j}/{q}" for j in robot.joints for q in ("position", "velocity", "torque", "stiffness")]
    known += [offer.channel.name for offer in chosen]
    named = sensing_of(known, sensing or {}, robot.name)
    told = in_turn(named, robot.joints, period, transaction, robot.name)
    check_sampled(told, chosen, robot.joints)
    add_sensors(spec, robot, chosen, compliant, told)
    _delay(spec, extremes(conditions, varied, step, period).command_delay)
    model = compile_model(spec, backend)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    prune(model)
    joints = _compliant(model, robot.joints)
    randomised = RandomisedRobot(model, joints, period, conditions, varied)
    readings = Readings(model, robot, joints, chosen, told, named)
    qpos, keyframe = starting_state(model, robot)
    columns = _columns(model, robot, joints, qpos, resting_controls(model, qpos, keyframe))
    if robot.start.settle:
        held = np.zeros(model.nu)
        for column in columns:
            held[column.control] = column.channel.rest * column.scale
        qpos = settled(model, qpos, held, joints, robot.start.settle)
    rest = np.zeros(model.nu)
    for column in columns:
        rest[column.control] = column.channel.rest * column.scale
    positions = np.array([int(model.joint(name).qposadr[0]) for name in robot.joints], dtype=np.intp)
    bodies = {name: place + np.arange(7) for name, place in free_places(model, robot).items()}
    return CompiledRobot(
        info=_info(
            robot,
            readings,
            columns,
            robot_parameters(model, robot, joints, varied),
            float(period),
            qpos[positions],
            {name: tuple(qpos[place].tolist()) for name, place in bodies.items()},
        ),
        model=model,
        bare=_bare(spec, model, randomised),
        joints=joints,
        readings=readings,
        controls=np.array([column.control for column in columns], dtype=np.intp),
        scale=np.array([column.scale for column in columns]),
        positions=positions,
        bodies=bodies,
        qpos=qpos,
        rest=rest,
        substeps=substeps,
        randomised=randomised,
        backend=backend,
        spec=spec,
    )


def recalled(robot: CompiledRobot) -> CompiledRobot:
    """Return a compiled robot whose joints were left out on its way to another process, with them looked up again.

    Raises:
        ConfigurationError: a joint's law cannot be imported here, or has changed.
    """
    rows = robot.model.actuator_user.copy()
    prepare_model(robot.model, robot.backend)
    robot.model.actuator_user[:] = rows  # with what was drawn
    return replace(robot, joints=_compliant(robot.model, robot.info.joints))


def _compliant(model: mujoco.MjModel, names: Sequence[str]) -> tuple[JointOnModel, ...]:
    """Those of the named joints that are compliant, in that order."""
    found = {joint.name: joint for joint in compliant_joints(model)}
    return tuple(found[name] for name in names if name in found)


def _columns(
    model: mujoco.MjModel, robot: RobotModel, joints: Sequence[JointOnModel], qpos: Array, rest: Array
) -> list[Column]:
    """Columns of the joints in the robot's order, then of actuators that act on no joint of the robot."""
    compliant = {joint.name: joint for joint in joints}
    native = native_actuators(model, compliant_joints(model))
    others = [actuator for name, found in native.items() if name not in robot.joints for actuator in found]
    columns: list[Column] = []
    for name in robot.joints:
        if name in compliant:
            columns += compliant_columns(compliant[name], float(qpos[int(model.joint(name).qposadr[0])]))
        for actuator in native.get(name, ()):
            columns += native_columns(model, actuator, rest, robot.ranges)
    for actuator in others:
        columns += native_columns(model, actuator, rest, robot.ranges)
    check_ranges(robot.ranges, columns, robot.name)
    return columns


def _info(
    robot: RobotModel,
    readings: Readings,
    columns: Sequence[Column],
    parameters: Mapping[str, object],
    period: float,
    start: Array,
    bodies: Mapping[str, tuple[float, ...]],
) -> RobotInfo:
    """What is known of the robot before it runs. The resting value of a joint's position is where it starts."""
    at = dict(zip((f"{name}/position" for name in robot.joints), start.tolist(), strict=True))
    signals = [
        replace(channel, rest=min(max(at[channel.name], channel.low), channel.high))
        if channel.name in at
        else channel
        for channel in readings.channels
    ]
    return RobotInfo(
        name=robot.name,
        joints=robot.joints,
        motors=readings.motors,
        command=tuple(column.channel for column in columns),
        period=period,
        parameters=parameters,
        signals=tuple(signals),
        bodies=bodies,
    )


def _delay(spec: mujoco.MjSpec, delay: float) -> None:
    """Let all controls come later by `delay`, s."""
    for actuator in spec.actuators if delay else ():
        actuator.delay += delay
        actuator.nsample = max(math.ceil(actuator.delay / spec.option.timestep - 1e-9), 1)


def _bare(spec: mujoco.MjSpec, model: mujoco.MjModel, randomised: RandomisedRobot) -> mujoco.MjModel:
    """Compile a spec once more, as it is simulated in `model`, without geoms that are only seen.

    They stay where geoms are drawn, which go by their number.
    """
    unseen = spec.copy()
    numbered = "geom_friction" in randomised.fields
    unseen.compiler.discardvisual = _RANGEFINDER not in model.sensor_type.tolist() and not numbered
    return compile_likeness(unseen, model)


def compile_likeness(spec: mujoco.MjSpec, model: mujoco.MjModel) -> mujoco.MjModel:
    """Compile a spec that differs from that of a robot's model in looks only: the state stays laid out alike.

    Args:
        spec: a changed copy of `CompiledRobot.spec`.
        model: the robot's model.
    """
    likeness = compile_model(spec, check=False)
    likeness.opt.disableflags = model.opt.disableflags
    likeness.actuator_user[:] = model.actuator_user  # with what holds for all that can be drawn
    return likeness


def _multiple(what: str, value: float, of: str, unit: float, least: int = 0) -> int:
    """How many times `unit` goes into `value`; raise if that is no whole number of at least `least`."""
    number = check_bounds(what, value, 0.0, _MOST * unit, "s")
    count = round(number / unit)
    if abs(count * unit - number) > 1e-9 * unit or count < least:
        near = max(count, least) * unit
        raise ConfigurationError(
            f"{what} is {number:g} s; a whole multiple of {of} ({unit:g} s) is needed, such as {near:g} s."
        )
    return count
