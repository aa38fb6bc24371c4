"""Deployment of a learned policy: matched with the machine, predicted by simulation, then played there."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from omegaconf import DictConfig
from rich.console import Console

from pliant.conf.build import LEARNED, build
from pliant.controllers.policies import load_policy, period_of
from pliant.controllers.policy import Policy, PolicyInfo, fitted
from pliant.deployment.deployment import (
    Deployment,
    Live,
    check_measured,
    error_text,
    live,
    machine_numbers,
    timing,
)
from pliant.deployment.episodes import EpisodeRunner, Period, Trace, sensed
from pliant.deployment.kinematic_sensing import task_model
from pliant.deployment.rehearsal import rehearsal
from pliant.deployment.reports import write_policy_report
from pliant.envs.description import described
from pliant.envs.fronts import measurable
from pliant.errors import MismatchError, RobotError, check_bounds
from pliant.files import write_json
from pliant.hardware.recording import Recorder
from pliant.hardware.robot import Array
from pliant.hardware.safety import SafeRobot
from pliant.training.statistics import Episode, reward_text, short_text, success_text, summary


class Prediction(NamedTuple):
    """What simulation says of a policy's episodes."""

    traces: Sequence[Trace]
    """All of them, finished."""
    limited: int
    """Periods in which the safety layer sent less than was asked."""


class PolicyDeployment(Deployment):
    """Episodes of a policy on a machine, beside those that simulation predicts of the same policy and seeds."""

    def __init__(
        self,
        runner: EpisodeRunner,
        policy: Policy,
        prediction: Prediction,
        facts: Mapping[str, str],
    ) -> None:
        """Put the parts together; see `prepare_policy`.

        Args:
            runner: of the machine.
            policy: made ready for it.
            prediction: of its episodes, whose seeds the machine gets too.
            facts: what is deployed.
        """
        super().__init__(runner.robot, facts)
        self._runner, self._policy, self._prediction = runner, policy, prediction
        self.info = runner.info

    @property
    def traces(self) -> Sequence[Trace]:
        """All episodes on the machine, in order; the last one may be unfinished."""
        return self._runner.traces

    @property
    def complete(self) -> bool:
        """Whether all episodes were played to their end."""
        return len(self.traces) == len(self._prediction.traces) and all(trace.episode for trace in self.traces)

    def play(self, recorder: Recorder, console: Console) -> None:
        """Play all episodes.

        Raises:
            RobotError: the machine failed, or was stopped.
        """
        try:
            for number, predicted in enumerate(self._prediction.traces, start=1):
                recorder.event("info", f"episode {number} (seed {predicted.seed}): walking to rest")
                with live(console) as show:
                    self._runner.note = _Note(recorder, self.robot, show, number)
                    episode = self._runner.run(self._policy, predicted.seed).episode
                assert episode is not None
                recorder.event("info", f"episode {number}: {self._verdict(episode)}")
                if episode.failure:
                    raise RobotError(episode.failure)
                assert predicted.episode is not None
                line = f"episode {number}: {self._verdict(episode)}"
                line += f" (simulation: {self._verdict(predicted.episode)})"
                console.print(line, highlight=False, soft_wrap=True)
        except KeyboardInterrupt:
            return

    def _verdict(self, episode: Episode) -> str:
        """Say what came of an episode."""
        how = episode.failure or {True: "success", False: "no success", None: "over"}[episode.success]
        return f"{how} after {episode.length * self.robot.info.period:.2f} s, reward {episode.reward:.2f}"

    def metrics(self) -> dict[str, Any]:
        """Return the numbers of the deployment; of success None where nothing that is measured tells of it."""
        predicted = self._prediction.traces
        return {
            "completed": self.reason == "completed",
            "reason": self.reason,
            "robot": self.robot.info.name,
            **self.facts,
            "seed": predicted[0].seed,
            **outcome_numbers(self.traces, predicted),
            **difference_numbers(self.traces, predicted, self.robot.info.joints),
            **machine_numbers(self.robot, [trace.time for trace in self.traces]),
            "predicted_limited": self._prediction.limited,
        }

    def finish(self, folder: Path, console: Console) -> tuple[dict[str, Any], Path | None]:
        """Write metrics and report."""
        numbers = self.metrics()
        write_json(folder / "metrics.json", numbers)
        if numbers["success_rate"] is not None:
            beside = f"(simulation: {numbers['predicted_success_rate']:.1%})"
            console.print(
                f"{success_text(numbers)} {beside}; results in {folder}", highlight=False, soft_wrap=True
            )
        elif numbers["episodes"]:
            console.print(f"{reward_text(numbers)}; results in {folder}", highlight=False, soft_wrap=True)
        if not any(trace.sent for trace in self.traces):
            return numbers, None
        return numbers, write_policy_report(
            folder, self.traces, self._prediction.traces, self.robot.info, numbers, self.ran
        )


