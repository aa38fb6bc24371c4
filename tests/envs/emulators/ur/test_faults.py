"""Faults of controller and wire, seen by the real client as users report them, and the arm at rest afterwards."""

import numpy as np
import pytest

from pliant.errors import RobotError

SERVOING = """
control = rtde_control.RTDEControlInterface(HOST)
q, n = receive.getActualQ(), 0

def servo(calls):
    global n
    answers = []
    for _ in range(calls):
        n += 1
        begin = time.monotonic()
        answers.append(control.servoJ([q[0] + 0.0004 * n, *q[1:]], 0.0, 0.0, 0.002, 0.03, 300.0))
        time.sleep(max(begin + 0.002 - time.monotonic(), 0.0))
    return answers

def frozen():
    before, since = receive.getTimestamp(), time.monotonic()
    while time.monotonic() - since < 0.3:
        servo(1)
        if receive.getTimestamp() != before:
            before, since = receive.getTimestamp(), time.monotonic()
    return True
"""
LONGEST_STOP = 0.1
"""s."""


def cycles_to_rest(log, begin):
    """How many cycles after `begin` the arm is at rest for good."""
    after = log[log["cycle"] >= begin]
    moving = np.abs(after["actual_qd"]).max(axis=1) > 0.02
    return int(after["cycle"][moving][-1] - begin) + 1 if moving.any() else 0


def moved_after(log, begin):
    """How far the arm moves after a cycle, rad."""
    after = log[log["cycle"] >= begin]["actual_q"]
    return float(np.ptp(after, axis=0).max())


@pytest.mark.parametrize("fault", ["mute", pytest.param("drop", marks=pytest.mark.slow)])
def test_servo_j_goes_on_returning_true_when_nothing_comes_back(controller, client, fault):
    machine = controller()
    one = client(machine.host, SERVOING + "servo(50); say(ready=1); frozen(); say(answers=servo(100))")
    one.says()
    machine.fault(fault)
    assert one.says()["answers"] == [True] * 100


def test_a_controller_that_vanishes_is_gone_without_a_word(controller, client, eventually):
    """What the client does then is its own affair: it goes on, raises, or crashes while it connects anew."""
    machine = controller()
    one = client(machine.host, SERVOING + "servo(50); say(ready=1)\nwhile True: servo(1)")
    one.says()
    machine.fault("vanish")
    assert eventually(lambda: not machine.running)
    assert len(machine.log()) > 50, "the log is still there"
    with pytest.raises(RobotError, match="does not run"):
        machine.state()


@pytest.mark.slow
def test_what_is_not_heard_leaves_the_arm_on_its_last_target(controller, client, eventually):
    machine = controller()
    one = client(machine.host, SERVOING + "servo(200); say(ready=1)\nwhile True: servo(1)")
    one.says()
    begin = machine.fault("drop")
    assert eventually(lambda: machine.state()["cycle"] > begin + 200)
    log = machine.log()
    assert cycles_to_rest(log, begin) < 0.12 * 500
    np.testing.assert_allclose(log["target_q"][-1], machine.commands()["values"][-1, :6], atol=1e-4)


@pytest.mark.slow
def test_a_fault_ends_by_itself(controller, client, eventually):
    machine = controller()
    one = client(
        machine.host,
        "say(at=receive.getTimestamp()); heard(); t = receive.getTimestamp()\n"
        "say(runs=eventually(lambda: receive.getTimestamp() > t + 0.1), connected=receive.isConnected())",
    )
    one.says()
    begin = machine.fault("mute", duration=0.5)
    assert eventually(lambda: machine.state()["cycle"] > begin + 300)
    one.tell()
    assert one.says() == {"runs": True, "connected": True}


@pytest.mark.slow
def test_connections_that_were_cut_can_be_made_again(controller, client):
    machine = controller()
    one = client(machine.host, SERVOING + "servo(50); say(ready=1)\nwhile True: servo(1)")
    one.says()
    machine.fault("cut")
    one.end()
    again = client(machine.host, SERVOING + "say(answers=servo(50), running=control.isProgramRunning())")
    assert again.says() == {"answers": [True] * 50, "running": True}


