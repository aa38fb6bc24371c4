import json
import math
from dataclasses import replace

import numpy as np
import pytest

from pliant.actuators.bam import SERVOS, BamServo
from pliant.controllers import pendulum_bench
from pliant.controllers.pendulum_bench import (
    GRAVITY,
    Recording,
    load_recordings,
    mean_error,
    predict,
    residuals,
    simulate,
)
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MissingFileError,
    OutOfBoundsError,
    ShapeError,
    UnknownNameError,
)

XL330 = SERVOS["XL330"]
BENCH = {"arm_mass": 0.05, "position_offset": 0.0, "command_delay": 0.004}
FRICTION = {
    "kv": 0.004, "kc": 0.01, "kcs": 0.005, "stribeck_speed": 1.0, "stribeck_exponent": 0.8,
    "km": 0.1, "ke": 0.05, "kms": 0.1, "kes": 0.05, "kmq": 1.0, "keq": 2.0,
}  # fmt: skip
M6 = replace(XL330, model="m6", values={**XL330.values, **FRICTION})


def recording(goal, *, seconds=2.0, p_gain=400.0, start=0.0, enabled=lambda t: np.ones_like(t), **changes):
    time = np.arange(0.0, seconds, 0.005)
    fields = {
        "name": "made", "servo": "XL330", "p_gain": p_gain, "voltage": 7.4, "mass": 0.49, "length": 0.1,
        "temperature": 25.0, "time": time, "goal": goal(time), "position": np.full_like(time, start),
        "speed": np.zeros_like(time), "enabled": enabled(time),
    }  # fmt: skip
    return Recording(**{**fields, **changes})


def file_content(**changes):
    rows = [[0.005 * i, 0.1, 0.0, 0.0, 3, 7.3, 28, 1] for i in range(5)]
    columns = ["timestamp", "goal_position", "position", "speed", "load", "input_volts", "temp", "torque_enable"]
    settings = {"mass": 0.49, "length": 0.1, "kp": 100, "vin": 7.4, "motor": "xl330"}
    return {**settings, "columns": columns, "rows": rows, **changes}


@pytest.mark.slow
def test_hanging_down_without_torque_it_stays_exactly_where_it_is():
    rest = recording(np.zeros_like, enabled=np.zeros_like)
    frictionless = replace(XL330, values={**XL330.values, "kc": 0.0, "kv": 0.0})
    assert not simulate(rest, frictionless, BENCH).any()


