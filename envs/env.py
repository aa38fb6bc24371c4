"""The Gymnasium environment: any robot behind the interface of `pliant.hardware`, and a task."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol, runtime_checkable

import gymnasium
import mujoco
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike, NDArray

from pliant.controllers.checks import positive
from pliant.controllers.controller import run
from pliant.controllers.feedforward import Rows
from pliant.envs.recorded_episode import RecordedEpisode
from pliant.envs.rendering import RENDER_MODES, Drawable, RobotView
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.tasks.kinematics import Kinematics
from pliant.envs.tasks.row import SUCCESS, TERMINATED, VERDICT
from pliant.envs.tasks.task import Observation, Task
from pliant.errors import ConfigurationError, MissingAttributeError, OutOfBoundsError, RobotError, ShapeError
from pliant.hardware.robot import Array, Robot, State

_VIEWS = ("_action", "_command", "_signals", "_observation", "_outcome", "_read", "_recorded")
"""Attributes that look into an environment's own episode, which a copy must find anew in its own."""


@runtime_checkable
class Resettable(Protocol):
    """A robot that can be put into any state at once, as only a simulated one can."""

    def reset(
        self,
        seed: int | None = None,
        position: ArrayLike | None = None,
        command: ArrayLike | None = None,
        *,
        bodies: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """Put it to rest at link angles `position`, free bodies at poses, and reseed its noise."""
        ...

    def set_state(self, snapshot: Any) -> None:
        """Put it into a state saved before. Tells it from a machine whose `reset` is something else."""


@runtime_checkable
class Varied(Protocol):
    """A robot whose parameters may be drawn anew at every reset."""

    @property
    def parameters(self) -> dict[str, float]:
        """What was drawn, by name; empty if nothing is."""


@runtime_checkable
class Instrumented(Protocol):
    """A robot that can write its newest state into arrays, more quickly than `read` can return it."""

    def read_into(self, signals: Array, command: Array) -> None:
        """Write the signals, (signals,), and the command in force, (columns,)."""


class PliantEnv(gymnasium.Env[Observation, NDArray[np.float32]]):
    """One robot and one task.

    Actions are in [−1, 1] and spread over the bounds of the command columns that the task commands (values
    outside are limited); observations are in SI units. Names, units and bounds of both: `actions` and
    `observations`.

    `step` lasts one period of the robot. `terminated`: the task is done, or the robot failed (a diverged
    simulation, a machine that is lost or gives no reading); then `info["failure"]` names the reason, the robot
    is stopped and the observation is the last good one. `truncated`: the task's time is up. Both on one period:
    terminated.

    `info` holds the reward's terms as `reward_<term>` and, where an end of the task tells of success,
    `is_success`; that of `reset` holds what was drawn of a simulated robot as `parameters`.

    `reset` puts a simulated robot where the task begins. Another robot is commanded to rest for `settle`
    seconds: place a safety layer before it that walks there slowly. The same seed gives the same episodes on a
    simulated robot.

    `copy.deepcopy` and `pickle` give an environment that goes on, to the last bit, as this one, also in the midst
    of an episode; of a robot that is not simulated they raise `ConfigurationError`.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 50}  # noqa: RUF012

    def __init__(
        self,
        robot: Robot,
        task: Task,
        render_mode: str | None = None,
        *,
        settle: float = 2.0,
        kinematics: Kinematics | None = None,
        width: int = 640,
        height: int = 480,
    ) -> None:
        """Put a task on a robot; does not connect.

        Args:
            robot: any robot. The environment connects it at the first reset and closes it.
            task: what is asked of it.
            render_mode: None, "human" or "rgb_array"; the latter two need a simulated robot.
            settle: how long a robot that is not simulated is commanded to rest at a reset, s.
            kinematics: where the robot's end effectors are, for tasks that need to know; None: the robot's own
                `kinematics`, if it has any.
            width: of an image, pixels.
            height: of an image, pixels.

        Raises:
            UnknownNameError: no such render mode.
            ConfigurationError: task or render mode do not go with the robot; see also `Task.on`.
        """
        offered = getattr(robot, "kinematics", None) if kinematics is None else kinematics
        self.robot, self.task = robot, task.on(robot.info, offered)
        self.actions, self.observations = self.task.actions, self.task.observations
        self.action_space = Box(-1.0, 1.0, (len(self.actions),), np.float32)
        self.observation_space = Box(*self.task.bounds, dtype=np.float32)
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": round(1.0 / robot.info.period)}
        self._view = None if render_mode is None else RobotView(robot, render_mode, width, height)
        self._settling = math.ceil(positive("settle", settle, "s") / robot.info.period) * robot.info.period
        self._terms = [f"reward_{term}" for term in self.task.terms]
        self._episodes = self.task.episodes(1)
        self._going = False
        """Whether an episode is going on."""
        self._lost = False
        """Whether the robot failed in it."""
        self._recorded: RecordedEpisode | None
        """The episode so far, where it is shown in a window."""
        self._look()

    @property
    def model(self) -> mujoco.MjModel:
        """MuJoCo's model of a simulated robot, to be read.

        It is the one that is simulated: what is written into it changes the robot, until a reset draws it anew.

        Raises:
            MissingAttributeError: the robot is not simulated by MuJoCo.
        """
        return self._drawable.model

    @property
    def data(self) -> mujoco.MjData:
        """MuJoCo's data of a simulated robot, to be read: positions and velocities as they are now.

        What MuJoCo derives of them (`xpos`, `site_xpos`, forces) is one physics step older; `mujoco.mj_forward`
        on a copy, `copy.copy(env.data)`, brings it up to date and leaves the episode alone.

        Raises:
            MissingAttributeError: the robot is not simulated by MuJoCo.
        """
        return self._drawable.data

    @property
    def _drawable(self) -> Drawable:
        if not isinstance(self.robot, Drawable):
            raise MissingAttributeError(
                f"robot {self.robot.info.name!r} is not simulated by MuJoCo, so its environment has no model and "
                "no data; what it measures is in env.unwrapped.robot.read()."
            )
        return self.robot

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: makes this episode and those after it reproducible.
            options: none exist.

        Raises:
            ConfigurationError: options are given.
            RobotError: the robot cannot be connected, was stopped and not armed again by its operator (a reset
                does not do that), does not measure what the task observes, or cannot place the task's bodies.
        """
        super().reset(seed=seed)
        if options:
            raise ConfigurationError(f"reset takes no options; got {', '.join(map(repr, options))}.")
        self._going = self._lost = False
        self._place(self.task.begin(self._episodes, 0, self.np_random), self.task.place(self.np_random))
        self._read()
        if not self.task.observe(self._episodes):
            raise RobotError(
                f"{self.task.trouble(self._episodes, 0)}, which the task observes; learn without: "
                "task.observations says what is observed."
            )
        self._going = True
        if self.render_mode == "human":
            if isinstance(self.robot, SimulatedRobot):
                self._recorded = RecordedEpisode(self)
            self._show()
        drawn = self.robot.parameters if isinstance(self.robot, Varied) else {}
        return self._observation.copy(), {"parameters": drawn} if drawn else {}

    def step(self, action: ArrayLike) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act for one period.

        Args:
            action: (actions,), in [−1, 1].

        Raises:
            ShapeError, OutOfBoundsError: an action of the wrong shape or not finite. Nothing is sent.
            RobotError: no episode has begun, or it has ended: `reset` comes first.
        """
        if not self._going:
            raise RobotError("no episode is going on; call reset() first.")
        shape = action.shape if isinstance(action, np.ndarray) else np.shape(action)
        if shape != self._action.shape:
            names = ", ".join(channel.name for channel in self.actions)
            raise ShapeError(f"an action has shape {self._action.shape} ({names}); got {shape}.")
        self._action[:] = action
        if not self.task.act(self._episodes):
            raise OutOfBoundsError(f"the action {action!r} is not finite; nothing was sent.")
        try:
            self.robot.send(self._command.copy())
            self._read()
        except RobotError as error:
            return self._fail(str(error))
        if not self.task.judge(self._episodes):
            return self._fail(f"{self.task.trouble(self._episodes, 0)}.")
        outcome = self._outcome.tolist()
        reward, success, terminated, truncated = outcome[-VERDICT:]
        info: dict[str, Any] = dict(zip(self._terms, outcome))  # noqa: B905 (the terms come first)
        if self.task.task.tells_success:
            info["is_success"] = success == 1.0
        self._going = not (terminated or truncated)
        if self.render_mode == "human":
            self._show()
        return self._observation.copy(), reward, terminated == 1.0, truncated == 1.0, info

    @property
    def numbers(self) -> Array:
        """The numbers of the episode as they are now, (width,), to be read; `task.column` says which is where."""
        numbers: Array = self._episodes.block[0]
        return numbers

    @property
    def failed(self) -> bool:
        """Whether the episode has ended by a failure, of the task or of the robot."""
        success, terminated = self._outcome[SUCCESS], self._outcome[TERMINATED]
        return self._lost or bool(terminated and not success)

    def prolong(self) -> Observation:
        """Let an episode that has ended go on for a period, for pictures of what comes after its end.

        Returns:
            The last observation.

        Raises:
            RobotError: the robot is not connected, or has failed.
        """
        self.robot.read()
        self._going = True
        observed: Observation = self._observation.copy()
        return observed

    def render(self) -> NDArray[np.uint8] | None:
        """Return an RGB image, (height, width, 3) uint8, or show the robot in a window (mode "human").

        Raises:
            RenderingError: no way to draw is found here; the message says how to make one.
        """
        if self._view is None:
            return None
        return self._view.render(None if self._recorded is None else self._recorded.draw)

    def _show(self) -> None:
        """Record an instant, for what marks the task, and show it in the window."""
        if self._recorded is not None:
            self._recorded.see()
        self.render()

    def close(self) -> None:
        """Release the robot as its `close` does it (a safety layer walks home), and close the window.

        Raises:
            RobotError: the robot was stopped on its way; it is released all the same.
        """
        self._going = False
        try:
            self.robot.close()
        finally:
            if self._view is not None:
                self._view.close()

    def __getstate__(self) -> dict[str, Any]:
        if not isinstance(self.robot, Resettable):
            raise ConfigurationError(
                f"robot {self.robot.info.name!r} is not simulated, so its environment cannot be copied or "
                "pickled: there is one such machine."
            )
        return {name: value for name, value in vars(self).items() if name not in _VIEWS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._look()

    def _look(self) -> None:
        """Find the episode's arrays, and how the robot is read into them."""
        one = self._episodes
        self._action, self._command, self._signals = one.action[0], one.command[0], one.signals[0]
        self._observation, self._outcome = one.observation[0], one.outcome[0]
        self._recorded = None
        self._read: Callable[[], None] = self._read_state
        if isinstance(self.robot, Instrumented):
            self._read = partial(self.robot.read_into, self._signals, self._command)

    def _place(self, position: Array | None, bodies: Mapping[str, Array]) -> None:
        """Bring the robot to the start of an episode."""
        try:
            self.robot.read()
        except RobotError:
            self.robot.connect()
        if isinstance(self.robot, Resettable):
            self.robot.reset(seed=int(self.np_random.integers(2**32)), position=position, bodies=bodies)
            return
        if bodies:
            raise RobotError(
                f"robot {self.robot.info.name!r} cannot be put anywhere at once, and so cannot what is around it: "
                f"the task places {', '.join(bodies)}."
            )
        run(self.robot, Rows(self.robot.info.rest[None]), self._settling)

    def _read_state(self) -> None:
        """Read the robot into the episode, including the command in force."""
        state = self.robot.read()
        self._signals[:] = state.signals
        self._command[:] = state.command

    def _fail(self, reason: str) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """End the episode because the robot failed."""
        self._going, self._lost = False, True
        self.robot.stop()
        penalty = -self.task.task.failure_penalty
        info: dict[str, Any] = dict.fromkeys(self._terms, 0.0)
        if self.task.task.tells_success:
            info["is_success"] = False
        info |= {"reward_failure": penalty, "failure": reason}
        return self._observation.copy(), penalty, True, False, info
