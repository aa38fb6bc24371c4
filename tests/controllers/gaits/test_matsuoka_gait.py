import numpy as np
import pytest

from pliant.controllers.gaits import MatsuokaGait, Update, hexapod_legs
from pliant.errors import OutOfBoundsError

LEGS = hexapod_legs()
STEP = 0.019


def settled(info, at, walk, **settings):
    gait = MatsuokaGait.published(info, **settings)
    gait.reset(at(LEGS.stand.ravel()))
    walk(gait, 10.0)
    return gait


@pytest.mark.parametrize("factor", [1.0, 5.0])
def test_the_coxa_integrates_c_a_step_about_its_middle(info, at, walk, factor):
    gait = settled(info, at, walk, factor=factor)
    targets = walk(gait, 4.0, begin=10.0).reshape(-1, 6, 3)
    coxa = (targets[..., 0] - LEGS.stand[:, 0]) * LEGS.sides
    half = 0.5 * 0.005 * factor * 0.5 * 80.688
    np.testing.assert_allclose(coxa.max(axis=0), half, atol=1.5 * 0.005 * factor)
    np.testing.assert_allclose(coxa.min(axis=0), -half, atol=1.5 * 0.005 * factor)
    steps = np.abs(np.diff(coxa, axis=0))
    np.testing.assert_allclose(np.median(steps), 0.005 * factor, rtol=1e-6)


def test_femur_and_tibia_follow_the_output(info, at, walk):
    gait = settled(info, at, walk)
    feet = LEGS.forward_kinematics(LEGS.stand)
    feet[:, 2] = -gait.height
    middle = LEGS.inverse_kinematics(feet)
    for k in range(200):
        target = gait.update(None, 10.0 + STEP * (k + 1))[::-1].reshape(6, 3)
        if gait.held_back > 0.0:
            continue
        lifted = (target - middle) * LEGS.sides[:, None]
        # angles lie between the last two steps; the period is as long as a step, so that they lie at one of them
        rule = lifted[:, 1] - np.where(lifted[:, 2] < 0.0, -21.0, -21.0 * 0.025) * lifted[:, 2]
        np.testing.assert_allclose(rule, 0.0, atol=1e-9)


@pytest.mark.parametrize(("step", "speed"), [(0.012, 0.0505), (0.019, 0.0315)])
def test_its_speed_is_about_what_the_robot_walked(info, step, speed):
    # the prototype's robot on the ground of μ 0.5 slides a little
    assert MatsuokaGait.published(info, step=step).speed == pytest.approx(speed, rel=0.17)


@pytest.mark.parametrize("update", Update)
def test_tripods_alternate_and_half_the_legs_swing(info, at, walk, update):
    gait = settled(info, at, walk, update=update)
    outputs, phases = [], []
    for k in range(300):
        gait.update(None, 10.0 + STEP * (k + 1))
        outputs.append(gait.output)
        phases.append(gait.phase)
    outputs, phases = np.array(outputs), np.array(phases)
    assert (outputs > 0).mean() == pytest.approx(0.5, abs=0.03)
    assert np.corrcoef(outputs[:, 0], outputs[:, 2])[0, 1] > 0.99
    assert np.corrcoef(outputs[:, 0], outputs[:, 1])[0, 1] < -0.99
    assert ((phases < 0.5) == (outputs > 0)).mean() > 0.95


def test_it_begins_at_any_pose_and_keeps_speed_and_acceleration(info, at, walk):
    begin = np.random.default_rng(5).uniform(-0.8, 0.8, 18)
    gait = MatsuokaGait.published(info, 5.0, step=0.012)
    gait.reset(at(begin))
    targets = np.vstack([begin, begin, walk(gait, 8.0)])
    speed = np.diff(targets, axis=0) / STEP
    assert np.abs(speed).max() <= 8.0
    assert np.abs(np.diff(speed, axis=0)).max() / STEP <= 200.0 * (1 + 1e-9)


def test_turning_on_the_spot_the_sides_go_against_each_other(info, at, walk):
    gait = MatsuokaGait(info, speed=0.0, turn_rate=0.2)
    gait.reset(at(LEGS.stand.ravel()))
    walk(gait, 5.0)
    coxa = walk(gait, 4.0, begin=5.0).reshape(-1, 6, 3)[..., 0]
    assert np.corrcoef(coxa[:, 0], coxa[:, 4])[0, 1] > 0.95, "both turn the same way: one ahead, one back"


def test_two_resets_give_the_same_walk(info, at, walk):
    gait = MatsuokaGait(info)
    gait.reset(at(LEGS.stand.ravel()))
    first = walk(gait, 3.0)
    gait.reset(at(LEGS.stand.ravel()))
    np.testing.assert_array_equal(walk(gait, 3.0), first)


def test_strides_that_no_leg_reaches_are_refused(info):
    with pytest.raises(OutOfBoundsError, match=r"beyond its range of ±1\.31 rad\. The longest there is"):
        MatsuokaGait.published(info, 9.5)
    with pytest.raises(OutOfBoundsError, match="stride_height"):
        MatsuokaGait(info, stride_height=-1.0)
