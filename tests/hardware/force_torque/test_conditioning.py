import math

import numpy as np
import pytest
from scipy.signal import lsim

from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError
from pliant.hardware.force_torque import kernel
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings
from pliant.hardware.force_torque.wrench import ToolLoad, rotation_matrix

LEVEL = np.eye(3)
LOAD = ToolLoad(1.5, (0.01, -0.02, 0.08))
BIAS = np.array([3.0, -2.0, 5.0, 0.1, 0.2, -0.3])
PLAIN = {"cutoff": None, "spike": None, "stale": None, "drift": None}
"""Nothing but bias and weight."""
STILL = {"joint_speed": 0.0, "tool_speed": 0.0}
GRAVITY = np.array([0.0, 0.0, -9.81])


def raw_of(contact, turn=LEVEL, load=LOAD, bias=BIAS):
    """What a sensor reads while the tool exerts a wrench on its surroundings: held against weight and reaction."""
    return load.raw(turn.T @ GRAVITY) + np.asarray(contact) + bias


def run(conditioning, values, step=0.001, start=0.0, **given):
    """Feed forces along z; return the wrenches' z and the faults."""
    out, faults = [], []
    for k, value in enumerate(values):
        wrench, fault = conditioning.update(start + k * step, [0, 0, value, 0, 0, 0], LEVEL, **given)
        out.append(wrench[2])
        faults.append(fault)
    return np.array(out), faults


def test_weight_and_bias_are_taken_out_in_every_pose(rotation):
    random = np.random.default_rng(5)
    conditioning = WrenchConditioning(WrenchSettings(load=LOAD, bias=BIAS, **PLAIN))
    for k in range(50):
        turn, contact = rotation(random), random.normal(size=6) * 20
        wrench, fault = conditioning.update(0.001 * k, raw_of(contact, turn), turn)
        assert wrench == pytest.approx(contact, abs=1e-12)
        assert fault == ""


def test_the_compiled_kernel_computes_what_its_source_says(rotation):
    random = np.random.default_rng(6)
    settings = WrenchSettings(load=LOAD, bias=BIAS, range=(80,) * 3 + (4,) * 3, order=2, cutoff=13.0)
    fast, slow = WrenchConditioning(settings), WrenchConditioning(settings)
    slow._condition = kernel.condition
    faults = set()
    for k in range(2000):
        raw = 25 * random.standard_normal(6) * np.repeat([1, 0.05], 3)
        if k % 97 == 0:
            raw[k % 6] = math.nan
        turn, free = rotation(random), k % 3 == 0
        a, b = (one.update(0.002 * k, raw, turn, free=free) for one in (fast, slow))
        assert a.wrench == pytest.approx(b.wrench, rel=1e-12, abs=1e-12)
        assert a.fault == b.fault
        faults.add(a.fault.partition(":")[0])
    assert "saturated" in faults
    assert (fast.spikes, fast.missed) == (slow.spikes, slow.missed)
    assert fast.spikes > 0
    assert fast.missed > 0


@pytest.mark.parametrize("order", [1, 2])
def test_the_low_pass_is_exact_at_any_step(order):
    """Against the continuous filter with an input that is held over each step, of uneven steps."""
    random = np.random.default_rng(3)
    cutoff = 7.0
    omega = 2 * math.pi * cutoff
    filter_ = ([omega], [1, omega]) if order == 1 else ([omega**2], [1, math.sqrt(2) * omega, omega**2])
    steps = random.choice([0.001, 0.002, 0.008, 0.03], 60)
    values = random.normal(size=61)
    conditioning = WrenchConditioning(WrenchSettings(**{**PLAIN, "cutoff": cutoff}, order=order))
    got, time = [], 0.0
    for k, value in enumerate(values):
        time += steps[k - 1] if k else 0.0
        got.append(conditioning.update(time, [0, 0, value, 0, 0, 0], LEVEL).wrench[2])
    # by superposition of steps of the held input, from a filter at rest at the first value
    times = np.concatenate([[0.0], np.cumsum(steps)])
    fine = np.arange(0, round(times[-1] * 1000) + 1) / 1000
    held = np.empty(len(fine))
    for k in range(60):
        held[(fine >= times[k] - 1e-9) & (fine < times[k + 1] - 1e-9)] = values[k + 1]
    held[-1] = values[-1]
    expected = values[0] + lsim(filter_, held - values[0], fine, interp=False)[1]
    assert np.array(got) == pytest.approx(expected[np.rint(times * 1000).astype(int)], abs=1e-9)


