import math
import sys
from dataclasses import replace

import numba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.actuators import bam
from pliant.actuators.bam import (
    FRICTION_MODELS,
    FRICTION_PARAMETERS,
    PARAMETERS,
    SERVOS,
    BamServo,
    find_servo,
    friction_budget,
    friction_torque,
    loaded_resistance,
    motor_torque,
    rubbed_speed,
    servo_duty,
    servo_from_data,
    servo_names,
)
from pliant.errors import ConfigurationError, FileFormatError, OutOfBoundsError, UnknownNameError

speeds = st.floats(-20, 20)
torques = st.floats(-3, 3)
budgets = st.floats(0, 3)
inertias = st.floats(1e-4, 1)
steps = st.floats(1e-5, 1e-2)

COEFFICIENTS = {
    "kv": 0.03, "kc": 0.05, "kcs": 0.04, "stribeck_speed": 0.7, "stribeck_exponent": 1.3,
    "km": 0.2, "ke": 0.15, "kms": 0.12, "kes": 0.09, "kmq": 0.8, "keq": 1.1,
}  # fmt: skip


def servo(model):
    friction = {name: COEFFICIENTS[name] for name in FRICTION_MODELS[model].free}
    return BamServo("bench", model, {"kt": 1.5, "resistance": 4.0, "armature": 0.01, **friction}, 12.0, "test")


def budget_by_hand(model, w, tm, te):
    """The published law of each model, written out."""
    c = COEFFICIENTS
    s = math.exp(-((abs(w) / c["stribeck_speed"]) ** c["stribeck_exponent"]))
    base = c["kv"] * abs(w) + c["kc"]
    load, load_at_rest = c["km"] * abs(tm - te), c["kms"] * abs(tm - te)
    apart, apart_at_rest = abs(c["km"] * tm - c["ke"] * te), abs(c["kms"] * tm - c["kes"] * te)
    quadratic = 0.0
    if tm * te < 0:
        quadratic = c["keq"] * te**2 if abs(tm) > abs(te) else c["kmq"] * tm**2
    return {
        "m1": base,
        "m2": base + s * c["kcs"],
        "m3": base + load,
        "m4": base + load + s * (c["kcs"] + load_at_rest),
        "m5": base + apart + s * (c["kcs"] + apart_at_rest),
        "m6": base + apart + s * (c["kcs"] + apart_at_rest + quadratic),
    }[model]


@pytest.mark.parametrize("model", FRICTION_MODELS)
@pytest.mark.parametrize(("speed", "motor", "external"), [
    (0.0, 0.8, -0.5), (0.3, 0.4, -0.9), (-2.0, -0.7, -0.2), (1.0, -0.6, 0.6), (5.0, 0.0, 0.4),
])  # fmt: skip
def test_each_model_is_its_published_law(model, speed, motor, external):
    assert servo(model).friction(speed, motor, external) == pytest.approx(
        budget_by_hand(model, speed, motor, external), rel=1e-12
    )


@given(speeds, torques, torques)
def test_a_budget_is_never_negative_and_does_not_know_left_from_right(speed, motor, external):
    m6 = servo("m6")
    budget = m6.friction(speed, motor, external)
    assert budget >= 0.0
    assert budget == m6.friction(-speed, -motor, -external)


@given(speeds, torques, budgets, inertias, steps)
def test_friction_never_gives_energy(speed, torque, budget, inertia, step):
    after = rubbed_speed(speed, torque, budget, inertia, step)
    friction = (after - speed) * inertia / step - torque
    # a number below the smallest normal one, 2e-308, has no twelve digits
    rounding = 1e-12 * (abs(speed) * inertia / step + abs(torque) + budget) + sys.float_info.min
    assert friction * after <= rounding * abs(after)
    assert abs(friction) <= budget + rounding


@given(st.floats(-1, 1), st.floats(0, 1), inertias, steps)
def test_a_joint_that_friction_holds_does_not_move_at_all(share, budget, inertia, step):
    speed = 0.0
    for _ in range(10):
        speed = rubbed_speed(speed, 0.999 * share * budget, budget, inertia, step)
        assert speed == 0.0


@given(speeds, torques, budgets, inertias, steps)
def test_the_step_applies_the_stopping_torque_clipped_to_the_budget(speed, torque, budget, inertia, step):
    friction = friction_torque(-(inertia * speed / step + torque), budget)
    expected = speed + (torque + friction) * step / inertia
    assert rubbed_speed(speed, torque, budget, inertia, step) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_loaded_gear_rubs_more_than_one_whose_torques_agree():
    m4 = servo("m4")
    assert m4.friction(0.0, 0.5, -0.5) > m4.friction(0.0, 0.5, 0.5)


def test_friction_of_rest_fades_with_speed():
    m2 = replace(servo("m2"), values={**servo("m2").values, "kv": 0.0})
    values = [m2.friction(speed, 0.0, 0.0) for speed in (0.0, 0.1, 0.5, 2.0, 50.0)]
    assert values == sorted(values, reverse=True)
    assert values[0] == COEFFICIENTS["kc"] + COEFFICIENTS["kcs"]
    assert values[-1] == pytest.approx(COEFFICIENTS["kc"])


def test_the_duty_is_proportional_to_the_error_and_saturates_both_ways():
    xl330 = SERVOS["XL330"]
    count = math.tau / 4096
    assert xl330.duty(count, 256 * 885 / 100) == pytest.approx(0.01)
    assert xl330.duty(9.0, 800) == 1.0
    assert xl330.duty(-9.0, 800) == -1.0
    assert SERVOS["MX-64"].duty(9.0, 32) == 0.9625


