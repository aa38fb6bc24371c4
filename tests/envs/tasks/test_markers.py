import math
import sys
import types

import gymnasium
import mujoco
import numpy as np
import pytest

import pliant.envs  # noqa: F401 (registers)
from pliant.controllers.policies import RandomPolicy, ZeroPolicy
from pliant.controllers.policy import PolicyInfo
from pliant.envs.fronts import robot_env
from pliant.envs.recorded_episode import RecordedEpisode
from pliant.envs.rendering import Shape
from pliant.envs.tasks import Press, Reach, ReachPose, Throw, Walk, compose
from pliant.envs.tasks.markers import MEASURED, THROWN, WANTED, Ghost, Marker, arrow, ball, line
from pliant.errors import ConfigurationError, UnknownNameError


def recorded(robot, task=None, policy=RandomPolicy, seed=3, after=0.2):
    env = robot_env(robot, task) if isinstance(robot, str) else robot
    info = PolicyInfo.of(env.robot.info, env.observations, env.actions)
    decide = policy(info, seed) if policy is RandomPolicy else policy(info)
    episode = RecordedEpisode(env)
    observation, _ = env.reset(seed=seed)
    episode.see()
    over = False
    while not over:
        observation, _, terminated, truncated, _ = env.step(decide(observation))
        over = terminated or truncated
        episode.see()
    episode.go_on(decide, after)
    return episode


def of(marks, kind, colour):
    return [m for m in marks if isinstance(m, Shape) and m.kind == int(kind) and m.colour[:3] == colour[:3]]


BALL, ARROW, LINE = mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_ARROW, mujoco.mjtGeom.mjGEOM_LINE


@pytest.mark.parametrize("vector", [(0.3, 0.0, 0.0), (0.0, -0.2, 0.0), (0.1, 0.2, -0.5), (0.0, 0.0, 1.0)])
def test_an_arrow_leads_along_its_vector(vector):
    (shape,) = arrow([1.0, 2.0, 3.0], vector, 0.01)
    np.testing.assert_allclose(shape.size[2] * shape.frame[:, 2], vector, atol=1e-12)
    np.testing.assert_allclose(shape.frame.T @ shape.frame, np.eye(3), atol=1e-12)
    assert np.linalg.det(shape.frame) == pytest.approx(1.0)


def test_nothing_is_drawn_of_a_vector_of_no_length():
    assert arrow(np.zeros(3), np.zeros(3), 0.01) == []
    assert line(np.zeros((5, 3))) == []


def test_a_line_is_as_long_as_its_points_and_has_gaps():
    angles = np.linspace(0.0, 2.0 * np.pi, 5001)
    circle = np.column_stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)])
    pieces = line(circle)
    assert len(pieces) <= 160
    assert sum(piece.size[2] for piece in pieces) == pytest.approx(2.0 * np.pi, rel=1e-3)
    points = np.array([[0, 0, 0], [1, 0, 0], [np.nan] * 3, [2, 0, 0], [4, 0, 0]], dtype=np.float64)
    assert [piece.size[2] for piece in line(points)] == [1.0, 2.0]


def test_a_posture_is_shown_by_the_robot_in_it():
    episode = recorded("arm2", Reach(duration=0.2))
    (ghost,) = episode.marks(4)
    assert isinstance(ghost, Ghost)
    goal = episode.values("shoulder/goal", "elbow/goal")[4]
    data = mujoco.MjData(episode.model)
    data.qpos[:] = ghost.qpos
    mujoco.mj_kinematics(episode.model, data)
    upper, fore = 0.09, 0.088
    first, both = goal[0], goal.sum()
    tip = data.site("tip").xpos - data.body("link1").xpos
    expected = [upper * math.sin(first) + fore * math.sin(both), -upper * math.cos(first) - fore * math.cos(both)]
    np.testing.assert_allclose(tip[[0, 2]], expected, atol=1e-6)


def test_a_place_is_as_far_from_the_tip_as_the_task_says():
    """Whatever frame the robot gives its tip in."""
    episode = recorded("two_link", ReachPose(axes="xz", duration=0.3))
    for k in (0, 7, len(episode) - 1):
        (shape,) = of(episode.marks(k), BALL, WANTED)
        away = episode.values("goal/position_x", "goal/position_z") - episode.values(
            "tip/position_x", "tip/position_z"
        )
        shown = (shape.position - episode.places("tip")[k])[[0, 2]]
        np.testing.assert_allclose(shown, away[k], atol=1e-9)


