"""Goals and starts, and the tasks for end effectors, floating bases and force sensors."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pliant.controllers.paths import Line
from pliant.envs.description import describe
from pliant.envs.tasks import Kinematics, PlanarKinematics, Press, Reach, ReachPose, Throw, Track, TrackPath, Walk
from pliant.envs.tasks.goals import Drawn, Pose, SitePath
from pliant.envs.tasks.starts import AtHome, OnTrajectory
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError


class Sliding(Kinematics):
    """The first joint slides the tip along x, the second turns it about z."""

    sites = ("tip",)

    def pose(self, site, q):
        self.check(site)
        zero = np.zeros_like(q[..., 0])
        half = q[..., 1] / 2
        return np.stack([q[..., 0], zero, zero + 0.3, np.cos(half), zero, zero, np.sin(half)], axis=-1)

    def inverse(self, site, position):
        return np.stack([position[..., 0], np.zeros(len(position))], axis=-1)


def goals(task, info, n=200, **options):
    made = task.on(info, **options)
    episodes = made.episodes(1)
    found = []
    for seed in range(n):
        made.begin(episodes, 0, np.random.default_rng(seed))
        found.append(episodes.goal[0].copy())
    return np.array(found), made


HAND_AT_BASE = """
<mujoco>
  <compiler angle="radian"/>
  <default><geom contype="0" conaffinity="0" mass="1"/></default>
  <worldbody>
    {beside}
    <body name="base">
      {within}
      <geom size=".1"/>
      <body name="upper"><joint name="a" axis="0 0 1" range="-3 3"/><geom size=".1"/>
        <body name="lower" pos="1 0 0"><joint name="b" axis="0 0 1" range="-3 3"/><geom size=".1"/>
          <body name="hand" pos="1 0 0"><joint name="c" axis="0 0 1" range="-3 3"/><geom size=".1"/>
            <geom name="palm" size=".2" pos=".8 0 0" contype="1" conaffinity="1"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><position joint="a" kp="9"/><position joint="b" kp="9"/><position joint="c" kp="9"/></actuator>
</mujoco>
"""
"""Three links in a plane; the palm may touch a ball of 0.6 m at the origin, of the base or beside the robot."""
BALL = '<geom name="ball" size=".6" contype="1" conaffinity="1"/>'


@pytest.fixture(params=["within", "beside"])
def folding(request, tmp_path):
    (tmp_path / "arm.xml").write_text(HAND_AT_BASE.format(**{"within": "", "beside": "", request.param: BALL}))
    joints = dict.fromkeys("abc", "native")
    return describe({"model": str(tmp_path / "arm.xml"), "period": 0.02, "joints": joints}).simulated()


def to_the_ball(postures):
    """Distance of the palm from the origin, by the chain's own geometry, m."""
    a, b, c = np.cumsum(postures, axis=-1).T
    return np.hypot(np.cos(a) + np.cos(b) + 0.8 * np.cos(c), np.sin(a) + np.sin(b) + 0.8 * np.sin(c))


def test_postures_in_which_the_robot_touches_itself_are_no_goals(folding):
    everything = np.random.default_rng(0).uniform(-3.0, 3.0, (300, 3))
    assert 0.1 < np.mean(to_the_ball(everything) < 0.8) < 0.5
    touching = [bool(folding.kinematics.touching(posture)) for posture in everything]
    np.testing.assert_array_equal(touching, to_the_ball(everything) < 0.8)
    task = Reach(low=-3.0, high=3.0)
    drawn, _ = goals(task, folding.info, kinematics=folding.kinematics)
    assert to_the_ball(drawn).min() > 0.8
    assert np.ptp(drawn, axis=0).min() > 5.0
    np.testing.assert_array_equal(drawn, goals(task, folding.info, kinematics=folding.kinematics)[0])
    generators = [np.random.default_rng(seed) for seed in range(200)]
    first = np.array([(r.uniform(size=3), r.uniform(-3.0, 3.0, 3))[1] for r in generators])
    free = to_the_ball(first) > 0.8
    np.testing.assert_array_equal(drawn[free], first[free], "what touches nothing is what was drawn first")


