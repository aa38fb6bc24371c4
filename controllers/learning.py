"""The loop of iterative learning: run a trial, learn from its error, run the next one."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from pliant.controllers.checks import Array, differences, finite_array, number_array, positive
from pliant.controllers.ilc import LearningLaw
from pliant.controllers.trajectories import Motion
from pliant.errors import ConfigurationError, FileFormatError, MismatchError, OutOfBoundsError, ShapeError
from pliant.files import PathLike, read_npz, write_npz

Runner = Callable[[Array], Array]
"""Runs a trial: command (n, joints) -> measured position (n, joints), both sampled at the motion's times."""

Bound = float | Sequence[float] | Array
"""One number for all joints, or (joints,), rad."""

_GROWTH = 3.0
"""An error beyond this multiple of the best one …"""
_PATIENCE = 3
"""… for so many trials in a row is divergence."""


class StopReason(StrEnum):
    """Why a learning ended, or that it has not."""

    CONVERGED = "converged"
    ITERATIONS = "iterations"
    DIVERGED = "diverged"
    INTERRUPTED = "interrupted"


class Trial(NamedTuple):
    """One run of the robot and how far it was from the desired motion."""

    iteration: int
    """1, 2, …"""
    command: Array
    """What was commanded, after the bounds, (n, joints), rad."""
    position: Array
    """What was measured, (n, joints), rad."""
    error: Array
    """Desired minus measured position, (n, joints), rad."""
    max_error: float
    """Largest |error| of all joints and times, rad; inf if the motion is not finite."""
    rms: float
    """Root mean square of the error over all joints and times, rad; inf likewise."""


class Learned(NamedTuple):
    """What a learning has come to."""

    reason: StopReason
    """Why it ended."""
    detail: str
    """The same in a sentence, with numbers."""
    best: Trial | None
    """The trial with the smallest `max_error`; None if no trial gave a finite motion."""
    history: tuple[Trial, ...]
    """Every trial, in order."""