def test_a_path_is_drawn_with_the_way_that_was_taken():
    episode = recorded(gymnasium.make("pliant/TwoLinkArm-v0", task="track").unwrapped)
    marks = episode.marks(episode.over)
    path, way = of(marks, LINE, WANTED), of(marks, LINE, MEASURED)
    assert sum(piece.size[2] for piece in path) == pytest.approx(2.0 * np.pi * 0.4, rel=0.01)
    np.testing.assert_allclose(way[0].position, episode.places("tip")[0])
    assert len(of(episode.marks(0), LINE, MEASURED)) == 0


def test_forces_are_drawn_in_proportion():
    episode = recorded("ur10_plane", Press(duration=0.2, hold=0.1, limit=1e6), ZeroPolicy)
    k = 5
    wanted, measured = (of(episode.marks(k), ARROW, colour) for colour in (WANTED, MEASURED))
    force = episode.values(*(f"wrist/force_{axis}" for axis in "xyz"))[k]
    goal = episode.values("wrist/goal_force_z")[k, 0]
    assert wanted[0].size[2] == pytest.approx(0.25 * episode.extent)
    shown = measured[0].size[2] / wanted[0].size[2]
    assert shown == pytest.approx(np.linalg.norm(np.clip(force, -2 * goal, 2 * goal)) / goal, rel=1e-6)


def test_a_commanded_velocity_turns_with_the_base():
    episode = recorded("hexapod", Walk(duration=0.2, low=(0.3, 0.1, 0.0), high=(0.3, 0.1, 0.0)), ZeroPolicy)
    (shape,) = of(episode.marks(3), ARROW, WANTED)
    ahead = episode.frames("base")[3][:, 0]
    yaw = math.atan2(ahead[1], ahead[0])
    turned = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]) @ [0.3, 0.1]
    np.testing.assert_allclose((shape.size[2] * shape.frame[:, 2])[:2], turned, atol=1e-9)


def test_feet_on_the_ground_are_marked_there():
    episode = recorded("hexapod", Walk(duration=0.2), ZeroPolicy)
    feet = np.array([m.position for m in of(episode.marks(2), BALL, THROWN)])
    assert len(feet) >= 3
    assert np.abs(feet[:, 2]).max() < 0.005
    soles = np.array([episode.places(name)[2] for name in episode.sites if name.endswith("_foot")])
    for foot in feet:
        assert np.linalg.norm(soles - foot, axis=1).min() < 0.03


class Swing(ZeroPolicy):
    """Winds up and swings."""

    count = 0

    def __call__(self, observation):
        self.count += 1
        return np.full_like(super().__call__(observation), -1.0 if self.count < 25 else 1.0)


def test_a_thrown_ball_lands_where_the_task_says():
    episode = recorded("arm2", Throw(goal=5.0), Swing, after=1.0)
    best = float(episode.values("throw/best")[episode.over, 0])
    assert best > 0.05
    ends = [of(episode.marks(k), BALL, THROWN)[0].position for k in (len(episode) - 2, len(episode) - 1)]
    np.testing.assert_allclose(ends[0], ends[1])
    assert ends[0][2] == pytest.approx(0.0, abs=1e-9)
    assert ends[0][0] == pytest.approx(best, abs=0.02)
    in_hand = of(episode.marks(0), BALL, THROWN)[0]
    np.testing.assert_allclose(in_hand.position, episode.places("tip")[0])


class Above(Marker):
    def draw(self, episode, k):
        return [ball(episode.places("tip")[k] + [0.0, 0.0, 0.1], episode.size)]


def test_a_marker_of_ones_own_is_drawn(monkeypatch):
    module = types.ModuleType("mymarkers")
    module.Above = Above
    monkeypatch.setitem(sys.modules, "mymarkers", module)
    parts = {"observations": {"joints": {"term": "signals"}}, "rewards": {}, "ends": {"time": {"term": "time_up"}}}
    task = compose("own", **parts, duration=0.1, markers={"above": {"term": "mymarkers.Above"}, "none": None})
    assert task.markers == {"above": task.markers["above"]}
    episode = recorded("arm2", task)
    (shape,) = episode.marks(1)
    np.testing.assert_allclose(shape.position - episode.places("tip")[1], [0.0, 0.0, 0.1])


def test_what_is_no_marker_is_refused():
    with pytest.raises(ConfigurationError, match="marker 'x' is 'ball'"):
        Reach().but(markers={"x": "ball"})
    with pytest.raises(UnknownNameError, match=r"ghost.*goal_posture"):
        compose("own", observations={}, rewards={}, ends={}, markers={"x": {"term": "ghost"}})
    with pytest.raises(UnknownNameError, match="nowhere"):
        recorded("arm2", Reach(duration=0.2)).values("nowhere")
