"""Task-space control of a UR10 and of Atlas: laws against closed forms, limits, rest, lag, noise."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hydra import compose, initialize_config_module

from pliant.conf.build import build
from pliant.errors import OutOfBoundsError, ShapeError
from pliant.experiments.task_runs import Round, peak_to_peak, reached, rms, robot_of, shares_of_limits
from pliant.experiments.task_space_atlas import Swing, TaskSpaceAtlas
from pliant.experiments.task_space_law import WrittenLaw
from pliant.experiments.task_space_ur10 import TaskSpaceUr10
from pliant.report import Report

T = np.linspace(0.0, 6.0, 4001)


def experiment(name):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("reproduce", overrides=[f"+experiment@experiments.{name}={name}"])
    return build(config.experiments[name], name)


@pytest.mark.parametrize("kind", [TaskSpaceUr10, TaskSpaceAtlas])
def test_the_configuration_says_what_the_class_does(kind):
    found, own = experiment("task_space_ur10" if kind is TaskSpaceUr10 else "task_space_atlas"), kind()
    for field in fields(kind):
        np.testing.assert_allclose(getattr(found, field.name), getattr(own, field.name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["task_space_ur10", "task_space_atlas"])
def test_every_claim_holds_and_is_drawn(name):
    pytest.importorskip("matplotlib")
    found = experiment(name)
    outcome = found.run()
    assert [claim.what for claim in outcome.claims if claim.holds is False] == []
    report = Report("")
    found.draw(outcome, report)
    assert report.render().count("<figure>") >= 3


@pytest.mark.parametrize(
    "path",
    [Round(np.array([0.1, 0.2, 0.3]), 0.2, 3.0), Swing(np.array([0.0, 0.9]), 0.1, 3.14, 2.0)],
)
def test_speeds_of_moving_targets_are_the_rates_of_their_positions(path):
    rate = np.gradient(path.position(T), T, axis=0, edge_order=2)
    np.testing.assert_allclose(path.velocity(T), rate, atol=2e-5)


def test_a_swing_begins_at_rest_where_the_pelvis_stands():
    swing = Swing(np.array([0.0, 0.9]), 0.1, 3.14, 2.0)
    np.testing.assert_allclose(swing.position(0.0), [0.0, 0.9])
    np.testing.assert_allclose(swing.velocity(0.0), 0.0)
    assert np.abs(swing.position(T)[T > 2.0] - swing.start).max() == pytest.approx(0.1, rel=1e-4)


def test_a_way_to_the_target_is_that_of_a_damped_point_and_passes_the_speed_limits():
    found = replace(TaskSpaceUr10(), duration=1.0)
    movement = found.movement("reach_recursion")
    run = movement.record()
    way = np.linalg.norm(found.begin - found.target)
    expected = way * (1.0 + 15.0 * run.time) * np.exp(-15.0 * run.time)
    assert np.abs(run.error(found.target) - expected).max() < 0.02 * way
    assert np.abs(run.speeds).max() == pytest.approx(13.8, abs=0.2)
    assert shares_of_limits(movement, run)["speed"].max() > 4.0


@pytest.mark.parametrize("law", ["weighted", "hierarchical"])
def test_a_qp_passes_no_limit(law):
    found = replace(TaskSpaceUr10(), duration=1.0)
    movement = found.movement(f"reach_{law}")
    run = movement.record()
    assert run.error(found.target)[-1] < 1e-4
    for share in shares_of_limits(movement, run).values():
        assert share.max() <= 1.0 + 1e-9


@pytest.mark.parametrize("law", ["recursion", "hierarchical"])
def test_a_target_out_of_reach_is_rested_before_and_the_reason_told(law):
    movement = TaskSpaceUr10().movement(f"beyond_{law}")
    assert peak_to_peak(movement.record(), 0.5) < 1e-3
    at_once, resting = movement.controller.events
    assert at_once.time == 0.0
    assert at_once.text.endswith(" m beyond all links together")
    assert resting.text.partition(": ")[2] == "no joint moves it that way: stretched out, or singular"


def test_the_plain_inverse_does_not_rest_before_a_target_out_of_reach():
    assert peak_to_peak(TaskSpaceUr10().movement("beyond_plain").record(), 0.5) > 1e-3


def test_the_formula_written_out_is_the_recursion():
    found = replace(TaskSpaceUr10(), duration=0.6)
    one, other = (found.movement(name).record() for name in ("reach_recursion", "written"))
    np.testing.assert_allclose(one.tool, other.tool, atol=1e-4)
    assert isinstance(found.movement("written").controller, WrittenLaw)


def test_equal_damping_of_all_joints_cannot_be_sampled():
    run = replace(TaskSpaceUr10(), duration=0.5).movement("uniform").record()
    assert np.abs(run.speeds[-100:, 5]).max() > 10.0


def test_noise_is_the_same_every_time_and_less_with_a_sensed_tool():
    found = replace(TaskSpaceUr10(), duration=1.5)
    first, again, sensed = (found.movement(f"noise_0.01{how}").record() for how in ("", "", "_sensed"))
    np.testing.assert_array_equal(first.tool, again.tool)
    plain, better = (rms(run.after(1.0).error(found.target)) for run in (first, sensed))
    assert 5e-4 < plain < 2e-3
    assert better < 0.4 * plain


@pytest.mark.slow
def test_a_pelvis_whose_speed_is_not_known_makes_the_hand_late():
    found = replace(TaskSpaceAtlas(), ramp=0.5, duration=2.5, rates=(6.28,))
    late = {}
    for known in ("pose", "velocity"):
        run = found.movement(f"pelvis_6.28_{known}").record().after(1.5)
        late[known] = rms(run.error(found.target))
    assert late["pose"] == pytest.approx(found._late(run, 6.28), rel=0.1)
    assert late["velocity"] < 0.1 * late["pose"]


def test_the_hand_is_blocked_by_ends_of_joints_that_are_named():
    movement = TaskSpaceAtlas().movement("low_recursion")
    run = movement.record()
    assert run.error(TaskSpaceAtlas().low)[-1] > 5e-3
    blocked = [event.text for event in movement.controller.events if event.text.startswith("hand rests")]
    assert len(blocked) == 1
    assert "end of" in blocked[0]


def test_times_until_an_error_stays_small():
    time = np.arange(5.0)
    assert reached(time, np.array([3.0, 0.1, 2.0, 0.1, 0.2]), 1.0) == 3.0
    assert reached(time, np.zeros(5), 1.0) == 0.0
    assert np.isnan(reached(time, np.ones(5) * 2.0, 1.0))


def test_a_robot_with_another_period_steps_with_it():
    found = robot_of("ur10", 0.004, {"mode": "torque"}, simulation={"position_noise": 0.1})
    assert found.period == found.model.spec.option.timestep == 0.004
    assert found.simulation["position_noise"] == 0.1
    assert found.simulation["velocity_noise"] == 0.0


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"target": (0.0, 1.0)}, ShapeError, "task_space_ur10: target"),
        ({"beyond": (0.0, 1.0, np.nan)}, OutOfBoundsError, "beyond"),
        ({"damping": 0.0}, OutOfBoundsError, "damping"),
        ({"noise": (0.1, 0.0)}, OutOfBoundsError, "noise"),
        ({"noise": ()}, ShapeError, "noise"),
        ({"posture": (0.0,)}, ShapeError, "posture"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings, error, text):
    with pytest.raises(error, match=text):
        TaskSpaceUr10(**settings)
    shared = {key: value for key, value in settings.items() if key in ("target", "damping", "noise")}
    if shared:
        with pytest.raises(error, match=text.removeprefix("task_space_ur10: ")):
            TaskSpaceAtlas(**shared)


@pytest.mark.slow
def test_strict_levels_rest_where_a_trunk_at_its_ends_keeps_the_hand_from_its_target():
    """With the pelvis 20 mm higher than it stands the hand does not come down to the lower target."""
    found = replace(TaskSpaceAtlas(), height=0.905)
    movement = found.movement("low_hierarchical")
    run = movement.record()
    assert 0.007 < run.error(found.low)[-1] < 0.009, "m"
    assert peak_to_peak(run, 1.0) < 1e-5, "m"
    assert np.abs(run.after(3.0).speeds).max() < 1e-2, "rad/s"
    told = [event.text for event in movement.controller.events if event.text.startswith("hand rests")]
    (said,) = told
    distance, _, ends = said.removeprefix("hand rests ").partition(" from its target: ")
    assert float(distance) == pytest.approx(run.error(found.low)[-1], rel=0.02)
    assert ends == "upper end of back_bky, upper end of back_bkx"


def test_strict_levels_rest_before_a_target_out_of_reach():
    found = replace(TaskSpaceUr10(), duration=3.0)
    run = found.movement("beyond_hierarchical").record()
    assert peak_to_peak(run, 0.5) < 1e-4, "m"
    assert np.abs(run.after(2.5).speeds).max() < 1e-2, "rad/s"
