import numpy as np
import pytest

from pliant.envs.models.arm2 import JOINTS
from pliant.errors import OutOfBoundsError, ShapeError
from pliant.experiments.arm2_runs import SETTINGS
from pliant.experiments.steps2 import StepsOfTheArm
from pliant.report import Report

PAIRS = [(setting, joint) for setting in SETTINGS for joint in JOINTS]


@pytest.fixture(scope="module")
def outcome():
    return StepsOfTheArm().run()


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "joint"), PAIRS)
def test_a_link_rests_where_an_independent_arm_with_coulomb_friction_does(outcome, setting, joint):
    found = {name.removeprefix(f"{setting}_{joint}_"): value for name, value in outcome.metrics.items()}
    assert found["worst_rest_error_rad"] < 2e-3
    assert found["held_rad"] > 0.4 * found["friction_band_rad"]
    assert found["speed_at_rest"] < 1e-4


@pytest.mark.slow
def test_without_dry_friction_the_links_rest_in_the_balance():
    smooth = StepsOfTheArm(friction=0.0, levels=(0.0, 0.6, -0.2)).run().metrics
    for setting, joint in PAIRS:
        assert smooth[f"{setting}_{joint}_worst_rest_error_rad"] < 1e-3


@pytest.mark.slow
def test_the_motors_stand_at_equilibrium_plus_and_minus_preset(outcome):
    for setting, preset in (("soft", 0.2), ("stiff", 0.6)):
        motors = outcome.arrays[f"{setting}_motor_position"][-1]
        np.testing.assert_allclose(motors, [preset, -preset] * 2, atol=0.006)
        np.testing.assert_allclose(outcome.arrays[f"{setting}_motor_reference"][-1], [preset, -preset] * 2)


@pytest.mark.slow
def test_the_stiff_arm_is_quicker(outcome):
    for joint in JOINTS:
        assert outcome.metrics[f"stiff_{joint}_delay_s"] < outcome.metrics[f"soft_{joint}_delay_s"] < 0.3
    assert all(claim.holds is True for claim in outcome.claims)


@pytest.mark.slow
def test_the_figure_names_joints_settings_and_units(outcome):
    report = Report("")
    StepsOfTheArm().draw(outcome, report)
    page = report.render()
    assert page.count("<figure>") == 2
    for text in (
        "Coulomb arm",
        "link from balance (mrad)",
        "shoulder, soft",
        "elbow, stiff",
        "angle (rad)",
        "motor references",
        "time (s)",
    ):
        assert text in page


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"levels": (0.0,)}, ShapeError, "two or more"),
        ({"levels": (0.0, 0.4, 0.4)}, ShapeError, "unlike the one before"),
        ({"levels": (0.0, np.nan)}, OutOfBoundsError, "levels"),
        ({"hold": 0.0}, OutOfBoundsError, "hold"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, error, message):
    with pytest.raises(error, match=message):
        StepsOfTheArm(**settings)
