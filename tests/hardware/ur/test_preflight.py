"""What is refused before the first motion, and with which words, at an emulated controller."""

import re
import socket
import threading

import pytest

from pliant.errors import RobotError
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.preflight import (
    condition,
    has_dashboard,
    has_direct_torque,
    has_freedrive,
    preflight,
    version_problem,
)
from pliant.hardware.ur.rtde import PORT, Session, Version, look

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")


def version(text):
    return Version(*map(int, text.split(".")), 0)


@pytest.mark.parametrize("text", ["5.3.0", "10.7.0", "10.8.1", "10.9.0", "2.9.0", "7.0.0"])
def test_versions_on_which_the_client_fails_are_refused(text):
    assert text in version_problem(version(text))


@pytest.mark.parametrize("text", ["3.15.8", "5.4.0", "5.11.0", "5.26.0", "10.6.0", "10.10.0", "10.12.0"])
def test_other_versions_are_not(text):
    assert not version_problem(version(text))


def test_what_a_version_has():
    assert [has_direct_torque(version(v)) for v in ("3.15.0", "5.22.0", "5.25.9", "5.26.0")] == [0, 0, 0, 1]
    assert [has_direct_torque(version(v)) for v in ("10.6.0", "10.9.0", "10.10.0", "10.12.0")] == [0, 0, 1, 1]
    assert [has_freedrive(version(v)) for v in ("5.11.9", "5.12.0", "5.12.3", "5.12.4")] == [1, 0, 0, 1]
    assert [has_dashboard(version(v)) for v in ("3.15.0", "5.22.0", "10.12.0")] == [1, 1, 0]


@pytest.mark.parametrize(
    ("modes", "words"),
    [
        ((7, 3, 1 << 2), "protective stop; .*pliant ur unlock host=arm"),
        ((7, 1, 1 << 2), "protective stop"),
        ((7, 7, 1 << 7), "release the emergency stop button"),
        ((7, 6, 1 << 7), "emergency stop of the system"),
        ((7, 5, 1), "safeguard stop; close the safeguard"),
        ((7, 4, 1), "recovery"),
        ((7, 9, 1), "restart the safety system"),
        ((3, 1, 1), "not running .power off.*ON and START"),
        ((5, 1, 1), "release the brakes"),
        ((99, 1, 1), "not running .99."),
    ],
)
def test_an_arm_that_does_not_move_is_told_what_to_press(modes, words):
    assert re.search(words, condition("arm", *modes))


def test_an_arm_that_runs_may_move():
    assert not condition("arm", 7, 1, 1)
    assert not condition("arm", 7, 2, 1)


def refused(machine, **settings):
    return "\n".join(preflight(URConfig(machine.host, **settings)).refusals)


def test_a_controller_that_is_ready_is_not_refused(controller):
    found = preflight(URConfig(controller().host))
    assert not found.refusals
    assert found.serial_number.isdigit()
    assert str(found.version) == "5.22.0"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("local_control", "choose Remote Control"),
        ("protective_stop", "protective stop; .*Enable Robot"),
        ("emergency_stop", "release the emergency stop button"),
        ("register_clash", "in use .input_int_register_0.*fieldbus.*PROFINET.*ROS driver.*URCap"),
        ("slot_busy", "a program is running already"),
    ],
)
def test_what_keeps_the_arm_from_moving_is_refused_with_its_cure(controller, arm, fault, words):
    machine = controller()
    machine.fault(fault)
    assert re.search(words, refused(machine))
    robot = arm(machine)
    with pytest.raises(RobotError, match="may not move") as error:
        robot.send(robot.read().command)
    assert re.search(words, str(error.value))
    assert machine.state()["programs"] == 0, "nothing was uploaded"


def test_a_switched_off_arm_is_refused(controller):
    machine = controller()
    machine.press("power_off")
    assert "press the power button" in refused(machine)


def test_every_refusal_is_told_at_once(controller):
    machine = controller()
    machine.fault("register_clash")
    machine.fault("local_control")
    found = preflight(URConfig(machine.host))
    assert len(found.refusals) == 2
    with pytest.raises(RobotError, match=r"(?s)local control.*in use"):
        found.raise_if_refused("ur")


def test_a_slider_at_zero_is_refused_and_a_low_one_told(controller):
    machine = controller()
    machine.fault("speed_slider", fraction=0.5)
    found = preflight(URConfig(machine.host))
    assert not found.refusals
    assert "50%" in " ".join(found.warnings)
    machine.fault("speed_slider", fraction=0.0)
    assert "speed slider stands at 0" in refused(machine)


def test_payload_and_tcp_must_be_those_of_the_controller(controller):
    machine = controller()
    text = refused(machine, payload={"mass": 2.0}, tcp=[0, 0, 0.2, 0, 0, 0])
    assert "carries 0 kg, 2 kg are configured; set Installation → Payload" in text
    assert "set Installation → TCP" in text
    assert not refused(machine, payload={"mass": 0.0}, tcp=[0.0] * 6)


def test_a_controller_of_another_kind_than_the_arm_is_refused(controller):
    assert "CB3 controller" in refused(controller(), model="ur10")


def test_a_force_on_the_tool_is_told_because_the_upload_zeroes_the_sensor(controller):
    machine = controller()
    machine.push([0, 0, -40.0, 0, 0, 0])

    def told():
        return any("zeroes the force" in text for text in preflight(URConfig(machine.host)).warnings)

    for _ in range(50):
        if told():
            return
    pytest.fail("a push is not told")


@pytest.mark.slow
def test_a_second_client_is_the_cause_that_is_named(controller, arm):
    machine = controller()
    first, second = arm(machine), arm(machine)
    first.send(first.read().command)
    with pytest.raises(RobotError, match=r"in use|running already"):
        second.send(second.read().command)
    first.stop()
    second.recover()


def test_polyscope_x_points_to_external_control_and_asks_no_dashboard(controller):
    found = preflight(URConfig(controller(polyscope="10.12").host))
    assert not found.refusals
    assert any("external control" in text for text in found.warnings)


def test_nobody_there_is_told_with_what_to_look_at():
    with pytest.raises(RobotError, match=r"no controller answers at 127\.9\.9\.9.*switched on"):
        preflight(URConfig("127.9.9.9"))


@pytest.mark.parametrize("answer", [b"", b"\x00\x04V\x00", b"\x00\x01V", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_is_no_controller_is_told_so(answer):
    server = socket.create_server(("127.9.9.8", PORT))

    def serve():
        client, _ = server.accept()
        client.recv(64)
        client.sendall(answer)
        client.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(RobotError, match="is no controller"):
        Session("127.9.9.8")
    thread.join()
    server.close()


def test_a_silent_one_is_waited_for_only_a_while(monkeypatch):
    monkeypatch.setattr("pliant.hardware.ur.rtde.PATIENCE", 0.1)
    with socket.create_server(("127.9.9.7", PORT)), pytest.raises(RobotError, match="does not answer within"):
        Session("127.9.9.7")


def test_values_that_a_version_lacks_are_left_out(controller):
    values = look(controller(polyscope="10.12").host, ["timestamp", "payload", "actual_q", "nonsense"])
    assert set(values) == {"timestamp", "actual_q"}
    assert len(values["actual_q"]) == 6
