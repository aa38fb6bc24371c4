"""An experiment that several arms do, each by itself: what was recorded of each, its numbers and its figures."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import compile_model
from pliant.controllers.checks import Array
from pliant.envs.rendering import OffscreenRenderer, RenderingError
from pliant.experiments.experiment import Claim, Experiment, Outcome
from pliant.experiments.tool_runs import ToolArm, ToolMovement, ToolRun, arms_of
from pliant.report import COLOURS, Report, figure

_FRAMES = 6
_SIZE = (300, 260)
"""Width and height of a picture, pixels."""


@dataclass(frozen=True)
class ToolExperiment(Experiment):
    """Runs every arm of its settings."""

    arms: Mapping[str, ToolArm | Mapping[str, Any]] = field(default_factory=dict)
    """By name, see `ToolArm`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "arms", arms_of(self.arms))

    def run(self) -> Outcome:
        """Run every arm."""
        metrics: dict[str, float] = {}
        arrays: dict[str, Array] = {}
        claims: list[Claim] = []
        movements = self.movements()
        for name in self.arms:
            run = movements[name]().record()
            numbers = self._numbers(name, run)
            metrics |= {f"{name}_{key}": value for key, value in numbers.items()}
            arrays |= {f"{name}_{key}": value for key, value in run._asdict().items()}
            claims += self._claims(name, numbers)
        return Outcome(tuple(claims), metrics, arrays, self._notes())

    def movements(self) -> Mapping[str, Callable[[], ToolMovement]]:
        """One for each arm."""
        return {name: partial(self._movement, name) for name in self.arms}

    def draw(self, outcome: Outcome, report: Report) -> None:
        """Position and force, desired and measured, and a strip of frames, of every arm."""
        for name in self.arms:
            self._draw_motion(name, outcome.arrays, report)
            model = compile_model(self._arm(name).description.model.spec)
            shown = outcome.arrays[f"{name}_time"] <= self._until
            try:
                pictures = strip(model, outcome.arrays[f"{name}_qpos"][shown])
            except RenderingError as error:
                report.text(f"No pictures: {error}")
            else:
                report.picture(pictures, f"{name}, from the start on.")

    @property
    def _until(self) -> float:
        """Of which time the frames are, s."""
        return np.inf

    @abstractmethod
    def _movement(self, name: str) -> ToolMovement:
        """What an arm does."""

    @abstractmethod
    def _numbers(self, name: str, run: ToolRun) -> dict[str, float]:
        """What is measured of it."""

    @abstractmethod
    def _claims(self, name: str, numbers: Mapping[str, float]) -> list[Claim]:
        """What the numbers say."""

    @abstractmethod
    def _notes(self) -> tuple[str, ...]:
        """What was assumed."""

    def _arm(self, name: str) -> ToolArm:
        found = self.arms[name]
        assert isinstance(found, ToolArm)
        return found

    def _draw_motion(self, name: str, arrays: Mapping[str, Array], report: Report) -> None:
        own = {key: arrays[f"{name}_{key}"] for key in ("time", "desired", "measured", "wrench", "wanted")}
        every = slice(None, None, max(len(own["time"]) // 3000, 1))
        time = own["time"][every]
        with figure(2, 3, height=5.0, width=11.0, sharex=True) as (drawing, axes):
            for k, axis in enumerate("xyz"):
                for row, pair, scale in ((0, ("measured", "desired"), 1e3), (1, ("wrench", "wanted"), 1.0)):
                    measured, desired = (scale * own[key][every, k] for key in pair)
                    axes[row, k].plot(time, measured, color=COLOURS[row], label="measured")
                    axes[row, k].plot(time, desired, color="black", linestyle="--", label="desired")
                axes[0, k].set(title=axis)
                axes[1, k].set(xlabel="time (s)")
            axes[0, 0].set(ylabel="position (mm)")
            axes[1, 0].set(ylabel="force (N)")
            axes[0, 2].legend()
            axes[1, 2].legend()
            report.figure(
                drawing,
                f"{name}: position and force in the axes of the tool at the start, z pointing down. Forces are "
                "those of the tool on its surroundings.",
            )


def strip(model: mujoco.MjModel, motion: Array) -> NDArray[np.uint8]:
    """Return pictures of a recorded motion, evenly spaced in time, side by side.

    Raises:
        RenderingError: nothing can be drawn here.
    """
    data, frames = mujoco.MjData(model), []
    with OffscreenRenderer(model, *_SIZE) as renderer:
        for k in np.linspace(0, len(motion) - 1, _FRAMES).round().astype(int):
            data.qpos[:] = motion[k]
            frames.append(renderer.render(data))
    return np.concatenate(frames, axis=1)
