import itertools
import math

import pytest

from pliant.errors import OutOfBoundsError, UnknownNameError
from pliant.hardware.dynamixel.registers import Register
from pliant.hardware.dynamixel.tables import AX_12A, MODELS, XL330_M288, XM430_W350, model_by_number, servo_model


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_a_table_has_no_overlapping_registers_and_names_are_unique(model):
    ends = [(r.address, r.address + r.size) for r in sorted(model.table, key=lambda r: r.address)]
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))
    assert len({r.name for r in model.table}) == len(model.table)


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_feedback_registers_lie_side_by_side(model):
    registers = sorted((model.register(name) for name in model.feedback), key=lambda r: r.address)
    assert all(a.address + a.size == b.address for a, b in itertools.pairwise(registers))


def test_a_negative_current_is_not_65527():
    register = XM430_W350.register("present_current")
    assert register.decode(b"\xf7\xff") == -9
    assert register.decode(b"\xf7\xff") * register.scale == pytest.approx(-0.02421)


def test_minus_100_goes_out_and_comes_back_as_minus_100():
    register = XM430_W350.register("goal_position")
    assert register.encode(-100) == (-100).to_bytes(4, "little", signed=True)
    assert register.decode(register.encode(-100)) == -100


def test_ax_speed_carries_its_direction_in_bit_10():
    register = AX_12A.register("present_speed")
    assert register.decode((1024 + 300).to_bytes(2, "little")) == -300
    assert register.decode((300).to_bytes(2, "little")) == 300
    assert register.decode((1024).to_bytes(2, "little")) == 0
    assert [register.decode(register.encode(n)) for n in (-1023, 0, 1023)] == [-1023, 0, 1023]


@pytest.mark.parametrize("encoding", ["unsigned", "signed", "direction"])
def test_a_register_holds_its_limits_and_nothing_beyond(encoding):
    register = Register("x", 0, 2, "RW", None, encoding)
    low, high = register.limits
    assert [register.decode(register.encode(n)) for n in (low, high)] == [low, high]
    for beyond in (low - 1, high + 1):
        with pytest.raises(OutOfBoundsError, match="does not fit"):
            register.encode(beyond)


def test_four_bytes_are_refused_by_a_two_byte_register():
    with pytest.raises(OutOfBoundsError, match="has 2 bytes, not 4"):
        XM430_W350.register("present_current").decode(b"\x01\x00\x02\x00")


def test_units_agree_with_the_data_sheet():
    assert 4096 * XM430_W350.radians_per_count == pytest.approx(2 * math.pi)
    assert 1023 * AX_12A.radians_per_count == pytest.approx(math.radians(300))
    assert XM430_W350.register("present_velocity").scale == pytest.approx(0.0239808, rel=1e-5)
    # 2.3 A at the stall torque of 4.1 N·m
    assert 2.3 / 2.69e-3 * XM430_W350.torque_per_count == pytest.approx(4.1)
    assert XL330_M288.register("present_current").scale == 1e-3


def test_only_continuous_encoders_wrap():
    assert XM430_W350.wraps
    assert not AX_12A.wraps


def test_unknown_names_are_refused_with_the_choices():
    with pytest.raises(UnknownNameError, match="Did you mean 'XM430-W350'"):
        servo_model("XM430-W35")
    with pytest.raises(UnknownNameError, match=r"the XM430-W350.*present_position"):
        XM430_W350.register("present_postion")
    with pytest.raises(UnknownNameError, match=r"12 \(AX-12A\)"):
        model_by_number(999)


def test_numbers_lead_back_to_the_model():
    assert all(model_by_number(model.number) is model for model in MODELS.values())
