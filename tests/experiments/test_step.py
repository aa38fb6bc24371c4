import numpy as np
import pytest

from pliant.actuators import StabilityError, find_law
from pliant.errors import OutOfBoundsError
from pliant.experiments.step import StepResponse, flung_speed
from pliant.report import Report

REST = {
    "sea_soft": 0.7997, "sea_stiff": 0.7999, "awas2_soft": 0.7799, "awas2_stiff": 0.8000,
    "bavs_soft": 0.7944, "bavs_stiff": 0.7988, "qbmove_soft": 0.5777, "qbmove_stiff": 0.7854,
}  # fmt: skip
STIFFNESS = {
    "qbmove_soft": 0.1063, "qbmove_stiff": 3.784, "bavs_soft": 10.03, "bavs_stiff": 45.57,
    "awas2_soft": 2.743, "awas2_stiff": 3555.6, "sea_soft": 200.0, "sea_stiff": 400.0,
}  # fmt: skip
INERTIA = 3.2e-4


@pytest.fixture(scope="module")
def outcome():
    return StepResponse().run()


@pytest.mark.parametrize("name", REST)
def test_every_actuator_rests_at_the_published_angle(outcome, name):
    assert outcome.metrics[f"{name}_rest_rad"] == pytest.approx(REST[name], abs=1e-3)
    assert outcome.metrics[f"{name}_balance_rad"] == pytest.approx(REST[name], abs=1e-4)


@pytest.mark.parametrize("name", STIFFNESS)
def test_every_unloaded_actuator_has_the_published_stiffness(outcome, name):
    assert outcome.metrics[f"{name}_stiffness"] == pytest.approx(STIFFNESS[name], rel=1e-3)


def test_what_is_watched_is_what_was_measured(outcome):
    movements = StepResponse().movements()
    assert sorted(movements) == sorted(REST)
    for name, movement in movements.items():
        positions = [state.position[0] for state in movement().states()]
        np.testing.assert_array_equal(positions, outcome.arrays[f"{name}_position"])


def test_all_claims_agree(outcome):
    assert len(outcome.claims) == 8
    assert all(claim.holds is True for claim in outcome.claims)


def test_no_link_is_faster_than_the_energy_in_its_spring_allows(outcome):
    for name in REST:
        if not outcome.metrics[f"{name}_ramped"]:
            speed = np.abs(np.diff(outcome.arrays[f"{name}_position"])).max() / 1e-3
            assert 0.1 * outcome.metrics[f"{name}_flung_speed"] < speed < outcome.metrics[f"{name}_flung_speed"]


def test_only_the_stiff_awas2_is_too_violent_for_a_step(outcome):
    ramped = [name for name in REST if outcome.metrics[f"{name}_ramped"]]
    assert ramped == ["awas2_stiff"]
    rate = np.diff(outcome.arrays["awas2_stiff_reference"]).max() / 1e-3
    assert rate == pytest.approx(6.0, rel=1e-6)
    assert any("AwAS-II stiff" in note for note in outcome.notes)


def test_a_small_step_is_a_step_for_all_and_comes_to_rest_in_balance():
    small = StepResponse(angle=-0.1, timestep=2e-4).run()
    assert not any(small.metrics[f"{name}_ramped"] for name in REST)
    assert all(claim.holds for claim in small.claims)
    assert small.metrics["qbmove_soft_rest_rad"] < -0.05


def test_a_linear_spring_flings_a_link_at_the_root_of_stiffness_over_inertia():
    assert flung_speed(find_law("sea")("soft"), 0.0, 0.5, INERTIA) == pytest.approx(0.5 * np.sqrt(200.0 / INERTIA))


def test_the_figure_has_a_panel_per_actuator(outcome):
    report = Report("")
    StepResponse().draw(outcome, report)
    page = report.render()
    assert page.count("<svg") == 1
    for text in ("SEA", "AwAS-II", "BAVS", "qbMove", "link angle (rad)", "time (s)"):
        assert text in page


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"angle": np.nan}, OutOfBoundsError, "step: angle"),
        ({"at": 2.0}, OutOfBoundsError, "step: at"),
        ({"duration": -1.0}, OutOfBoundsError, "step: duration"),
        ({"motor_speed": 0.0}, OutOfBoundsError, "step: motor_speed"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, error, message):
    with pytest.raises(error, match=message):
        StepResponse(**settings)


def test_the_toolbox_time_step_is_too_long_for_the_stiffest_setting():
    with pytest.raises(StabilityError, match="awas2"):
        StepResponse(timestep=1e-3).run()