@pytest.mark.slow
def test_packages_come_late(controller, client):
    machine = controller()
    machine.fault("late", delay=0.1)
    one = client(
        machine.host,
        """
seen = []
for _ in range(100):
    seen.append((receive.getTimestamp(), time.monotonic()))
    time.sleep(0.005)
say(seen=seen)
""",
    )
    seen = np.array(one.says()["seen"])
    log = machine.log()
    sent = np.interp(seen[:, 0] - 100.0, log["time"], log["wall"])
    assert (seen[:, 1] - sent).min() > 0.09


@pytest.mark.slow
def test_a_frozen_controller_stands_still_with_its_wires_open(controller, client, eventually):
    machine = controller()
    one = client(
        machine.host,
        SERVOING + "servo(50); say(ready=1); frozen(); say(answers=servo(20))\nservo(500)\n"
        "t = receive.getTimestamp(); say(back=eventually(lambda: receive.getTimestamp() > t))",
    )
    one.says()
    machine.fault("freeze", duration=1.0)
    assert one.says()["answers"] == [True] * 20
    assert one.says()["back"]
    gap = np.diff(machine.log()["wall"]).max()
    assert gap > 0.9


STOPPED = (
    SERVOING
    + """
servo(200)
say(ready=1)
heard()
eventually(lambda: receive.getRuntimeState() == 1)
say(stopped=eventually(lambda: not control.isProgramRunning()), protective=receive.isProtectiveStopped(),
    emergency=receive.isEmergencyStopped(), mode=receive.getRobotMode(), servo=servo(20))
heard()
say(uploaded=control.reuploadScript(), running=eventually(control.isProgramRunning))
q = receive.getActualQ(); n = 0
say(servo=servo(50))
"""
)


@pytest.mark.parametrize(
    "fault",
    [
        "protective_stop",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("emergency_stop", "dead_program", "local_control")),
    ],
)
def test_a_stop_brings_the_arm_to_rest_and_nothing_moves_until_it_is_armed_again(
    controller, client, eventually, fault
):
    machine = controller(unlock_delay=0.5)
    one = client(machine.host, STOPPED)
    one.says()
    begin = machine.fault(fault)
    one.tell()
    seen = one.says()
    assert seen["stopped"]
    assert seen["servo"] == [False] * 20
    assert seen["protective"] == (fault == "protective_stop")
    assert seen["emergency"] == (fault == "emergency_stop")
    assert seen["mode"] == (3 if fault == "emergency_stop" else 7)
    log = machine.log()
    assert cycles_to_rest(log, begin) < LONGEST_STOP * 500
    resting = begin + int(LONGEST_STOP * 500)
    buttons = {
        "protective_stop": ["unlock"],
        "emergency_stop": ["release_emergency_stop", "power_on"],
        "dead_program": [],
        "local_control": ["remote_control"],
    }
    for button in buttons[fault]:
        assert eventually(lambda button=button: pressed(machine, button))
    assert eventually(lambda: machine.state()["cycle"] > resting + 50)
    assert moved_after(machine.log(), resting) < 1e-3
    one.tell()
    assert one.says() == {"uploaded": True, "running": True}
    assert one.says() == {"servo": [True] * 50}
    assert machine.state()["programs"] == 2


def pressed(machine, button):
    try:
        machine.press(button)
    except RobotError:
        return False
    return True


@pytest.mark.slow
def test_a_protective_stop_cannot_be_unlocked_at_once(controller):
    machine = controller(unlock_delay=60.0)
    machine.fault("protective_stop")
    with pytest.raises(RobotError, match="s to go"):
        machine.press("unlock")
    assert machine.state()["safety_mode"] == 3


REFUSED = """
try:
    rtde_control.RTDEControlInterface(HOST)
    say(error="")
except Exception as error:
    say(error=str(error))
"""