class _Note:
    """Records and shows an episode's periods."""

    def __init__(self, recorder: Recorder, robot: SafeRobot, show: Live, number: int) -> None:
        self._recorder, self._robot, self._show, self._number = recorder, robot, show, number
        self._begin: float | None = None

    def __call__(self, period: Period) -> None:
        state, reference = period.state, period.reference
        if self._begin is None:
            self._begin = state.time
            self._recorder.event("info", f"episode {self._number}: begins", state.time)
        self._recorder.record(state, period.asked, period.sent, reference, timing(self._robot))
        if reference is None or not np.isfinite(reference).all():
            text = f"reward {period.reward:+.3f}"
        else:
            text = error_text(reference - state.position)
        self._show(state.time - self._begin, f"episode {self._number}  {text}")


def prepare_policy(config: DictConfig, robot: SafeRobot, console: Console) -> PolicyDeployment:
    """Load a policy, see whether it fits a machine, and predict its episodes. Nothing is connected.

    The prediction is of the machine's own robot model, behind the same safety layer.

    Raises:
        ConfigurationError: nothing measures the position of a joint.
        OutOfBoundsError: no episodes.
        MismatchError: the policy does not fit the machine, or the machine its model.
        RobotError: it does not pass its `rehearsal`.
        PliantError: as `load_policy`, and of the task.
    """
    check_measured(robot)
    first, count = int(config.seed), int(check_bounds("episodes", config.episodes, 1, 10**6))
    settle, task = float(config.run.settle), build(config.task, "task", LEARNED)
    description = described(config.robot)
    simulated = description.simulated(robot.info.period)
    model = task_model(description, task, robot.info.period)
    asked = task
    task, lost = measurable(task, sensed(robot, model).info, model.kinematics, robot.estimated)
    if lost:
        console.print(
            f"nothing here measures what these look at: {', '.join(lost)}; without them"
            + (", so success is not judged" if asked.tells_success and not task.tells_success else ""),
            highlight=False,
        )
    runner = EpisodeRunner(robot, task, model, settle)
    policy = matched(str(config.policy), runner.policy_info, parameters=bool(config.same_robot))
    with rehearsal(robot, simulated) as safe:
        twin = EpisodeRunner(safe, task, model, settle)
        prediction = predict(policy, twin, range(first, first + count), robot.info.joints)
    episodes = _episodes(prediction.traces)
    told = f"{sum(bool(e.success) for e in episodes)} of {count} episodes succeed"
    told = told if task.tells_success else short_text(summary(episodes))
    held = f", less sent than asked in {prediction.limited} periods (safety.motion)" if prediction.limited else ""
    console.print(f"predicted by simulation: {told}{held}", highlight=False)
    facts = {"policy": str(config.policy), "task": task.name}
    return PolicyDeployment(runner, policy, prediction, facts)


