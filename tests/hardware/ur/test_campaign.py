"""Attacks on a program that drives an arm: faults of controller, link, client and program, signals, at any moment.

Each run is a program behind the safety layer that connects, engages, walks out, plays a motion, walks home and
releases, with the real client and an emulated controller in real time, and one attack at an instant drawn within
one phase. Afterwards the promises of docs/universal-robots.md are checked in what the controller noted of every
command and every cycle. A run is its seed: the same version, mode, faults and moment, as exactly as time is real.

PLIANT_UR_ATTACKS says how many seeds the long test takes, PLIANT_UR_LANES how many run beside one another.
"""

import json
import os
import subprocess
import sys
import threading
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.hardware.campaign import Outcome, summary
from tests.hardware.ur.attacks import CONTROLLER, ENDS, PHASES, PROGRAM, VERSIONS, Attack, drawn

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
pytest.importorskip("mcap")

ROOT = Path(__file__).parents[3]
FOUND = {
    19: "a pause in a motion made the next command go back, and then run after the program at the arm's speed",
    70: "a client whose connections were cut uploaded its program again, and moved the arm without a watchdog",
    100: "a program killed before its first motion left a recording that could not be read",
    109: "the emulated arm braked more slowly than a stop of its safety system does, after torques",
    154: "a program that was uploaded when a stop came went on running",
    161: "a stop waited until an upload was over",
    245: "a stop while the robot connected was forgotten",
}
"""Seeds that ended unsafely once, and why."""
QUICK = range(2)
RUNS = int(os.environ.get("PLIANT_UR_ATTACKS", "200"))
LANES = int(os.environ.get("PLIANT_UR_LANES", str((os.cpu_count() or 1) + 1)))
COUNTED = ("polyscope", "mode", "phase", "controller", "program", "signal")


def carried_out(attacks, lanes=LANES, broken=()):
    """Carry attacks out side by side and return their outcomes, in order."""
    waiting, answers, lock = list(reversed(attacks)), {}, threading.Lock()

    def lane():
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.hardware.ur.lane", *broken],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        )
        with process:
            while True:
                with lock:
                    if not waiting:
                        process.stdin.close()
                        return
                    attack = waiting.pop()
                process.stdin.write(json.dumps(asdict(attack)) + "\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline() or '{"error": "the lane has died"}')
                answers[attack] = answer
                if folder := os.environ.get("PLIANT_UR_NOTES"):
                    with lock, Path(folder).open("a") as file:
                        file.write(json.dumps(asdict(attack) | answer) + "\n")

    threads = [threading.Thread(target=lane) for _ in range(min(lanes, len(attacks)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [outcome(attack, answers[attack]) for attack in attacks]


def outcome(attack, answer):
    if "error" in answer:
        return Outcome(attack, False, -1, (answer["error"],))
    return Outcome(attack, answer["struck"], answer["status"], tuple(answer["unsafe"]))


@pytest.mark.slow
def test_no_attack_of_a_few_ends_unsafely():
    outcomes = carried_out([drawn(seed) for seed in (*QUICK, *FOUND)])
    assert not any(o.unsafe for o in outcomes), summary(outcomes, COUNTED)


@pytest.mark.slow
def test_no_attack_of_many_ends_unsafely():
    outcomes = carried_out([drawn(seed) for seed in range(RUNS)])
    print(summary(outcomes, COUNTED))
    assert not any(o.unsafe for o in outcomes), summary(outcomes, COUNTED)


def test_what_is_drawn_is_of_every_kind():
    attacks = [drawn(seed) for seed in range(1000)]
    for name, kinds in (
        *(("polyscope", VERSIONS), ("phase", PHASES), ("controller", CONTROLLER)),
        *(("program", PROGRAM), ("signal", ENDS)),
    ):
        assert {getattr(a, name) for a in attacks} == set(kinds)


def aimed(seed, mode="position", **what):
    """An attack that is not drawn, while the arm plays."""
    return Attack(seed, "5.26", mode, what.pop("steps", 4), 0.1, False, "playing", 0.12, **what)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["SIGKILL", "client SIGKILL", "client SIGSTOP", "SIGSTOP"])
def test_whoever_is_killed_or_stopped_the_arm_stands_in_time_in_every_mode(who):
    modes = ("position", "velocity", "torque", "tool")
    outcomes = carried_out([aimed(k, mode, signal=who) for k, mode in enumerate(modes)])
    assert not any(o.unsafe for o in outcomes), summary(outcomes, COUNTED)
    assert all(o.struck for o in outcomes)


BROKEN = {
    "watchdog_never_armed": aimed(0, "velocity", signal="SIGKILL"),
    "watchdog_of_a_second": aimed(1, "velocity", signal="SIGKILL"),
    "stop_forgotten": aimed(2, program="stop"),
    "faults_forgotten": aimed(3, controller="protective_stop", heals=True),
    "first_command_anywhere": aimed(4),
    "too_fast": aimed(5, program="jumps"),
    "too_sudden": aimed(6, program="jumps", steps=1),
    "range_forgotten": aimed(7, program="jumps"),
    "refusals_forgotten": aimed(8, controller="dead_program", heals=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", BROKEN)
def test_the_campaign_sees_what_is_broken(what):
    """A check that cannot fail proves nothing."""
    (whole,) = carried_out([BROKEN[what]])
    assert not whole.unsafe, summary([whole], COUNTED)
    (found,) = carried_out([BROKEN[what]], broken=[what])
    assert found.unsafe