def test_a_task_whose_postures_all_touch_says_what(folding):
    task = Reach(low=[-0.1, 2.4, 2.4], high=[0.1, 2.5, 2.5])
    with pytest.raises(ConfigurationError, match=r"1000 postures .* in the last one ball and palm:"):
        goals(task, folding.info, 1, kinematics=folding.kinematics)


def test_goals_fill_their_box(info):
    drawn, _ = goals(ReachPose(low=[0.1, -0.2, 0.0], high=[0.3, 0.2, 0.0]), info)
    assert (drawn >= [0.1, -0.2, 0.0]).all()
    assert (drawn <= [0.3, 0.2, 0.0]).all()
    assert (np.ptp(drawn, axis=0)[:2] > [0.18, 0.36]).all()


def test_orientations_are_spread_evenly(info):
    drawn, _ = goals(ReachPose(low=[0] * 3, high=[1] * 3, oriented=True), info, 400)
    turns = drawn[:, 3:]
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0)
    np.testing.assert_allclose(turns.T @ turns / len(turns), np.eye(4) / 4, atol=0.05)


def test_without_a_box_goals_are_what_the_robot_reaches(info):
    signals = [replace(c, low=-0.5, high=0.5) if c.name == "hip/position" else c for c in info.signals]
    ranged = replace(info, signals=tuple(signals))
    drawn, _ = goals(ReachPose(oriented=True), ranged, kinematics=Sliding())
    assert np.abs(drawn[:, 0]).max() <= 0.5
    assert np.ptp(drawn[:, 0]) > 0.9
    assert (drawn[:, 2] == 0.3).all()
    np.testing.assert_allclose(np.linalg.norm(drawn[:, 3:], axis=1), 1.0)
    with pytest.raises(ConfigurationError, match="'everything' offers no kinematics"):
        ReachPose().on(info)


def test_a_pose_is_reached_with_its_orientation(begin, lead):
    task, episodes = begin(ReachPose(oriented=True, hold=0.02), kinematics=Sliding())
    pose = episodes.goal[0].copy()
    names = [f"tip__{c.name.rpartition('/')[2]}" for c in task.observations if c.name.startswith("goal/")]
    outcome, seen = lead(task, episodes)
    assert outcome["is_success"] == 0
    assert outcome["distance"] == pytest.approx(-np.linalg.norm(pose[:3]))
    assert outcome["orientation"] < 0
    outcome, seen = lead(task, episodes, **dict(zip(names, pose, strict=True)))
    assert (outcome["is_success"], outcome["terminated"], outcome["success"]) == (1, 1, 10)
    assert [seen[c.name] for c in task.observations[-7:]] == pytest.approx(pose.tolist(), abs=1e-6)


def test_a_path_is_followed_in_space_with_an_orientation(info, begin, lead):
    path = Line((0.0, 0.0, 0.3), (0.2, 0.0, 0.3), 0.06)
    config = TrackPath(path=path, axes="xyz", orientation=(1, 0, 0, 0), spread=0.0)
    task, episodes = begin(config, kinematics=Sliding())
    np.testing.assert_array_equal(task.begin(episodes, 0, np.random.default_rng(0)), [0.0, 0.0])
    for k in range(1, 4):
        x, y, z = path.position(k * info.period)
        outcome, seen = lead(task, episodes, tip__position_x=x, tip__position_y=y, tip__position_z=z)
        assert (outcome["tracking"], outcome["orientation"], outcome["is_success"]) == (1, 0, 1)
        ahead = path.position((k + 1) * info.period)
        assert [seen[f"desired/position_{a}"] for a in "xyz"] == pytest.approx(ahead, abs=1e-6)
        assert seen["desired/orientation_w"] == 1
    assert outcome["truncated"] == 1


def test_a_path_far_longer_than_an_episode_is_refused(info, begin):
    path = Line((0.0, 0.0, 0.3), (0.2, 0.0, 0.3), 1e300)
    with pytest.raises(OutOfBoundsError, match="goal path: a path of 1e\\+300 s has more than 10,000,000 samples"):
        begin(TrackPath(path=path, axes="xyz", orientation=(1, 0, 0, 0), spread=0.0), kinematics=Sliding())


