import pytest

from pliant.errors import ConfigurationError, RobotError
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.packets import LARGEST_ID
from pliant.hardware.dynamixel.service import (
    Found,
    enable_answers,
    explain_missing,
    scan,
    set_baud_rate,
    set_id,
)
from pliant.hardware.dynamixel.tables import AX_12A, XM430_W350

pytest.importorskip("dynamixel_sdk")
pytestmark = pytest.mark.real_time


@pytest.fixture
def far(servo_bus):
    return servo_bus(XM430_W350, 1, 2)


@pytest.fixture
def bus(far):
    with Bus(far.port, slack=0.1) as bus:
        yield bus


@pytest.fixture
def few_ids(monkeypatch):
    """Whoever answers late on a busy machine is waited for, and so are ids that nobody has."""
    monkeypatch.setitem(LARGEST_ID, 2, 3)


def test_a_scan_finds_servos_at_several_rates_and_leaves_the_bus_at_its_own(far, bus):
    far[2].rate = 57600
    found = list(scan(bus, range(4), (1_000_000, 57_600)))
    assert found == [Found(1, "XM430-W350", 1_000_000), Found(2, "XM430-W350", 57_600)]
    assert bus.baud_rate == 1_000_000
    assert bus.ping(1, tries=3)


def test_a_scan_names_a_model_that_nobody_knows(far, bus):
    far[1].memory[0:2] = (777).to_bytes(2, "little")
    assert list(scan(bus, [1])) == [Found(1, "model 777", 1_000_000)]


def test_a_scan_stopped_half_way_leaves_the_bus_at_its_own_rate(far, bus):
    far[2].rate = 57600
    for _ in scan(bus, range(4), (57_600, 1_000_000)):
        break
    assert bus.baud_rate == 1_000_000


def test_a_rate_that_the_adapter_cannot_do_is_left_out(far, bus, monkeypatch, caplog):
    serial = pytest.importorskip("serial")
    far[2].rate = 57600

    def setter(self, rate):
        if rate == 3_000_000:
            raise ValueError("Failed to set custom baud rate (3000000)")
        serial.SerialBase.baudrate.fset(self, rate)

    monkeypatch.setattr(serial.Serial, "baudrate", property(serial.SerialBase.baudrate.fget, setter))
    found = list(scan(bus, [1, 2], (3_000_000, 57_600)))
    assert found == [Found(2, "XM430-W350", 57_600)]
    assert "cannot do 3000000 bit/s" in caplog.text
    assert bus.baud_rate == 1_000_000


def test_a_servo_left_at_another_rate_is_named_with_the_cure(far, bus, few_ids):
    far[2].rate = 57600
    message = explain_missing(bus, [2])
    assert "servo 2 on" in message
    assert "Servo 2 (XM430-W350) answers at 57600 bit/s: pliant bus set-baud" in message
    assert "At 1000000 bit/s answer: 1 (XM430-W350)" in message


def test_a_dead_bus_hints_at_power_and_protocol(far, bus, few_ids):
    far[1].dead = far[2].dead = True
    message = explain_missing(bus, [1])
    assert "answer: none." in message
    assert "power" in message
    assert "protocol 2.0" in message


def test_an_id_is_changed_and_checked(far, bus):
    set_id(bus, 2, 7)
    assert [s["id"] for s in far.servos] == [1, 7]
    assert bus.read(7, "id") == 7


def test_an_id_that_is_taken_or_does_not_exist_is_refused(far, bus):
    with pytest.raises(RobotError, match="id 1 is already on"):
        set_id(bus, 2, 1)
    with pytest.raises(ConfigurationError, match=r"0 … 252"):
        set_id(bus, 2, 253)
    assert [s["id"] for s in far.servos] == [1, 2]


def test_eeprom_jobs_want_the_torque_off(far, bus):
    far[2]["torque_enable"] = 1
    with pytest.raises(RobotError, match="register=torque_enable value=0"):
        set_id(bus, 2, 7)
    with pytest.raises(RobotError, match="holds torque"):
        set_baud_rate(bus, 2, 57600)


def test_a_rate_is_changed_and_checked_and_the_bus_stays_at_its_own(far, bus):
    set_baud_rate(bus, 2, 57600)
    assert far[2].rate == 57600
    assert bus.baud_rate == 1_000_000
    assert bus.ping(1, tries=3)
    with pytest.raises(ConfigurationError, match="no 12345 bit/s; valid: 9600"):
        set_baud_rate(bus, 1, 12345)


def test_a_servo_that_answers_only_pings_is_made_to_answer(far, bus):
    far[1]["status_return_level"] = 0
    assert bus.ping(1, tries=3)
    with pytest.raises(RobotError):
        bus.read(1, "id")
    enable_answers(bus, 1, "XM430-W350")
    assert bus.read(1, "id") == 1


def test_protocol_1_servos_get_ids_and_rates_too(servo_bus):
    far = servo_bus(AX_12A, 1)
    with Bus(far.port, protocol=1, slack=0.1) as bus:
        set_id(bus, 1, 5)
        assert list(scan(bus, range(8))) == [Found(5, "AX-12A", 1_000_000)]
        set_baud_rate(bus, 5, 57600)
        assert far[5]["baud_rate"] == 34
