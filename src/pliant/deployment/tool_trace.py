"""What an interaction controller made of a run: pose and wrench of its tool, desired and measured, and events."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pliant.controllers import Controller
from pliant.controllers.interaction import Event, Feedback, InteractionController
from pliant.controllers.poses import matrix
from pliant.hardware.robot import Array
from pliant.report import COLOURS, Report, figure

_WINDOW = 1.0
"""Over which forces are averaged before they are compared, s."""


class ToolTrace:
    """What a controller says of its tool, period by period; nothing of a controller that controls none.

    Args:
        controller: any.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller if isinstance(controller, InteractionController) else None
        self.events: list[Event] = []
        """In order; times are since the controller began."""
        self._rows: list[Feedback] = []
        self._newest: Event | None = None

    def see(self) -> tuple[Feedback | None, list[Event]]:
        """Take what the controller says after an update; returns it, with the events that are new."""
        if self._controller is None:
            return None, []
        now = self._controller.feedback()
        self._rows.append(now)
        new = list(self._new_events())[::-1]
        self.events += new
        return now, new

    def __len__(self) -> int:
        return len(self._rows)

    def array(self, name: str) -> Array:
        """Return a quantity of `Feedback` over time, (n, …)."""
        return np.array([getattr(row, name) for row in self._rows])

    def numbers(self) -> dict[str, Any]:
        """Return the metrics of the tool."""
        if not self._rows:
            return {}
        force = np.linalg.norm(self.array("wrench")[:, :3], axis=1)
        return {
            "max_force_N": float(force.max()),
            "final_force_N": float(force[-1]),
            "events": [f"{event.time:.3f} s: {event.text}" for event in self.events],
        }

    def _new_events(self) -> Iterator[Event]:
        assert self._controller is not None
        for event in reversed(self._controller.events):
            if event is self._newest:
                break
            yield event
        if self._controller.events:
            self._newest = self._controller.events[-1]


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