def test_walking_earns_most_at_the_commanded_velocity(begin, lead):
    task, episodes = begin(Walk(low=(0.5, 0, 0.3), high=(0.5, 0, 0.3), smoothness=0.0))
    half = 0.6  # the base is turned by 1.2 rad, so its forward is not the world's x
    turned = {"base__orientation_w": math.cos(half), "base__orientation_z": math.sin(half)}
    moving = {"base__velocity_x": 0.5 * math.cos(2 * half), "base__velocity_y": 0.5 * math.sin(2 * half)}
    outcome, seen = lead(task, episodes, **turned, **moving, base__angular_velocity_z=0.3)
    assert outcome["velocity"] == pytest.approx(1.0)
    assert (outcome["turning"], outcome["alive"], outcome["fall"]) == (0.5, 0.1, 0.0)
    assert seen["base/local_velocity_x"] == pytest.approx(0.5)
    assert seen["base/goal_local_velocity_x"] == 0.5
    assert outcome["is_success"] == 1
    outcome, _ = lead(task, episodes, base__position_z=0.05)
    assert (outcome["terminated"], outcome["is_success"], outcome["fall"]) == (1, 0, -10)


def test_pressing_ends_with_the_force_kept_or_too_large(begin, lead):
    press = Press(low=5.0, high=5.0, hold=0.04)
    task, episodes = begin(press)
    ends = [lead(task, episodes, wrist__force_z=force)[0] for force in (0.0, 5.2, 4.9)]
    assert [end["terminated"] for end in ends] == [0, 0, 1]
    assert ends[0]["tracking"] == pytest.approx(1 / (1 + 25 / 4))
    assert ends[2]["is_success"] == 1
    outcome, _ = lead(*begin(press), wrist__force_x=-60.0)
    assert (outcome["terminated"], outcome["is_success"], outcome["overload"]) == (1, 0, -10)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda i: Pose(axes="xx"), ConfigurationError, "axes are 'xx'"),
        (lambda i: Pose(low=[0, 0, 0]), ConfigurationError, "give both or neither"),
        (lambda i: Pose(low=[0, 0], high=[1, 1]), ShapeError, "goal pose: low"),
        (lambda i: Pose(low=[2, 0, 0], high=[1, 1, 1]), ConfigurationError, "must not exceed"),
        (lambda i: SitePath(orientation=(1, 1, 0, 0)), OutOfBoundsError, "length of the quaternion"),
        (lambda i: ReachPose(site="hand", low=[0] * 3, high=[1] * 3).on(i), UnknownNameError, "'hand/position_x'"),
        (lambda i: ReachPose(site="wrist").on(i, Sliding()), UnknownNameError, "'wrist/position_x'"),
        (lambda i: TrackPath(axes="x").on(i), ShapeError, r"2 coordinates; 1 are needed \(x\)"),
        (lambda i: TrackPath().on(i), ConfigurationError, "offers no kinematics"),
        (lambda i: Reach().but(start=OnTrajectory()).on(i), ConfigurationError, "does not move"),
        (lambda i: Track().but(goal=None).on(i), ConfigurationError, "no"),
        (lambda i: Reach().but(goal=Drawn(["hip/temperature"])).on(i), UnknownNameError, "'hip/temperature'"),
        (lambda i: Throw(lengths=[1.0]).on(i), ConfigurationError, r"1 lengths for the 2 joints \(hip, knee\)"),
        (lambda i: PlanarKinematics().pose("hand", np.zeros(2)), UnknownNameError, "site 'hand'"),
    ],
)
def test_what_does_not_go_together_is_refused(info, make, error, message):
    with pytest.raises(error, match=message):
        make(info)


def test_a_robot_that_begins_by_itself_is_left_there(begin):
    task, episodes = begin(Walk())
    assert task.begin(episodes, 0, np.random.default_rng(0)) is None
    assert isinstance(Walk().start, AtHome)


def test_planar_kinematics_agree_with_their_inverse_and_turn_about_minus_y():
    kinematics, q = PlanarKinematics(), np.array([[0.3, -0.8], [1.0, -0.5]])
    pose = kinematics.pose("tip", q)
    np.testing.assert_allclose(kinematics.inverse("tip", pose[:, :3]), q)
    w, y = pose[:, 3], pose[:, 5]
    np.testing.assert_allclose(2 * np.arctan2(-y, w), q.sum(axis=1))