def matched(path: str, info: PolicyInfo, *, parameters: bool = True) -> Policy:
    """Return the policy of a file for what a machine offers.

    Arguments and errors as `load_policy`; a `MismatchError` says what to write where the period differs.
    """
    try:
        return load_policy(path, info, parameters=parameters)
    except MismatchError as error:
        period = period_of(path)
        if math.isclose(period, info.period, rel_tol=1e-9):
            raise
        raise MismatchError(
            f"{error}\nA policy brings its own period unless robot.period is given: leave that out, or write "
            f"robot.period={period:g}."
        ) from error


def predict(policy: Policy, runner: EpisodeRunner, seeds: Sequence[int], joints: Sequence[str]) -> Prediction:
    """Return what simulation says of a policy's episodes.

    Args:
        policy: as it fits the machine.
        runner: of the simulation, connected.
        seeds: of the episodes.
        joints: order in which positions and references are returned.

    Raises:
        MismatchError: the simulation is of another robot than the machine.
        RobotError: the robot fails or is stopped.
    """
    try:
        alike = fitted(policy, runner.policy_info, parameters=False)
    except MismatchError as error:
        raise MismatchError(
            f"the simulation that predicts is of another robot than the machine; choose that of the machine, "
            f"robot=NAME:\n{error}"
        ) from error
    for seed in seeds:
        episode = runner.run(alike, seed).episode
        if episode is not None and episode.failure:
            raise RobotError(episode.failure)
    order = [runner.robot.info.joints.index(joint) for joint in joints]
    return Prediction([trace.arranged(order) for trace in runner.traces], runner.robot.report.limited)


def outcome_numbers(traces: Sequence[Trace], predicted: Sequence[Trace]) -> dict[str, Any]:
    """Return what came of the finished episodes, with what was predicted of all, and of each.

    Args:
        traces: measured, of the first seeds of the prediction.
        predicted: by simulation, all finished.
    """
    done, foretold = _episodes(traces), _episodes(predicted)
    found = summary(foretold)
    each = [
        {
            **ours._asdict(),
            **{f"predicted_{name}": getattr(theirs, name) for name in ("reward", "length", "success")},
        }
        for ours, theirs in zip(done, foretold, strict=False)
    ]
    nothing: dict[str, Any] = {**dict.fromkeys(found), "episodes": 0, "failures": 0}
    return {
        **(summary(done) if done else nothing),
        "predicted_success_rate": found["success_rate"],
        "predicted_reward_mean": found["reward_mean"],
        "each": each,
    }


def difference_numbers(
    traces: Sequence[Trace], predicted: Sequence[Trace], joints: Sequence[str]
) -> dict[str, Any]:
    """Return the largest and the mean absolute difference between measured and predicted angles, rad.

    Rows are compared period by period, as far as both episodes went.
    """
    differences = [np.abs(measured - simulated) for measured, simulated in common_rows(traces, predicted)]
    if not differences:
        return dict.fromkeys(
            ("max_difference_rad", "max_difference_per_joint_rad", "mean_difference_per_joint_rad")
        )
    everything = np.concatenate(differences)
    largest, mean = everything.max(axis=0).tolist(), everything.mean(axis=0).tolist()
    return {
        "max_difference_rad": max(largest),
        "max_difference_per_joint_rad": dict(zip(joints, largest, strict=True)),
        "mean_difference_per_joint_rad": dict(zip(joints, mean, strict=True)),
    }


def common_rows(traces: Sequence[Trace], predicted: Sequence[Trace]) -> Iterator[tuple[Array, Array]]:
    """Yield measured and predicted positions, (n, joints), of each episode, as far as both went."""
    for ours, theirs in zip(traces, predicted, strict=False):
        if n := min(len(ours.position), len(theirs.position)):
            yield np.array(ours.position[:n]), np.array(theirs.position[:n])


def _episodes(traces: Sequence[Trace]) -> list[Episode]:
    return [trace.episode for trace in traces if trace.episode is not None]
