"""Open-loop runs seen at every physics step: torques of motors, sensors and contacts between two commands too."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import mujoco.rollout
import numpy as np

from pliant.actuators import install, trace_joint
from pliant.actuators.layout import SIGNALS
from pliant.envs.simulation.compiled_robot import CompiledRobot
from pliant.envs.simulation.rollout import physics_columns, steps_before_divergence
from pliant.envs.simulation.signals import JOINT, QPOS, QVEL, SENSOR
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array

_PHYSICS = int(mujoco.mjtState.mjSTATE_FULLPHYSICS)


@dataclass(frozen=True)
class Steps:
    """A motion at the beginning of every physics step, and the controls that act in it."""

    robot: CompiledRobot
    time: Array
    """(n,), s."""
    qpos: Array
    """(n, nq)."""
    qvel: Array
    """(n, nv)."""
    act: Array
    """(n, na)."""
    control: Array
    """In force, (n, nu)."""
    sensordata: Array
    """(n, numbers)."""
    diverged: bool
    """Whether the run ends here because the simulation diverged."""

    def joint(self, j: int) -> dict[str, Array]:
        """Return the signals of a compliant joint by their names in `layout.SIGNALS`, each (n,)."""
        model, joint = self.robot.model, self.robot.joints[j]
        return trace_joint(
            model,
            joint,
            self.qpos[:, int(model.jnt_qposadr[joint.joint])],
            self.qvel[:, int(model.jnt_dofadr[joint.joint])],
            self.control[:, list(joint.controls)],
            self.state_of(j),
        )

    def state_of(self, j: int) -> Array:
        """Return the activations of a compliant joint, (n, k)."""
        first = self.robot.joints[j].actuators[0]
        at, size = (int(of[first]) for of in (self.robot.model.actuator_actadr, self.robot.model.actuator_actnum))
        return self.act[:, at : at + size] if size else np.empty((len(self.time), 0))

    def read(self, names: Sequence[str]) -> Array:
        """Return signals by name, (n, names), without noise and delays; torques of joints are in `joint`."""
        readings, found = self.robot.readings, np.zeros((len(self.time), len(names)))
        arrays = {QPOS: self.qpos, QVEL: self.qvel, SENSOR: self.sensordata}
        for column, name in enumerate(names):
            k = self.robot.info.signal(name)
            source, index = int(readings.source[k]), int(readings.index[k])
            if source == JOINT:
                found[:, column] = self.joint(index // len(SIGNALS))[SIGNALS[index % len(SIGNALS)]]
            elif source in arrays:
                found[:, column] = arrays[source][:, index]
        return found


def run_every_step(robot: CompiledRobot, physics: Array, start: Array, control: Array) -> Steps:
    """Run controls in C and return every physics step. Releases the GIL, so that several threads may do it.

    Args:
        robot: which.
        physics: state at the start (mjSTATE_FULLPHYSICS), (n,).
        start: controls in force before the start, (nu,).
        control: of every period, (periods, nu).

    Raises:
        ConfigurationError: no period.
    """
    if not len(control):
        raise ConfigurationError("a run of no period has no physics step to look at.")
    install(robot.backend)
    model = robot.model if robot.randomised.names else robot.bare
    given = np.repeat(control, robot.substeps, axis=0)
    states, sensed = mujoco.rollout.rollout([model], [mujoco.MjData(model)], physics[None], given[None])
    rows = np.concatenate([physics[None], states[0]])
    good = int(steps_before_divergence(np.diff(rows[None, :, 0], axis=1))[0])
    columns = physics_columns(model)
    qpos, qvel, act = (rows[:good, columns[name]] for name in ("qpos", "qvel", "act"))
    return Steps(
        robot=robot,
        time=rows[:good, 0],
        qpos=qpos,
        qvel=qvel,
        act=act,
        control=_in_force(robot, start, given)[:good],
        sensordata=sensed[0, :good],
        diverged=good < len(given),
    )


def _in_force(robot: CompiledRobot, start: Array, given: Array) -> Array:
    """Controls that act in every step: those given, or a delay earlier."""
    delays = robot.model.actuator_delay
    if not delays.any():
        return given
    late = given.copy()
    for joint in robot.joints:
        steps = round(float(delays[joint.actuators[0]]) / float(robot.model.opt.timestep))
        columns = list(joint.controls)
        before = np.broadcast_to(start[columns], (min(steps, len(given)), len(columns)))
        late[:, columns] = np.concatenate([before, given[:, columns]])[: len(given)]
    return late
