"""How a program that drives an arm may end, and that the arm stands afterwards: by the controller's watchdog."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")

WATCHDOG = 0.25
PROGRAM = """
import sys, numpy as np
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.robot import URRobot
host, mode = sys.argv[1:]
robot = URRobot(URConfig(host, mode=mode, period=0.008, watchdog=0.25, stale=0.5))
robot.connect()
command, step = robot.read().command, np.array([0.3, 0, 0, 0, 0, 0])
k = 0
while True:
    command = command + step * 0.008 if mode == "position" else step
    robot.send(command)
    k += 1
    if k == 30:
        print(robot.supervisor.pid, flush=True)
"""


@pytest.fixture
def driving(controller):
    """Return a controller, the program that drives it, and the client's process."""
    made = []

    def make(mode):
        machine = controller()
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, machine.host, mode],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        made.append(program)
        return machine, program, int(program.stdout.readline())

    yield make
    for program in made:
        program.kill()
        program.communicate()


def stop_time(machine, until):
    """Time from the last command on the wire until the arm's target stands, on the controller's own clock, s."""
    until(lambda: np.abs(machine.state()["target_qd"]).max() < 1e-6)
    log, commands = machine.log(), machine.commands()
    moving = log["cycle"][np.abs(log["target_qd"]).max(axis=1) > 1e-3].max()
    last = commands["cycle"][np.isin(commands["command"], (9, 11))].max()
    return (moving - last) * 0.002


@pytest.mark.parametrize("mode", ["position", "velocity"])
def test_a_program_that_is_killed_leaves_the_arm_to_the_watchdog(driving, until, mode):
    machine, program, client = driving(mode)
    program.send_signal(signal.SIGKILL)
    program.wait()
    assert stop_time(machine, until) < WATCHDOG + 0.12
    until(lambda: not Path(f"/proc/{client}").exists() or "Z" in Path(f"/proc/{client}/stat").read_text())
    assert machine.state()["runtime_state"] == 1
    assert "watchdog" in machine.state()["program_ended"]


def test_a_program_that_only_falls_silent_is_not_made_up_for_by_its_client(driving, until):
    machine, program, client = driving("velocity")
    program.send_signal(signal.SIGSTOP)
    assert stop_time(machine, until) < WATCHDOG + 0.12
    assert "watchdog" in machine.state()["program_ended"]
    assert Path(f"/proc/{client}").exists(), "it lives, and has sent nothing"


def test_program_and_client_killed_together_leave_the_arm_to_the_watchdog(driving, until):
    machine, program, client = driving("velocity")
    os.kill(client, signal.SIGKILL)
    program.send_signal(signal.SIGKILL)
    assert stop_time(machine, until) < WATCHDOG + 0.12


def test_a_program_that_ends_by_an_exception_brakes(driving, until):
    machine, program, _ = driving("position")
    program.send_signal(signal.SIGINT)
    program.wait()
    assert stop_time(machine, until) < WATCHDOG + 0.12
