"""The client's process and its supervisor, with a stand-in for ur-rtde."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pliant.errors import RobotError
from pliant.hardware.ur.seam import BEYOND, FAILED, NOT_FINITE, OLD, TAKEN
from pliant.hardware.ur.supervisor import ClientLostError, Supervisor, verdict_text

ZERO = np.zeros(6)


@pytest.fixture
def running(supervisor):
    supervisor.start()
    supervisor.call("upload")
    supervisor.moving = True
    return supervisor


def verdict(supervisor, until, start, target, steps=1):
    number = supervisor.command(np.array(start), np.array(target), steps)
    until(lambda: supervisor.answer()[0] == number)
    return supervisor.answer()[1]


def test_a_command_is_passed_on_and_answered(running, fake, until):
    assert verdict(running, until, ZERO, ZERO + 0.005) == TAKEN
    ((_, q, _, _, cycle, lookahead, gain),) = fake.calls("servoJ")
    assert (q, cycle, lookahead, gain) == ([0.005] * 6, 0.002, 0.05, 300.0)


def test_a_period_of_several_cycles_is_interpolated_and_then_nothing_more_is_sent(running, fake, until):
    assert verdict(running, until, ZERO, ZERO + 0.05, 10) == TAKEN
    until(lambda: fake.calls("servoJ")[-1][1] == [0.05] * 6)
    sent = [q[0] for _, q, *_ in fake.calls("servoJ")]
    steps = np.array(sent) / 0.005
    assert np.allclose(steps, np.round(steps)), (
        "every setpoint is one of the ten; those that are late are left out"
    )
    assert (np.diff(sent) > 0).all()
    count = len(sent)
    time.sleep(0.2)
    assert len(fake.calls("servoJ")) == count, "a silent program is not made up for"


@pytest.mark.parametrize(
    ("start", "target", "steps", "expected"),
    [
        ([0.0] * 6, [np.nan] + [0.0] * 5, 1, NOT_FINITE),
        ([0.0] * 6, [0.0, np.inf] + [0.0] * 4, 1, NOT_FINITE),
        ([0.0] * 6, [0.02] + [0.0] * 5, 1, BEYOND),
        ([1.999] * 6, [2.001] * 6, 1, BEYOND),
        ([1.0] * 6, [1.0] * 6, 1, BEYOND),
        ([0.0] * 6, [0.0] * 6, 0, BEYOND),
        ([0.0] * 6, [0.0] * 6, 10**6, BEYOND),
    ],
    ids=["nan", "infinite", "too fast", "out of range", "a jump", "no cycle", "for ever"],
)
def test_what_must_not_reach_the_wire_is_refused_by_the_client_itself(
    running, fake, until, start, target, steps, expected
):
    assert verdict(running, until, start, target, steps) == expected
    assert not fake.calls("servoJ")


def test_a_command_that_comes_too_late_is_dropped(running, fake, until, monkeypatch):
    now = time.monotonic
    monkeypatch.setattr("pliant.hardware.ur.supervisor.time.monotonic", lambda: now() - 1.0)
    number = running.command(ZERO, ZERO, 1)
    monkeypatch.undo()
    until(lambda: running.answer()[0] == number)
    assert running.answer()[1] == OLD
    assert "too late" in verdict_text(OLD)


def test_without_an_uploaded_program_nothing_is_commanded(supervisor, until):
    supervisor.start()
    assert verdict(supervisor, until, ZERO, ZERO) == FAILED


def test_a_call_of_the_client_that_fails_is_told(running, fake, until):
    fake.mood("fail")
    assert verdict(running, until, ZERO, ZERO) == FAILED


def test_the_controller_is_read(supervisor):
    supervisor.start()
    before = supervisor.time()
    assert supervisor.wait_until(before + 0.01) >= before + 0.01
    assert supervisor.state()["robot_mode"][0] == 7


def test_a_controller_whose_time_stands_still_is_given_up(running, fake, until):
    fake.mood("frozen")
    until(lambda: running.loss)
    assert "ms old" in running.loss
    assert fake.stopped == ["127.0.0.9"]
    with pytest.raises(ClientLostError, match="ms old"):
        running.state()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_client_that_dies_is_noticed_and_the_arm_stopped(running, fake, until, number):
    os.kill(running.pid, number)
    until(lambda: fake.stopped)
    assert number.name in running.loss or "died" in running.loss
    assert not running.alive
    with pytest.raises(ClientLostError):
        running.command(ZERO, ZERO, 1)


def test_a_client_whose_connection_is_closed_ends_before_it_uploads_again_by_itself(running, fake, until):
    fake.mood("severed")
    until(lambda: fake.stopped)
    assert "closed the connection" in running.loss or "died" in running.loss


def test_a_client_that_is_brought_down_by_its_library_is_noticed(running, fake, until):
    fake.mood("crash")
    running.command(ZERO, ZERO, 1)
    until(lambda: fake.stopped)


def test_a_client_that_stands_still_is_noticed(running, fake, until):
    os.kill(running.pid, signal.SIGSTOP)
    until(lambda: fake.stopped)
    assert "ms old" in running.loss


def test_a_call_that_never_returns_is_given_up(running, fake):
    fake.mood("hang")
    with pytest.raises(ClientLostError, match="did not answer to 'arm'"):
        running.call("arm", 0.5, frequency=10)
    assert fake.stopped


def test_a_client_that_is_lost_before_it_had_the_arm_stops_nothing(supervisor, fake, until):
    supervisor.start()
    os.kill(supervisor.pid, signal.SIGKILL)
    until(lambda: supervisor.loss)
    assert not fake.stopped


def test_a_controller_that_refuses_the_client_is_told(supervisor, fake):
    fake.mood("refuse")
    with pytest.raises(RobotError, match="check your controller version"):
        supervisor.start()
    assert not supervisor.alive


def test_after_a_loss_it_starts_anew(running, fake, until):
    os.kill(running.pid, signal.SIGKILL)
    until(lambda: running.loss)
    running.start()
    running.call("upload")
    assert verdict(running, until, ZERO, ZERO) == TAKEN


def test_the_thread_that_starts_the_client_may_end_before_it(supervisor):
    thread = threading.Thread(target=supervisor.start)
    thread.start()
    thread.join()
    time.sleep(0.3)
    assert supervisor.state()["robot_mode"][0] == 7


def test_the_client_dies_with_the_program_that_started_it(fake, until):
    code = textwrap.dedent("""
        import sys, time
        sys.path.insert(0, sys.argv[1])
        from conftest import SETTINGS
        from pliant.hardware.ur.supervisor import Supervisor
        one = Supervisor(SETTINGS, 0.5, 10.0)
        one.start()
        print(one.pid, flush=True)
        time.sleep(600)
    """)
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
    )
    client = int(parent.stdout.readline())
    assert Path(f"/proc/{client}").exists()
    parent.kill()
    parent.wait()
    until(lambda: not Path(f"/proc/{client}").exists() or "Z" in Path(f"/proc/{client}/stat").read_text())


def test_an_idle_client_leaves_the_processor_alone(supervisor, fake):
    supervisor.start()
    time.sleep(0.7)  # nobody asks any more
    stat = Path(f"/proc/{supervisor.pid}/stat")

    def used():
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = used()
    time.sleep(2.0)
    assert used() - before < 0.2


def test_nothing_is_left_behind(supervisor):
    def descriptors():
        return len(list(Path("/proc/self/fd").iterdir()))

    supervisor.start()
    supervisor.end()
    before = descriptors()
    for _ in range(3):
        supervisor.start()
        supervisor.end()
    assert descriptors() == before
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ur ")]


def test_a_client_that_never_began_says_so():
    with pytest.raises(ClientLostError, match="call connect"):
        Supervisor({"host": "127.0.0.9"}, 0.5, 10.0).state()
