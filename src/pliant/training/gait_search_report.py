"""A search for gaits as a table and as a page: the best, the front of speed and torque, and what failed."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.errors import MissingExtraError
from pliant.report import COLOURS, Ran, Report, figure, label
from pliant.training.gait_search import GaitSearch, Tried, front
from pliant.training.gait_space import Choice
from pliant.training.sweeps import Job, show_jobs, text

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = ("speed", "largest_torque", "margin", "cost_of_transport", "slip")
_UNITS = {"speed": "m/s", "largest_torque": "N·m", "margin": "N·m"}
_IMPOSSIBLE = "the gait cannot be made or tried"
_MOST = 12
"""Gaits that a table shows."""


def search_metrics(search: GaitSearch) -> dict[str, Any]:
    """Return what came of a search as plain data."""
    best = search.best
    return {
        "kept": best is not None,
        "objective": search.settings.objective,
        "trials": len(search.tried),
        "feasible": len(search.ranked),
        "best": None if best is None else {**best.measures, "parameters": dict(best.parameters)},
        "speed": None if best is None else best.measures["speed"],
        "largest_torque": None if best is None else best.measures["largest_torque"],
        "cost_of_transport": None if best is None else best.measures["cost_of_transport"],
        "front": [{**tried.measures, "parameters": dict(tried.parameters)} for tried in front(search.tried)],
        "reasons": dict(_reasons(search)),
        "converged": best is not None,
        "detail": "" if best is not None else failure(search),
    }


def failure(search: GaitSearch) -> str:
    """Say why no gait was found."""
    reasons = "; ".join(f"{count} × {reason}" for reason, count in _reasons(search).most_common(3))
    example = next((f" Such as: {tried.violations[0]}" for tried in search.tried if not tried.measures), "")
    return f"none of the {len(search.tried)} gaits keeps the limits: {reasons}.{example}"


def show_search(console: "Console", search: GaitSearch) -> None:
    """Print the best gaits as a table, by the number of their trial, or why there is none."""
    from rich.text import Text

    if search.best is None:
        console.print(Text(failure(search)), soft_wrap=True)
        return
    jobs = [
        Job(
            str(search.tried.index(tried)),
            {name: text(of) for name, of in tried.parameters.items()},
            dict(tried.measures),
        )
        for tried in search.ranked[:_MOST]
    ]
    title = f"{len(search.ranked)} of {len(search.tried)} gaits keep the limits; the best"
    show_jobs(console, title, jobs, _SHOWN, jobs[0])


def write_search_report(folder: Path, search: GaitSearch, ran: Ran | None = None) -> Path | None:
    """Write `report.html`; returns its path, or None without the extra `report`."""
    best, settings = search.best, search.settings
    lead = f"{len(search.ranked)} of {len(search.tried)} gaits keep the limits. "
    if best is not None:
        unit = _UNITS.get(settings.objective, "")
        lead += f"Best {label(settings.objective)}: {search.value(best):.4g} {unit}".rstrip() + "."
    report = Report("Search for a gait", lead, ran)
    try:
        report.heading("Speed and largest torque")
        _front_figure(report, search)
        report.heading("What led where")
        _parameter_figure(report, search)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    names = [*(_heading(name, search) for name in search.space), *(_heading(name, search) for name in _SHOWN)]
    report.heading("The best")
    report.table(names, [_row(search, tried) for tried in search.ranked[:_MOST]])
    report.heading("The front of speed and largest torque")
    report.text("Each is faster than all that take less torque; gaits beyond the limit of torque are among them.")
    report.table(names, [_row(search, tried) for tried in front(search.tried)])
    report.heading("Limits that were not kept")
    report.table(("limit", "gaits"), _reasons(search).most_common())
    return report.save(folder / "report.html")


def _heading(name: str, search: GaitSearch) -> str:
    short = label(name, [*search.space, *_SHOWN])
    return f"{short} ({_UNITS[name]})" if name in _UNITS else short


def _row(search: GaitSearch, tried: Tried) -> list[object]:
    measures = [tried.measures.get(name) for name in _SHOWN]
    values: list[object] = [tried.parameters[name] for name in search.space]
    return [*values, *("–" if value is None else value for value in measures)]


def _reasons(search: GaitSearch) -> Counter[str]:
    """How often each limit was not kept, without the numbers."""
    found: Counter[str] = Counter()
    for tried in search.tried:
        found.update({_kind(violation) for violation in tried.violations} if tried.measures else [_IMPOSSIBLE])
    return found


def _kind(violation: str) -> str:
    kinds = {
        " are allowed": "torque beyond the limit",
        " collided at ": "legs collided",
        "it fell at ": "it fell",
        " shut down at ": "a servo shut down",
        " diverged at ": "the simulation diverged",
    }
    return next(kind for mark, kind in kinds.items() if mark in violation)


def _front_figure(report: Report, search: GaitSearch) -> None:
    with figure(height=4.0) as (drawing, axes):
        (ax,) = axes.flat
        for kept, colour, name in ((False, COLOURS[5], "beyond a limit"), (True, COLOURS[0], "all limits kept")):
            points = [t.measures for t in search.tried if t.measures and t.feasible is kept]
            x, y = ([point[of] for point in points] for of in ("largest_torque", "speed"))
            ax.plot(x, y, "o", color=colour, alpha=0.6, markersize=4, label=name)
        best = [tried.measures for tried in front(search.tried)]
        ax.step(
            [point["largest_torque"] for point in best],
            [point["speed"] for point in best],
            where="post",
            color=COLOURS[3],
            label="front",
        )
        ax.axvline(search.settings.limits.torque, color=COLOURS[1], linestyle="--", linewidth=1, label="limit")
        ax.set(xlabel="largest torque (N·m)", ylabel="speed (m/s)")
        ax.legend()
        report.figure(drawing, "Every point is a gait. The front: the fastest for its torque, without collision.")


def _parameter_figure(report: Report, search: GaitSearch) -> None:
    count = len(search.space)
    columns = min(count, 3)
    lines = -(-count // columns)
    with figure(rows=lines, columns=columns, height=2.6 * lines, sharey=True) as (drawing, axes):
        for ax, (name, of) in zip(axes.flat, search.space.items(), strict=False):
            for kept, colour in ((False, COLOURS[5]), (True, COLOURS[0])):
                points = [t for t in search.tried if t.measures and t.feasible is kept]
                x = [t.parameters[name] for t in points]
                y = [search.value(t) for t in points]
                ax.plot([str(v) for v in x] if isinstance(of, Choice) else x, y, "o", color=colour, markersize=3)
            if not isinstance(of, Choice) and of.log:
                ax.set_xscale("log")
            ax.set(xlabel=_heading(name, search))
        for ax in axes.flat[count:]:
            ax.set_visible(False)
        axes.flat[0].set(ylabel=_heading(search.settings.objective, search))
        report.figure(drawing, "What each parameter gave; blue: all limits kept.")
