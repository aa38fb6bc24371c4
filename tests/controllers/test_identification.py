import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pliant.actuators import bam
from pliant.actuators.bam import FRICTION_MODELS, SERVOS, find_servo
from pliant.controllers.identification import HeldOut, identify, leave_one_gain_out, read_report, report
from pliant.controllers.pendulum_bench import Recording, load_recordings, mean_error, predict, simulate
from pliant.controllers.servo_fit import ServoFit, counted_time, unknowns
from pliant.errors import ConfigurationError, FileFormatError, MissingFileError, OutOfBoundsError, UnknownNameError
from pliant.files import write_json

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "xl330_pendulum"
PACKAGED = Path(bam.__file__).parent / bam.IDENTIFIED

needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the public recordings of the XL330 pendulum are not here"
)

TRUE_SERVO = replace(
    SERVOS["XL330"],
    values={"kt": 0.43, "resistance": 3.3, "armature": 0.0024, "supply_resistance": 0.25, "heating": 0.008,
            "kc": 0.02, "kv": 0.006},
)  # fmt: skip
TRUE_BENCH = {"arm_mass": 0.09, "position_offset": 0.012, "command_delay": 0.007}


def made(p_gain, temperature, noise, servo=TRUE_SERVO, bench=TRUE_BENCH):
    """A recording of a true servo: swings of growing speed, then let go; with an encoder's error."""
    time = np.arange(0.0, 2.5, 0.005)
    goal = 1.2 * np.sin(2.5 * time**2)
    blank = Recording(
        f"kp{p_gain:g}", "XL330", p_gain, 7.4, 0.49, 0.1, temperature,
        time, goal, np.zeros_like(time), np.zeros_like(time), (time < 1.8).astype(float),
    )  # fmt: skip
    return replace(blank, position=simulate(blank, servo, bench) + noise.normal(0.0, 4e-4, len(time)))


@pytest.fixture(scope="module")
def recordings():
    noise = np.random.default_rng(5)
    return [made(gain, 25.0 + gain / 80, noise) for gain in (100.0, 800.0)]


@pytest.fixture(scope="module")
def result(recordings):
    return identify(recordings, "m1", starts=1)


@pytest.fixture(scope="module")
def public_recordings():
    return load_recordings(DATA)


def test_a_known_servo_is_found_again_within_its_confidence(result):
    truth = {**TRUE_SERVO.values, **TRUE_BENCH}
    assert result.mae < 5e-4
    for estimate in result.estimates:
        tolerance = 4 * estimate.standard_error + 0.01 * abs(truth[estimate.name])
        assert estimate.value == pytest.approx(truth[estimate.name], abs=tolerance), estimate.name
        assert estimate.low95 <= estimate.value <= estimate.high95


def test_what_the_recordings_tell_is_told_apart_from_what_the_prior_says(result):
    found = {estimate.name: estimate for estimate in result.estimates}
    assert all(0.0 <= estimate.informed <= 1.0 for estimate in result.estimates)
    assert found["kt"].informed > 0.99
    # a heavier arm with all torques in proportion moves the same way, so the arm's mass is the prior's
    assert found["arm_mass"].informed < 0.3
    assert found["arm_mass"].standard_error == pytest.approx(0.05, rel=0.2)


def test_a_gain_left_out_is_predicted_from_the_other(recordings):
    folds = leave_one_gain_out(recordings, "m1", starts=1)
    assert [fold.p_gain for fold in folds] == [100.0, 800.0]
    for fold in folds:
        assert {r.p_gain for r in fold.residuals} == {fold.p_gain}
        assert fold.p_gain not in {r.p_gain for r in fold.result.residuals}
        assert fold.mae < 5e-3
        assert fold.covered >= 0.95
        assert not fold.between
        assert fold.worst_mae >= fold.mae
        assert fold.worst_mae == max([fold.mae, *fold.mae_of_others])


