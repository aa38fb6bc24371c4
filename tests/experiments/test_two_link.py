import numpy as np
import pytest

from pliant.controllers.two_link import TwoLinkArm
from pliant.errors import OutOfBoundsError, ShapeError
from pliant.experiments.two_link import TwoLink
from pliant.report import Report

ARMS = [f"{kind}_{plane}" for kind in ("rigid", "soft") for plane in ("vertical", "horizontal")]


@pytest.fixture(scope="module")
def outcome():
    return TwoLink().run()


@pytest.mark.slow
def test_the_simulated_arm_is_the_closed_form(outcome):
    for name in ("mass", "bias", "gravity", "tip"):
        assert outcome.metrics[f"{name}_difference"] < 1e-9


@pytest.mark.slow
def test_both_elbows_lead_to_the_point_and_nothing_leads_out_of_reach(outcome):
    assert outcome.metrics["inverse_position_error_m"] < 1e-9
    assert outcome.metrics["inverse_angle_error_rad"] < 1e-9
    assert outcome.metrics["unreachable_refused"] == outcome.metrics["unreachable_asked"] > 0


@pytest.mark.parametrize("kind", ["rigid", "soft"])
def test_pd_alone_rests_where_statics_say(outcome, kind):
    rest, statics = (outcome.metrics[f"{kind}_vertical_pd_{name}_m"] for name in ("rest", "statics"))
    assert statics > 0.05
    assert rest == pytest.approx(statics, abs=1e-4)


@pytest.mark.parametrize("arm", ARMS)
def test_gravity_compensation_or_an_integral_takes_the_error_at_rest_away(outcome, arm):
    for feedback in ("pid", "pd_g", "pid_g"):
        assert outcome.metrics[f"{arm}_{feedback}_rest_m"] < 1e-4


@pytest.mark.parametrize("kind", ["rigid", "soft"])
def test_on_a_path_compensation_is_better_than_an_integral(outcome, kind):
    pd, pid, compensated = (outcome.metrics[f"{kind}_vertical_{f}_circle_rms_m"] for f in ("pd", "pid", "pd_g"))
    assert compensated < 0.6 * pid < 0.4 * pd


def test_lying_there_is_nothing_to_compensate(outcome):
    for kind in ("rigid", "soft"):
        plain, compensated = (outcome.arrays[f"{kind}_horizontal_{f}_tip"] for f in ("pd", "pd_g"))
        np.testing.assert_allclose(plain, compensated, atol=1e-12)


def test_spring_and_damper_are_a_pd_controller(outcome):
    for plane in ("vertical", "horizontal"):
        for feedback in ("pd", "pid", "pd_g", "pid_g"):
            rigid, soft = (outcome.arrays[f"{kind}_{plane}_{feedback}_tip"] for kind in ("rigid", "soft"))
            assert np.abs(rigid - soft).max() < 0.012


@pytest.mark.parametrize("arm", ARMS)
def test_what_is_watched_is_what_was_measured(outcome, arm):
    closed_form = TwoLinkArm()
    for feedback in ("pd", "pid_g"):
        movement = TwoLink().movement(f"{arm}_{feedback}")
        tips = [closed_form.forward_kinematics(state.position) for state in movement.states()]
        np.testing.assert_array_equal(tips, outcome.arrays[f"{arm}_{feedback}_tip"])


def test_soft_joints_begin_unloaded():
    state = TwoLink().movement("soft_vertical_pd").begin()
    np.testing.assert_allclose(state.torque, 0.0, atol=1e-9)


def test_every_claim_holds(outcome):
    assert len(outcome.claims) == 10
    assert all(claim.holds is True for claim in outcome.claims)


def test_the_figures_name_arms_feedbacks_and_units(outcome):
    pytest.importorskip("matplotlib")
    report = Report("")
    TwoLink().draw(outcome, report)
    page = report.render()
    for text in ("rigid, vertical", "soft, horizontal", "PID + g", "x (m)", "error (mm)", "time (s)"):
        assert text in page


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"kp": 0.0}, OutOfBoundsError, "two-link: kp"),
        ({"period": np.nan}, OutOfBoundsError, "two-link: period"),
        ({"centre": (1.0,)}, ShapeError, "two-link: centre"),
        ({"centre": (1.9, 0.0), "move": 0.1, "hold": 0.1}, OutOfBoundsError, "too far"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, error, message):
    with pytest.raises(error, match=message):
        TwoLink(**settings).run()
