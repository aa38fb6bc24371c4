import numpy as np
import pytest

import pliant.envs  # noqa: F401 (registers)
from pliant.controllers.policies import ZeroPolicy
from pliant.controllers.policy import PolicyInfo
from pliant.envs.fronts import robot_env
from pliant.envs.recorded_episode import RecordedEpisode
from pliant.envs.tasks import Press, Reach
from pliant.errors import RobotError


def played(env, record):
    """Everything observed in an episode, and its record."""
    episode = RecordedEpisode(env) if record else None
    observation, _ = env.reset(seed=1)
    seen, over, k = [observation], False, 0
    while not over:
        if record:
            episode.see()
            episode.marks(0) if k == 3 else None
        action = np.full(env.action_space.shape, 0.3 * np.sin(k), dtype=np.float32)
        observation, _, terminated, truncated, _ = env.step(action)
        seen.append(observation)
        over, k = terminated or truncated, k + 1
    if record:
        episode.see()
    return np.array(seen), episode


def test_recording_changes_nothing_and_keeps_what_was():
    task = Reach(duration=0.3)
    plain, _ = played(robot_env("arm2", task), record=False)
    seen, episode = played(robot_env("arm2", task), record=True)
    np.testing.assert_array_equal(seen, plain)
    assert episode.over == len(episode) - 1 == 15
    np.testing.assert_array_equal(episode.values("shoulder/position")[:, 0].astype(np.float32), plain[:, 0])


def test_an_episode_goes_on_past_its_end():
    env = robot_env("arm2", Reach(duration=0.2))
    info = PolicyInfo.of(env.robot.info, env.observations, env.actions)
    _, episode = played(env, record=True)
    over = episode.over
    episode.go_on(ZeroPolicy(info), 0.5)
    assert episode.over == over
    assert len(episode) == over + 1 + 25
    q = episode.values("shoulder/position")[:, 0]
    assert np.abs(np.diff(q[over:])).max() > 0.0
    np.testing.assert_array_equal(episode.show(len(episode) - 1).qpos, env.data.qpos)


def test_after_a_failure_it_stands_still():
    env = robot_env("ur10_plane", Press(duration=1.0, limit=1e-6))
    info = PolicyInfo.of(env.robot.info, env.observations, env.actions)
    _, episode = played(env, record=True)
    assert env.failed
    episode.go_on(ZeroPolicy(info), 0.2)
    assert len(episode) == episode.over + 1 + 10
    first = episode.show(episode.over).qpos.copy()
    np.testing.assert_array_equal(episode.show(len(episode) - 1).qpos, first)


def test_what_has_not_begun_cannot_go_on():
    with pytest.raises(RobotError):
        robot_env("arm2", Reach()).prolong()