def test_a_gain_between_those_fitted_is_told_from_one_beyond_them(recordings, result):
    inner, outer = (HeldOut(gain, result, (), 1.0, ()) for gain in (200.0, 1000.0))
    assert inner.between
    assert not outer.between


@pytest.mark.slow
def test_intervals_and_bands_hold_the_truth_as_often_as_they_claim():
    """Ten servos and benches drawn from the prior: their parameters, and their motion at a gain not seen."""
    noise = np.random.default_rng(11)
    inside, motion = [], []
    for _ in range(10):
        drawn = {u.name: noise.normal(u.mean, u.spread) for u in unknowns(SERVOS["XL330"], "m1")}
        drawn = {
            u.name: float(np.clip(drawn[u.name], max(u.low, u.mean - 2 * u.spread), u.high))
            for u in unknowns(SERVOS["XL330"], "m1")
        }
        bench = {name: drawn[name] for name in TRUE_BENCH}
        servo = replace(SERVOS["XL330"], values={k: v for k, v in drawn.items() if k not in bench})
        seen = [made(gain, 25.0 + gain / 80, noise, servo, bench) for gain in (100.0, 800.0)]
        found = identify(seen, "m1", starts=1)
        # a value at its bound is known to be there, not drawn: 1e-3 of the prior's spread is no error
        for estimate, u in zip(found.estimates, unknowns(SERVOS["XL330"], "m1"), strict=True):
            slack = 1e-3 * u.spread
            inside.append(estimate.low95 - slack <= drawn[u.name] <= estimate.high95 + slack)
        unseen = made(300.0, 29.0, noise, servo, bench)
        low, high = found.band(unseen)
        motion.append(np.mean((low <= unseen.position) & (unseen.position <= high)))
    assert np.mean(inside) >= 0.85
    assert np.mean(motion) >= 0.90


def test_a_standstill_counts_once_and_motion_all_the_time():
    time = np.arange(0.0, 4.0, 0.005)
    moving = 0.5 * np.sin(2.0 * time)
    standing = np.where(time < 1.0, moving, 0.5 * np.sin(2.0))
    recording = Recording(
        "standing", "XL330", 100.0, 7.4, 0.49, 0.1, 25.0,
        time, time, standing, np.zeros_like(time), np.ones_like(time),
    )  # fmt: skip
    assert counted_time(replace(recording, position=moving), 0.4).sum() == pytest.approx(4.0, abs=0.15)
    counted = counted_time(recording, 0.4)
    assert counted.sum() == pytest.approx(1.0 + 0.4, abs=0.1)
    assert counted[time < 0.9] == pytest.approx(0.005)
    assert counted[time > 1.2].sum() < 0.4
    # what stands shorter than the correlation time is not held back
    assert counted_time(recording, 5.0).sum() == pytest.approx(4.0, abs=0.01)


def test_minima_that_the_recordings_cannot_tell_apart_are_kept_and_widen_the_intervals(recordings):
    fit = ServoFit(recordings, "m1", "made")
    best = fit.search(np.zeros(len(fit.unknowns)))
    near, far = best + 1e-4, best + 1.0
    assert [point is near for point in fit.equals([near, far], best)] == [True]
    covariance = fit.covariance(best)
    alone, beside = fit.estimates(best, covariance), fit.estimates(best, covariance, [best + 0.5])
    for one, two, unknown in zip(alone, beside, fit.unknowns, strict=True):
        expected = np.hypot(one.standard_error, 0.5 * unknown.spread / np.sqrt(2.0))
        assert two.standard_error == pytest.approx(expected, rel=1e-6)
        assert two.value == one.value


def test_a_report_is_plain_data_that_reads_back_as_the_same_model(tmp_path, recordings, result):
    data = report(recordings, ["m1"], starts=1, source="made")
    file = write_json(tmp_path / "report.json", data)
    servo, bench = read_report(file)["m1"]
    entry = json.loads(file.read_text())["models"][0]
    assert servo == replace(result.servo, source="made")  # the same call gives the same result
    assert bench == result.bench
    assert [fold["p_gain"] for fold in entry["leave_one_gain_out"]] == [100.0, 800.0]
    assert mean_error(predict(recordings, servo, bench)) == entry["mae"]


