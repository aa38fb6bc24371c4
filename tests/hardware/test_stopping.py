import os
import pty
import select
import signal
import sys
import threading

import pytest

from pliant.hardware.stopping import SIGNALS, Interrupts, StopKey


def test_outside_a_deferred_block_a_signal_raises_at_once():
    with Interrupts(), pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_inside_it_waits_for_the_end_of_the_outermost_block():
    reached = []

    def run(interrupts):
        with interrupts.deferred():
            with interrupts.deferred():
                os.kill(os.getpid(), signal.SIGTERM)
            reached.append(interrupts.pending)

    with Interrupts() as interrupts, pytest.raises(SystemExit) as caught:
        run(interrupts)
    assert reached == [signal.SIGTERM]
    assert caught.value.code == 143


def test_once_one_has_been_raised_the_next_wait_for_a_block():
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.pending == signal.SIGINT
        assert interrupts.count == 2


def test_handlers_are_put_back():
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGHUP, 129), (signal.SIGQUIT, 131), (signal.SIGTERM, 143)]
)
def test_signals_end_with_the_status_that_a_shell_shows(number, status):
    with Interrupts(), pytest.raises(SystemExit) as caught:
        os.kill(os.getpid(), number)
    assert caught.value.code == status


def test_a_hangup_that_the_program_was_started_to_ignore_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts:
            os.kill(os.getpid(), signal.SIGHUP)
            assert interrupts.count == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_without_a_block_only_what_nobody_takes_is_taken():
    before = {number: signal.getsignal(number) for number in SIGNALS}
    interrupts = Interrupts()
    interrupts.install()
    try:
        assert signal.getsignal(signal.SIGINT) is before[signal.SIGINT]
        with pytest.raises(SystemExit):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        interrupts.uninstall()
    assert {number: signal.getsignal(number) for number in SIGNALS} == before


def test_in_another_thread_nothing_is_touched():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def run():
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]


def test_without_a_terminal_there_is_no_key(monkeypatch):
    read, write = os.pipe()
    with os.fdopen(read) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        os.write(write, b"q")
        with StopKey() as key:
            assert not key()
    os.close(write)


def test_a_key_is_seen_without_enter_and_the_terminal_is_put_back(monkeypatch):
    import termios

    master, slave = pty.openpty()
    with os.fdopen(slave) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        before = termios.tcgetattr(slave)
        with StopKey() as key:
            assert not key()
            for pressed, stops in ((b"x", False), (b" ", True)):
                os.write(master, pressed)
                assert select.select([slave], [], [], 60.0)[0], "it has come"
                assert key() == stops
            assert not key()
        assert termios.tcgetattr(slave)[3] == before[3]
    os.close(master)


def test_a_terminal_that_is_gone_has_no_key_and_breaks_nothing(monkeypatch, caplog):
    master, slave = pty.openpty()
    with os.fdopen(slave) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with StopKey() as key:
            assert not key()
            os.close(master)
            assert not key()
            assert not key()
    assert "the terminal is gone" in caplog.text


HUNG_UP = """
import os, signal, sys, time
from pliant.hardware.stopping import Interrupts
try:
    with Interrupts():
        print("ready", flush=True)
        time.sleep(30)
finally:
    print("a line for nobody", flush=True)
    open(sys.argv[1], "w").write("ended in order")
"""


def test_a_closed_terminal_ends_the_program_in_order_and_what_it_prints_goes_nowhere(tmp_path):
    pid, master = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", HUNG_UP, str(tmp_path / "out")])
    assert b"ready" in os.read(master, 100)
    os.close(master)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 129
    assert (tmp_path / "out").read_text() == "ended in order"
