"""The emulated controller as a process: real time and lock step with the real client, two of them, its end."""

import os
import signal
import socket
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from tests.envs.emulators.ur.conftest import new_host, wait_for

from pliant.envs.emulators.ur.process import EmulatedController
from pliant.envs.emulators.ur.settings import ControllerSettings, Gap
from pliant.errors import OutputError, PliantError, RobotError

SERVOING = """
control = rtde_control.RTDEControlInterface(HOST)
q = receive.getActualQ()

def servo(seconds, speed=0.1):
    begin, n = time.monotonic(), 0
    while n * 0.002 < seconds:
        answer = control.servoJ([q[0] + speed * n * 0.002, *q[1:]], 0.0, 0.0, 0.002, 0.03, 300.0)
        n += 1
        time.sleep(max(begin + 0.002 * n - time.monotonic(), 0.0))
    q[0] += speed * n * 0.002
    return answer
"""


@pytest.mark.slow
@pytest.mark.real_time
def test_servo_j_lags_by_what_users_report_over_real_sockets(controller, client):
    machine = controller()
    one = client(machine.host, SERVOING + "say(done=servo(2.0))")
    assert one.says()["done"]
    log, commands = machine.log(), machine.commands()
    sent = commands[commands["command"] == 11]
    ramp = sent[300:-50]
    arm = np.interp(ramp["wall"], log["wall"], log["actual_q"][:, 0])
    lag = np.median(ramp["values"][:, 0] - arm) / 0.1
    assert lag == pytest.approx(0.034, abs=0.004)


@pytest.mark.slow
@pytest.mark.real_time
def test_the_stream_keeps_its_pace(controller, client):
    machine = controller()
    one = client(machine.host, SERVOING + "servo(0.2); say(ready=1); servo(2.0); say(done=1)")
    one.says()
    before = machine.state()
    one.says()
    after = machine.state()
    seconds = after["time"] - before["time"]
    assert (after["packages"] - before["packages"]) / seconds == pytest.approx(1000.0, rel=0.05)
    gaps = np.diff(machine.log()["wall"])[-500:]
    assert np.median(gaps) == pytest.approx(0.002, abs=0.0003)