def test_the_cutoff_is_where_half_the_power_is_left():
    for order in (1, 2):
        conditioning = WrenchConditioning(WrenchSettings(**{**PLAIN, "cutoff": 10.0}, order=order))
        time = np.arange(0, 3.0, 0.0005)
        out, _ = run(conditioning, np.sin(2 * math.pi * 10 * time), 0.0005)
        assert np.abs(out[time > 2.0]).max() == pytest.approx(math.sqrt(0.5), abs=0.01)


def test_it_begins_and_begins_anew_without_a_jump():
    conditioning = WrenchConditioning(WrenchSettings(cutoff=1.0))
    out, _ = run(conditioning, [50.0] * 3)
    assert out == pytest.approx([50.0] * 3)
    conditioning.reset()
    out, _ = run(conditioning, [-20.0], start=5.0)
    assert out == pytest.approx([-20.0])
    out, _ = run(conditioning, [7.0], start=1.0)  # time went back: another run has begun
    assert out == pytest.approx([7.0])


def test_a_single_spike_is_replaced_and_counted():
    conditioning = WrenchConditioning(WrenchSettings(**{**PLAIN, "spike": (20.0, 2.0)}))
    values = 5 + 0.01 * np.arange(20)
    values[10] += 300.0
    out, faults = run(conditioning, values)
    assert np.abs(out - (5 + 0.01 * np.arange(20))).max() <= 0.011
    assert conditioning.spikes == 1
    assert set(faults) == {""}


def test_a_step_passes_one_reading_late_and_keeps_its_height():
    conditioning = WrenchConditioning(WrenchSettings(**{**PLAIN, "spike": (20.0, 2.0)}))
    values = np.where(np.arange(20) < 10, 0.0, 60.0) + 1e-6 * np.arange(20)
    out, _ = run(conditioning, values)
    assert np.abs(out[:11]).max() < 1e-4
    assert out[11:] == pytest.approx(values[11:])


def test_a_spike_that_a_slow_sensor_holds_is_replaced_for_as_long():
    """The sensor is read four times a sample: its spike is one sample."""
    conditioning = WrenchConditioning(WrenchSettings(**{**PLAIN, "spike": (20.0, 2.0)}))
    samples = 5 + 0.01 * np.arange(12)
    samples[6] = -200.0
    out, _ = run(conditioning, np.repeat(samples, 4))
    assert out.min() > 4.9
    assert conditioning.spikes == 1


@pytest.mark.parametrize("sign", [1, -1])
def test_a_saturated_sensor_is_a_fault_while_it_lasts(sign):
    conditioning = WrenchConditioning(WrenchSettings(**PLAIN, range=(50, 50, 100, 5, 5, 5)))
    assert conditioning.update(0.0, [0, 0, 1.0, 0, 0, 0], LEVEL).fault == ""
    wrench, fault = conditioning.update(0.001, [0, 0, sign * 100.0, 0, 0, 0], LEVEL)
    assert fault == f"saturated: force_z reads {sign * 100} N of ±100 N"
    assert wrench[2] == 1.0
    assert "torque_y" in conditioning.update(0.002, [0, 0, 0, 0, sign * 6.0, 0], LEVEL).fault
    assert conditioning.update(0.003, [0, 0, 2.0, 0, 0, 0], LEVEL).fault == ""


