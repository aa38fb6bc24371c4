"""Motions to be watched: a simulated robot and who commands it, beginning again at the end."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np

from pliant.controllers import Controller, FeedForward, desired_motion
from pliant.controllers.policy import Policy, PolicyInfo
from pliant.controllers.robot_parameters import tell
from pliant.controllers.trajectories import Trajectory
from pliant.controllers.trial import JointTrials
from pliant.envs.env import PliantEnv
from pliant.envs.movement import Movement, OpenLoop
from pliant.envs.recorded_episode import RecordedEpisode
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.holding import link_ranges, trial_start
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array, Channel, State

_TURN = 0.7
"""Amplitude of the references of a demonstration, rad …"""
_PUSH = 0.05
"""… and of torques, in parts of the largest."""
_PERIOD = 6.0
"""Of its sines, s …"""
_SWEEP = 18.0
"""… and of the sweep of the preset."""


class LoopedMotion(Protocol):
    """A motion that can be watched."""

    robot: SimulatedRobot
    controller: Controller | None
    """What commands it, where a controller does."""
    duration: float
    """Until it has been shown once, s."""

    def restart(self) -> None:
        """Go to the beginning."""

    def advance(self) -> None:
        """Let one period pass; at the end, begin again."""

    def draw(self, scene: mujoco.MjvScene) -> None:
        """Add what marks the motion (goal, path, force) to a scene of the robot's model."""


class LoopedMovement:
    """A robot that moves; at the end it begins again."""

    def __init__(self, movement: Movement) -> None:
        """Put the robot to the beginning."""
        self.robot, self.duration = movement.robot, movement.duration
        self.controller: Controller | None = movement.controller
        self._movement = movement
        self.restart()

    def restart(self) -> None:
        """Put the robot to the beginning."""
        self._states = self._movement.states()
        next(self._states)

    def advance(self) -> None:
        """Let one period pass, or begin again after the last one."""
        if next(self._states, None) is None:
            self.restart()

    def draw(self, scene: mujoco.MjvScene) -> None:
        """Add nothing."""


class Played(NamedTuple):
    """An episode that is over."""

    seed: int
    reward: float
    """The sum over its periods."""
    length: int
    """Periods."""
    info: Mapping[str, Any]
    """Of its last step."""


class LoopedEnvironment:
    """An environment under a policy, one episode after another; the seed grows by one from each to the next."""

    def __init__(
        self, env: Any, policy: Policy | None, seed: int, told: Callable[[Played], None] = lambda played: None
    ) -> None:
        """Begin the first episode.

        Args:
            env: of ours, or wrapped.
            policy: made ready for it; None: the demonstration.
            seed: of the first episode.
            told: called after every episode.

        Raises:
            ConfigurationError: its robot is not a simulated one.
        """
        inner = env.unwrapped
        if not isinstance(inner, PliantEnv) or not isinstance(inner.robot, SimulatedRobot):
            raise ConfigurationError("only an environment with a simulated robot can be viewed.")
        self.robot, self.duration = inner.robot, math.inf
        self.controller: Controller | None = None
        self._env, self._inner, self._seed, self._told = env, inner, seed, told
        self._policy = DemonstrationPolicy(inner) if policy is None else policy
        self._observation: Any = None
        self._reward, self._length = 0.0, 0
        self.restart()

    def restart(self) -> None:
        """Begin the first episode again."""
        self._count = 0
        self._begin()

    def advance(self) -> None:
        """Take one step, or begin the next episode after the end of one."""
        action = self._policy(self._observation)
        self._observation, reward, terminated, truncated, info = self._env.step(action)
        self._episode.see()
        self._reward, self._length = self._reward + float(reward), self._length + 1
        if terminated or truncated:
            self._told(Played(self._seed + self._count, self._reward, self._length, info))
            self._count += 1
            self._begin()

    def draw(self, scene: mujoco.MjvScene) -> None:
        """Add what the task marks, from what has happened in this episode so far."""
        self._episode.draw(scene)

    def _begin(self) -> None:
        self._observation, _ = self._env.reset(seed=self._seed + self._count)
        self._episode = RecordedEpisode(self._inner)
        self._episode.see()
        self._policy.reset()
        self._reward, self._length = 0.0, 0


class DemonstrationPolicy(Policy):
    """The demonstration in an environment. It goes on over episodes, which may be shorter than it."""

    def __init__(self, env: PliantEnv) -> None:
        """Begin it."""
        super().__init__(PolicyInfo.of(env.robot.info, env.observations, env.actions))
        self._count = 0

    def act(self, observation: Array) -> Array:
        """Return the action of the next period, whatever is observed."""
        channels = self.info.actions
        command = demonstration(channels, self._count * self.period)
        self._count += 1
        low = np.array([channel.low for channel in channels])
        high = np.array([channel.high for channel in channels])
        return np.asarray(2.0 * (command - low) / (high - low) - 1.0, dtype=np.float64)


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


@dataclass(frozen=True)
class Demonstration(Controller):
    """Commands the demonstration, whatever the robot does."""

    channels: tuple[Channel, ...]

    def update(self, state: State, t: float) -> Array:
        """Return the command at time t."""
        return demonstration(self.channels, t)


def demonstration_movement(robot: SimulatedRobot) -> Movement:
    """The demonstration, without end."""
    channels = robot.info.command
    return Movement(robot, Demonstration(channels), math.inf, before=demonstration(channels, 0.0))


def trajectory_movement(robot: SimulatedRobot, trajectory: Trajectory) -> Movement:
    """The first trial of `pliant ilc`: the trajectory as the first reference of each joint, the others at rest.

    Raises:
        ShapeError, MismatchError, OutOfBoundsError: the trajectory is not one of this robot, or begins where
            nothing holds it; see `desired_motion` and `trial_start`.
    """
    trials = JointTrials(robot)
    motion = desired_motion(trajectory, robot.info, ranges=link_ranges(robot.compiled))
    start = trial_start(robot.compiled, motion.position[0], trials.columns)
    return OpenLoop(
        robot, trials.robot_command(motion.position + start.lift), position=start.position, before=start.command
    )


def feedforward_movement(robot: SimulatedRobot, feedforward: FeedForward) -> Movement:
    """What was learned, from where its motion begins; raises `MismatchError` on a robot that it does not fit.

    On a robot of other parameters it is shown all the same, and the differences are logged.
    """
    learned = feedforward.arranged(robot.info, parameters=False)
    tell(f"the feed-forward learned on {feedforward.robot!r}", learned.parameters, robot.info.parameters)
    begin = None if learned.desired is None else learned.desired[0]
    return OpenLoop(robot, learned.command, position=begin, before=learned.command[0])
