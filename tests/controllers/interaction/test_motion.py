"""Motions of the tool and of the joints: on time, straight, smooth, and smooth where they are interrupted."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from pliant.controllers.interaction.motion import CartesianMotion, CartesianPath, JointMotion, joint_duration
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError

PERIOD = 0.001


def pose(position, vector=(0.0, 0.0, 0.0)):
    return np.array([*position, *Rotation.from_rotvec(vector).as_quat(scalar_first=True)])


POSES = np.array(
    [
        pose([0.0, 0.0, 0.0]),
        pose([0.2, 0.0, 0.1], [0.0, 0.0, 1.0]),
        pose([0.2, 0.3, 0.1], [0.5, 0.0, 1.0]),
        pose([0.0, 0.3, 0.4], [0.5, 0.6, 0.9]),
    ]
)
TIMES = np.array([0.0, 1.0, 1.5, 3.0])


def same(a, b, within=1e-9):
    assert np.abs(a[:3] - b[:3]).max() < within
    assert 1.0 - abs(a[3:] @ b[3:]) < within


@pytest.mark.parametrize("options", [{}, {"ramp": 0.2}, {"through": True}])
def test_poses_are_passed_on_time(options):
    path = CartesianPath(TIMES, POSES, **options)
    for time, there in zip(TIMES, POSES, strict=True):
        same(path.pose(time), there)
    same(path.pose(99.0), POSES[-1])


@pytest.mark.parametrize("ramp", [None, 0.2])
def test_lines_are_straight_and_turn_evenly(ramp):
    path = CartesianPath(TIMES, POSES, ramp=ramp)
    for i in range(3):
        turning = Slerp([0.0, 1.0], Rotation.from_quat(POSES[i : i + 2, 3:], scalar_first=True))
        for share in (0.1, 0.3, 0.5, 0.8):
            found = path.pose(TIMES[i] + share * (TIMES[i + 1] - TIMES[i]))
            way = POSES[i + 1, :3] - POSES[i, :3]
            done = (found[:3] - POSES[i, :3]) @ way / (way @ way)
            assert 0.0 < done < 1.0
            expected = np.concatenate([POSES[i, :3] + done * way, turning(done).as_quat(scalar_first=True)])
            same(found, expected)


def velocities(poses):
    """Finite differences of poses, (n, 6)."""
    turns = Rotation.from_quat(poses[:, 3:], scalar_first=True)
    return np.hstack([np.diff(poses[:, :3], axis=0), (turns[1:] * turns[:-1].inv()).as_rotvec()]) / PERIOD


@pytest.mark.parametrize(("options", "peak"), [({}, 1.875 / 2.0), ({"ramp": 0.4}, 1.0 / 1.6)])
def test_speeds_of_a_line(options, peak):
    path = CartesianPath([0.0, 2.0], POSES[:2], **options)
    speed = velocities(np.array([path.pose(t) for t in np.arange(0.0, 2.0 + PERIOD / 2, PERIOD)]))
    length = np.linalg.norm(POSES[1, :3])
    assert np.linalg.norm(speed[:, :3], axis=1).max() == pytest.approx(peak * length, rel=1e-3)
    assert np.abs(speed[[0, -1]]).max() < 1e-3
    if options:
        even = speed[401:1599]
        np.testing.assert_allclose(even, np.broadcast_to(even[0], even.shape), atol=1e-9)


def test_through_poses_the_speed_does_not_jump():
    path = CartesianPath(TIMES, POSES, through=True)
    speed = velocities(np.array([path.pose(t) for t in np.arange(0.0, 3.0 + PERIOD / 2, PERIOD)]))
    assert np.abs(np.diff(speed, axis=0)).max() < 12.0 * PERIOD, "an acceleration, no jump"
    for time in (1000, 1500):
        assert np.linalg.norm(speed[time]) > 0.2, "it does not stop"
    assert np.abs(speed[[0, -1]]).max() < 5e-3


def driven(motion, events, seconds=20.0):
    """Poses until it is done; `events` are called by their time."""
    course = [motion.pose.copy()]
    for k in range(round(seconds / PERIOD)):
        for when, what in events:
            if k == round(when / PERIOD):
                what(motion)
        motion.advance()
        course.append(motion.pose.copy())
        if motion.done:
            break
    return np.array(course)


def set_to(name, value):
    return lambda motion: setattr(motion, name, value)


def test_a_motion_keeps_its_times_unless_a_limit_slows_it():
    path = CartesianPath([0.0, 2.0], POSES[:2])
    assert len(driven(CartesianMotion(path, PERIOD, 1.0, 5.0), ())) == 2001
    for limits, column in (((0.05, 5.0), slice(3)), ((1.0, 0.2), slice(3, 6))):
        motion = CartesianMotion(path, PERIOD, *limits)
        motion.advance()
        reasons = set()
        course = [motion.pose.copy()]
        while not motion.done:
            motion.advance()
            course.append(motion.pose.copy())
            reasons.add(motion.slowed)
        speed = np.linalg.norm(velocities(np.array(course))[:, column], axis=1)
        assert speed.max() == pytest.approx(min(limits), rel=1e-3)
        assert f"the speed limit of {min(limits):g}" in " ".join(reasons)
        same(course[-1], POSES[1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("end", ["resume", "cancel"])
def test_pause_and_end_at_any_time_are_smooth(seed, end):
    random = np.random.default_rng(seed)
    when = float(random.uniform(0.1, 2.5))
    path = CartesianPath(TIMES, POSES, through=bool(seed % 2))
    motion = CartesianMotion(path, PERIOD, 10.0, 10.0, change=0.4)
    last = set_to("paused", False) if end == "resume" else set_to("cancelled", True)
    course = driven(motion, [(when, set_to("paused", True)), (when + float(random.uniform(0.1, 1.0)), last)])
    velocity = velocities(course)
    assert np.abs(np.diff(velocity, axis=0)).max() < 25.0 * PERIOD
    if end == "resume":
        same(course[-1], POSES[-1])
    else:
        assert np.abs(velocity[-1]).max() < 2e-3
        assert motion.clock.time < 3.0


def test_a_paused_motion_stands_and_goes_on():
    motion = CartesianMotion(CartesianPath([0.0, 1.0], POSES[:2]), PERIOD, 10.0, 10.0, change=0.2)
    for k in range(1500):
        motion.paused = 300 <= k < 1000
        motion.advance()
        if k == 600:
            here = motion.pose.copy()
            assert motion.slowed == "paused"
        if k == 999:
            same(motion.pose, here, 1e-15)
    assert not motion.done
    assert motion.remaining == pytest.approx(0.2, abs=2e-3)


@pytest.mark.parametrize(
    ("time", "poses", "options", "error", "part"),
    [
        ([0.0], POSES[:1], {}, OutOfBoundsError, "two or more, increasing from 0"),
        ([0.0, 1.0, 1.0], POSES[:3], {}, OutOfBoundsError, "increasing"),
        ([0.1, 1.0], POSES[:2], {}, OutOfBoundsError, "from 0"),
        ([0.0, 1.0], POSES[:3], {}, ShapeError, "poses of a path"),
        ([0.0, 1.0], POSES[:2] * 2.0, {}, OutOfBoundsError, "no unit quaternion"),
        ([0.0, 1.0], [POSES[0], pose([0, 0, 0], [3.1, 0, 0])], {}, OutOfBoundsError, "turns by 3.1 rad"),
        ([0.0, 1.0], POSES[:2], {"ramp": 0.6}, OutOfBoundsError, "ramp of a path = 0.6"),
        ([0.0, 1.0], POSES[:2], {"ramp": 0.1, "through": True}, ConfigurationError, "no ramps"),
        ([0.0, float("nan")], POSES[:2], {}, OutOfBoundsError, "times of a path"),
    ],
)
def test_a_path_that_cannot_be_is_refused(time, poses, options, error, part):
    with pytest.raises(error, match=part):
        CartesianPath(time, poses, **options)


@pytest.mark.parametrize("cancelled", [None, 0.4])
def test_joints_begin_at_their_speed_and_end_at_rest(cancelled):
    begin, speed, goal = np.array([0.1, -0.2]), np.array([0.3, -0.1]), np.array([0.5, 0.4])
    motion = JointMotion(begin, speed, goal, 1.5, PERIOD, change=0.3)
    course = [begin - PERIOD * speed, begin]
    while not motion.done:
        if cancelled is not None and motion.clock.time >= cancelled:
            motion.cancelled = True
        course.append(motion.advance())
    velocity = np.diff(course, axis=0) / PERIOD
    assert np.abs(np.diff(velocity, axis=0)).max() < 8.0 * PERIOD
    assert np.abs(velocity[-1]).max() < 2e-3
    if cancelled is None:
        np.testing.assert_array_equal(course[-1], goal)
        assert len(course) == 1502


def test_the_time_of_joints_keeps_their_limits():
    way, speed, acceleration = np.array([1.0, -0.02]), np.array([0.5, 0.2]), 2.0
    duration = joint_duration(way, speed, acceleration)
    motion = JointMotion(np.zeros(2), np.zeros(2), way, duration, PERIOD)
    course = [np.zeros(2)]
    while not motion.done:
        course.append(motion.advance())
    velocity = np.diff(course, axis=0) / PERIOD
    assert np.abs(velocity[:, 0]).max() == pytest.approx(0.5, rel=2e-3)
    assert np.abs(np.diff(velocity, axis=0)).max() / PERIOD < 2.0
