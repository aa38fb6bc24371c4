"""The hexapod's experiments: torques of a leg, steps in the air, strides."""

from dataclasses import fields

import numpy as np
import pytest
from hydra import compose, initialize_config_module

from pliant.conf.build import build
from pliant.envs.models.hexapod import REFERENCE_SERVO
from pliant.errors import ConfigurationError, OutOfBoundsError, PliantError, ShapeError, UnknownNameError
from pliant.experiments.hexapod_gait import Condition, HexapodGait, legs_apart, touching_stroke
from pliant.experiments.hexapod_gait_checks import LIMIT
from pliant.experiments.hexapod_step import AT, CYCLE, HexapodStep, Step
from pliant.experiments.hexapod_torque import HexapodTorque
from pliant.report import Report

KINDS = {"hexapod_torque": HexapodTorque, "hexapod_step": HexapodStep, "hexapod_gait": HexapodGait}
DIFFERS = {
    "hexapod_torque": (),
    "hexapod_step": (),
    "hexapod_gait": ("0.25 m/s with 19 ms", "4 ms a step", "friction 1.2, stride"),
}
"""Claims that do not hold, and why, is told in the notes."""


def experiment(name):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("reproduce", overrides=[f"+experiment@experiments.{name}={name}"])
    return build(config.experiments[name], name)


@pytest.mark.parametrize("name", KINDS)
def test_the_configuration_says_what_the_class_does(name):
    found, own = experiment(name), KINDS[name]()
    for field in fields(own):
        value = getattr(own, field.name)
        same = value if isinstance(value, str | float) else pytest.approx(tuple(value))
        assert getattr(found, field.name) == same


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_the_claims_hold_but_for_those_that_are_known_not_to(name):
    pytest.importorskip("matplotlib")
    found = experiment(name)
    outcome = found.run()
    failed = [claim.what for claim in outcome.claims if claim.holds is False]
    assert [what for what in failed if not any(part in what for part in DIFFERS[name])] == []
    report = Report("")
    found.draw(outcome, report)
    assert report.render().count("<figure>") >= 1


@pytest.mark.slow
def test_a_stretched_leg_is_where_statics_have_it():
    """Four times as fast as in the experiment, from −45° on: within 0.03 N·m while the foot slides."""
    found = HexapodTorque(frictions=(0.3,), duration=8.0, approach=2.0)
    run = found.record(0.3, 0)
    k = [run.at(degrees) for degrees in (-40.0, -30.0, -15.0, 0.0)]
    np.testing.assert_allclose(run.tibia[k], run.statics.tibia[k], atol=0.03)
    np.testing.assert_allclose(run.femur[k], run.statics.femur[k], atol=0.03)
    np.testing.assert_allclose(run.force[k], run.statics.force[k, 0], atol=0.2)
    np.testing.assert_allclose(run.femur_told[k], run.femur[k], atol=0.03)
    assert (np.diff(run.tibia[k]) > 0.1).all()
    assert run.stalled is None
    assert run.off is None
    assert (run.upright.tibia[k] > run.statics.tibia[k] + 0.1).all()


@pytest.mark.slow
def test_a_loaded_leg_stalls_and_switches_itself_off_two_seconds_later():
    found = HexapodTorque(frictions=(0.05,), shown=0.05, duration=8.0, approach=2.0)
    run = found.record(0.05, 2)
    assert run.stalled is not None
    assert run.off is not None
    stalled = run.time[run.stalled : run.off]
    assert stalled[-1] - stalled[0] == pytest.approx(2.0, abs=0.15)
    held = slice(run.stalled, run.off - 1)
    np.testing.assert_allclose(run.femur_told[held], 1.5, atol=1e-9)
    assert (run.femur[held] > 1.45).all(), "and more where it gives way"
    assert abs(run.femur[run.off + 2]) < 0.05
    assert run.force[-1] < 0.5 * run.force[0]


@pytest.fixture(scope="module")
def steps():
    found = HexapodStep(duration=0.45)
    return {
        name: found.record(name) for name in ("reference_coxa+_large", "found_coxa+_large", "cycle_coxa+_large")
    }


@pytest.mark.slow
def test_a_step_goes_as_the_servos_equations_say(steps):
    own = HexapodStep(duration=0.45).integrated("reference", 0.5236)
    read = steps["reference_coxa+_large"]
    assert read.rise == pytest.approx(own.rise, abs=1e-3)
    assert read.rise == pytest.approx(0.077, abs=0.004)
    assert read.speed == pytest.approx(own.speed, abs=0.02)
    assert read.overshoot < 0.009
    assert steps["found_coxa+_large"].overshoot > 0.1


def test_servos_are_read_every_third_transaction_or_once_a_cycle(steps):
    for name, every in (("reference_coxa+_large", 0.003), ("cycle_coxa+_large", CYCLE)):
        time = steps[name].time
        np.testing.assert_allclose(np.diff(time), every, atol=1e-9)
        assert time[0] < 0.0
    late = steps["cycle_coxa+_large"].time
    middle_left_coxa = 13
    np.testing.assert_allclose((late + round(AT / CYCLE) * CYCLE) % CYCLE, middle_left_coxa * 1e-3, atol=1e-9)


def test_readings_of_a_cycle_are_the_angles_at_their_instants(steps):
    """The step comes at a multiple of each period; between readings of every third transaction are lines."""
    fine, coarse = steps["reference_coxa+_large"], steps["cycle_coxa+_large"]
    expected = np.interp(coarse.time, fine.time, fine.position)
    here = (coarse.time > 0.0) & (coarse.time < 0.3)
    np.testing.assert_allclose(coarse.position[here], expected[here], atol=0.02)


