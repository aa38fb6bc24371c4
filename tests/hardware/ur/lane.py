"""Runs attacks one after the other: `python -m tests.hardware.ur.lane`, an attack or seed a line, an outcome each.

What is needed is imported once; each run is an emulated controller and a program that drives it, both forked off
from here. Whatever the program leaves behind becomes a child of this process, so that nothing escapes its notice.
"""

import atexit
import contextlib
import ctypes
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.hardware.campaign import checked_recording
from tests.hardware.ur.attacked import Program, status_of
from tests.hardware.ur.attacks import Attack, drawn
from tests.hardware.ur.promises import BRAKING, STILL, Run, broken

from pliant.envs.emulated_ur import free_host
from pliant.envs.emulators.control import request
from pliant.envs.emulators.ur.emulator import SOCKET, UrEmulator
from pliant.envs.emulators.ur.log import COMMANDS, CYCLES, read_ring
from pliant.errors import RobotError

LONGEST = 120.0
"""A program that runs longer than this hangs, s."""
_PR_SET_CHILD_SUBREAPER = 36


def forked(work: Callable[[], int], output: Path) -> int:
    """Do something in a process of its own, which prints into a file; return its number."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        atexit._clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number in (1, 2):
            os.dup2(descriptor, number)
        status = work()
        atexit._run_exitfuncs()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def serve(attack: Attack, host: str, folder: Path, ready: int, parent: int) -> int:
    """Be the controller."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    emulator = UrEmulator(attack.settings(), host, folder)
    os.write(ready, b"+")
    emulator.run(parent)
    return 0


def ended(program: int) -> tuple[int, bool]:
    """Wait for a program and return its status, and whether it hung; one that is stopped goes on later."""
    end, stopped = time.monotonic() + LONGEST, 0.0
    while time.monotonic() < end:
        found, status = os.waitpid(program, os.WNOHANG | os.WUNTRACED)
        if found and os.WIFSTOPPED(status):
            stopped = time.monotonic()
        elif found:
            return os.waitstatus_to_exitcode(status), False
        if stopped and time.monotonic() > stopped + 0.6:
            stopped = 0.0
            os.kill(program, signal.SIGCONT)
        time.sleep(0.003)
    os.kill(program, signal.SIGKILL)
    os.waitpid(program, 0)
    return -9, True


def left_behind(emulator: int) -> list[int]:
    """Return the processes that the program has left and that do not end by themselves; end them."""
    end = time.monotonic() + 5.0
    while True:
        children = [int(n) for n in Path("/proc/self/task", str(os.getpid()), "children").read_text().split()]
        left = [n for n in children if n != emulator and os.waitpid(n, os.WNOHANG)[0] == 0]
        if not left or time.monotonic() > end:
            break
        time.sleep(0.003)
    for number in left:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
    return left


def await_rest(control: Path, plan: Attack) -> None:
    """Wait until the arm stands without a program, or ought to."""
    now, still = request(control, "state"), 0
    until = now["cycle"] + (plan.watchdog + BRAKING + 0.05) / plan.cycle
    while now["cycle"] < until and still < 3:
        time.sleep(0.02)
        now = request(control, "state")
        still = still + 1 if not now["program"] and max(map(abs, now["target_qd"])) < STILL else 0


def attack(plan: Attack) -> dict[str, object]:
    """Carry an attack out; return its status, whether it struck, and what was not kept."""
    folder, host = Path(tempfile.mkdtemp(prefix="pliant-attack-")), free_host()
    control, begun = folder / SOCKET, time.monotonic()
    ours, theirs = os.pipe()
    this = os.getpid()
    emulator = forked(lambda: serve(plan, host, folder, theirs, this), folder / "emulator")
    os.close(theirs)
    try:
        if os.read(ours, 1) != b"+":
            raise RuntimeError((folder / "emulator").read_text())
        program = forked(lambda: status_of(Program(plan, host, control, folder)), folder / "output")
        status, hung = ended(program)
        took = time.monotonic() - begun
        found = ["it hangs"] if hung else []
        if left := left_behind(emulator):
            found.append(f"{len(left)} processes are left")
        with contextlib.suppress(RobotError):
            await_rest(control, plan)
    finally:
        os.close(ours)
        os.kill(emulator, signal.SIGKILL)
        os.waitpid(emulator, 0)
    notes = [json.loads(line) for line in (folder / "notes").read_text().splitlines()]
    log, commands = read_ring(folder / "cycles", CYCLES), read_ring(folder / "commands", COMMANDS)
    run = Run(plan, status, log, commands, notes, (folder / "output").read_text())
    found += broken(run)
    filled = any(note.get("phase") == "walking out" for note in notes)
    found += checked_recording(folder / "recording.mcap", status < 0, filled)
    if found and os.environ.get("PLIANT_KEEP_ATTACKS"):
        found.append(f"kept in {folder}")
    else:
        shutil.rmtree(folder)
    return {
        "seed": plan.seed,
        "struck": run.struck,
        "status": status,
        "unsafe": found,
        "took": round(took, 3),
        "reasons": run.reasons[:600],
        "notes": notes,
    }


def main() -> None:
    """Take attacks from the input until it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for name in sys.argv[1:]:  # what breaks the driver, to see that it is noticed
        getattr(importlib.import_module("tests.hardware.ur.breaking"), name)()
    for line in sys.stdin:
        asked = json.loads(line)
        plan = Attack(**asked) if isinstance(asked, dict) else drawn(asked)
        try:
            answers.write(json.dumps(attack(plan)) + "\n")
        except Exception as error:
            answers.write(json.dumps({"seed": plan.seed, "error": repr(error)}) + "\n")


if __name__ == "__main__":
    main()
