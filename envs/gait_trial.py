"""Trials of gaits: a robot with legs walks from a settled stand, seen at every physics step; many at once."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

import mujoco
import numpy as np

from pliant.actuators import JointOnModel
from pliant.actuators.layout import DRIVE_AT
from pliant.controllers.controller import Controller, run
from pliant.controllers.gaits.gait import Gait
from pliant.envs.gait_measures import GaitLimits, GaitMeasures, GaitTrace, measure_gait
from pliant.envs.simulation.every_step import Steps, run_every_step
from pliant.envs.simulation.simulated_robot import SimulatedRobot
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds
from pliant.hardware.robot import Array

_POSE = (*(f"position_{axis}" for axis in "xyz"), *(f"orientation_{axis}" for axis in "wxyz"))
_FOOT = tuple(f"{quantity}_{axis}" for quantity in ("position", "velocity") for axis in "xyz")
_PHYSICS = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
_FULL = 2.0
"""When a controller that is no `Gait` is taken to walk in full, s."""
_MEETS, _TOUCH = "_meets_", "_touch/touch"
"""What the names of signals have in them that count contacts of two parts, and feel a foot's force."""


@dataclass(frozen=True)
class GaitTrial:
    """What a gait did."""

    measures: GaitMeasures
    command: Array
    """As it was sent, (periods, columns)."""
    trace: GaitTrace | None
    """If it was asked for."""


@dataclass(frozen=True)
class _Planned:
    """A trial to be run."""

    command: Array
    phase: Array | None
    full: float


def check_robot(robot: SimulatedRobot) -> None:
    """Raise `ConfigurationError` unless the robot has what a trial looks at: a base, feet that feel, servos."""
    _Parts.of(robot)


def try_gait(
    robot: SimulatedRobot, gait: Controller, duration: float = 10.0, limits: GaitLimits | None = None
) -> GaitTrial:
    """Let a robot walk and return what came of it, with its trace; see `try_gaits`."""
    return try_gaits(robot, [gait], duration, limits, traces=True)[0]


def try_gaits(
    robot: SimulatedRobot,
    gaits: Sequence[Controller],
    duration: float = 10.0,
    limits: GaitLimits | None = None,
    *,
    traces: bool = False,
    threads: int = 0,
) -> list[GaitTrial]:
    """Let a robot walk by each gait, from its settled start, and return what came of each, in order.

    The commands of a `Gait` do not depend on what is measured: they are found beforehand, and all trials run in
    C on several threads. Any other controller first runs in the usual loop; its commands are then repeated.

    Args:
        robot: connected; every joint of it driven by a servo. It is reset, and left at its start.
        gaits: for that robot, each an object of its own.
        duration: of a trial, s.
        limits: that are to be kept; None: those of the hexapod.
        traces: whether each trial keeps its trace, about 15 MB for 10 s.
        threads: at once; 0: as many as there are CPUs.

    Raises:
        ConfigurationError: the robot lacks a base, feet or servos.
        OutOfBoundsError: a duration in which the gait does not get to walk in full; threads.
        Others: as `pliant.controllers.run`.
    """
    check_bounds("gait trial: duration", duration, robot.info.period, 1e4, "s")
    check_bounds("gait trial: threads", threads, 0, 1e4)
    limits = limits or GaitLimits()
    parts = _Parts.of(robot)
    at_once = threads or len(os.sched_getaffinity(0))

    def tried(planned: _Planned) -> GaitTrial:
        steps = run_every_step(robot.compiled, physics, start, robot.compiled.control(planned.command))
        trace = _trace(steps, parts, planned, robot.info.period)
        return GaitTrial(measure_gait(trace, limits), planned.command, trace if traces else None)

    with ThreadPoolExecutor(at_once) as pool:
        robot.reset()
        physics = np.empty(mujoco.mj_stateSize(robot.model, _PHYSICS))
        mujoco.mj_getState(robot.model, robot.data, physics, _PHYSICS)
        start = robot.data.ctrl.copy()
        futures: list[Future[GaitTrial]] = []
        try:
            for planned in _plans(robot, gaits, duration):
                futures.append(pool.submit(tried, planned))
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


def _plans(robot: SimulatedRobot, gaits: Sequence[Controller], duration: float) -> Iterator[_Planned]:
    """Find the commands of each trial."""
    period = robot.info.period
    count = round(duration / period)
    for gait in gaits:
        gait.check(robot.info)
        state, phases = robot.reset(), []
        if isinstance(gait, Gait):
            gait.reset(state)
            command = np.empty((count, len(robot.info.command)))
            for k in range(count):
                command[k] = gait.update(state, k * period)
                phases.append(gait.phase)
            full = gait.full_strides_after
        else:
            command, full = run(robot, gait, duration).sent, _FULL
            robot.reset()
        if full >= duration:
            raise OutOfBoundsError(
                f"gait trial: duration is {duration:g} s; this gait walks in full after {full:.3g} s only."
            )
        yield _Planned(command, np.array(phases) if phases else None, full)


