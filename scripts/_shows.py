"""What `pliant view` shows: a simulated robot and who commands it."""

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from pliant.controllers import FeedForward, sample
from pliant.controllers.trajectories import Trajectory
from pliant.controllers.trial import JointTrials
from pliant.envs.env import PliantEnv
from pliant.envs.simulated_robot import SimulatedRobot
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array, Channel

Commands = Callable[[float], Array]
"""The command at a time, (columns,)."""

_TURN = 0.7
"""Amplitude of the references of a demonstration, rad …"""
_PUSH = 0.05
"""… and of torques, in parts of the largest."""
_PERIOD = 6.0
"""Of its sines, s …"""
_SWEEP = 18.0
"""… and of the sweep of the preset."""


class Show(Protocol):
    """A motion that can be watched."""

    robot: SimulatedRobot
    duration: float
    """Until it has been shown once, s."""

    def restart(self) -> None:
        """Go to the beginning."""

    def advance(self) -> None:
        """Let one period pass; at the end, begin again."""


class CommandShow:
    """A robot that is given commands, from rest."""

    def __init__(self, robot: SimulatedRobot, commands: Commands, duration: float) -> None:
        """Connect the robot.

        Args:
            robot: what is commanded.
            commands: from the beginning on.
            duration: after which it begins again, s; infinite: never.
        """
        self.robot, self.duration = robot, duration
        self._commands, self._count = commands, 0
        robot.connect()
        self.restart()

    def restart(self) -> None:
        """Put the robot to rest under the first command."""
        self._count = 0
        self.robot.reset(command=self._commands(0.0))

    def advance(self) -> None:
        """Let one period pass; at the end, begin again."""
        time = self._count * self.robot.info.period
        if time >= self.duration:
            self.restart()
            return
        self.robot.send(self._commands(time))
        self._count += 1


class EnvironmentShow:
    """An environment whose robot is commanded as in a demonstration; every episode begins where its task says."""

    def __init__(self, env: Any, seed: int) -> None:
        """Begin the first episode; raises `ConfigurationError` if its robot is not a simulated one."""
        inner = env.unwrapped
        if not isinstance(inner, PliantEnv) or not isinstance(inner.robot, SimulatedRobot):
            raise ConfigurationError("only an environment with a simulated robot can be viewed.")
        self.robot, self.duration = inner.robot, math.inf
        self._env, self._actions, self._seed = env, inner.actions, seed
        self.restart()

    def restart(self) -> None:
        """Begin the first episode again."""
        self._count = 0
        self._env.reset(seed=self._seed)

    def advance(self) -> None:
        """Take one step, or begin the next episode after the end of one."""
        time = self._count * self.robot.info.period
        command = demonstration(self._actions, time)
        low = np.array([channel.low for channel in self._actions])
        high = np.array([channel.high for channel in self._actions])
        *_, terminated, truncated, _ = self._env.step(2.0 * (command - low) / (high - low) - 1.0)
        self._count += 1
        if terminated or truncated:
            self._env.reset()


def demonstration(channels: tuple[Channel, ...], time: float) -> Array:
    """Commands that show softness at work, (columns,): slow sines, while presets sweep from slack to stiff.

    References swing by 0.7 rad and torques by a twentieth of their bounds about rest in 6 s; a preset rises from
    its least useful value, 0 or its lower bound, to its upper bound and back in 18 s.
    """
    swing = math.sin(2 * math.pi * time / _PERIOD)
    sweep = (1 - math.cos(2 * math.pi * time / _SWEEP)) / 2
    values = []
    for channel in channels:
        if channel.name.endswith("/preset"):
            least = max(channel.low, min(0.0, channel.high))
            value = least + (channel.high - least) * sweep
        else:
            span = _TURN if channel.unit == "rad" else _PUSH * (channel.high - channel.low) / 2
            value = channel.rest + span * swing
        values.append(min(max(value, channel.low), channel.high))
    return np.array(values)


def demonstrating(robot: SimulatedRobot) -> CommandShow:
    """The demonstration, without end."""
    return CommandShow(robot, lambda time: demonstration(robot.info.command, time), math.inf)


def following(robot: SimulatedRobot, trajectory: Trajectory) -> CommandShow:
    """A robot that gets a trajectory as the first reference of each joint, the others at rest.

    Raises:
        ConfigurationError: the trajectory is for another number of joints.
    """
    motion = sample(trajectory, robot.info.period)
    if motion.position.shape[1] != len(robot.info.joints):
        raise ConfigurationError(
            f"the trajectory moves {motion.position.shape[1]} joints, robot {robot.info.name!r} has "
            f"{len(robot.info.joints)} ({', '.join(robot.info.joints)})."
        )
    rows = JointTrials(robot).robot_command(motion.position)
    return CommandShow(robot, lambda time: rows[_row(time, robot, len(rows))], len(rows) * robot.info.period)


def replaying(robot: SimulatedRobot, feedforward: FeedForward) -> CommandShow:
    """What was learned, replayed; raises `MismatchError` on a robot that it does not fit."""
    fitting = feedforward.arranged(robot.info)
    return CommandShow(robot, fitting.at, fitting.duration)


def _row(time: float, robot: SimulatedRobot, rows: int) -> int:
    return min(round(time / robot.info.period), rows - 1)