@pytest.mark.parametrize("watched", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_an_arm_whose_client_was_killed_stops_by_its_watchdog_alone(controller, client, watched):
    machine = controller()
    body = "control = rtde_control.RTDEControlInterface(HOST)\n"
    body += "control.setWatchdog(10.0)\n" if watched else ""
    body += "say(ready=1)\nwhile True:\n    control.speedJ([0.3, 0, 0, 0, 0, 0], 5.0, 0.0); time.sleep(0.004)\n"
    one = client(machine.host, body)
    one.says()
    assert wait_for(lambda: machine.state()["qd"][0] > 0.29)
    os.kill(one.process.pid, signal.SIGKILL)
    one.process.wait()
    begin = machine.state()["cycle"]
    assert wait_for(lambda: machine.state()["cycle"] > begin + 250)
    log, commands = machine.log(), machine.commands()
    last = commands["cycle"][-1]
    after = log[log["cycle"] > last + 125]
    if watched:
        assert np.abs(after["actual_qd"]).max() < 0.02, "at rest 0.25 s after the last command"
        assert set(after["watchdog"]) == {2}
        assert set(after["runtime_state"]) == {1}
    else:
        assert np.abs(after["actual_qd"][:, 0]).min() > 0.25, "it goes on for ever"


@pytest.mark.slow
def test_servo_j_settles_on_its_last_target_when_its_client_was_killed(controller, client):
    machine = controller()
    one = client(machine.host, SERVOING + "servo(0.5); say(ready=1); servo(60.0)")
    one.says()
    one.end()
    begin = machine.state()["cycle"]
    assert wait_for(lambda: machine.state()["cycle"] > begin + 150)
    log, commands = machine.log(), machine.commands()
    settled = log[log["cycle"] > commands["cycle"][-1] + 60]
    assert np.abs(settled["actual_qd"]).max() < 0.02
    np.testing.assert_allclose(settled["target_q"][-1], commands["values"][-1, :6], atol=1e-4)


def test_frames_of_the_wrong_length_are_dropped_though_the_client_returns_true(controller, client):
    machine = controller()
    body = SERVOING + "servo(0.1)\nsay(short=control.servoJ(q[:5], 0.0, 0.0, 0.002, 0.03, 300.0))"
    one = client(machine.host, body)
    assert one.says() == {"short": True}
    assert wait_for(lambda: machine.state()["malformed"] == 1)
    assert machine.state()["program"]


@pytest.mark.slow
def test_two_controllers_stand_side_by_side(controller, client):
    machines = [controller(polyscope=version) for version in ("5.22", "10.12")]
    clients = [client(machine.host, SERVOING + "say(done=servo(0.5))") for machine in machines]
    assert [one.says() for one in clients] == [{"done": True}] * 2
    for machine in machines:
        state = machine.state()
        assert state["program"]
        assert state["q"][0] == pytest.approx(0.05, abs=0.01)
    machines[0].fault("protective_stop")
    assert machines[1].state()["safety_mode"] == 1


LOCK_STEP = """
control = rtde_control.RTDEControlInterface(HOST)
q = receive.getActualQ()
say(done=control.moveJ([q[0] + 0.1, *q[1:]], 1.0, 3.0))
now = float(heard())
eventually(lambda: receive.getTimestamp() > now - 0.001)
seen = []
for k in range(200):
    before = receive.getTimestamp()
    control.servoJ([q[0] + 0.1 + 0.0002 * k, *q[1:]], 0.0, 0.0, 0.002, 0.03, 300.0)
    eventually(lambda: receive.getTimestamp() > before)
    seen.append(receive.getActualQ())
say(passed=receive.getTimestamp() - now, seen=seen)
"""


def run_in_lock_step(controller, client):
    """Move, then servo from a moment that both ends know: what the client reads may be a package behind."""
    machine = controller(pace="lock_step")
    one = client(machine.host, LOCK_STEP)
    assert one.says() == {"done": True}
    one.tell(str(machine.state()["timestamp"]))
    return machine, one.says()


@pytest.mark.slow
def test_in_lock_step_a_cycle_passes_with_each_command_and_runs_repeat(controller, client):
    (machine, first), (_, again) = (run_in_lock_step(controller, client) for _ in range(2))
    assert first["passed"] == pytest.approx(200 * 0.002)
    np.testing.assert_allclose(first["seen"], again["seen"], atol=5e-5)  # but for the sensors' noise
    cycle = machine.state()["cycle"]
    assert machine.step(50) == cycle + 50
    assert machine.state()["cycle"] == cycle + 50


@pytest.mark.slow
def test_a_client_survives_a_long_pause_in_lock_step(controller, client):
    machine = controller(pace="lock_step", cycles_per_command=4)
    body = (
        SERVOING
        + """
control.servoJ(q, 0.0, 0.0, 0.008, 0.03, 300.0)
t = receive.getTimestamp()
time.sleep(3.5)
say(frozen=receive.getTimestamp() == t, connected=receive.isConnected() and control.isConnected())
control.servoJ(q, 0.0, 0.0, 0.008, 0.03, 300.0)
say(moves=eventually(lambda: abs(receive.getTimestamp() - t - 0.008) < 1e-9))
"""
    )
    one = client(machine.host, body)
    assert one.says()["connected"]
    assert one.says() == {"moves": True}


def test_time_cannot_be_stepped_in_real_time(lasting):
    with pytest.raises(RobotError, match="lock step only"):
        lasting.step()


def test_the_state_tells_what_was_plugged_in(lasting):
    lasting.set_input(2, True)
    lasting.set_analog_input(0, 4.5)
    lasting.push([0.0, 0.0, 30.0, 0.0, 0.0, 0.0])
    assert wait_for(lambda: lasting.state()["wrench"][2] > 25.0)
    lasting.push([0.0] * 6)
    with pytest.raises(RobotError, match="six finite numbers"):
        lasting.push([0.0, 1.0])
    with pytest.raises(RobotError, match="digital input"):
        lasting.set_input(18, True)


def test_the_log_outlives_the_process():
    with EmulatedController(host=new_host()) as machine:
        assert wait_for(lambda: machine.state()["cycle"] > 20)
    log = machine.log()
    assert len(log) > 20
    assert list(np.diff(log["cycle"])) == [1] * (len(log) - 1)
    with pytest.raises(RobotError, match="does not run"):
        machine.state()
    machine.stop()


def test_a_controller_never_started_says_so():
    with pytest.raises(RobotError, match="does not run"):
        EmulatedController().state()


@pytest.mark.slow
def test_addresses_that_cannot_be_served_are_explained(lasting):
    with pytest.raises(OutputError, match="need two addresses"):
        EmulatedController(host=lasting.host).start()
    with pytest.raises(PliantError, match="loopback address"):
        EmulatedController(host="0.0.0.0").start()
    with pytest.raises(PliantError, match="loopback address"):
        EmulatedController(host="nowhere").start()


def test_polyscope_x_has_no_dashboard(controller):
    machine = controller(polyscope="10.12", gap=Gap.none())
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((machine.host, 29999), 1.0)


def test_keys_of_the_terminal_are_for_the_driver_alone(lasting):
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        os.kill(lasting.pid, number)
        assert lasting.state()["cycle"] >= 0


@pytest.mark.slow
def test_it_ends_with_the_process_that_started_it(tmp_path):
    host = new_host()
    script = """
        import os, signal, sys
        from pliant.envs.emulators.ur.process import EmulatedController

        if __name__ == "__main__":
            EmulatedController(host=sys.argv[1]).start()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    assert subprocess.run([sys.executable, str(path), host], timeout=900).returncode == -signal.SIGKILL

    def gone():
        try:
            socket.create_connection((host, 30004), 1.0).close()
        except OSError:
            return True
        return False

    assert wait_for(gone)


@pytest.mark.slow
def test_settings_go_to_another_process_and_back():
    import pickle

    settings = ControllerSettings(polyscope="5.26", gap=Gap(payload=0.5), remote_control=False)
    assert pickle.loads(pickle.dumps(settings)) == settings
