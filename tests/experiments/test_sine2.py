import pytest

from pliant.envs.models.arm2 import JOINTS
from pliant.errors import OutOfBoundsError
from pliant.experiments.arm2_runs import SETTINGS
from pliant.experiments.sine2 import SineOfTheArm
from pliant.report import Report

PAIRS = [(setting, joint) for setting in SETTINGS for joint in JOINTS]


@pytest.fixture(scope="module")
def outcome():
    return SineOfTheArm().run()


@pytest.mark.parametrize(("setting", "joint"), PAIRS)
def test_a_link_swings_as_far_as_statics_allows(outcome, setting, joint):
    found = {name.removeprefix(f"{setting}_{joint}_"): value for name, value in outcome.metrics.items()}
    assert found["least_amplitude_rad"] <= found["amplitude_rad"] <= found["most_amplitude_rad"]
    assert found["least_amplitude_rad"] < found["balance_amplitude_rad"] < found["most_amplitude_rad"]
    assert found["delay_s"] == pytest.approx(found["estimated_delay_s"], abs=0.02)


def test_the_softer_arm_sags_more_and_comes_later(outcome):
    for joint in JOINTS:
        assert (
            outcome.metrics[f"soft_{joint}_amplitude_rad"] < outcome.metrics[f"stiff_{joint}_amplitude_rad"] < 0.8
        )
        assert outcome.metrics[f"soft_{joint}_delay_s"] > outcome.metrics[f"stiff_{joint}_delay_s"] > 0.02
    assert all(claim.holds is True for claim in outcome.claims)


def test_without_dry_friction_the_links_come_sooner_by_its_share(outcome):
    smooth = SineOfTheArm(friction=0.0).run().metrics
    for setting, joint in PAIRS:
        name = f"{setting}_{joint}"
        assert smooth[f"{name}_delay_s"] < outcome.metrics[f"{name}_delay_s"]
        assert smooth[f"{name}_delay_s"] == pytest.approx(smooth[f"{name}_estimated_delay_s"], abs=0.012)


def test_the_figure_names_joints_settings_and_units(outcome):
    report = Report("")
    SineOfTheArm().draw(outcome, report)
    page = report.render()
    for text in ("shoulder, soft", "elbow, stiff", "angle (rad)", "static balance", "time (s)"):
        assert text in page


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"amplitude": 0.0}, "amplitude"),
        ({"frequency": -1.0}, "frequency"),
        ({"periods": 1}, "periods"),
        ({"periods": 2.5}, "whole number"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, message):
    with pytest.raises(OutOfBoundsError, match=message):
        SineOfTheArm(**settings)
