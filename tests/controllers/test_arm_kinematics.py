"""Kinematics of an arm's tool against the closed form of a UR10e, and its behaviour at limits."""

import copy
import pickle

import mujoco
import numpy as np
import pytest

from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.poses import difference, matrix
from pliant.controllers.ur_kinematics import UrKinematics
from pliant.envs.models.ur import ur
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.ur_arms import JOINTS

HOME = np.array([0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0])
PERIOD = 0.002
FAST = np.full(6, 3.0)


@pytest.fixture(scope="module")
def model():
    return ur("ur10e").spec.compile()


@pytest.fixture(scope="module")
def arm(model):
    return ArmKinematics(model, "tcp", JOINTS)


def test_pose_and_jacobian_are_those_of_the_closed_form(arm):
    exact, random = UrKinematics("ur10e"), np.random.default_rng(0)
    for _ in range(100):
        q = random.uniform(-3.0, 3.0, 6)
        pose, expected = arm.pose(q), exact.forward(q)
        np.testing.assert_allclose(pose[:3], expected[:3, 3], atol=1e-12)
        np.testing.assert_allclose(matrix(pose[3:]), expected[:3, :3], atol=1e-12)
        np.testing.assert_allclose(arm.jacobian(q), exact.jacobian(q), atol=1e-12)


def test_a_pose_is_reached_from_nearby_on_the_same_branch(arm):
    random = np.random.default_rng(1)
    for _ in range(50):
        q = HOME + random.uniform(-0.4, 0.4, 6)
        np.testing.assert_allclose(arm.reach(arm.pose(q), HOME), q, atol=1e-7)


def test_the_position_alone_is_reached_without_the_orientation(model):
    free, goal = ArmKinematics(model, "tcp", JOINTS, length=0.0), ArmKinematics(model, "tcp", JOINTS).pose(HOME)
    goal[:3] += [0.1, 0.2, -0.1]
    goal[3:] = [0.0, 0.0, 0.0, 1.0]
    found = free.pose(free.reach(goal, HOME))
    np.testing.assert_allclose(found[:3], goal[:3], atol=1e-9)
    assert np.linalg.norm(difference(goal, found)[3:]) > 0.5


def follow(arm, q, velocity, seconds, **options):
    """Move the target steadily from where the tool is; returns the steps and the targets."""
    target, twist = arm.pose(q), np.array([*velocity, 0.0, 0.0, 0.0])
    steps, targets = [], []
    for _ in range(round(seconds / PERIOD)):
        step = arm.step(q, target, twist, PERIOD, **{"gain": 20.0, "speed": FAST, **options})
        steps.append(step)
        q = step.q
        target = target.copy()
        target[:3] += PERIOD * np.asarray(velocity)
        targets.append(target)
    return steps, targets


def test_a_moving_pose_is_followed_without_lag(arm):
    steps, targets = follow(arm, HOME, [0.1, 0.05, -0.08], 2.0)
    off = np.array([difference(b, arm.pose(a.q)) for a, b in zip(steps, targets, strict=True)])
    assert np.abs(off).max() < 1e-5
    assert {step.held for step in steps} == {""}


def test_towards_the_edge_of_its_reach_the_tool_slows_down_and_stays(arm):
    steps, targets = follow(arm, HOME, [-0.2, 0.0, 0.0], 6.0)
    speeds = np.array([step.velocity for step in steps])
    assert steps[-1].held == "singular"
    assert np.abs(np.diff(speeds, axis=0)).max() < 20.0 * PERIOD  # rad/s²
    assert np.abs(speeds[-1]).max() < 0.15  # though the target goes on and on
    assert np.linalg.norm(targets[-1][:3]) > 1.5
    back, _ = follow(arm, steps[-1].q, [0.2, 0.0, 0.0], 3.0)
    assert back[-1].held == ""