def test_local_control_is_refused_by_the_client(controller, client):
    machine = controller(remote_control=False)
    assert "remote control" in client(machine.host, REFUSED).says()["error"]


def test_inputs_of_a_fieldbus_are_in_use(controller, client):
    machine = controller()
    machine.fault("register_clash")
    assert client(machine.host, REFUSED).says()["error"]


@pytest.mark.slow
def test_a_second_client_finds_the_registers_in_use(controller, client):
    machine = controller()
    first = client(machine.host, SERVOING + "say(ready=1); heard()")
    first.says()
    assert client(machine.host, REFUSED).says()["error"]


@pytest.mark.slow
def test_a_program_of_the_pendant_occupies_the_controller(controller, client, eventually):
    machine = controller()
    machine.fault("slot_busy")
    one = client(machine.host, "say(runtime=receive.getRuntimeState())" + REFUSED)
    assert one.says() == {"runtime": 2}
    assert "stop" in one.says()["error"]
    machine.press("free_slot")
    again = client(machine.host, SERVOING + "say(answers=servo(10))")
    assert again.says() == {"answers": [True] * 10}


@pytest.mark.slow
def test_a_force_sensor_that_is_off_is_seen_until_it_is_zeroed(controller, client):
    machine = controller()
    body = """
control = rtde_control.RTDEControlInterface(HOST)
say(ready=1)
heard()
say(off=eventually(lambda: receive.getActualTCPForce()[2] > 15.0))
control.zeroFtSensor()
say(zeroed=eventually(lambda: abs(receive.getActualTCPForce()[2]) < 5.0))
"""
    one = client(machine.host, body)
    one.says()
    machine.fault("force_drift", fz=20.0)
    one.tell()
    assert one.says()["off"]
    assert one.says()["zeroed"]


@pytest.mark.slow
def test_the_speed_slider_stretches_moves(controller, client):
    machine = controller()
    body = """
control = rtde_control.RTDEControlInterface(HOST)
q = receive.getActualQ()
for scale in (1.0, 0.5):
    before = receive.getTimestamp()
    q[0] += 0.2
    control.moveJ(q, 1.0, 4.0)
    say(took=receive.getTimestamp() - before, scaling=receive.getSpeedScaling())
    heard()
"""
    one = client(machine.host, body)
    full = one.says()
    machine.fault("speed_slider", fraction=0.5)
    one.tell()
    slow = one.says()
    assert (full["scaling"], slow["scaling"]) == (1.0, 0.5)
    assert slow["took"] > 1.6 * full["took"]


def test_a_fault_at_a_cycle_that_is_known_beforehand(controller, eventually):
    machine = controller()
    at = machine.state()["cycle"] + 100
    assert machine.fault("protective_stop", at=at) == at
    assert eventually(lambda: machine.state()["safety_mode"] == 3)
    assert machine.state()["faults"] == [[at, "protective_stop"]]
    log = machine.log()
    assert log["safety_mode"][log["cycle"] == at] == 1
    assert log["safety_mode"][log["cycle"] == at + 1] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "mut"}, "Did you mean 'mute'"),
        ({"name": "late", "delay": -1.0}, "delay"),
        ({"name": "late", "dealy": 1.0}, "dealy"),
        ({"name": "mute", "at": -5}, "at"),
        ({"name": "mute", "duration": float("nan")}, "duration"),
        ({"name": "force_drift", "fw": 1.0}, "component"),
        ({"name": "speed_slider", "fraction": 2.0}, "fraction"),
        ({"name": "register_clash", "first": 90}, "first"),
    ],
)
def test_impossible_faults_are_refused(lasting, arguments, message):
    with pytest.raises(RobotError, match=message):
        lasting.fault(**arguments)


@pytest.mark.parametrize("button", ["unlok", "unlock", "release_emergency_stop"])
def test_buttons_that_do_nothing_are_refused(lasting, button):
    with pytest.raises(RobotError, match=r"unlock|pressed"):
        lasting.press(button)