def test_rise_and_overshoot_of_a_line_and_of_a_bump():
    time = np.linspace(-0.1, 1.0, 12)
    assert Step(time, np.clip(time, 0.0, None), 1.0, 0.0).rise == pytest.approx(0.8)
    assert Step(time, np.r_[np.zeros(5), 0.6, 1.2, np.ones(5)], 1.0, 0.0).overshoot == pytest.approx(0.2)


def test_legs_touch_from_a_stroke_on_that_is_shorter_the_thicker_they_are():
    strokes = [touching_stroke(thickness) for thickness in (0.01, 0.02, 0.028)]
    assert strokes == sorted(strokes, reverse=True)
    for thickness, stroke in zip((0.01, 0.02, 0.028), strokes, strict=True):
        assert legs_apart(stroke) == pytest.approx(thickness, abs=1e-4)
        assert np.rad2deg(stroke) == pytest.approx({0.01: 75.0, 0.02: 70.0, 0.028: 65.0}[thickness], rel=0.05)


@pytest.fixture(scope="module")
def walks():
    found = HexapodGait(duration=4.0)
    return {walk.factor: walk for walk in found.walk(Condition(0.012, 0.5), [1.0, 5.0, 6.0])}


@pytest.mark.slow
def test_strides_of_a_short_walk(walks):
    """Speeds of a prototype within 5 %; five times the stride is clean, at six times neighbours collide."""
    for factor, speed in ((1.0, 0.0505), (5.0, 0.2655), (6.0, 0.316)):
        assert walks[factor].measures.speed == pytest.approx(speed, rel=0.05)
    assert walks[5.0].peak == pytest.approx(1.02, rel=0.1)
    assert walks[5.0].peak < LIMIT
    assert not walks[5.0].measures.collisions
    assert set(walks[6.0].measures.collisions) & {"front_left_meets_middle_left", "front_right_meets_middle_right"}


@pytest.mark.slow
def test_position_errors_tell_too_much_of_a_moving_joint(walks):
    for walk in walks.values():
        assert walk.estimate_error("femur") > 0.2
        assert max(walk.measures.peak_estimated_torque.values()) > walk.peak


@pytest.mark.slow
def test_readings_one_after_another_are_up_to_some_degrees_old():
    """3.2° of a prototype, at the default stride, of a femur."""
    found, condition = HexapodGait(duration=5.0), Condition(0.019, 0.8)
    walk = found.walk(condition, [1.0])[0]
    angles = []
    for transaction in (0.0, 1e-3):
        with found.robot(condition, transaction=transaction) as robot:
            angles.append(robot.rollout(walk.command).position)
    skew = np.rad2deg(np.abs(angles[1] - angles[0]).max(axis=0))
    assert skew.max() == pytest.approx(3.2, abs=0.4)
    assert robot.info.joints[int(skew.argmax())].endswith("femur")


@pytest.mark.parametrize(
    ("kind", "settings", "error", "text"),
    [
        (HexapodTorque, {"frictions": (0.5, 0.1)}, OutOfBoundsError, "frictions"),
        (HexapodTorque, {"frictions": 0.3}, ShapeError, "frictions"),
        (HexapodTorque, {"shown": 0.4}, ConfigurationError, "shown is 0.4"),
        (HexapodTorque, {"duration": float("nan")}, OutOfBoundsError, "duration"),
        (HexapodTorque, {"approach": 0.0}, OutOfBoundsError, "approach"),
        (HexapodTorque, {"period": 0.0}, OutOfBoundsError, "period"),
        (HexapodStep, {"leg": "left"}, UnknownNameError, "unknown leg 'left'"),
        (HexapodStep, {"large": 2.0}, OutOfBoundsError, "large"),
        (HexapodStep, {"transaction": 0.002}, OutOfBoundsError, "transaction"),
        (HexapodStep, {"duration": 0.1}, OutOfBoundsError, "duration"),
        (HexapodGait, {"factors": ()}, ShapeError, "factors"),
        (HexapodGait, {"steps": (0.0, 0.1)}, OutOfBoundsError, "steps"),
        (HexapodGait, {"shown": (0.012, 0.7)}, ConfigurationError, "shown is"),
        (HexapodGait, {"shown": None}, PliantError, "shown"),
        (HexapodGait, {"thickness": 0.1}, OutOfBoundsError, "thickness"),
        (HexapodGait, {"duration": 1.0}, OutOfBoundsError, "duration"),
    ],
)
def test_wrong_settings_are_refused_by_name(kind, settings, error, text):
    with pytest.raises(error, match=text):
        kind(**settings)


@pytest.mark.slow
def test_movements_begin_with_the_one_to_look_at_first():
    assert next(iter(HexapodTorque().movements())) == "friction_0.3_batteries_0"
    assert next(iter(HexapodGait().movements())) == "stride_6_step_12_friction_0.5"
    assert next(iter(HexapodStep().movements())) == "reference_coxa+_large"
    movement = HexapodGait().movement("stride_5_step_19_friction_0.8")
    assert movement.robot.info.period == 0.019
    assert movement.robot.model.geom("front_left_foot").friction[0] == 0.8
    assert REFERENCE_SERVO["armature"] == pytest.approx(
        movement.robot.model.dof_armature[movement.robot.model.joint("rear_left_coxa").dofadr[0]]
    )
