import numpy as np
import pytest

from pliant.envs.rendering import RenderingError
from pliant.errors import OutOfBoundsError, ShapeError
from pliant.experiments import interaction
from pliant.experiments.interaction import Interaction
from pliant.report import Report

pytest.importorskip("mink")


@pytest.fixture(scope="module")
def outcome():
    return Interaction().run()


@pytest.mark.slow
def test_the_box_holds_the_soft_arm(outcome):
    assert outcome.metrics["soft_box_moved_m"] < 5e-3
    assert outcome.metrics["soft_error_m"] > 50e-3
    assert 0.1 < outcome.metrics["soft_force_N"] < 0.8 * outcome.metrics["slides_at_N"]


@pytest.mark.slow
def test_the_stiff_arm_moves_the_box_and_arrives(outcome):
    assert outcome.metrics["stiff_error_m"] < 15e-3
    assert outcome.metrics["stiff_box_moved_m"] > 25e-3


def test_without_the_box_the_springs_carry_the_arm_to_the_goal_but_for_dry_friction(outcome):
    for setting, error in (("soft", 10e-3), ("stiff", 2e-3)):
        assert outcome.metrics[f"{setting}_free_error_m"] < error
        assert outcome.metrics[f"{setting}_free_deviation_m"] < 0.015


def test_both_arms_get_the_same_reference_and_differ_in_the_preset_alone(outcome):
    soft, stiff = (outcome.arrays[f"{setting}_command"] for setting in ("soft", "stiff"))
    assert (soft[:, 1::2] == 0.2).all()
    assert (stiff[:, 1::2] == 0.6).all()
    start = outcome.arrays["soft_tip"][0]
    np.testing.assert_allclose(outcome.arrays["reference"][0], start, atol=1e-9)
    way = outcome.arrays["reference"][-1] - start
    np.testing.assert_allclose(way, 0.072 * np.array([np.cos(0.54), np.sin(0.54), 0.0]), atol=1e-9)


def test_nothing_touches_the_box_before_the_arm_gets_there(outcome):
    for setting in ("soft", "stiff"):
        force, tip = (outcome.arrays[f"{setting}_{name}"] for name in ("force", "tip"))
        first = int(np.argmax(force > 0.01))
        assert 0.010 < np.linalg.norm(tip[first] - tip[0]) < 0.025
        assert np.abs(outcome.arrays[f"{setting}_box"][:first] - outcome.arrays[f"{setting}_box"][0]).max() < 5e-4


@pytest.mark.parametrize("setting", ["soft", "stiff"])
def test_what_is_watched_is_what_was_measured(outcome, setting):
    movement = Interaction().movement(setting)
    coordinates = [movement.robot.data.qpos.copy() for _ in movement.states()]
    np.testing.assert_array_equal(coordinates, outcome.arrays[f"{setting}_qpos"])


def test_every_claim_holds(outcome):
    assert len(outcome.claims) == 5
    assert all(claim.holds is True for claim in outcome.claims)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"duration": 2.5}, {"duration": 10.0}, {"box": (0.2396, 0.1055)}])
def test_speed_and_place_of_the_box_do_not_decide(settings):
    assert all(claim.holds is True for claim in Interaction(**settings).run().claims)


@pytest.mark.slow
def test_a_heavier_box_holds_the_stiff_arm_too():
    metrics = Interaction(mass=30.0, duration=2.0, hold=1.0).run().metrics
    assert metrics["stiff_box_moved_m"] < 5e-3
    assert metrics["stiff_error_m"] > 15e-3


def test_the_figure_names_settings_and_units(outcome, monkeypatch):
    pytest.importorskip("matplotlib")

    def refuse(*_):
        raise RenderingError("no OpenGL")

    monkeypatch.setattr(interaction.OffscreenRenderer, "render", refuse)
    report = Report("")
    Interaction().draw(outcome, report)
    page = report.render()
    for text in (
        "No pictures: no OpenGL",
        "distance to the goal (mm)",
        "way of the box (mm)",
        "force on the box (N)",
    ):
        assert text in page


@pytest.mark.slow
def test_the_film_shows_both_arms_at_the_goal_and_before_the_box(outcome):
    pytest.importorskip("matplotlib")
    report = Report("")
    Interaction().draw(outcome, report)
    page = report.render()
    if "No pictures" in page:
        pytest.skip("MuJoCo cannot draw here")
    assert page.count("data:image/webp") == 1
    assert page.count("data:image/png") == 1


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"start": (0.0, 0.0)}, ShapeError, "interaction: start"),
        ({"way": 0.0}, OutOfBoundsError, "interaction: way"),
        ({"hold": np.nan}, OutOfBoundsError, "interaction: hold"),
        ({"stiff": 0.7}, OutOfBoundsError, "interaction: stiff"),
        ({"heading": 7.0}, OutOfBoundsError, "interaction: heading"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, error, message):
    with pytest.raises(error, match=message):
        Interaction(**settings)


def test_a_line_along_which_the_springs_cannot_carry_the_arm_is_refused():
    with pytest.raises(OutOfBoundsError, match=r"joint 0: the springs of law 'qbmove' at preset 0\.2 carry"):
        Interaction(way=0.4).run()