def test_through_a_singular_wrist_no_joint_jumps(arm):
    q = HOME.copy()
    q[4] = -0.3
    target, twist, seen = arm.pose(q), np.concatenate([np.zeros(3), 0.2 * arm.jacobian(q)[3:, 4]]), []
    for _ in range(1500):  # turn about the wrist's own axis, past the angle at which two others are in line
        step = arm.step(q, target, twist, PERIOD, gain=0.0, speed=FAST)
        q = step.q
        seen.append(step)
    speeds = np.array([step.velocity for step in seen])
    assert np.abs(speeds).max() < 1.0
    assert np.abs(np.diff(speeds, axis=0)).max() < 0.05
    assert q[4] > 0.2


def test_a_joint_at_its_limit_stays_there_and_the_others_go_on(model):
    arm = ArmKinematics(model, "tcp", JOINTS, length=0.0)
    arm.low = arm.low.copy()
    arm.low[1] = HOME[1] - 0.01
    steps, targets = follow(arm, HOME, [0.0, 0.0, 0.1], 1.0)
    q = np.array([step.q for step in steps])
    assert q[:, 1].min() == pytest.approx(HOME[1] - 0.01, abs=1e-12)
    assert steps[-1].held == "the limit of shoulder_lift"
    np.testing.assert_allclose(arm.pose(q[-1])[:3], targets[-1][:3], atol=1e-4)  # by the other joints


def test_all_joints_slow_down_alike_at_the_speed_limit_of_one(arm):
    free = arm.step(HOME, arm.pose(HOME), np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]), PERIOD, gain=0.0, speed=FAST)
    slow = np.full(6, 0.1)
    held = arm.step(HOME, arm.pose(HOME), np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]), PERIOD, gain=0.0, speed=slow)
    assert np.abs(held.velocity).max() == pytest.approx(0.1)
    np.testing.assert_allclose(
        held.velocity / np.abs(held.velocity).max(), free.velocity / np.abs(free.velocity).max()
    )
    assert held.held.startswith("the speed limit of ")


def test_what_is_out_of_reach_is_refused_with_how_far(arm):
    goal = arm.pose(HOME)
    goal[:3] *= 3.0
    with pytest.raises(OutOfBoundsError, match=r"stays 1\.\d+ m"):
        arm.reach(goal, HOME)


def test_a_posture_beyond_the_ranges_is_refused(arm):
    with pytest.raises(OutOfBoundsError, match="'elbow'"):
        arm.reach(arm.pose(HOME), HOME + np.array([0.0, 0.0, 7.0, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"site": "nose"}, UnknownNameError, "site"),
        ({"joints": ("shoulder_pan", "tail")}, UnknownNameError, "joint"),
        ({"site": "base"}, ConfigurationError, "moved by none"),
        ({"posture": [0.0]}, ShapeError, "posture"),
        ({"length": -1.0}, OutOfBoundsError, "length"),
        ({"singular": 0.0}, OutOfBoundsError, "singular"),
    ],
)
def test_what_cannot_be_is_refused(model, arguments, error, text):
    with pytest.raises(error, match=text):
        ArmKinematics(**{"model": model, "site": "tcp", "joints": JOINTS, **arguments})


def test_a_joint_that_turns_every_way_is_refused():
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="ball")
    body.add_joint(name="any", type=mujoco.mjtJoint.mjJNT_BALL)
    body.add_geom(size=[0.1, 0.0, 0.0])
    body.add_site(name="tip", pos=[0.1, 0.0, 0.0])
    with pytest.raises(ConfigurationError, match="neither a hinge nor a slide"):
        ArmKinematics(spec.compile(), "tip", ["any"])


@pytest.mark.parametrize("made", [copy.deepcopy, lambda k: pickle.loads(pickle.dumps(k))])
def test_a_copy_computes_by_itself(model, made):
    first = ArmKinematics(model, "flange", JOINTS)
    q = np.array([0.1, -1.0, 1.5, 0.3, 0.2, 0.1])
    expected = first.pose(q)
    other = made(first)
    first.pose(q + 0.3)
    np.testing.assert_array_equal(other.pose(q), expected)
    np.testing.assert_array_equal(other.jacobian(q), first.jacobian(q))
