"""The memory and sockets between this program and the client's process."""

import os
import signal
import subprocess
import sys

import numpy as np

from pliant.hardware.ur.seam import COMMAND, STATE, Seam, ends, places, wake, woken

WRITER = """
import sys, numpy as np
from pliant.hardware.ur.seam import STATE, Seam
seam, numbers = Seam(int(sys.argv[1])), np.zeros(sum(STATE.values()))
print("ready", flush=True)
while True:
    numbers += 1
    seam.state.write(numbers)
"""


def writer(seam):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(seam.descriptor)],
        pass_fds=[seam.descriptor],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_reader_never_sees_a_mixture_of_old_and_new():
    seam = Seam()
    process = writer(seam)
    try:
        seen = set()
        while len(seen) < 2000:
            numbers = seam.state.read()
            assert (numbers == numbers[0]).all()
            seen.add(numbers[0])
    finally:
        process.kill()
        process.wait()
        seam.close()


def test_a_writer_that_is_killed_leaves_what_it_wrote_last():
    seam = Seam()
    for _ in range(5):
        process = writer(seam)
        while seam.state.count < 1000:
            pass
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        numbers = seam.state.read()
        assert (numbers == numbers[0]).all()
    seam.close()


def test_parts_lie_one_after_the_other_without_gaps():
    for layout in (COMMAND, STATE):
        parts = places(layout)
        ends_ = [0, *(part.stop for part in parts.values())]
        assert [part.start for part in parts.values()] == ends_[:-1]
        assert [part.stop - part.start for part in parts.values()] == list(layout.values())


def test_blocks_do_not_overlap():
    seam = Seam()
    seam.command.write(np.full(sum(COMMAND.values()), 1.0))
    seam.state.write(np.full(sum(STATE.values()), 2.0))
    seam.answer.write(np.full(4, 3.0))
    seam.ask()
    assert (seam.command.read() == 1.0).all()
    assert (seam.state.read() == 2.0).all()
    assert (seam.answer.read() == 3.0).all()
    assert seam.asked > 0
    seam.close()


def test_a_wake_up_never_blocks_and_the_end_of_the_other_side_is_seen():
    ours, theirs = ends()
    for _ in range(100_000):  # far more than the socket holds
        wake(ours.wake)
    assert woken(theirs.wake)
    assert woken(ours.wake), "nothing has come, and the other side is there"
    for one in theirs:
        one.close()
    assert not woken(ours.wake)
    for one in ours:
        one.close()
