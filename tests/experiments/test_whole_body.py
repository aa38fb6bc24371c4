"""Atlas under whole-body control: it stands, falls where it must, and says so."""

import numpy as np
import pytest
from hydra import compose, initialize_config_module

from pliant.conf.build import build
from pliant.controllers.task_space import Status
from pliant.errors import OutOfBoundsError, ShapeError, UnknownNameError
from pliant.experiments.whole_body import WholeBody
from pliant.experiments.whole_body_acts import Step, reach
from pliant.experiments.whole_body_runs import Humanoid, force_on


def kicked(force):
    def act(controller, robot, t):
        robot.data.body("pelvis").xfrc_applied[0] = force if 0.2 <= t < 0.3 else 0.0

    return act


def test_it_stands_and_the_floor_bears_its_weight():
    movement = Humanoid().movement(1.0)
    run = movement.record()
    assert movement.fell == ""
    assert run.com_error[-1] < 1e-3
    weight = 9.81 * movement.control.stack.mechanics.model.body_subtreemass[1]
    assert run.bearing[-1].sum() == pytest.approx(weight, rel=0.01)
    assert run.effort[run.time > 0.2].max() < 0.4
    begun = np.searchsorted(run.time, 0.2)  # the feet have come down
    np.testing.assert_allclose(
        run.soles[begun:], np.broadcast_to(run.soles[-1], run.soles[begun:].shape), atol=5e-4
    )


def test_a_fall_ends_it_with_a_fault():
    movement = Humanoid().movement(2.0, kicked(2000.0))
    run = movement.record()
    assert movement.fell.startswith("it falls")
    assert movement.control.ended.fault
    assert 0.3 < run.time[-1] < 2.0


def test_it_leans_where_the_hand_presses():
    """In the controller's own problem the feet bear at the asked point what the hand presses with."""
    push = {"frame": "right_hand", "axes": ["x"], "wrench": [60.0], "rate": 1e6}
    movement = Humanoid(controller={"forces": {"push": push}}).movement(0.002)
    movement.record()
    stack = movement.control.stack
    hand = stack.mechanics.pose(stack.mechanics.frame("right_hand"))
    sole = stack.mechanics.pose(stack.mechanics.frame("left_sole"))
    weight = 9.81 * stack.mechanics.model.body_subtreemass[1]
    leaning = movement.control.balance.aim(np.array([0.04, 0.0])).target
    assert leaning[0] == pytest.approx(0.04 + 60.0 * (hand[2] - sole[2]) / weight, abs=1e-6)


@pytest.mark.slow
def test_a_foot_is_asked_to_bear_three_tenths_of_the_weight():
    weight = 9.81 * float(Humanoid().movement(0.002).control.stack.mechanics.model.body_subtreemass[1])
    load = {"task": "contact_force", "constraint": "left_foot", "wrench": [0.3 * weight], "level": 2}
    movement = Humanoid(controller={"tasks": {"load": load}}).movement(2.0)
    run = movement.record()
    assert movement.fell == ""
    assert run.bearing[-1, 0] == pytest.approx(0.3 * weight, rel=0.03)
    assert run.bearing[-1].sum() == pytest.approx(weight, rel=0.01)
    assert run.com_error[-1] < 5e-3
    assert not [event for event in movement.control.events if event.text.startswith("load")]


def test_a_foot_that_is_asked_to_bear_more_than_there_is_says_so():
    load = {"task": "contact_force", "constraint": "left_foot", "wrench": [2000.0], "rate": 5000.0, "level": 2}
    movement = Humanoid(controller={"tasks": {"load": load}}).movement(1.0)
    movement.record()
    assert movement.fell == ""
    told = [event.text for event in movement.control.events if event.text.startswith("load")]
    assert len(told) == 1
    assert " N from its target: " in told[0]


