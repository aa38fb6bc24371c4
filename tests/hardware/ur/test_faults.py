"""Each defect of ur-rtde 1.6.5 and each report of its users, over the real client and an emulated controller."""

import ast
import os
import re
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import pliant.hardware.ur.client
from pliant.errors import RobotError
from pliant.hardware.ur.preflight import PLAYING
from pliant.hardware.ur.supervisor import ClientLostError

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
pytestmark = pytest.mark.slow

SERVO_J, SPEED_J = 11, 9


def keep_sending(robot, step=0.0, seconds=20.0):
    """Send the state's own command, moved by a step each time, until the robot refuses; return the error."""
    command, end = None, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            command = robot.read().command if command is None else command
            command[0] += step
            robot.send(command)
        except RobotError as error:
            return str(error)
    pytest.fail("nothing was noticed")


def at_rest(machine, until):
    until(lambda: np.abs(machine.state()["target_qd"]).max() < 1e-6)


# What ends a motion


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("protective_stop", "protective stop; .*pliant ur unlock"),
        ("emergency_stop", "emergency stop"),
        ("local_control", "program on the controller has ended.*local control"),
        ("dead_program", "program on the controller has ended"),
        ("mute", "ms old"),
        ("drop", "ms old"),
        ("cut", "closed the connection|died|ms old|has ended|not passed on"),
        ("vanish", "ms old|closed the connection|died|has ended"),
    ],
)
def test_a_motion_that_something_else_ends_is_a_fault_with_its_cause(controller, arm, go, until, fault, words):
    machine = controller()
    robot = arm(machine, period=0.008, stale=0.3)
    go(robot, 0.05, 20)
    machine.fault(fault)
    assert re.search(words, keep_sending(robot))
    with pytest.raises(RobotError, match=r"in Python: recover"):
        robot.send(np.zeros(6))
    assert robot.diagnostics()["fault"]
    if fault != "vanish":
        at_rest(machine, until)


@pytest.mark.slow
def test_another_program_that_takes_the_arm_is_noticed_when_it_does_not_follow(controller, arm, go):
    """The client goes on sending, True each time, and a program runs: but its target stays where it was."""
    machine = controller()
    robot = arm(machine, period=0.008)
    go(robot, 0.05, 20)
    machine.fault("slot_busy")
    text = keep_sending(robot, step=0.002)
    assert "another program has the arm" in text


def test_a_controller_that_is_gone_is_noticed_though_the_client_goes_on_saying_true(controller, arm, until):
    """`servoJ` returned True 2,000 times with nobody at the other end: only newer packages count."""
    machine = controller()
    robot = arm(machine, mode="velocity", period=0.01, stale=0.2)
    robot.send([0.1, 0, 0, 0, 0, 0])
    machine.fault("mute")
    began = time.monotonic()
    text = keep_sending(robot)
    assert "ms old" in text
    assert time.monotonic() - began < 5.0
    at_rest(machine, until)


def test_a_protective_stop_latches_until_the_operator_acts(controller, arm, go):
    machine = controller()
    robot = arm(machine, period=0.008)
    goal = go(robot, 0.1, 20)
    machine.fault("protective_stop")
    keep_sending(robot)
    with pytest.raises(RobotError, match="protective stop"):
        robot.recover()
    with pytest.raises(RobotError, match="protective stop"):
        robot.send(goal)
    time.sleep(0.2)
    machine.press("unlock")
    with pytest.raises(RobotError, match="protective stop"):
        robot.send(goal)  # unlocked, but nobody has said that it may move
    robot.recover()
    state = robot.read()
    assert np.allclose(state.command, state.position, atol=0.01), "the old target is dropped"
    begun = len(machine.commands())
    robot.send(state.command)
    first = machine.commands()[begun:]
    servo = first["values"][first["command"] == SERVO_J][0, :6]
    assert np.allclose(servo, state.position, atol=0.01)


def test_after_an_emergency_stop_it_works_again_with_power(controller, arm, go):
    machine = controller()
    robot = arm(machine, period=0.008)
    go(robot, 0.05, 10)
    machine.fault("emergency_stop")
    keep_sending(robot)
    machine.press("release_emergency_stop")
    with pytest.raises(RobotError, match="power off"):
        robot.recover()
    machine.press("power_on")
    robot.recover()
    go(robot, 0.05, 10)


