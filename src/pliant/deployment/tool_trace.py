"""What a controller says of a run: events, and of its tool, if it is one of interaction, pose and wrench."""

from typing import Any

import numpy as np

from pliant.controllers import Controller
from pliant.controllers.controller import Event, new_events
from pliant.controllers.interaction import Feedback, InteractionController
from pliant.controllers.poses import matrix
from pliant.controllers.task_space import TaskSpaceController
from pliant.hardware.robot import Array
from pliant.report import COLOURS, Report, figure

_WINDOW = 1.0
"""Over which forces are averaged before they are compared, s."""


class ToolTrace:
    """What a controller says of its tool, period by period, and its events; of the tool only one of interaction.

    Args:
        controller: any.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.events: list[Event] = []
        """In order; times are since the controller began."""
        self._rows: list[Feedback] = []
        self._newest: Event | None = None

    def see(self) -> tuple[Feedback | None, list[Event]]:
        """Take what the controller says after an update; returns it, with the events that are new."""
        events = self._controller.events
        new = new_events(events, self._newest)
        if events:
            self._newest = events[-1]
        self.events += new
        if not isinstance(self._controller, InteractionController):
            return None, new
        now = self._controller.feedback()
        self._rows.append(now)
        return now, new

    @property
    def left(self) -> dict[str, float]:
        """Of task-space control, how far each task is from its target now, m or rad; of others nothing."""
        return self._controller.errors() if isinstance(self._controller, TaskSpaceController) else {}

    def __len__(self) -> int:
        return len(self._rows)

    def array(self, name: str) -> Array:
        """Return a quantity of `Feedback` over time, (n, …)."""
        return np.array([getattr(row, name) for row in self._rows])

    def numbers(self) -> dict[str, Any]:
        """Return the metrics of the tool, and the events."""
        found: dict[str, Any] = {}
        if self._rows:
            force = np.linalg.norm(self.array("wrench")[:, :3], axis=1)
            found = {"max_force_N": float(force.max()), "final_force_N": float(force[-1])}
        if self.left:
            found["final_errors"] = self.left
        if self._rows or self.events:
            found["events"] = [event_text(event) for event in self.events]
        return found


def event_text(event: Event) -> str:
    """Return an event in words, with its time."""
    return f"{event.time:.3f} s: {event.text}"


def force_difference(measured: ToolTrace, predicted: ToolTrace) -> dict[str, float]:
    """Return how far the forces of two runs are apart, as the largest difference of their means over 1 s.

    Compared are the instants that both have.
    """
    n = min(len(measured), len(predicted))
    if n < 2:
        return {}
    time = predicted.array("time")
    width = min(max(round(_WINDOW / (time[1] - time[0])), 1), n)
    kernel = np.full(width, 1.0 / width)
    apart = measured.array("wrench")[:n, :3] - predicted.array("wrench")[:n, :3]
    means = np.array([np.convolve(axis, kernel, "valid") for axis in apart.T])
    return {"max_force_difference_N": float(np.abs(means).max())}


def add_tool(report: Report, measured: ToolTrace, predicted: ToolTrace) -> None:
    """Add the tool's position and wrench beside the prediction, and the events, to a report; nothing without any.

    Positions are from the start, in the axes of the tool there; wrenches as the controller has them.
    """
    if not len(measured):
        return
    report.heading("Tool")
    start = predicted.array("desired")[0]
    with figure(2, 3, height=5.0, width=11.0, sharex=True) as (drawing, axes):
        for row, (name, desired, scale) in enumerate(
            (("measured", "desired", 1e3), ("wrench", "desired_wrench", 1.0))
        ):
            for label, trace, colour in (("simulation", predicted, COLOURS[0]), ("machine", measured, COLOURS[1])):
                own = _shown(trace, name, start)
                for k in range(3):
                    axes[row, k].plot(
                        trace.array("time"), scale * own[:, k], color=colour, linewidth=0.9, label=label
                    )
            wanted = _shown(measured, desired, start)
            for k in range(3):
                axes[row, k].plot(
                    measured.array("time"),
                    scale * wanted[:, k],
                    color="black",
                    linestyle="--",
                    linewidth=0.9,
                    label="desired",
                )
        for k, axis in enumerate("xyz"):
            axes[0, k].set(title=axis)
            axes[1, k].set(xlabel="time (s)")
        axes[0, 0].set(ylabel="position (mm)")
        axes[1, 0].set(ylabel="force (N)")
        axes[0, 2].legend()
        report.figure(
            drawing,
            "The tool's centre point from the start, in the axes of the tool there, and its force on its "
            "surroundings, in the law's axes.",
        )
    report.table(("time (s)", "event"), [(f"{event.time:.3f}", event.text) for event in measured.events])


def _shown(trace: ToolTrace, name: str, start: Array) -> Array:
    """A quantity of three axes: a position from the start and in its axes, or a force."""
    found = trace.array(name)
    if found.shape[1] == 7:
        return (found[:, :3] - start[:3]) @ matrix(start[3:])
    return found[:, :3]
