"""Faults of the wire: as often as asked, and the same again with the same seed."""

import pytest

from pliant.envs.emulators.dynamixel.faults import Faults, Wire
from pliant.errors import OutOfBoundsError, UnknownNameError

PACKET = bytes(range(100))


def carried(faults: Faults, packets: int = 200) -> list[tuple[bytes, float]]:
    wire = Wire(faults)
    return [wire.carry(PACKET) for _ in range(packets)]


def test_good_wire_carries_everything_in_time():
    assert set(carried(Faults())) == {(PACKET, 0.0)}


def test_dropped_bytes_are_as_many_as_asked():
    lost = sum(100 - len(data) for data, _ in carried(Faults(drop=0.1)))
    assert 0.08 < lost / 20_000 < 0.12


def test_corrupted_bytes_differ_in_one_bit():
    wrong = [
        (a, b) for data, _ in carried(Faults(corrupt=0.1)) for a, b in zip(data, PACKET, strict=True) if a != b
    ]
    assert 0.08 < len(wrong) / 20_000 < 0.12
    assert all((a ^ b).bit_count() == 1 for a, b in wrong)


def test_duplicated_bytes_follow_their_twins():
    data = carried(Faults(duplicate=0.1))[0][0]
    assert 100 < len(data) < 130
    assert list(dict.fromkeys(data)) == list(PACKET)


def test_late_packets_are_late_by_the_lateness():
    lateness = [late for _, late in carried(Faults(late=0.25, lateness=0.03))]
    assert set(lateness) == {0.0, 0.03}
    assert 30 < sum(late > 0 for late in lateness) < 70


def test_loose_cable_cuts_every_nth_packet():
    whole = [data == PACKET for data, _ in carried(Faults(cut_every=4))]
    assert whole == [True, True, True, False] * 50
    assert all(PACKET.startswith(data) for data, _ in carried(Faults(cut_every=4)))


def test_seed_decides_everything():
    faults = Faults(drop=0.1, corrupt=0.1, duplicate=0.1, late=0.5, cut_every=3, seed=7)
    assert carried(faults) == carried(faults)
    assert carried(faults) != carried(Faults(drop=0.1, corrupt=0.1, duplicate=0.1, late=0.5, cut_every=3))


@pytest.mark.parametrize("settings", [{"drop": 1.5}, {"corrupt": float("nan")}, {"lateness": -1.0}])
def test_impossible_faults_are_refused(settings):
    with pytest.raises(OutOfBoundsError, match=next(iter(settings))):
        Faults.of(settings)


def test_unknown_faults_are_refused_with_the_choices():
    with pytest.raises(UnknownNameError, match="duplicate"):
        Faults.of({"duplicated": 0.1})
