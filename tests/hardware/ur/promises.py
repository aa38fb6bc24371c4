"""What is promised of every end, checked in what the emulated controller noted of each command and each cycle."""

from typing import Any, NamedTuple

import numpy as np
from tests.hardware.campaign import STATUS
from tests.hardware.ur.attacks import LIMITS, LINK, PHASES, REACH, STOPS, Attack

MOTION = {"position": 11, "tool": 24, "velocity": 9, "torque": 66}
"""Number of the command that moves the arm."""
BRAKING = 0.1
"""Time within which the arm stands after its deadline, s."""
STILL = 2e-3
"""Speed of a target that stands, rad/s."""
NORMAL = 1
_PAUSE = 0.035
"""Time without a command after which the driver goes on from the controller's target, s."""
_CATCH_UP = 0.06
"""How far that may be from what was sent before, rad or m."""
_JITTER = 0.05
"""Time by which packages of a busy computer may come together, s."""
_BUSY = ("watchdog", "ms old", "did not take", "too late", "falls behind", "too long", "is old", "sends nothing")
"""What a busy computer may bring about by itself: safe ends, all of them."""


class Run(NamedTuple):
    """What is known of a run when it is over."""

    attack: Attack
    status: int
    log: Any
    commands: Any
    notes: list[dict[str, Any]]
    output: str
    """What the program has printed."""

    @property
    def struck(self) -> bool:
        """Whether the attack came in its phase."""
        return any(note.get("struck") for note in self.notes)

    @property
    def rearmed(self) -> int:
        """How often the program was told that the arm may move again."""
        return sum("rearmed" in note for note in self.notes)

    @property
    def reasons(self) -> str:
        """What the driver has said."""
        return " ".join(note["reason"] for note in self.notes if "reason" in note) + self.output

    @property
    def motion(self) -> Any:
        """Commands that move the arm."""
        return self.commands[self.commands["command"] == MOTION[self.attack.mode]]


def broken(run: Run) -> list[str]:
    """Return the promises that were not kept."""
    found = [note["unsafe"] for note in run.notes if "unsafe" in note]
    found += at_rest(run) + in_time(run) + watched(run) + within_limits(run) + rearmed_only(run) + told(run)
    return [*found, *stopped_at_once(run)]


def log_of(run: Run, program: int) -> Any:
    """Return the cycles of a program."""
    return run.log[run.log["program"] == program]


def moving(log: Any) -> Any:
    """Return in which cycles the controller moves the arm."""
    return np.abs(log["target_qd"]).max(axis=1) > STILL


def at_rest(run: Run) -> list[str]:
    """In the end the arm stands, and no program of ours has it."""
    if run.attack.controller == "vanish" and run.struck:
        return []
    found, last = [], run.log[-1]
    if moving(run.log[-5:]).any():
        found.append("the arm moves in the end")
    if np.abs(last["actual_qd"]).max() > 0.02:
        found.append(f"the arm swings in the end, {np.abs(last['actual_qd']).max():.3f} rad/s")
    # Killed before it was watched: the program waits for a command that nobody sends any more.
    waits = run.status == -9 and not (log_of(run, last["program"])["command"] > 0).any()
    if last["program"] and not waits:
        found.append("the program still has the arm")
    return found


def in_time(run: Run) -> list[str]:
    """Whatever happens, the arm stands `BRAKING` after its deadline.

    The deadline is the earliest of: the watchdog's time after the last command that moves the arm, the end of the
    program, a stop of the safety system.
    """
    cycle, log = run.attack.cycle, run.log
    sent = run.motion["cycle"]
    before = np.searchsorted(sent, log["cycle"], side="right") - 1
    since = np.where(before >= 0, log["cycle"] - sent[np.maximum(before, 0)], 10**6) if len(sent) else 10**6
    driven = (log["program"] > 0) & (log["safety_mode"] == NORMAL) & (since <= run.attack.watchdog / cycle + 2)
    latest = np.maximum.accumulate(np.where(driven, log["cycle"], -(10**6)))
    late = moving(log) & (log["cycle"] - latest > BRAKING / cycle + 1)
    if late.any():
        worst = (log["cycle"] - latest)[late].max() * cycle
        return [f"the arm moves {worst:.3f} s after its deadline"]
    return []


def watched(run: Run) -> list[str]:
    """Whenever the program moves the arm, or tells it to, the watchdog is armed."""
    log, found = run.log, []
    if (moving(log) & (log["program"] > 0) & (log["watchdog"] == 0)).any():
        found.append("the arm moves without a watchdog")
    at = np.searchsorted(log["cycle"], run.motion["cycle"])
    at = at[at < len(log)]
    if ((log["program"][at] > 0) & (log["watchdog"][at] == 0)).any():
        found.append("a motion is commanded without a watchdog")
    return found


