import copy
import math

import numpy as np
import pytest

from pliant.controllers.gaits import PATTERNS, FootGait, Hopf, Kuramoto, Salamander, hexapod_legs
from pliant.envs.tasks.actions import Parameters
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, UnknownNameError
from pliant.hardware.limits import MotionLimits
from pliant.hardware.robot import Channel, RobotInfo

LEGS = hexapod_legs()
LOOSE = MotionLimits(speed=100.0, acceleration=1e5, walk_speed=5.0)
PERIOD = 0.019


def feet_of(gait, targets):
    return np.array([gait.legs.forward_kinematics(row.reshape(6, 3)) for row in targets])


def motion_of(targets, begin=None, period=PERIOD):
    """Largest speed and acceleration of joint targets, from rest where a beginning is given."""
    if begin is not None:
        targets = np.vstack([begin, begin, targets])
    speed = np.diff(targets, axis=0) / period
    return np.abs(speed).max(), np.abs(np.diff(speed, axis=0)).max() / period


@pytest.mark.parametrize("rhythm", [Kuramoto(), Hopf(), Salamander()])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_feet_on_the_ground_do_not_slide(info, at, walk, rhythm, pattern):
    gait = FootGait(info, pattern=pattern, rhythm=rhythm, speed=0.02, turn_rate=0.05, frequency=0.3, limits=LOOSE)
    gait.reset(at(LEGS.stand.ravel()))
    walk(gait, 6.0, period=0.005)
    swinging, feet = [], []
    for k in range(800):
        target = gait.update(None, 6.0 + 0.005 * (k + 1))[::-1]
        swinging.append(gait.swinging)
        feet.append(gait.legs.forward_kinematics(target.reshape(6, 3)))
    swinging, feet = np.array(swinging), np.array(feet)
    both = ~(swinging[1:] | swinging[:-1])
    slid = np.diff(feet, axis=0) / 0.005
    middle = LEGS.forward_kinematics(LEGS.stand)
    expected = np.stack([0.05 * middle[:, 1], -0.02 - 0.05 * middle[:, 0], 0 * middle[:, 0]], axis=-1)
    np.testing.assert_allclose(slid[both], np.broadcast_to(expected, slid.shape)[both], atol=1e-6)
    assert swinging.mean() == pytest.approx(1 - PATTERNS[pattern].duty, abs=0.07)
    np.testing.assert_allclose(feet[..., 2].max(axis=0), -0.1173 + 0.03, atol=1e-3)


def test_the_cadence_follows_speed_and_stride(info, at, walk):
    gait = FootGait(info, speed=0.1, stride=0.04, limits=LOOSE)
    gait.reset(at(LEGS.stand.ravel()))
    walk(gait, 5.0)
    before, last = gait.phase[0], round(5.0 / PERIOD) * PERIOD
    walk(gait, PERIOD, begin=last)
    assert np.mod(gait.phase[0] - before, 1.0) == pytest.approx(0.1 * 0.5 / 0.04 * PERIOD, rel=1e-4)
    along = feet_of(gait, walk(gait, 3.0, begin=5.1))[..., 1]
    assert np.ptp(along, axis=0).max() < 0.04 * 1.3, "on the ground 0.04 m; more in the air, to match the speed"


@pytest.mark.parametrize("pose", ["stand", "sprawled"])
def test_it_begins_at_the_measured_pose_and_keeps_speed_and_acceleration(info, at, walk, pose):
    begin = LEGS.stand.ravel() if pose == "stand" else np.random.default_rng(3).uniform(-0.8, 0.8, 18)
    gait = FootGait(info)
    gait.reset(at(begin))
    np.testing.assert_array_equal(gait.update(None, 0.0)[::-1], begin)
    targets = walk(gait, 8.0)
    speed, acceleration = motion_of(targets, begin)
    assert speed <= 8.0 * (1 + 1e-9)
    assert acceleration <= 200.0 * (1 + 1e-9)
    if pose == "sprawled":
        early = targets[: round(1.0 / PERIOD)]
        assert motion_of(early, begin)[0] < 0.7, "it stands up slowly"
    assert np.ptp(targets[-200:], axis=0).min() > 0.05, "it walks"


def test_it_resumes_where_a_walk_was_broken_off(info, at, walk):
    gait = FootGait(info)
    gait.reset(at(LEGS.stand.ravel()))
    last = walk(gait, 5.3)[-1]
    gait.reset(at(last))
    again = walk(gait, 5.0)
    speed, acceleration = motion_of(again, last)
    assert speed <= 8.0 * (1 + 1e-9)
    assert acceleration <= 200.0 * (1 + 1e-9)


def test_where_an_angle_is_not_measured_it_begins_at_the_command(info, at):
    gait = FootGait(info)
    gait.reset(at(np.full(18, np.nan), command=0.1))
    np.testing.assert_array_equal(gait.update(None, 0.0), 0.1)
    with pytest.raises(OutOfBoundsError, match="front_left_coxa"):
        gait.reset(at(np.full(18, np.nan), command=np.nan))


