"""What campaigns of attacks on a program that drives a robot share, whatever the robot."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from pliant.errors import PliantError
from pliant.hardware.recording import read_recording

SIGNALS = ("none", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "two signals", "SIGKILL")
STATUS = {"SIGINT": {130}, "SIGTERM": {143}, "SIGHUP": {129}, "SIGQUIT": {131}, "two signals": {130, 143}}
"""Exit status by the signal that ends a program; the second of two is SIGTERM."""


class Outcome(NamedTuple):
    """What came of a run."""

    attack: Any
    struck: bool
    """Whether the phase lasted until the moment of the attack."""
    status: int
    """Exit status of the program; −9 if it was killed."""
    unsafe: tuple[str, ...]
    """Promises that were not kept."""


def mixed(draw: Random, machine: str, program: str, number: str) -> tuple[str, str, str]:
    """Return one fault alone, or two or three at once: of the machine, of the program, a signal."""
    keep = draw.choice(("bus", "controller", "signal", "bus controller", "bus signal", "controller signal", "all"))
    return (
        machine if "bus" in keep or keep == "all" else "none",
        program if "controller" in keep or keep == "all" else "none",
        number if "signal" in keep or keep == "all" else "none",
    )


def checked_recording(path: Path, killed: bool, filled: bool) -> list[str]:
    """Return what is wrong with a recording, and take it away.

    Args:
        path: of the recording, when it is whole.
        killed: whether the program was killed, so that its recording may be cut short.
        filled: whether there must be something in it.
    """
    if killed:
        path = path if path.exists() else path.with_name(path.name + ".partial")
    try:
        recording = read_recording(path)
    except PliantError as error:
        return [f"recording: {error}"]
    rows = len(recording.series.get("/command", {}).get("time", ()))
    path.unlink()
    return ["recording: empty"] if filled and not killed and not rows else []


def summary(outcomes: Sequence[Outcome], names: Sequence[str]) -> str:
    """Return how often what was drawn, what the exit status was, and every unsafe end.

    Args:
        outcomes: of the runs.
        names: fields of the attacks that are counted.
    """
    lines = [f"{len(outcomes)} runs, seeds {outcomes[0].attack.seed} … {outcomes[-1].attack.seed}"]
    lines.append(f"attack reached its moment: {sum(o.struck for o in outcomes)}")
    for name in names:
        counts = Counter(getattr(o.attack, name) for o in outcomes)
        lines.append(f"{name}: " + ", ".join(f"{key} {n}" for key, n in sorted(counts.items())))
    statuses = sorted(Counter(o.status for o in outcomes).items())
    lines.append("exit status: " + ", ".join(f"{status} {n}" for status, n in statuses))
    bad = [o for o in outcomes if o.unsafe]
    lines.append(f"unsafe ends: {len(bad)}")
    lines += [f"  {o.attack} status {o.status}: {'; '.join(o.unsafe[:3])}" for o in bad]
    return "\n".join(lines)