def test_contacts_that_cannot_be_kept_end_it_with_a_fault():
    humanoid = Humanoid(model={"torque": 3.0}, controller={"balance": None, "brake_after": 0.05})
    movement = humanoid.movement(0.5)
    run = movement.record()
    assert movement.control.stack.solution.status >= Status.CONSTRAINTS_RELAXED
    assert movement.fell.endswith("for 0.05 s")
    assert run.time[-1] < 0.45


def test_a_body_that_there_is_not_feels_nothing():
    movement = Humanoid().movement(0.002)
    movement.record()
    assert not force_on(movement.robot.model, movement.robot.data, "nobody").any()


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"lift": -1.0}, OutOfBoundsError),
        ({"kicks": [1.0]}, ShapeError),
        ({"targets": [[0.4, 0.1]]}, ShapeError),
        ({"far": [np.nan, 0.0, 0.0]}, OutOfBoundsError),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, error):
    with pytest.raises(error):
        WholeBody(**settings)


def test_entries_of_the_controller_are_checked():
    with pytest.raises(UnknownNameError, match="marginn"):
        Humanoid(controller={"balance": {"marginn": 0.1}}).movement(1.0)
    push = {"frame": "right_hand", "wrench": [1, 2, 3]}
    with pytest.raises(UnknownNameError, match="ratee"):
        Humanoid(controller={"forces": {"a": {**push, "ratee": 1}}}).movement(1.0)
    with pytest.raises(UnknownNameError, match="wrist"):
        Humanoid(controller={"forces": {"a": {**push, "measure": "wrist"}}}).movement(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("target", [(1.2, -0.4, 0.2), (0.4, -0.6, 0.4)], ids=["far", "crossing"])
def test_strict_levels_rest_before_a_target_out_of_reach(target):
    solver = "pliant.controllers.task_space.hierarchical_qp.HierarchicalQP"
    strict = {"_target_": solver, "_partial_": True, "force_regularisation": 1e-8}
    movement = Humanoid(controller={"solver": strict}).movement(5.0, reach(target))
    run = movement.record()
    assert movement.fell == ""
    late = run.time > 4.5
    speeds = np.diff(run.qpos[late, 7:], axis=0) / np.diff(run.time[late])[:, None]
    assert np.abs(speeds).max() < 1e-2, "rad/s"
    assert [event for event in movement.control.events if event.text.startswith("right_hand rests")]


@pytest.mark.slow
def test_torques_do_not_jump_when_a_foot_comes_and_goes():
    """Over the whole of a ramp, against a switch without one."""
    left = {"task": "pose", "frame": "left_sole", "stiffness": 100.0, "damping": 20.0, "level": 2}
    jumps = {}
    for ramp in (0.0, 0.5):
        contacts = {"left_foot": {"ramp": ramp}, "right_foot": {"ramp": ramp}}
        controller = {"tasks": {"left_foot": left}, "constraints": contacts}
        movement = Humanoid(controller=controller).movement(7.0, Step(0.05))
        run = movement.record()
        assert movement.fell == ""
        after = ((run.time > 2.49) & (run.time < 3.09)) | ((run.time > 6.19) & (run.time < 6.8))
        jumps[ramp] = np.abs(np.diff(run.torque, axis=0))[after[1:]].max()
        held = run.soles[(run.time > 4.2) & (run.time < 5.1), 0, 2] - run.soles[0, 0, 2]
        np.testing.assert_allclose(held, 0.05, atol=3e-3)
        off = (run.time > 3.1) & (run.time < 5.9)
        assert run.bearing[off, 0].max() == 0.0
    assert jumps[0.0] > 8.0 * jumps[0.5]


@pytest.mark.slow
def test_the_claims_hold_but_for_those_that_the_page_explains():
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("reproduce", overrides=["+experiment@experiments.whole_body=whole_body"])
    outcome = build(config.experiments.whole_body, "whole_body").run()
    differing = [claim.what for claim in outcome.claims if claim.holds is not None and not claim.holds]
    assert len(differing) == 3
    assert differing[0].startswith("reaching 8 targets by weights")
    assert "leaning" in differing[1]
    assert differing[2] == "reaching with 0.4 of the torques"