def test_missing_readings_are_bridged_then_a_fault_then_over():
    conditioning = WrenchConditioning(WrenchSettings(**{**PLAIN, "stale": 0.05}))
    assert conditioning.update(0.0, [math.nan] * 6, LEVEL).fault == "missing: no reading yet"
    out, faults = run(conditioning, [3.0] + [math.nan] * 80 + [4.0], start=0.1)
    assert faults[49] == ""
    assert faults[52].startswith("missing: no reading for 0.052")
    assert out[80] == 3.0
    assert (out[81], faults[81]) == (4.0, "")
    assert conditioning.missed == 81
    # one axis that is missing is a missing reading
    assert conditioning.update(1.0, [1, 2, 3, math.nan, 5, 6], LEVEL).fault.startswith("missing")


def test_readings_that_stand_still_while_the_sensor_turns_are_a_fault():
    conditioning = WrenchConditioning(WrenchSettings(**{**PLAIN, "stale": 0.05}))
    faults = [
        conditioning.update(0.001 * k, [0, 0, 3.0, 0, 0, 0], rotation_matrix([1e-6 * k, 0, 0])).fault
        for k in range(100)
    ]
    assert set(faults[:50]) == {""}
    assert faults[52].startswith("frozen: the same reading to the last bit for 0.052")
    assert conditioning.update(0.1, [0, 0, 3.0000001, 0, 0, 0], LEVEL).fault == ""


def test_a_simulation_at_rest_is_not_frozen():
    conditioning = WrenchConditioning()
    _, faults = run(conditioning, [3.0] * 1000)
    assert set(faults) == {""}


def test_zeros_are_frozen_only_where_a_load_must_read():
    for load, kinds in ((ToolLoad(), {""}), (ToolLoad(0.1), {"", "frozen"})):
        conditioning = WrenchConditioning(WrenchSettings(load=load))
        turns = [rotation_matrix([1e-3 * k, 0, 0]) for k in range(200)]
        faults = [conditioning.update(0.001 * k, np.zeros(6), turn).fault for k, turn in enumerate(turns)]
        assert {fault.partition(":")[0] for fault in faults} == kinds


def test_an_orientation_that_is_none_is_a_fault():
    conditioning = WrenchConditioning(WrenchSettings(load=LOAD))
    for turn in (np.full((3, 3), math.nan), 2 * LEVEL, np.zeros((3, 3))):
        assert conditioning.update(0.0, np.ones(6), turn).fault.startswith("missing: the sensor's orientation")


def test_drift_is_seen_while_the_tool_is_free_only_and_ends_with_a_tare():
    settings = {"cutoff": None, "drift": (5.0, 0.5), "drift_time": 1.0, "tare": {"time": 0.5}}
    conditioning = WrenchConditioning(WrenchSettings(**settings))
    noise = 2.0 * np.random.default_rng(4).standard_normal(20_000)
    pressing = np.full(5000, 40.0) + noise[:5000]
    assert set(run(conditioning, pressing)[1]) == {""}  # a force that is meant
    free = 3.0 + noise[:5000]
    assert set(run(conditioning, free, start=5.0, free=True)[1]) == {""}
    ramp = 3.0 + 0.0005 * np.arange(10_000) + noise[:10_000]
    _, faults = run(conditioning, ramp, start=10.0, free=True)
    first = next(k for k, fault in enumerate(faults) if fault)
    assert faults[first].startswith("drifted: a free tool reads 5 N of force_z on average")
    assert ramp[first - 1000 : first].mean() == pytest.approx(5.0, abs=1.0)  # the mean of the last second, or so
    conditioning.start_tare()
    noise = noise * 0.2
    _, faults = run(conditioning, 8.0 + noise[:2000], start=20.0, free=True, tool_speed=0.0)
    assert conditioning.tare_state.state == "done"
    assert conditioning.tare_state.change[2] == pytest.approx(8.0, abs=0.1)
    assert faults[400].startswith("drifted")
    assert set(faults[502:]) == {""}


def tared(conditioning, values, **given):
    conditioning.start_tare()
    out, _ = run(conditioning, values, **given)
    return out, conditioning.tare_state