@pytest.mark.parametrize("after", PATTERNS)
@pytest.mark.parametrize("before", PATTERNS)
def test_a_change_of_gait_does_not_jump(info, at, walk, before, after):
    gait = FootGait(info, pattern=before, speed=0.02, frequency=0.3)
    gait.reset(at(LEGS.stand.ravel()))
    calm = walk(gait, 5.0)
    gait.pattern = after
    changing = walk(gait, 15.0, begin=5.0)
    speed, acceleration = motion_of(np.vstack([calm[-3:], changing]))
    assert speed <= 8.0 * (1 + 1e-9)
    assert acceleration <= 200.0 * (1 + 1e-9)
    offsets = PATTERNS[after].offsets
    apart = 2 * math.pi * (gait.phase - gait.phase[0] - offsets + offsets[0])
    np.testing.assert_allclose(np.angle(np.exp(1j * apart)), 0.0, atol=0.01)
    assert gait.held_back < 1e-9


def test_stopped_it_stands_in_the_middle_of_its_strides(info, at, walk):
    gait = FootGait(info)
    gait.reset(at(LEGS.stand.ravel()))
    walk(gait, 5.0)
    gait.adjust("walking", False)
    walk(gait, 2.0, begin=5.0)
    still = walk(gait, 1.0, begin=7.0)
    np.testing.assert_allclose(still, np.tile(still[0], (len(still), 1)), atol=1e-6)
    middle = LEGS.forward_kinematics(LEGS.stand)
    np.testing.assert_allclose(feet_of(gait, still[-1:])[0, :, :2], middle[:, :2], atol=1e-6)
    gait.adjust("walking", True)
    assert np.ptp(walk(gait, 3.0, begin=8.0), axis=0).min() > 0.05


def test_height_and_backwards(info, at, walk):
    gait = FootGait(info, speed=-0.05, height=0.1)
    gait.reset(at(LEGS.stand.ravel()))
    walk(gait, 5.0)
    feet = feet_of(gait, walk(gait, 0.3, begin=5.0))
    standing = feet[..., 2] < -0.1 + 1e-6
    both = standing[1:] & standing[:-1]
    np.testing.assert_allclose((np.diff(feet[..., 1], axis=0) / PERIOD)[both], 0.05, atol=1e-6)


def test_a_robot_that_was_away_goes_on_where_it_was(info, at, walk):
    gait = FootGait(info)
    gait.reset(at(LEGS.stand.ravel()))
    last = walk(gait, 5.0)[-1]
    assert np.abs(gait.update(None, 65.0)[::-1] - last).max() <= 8.0 * 0.2
    assert (gait.update(None, 65.0) == gait.update(None, 65.0)).all(), "a repeated state: no time has passed"
    with pytest.raises(OutOfBoundsError, match="time"):
        gait.update(None, math.nan)


def test_strides_out_of_reach_are_refused_with_the_longest(info):
    with pytest.raises(OutOfBoundsError, match=r"stride of 0\.4 m at a height of 0\.1173 m: the \w+ leg.*longest"):
        FootGait(info, stride=0.4)
    longest = FootGait(info).longest_stride
    FootGait(info, stride=longest)
    with pytest.raises(OutOfBoundsError, match="longest there"):
        FootGait(info, stride=longest + 1e-3)
    with pytest.raises(OutOfBoundsError, match="No stride can be made there"):
        FootGait(info, height=0.25)
    gait = FootGait(info)
    with pytest.raises(OutOfBoundsError, match="gait: stride"):
        gait.stride = longest + 1e-3
    with pytest.raises(OutOfBoundsError, match="height = "):
        gait.adjust("height", gait.heights[1] + 1e-3)
    with pytest.raises(OutOfBoundsError, match="gait: speed"):
        FootGait(info, speed=5.0)


def test_what_is_not_a_hexapod_is_refused(info):
    columns = tuple(Channel(f"{name}/position", "rad", -1, 1) for name in ("shoulder", "elbow"))
    with pytest.raises(UnknownNameError, match="front_left_coxa"):
        FootGait(RobotInfo("arm", ("shoulder", "elbow"), (), columns, 0.01))
    torques = tuple(Channel(f"{joint}/torque", "N·m", -1, 1) for joint in LEGS.joints)
    with pytest.raises(ConfigurationError, match="is not commanded a position"):
        FootGait(RobotInfo("six", LEGS.joints, (), torques, 0.01))
    with pytest.raises(ConfigurationError, match="6 Oscillators"):
        FootGait(info, rhythm=Kuramoto(count=4))
    with pytest.raises(UnknownNameError, match="wave"):
        FootGait(info, pattern="waves")
    other = RobotInfo("six", LEGS.joints, (), info.command, 0.01)
    with pytest.raises(MismatchError):
        FootGait(info).check(other)


def test_a_policy_may_move_its_numbers(info, at):
    gait = FootGait(info)
    action = Parameters(gait, {"speed": (0.0, 0.1), "stride": (0.02, 0.08), "turn_rate": (-0.2, 0.2)}).on(info)
    moved, command = copy.deepcopy(gait), np.empty(18)
    moved.reset(at(LEGS.stand.ravel()))
    assert action.act is not None
    action.act(moved, np.array([1.0, 1.0, -1.0]), at(LEGS.stand.ravel()), 0.0, command)
    assert (moved.speed, moved.stride, moved.turn_rate) == pytest.approx((0.1, 0.08, -0.2))
    assert (gait.speed, gait.stride) == (0.05, 0.05), "a copy of it was moved"
    assert np.isfinite(command).all()