@pytest.mark.parametrize(("name", "rad_per_volt"), [("MX-64", 0.589), ("MX-106", 0.430)])
def test_the_no_load_speed_agrees_with_the_bench_within_five_percent(name, rad_per_volt):
    mx = SERVOS[name]
    low, high = (_no_load_speed(mx, voltage) for voltage in (8.0, 12.0))
    assert (high - low) / 4.0 == pytest.approx(rad_per_volt, rel=0.05)


def _no_load_speed(servo, voltage):
    speed = 0.0
    for _ in range(5000):
        motor = servo.torque(1.0, speed, voltage)
        speed = rubbed_speed(speed, motor, servo.friction(speed, motor, 0.0), servo.values["armature"], 1e-3)
    return speed


@given(st.floats(-1, 1), speeds, st.floats(0, 2))
def test_the_supply_sags_by_the_current_that_the_motor_draws_from_it(duty, speed, supply_resistance):
    kt, resistance, voltage = 0.4, 3.0, 7.4
    total = loaded_resistance(duty, 25.0, resistance, supply_resistance, 0.0)
    current = motor_torque(duty, speed, voltage, kt, total) / kt
    sagged = voltage - supply_resistance * duty * current
    assert duty * sagged == pytest.approx(resistance * current + kt * speed, rel=1e-9, abs=1e-9)


def test_a_warm_winding_resists_more():
    assert loaded_resistance(0.0, 35.0, 4.0, 0.5, 0.01) == pytest.approx(4.4)
    warm = replace(SERVOS["XL330"], values={**SERVOS["XL330"].values, "heating": 0.01})
    assert warm.torque(1.0, 0.0, temperature=45.0) == pytest.approx(warm.torque(1.0, 0.0) / 1.2)


def test_a_published_set_has_its_values_and_its_stall_torque():
    xl330 = SERVOS["XL330"]
    assert xl330.values == {"kt": 0.387, "resistance": 4.017, "armature": 0.00181, "kc": 0.0128, "kv": 0.0037}
    assert xl330.torque(1.0, 0.0, voltage=5.0) == pytest.approx(0.387 * 5.0 / 4.017)
    assert set(SERVOS) == {"MX-64", "MX-106", "XL-320", "XL330", "eRob80:50", "STS3215"}
    assert all("Apache-2.0" in servo.source for servo in SERVOS.values())


def test_every_parameter_has_a_unit_and_bounds_around_its_default():
    assert len({p.name for p in PARAMETERS}) == len(PARAMETERS)
    assert all(p.unit and p.low <= p.default <= p.high for p in PARAMETERS)


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_the_identified_sets_are_found_by_name_and_hold_what_their_model_has(model):
    found = find_servo(f"XL330/{model}")
    assert found.model == model
    assert set(FRICTION_MODELS[model].free) <= set(found.values)
    assert "Rhoban/bam" in found.source
    assert found.loop == SERVOS["XL330"].loop


def test_an_unknown_servo_or_model_is_named_with_the_valid_ones():
    with pytest.raises(UnknownNameError, match="MX-64"):
        find_servo("MX-65")
    with pytest.raises(UnknownNameError, match="m1, m2, m3, m4, m5, m6"):
        BamServo("x", "m7", {}, 12.0, "test")
    assert set(SERVOS) < set(servo_names())


def test_a_value_that_the_model_does_not_have_or_cannot_take_is_refused():
    with pytest.raises(UnknownNameError, match=r"'kcs'.*m1"):
        BamServo("x", "m1", {"kcs": 0.1}, 12.0, "test")
    with pytest.raises(OutOfBoundsError, match="kc"):
        BamServo("x", "m1", {"kc": -0.1}, 12.0, "test")
    with pytest.raises(OutOfBoundsError, match="max_duty"):
        replace(SERVOS["XL330"], max_duty=1.5)
    with pytest.raises(OutOfBoundsError, match="voltage is nan"):
        replace(SERVOS["XL330"], voltage=math.nan)
    with pytest.raises(OutOfBoundsError, match="kt is nan"):
        BamServo("x", "m1", {"kt": math.nan}, 12.0, "test")


def test_a_servo_driven_by_current_has_no_position_loop():
    with pytest.raises(ConfigurationError, match="eRob80:50"):
        SERVOS["eRob80:50"].duty(0.1, 10)


def test_data_that_is_not_a_servo_is_refused_with_its_place():
    with pytest.raises(FileFormatError, match=r"here\.json"):
        servo_from_data({"name": "x"}, "here.json")


def test_the_laws_compile_unchanged():
    coefficients = tuple(COEFFICIENTS[p.name] for p in FRICTION_PARAMETERS)
    cases = {
        servo_duty: (0.1, 400.0, 0.003, 1.0),
        loaded_resistance: (0.7, 31.0, 4.0, 0.3, 0.01),
        motor_torque: (0.7, 1.5, 7.4, 0.4, 4.0),
        friction_budget: (0.2, 0.5, -0.3, *coefficients),
        friction_torque: (0.4, 0.3),
        rubbed_speed: (0.4, 0.3, 0.2, 0.005, 1e-3),
    }
    for law, arguments in cases.items():
        assert numba.njit(law)(*arguments) == pytest.approx(law(*arguments), rel=1e-15)


def test_nothing_is_identified_twice_under_one_name():
    assert len(servo_names()) == len(set(servo_names())) == len(SERVOS) + len(bam.FRICTION_MODELS)
