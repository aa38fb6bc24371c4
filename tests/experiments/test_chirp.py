import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.controllers.frequency_response import LinearJoint
from pliant.errors import OutOfBoundsError
from pliant.experiments.chirp import ChirpResponse, quarter_turn
from pliant.report import Report


@pytest.fixture(scope="module")
def outcome():
    return ChirpResponse().run()


@pytest.mark.parametrize(("setting", "natural"), [("soft", 2.900), ("stiff", 17.307)])
def test_in_small_motion_the_joint_is_the_linear_one(outcome, setting, natural):
    found = {name.removeprefix(f"{setting}_"): value for name, value in outcome.metrics.items()}
    assert found["natural_hz"] == pytest.approx(natural, rel=1e-3)
    assert found["lag90_hz"] == pytest.approx(natural, rel=0.01)
    assert found["bandwidth_hz"] == pytest.approx(found["model_bandwidth_hz"], rel=0.02)
    assert found["least_coherence"] > 0.99


def test_the_stiff_joint_resonates_where_the_linear_one_does_and_the_soft_one_does_not(outcome):
    metrics = outcome.metrics
    assert metrics["stiff_resonance_hz"] == pytest.approx(15.81, rel=0.01)
    assert metrics["stiff_resonance_gain"] == pytest.approx(metrics["stiff_model_resonance_gain"], rel=0.02)
    assert math.isnan(metrics["soft_resonance_hz"])
    assert math.isnan(metrics["soft_model_resonance_hz"])


def test_the_published_amplitude_hardens_the_soft_spring_as_harmonic_balance_predicts(outcome):
    metrics = outcome.metrics
    assert metrics["soft_published_lag90_hz"] > 1.1 * metrics["soft_natural_hz"]
    assert metrics["soft_published_lag90_hz"] == pytest.approx(metrics["soft_balance_lag90_hz"], rel=0.02)
    assert metrics["soft_published_bandwidth_hz"] == pytest.approx(metrics["soft_balance_bandwidth_hz"], rel=0.02)
    assert metrics["soft_published_least_coherence"] > 0.97


def test_the_soft_joint_fades_in_the_published_band_and_the_stiff_one_follows(outcome):
    assert outcome.metrics["soft_published_late_gain"] < 0.25
    assert 1.0 < outcome.metrics["stiff_published_late_gain"] < 1.2
    assert all(claim.holds is True for claim in outcome.claims)


def test_a_smaller_chirp_comes_nearer_to_the_linear_joint(outcome):
    smaller = ChirpResponse(amplitude=0.05, wide_duration=20.0).run().metrics
    natural = smaller["soft_natural_hz"]
    assert natural < smaller["soft_published_lag90_hz"] < outcome.metrics["soft_published_lag90_hz"]


@given(st.floats(0.05, 10.0), st.floats(1e-4, 1.0), st.floats(0.01, 3.0))
def test_a_linear_joint_lags_by_a_quarter_turn_at_its_natural_frequency(stiffness, inertia, damping):
    joint = LinearJoint(stiffness, inertia, damping)
    at = joint.natural_frequency
    found = quarter_turn(joint.response([0.9 * at, 0.999 * at, 1.001 * at, 1.1 * at]))
    assert found == pytest.approx(at, rel=1e-3)
    assert quarter_turn(joint.response([0.5 * at, 0.9 * at])) is None


def test_the_figures_show_time_gain_phase_and_coherence(outcome):
    report = Report("")
    ChirpResponse().draw(outcome, report)
    page = report.render()
    assert page.count("<svg") == 2
    for text in ("gain (rad/rad)", "phase (°)", "coherence", "frequency (Hz)", "harmonic balance", "time (s)"):
        assert text in page


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"amplitude": math.nan}, "amplitude"),
        ({"small_amplitude": 0.0}, "constant"),
        ({"soft": 2.0}, "preset"),
        ({"duration": 0.0}, "duration"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, message):
    with pytest.raises(OutOfBoundsError, match=message):
        ChirpResponse(**settings).run()