def test_a_tare_takes_the_mean_without_a_jump_of_the_low_pass():
    conditioning = WrenchConditioning(WrenchSettings(load=LOAD, cutoff=2.0, order=2, tare={"time": 0.5}))
    random = np.random.default_rng(8)
    turn = rotation_matrix([0.3, -0.7, 0.2])
    conditioning.start_tare()
    noise = np.repeat([0.1, 0.01], 3)
    readings = [raw_of(noise * random.standard_normal(6), turn) for _ in range(502)]
    for k, raw in enumerate(readings):
        if conditioning.tare_state.state == "running":
            last = conditioning.update(0.001 * k, raw, turn, joint_speed=0.001).wrench
    assert conditioning.tare_state.state == "done"
    assert conditioning.bias == pytest.approx(BIAS, abs=0.03)
    assert conditioning.tare_state.change == pytest.approx(conditioning.bias)
    # what the low-pass still had to come is not begun anew: it goes on from where it was, less the bias
    assert np.abs(last).max() < 0.1
    assert np.abs(conditioning.update(0.6, raw_of(np.zeros(6), turn), turn).wrench).max() < 0.1


@pytest.mark.parametrize(
    ("values", "given", "words"),
    [
        (np.zeros(400), {"joint_speed": 0.02}, "a joint moves at 0.02 rad/s"),
        (np.zeros(400), {"joint_speed": math.nan}, "a joint moves at nan"),
        (np.zeros(400), {"tool_speed": 0.01}, "the tool moves at 0.01 m/s"),
        (np.zeros(400), {}, "the speed of joints or tool is not told"),
        (np.linspace(0, 6, 400), STILL, "force_z spreads over 5"),
        (np.full(400, 40.0), STILL, "force_z is 40 N off; at most 30 N are let pass: the tool touches something"),
        (np.where(np.arange(400) < 300, 0.0, math.nan), STILL, "the sensor is missing"),
    ],
)
def test_a_tare_is_refused_with_the_reason(values, given, words):
    conditioning = WrenchConditioning(WrenchSettings(bias=BIAS, stale=0.01, tare={"time": 0.35}, spike=None))
    _, tare = tared(conditioning, values + BIAS[2], **given)
    assert tare.state == "refused"
    assert words in tare.reason
    assert conditioning.bias == pytest.approx(BIAS)


def test_a_tare_is_not_taken_from_part_of_its_time():
    conditioning = WrenchConditioning(WrenchSettings(tare={"time": 1.0}))
    assert conditioning.tare_state.state == "none"
    _, tare = tared(conditioning, np.ones(900), **STILL)
    assert tare.state == "running"
    conditioning.reset()
    assert conditioning.tare_state.state == "refused"
    assert not conditioning.bias.any()


def test_what_cannot_be_is_refused():
    for given, error, words in (
        ({"bias": [0, 0]}, ShapeError, "6 numbers"),
        ({"range": [1, 1, 1, 1, 1, math.nan]}, OutOfBoundsError, r"range of the sensor\[5\]"),
        ({"range": [0] * 6}, OutOfBoundsError, r"range of the sensor\[0\]"),
        ({"stale": -1.0}, OutOfBoundsError, "stale"),
        ({"spike": [1.0]}, ShapeError, "2 numbers"),
        ({"cutoff": 0.0}, OutOfBoundsError, "cutoff"),
        ({"order": 3}, OutOfBoundsError, "order"),
        ({"drift": "much"}, ShapeError, "drift"),
        ({"drift_time": math.inf}, OutOfBoundsError, "drift_time"),
        ({"tare": {"tme": 1.0}}, ConfigurationError, "tme"),
        ({"tare": 3}, ConfigurationError, "tare is 3"),
        ({"tare": {"largest": [1, -1]}}, OutOfBoundsError, "largest"),
        ({"gravity": [0, 0]}, ShapeError, "3 numbers"),
    ):
        with pytest.raises(error, match=words):
            WrenchSettings(**given)
    conditioning = WrenchConditioning()
    for raw, turn in ((np.zeros(5), LEVEL), (np.zeros(6), np.zeros(9)), (1.0, LEVEL)):
        with pytest.raises(ShapeError, match="are needed"):
            conditioning.update(0.0, raw, turn)
    with pytest.raises(OutOfBoundsError, match="time of a wrench is nan"):
        conditioning.update(math.nan, np.zeros(6), LEVEL)