def test_packages_that_come_late_within_patience_change_nothing(controller, arm, go):
    machine = controller()
    robot = arm(machine, period=0.016)
    go(robot, 0.05, 10)
    machine.fault("late", delay=0.03, duration=0.5)
    goal = go(robot, 0.05, 60)
    for _ in range(10):
        robot.send(goal)
    assert np.allclose(robot.read().position, goal, atol=5e-3)


@pytest.mark.slow
def test_a_link_that_fails_and_comes_back_is_built_anew(controller, arm, go):
    """Repeated stalls with the client's own `reconnect` bring it down; here its process is replaced."""
    machine = controller()
    robot = arm(machine, period=0.008, stale=0.2)
    clients = set()
    for _ in range(3):
        go(robot, 0.02, 10)
        clients.add(robot.supervisor.pid)
        machine.fault("drop", duration=1.0)
        keep_sending(robot)
        time.sleep(1.2)
        robot.recover()
    go(robot, 0.02, 10)
    assert len(clients) == 3


def test_reading_begins_anew_by_itself_while_nothing_moves(controller, arm, until):
    robot = arm(controller())
    robot.read()
    os.kill(robot.supervisor.pid, signal.SIGKILL)
    until(lambda: robot.supervisor.loss)
    assert np.isfinite(robot.read().position).all()


# What the client passes on without a word


def test_only_functions_of_the_client_that_work_are_used():
    """Not: reconnect, which brings it down, reuploadScript, waitPeriod, setExternalForceTorque, moves, queries."""
    tree = ast.parse(Path(pliant.hardware.ur.client.__file__).read_text("utf-8"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name | ast.Attribute)
        and (node.value.id if isinstance(node.value, ast.Name) else node.value.attr) in ("control", "_control")
    }
    assert used == {
        *("isConnected", "isProgramRunning", "setWatchdog", "servoJ", "servoL", "speedJ", "directTorque"),
        *("servoStop", "speedStop", "stopJ", "stopScript", "zeroFtSensor", "kickWatchdog"),
        *("freedriveMode", "endFreedriveMode"),
    }


def test_after_a_gap_it_goes_on_from_the_controllers_target(controller, arm, go):
    """A policy that stalls, or pushes against a contact, must not make the arm jump afterwards."""
    machine = controller()
    robot = arm(machine, period=0.008, watchdog=0.9)
    goal = go(robot, 0.1, 30)
    time.sleep(0.4)
    far = goal + np.eye(6)[0] * 0.5
    sent = robot.send(far)
    assert sent[0] < goal[0] + robot.config.speed[0] * 0.008 + 1e-3
    for _ in range(5):
        robot.send(sent)
    records = machine.commands()
    q = records["values"][records["command"] == SERVO_J][:, 0]
    # Setpoints that are late are left out, so at most a period's way at once.
    assert np.abs(np.diff(q)).max() <= robot.config.speed[0] * 0.008 * 1.01


def test_a_pause_in_a_motion_makes_no_command_jump(controller, arm, go):
    """The controller's target lags behind what was sent: going on from it would go back, and then run after."""
    machine = controller()
    robot = arm(machine, period=0.008, watchdog=0.9)
    goal = go(robot, 0.1, 30)
    way = np.eye(6)[0] * 0.5 * 0.008
    for _ in range(3):
        for _ in range(25):
            goal = robot.send(goal + way)
        time.sleep(0.055)
    records = machine.commands()
    q = records["values"][records["command"] == SERVO_J][-200:, 0]
    assert np.diff(q).min() >= -1e-9
    assert np.diff(q).max() <= way[0] * 1.01
    assert not robot.held_back


def test_a_stop_gives_up_an_upload_that_is_under_way(controller, arm):
    """It waited until the upload was over, up to a minute, and left the program that was uploaded."""
    machine = controller()
    robot = arm(machine)
    call, stopped = robot.supervisor.call, threading.Event()

    def slow(name, *arguments, **settings):
        if name == "upload":
            threading.Thread(target=lambda: (robot.stop(), stopped.set())).start()
            while not robot._exclusive.stop_pending:
                time.sleep(0.001)
        return call(name, *arguments, **settings)

    robot.supervisor.call = slow
    with pytest.raises(RobotError, match="was stopped"):
        robot.send(robot.read().command)
    assert stopped.wait(20.0)
    assert not machine.state()["program"]
    assert not (machine.commands()["command"] == SERVO_J).any()