@pytest.mark.parametrize("servo", [XL330, M6], ids=["m1", "m6"])
@pytest.mark.parametrize("p_gain", [100.0, 400.0, 800.0])
def test_held_against_gravity_it_comes_to_a_stand_and_does_not_creep(servo, p_gain):
    held = simulate(recording(lambda t: np.full_like(t, 1.2), seconds=20.0, p_gain=p_gain), servo, BENCH)
    late = held[len(held) // 2 :]
    assert late[0] > 0.1
    assert np.ptp(late) == 0.0


def test_without_friction_small_swings_have_the_period_of_the_physical_pendulum():
    frictionless = replace(XL330, values={**XL330.values, "kc": 0.0, "kv": 0.0})
    free = recording(np.zeros_like, seconds=8.0, start=0.02, enabled=np.zeros_like)
    trace = simulate(free, frictionless, BENCH)
    down = np.flatnonzero((trace[:-1] > 0.0) & (trace[1:] <= 0.0))
    crossing = free.time[down] + 0.005 * trace[down] / (trace[down] - trace[down + 1])
    inertia = (0.49 + 0.05 / 3) * 0.1**2 + XL330.values["armature"]
    weight = (0.49 + 0.05 / 2) * GRAVITY * 0.1
    assert np.diff(crossing).mean() == pytest.approx(math.tau * math.sqrt(inertia / weight), rel=1e-3)
    assert trace[-2000:].max() == pytest.approx(0.02, rel=0.01)


def test_friction_makes_a_free_swing_die_out():
    free = recording(np.zeros_like, seconds=8.0, start=1.0, enabled=np.zeros_like)
    trace = simulate(free, M6, BENCH)
    peaks = [np.abs(part).max() for part in np.array_split(trace, 8)]
    assert peaks == sorted(peaks, reverse=True)
    assert np.ptp(trace[-100:]) == 0.0
    # it may stop anywhere that friction carries, no further
    assert abs(trace[-1]) < 0.1


def test_half_the_step_gives_the_same_motion():
    moving = recording(lambda t: np.sin(3 * t), p_gain=200.0)
    coarse, fine = (simulate(moving, M6, BENCH, step=step) for step in (1e-3, 5e-4))
    assert np.abs(coarse - fine).max() < 2e-3


def test_the_compiled_simulation_is_the_python_one(monkeypatch):
    moving = recording(lambda t: np.sin(5 * t), seconds=0.5)
    compiled = simulate(moving, M6, BENCH)
    monkeypatch.setattr(pendulum_bench, "_compiled_swing", lambda: pendulum_bench.swing)
    np.testing.assert_allclose(simulate(moving, M6, BENCH), compiled, rtol=0, atol=1e-12)


def test_a_command_takes_effect_after_its_delay():
    step = recording(lambda t: np.where(t < 0.1, 0.0, 1.0), seconds=0.3)
    prompt, late = (simulate(step, XL330, {**BENCH, "command_delay": delay}) for delay in (0.0, 0.03))
    begun = [step.time[np.argmax(np.abs(trace) > 1e-4)] for trace in (prompt, late)]
    assert begun[1] - begun[0] == pytest.approx(0.03, abs=0.006)


def test_only_the_first_position_of_a_recording_is_used():
    moving = recording(lambda t: np.sin(3 * t))
    altered = replace(moving, position=np.concatenate([[0.0], np.full(len(moving.time) - 1, 3.0)]))
    np.testing.assert_array_equal(simulate(moving, M6, BENCH), simulate(altered, M6, BENCH))


def test_residuals_are_those_of_the_difference():
    flat = recording(np.zeros_like)
    wave = 0.02 * np.sin(math.tau * flat.time) + 0.01
    found = residuals(flat, wave)
    assert found.bias == pytest.approx(0.01)
    assert found.mae == pytest.approx(np.abs(wave).mean())
    assert found.rms == pytest.approx(math.sqrt(0.01**2 + 0.02**2 / 2))
    assert found.largest == pytest.approx(0.03, abs=1e-4)
    assert 0.1 < found.correlation_time < 1.0
    assert residuals(flat, flat.position).correlation_time == 0.0
    assert mean_error([found, residuals(flat, flat.position)]) == pytest.approx(found.mae / 2)


def test_a_prediction_of_its_own_simulation_is_perfect():
    moving = recording(lambda t: np.sin(3 * t))
    made = replace(moving, position=simulate(moving, M6, BENCH))
    assert predict([made], M6, BENCH)[0].mae == 0.0


def test_recordings_are_read_by_name_with_their_settings(tmp_path):
    for name, gain in (("b", 200), ("a", 100)):
        (tmp_path / f"{name}.json").write_text(json.dumps(file_content(kp=gain)))
    first, second = load_recordings(tmp_path)
    assert [first.name, second.name] == ["a", "b"]
    assert (first.servo, first.p_gain, first.voltage, first.mass, first.length) == ("XL330", 100.0, 7.4, 0.49, 0.1)
    assert first.temperature == 28.0
    np.testing.assert_allclose(first.time, 0.005 * np.arange(5))
    assert not first.time.flags.writeable


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"columns": ["timestamp"], "rows": [[0.0], [1.0]]}, FileFormatError, "goal_position"),
        ({"kp": None}, FileFormatError, "cannot be read"),
        ({"kp": 0}, OutOfBoundsError, "p_gain"),
        ({"motor": "xl331"}, UnknownNameError, "XL330"),
        ({"rows": [[0, 0, 0, 0, 0, 0, 0, 0]]}, FileFormatError, "ascend"),
        ({"rows": [[0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]]}, FileFormatError, "ascend"),
        ({"rows": [[0, 0, 0, 0, 0, 0, 0, 0], [1, math.nan, 0, 0, 0, 0, 0, 0]]}, OutOfBoundsError, "nan"),
        ({"rows": [[0, 0, 0], [1, 1, 1]]}, ShapeError, "rows"),
        ({"rows": []}, ShapeError, "rows"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_by_name(tmp_path, changes, error, message):
    (tmp_path / "bad.json").write_text(json.dumps(file_content(**changes)))
    with pytest.raises(error, match=message) as caught:
        load_recordings(tmp_path)
    assert "bad" in str(caught.value)


def test_a_file_that_is_not_json_and_a_folder_that_is_empty_or_absent_are_refused(tmp_path):
    with pytest.raises(MissingFileError, match="holds no recording"):
        load_recordings(tmp_path)
    with pytest.raises(MissingFileError, match="is not a folder"):
        load_recordings(tmp_path / "absent")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(FileFormatError, match=r"bad\.json"):
        load_recordings(tmp_path)


def changed(**entries):
    """A file with other entries in some columns."""
    content = file_content()
    for name, value in entries.items():
        for k, row in enumerate(content["rows"]):
            row[content["columns"].index(name)] = value(row, k) if callable(value) else value
    return content


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (changed(position=lambda row, k: 20.0 * k), OutOfBoundsError, r"position is 80 rad at 0\.02 s.*degrees"),
        (changed(goal_position=90.0), OutOfBoundsError, r"goal is 90 rad.*outside \[-6\.283, 6\.283\] rad"),
        (changed(speed=573.0), OutOfBoundsError, r"speed is 573 rad/s"),
        (changed(position=1e200), OutOfBoundsError, r"position is 1e\+200 rad"),
        (changed(timestamp=lambda row, k: 5.0 * k), OutOfBoundsError, r"5 s apart.*5 ms would be 0\.005 s"),
        (changed(timestamp=lambda row, k: 1e6 * k), OutOfBoundsError, r"1e\+06 s apart"),
        (
            changed(timestamp=lambda row, k: 0.005 * k + 14.0 * (k > 2)),
            FileFormatError,
            r"a hole of 14\.005 s after 0\.01 s.*0\.005 s apart otherwise",
        ),
        (changed(temp=-300), OutOfBoundsError, r"temperature = -300 °C is outside \[-50, 150\] °C"),
        (changed(temp=1e200), OutOfBoundsError, "temperature"),
        (changed(torque_enable=3), OutOfBoundsError, "enabled must be 0 or 1"),
        (file_content(mass=490), OutOfBoundsError, r"mass = 490 kg is outside \[0\.0001, 100\] kg"),
        (file_content(length=100), OutOfBoundsError, r"length = 100 m"),
        (file_content(vin=7400), OutOfBoundsError, r"voltage = 7400 V"),
    ],
)
def test_what_no_bench_can_have_measured_is_refused_by_name(tmp_path, content, error, message):
    (tmp_path / "odd.json").write_text(json.dumps(content))
    with pytest.raises(error, match=message) as caught:
        load_recordings(tmp_path)
    assert "recording 'odd'" in str(caught.value)


def test_a_recording_checks_its_arrays():
    with pytest.raises(ShapeError, match="goal"):
        recording(lambda t: t[:-1])
    with pytest.raises(OutOfBoundsError, match="position"):
        recording(np.sin, start=math.inf)


def test_a_servo_without_position_loop_cannot_follow_a_goal():
    with pytest.raises(ConfigurationError, match="no P gain"):
        simulate(recording(np.sin), BamServo("x", "m1", {}, 12.0, "test"), BENCH)