@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_the_unknowns_are_those_of_the_model_with_a_prior_inside_the_bounds(model):
    found = unknowns(SERVOS["MX-64"], model)
    assert set(FRICTION_MODELS[model].free) <= {u.name for u in found}
    assert all(u.low <= u.mean <= u.high and u.spread > 0.0 for u in found)
    ranges = {u.name: (u.low, u.high) for u in found}
    assert ranges.get("stribeck_speed", (0.01, 3.0)) == (0.01, 3.0)
    assert ranges.get("stribeck_exponent", (0.5, 2.0)) == (0.5, 2.0)


def test_recordings_that_do_not_go_together_are_refused(recordings):
    with pytest.raises(ConfigurationError, match="no recordings"):
        identify([])
    with pytest.raises(ConfigurationError, match=r"XL330 with 0\.49 kg at 0\.1 m, XL330 with 0\.6 kg"):
        identify([recordings[0], replace(recordings[1], mass=0.6)])
    with pytest.raises(ConfigurationError, match="same name"):
        identify([recordings[0], recordings[0]])
    with pytest.raises(ConfigurationError, match="at least two P gains"):
        leave_one_gain_out(recordings[:1])
    with pytest.raises(UnknownNameError, match="m1, m2"):
        identify(recordings, "m9")
    with pytest.raises(OutOfBoundsError, match="starts"):
        identify(recordings, starts=0)


def test_a_file_that_is_no_report_is_refused(tmp_path):
    with pytest.raises(MissingFileError, match="identification report"):
        read_report(tmp_path / "absent.json")
    (tmp_path / "other.json").write_text('{"models": [{"servo": {}}]}')
    with pytest.raises(FileFormatError, match=r"other\.json"):
        read_report(tmp_path / "other.json")


@needs_data
@pytest.mark.parametrize("model", FRICTION_MODELS)
def test_the_packaged_sets_have_the_error_they_claim(model, public_recordings):
    servo, bench = read_report(PACKAGED)[model]
    claimed = {entry["servo"]["model"]: entry["mae"] for entry in json.loads(PACKAGED.read_text())["models"]}
    assert servo == find_servo(f"XL330/{model}")
    assert mean_error(predict(public_recordings, servo, bench)) == pytest.approx(claimed[model], rel=0.02)


@needs_data
def test_the_packaged_m6_follows_the_real_servo_within_30_milliradians(public_recordings):
    found = predict(public_recordings, *read_report(PACKAGED)["m6"])
    assert len(found) == 12
    assert mean_error(found) <= 0.030
    assert max(r.mae for r in found) <= 0.040


@needs_data
def test_identified_or_not_the_richer_model_is_the_better_one(public_recordings):
    published = mean_error(
        predict(
            public_recordings, SERVOS["XL330"], {"arm_mass": 0.0, "position_offset": 0.0, "command_delay": 0.0}
        )
    )
    saved = read_report(PACKAGED)
    errors = [mean_error(predict(public_recordings, *saved[model])) for model in ("m1", "m4", "m6")]
    assert published > errors[0] > errors[1] > errors[2]


@needs_data
@pytest.mark.slow
def test_identified_afresh_m6_reaches_its_error_and_predicts_a_gain_between_those_seen(public_recordings):
    assert identify(public_recordings, "m6", starts=6).mae <= 0.020
    unseen = [r for r in public_recordings if r.p_gain == 200.0]
    fit = identify([r for r in public_recordings if r.p_gain != 200.0], "m6", starts=6)
    assert mean_error(fit.predict(unseen)) <= 0.030
    covered = [(low <= r.position) & (r.position <= high) for r in unseen for low, high in (fit.band(r),)]
    assert np.mean([share.mean() for share in covered]) >= 0.95
