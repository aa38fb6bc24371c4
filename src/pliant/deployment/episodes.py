"""Episodes of a policy on a robot behind its safety layer, each period of them seen and kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.policy import Policy, PolicyInfo
from pliant.controllers.spring_sensing import SpringSensing
from pliant.deployment.deployment import check_measured
from pliant.deployment.kinematic_sensing import KinematicSensing
from pliant.envs.env import PliantEnv
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.tasks import Task
from pliant.hardware.robot import Array, Robot, RobotInfo, State
from pliant.hardware.safety import SafeRobot
from pliant.hardware.wrapper import RobotWrapper
from pliant.training.environments import policy_info
from pliant.training.evaluation import run_episode
from pliant.training.joint_errors import JointErrors
from pliant.training.statistics import Episode


class Period(NamedTuple):
    """One period of an episode."""

    state: State
    """What the policy acted on."""
    reference: Array | None
    """Where the task wants the joints then, (joints,), rad; NaN where it did not say; None if it never does."""
    asked: Array
    """Command of the policy, (columns,)."""
    sent: Array
    """Command as really sent."""
    reward: float
    """For what the period led to."""


@dataclass
class Trace:
    """One episode, as far as it went: what was read at every instant and sent in every period between them."""

    seed: int
    time: list[float] = field(default_factory=list)
    """s of robot time."""
    position: list[Array] = field(default_factory=list)
    """Measured, each (joints,), rad."""
    reference: list[Array] = field(default_factory=list)
    """As in `Period`; empty if the task names none."""
    asked: list[Array] = field(default_factory=list)
    sent: list[Array] = field(default_factory=list)
    episode: Episode | None = None
    """What came of it; None while it is not over."""

    def see(self, state: State, reference: Array | None) -> None:
        """Add an instant."""
        self.time.append(float(state.time))
        self.position.append(state.position)
        if reference is not None:
            self.reference.append(reference)

    def arranged(self, order: Sequence[int]) -> "Trace":
        """Return it with the joints in another order."""
        positions, references = ([row[order] for row in rows] for rows in (self.position, self.reference))
        return replace(self, position=positions, reference=references)


class _Tap(RobotWrapper):
    """Remembers what was read and sent last."""

    state: State
    asked: Array
    sent: Array
    settling: Callable[[State, Array, Array], None] | None = None
    """Told every period while an episode is prepared."""

    def read(self) -> State:
        self.state = super().read()
        return self.state

    def send(self, command: ArrayLike) -> Array:
        self.asked, state = np.array(command, dtype=np.float64), self.state
        self.sent = super().send(command)
        if self.settling is not None:
            self.settling(state, self.asked, self.sent)
        return self.sent


class _References:
    """Reads where a task wants the joints from what it adds to the observation."""

    def __init__(self, info: PolicyInfo) -> None:
        seen = [channel.name for channel in info.observations]
        self._ahead = f"{info.joints[0]}/desired_position" in seen
        names = [f"{joint}/{'desired_position' if self._ahead else 'goal'}" for joint in info.joints]
        self._columns = [seen.index(name) for name in names if name in seen]
        self._known = len(self._columns) == len(names)
        self._coming = np.full(len(names), np.nan)

    def begin(self, observation: ArrayLike) -> Array | None:
        """Return the reference at the begin of an episode."""
        self._coming = np.full(len(self._coming), np.nan)
        return self.next(observation)

    def next(self, observation: ArrayLike) -> Array | None:
        """Return the reference at the instant of an observation; a desired position is told a period ahead."""
        if not self._known:
            return None
        told = np.asarray(observation, dtype=np.float64)[self._columns]
        now, self._coming = (self._coming if self._ahead else told), told
        return now


class _Watched:
    """An environment whose every period is noted."""

    def __init__(self, env: PliantEnv, tap: _Tap, trace: Trace, note: Callable[[Period], None]) -> None:
        self._env, self._tap, self._trace, self._note = env, tap, trace, note
        self._references = _References(policy_info(env))

    def reset(self, *, seed: int) -> tuple[Any, dict[str, Any]]:
        observation, info = self._env.reset(seed=seed)
        self._tap.settling = None
        self._see(self._references.begin(observation))
        return observation, info

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before, reference = self._tap.state, self._reference
        result = self._env.step(action)
        observation, reward, _, _, info = result
        if "failure" not in info:
            sent = Period(before, reference, self._tap.asked, self._tap.sent, reward)
            self._trace.asked.append(sent.asked)
            self._trace.sent.append(sent.sent)
            self._note(sent)
            self._see(self._references.next(observation))
        return result

    def _see(self, reference: Array | None) -> None:
        self._reference = reference
        self._trace.see(self._tap.state, reference)


def sensed(robot: Robot, model: SimulatedRobot) -> KinematicSensing:
    """Return a robot that also reads what its model tells: torques by its springs, places by its kinematics."""
    return KinematicSensing(SpringSensing(robot, model.compiled.joints), model, model.kinematics.sites)


class EpisodeRunner:
    """Runs episodes of a task on a robot: each begins at rest, where the robot walks at walking speed.

    One that does not walk (`SafeRobot.walks`) is braked, and begins where it stands.

    Args:
        robot: the robot behind its safety layer.
        task: what is asked of it.
        model: of the robot, which tells what it cannot measure: torques by its springs, places by its kinematics.
        settle: standing still at rest before an episode begins, s.
        note: told every period.
    """

    def __init__(
        self,
        robot: SafeRobot,
        task: Task,
        model: SimulatedRobot,
        settle: float,
        note: Callable[[Period], None] = lambda period: None,
    ) -> None:
        self.robot = robot
        self.traces: list[Trace] = []
        """All episodes, in order; the last one may be unfinished."""
        self.note = note
        self._tap = _Tap(sensed(robot, model))
        standing = settle if robot.walks else robot.info.period
        self._env = PliantEnv(self._tap, task, settle=standing, kinematics=model.kinematics)

    @property
    def info(self) -> RobotInfo:
        """What is read: of the robot, and what its model tells beside."""
        return self._tap.info

    @property
    def policy_info(self) -> PolicyInfo:
        """What the robot offers to a policy, through the task."""
        return policy_info(self._env)

    def run(self, policy: Policy, seed: int) -> Trace:
        """Run an episode; what made the robot fail, if something did, is in `Trace.episode`."""
        check_measured(self.robot, self._tap.read())
        self.robot.walk_to(self.robot.info.rest)
        trace = Trace(seed)
        self.traces.append(trace)
        self._tap.settling = self.robot.observer
        watched = _Watched(self._env, self._tap, trace, self.note)
        trace.episode = run_episode(policy, watched, seed, errors=JointErrors(self._env))
        return trace