@dataclass(frozen=True)
class _Parts:
    """What of a robot a trial looks at."""

    feet: tuple[str, ...]
    pairs: tuple[str, ...]
    """Signals that count contacts between two parts."""
    mass: float
    """kg"""

    @classmethod
    def of(cls, robot: SimulatedRobot) -> Self:
        info, compiled = robot.info, robot.compiled
        names = info.signal_names
        feet = tuple(name.removesuffix(_TOUCH) for name in names if name.endswith(_TOUCH))
        lacking = [name for name in _signals("base", _POSE) if name not in names]
        lacking += [name for foot in feet for name in _signals(f"{foot}_foot", _FOOT) if name not in names]
        if lacking or not feet:
            raise ConfigurationError(
                f"robot {info.name!r} is no robot whose gait can be tried: it lacks the signals "
                f"{', '.join(lacking or ['LEG_touch', 'LEG_foot'])}."
            )
        driven = {joint.name for joint in compiled.joints if joint.description.servo is not None}
        others = [name for name in info.joints if name not in driven]
        if others:
            raise ConfigurationError(
                f"robot {info.name!r}: a gait's trial measures the torques of servos; none drives "
                f"{', '.join(others)}."
            )
        base = robot.model.jnt_bodyid[np.flatnonzero(robot.model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE))[0]]
        mass = float(robot.model.body_subtreemass[base])
        return cls(feet, tuple(name for name in names if _MEETS in name), mass)


def _signals(owner: str, quantities: Sequence[str]) -> list[str]:
    return [f"{owner}/{quantity}" for quantity in quantities]


def _trace(steps: Steps, parts: _Parts, planned: _Planned, period: float) -> GaitTrace:
    """Read what a trial's measures are made of."""
    joints, count = steps.robot.joints, len(steps.time)
    position, velocity, target, torque, effort, estimate = (np.empty((count, len(joints))) for _ in range(6))
    down, power = np.zeros((count, len(joints)), dtype=np.bool_), np.zeros(count)
    for j, joint in enumerate(joints):
        signals = steps.joint(j)
        position[:, j], velocity[:, j] = signals["position"], signals["velocity"]
        torque[:, j], effort[:, j] = signals["torque"], signals["motor_torque1"]
        target[:, j] = steps.control[:, joint.controls[0]]
        state = joint.description.drives[0].kind.state
        if "shut_down" in state:
            down[:, j] = steps.state_of(j)[:, state.index("shut_down")] != 0.0
        duty, drawn = _electrical(steps.robot.model, joint, signals["motor_torque1"], signals["velocity"])
        estimate[:, j] = np.where(down[:, j], 0.0, duty * _stall(joint))
        power += np.where(down[:, j], 0.0, np.maximum(drawn, 0.0))
    feet = [steps.read(_signals(f"{foot}_foot", _FOOT)) for foot in parts.feet]
    return GaitTrace(
        joints=tuple(joint.name for joint in joints),
        feet=parts.feet,
        pairs=tuple(pair.split("/", 1)[0] for pair in parts.pairs),
        mass=parts.mass,
        full=planned.full,
        diverged=steps.diverged,
        time=steps.time,
        position=position,
        velocity=velocity,
        target=target,
        torque=torque,
        motor_torque=effort,
        estimated_torque=estimate,
        shut_down=down,
        electrical_power=power,
        base=steps.read(_signals("base", _POSE)),
        foot_position=np.stack([foot[:, :3] for foot in feet], axis=1),
        foot_velocity=np.stack([foot[:, 3:] for foot in feet], axis=1),
        foot_force=steps.read([f"{foot}{_TOUCH}" for foot in parts.feet]),
        contacts=steps.read(parts.pairs),
        phase=planned.phase,
        period=period,
    )


def _electrical(model: mujoco.MjModel, joint: JointOnModel, torque: Array, speed: Array) -> tuple[Array, Array]:
    """Return the duty of a servo's motor, and what it draws from the supply, W, from its torque τ and speed ω.

    From kt·(d·V − kt·ω) = τ·(R + Rs·d²), with the supply's resistance Rs; drawn is d·V·τ/kt.
    """
    row = model.actuator_user[joint.actuators[0]]
    names = [parameter.name for parameter in joint.description.drives[0].kind.parameters]
    voltage, kt, resistance, supply = (
        float(row[DRIVE_AT + names.index(name)]) for name in ("voltage", "kt", "resistance", "supply_resistance")
    )
    b, c = kt * voltage, torque * resistance + kt * kt * speed
    duty = 2.0 * c / (b + np.sqrt(np.maximum(b * b - 4.0 * torque * supply * c, 0.0)))
    return duty, duty * voltage * torque / kt


def _stall(joint: JointOnModel) -> float:
    """Torque at full drive that a servo's data sheet tells, N·m."""
    assert joint.description.servo is not None
    motor = joint.description.servo.motor
    kt, resistance = motor.all_values[:2]
    return float(kt * motor.voltage / resistance)
