"""The vector environment: many simulated robots with one task, stepped together."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from pliant.envs.rendering import OffscreenRenderer
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.batch import SimulatedRobots
from pliant.envs.tasks.kinematics import Kinematics
from pliant.envs.tasks.row import REWARD, TERMINATED, TRUNCATED
from pliant.envs.tasks.task import Observation, Task
from pliant.envs.vector.generators import Generators
from pliant.envs.vector.member import Member
from pliant.envs.vector.reports import Mask, add, parameter_report, step_report
from pliant.errors import (
    ConfigurationError,
    OutOfBoundsError,
    RobotError,
    ShapeError,
    check_count,
    unknown_name,
)
from pliant.hardware.robot import Array, Robot


class PliantVectorEnv(VectorEnv[Observation, ArrayLike, NDArray[Any]]):
    """n environments like one `PliantEnv` with a simulated robot.

    Each does to the last bit what that one would do with its seed: observations, rewards, ends, resets and `info`,
    which is laid out as by `gymnasium.vector.SyncVectorEnv`. A simulation that diverges ends its own episode, with
    the reason in `infos["failure"]`; the others go on. `envs[i]` is environment i by itself.

    `copy.deepcopy` and `pickle` give environments that go on, to the last bit, as these, also in the midst of
    episodes.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": 50,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    single_action_space: Box
    single_observation_space: Box

    def __init__(
        self,
        robot: Robot,
        task: Task,
        num_envs: int = 1,
        kinematics: Kinematics | None = None,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        threads: int = 0,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
    ) -> None:
        """Make the environments.

        Args:
            robot: what each simulates a copy of.
            task: what is asked of each.
            num_envs: how many, n.
            kinematics: as of `PliantEnv`.
            autoreset_mode: when an episode that has ended gives way to the next one: in the next step (whose
                action is ignored), in the same step, or never: "NextStep", "SameStep" or "Disabled".
            max_episode_steps: after which an episode is truncated, as by Gymnasium's `TimeLimit`; None: when the
                task says so.
            threads: that step the robots; 0: as many as there are CPUs.
            render_mode: None or "rgb_array".
            width: of an image, pixels.
            height: of an image, pixels.

        Raises:
            UnknownNameError: no such render mode or autoreset mode.
            ConfigurationError: a robot that is not simulated, which exists only once; task and robot do not go
                together; or the Python back end is in force.
            OutOfBoundsError: the number of environments, steps or threads, or an image without pixels.
        """
        if render_mode not in (None, "rgb_array"):
            raise unknown_name("render mode", render_mode, ("rgb_array",), "a vector environment")
        if not isinstance(robot, SimulatedRobot):
            raise ConfigurationError(
                f"robot {robot.info.name!r} is not simulated, and a vector environment needs many copies of it; "
                "use gymnasium.make."
            )
        self.autoreset_mode, self.render_mode = _as_mode(autoreset_mode), render_mode
        if max_episode_steps is not None:
            check_count("max_episode_steps", max_episode_steps, 1, 10**9)
        self._most_steps = max_episode_steps
        self.elapsed: NDArray[np.int64] = np.zeros(num_envs, dtype=np.int64)
        """How many steps each episode has lasted so far, (n,)."""
        offered = getattr(robot, "kinematics", None) if kinematics is None else kinematics
        self.task = task.on(robot.info, offered)
        self._episodes = self.task.episodes(num_envs)
        reads = self.task.reads if self._episodes.controlled is None else None  # controllers see all
        self.robots = SimulatedRobots(robot, num_envs, threads, reads)
        self._home = robot.compiled.qpos[robot.compiled.positions]
        self.num_envs = num_envs
        self.actions, self.observations = self.task.actions, self.task.observations
        self.single_action_space = Box(-1.0, 1.0, (len(self.actions),), np.float32)
        self.single_observation_space = Box(*self.task.bounds, dtype=np.float32)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        own = {"render_fps": round(1.0 / robot.info.period), "autoreset_mode": self.autoreset_mode}
        self.metadata = {**self.metadata, **own}
        self.envs = tuple(Member(self, i) for i in range(num_envs))
        self._renderer = OffscreenRenderer(robot.model, width, height)
        self._robot, self.generators = robot, Generators(num_envs)
        self._begun: Mask = np.zeros(num_envs, dtype=np.bool_)
        self._ended: Mask = np.zeros(num_envs, dtype=np.bool_)
        """Which episodes have ended and not yet given way to the next."""

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in every environment.

        Args:
            seed: of each environment, None where its generator goes on; a single number stands for seed,
                seed + 1, ….
            options: `reset_mask`, a boolean array (n,), begins only the episodes it marks.

        Raises:
            ConfigurationError: another option.
            ShapeError: a mask or seeds that are not one for each environment, or a mask that marks none.
        """
        mask = self._mask(options)
        self.generators.seed(seed, mask)
        infos = self._begin(mask)
        self._ended[mask] = False
        return self._episodes.observation.copy(), infos

    def step(self, actions: ArrayLike) -> tuple[Observation, Array, Mask, Mask, dict[str, Any]]:
        """Act for one period.

        Args:
            actions: (n, actions), in [−1, 1].

        Raises:
            ShapeError, OutOfBoundsError: actions of the wrong shape or not finite. Nothing is sent.
            RobotError: an episode has not begun, or has ended without autoreset: `reset` comes first.
        """
        episodes, restarting, running = self._episodes, self._ended, ~self._ended
        self._take(actions)
        failures = self.robots.send(np.flatnonzero(running), episodes.command, episodes.signals)
        outcome = episodes.outcome
        outcome[restarting] = 0.0
        self._judge(running, failures)
        infos = self._begin(restarting)
        for i in failures:
            outcome[i] = 0.0
            outcome[i, REWARD], outcome[i, TERMINATED] = -self.task.task.failure_penalty, 1.0
        rewards = outcome[:, REWARD].copy()
        terminated, truncated = outcome[:, TERMINATED] == 1.0, outcome[:, TRUNCATED] == 1.0
        self.elapsed += running
        if self._most_steps is not None:
            truncated |= running & (self.elapsed >= self._most_steps)
        self._ended = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._ended.any():
            infos |= self._restart(failures)
        else:
            infos |= self._report(running, failures)
        return episodes.observation.copy(), rewards, terminated, truncated, infos

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return an image of every robot, each (height, width, 3), or None without a render mode.

        Raises:
            RenderingError: no way to draw is found here; the message says how to make one.
        """
        if self.render_mode is None:
            return None
        return tuple(self.image(i) for i in range(self.num_envs))

    def image(self, i: int) -> NDArray[np.uint8]:
        """Return an image of robot i, as `render` does."""
        self.robots.show(i)
        return self._renderer.render(self._robot.data)

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return what the method or attribute `name` of every member gives."""
        found = (getattr(member, name) for member in self.envs)
        return tuple(value(*args, **kwargs) if callable(value) else value for value in found)

    def close_extras(self, **kwargs: Any) -> None:
        """Release what drawing needed."""
        self._robot.close()
        self._renderer.close()

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generator of each environment."""
        return tuple(self.generators[i] for i in range(self.num_envs))

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """What each environment's generator was seeded with."""
        return tuple(self.generators.seed_of(i) for i in range(self.num_envs))

    def _take(self, actions: ArrayLike) -> None:
        """Check actions and write what they command."""
        if not self._begun.all():
            raise RobotError("no episode is going on; call reset() first.")
        if self._ended.any() and self.autoreset_mode is not AutoresetMode.NEXT_STEP:
            raise RobotError(
                f"the episodes of environments {np.flatnonzero(self._ended).tolist()} have ended and autoreset is "
                "off; reset them with the option 'reset_mask' first."
            )
        array, taken = np.asarray(actions, dtype=np.float64), self._episodes.action
        if array.shape != taken.shape:
            names = ", ".join(channel.name for channel in self.actions)
            raise ShapeError(f"the actions have shape {taken.shape} (each {names}); got {array.shape}.")
        taken[:] = array
        taken[self._ended] = 0.0
        if not self.task.act(self._episodes, np.flatnonzero(~self._ended)):
            i = int(np.argmin(np.isfinite(taken).all(axis=1)))
            raise OutOfBoundsError(f"the action {taken[i]} of environment {i} is not finite; nothing was sent.")

    def _begin(self, mask: Mask) -> dict[str, Any]:
        """Begin episodes and observe them; returns what they report."""
        index = np.flatnonzero(mask)
        if not len(index):
            return {}
        positions = np.empty((len(index), len(self._robot.info.joints)))
        bodies = {name: np.empty((len(index), 7)) for name in self.task.task.bodies}
        seeds = []
        for k, i in enumerate(index.tolist()):
            random = self.generators[i]
            start = self.task.begin(self._episodes, i, random)
            positions[k] = self._home if start is None else start
            for name, pose in self.task.place(random).items():
                bodies[name][k] = pose
            seeds.append(int(random.integers(2**32)))
        self.robots.reset(index, seeds, positions, self._episodes.signals, self._episodes.command, bodies)
        self._begun |= mask
        self.elapsed[mask] = 0
        if not self.task.observe(self._episodes, index):
            trouble = next(filter(None, map(self._trouble, index.tolist())))
            raise RobotError(
                f"{trouble}, which the task observes; learn without: task.observations says what is observed."
            )
        return parameter_report(self.robots.names, self.robots.values, mask)

    def _judge(self, running: Mask, failures: dict[int, str]) -> None:
        """Judge and observe the episodes of robots that did not fail; add those where that cannot be done."""
        sound = running
        if failures:
            sound = running.copy()
            sound[list(failures)] = False
        index = None if sound.all() else np.flatnonzero(sound)
        if not self.task.judge(self._episodes, index):
            found = {i: self._trouble(i) for i in np.flatnonzero(sound).tolist()}
            failures |= {i: f"{reason}." for i, reason in found.items() if reason}

    def _trouble(self, i: int) -> str:
        return self.task.trouble(self._episodes, i)

    def _report(self, mask: Mask, failures: Mapping[int, str]) -> dict[str, Any]:
        task, outcome = self.task.task, self._episodes.outcome
        return step_report(self.task.terms, outcome, mask, failures, task.failure_penalty, task.tells_success)

    def _restart(self, failures: Mapping[int, str]) -> dict[str, Any]:
        """Begin the next episodes at once, and report how the last ones ended."""
        ended = self._ended
        infos = self._report(~ended, {})
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended).tolist():
            last[i] = self._episodes.observation[i].copy()
        add(infos, "final_obs", last, ended)
        add(infos, "final_info", self._report(ended, failures), ended)
        infos |= self._begin(ended)
        self._ended = np.zeros_like(ended)
        return infos

    def _mask(self, options: Mapping[str, Any] | None) -> Mask:
        """Which episodes a reset begins."""
        rest = dict(options or {})
        mask = rest.pop("reset_mask", None)
        if rest:
            raise ConfigurationError(f"reset has one option, 'reset_mask'; got {', '.join(map(repr, rest))}.")
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise ShapeError(f"reset_mask must be a boolean array ({self.num_envs},) that marks at least one.")
        return mask


def _as_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        raise unknown_name("autoreset mode", mode, (m.value for m in AutoresetMode)) from None