@dataclass
class IterativeLearning:
    """Learns the command that makes a robot follow a motion, by trial and error.

    Iterate over it to run it, trial by trial; `result` is right at any time, also after an interruption:

        for trial in learning:
            print(trial.iteration, trial.max_error)
        learning.result.best.command

    It stops when a trial's `max_error` is below `tolerance`, after `max_iterations` trials, or when it
    diverges: a motion that is not finite, or an error above 3 times the best for 3 trials in a row.
    What interrupts a trial (KeyboardInterrupt, an error of the robot) passes through without that trial; iterating
    again goes on from there.

    Commands are limited to [low, high] before they are run, and learning goes on from the limited command, so
    that nothing winds up behind a limit.

    All it knows is `history`: the next command follows from the last trial alone. So a learning that was
    saved, loaded and continued gives the very bits of one that was never interrupted (on the same machine
    and libraries, with a runner that repeats itself).

    Raises:
        ShapeError, OutOfBoundsError, ConfigurationError: settings that are wrong or do not go together; a
            runner or law that returns a wrong shape; a law that returns a command that is not finite.
    """

    law: LearningLaw
    """From one trial to the next command."""
    motion: Motion
    """What is to be learned."""
    runner: Runner
    """Runs a trial from the robot's start state. What it raises passes through; `history` stays good."""
    tolerance: float = 0.08
    """Largest error at which it is learned, rad."""
    max_iterations: int = 30
    """Trials at most, those before a resume included."""
    low: Bound = -math.inf
    """Lower bound of the command."""
    high: Bound = math.inf
    """Upper bound of the command."""
    first: Array | None = None
    """Command of the first trial, (n, joints), rad, if it is known; None: what the law begins with."""
    history: list[Trial] = field(default_factory=list, init=False, repr=False)
    """The trials so far."""

    def __post_init__(self) -> None:
        time, position, velocity = self.motion
        position = finite_array("motion position", position, (None, None))
        if len(position) < 2:
            raise ShapeError("a motion of one sample cannot be learned; at least 2 are needed.")
        time = finite_array("motion time", time, (len(position),))
        self.motion = Motion(time, position, finite_array("motion velocity", velocity, position.shape))
        self.tolerance = positive("tolerance", self.tolerance, "rad")
        if int(self.max_iterations) != self.max_iterations or self.max_iterations < 1:
            raise OutOfBoundsError(f"max_iterations is {self.max_iterations}; a whole number ≥ 1 is needed.")
        self.low, self.high = self._bound("low", self.low), self._bound("high", self.high)
        if self.first is not None:
            self.first = finite_array("command of the first trial", self.first, self.motion.position.shape)
        if not (self.low <= self.high).all():
            raise ConfigurationError(f"command bounds: low {self.low} must not exceed high {self.high}.")

    def __iter__(self) -> Iterator[Trial]:
        """Run trials until the learning stops, yielding each one when it is done."""
        while self._assess()[0] is StopReason.INTERRUPTED:
            trial = self._run(self._next_command())
            self.history.append(trial)
            yield trial

    @property
    def result(self) -> Learned:
        """What has come of the trials so far; the reason is 'interrupted' while there is more to do."""
        finite = [trial for trial in self.history if math.isfinite(trial.max_error)]
        best = min(finite, key=lambda trial: trial.max_error, default=None)
        reason, detail = self._assess()
        return Learned(reason, detail, best, tuple(self.history))

    def save(self, path: PathLike) -> None:
        """Write all trials, and what they belong to, atomically as a `.npz`. Raises `OutputError`."""
        shape = (len(self.history), *self.motion.position.shape)
        arrays = {
            "command": np.array([trial.command for trial in self.history]).reshape(shape),
            "position": np.array([trial.position for trial in self.history]).reshape(shape),
            "law": np.array(json.dumps(self.law.identity())),
        }
        write_npz(path, arrays | self._task(), compressed=False)

    def load(self, path: PathLike) -> None:
        """Replace the history with a saved one, to go on from it.

        Tolerance and `max_iterations` may differ from the saved learning's; nothing else may.

        Raises:
            MissingFileError, FileFormatError: no such file, or not a saved learning.
            MismatchError: it belongs to another law, motion or bounds; every difference is listed.
        """
        arrays = read_npz(
            path, "learner state", ["command", "position", "law", *self._task()], must_be_sealed=True
        )
        try:
            law = json.loads(str(arrays["law"]))
        except ValueError as error:
            raise FileFormatError(f"learner state {path}: its law is not JSON: {error}.") from error
        found = differences("law", law, json.loads(json.dumps(self.law.identity())))
        for name, present in self._task().items():
            if not np.array_equal(arrays[name], present):
                found.append(f"{name}: {_summary(arrays[name])} in the file, {_summary(present)} here")
        if found:
            raise MismatchError(f"learner state {path} is of another learning:\n  - " + "\n  - ".join(found))
        commands, positions = (number_array(name, arrays[name]) for name in ("command", "position"))
        if not commands.shape == positions.shape == (len(commands), *self.motion.position.shape):
            raise FileFormatError(
                f"learner state {path}: commands {commands.shape} and positions {positions.shape} do not fit."
            )
        pairs = zip(commands, positions, strict=True)
        self.history = [self._trial(i, *pair) for i, pair in enumerate(pairs, start=1)]

    def _task(self) -> dict[str, Array]:
        """Return what must be the same for a history to be worth anything, apart from the law."""
        time, position, velocity = self.motion
        return {
            "time": time,
            "desired": position,
            "desired_velocity": velocity,
            "low": np.asarray(self.low),
            "high": np.asarray(self.high),
        }

    def _bound(self, name: str, value: Bound) -> Array:
        joints = self.motion.position.shape[1]
        array = number_array(f"{name} bound of the command", value)
        if array.shape not in ((), (joints,)):
            raise ShapeError(f"{name} bound of the command has shape {array.shape}; () or ({joints},) is needed.")
        return np.array(np.broadcast_to(array, joints))

    def _next_command(self) -> Array:
        desired = self.motion.position
        if not self.history:
            command = self.law.initial(desired) if self.first is None else self.first
        else:
            last = self.history[-1]
            rate = self.motion.velocity - np.gradient(last.position, self.motion.period, axis=0)
            command = self.law.update(last.iteration + 1, last.command, last.error, rate)
        name = type(self.law).__name__
        return np.clip(finite_array(f"{name} command", command, desired.shape), self.low, self.high)

    def _run(self, command: Array) -> Trial:
        command.setflags(write=False)
        position = number_array("measured position", self.runner(command))
        if position.shape != command.shape:
            raise ShapeError(f"the runner returned positions of shape {position.shape}, not {command.shape}.")
        return self._trial(len(self.history) + 1, command, position)

    def _trial(self, iteration: int, command: Array, position: Array) -> Trial:
        error = self.motion.position - position
        largest = float(np.abs(error).max())
        if not math.isfinite(largest):
            return Trial(iteration, command, position, error, math.inf, math.inf)
        scale = largest or 1.0  # squares of a huge error would overflow
        return Trial(
            iteration, command, position, error, largest, scale * float(np.sqrt(np.mean((error / scale) ** 2)))
        )

    def _assess(self) -> tuple[StopReason, str]:
        if not self.history:
            return StopReason.INTERRUPTED, "no trial was completed"
        last, n = self.history[-1], len(self.history)
        errors = [trial.max_error for trial in self.history]
        best = min(errors[:-_PATIENCE], default=math.inf)
        if not math.isfinite(last.max_error):
            return StopReason.DIVERGED, f"the motion of trial {n} is not finite"
        if last.max_error < self.tolerance:
            return StopReason.CONVERGED, f"trial {n}: {last.max_error:.4g} rad, below {self.tolerance:g} rad"
        if min(errors[-_PATIENCE:]) > _GROWTH * best:
            grown = f"trials {n - _PATIENCE + 1} to {n} exceed {_GROWTH:g} times the best error, {best:.4g} rad"
            return StopReason.DIVERGED, grown
        state = f"after {n} trials the best error is {min(errors):.4g} rad, not below {self.tolerance:g} rad"
        return (StopReason.ITERATIONS if n >= self.max_iterations else StopReason.INTERRUPTED), state


def _summary(array: Array) -> str:
    """Return a short array in full, a long one by its shape and range."""
    if array.size <= 8 or array.dtype.kind != "f":
        return str(array.tolist())
    return f"shape {array.shape} in [{array.min():g}, {array.max():g}]"
