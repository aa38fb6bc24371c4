"""Attacks on a program that drives an arm: faults of controller, link, client and program, at any moment.

Each run is one program behind the safety layer, which walks out, plays a motion and walks home, and one attack at
an instant drawn at random. Afterwards the promises of docs/universal-robots.md are checked in what the emulated
controller noted of every command and every cycle. A run is its seed.
"""

import os
import random
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import pytest

from pliant.hardware.recording import read_recording

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
pytest.importorskip("mcap")

CONTROLLER = (
    *("protective_stop", "emergency_stop", "local_control", "dead_program", "slot_busy"),
    *("mute", "drop", "late", "cut", "freeze", "vanish", "register_clash", "speed_slider"),
)
PROGRAM = ("NaN", "jump", "exception", "stall", "stop", "stop key")
KILLS = (
    "program SIGKILL",
    "program SIGSTOP",
    "program SIGINT",
    "program SIGTERM",
    "client SIGKILL",
    "client SIGSTOP",
)
WATCHDOG, PERIOD, CYCLE = 0.25, 0.016, 0.002
LONGEST = 0.1
"""Time within which the arm stands after its deadline, s."""
QUICK, RUNS = 12, 1000
SERVO_J = 11

CODE = """
import random, sys, time
import numpy as np
from pliant.hardware.limits import MotionLimits
from pliant.hardware.recording import Recorder
from pliant.hardware.safety import SafeRobot, SafetyConfig
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.robot import URRobot

host, folder, what, moment = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
rest = [0.0, -1.5708, 1.5708, -1.5708, -1.5708, 0.0]
limits = {"rad": MotionLimits(speed=1.0, acceleration=8.0, walk_speed=0.3)}
driver = URRobot(URConfig(host, period=0.016, watchdog=0.25, stale=0.2, rest=rest))
pressed = []
config = SafetyConfig(motion=limits, hold_time=0.1, overruns=1000, patience=20)
safe = SafeRobot(driver, config, stop_key=lambda: bool(pressed))
with Recorder(folder + "/recording.mcap", safe.info, {}) as recorder:
    safe.observer = recorder.walk
    with safe:
        print(driver.supervisor.pid, flush=True)
        safe.walk_to(np.add(rest, [0.05, 0, 0, 0, 0, 0.05]))
        for k in range(100):
            goal = np.add(rest, [0.05 + 0.1 * (1 - np.cos(k * 0.06)) / 2, 0, 0, 0, 0, 0.05])
            if k == moment:
                if what == "NaN":
                    goal[0] = np.nan
                elif what == "jump":
                    goal[0] += 1.0
                elif what == "exception":
                    raise RuntimeError("on purpose")
                elif what == "stall":
                    time.sleep(0.6)
                elif what == "stop":
                    safe.stop()
                elif what == "stop key":
                    pressed.append(True)
            state = safe.read()
            sent = safe.send(goal)
            recorder.record(state, goal, sent)
"""


class Attack(NamedTuple):
    """What one run is made of."""

    seed: int
    what: str
    moment: int
    """Cycle of the controller since the program began; of what the program does itself, its period."""


def drawn(seed):
    draw = random.Random(seed)
    what = draw.choice((*CONTROLLER, *PROGRAM, *KILLS))
    return Attack(seed, what, draw.randrange(100) if what in PROGRAM else draw.randrange(1200))


def attack(controller, folder, seed):
    """Carry a run out and return its attack, exit status and the promises that were not kept."""
    chosen = drawn(seed)
    machine = controller(seed=seed)
    program = subprocess.Popen(
        [sys.executable, "-c", CODE, machine.host, str(folder), chosen.what, str(chosen.moment)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    client = int(program.stdout.readline())
    begun = machine.state()["cycle"]
    if chosen.what in CONTROLLER:
        settings = {"duration": 0.4} if chosen.what in ("mute", "drop", "late", "freeze") else {}
        machine.fault(chosen.what, at=begun + chosen.moment, **settings)
    elif chosen.what in KILLS:
        who, name = chosen.what.split()
        while machine.state()["cycle"] < begun + chosen.moment and program.poll() is None:
            time.sleep(0.002)
        try:
            os.kill(program.pid if who == "program" else client, getattr(signal, name))
        except ProcessLookupError:
            assert program.poll() is not None or who == "client"
    if chosen.what == "program SIGSTOP":
        time.sleep(1.5)
        program.kill()
    _, errors = program.communicate(timeout=120)
    time.sleep(0.6)
    return chosen, program.returncode, [*promises(machine, folder, chosen), *surprises(errors, chosen)]


def surprises(errors, chosen):
    """What a user would have been told that is no message of ours."""
    if "Traceback" not in errors or chosen.what in ("exception", "program SIGINT"):
        return []
    last = errors.strip().splitlines()[-1]
    return (
        [] if last.startswith(("pliant.errors.", "pliant.hardware.ur.supervisor.")) else [f"it ended with {last}"]
    )


def promises(machine, folder, chosen):
    """Return what was not kept."""
    log, commands = machine.log(), machine.commands()
    servo = commands[commands["command"] == SERVO_J]
    q, broken = servo["values"][:, :6], []
    if not np.isfinite(servo["values"][:, :11]).all():
        broken.append("a command that is no number")
    if len(q) > 1 and np.abs(np.diff(q, axis=0)).max() > 1.0 * PERIOD * 1.2:
        broken.append("a command that jumps")
    if len(q) and (np.abs(np.diff(q, axis=0)).sum(axis=0)[1:5] > 0.01).any():
        broken.append("a joint that was not commanded moves")
    # An upload that fails is tried again before anything moves, and a client whose connections are cut uploads
    # once more by itself before it is ended.
    moved = log["program"][np.isin(log["cycle"], servo["cycle"])]
    if len(set(moved) - {0}) > 1:
        broken.append("it moves again without anybody's leave")
    if chosen.what != "vanish" and log["program"][-1]:
        broken.append("a program runs still")
    moving = np.abs(log["target_qd"]).max(axis=1) > 2e-3
    if chosen.what != "vanish" and moving[-1]:
        broken.append("it moves still")
    if len(servo) and moving.any():
        after = (log["cycle"][moving].max() - servo["cycle"].max()) * CYCLE
        if after > WATCHDOG + LONGEST:
            broken.append(f"it moved for {after:.3f} s after the last command")
    try:
        found = list(folder.glob("recording.mcap*"))
        read_recording(found[0])
    except Exception as error:
        broken.append(f"the recording: {error!r}")
    return broken


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(QUICK))
def test_attacks_of_every_kind_end_safely(controller, tmp_path, seed):
    chosen, status, broken = attack(controller, tmp_path, seed)
    assert not broken, (chosen, status)


def test_what_is_drawn_is_of_every_kind():
    assert {drawn(seed).what for seed in range(RUNS)} == {*CONTROLLER, *PROGRAM, *KILLS}
