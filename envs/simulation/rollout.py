"""Open-loop runs in C: whole motions from one `mujoco.rollout` call, read like a robot's own measurements."""

import math
import os
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import mujoco.rollout
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import JointOnModel, trace_joint
from pliant.actuators.layout import SIGNALS
from pliant.envs.simulation.compiled_robot import CompiledRobot
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array

_PHYSICS = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)
_ACC = int(mujoco.mjtStage.mjSTAGE_ACC)


_AT_ONCE = 2**25
"""How many numbers MuJoCo's states may take in one call: it returns those of every step."""


class OpenLoop(NamedTuple):
    """An open-loop run to be computed: what it starts from and what it is given."""

    model: mujoco.MjModel
    physics: Array
    """State at the start (mjSTATE_FULLPHYSICS), (n,)."""
    start: Array
    """Controls in force before the start, (nu,)."""
    sensordata: Array
    """What the sensors read at the start."""
    control: Array
    """Controls of every period, (periods, nu), as many of every run."""


class Trace(NamedTuple):
    """Runs as they were at the beginning of every period and at the end of the last one."""

    time: Array
    """(runs, periods + 1), s. NaN from where a run diverged."""
    measured: Array
    """(runs, periods + 1, size), in the order of `Readings`. NaN likewise."""


def run_open_loop(runs: Sequence[OpenLoop], robot: CompiledRobot) -> Trace:
    """Run all in `mujoco.rollout`, on as many threads as there are CPUs; each gives what it gives alone.

    Raises:
        ConfigurationError: the models are not of one size.
    """
    size = mujoco.mj_stateSize(robot.model, _PHYSICS) + robot.model.nsensordata + robot.model.nu
    count = max(_AT_ONCE // (size * (len(runs[0].control) * robot.substeps + 1)), 1)
    parts = [_run_together(runs[first : first + count], robot) for first in range(0, len(runs), count)]
    return Trace(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _run_together(runs: Sequence[OpenLoop], robot: CompiledRobot) -> Trace:
    """Run in one call."""
    threads, substeps = min(len(runs), len(os.sched_getaffinity(0))), robot.substeps
    models, starts = [run.model for run in runs], np.stack([run.physics for run in runs])
    control = np.repeat(np.stack([run.control for run in runs]), substeps, axis=1)
    # One step more than needed: MuJoCo repeats the last state after a divergence, which shows only there.
    control = np.concatenate([control, control[:, -1:]], axis=1)
    try:
        data = [mujoco.MjData(models[0]) for _ in range(threads)]
        physics, sensed = mujoco.rollout.rollout(models, data, starts, control)
    except ValueError as error:
        raise ConfigurationError(
            f"the models of a rollout must be variants of the robot's own, with the same parts ({error})."
        ) from error
    good = steps_before_divergence(np.diff(physics[..., 0], axis=1, prepend=starts[:, :1]))
    rows = _at_period_ends(physics, starts, substeps)
    lost = np.arange(rows.shape[1]) * substeps > good[:, None]
    rows = np.where(lost[..., None], starts[:, None], rows)
    sensordata = _at_period_ends(sensed, np.stack([run.sensordata for run in runs]), substeps)
    if robot.readings.stale:
        for model, states, numbers in zip(models, rows, sensordata, strict=True):
            _refresh(model, data[0], states[1:], numbers[1:])
    measured = np.stack([_measured(robot, *of) for of in zip(runs, rows, sensordata, strict=True)])
    time = rows[..., 0].copy()
    time[lost], measured[lost] = np.nan, np.nan
    return Trace(time, measured)


def _at_period_ends(steps: Array, start: Array, substeps: int) -> Array:
    """What is recorded at every step, (runs, steps, n), at the start, (runs, n), and the end of every period."""
    return np.concatenate([start[:, None], steps[:, substeps - 1 : -1 : substeps]], axis=1)


def _refresh(model: mujoco.MjModel, data: mujoco.MjData, states: Array, sensordata: Array) -> None:
    """Replace what sensors of positions and speeds read before the last step by what they read after it."""
    current = np.repeat(model.sensor_needstage < _ACC, model.sensor_dim)
    for state, numbers in zip(states, sensordata, strict=True):
        mujoco.mj_setState(model, data, state, _PHYSICS)
        mujoco.mj_step1(model, data)
        numbers[current] = data.sensordata[current]


def steps_before_divergence(advance: Array) -> NDArray[np.intp]:
    """How many steps of each run went well, from what the time advanced in each step, (runs, steps).

    After a divergence MuJoCo repeats the state, so that the time stands still; a model with automatic reset on
    goes back in time in the very step.
    """
    stuck = advance <= 0.0
    first = np.argmax(stuck, axis=1)
    repeated = np.take_along_axis(advance, first[:, None], axis=1)[:, 0] == 0.0
    good: NDArray[np.intp] = np.where(stuck.any(axis=1), np.maximum(first - repeated, 0), advance.shape[1])
    return good


def _measured(robot: CompiledRobot, run: OpenLoop, rows: Array, sensordata: Array) -> Array:
    """What is read of a run, (periods + 1, size), from the recorded physics states."""
    model, columns = run.model, physics_columns(run.model)
    qpos, qvel = rows[:, columns["qpos"]], rows[:, columns["qvel"]]
    signals = np.empty((len(rows), len(robot.joints), len(SIGNALS)))
    for j, joint in enumerate(robot.joints):
        first = joint.actuators[0]
        at, size = int(model.actuator_actadr[first]), int(model.actuator_actnum[first])
        act = rows[:, columns["act"]][:, at : at + size] if size else np.empty((len(rows), 0))
        traced = trace_joint(
            model,
            joint,
            qpos[:, int(model.jnt_qposadr[joint.joint])],
            qvel[:, int(model.jnt_dofadr[joint.joint])],
            _control_in_force(joint, run, robot.substeps),
            act,
        )
        for k, name in enumerate(SIGNALS):
            signals[:, j, k] = traced[name]
    return robot.readings.measure(signals.reshape(len(rows), -1), qpos, qvel, sensordata)


def physics_columns(model: mujoco.MjModel) -> dict[str, slice]:
    """Where positions, velocities and activations are in a row of mjSTATE_FULLPHYSICS."""
    state = mujoco.mjtState
    parts = {"time": state.mjSTATE_TIME, "qpos": state.mjSTATE_QPOS, "qvel": state.mjSTATE_QVEL}
    columns, at = {}, 0
    for name, part in {**parts, "act": state.mjSTATE_ACT}.items():
        size = mujoco.mj_stateSize(model, int(part))
        columns[name], at = slice(at, at + size), at + size
    return columns


def _control_in_force(joint: JointOnModel, run: OpenLoop, substeps: int) -> Array:
    """The joint's controls at the beginning of every period and at the end, (periods + 1, references).

    What acts then is what was given in the step before, or a delay of n steps earlier.
    """
    controls, model = list(joint.controls), run.model
    delay = float(model.actuator_delay[joint.actuators[0]]) / float(model.opt.timestep)
    steps = max(math.ceil(delay - 1e-6), 1)
    period = (np.arange(len(run.control) + 1) * substeps - steps) // substeps
    given = run.control[:, controls][np.maximum(period, 0)]
    return np.where((period < 0)[:, None], run.start[controls], given)