def test_a_client_that_is_lost_while_it_uploads_has_its_program_ended(controller, arm, monkeypatch, until):
    machine = controller()
    robot = arm(machine)
    monkeypatch.setattr("pliant.hardware.ur.robot._BACK_OFF", 0.01)
    monkeypatch.setattr("pliant.hardware.ur.robot._TRIES", 1)
    call = robot.supervisor.call

    def lost(name, *arguments, **settings):
        answer = call(name, *arguments, **settings)
        if name == "upload":
            robot.supervisor.give_up("it is gone")
            raise RobotError("it is gone")
        return answer

    robot.supervisor.call = lost
    with pytest.raises(RobotError, match="could not be started"):
        robot.send(robot.read().command)
    until(lambda: not machine.state()["program"])


def test_a_slider_below_full_slows_what_is_sent(controller, arm, go):
    machine = controller()
    robot = arm(machine, period=0.008)
    go(robot, 0.05, 10)
    machine.fault("speed_slider", fraction=0.3)
    time.sleep(0.1)
    begin = robot.send(robot.read().command)
    sent = robot.send(begin + np.eye(6)[0] * 0.5)
    assert sent[0] - begin[0] == pytest.approx(0.3 * robot.config.speed[0] * 0.008, rel=0.02)


def test_the_upload_is_tried_again_and_then_named(controller, arm, monkeypatch):
    """The constructor fails now and then after an emergency stop (airo-mono #143)."""
    machine = controller()
    robot = arm(machine)
    monkeypatch.setattr("pliant.hardware.ur.robot._BACK_OFF", 0.01)
    call, tries = robot.supervisor.call, []

    def failing(name, *arguments, **settings):
        if name == "upload":
            tries.append(name)
            if len(tries) < 3:
                raise RobotError("upload: it did not work")
        return call(name, *arguments, **settings)

    monkeypatch.setattr(robot.supervisor, "call", failing)
    robot.send(robot.read().command)
    assert len(tries) == 3
    robot.stop()

    def never(name, *arguments, **settings):
        if name == "upload":
            raise RobotError("upload: it did not work")
        return call(name, *arguments, **settings)

    monkeypatch.setattr(robot.supervisor, "call", never)
    with pytest.raises(RobotError, match="3 tries: upload: it did not work"):
        robot.send(robot.read().command)


def test_a_program_that_does_not_start_is_named(controller, arm, monkeypatch):
    """The uploaded program never started on 5.22 (ur_rtde 334): what the controller runs is looked at."""
    machine = controller()
    robot = arm(machine)
    monkeypatch.setattr("pliant.hardware.ur.robot._BACK_OFF", 0.01)
    monkeypatch.setattr("pliant.hardware.ur.robot._PLAYS", 0.2)
    state = robot.supervisor.state
    monkeypatch.setattr(
        robot.supervisor, "state", lambda: {**state(), "runtime_state": np.array([float(PLAYING - 1)])}
    )
    with pytest.raises(RobotError, match="does not run the uploaded program"):
        robot.send(robot.read().command)


# Who dies


@pytest.mark.parametrize("mode", ["position", "velocity"])
def test_a_client_that_is_killed_in_motion_stops_the_arm(controller, arm, until, mode):
    machine = controller()
    robot = arm(machine, mode=mode, period=0.008)
    step = np.array([0.3, 0, 0, 0, 0, 0])
    command = robot.read().command
    for _ in range(30):
        command = step if mode == "velocity" else command + step * 0.008
        robot.send(command)
    os.kill(robot.supervisor.pid, signal.SIGKILL)
    text = keep_sending(robot)
    assert "SIGKILL" in text or "died" in text
    at_rest(machine, until)
    log = machine.log()
    last = machine.commands()["cycle"].max()
    moving = log["cycle"][np.abs(log["target_qd"]).max(axis=1) > 1e-3]
    after = (moving.max() - last) * robot.config.cycle
    assert after < robot.config.watchdog + 0.15, "by the supervisor, or at the latest by the watchdog"


def test_a_client_that_hangs_in_motion_stops_the_arm(controller, arm, until):
    machine = controller()
    robot = arm(machine, mode="velocity", period=0.01, stale=0.3)
    for _ in range(20):
        robot.send([0.3, 0, 0, 0, 0, 0])
    os.kill(robot.supervisor.pid, signal.SIGSTOP)
    assert "lost" in keep_sending(robot)
    at_rest(machine, until)
    with pytest.raises(ClientLostError):
        robot.supervisor.state()
