"""The driver of a Net F/T box over real sockets, and everything that can go wrong on the way."""

import math
import socket
import struct
import threading
import time

import numpy as np
import pytest

from pliant.envs.emulators.net_ft.box import BoxEmulation
from pliant.errors import ConfigurationError, OutOfBoundsError, RobotError
from pliant.hardware.force_torque.net_ft import NetFT, status_text
from pliant.hardware.force_torque.net_ft_page import box_settings

WRENCH = [1.5, -2.25, 30.0, 0.125, -0.5, 1.0]


def page(**changes):
    entries = {
        **{"cfgcpf": "1000000", "cfgcpt": "1000000", "scfgfu": "N", "scfgtu": "N-m"},
        **{"cfgmr": "100;100;200;5;5;5", "comrdte": "Enabled", "comrdtrate": "7000"},
        **changes,
    }
    return f"<netft>{''.join(f'<{k}>{v}</{k}>' for k, v in entries.items() if v is not None)}</netft>".encode()


def test_readings_arrive_in_units_raw_and_new(box, sensor, until):
    emulated = box()
    emulated.push(WRENCH)
    driver = sensor(emulated)
    until(lambda: np.abs(driver.newest().wrench - WRENCH).max() < 1e-6)
    first = driver.newest()
    assert first.fault == ""
    assert abs(time.monotonic() - first.time) < 30.0
    until(lambda: driver.newest().time > first.time)
    assert driver.rate == 500
    assert driver.range == pytest.approx([200, 200, 400, 20, 20, 20])
    assert driver.axes[5] == "torque_z"


