"""The emulated box without sockets, against the layout of the manual."""

import struct

import numpy as np
import pytest

from pliant.envs.emulators.net_ft.box import Box, BoxEmulation
from pliant.envs.emulators.net_ft.emulator import EmulatedNetFT, Wire
from pliant.errors import ConfigurationError, OutOfBoundsError, OutputError, ShapeError

QUIET = {"noise": (0.0, 0.0), "rate": 100.0}
START, STOP, BIAS = (
    bytes.fromhex(f"1234{command}") for command in ("000200000000", "000000000000", "004200000000")
)


def unpacked(record):
    assert len(record) == 36
    return struct.unpack(">IIIiiiiii", record)


def test_it_sends_what_it_is_asked_for_and_no_more():
    box = Box(BoxEmulation(**QUIET))
    box.push([1, 2, 3, 0.1, 0.2, 0.3])
    assert box.record() == b""
    assert not box.request(bytes.fromhex("4321000200000000"))
    assert not box.request(b"too short")
    assert box.request(START)
    assert unpacked(box.record()) == (1, 2, 0, -1_000_000, -2_000_000, -3_000_000, -100_000, -200_000, -300_000)
    assert unpacked(box.record())[:2] == (2, 3)
    box.request(STOP)
    assert box.record() == b""
    box.request(bytes.fromhex("1234000200000002"))  # two records
    assert [len(box.record()) for _ in range(3)] == [36, 36, 0]


def test_its_zero_is_lost_with_its_power():
    box = Box(BoxEmulation(**QUIET, bias=[5, 0, 0, 0, 0, 0]))
    box.request(START)
    assert unpacked(box.record())[3] == 5_000_000
    box.request(BIAS)
    box.request(START)
    assert unpacked(box.record())[3] == 0
    box.restart()
    assert box.record() == b""
    box.request(START)
    assert unpacked(box.record())[:4] == (1, 2, 0, 5_000_000)


def test_it_saturates_at_its_range_and_says_so():
    box = Box(BoxEmulation(**QUIET))
    box.push([0, 0, 1000.0, 0, 0, 0])
    box.request(START)
    _, _, status, *counts = unpacked(box.record())
    assert status == 0xC0000000
    assert counts[2] == -400_000_000


def test_noise_and_drift_are_those_of_the_settings():
    box = Box(BoxEmulation(rate=100.0, noise=(0.5, 0.02), drift=[2.0, 0, 0, 0, 0, 0]))
    box.request(START)
    rows = np.array([unpacked(box.record())[3:] for _ in range(4000)]) / 1e6
    assert rows[:, 1:].std(axis=0) == pytest.approx([0.5, 0.5, 0.02, 0.02, 0.02], rel=0.06)
    assert np.polyfit(np.arange(4000) / 100, rows[:, 0], 1)[0] == pytest.approx(2.0, abs=0.01)


def test_what_cannot_be_is_refused():
    for given, error in (
        ({"rate": 0.0}, OutOfBoundsError),
        ({"counts": [1e6]}, ShapeError),
        ({"range": [1e6] * 6}, ConfigurationError),
        ({"seed": -1}, OutOfBoundsError),
    ):
        with pytest.raises(error):
            BoxEmulation(**given)
    with pytest.raises(OutOfBoundsError, match="lost"):
        Wire(lost=1.5)
    box = Box(BoxEmulation())
    with pytest.raises(ShapeError, match=r"\(6,\)"):
        box.push([1.0, 2.0])
    with pytest.raises(OutOfBoundsError, match="finite"):
        box.push([np.nan] * 6)
    with pytest.raises(ConfigurationError, match="loopback"):
        EmulatedNetFT(host="192.168.1.1")
    with EmulatedNetFT() as one, pytest.raises(OutputError, match="cannot serve"):
        EmulatedNetFT(port=one.port)
