import os
import pty
import signal
import sys
import threading
import time

import pytest

from pliant.hardware.stopping import Interrupts, StopKey


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
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


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
            os.write(master, b"x")
            time.sleep(0.02)
            assert not key(), "not this one"
            os.write(master, b" ")
            time.sleep(0.02)
            assert key()
            assert not key()
        assert termios.tcgetattr(slave)[3] == before[3]
    os.close(master)
