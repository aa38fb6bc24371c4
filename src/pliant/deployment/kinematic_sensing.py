"""Where the end effectors are, told by the joints' angles, on a machine that measures nothing else."""

from collections.abc import Sequence
from dataclasses import replace

import mujoco
import numpy as np

from pliant.envs.description import RobotDescription
from pliant.envs.fronts import needed_signals
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.signals import SENSOR, choose
from pliant.envs.tasks import Task
from pliant.hardware.robot import Array, Robot, RobotInfo, State
from pliant.hardware.wrapper import RobotWrapper


class KinematicSensing(RobotWrapper):
    """A robot whose end effectors' signals follow from its measured joint positions and velocities.

    Position, orientation, velocity and angular velocity of sites are added to what the robot reads, as MuJoCo's
    sensors give them for the same joints in its model: as true as the model's geometry is. Where a joint is not
    measured they are NaN. A signal that the robot reads itself is left alone. Nothing is added on a machine that
    lacks a joint of the model or whose base floats, since nothing tells then where it is.

    Args:
        robot: the machine.
        model: of the same robot, reading the wanted signals; see `task_model`.
        end_effectors: names of those that are wanted.
    """

    def __init__(self, robot: Robot, model: SimulatedRobot, end_effectors: Sequence[str]) -> None:
        super().__init__(robot)
        compiled, known = model.compiled, robot.info.signal_names
        joints = compiled.info.joints
        told = set(joints) <= set(robot.info.joints) and not (compiled.model.jnt_type == _FREE).any()
        first = len(compiled.info.signals) - len(compiled.info.sensors)
        added = [
            (channel, int(compiled.readings.index[first + k]))
            for k, channel in enumerate(compiled.info.sensors)
            if told
            and channel.name not in known
            and channel.name.rpartition("/")[0] in end_effectors
            and compiled.readings.source[first + k] == SENSOR
        ]
        self._places = np.array([place for _, place in added], dtype=np.intp)
        self._joints = [robot.info.joints.index(name) for name in joints] if told else []
        self._dofs = np.array([int(compiled.model.joint(name).dofadr[0]) for name in joints], dtype=np.intp)
        self._compiled, self._data = compiled, mujoco.MjData(compiled.model)
        self._info = replace(robot.info, signals=(*robot.info.signals, *(channel for channel, _ in added)))

    @property
    def info(self) -> RobotInfo:
        """The robot's, with the signals of its end effectors."""
        return self._info

    def read(self) -> State:
        """Return the robot's state with where its end effectors are."""
        state = self.robot.read()
        if not self._places.size:
            return state
        return state._replace(sensors=np.concatenate([state.sensors, self._told(state)]))

    def _told(self, state: State) -> Array:
        position, velocity = state.position[self._joints], state.velocity[self._joints]
        if not (np.isfinite(position).all() and np.isfinite(velocity).all()):
            return np.full(len(self._places), np.nan)
        model, data = self._compiled.model, self._data
        data.qpos[:] = self._compiled.qpos
        data.qvel[:] = 0.0
        data.qpos[self._compiled.positions], data.qvel[self._dofs] = position, velocity
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_sensorPos(model, data)
        mujoco.mj_sensorVel(model, data)
        return np.array(data.sensordata[self._places])


_FREE = int(mujoco.mjtJoint.mjJNT_FREE)


def task_model(description: RobotDescription, task: Task, period: float) -> SimulatedRobot:
    """Return the model of a robot that reads, exactly and at once, what a task needs of its end effectors.

    Raises:
        UnknownNameError: the task needs a signal that the robot does not have. Others: as `Task.on`.
    """
    names = {offer.channel.name for offer in choose(description.model, tuple(description.model.end_effectors))}
    wanted = tuple(name for name in needed_signals(description, task) if name in names)
    return description.simulated(period, signals=wanted, sensing={}, sensor_delay=0.0, transaction=0.0)