def within_limits(run: Run) -> list[str]:
    """Range, speed, acceleration, step and first motion of what came on the wire."""
    attack, log, motion, found = run.attack, run.log, run.motion, []
    values = motion["values"][:, :6]
    if not np.isfinite(motion["values"]).all():
        found.append("a command that is no number")
    beyond = np.abs(values - attack.rest) - REACH[attack.mode]
    if len(values) and beyond.max() > 1e-6:
        found.append(f"a command is {beyond.max():.4f} beyond its range")
    at = np.minimum(np.searchsorted(log["cycle"], motion["cycle"]), len(log) - 1)
    programs = log["program"][at]
    speed = np.array([LIMITS[unit].speed for unit in attack.unit]) * attack.period
    change = np.array([LIMITS[unit].acceleration for unit in attack.unit]) * attack.period**2
    anchored = attack.mode in ("position", "tool")
    for number in np.unique(programs[programs > 0]):
        mine = programs == number
        way, wall = values[mine], motion["wall"][mine]
        here = log["target_q"][max(at[mine][0] - 1, 0)] if attack.mode == "position" else attack.rest
        first = np.abs(way[0] - here).max()
        if first > (0.06 if anchored else 1e-9):
            found.append(f"the first command is {first:.4f} from where the arm is")
        steps, pauses = np.diff(way, axis=0), np.diff(wall) > _PAUSE
        allowed = speed + np.where(pauses[:, None] & anchored, _CATCH_UP, 0.0)
        over = np.abs(steps) - allowed
        if len(steps) and over.max() > 1e-6:
            found.append(f"a step of {np.abs(steps)[over > 1e-6].max():.5f} within a period")
        # Single setpoints of a period may be left out; on the whole there is one period's way a period.
        far = 20 * attack.steps
        if attack.steps > 1 and len(way) > far and attack.controller not in LINK:
            took = (motion["cycle"][mine][far:] - motion["cycle"][mine][:-far]) * attack.cycle
            over = np.abs(way[far:] - way[:-far]) - ((took + _JITTER) / attack.period + 2)[:, None] * speed
            if over.max() > 0:
                found.append(f"the way of {far} commands is {over.max():.4f} too long")
        if attack.steps == 1 and len(steps) > 1:
            regular = ~(pauses[1:] | pauses[:-1])
            # what a broken link has lost on the way is made up for at once
            lost = np.maximum(np.diff(motion["cycle"][mine]), 1) ** (attack.controller in LINK)
            over = (np.abs(np.diff(steps, axis=0)) - change * np.maximum(lost[1:], lost[:-1])[:, None])[regular]
            if attack.controller == "speed_slider":  # it slows at once what it slows
                over[np.abs(steps[1:][regular]) < np.abs(steps[:-1][regular])] = 0.0
            if len(over) and over.max() > 1e-6:
                found.append(f"the speed changes by {over.max() / attack.period:.4f} a period too much")
    return found


def rearmed_only(run: Run) -> list[str]:
    """Once stopped, nothing moves before it is rearmed: a program with motion for each time."""
    log = run.log
    moved = np.unique(log["program"][moving(log) & (log["program"] > 0)])
    if len(moved) > 1 + run.rearmed:
        return [f"{len(moved)} programs have moved the arm, rearmed {run.rearmed} times"]
    return []


def stopped_at_once(run: Run) -> list[str]:
    """When `stop` has returned, nothing more is sent."""
    stopped = [note["wall"] for note in run.notes if "stopped" in note]
    if not stopped or run.attack.controller in LINK or run.rearmed:
        return []
    late = run.motion["wall"].max(initial=0.0) - stopped[0]
    return [f"commands {late:.3f} s after stop()"] if late > 0.0 else []


def told(run: Run) -> list[str]:
    """The exit status tells what ended the program; what is printed is a message of ours."""
    attack, status = run.attack, run.status
    found = ["a traceback"] if "Traceback" in run.output else []
    if attack.phase == "releasing" and run.struck and status in (-1, -3, -15):
        return found  # a signal after the release, which nobody takes any more
    if status == -9:
        return found if attack.signal == "SIGKILL" and run.struck else [*found, "killed by nobody"]
    expected = {0}
    if run.struck:
        expected = set(STATUS.get(attack.signal, {0}))
        if attack.signal.startswith(("client", "SIGSTOP")) or attack.controller != "none":
            expected |= {0, 2}
        # Torques that jump may make a joint faster than it may be.
        if attack.program not in ("none", "jumps") or (attack.program == "jumps" and attack.mode == "torque"):
            expected |= {2}
        if attack.program == "exception":
            expected |= {1}
        stopped = attack.program in ("stop", "stop key") and attack.phase in PHASES[:4]
        stopped |= attack.controller in STOPS and attack.phase in PHASES[2:4]
        if stopped and attack.signal == "none" and not attack.rearms:
            expected -= {0}
    if any(word in run.reasons for word in _BUSY):
        expected |= {2}
    # So does a busy computer, whose torques act for longer than they should.
    if attack.mode == "torque" and "beyond its limits: velocity" in run.reasons:
        expected |= {2}
    return found if status in expected else [*found, f"exit status {status}, expected {sorted(expected)}"]