def test_it_speaks_to_the_box_as_the_manual_says():
    """Bytes on the socket, against the manual's layout written out here."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as http:
        udp.bind(("127.0.0.1", 0))
        http.bind(("127.0.0.1", 0))
        http.listen()
        udp.settimeout(30)

        def serve_page():
            client, _ = http.accept()
            assert client.recv(4096).startswith(b"GET /netftapi2.xml HTTP/1.1\r\n")
            client.sendall(
                b"HTTP/1.0 200 OK\r\n\r\n" + page(cfgcpf="1000", cfgcpt="10", scfgfu="lbf", scfgtu="N-mm")
            )
            client.close()

        asked = []

        def answer():
            data, client = udp.recvfrom(100)
            asked.append(data)
            udp.sendto(
                bytes.fromhex("00000001 0000002a 00000000") + struct.pack(">6i", 1000, 0, -500, 20, 0, 7), client
            )
            while data != bytes.fromhex("1234 0000 00000000"):
                data, _ = udp.recvfrom(100)
                asked.append(data)

        threads = [threading.Thread(target=target) for target in (serve_page, answer)]
        for thread in threads:
            thread.start()
        driver = NetFT("127.0.0.1", port=udp.getsockname()[1], page_port=http.getsockname()[1], stale=30.0)
        with driver:
            reading = driver.newest()
            driver.zero()
        for thread in threads:
            thread.join()
    # the box tells the load, the arm holds against it; 1 lbf = 4.4482216152605 N
    assert reading.wrench == pytest.approx([-4.4482216152605, 0, 2.22411080763, -0.002, 0, -0.0007])
    assert asked[0] == bytes.fromhex("1234 0002 00000000")
    assert bytes.fromhex("1234 0042 00000000") in asked
    assert asked[-1] == bytes.fromhex("1234 0000 00000000")


def test_lost_late_and_repeated_records_are_counted_and_survived(box, sensor, until):
    emulated = box()
    driver = sensor(emulated)
    emulated.wire(lost=0.2, swapped=0.2)
    until(lambda: driver.diagnostics()["records"] > 300)
    emulated.wire()
    told = driver.diagnostics()
    assert driver.newest().fault == ""
    assert told["lost"] > 20
    assert told["late"] > 10
    seen = told["records"] + told["late"] + told["lost"]
    assert 0.1 < told["lost"] / seen < 0.6


def test_the_newest_never_goes_back(box, sensor):
    """Swapped records: what is read is the ramp, and it only rises."""
    count = [0]

    def ramp(t):
        count[0] += 1
        return [0, 0, 0.001 * count[0], 0, 0, 0]

    emulated = box(source=ramp)
    driver = sensor(emulated)
    emulated.wire(swapped=0.3)
    seen, end = [], time.monotonic() + 20
    while len(seen) < 200:
        assert time.monotonic() < end
        value = driver.newest().wrench[2]
        if not seen or value != seen[-1]:
            seen.append(value)
    assert (np.diff(seen) > 0).all()


def test_an_unplugged_box_is_silent_and_comes_back_by_itself(box, sensor, until):
    emulated = box()
    driver = sensor(emulated, stale=0.3)
    emulated.unplug()
    until(lambda: driver.newest().fault.startswith("silent: no record for"))
    until(lambda: driver.diagnostics()["requests"] > 3)  # asked again and again
    emulated.plug_in()
    until(lambda: driver.newest().fault == "")


def test_a_box_that_was_reset_stays_a_fault_until_connected_anew(box, sensor, until):
    emulated = box()
    emulated.box._sample = 1_000_000  # on for minutes: however late it is asked again, it has counted less since
    driver = sensor(emulated)
    until(lambda: driver.diagnostics()["records"] > 50)
    emulated.restart()
    until(lambda: driver.newest().fault.startswith("reset"))
    until(lambda: driver.diagnostics()["records"] > 200)
    assert "count from" in driver.newest().fault
    driver.connect()
    assert driver.newest().fault == ""


def test_a_box_without_new_samples_stands_still(box, sensor, until):
    emulated = box()
    driver = sensor(emulated, stale=0.3)
    emulated.freeze()
    until(lambda: driver.newest().fault.startswith("standing still"))
    emulated.freeze(False)
    until(lambda: driver.newest().fault == "")


def test_a_range_that_was_left_is_named(box, sensor, until):
    emulated = box()
    driver = sensor(emulated)
    emulated.push([0, 0, 500.0, 0, 0, 0])
    until(lambda: driver.newest().fault)
    assert driver.newest().fault == "status 0xc0000000: force or torque out of range"
    assert driver.newest().wrench[2] == pytest.approx(400.0)
    emulated.push(np.zeros(6))
    until(lambda: driver.newest().fault == "")


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, ""),
        (1 << 16, ""),
        (1 << 3, ""),
        (0x80000001, "temperature"),
        (0x80000004, "broken gauge"),
        (0x80020000, "see the box's manual"),
    ],
)
def test_bits_of_the_status_are_named(status, text):
    assert text in status_text(status)
    assert bool(status_text(status)) == bool(text)


def test_the_zero_of_the_box_is_its_own(box, sensor, until):
    emulated = box()
    emulated.push(WRENCH)
    driver = sensor(emulated)
    until(lambda: np.abs(driver.newest().wrench - WRENCH).max() < 1e-6)
    driver.zero()
    until(lambda: np.abs(driver.newest().wrench).max() < 1e-6)
    assert driver.newest().fault == ""
    until(lambda: driver.diagnostics()["records"] > 100)
    assert driver.diagnostics()["late"] < 20  # the stream that began anew is not taken for an old one


def test_another_client_takes_the_stream_and_it_is_taken_back(box, sensor, until):
    emulated = box()
    driver = sensor(emulated)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.sendto(bytes.fromhex("1234 0002 00000000"), (emulated.host, emulated.port))
        other.settimeout(30)
        assert len(other.recv(100)) == 36
    before = driver.diagnostics()["records"]
    until(lambda: driver.diagnostics()["records"] > before + 50)
    assert driver.newest().fault == ""


def test_damaged_records_are_counted(box, sensor, until):
    emulated = box()
    driver = sensor(emulated)
    address = driver._socket.getsockname()
    emulated._udp.sendto(b"\x00" * 35, address)
    until(lambda: driver.diagnostics()["damaged"] == 1)
    assert driver.newest().fault == ""


def test_connecting_says_what_is_missing(box, sensor, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = NetFT("127.0.0.1", page_port=closed.getsockname()[1])
        with pytest.raises(RobotError, match=r"no Net F/T answers at 127\.0\.0\.1"):
            nobody.connect()
    monkeypatch.setattr("pliant.hardware.force_torque.net_ft._PATIENCE", 0.3)
    emulated = box()
    mute = NetFT(emulated.host, port=1, page_port=emulated.page_port)
    with pytest.raises(RobotError, match="sends no records"):
        mute.connect()
    assert mute.newest().fault == "no reading yet"
    emulated.page(cfgcpf="0")
    with pytest.raises(RobotError, match="cfgcpf, the counts of a unit, are '0'"):
        sensor(emulated)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cfgcpf": "0"}, "'0'; a number above 0"),
        ({"cfgcpt": "-5"}, "cfgcpt"),
        ({"cfgcpf": "many"}, "cfgcpf"),
        ({"cfgcpt": None}, "cfgcpt, the counts of a unit, are None"),
        ({"cfgcpf": "nan"}, "cfgcpf"),
        ({"scfgfu": "stone"}, "unit scfgfu is 'stone'; known are n, kn"),
        ({"scfgtu": None}, "unit scfgtu is None"),
        ({"cfgcpf": "1000000000"}, "its own range, 100;100;200;5;5;5, would not fit"),
        ({"comrdte": "Disabled"}, "switched off"),
    ],
)
def test_a_page_that_says_what_cannot_be_is_refused(changes, words):
    with pytest.raises(RobotError, match=words):
        box_settings(page(**changes), "box")
    with pytest.raises(RobotError, match="is no XML"):
        box_settings(b"<html><p>", "box")


@pytest.mark.parametrize(
    ("force", "torque", "newton", "newton_metre"),
    [
        ("N", "N-m", 1.0, 1.0),
        ("N", "Nm", 1.0, 1.0),
        ("kN", "N-mm", 1000.0, 0.001),
        ("lbf", "lbf-in", 0.45359237 * 9.80665, 0.45359237 * 9.80665 * 0.0254),
        ("klbf", "lbf-ft", 453.59237 * 9.80665, 0.45359237 * 9.80665 * 0.3048),
        ("kg", "kg-cm", 9.80665, 0.0980665),
        ("g", "kN-m", 0.00980665, 1000.0),
    ],
)
def test_units_are_converted(force, torque, newton, newton_metre):
    found = box_settings(page(scfgfu=force, scfgtu=torque, cfgcpf="1000", cfgcpt="500"), "box")
    assert found.scale[:3] == pytest.approx([newton / 1000] * 3, rel=1e-12)
    assert found.scale[3:] == pytest.approx([newton_metre / 500] * 3, rel=1e-12)
    assert found.range[2] == pytest.approx(200 * newton, rel=1e-12)
    assert found.rate == 7000
    assert box_settings(page(cfgmr=None, comrdtrate=None), "box")[1:] == (None, None)


def test_counts_go_on_across_the_end_of_32_bits():
    driver = NetFT("127.0.0.1")
    driver._box = box_settings(page(), "box")
    row = struct.Struct(">IIIiiiiii")
    for k in range(-5, 5):
        driver._take(row.pack(k % 2**32, (k + 3) % 2**32, 0, 10**6 * k, 0, 0, 0, 0, 0))
    assert driver.newest().wrench[0] == pytest.approx(-4.0)
    assert driver.newest().fault == ""
    told = driver.diagnostics()
    assert (told["records"], told["lost"], told["late"]) == (10, 0, 0)


def test_records_of_the_stream_before_are_late_and_no_reset():
    driver = NetFT("127.0.0.1")
    driver._box = box_settings(page(), "box")

    def take(rdt, sample):
        driver._take(struct.pack(">IIIiiiiii", rdt, sample, 0, sample, 0, 0, 0, 0, 0))
        return round(-1e6 * driver.newest().wrench[0])

    for k in range(1, 300):
        take(k, 40 + k)
    driver._restarted = True  # the stream was asked for again
    assert take(1, 341) == 341
    assert take(300, 340) == 341
    assert take(2, 342) == 342
    assert driver.newest().fault == ""
    assert driver.diagnostics()["late"] == 1
    driver._restarted = True
    take(1, 12)
    assert driver.newest().fault.startswith("reset: its samples count from 12 again, after 342")


def test_settings_that_cannot_be_are_refused():
    for given, error, words in (
        ({"host": ""}, ConfigurationError, "192.168.1.1"),
        ({"host": "a b"}, ConfigurationError, "a b"),
        ({"host": "a", "port": 0}, OutOfBoundsError, "port"),
        ({"host": "a", "stale": math.nan}, OutOfBoundsError, "stale"),
    ):
        with pytest.raises(error, match=words):
            NetFT(**given)
    with pytest.raises(RobotError, match="not connected"):
        NetFT("a").zero()
    with pytest.raises(ConfigurationError, match="32 bits"):
        BoxEmulation(counts=(1e9, 1e6))
