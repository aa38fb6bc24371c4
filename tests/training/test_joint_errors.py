import numpy as np
import pytest

from pliant.envs import describe
from pliant.envs.env import PliantEnv
from pliant.envs.fronts import robot_env
from pliant.envs.tasks import Reach, ReachPose, Track
from pliant.training.joint_errors import JointErrors
from pliant.training.statistics import Episode, joint_errors, summary


def played(task):
    """An episode in which nothing is commanded; the joints' positions and goals, and their errors."""
    env = PliantEnv(describe("arm2").simulated(0.02), task)
    errors, rows, over = JointErrors(env), [], False
    env.reset(seed=1)
    while True:
        errors.see()
        state = env.robot.read()
        goal = [env.numbers[env.task.column(name)] for name in (c.name for c in env.task.goal.channels[:2])]
        rows.append(np.array(goal) - state.position)
        if over:
            return np.array(rows), errors.of_episode()
        *_, terminated, truncated, _ = env.step(np.zeros(4))
        over = terminated or truncated


def test_of_a_goal_that_stays_the_error_at_the_end_counts():
    rows, errors = played(Reach(duration=0.4))
    assert list(errors) == ["final_error"]
    np.testing.assert_allclose(list(errors["final_error"].values()), np.abs(rows[-1]), atol=1e-12)
    assert list(errors["final_error"]) == ["shoulder", "elbow"]


def test_of_one_that_moves_every_period_does():
    rows, errors = played(Track())
    largest, rms = np.abs(rows).max(axis=0), np.sqrt(np.mean(rows**2, axis=0))
    np.testing.assert_allclose(list(errors["max_error"].values()), largest, atol=1e-12)
    np.testing.assert_allclose(list(errors["rms_error"].values()), rms, atol=1e-12)
    assert largest.min() > 0.3


def test_a_goal_of_an_end_effector_says_nothing_of_joints():
    env = robot_env("arm2", ReachPose(low=(0.5, 0.5), high=(0.6, 0.6), axes="xz"))
    env.reset(seed=1)
    errors = JointErrors(env)
    errors.see()
    assert errors.of_episode() == {}


def test_a_summary_takes_the_largest_and_the_root_mean_square_of_all_episodes():
    each = [{"max_error": {"a": 0.1 * k, "b": 0.3}, "rms_error": {"a": 0.03, "b": 0.04 * k}} for k in (1, 2)]
    moving = [Episode(k, 0.0, 5, None, "", errors) for k, errors in enumerate(each)]
    found = summary(moving)
    assert found["max_error_per_joint"] == {"a": 0.2, "b": 0.3}
    assert found["rms_error_per_joint"] == pytest.approx({"a": 0.03, "b": 0.04 * 2.5**0.5})
    assert joint_errors(found) == ("error", [("a", 0.2, 0.03), ("b", 0.3, pytest.approx(0.0632, abs=1e-4))])
    staying = summary([Episode(k, 0.0, 5, None, "", {"final_error": {"a": 0.1 * k}}) for k in (3, 4)])
    assert staying["max_final_error_per_joint"] == {"a": 0.4}
    assert staying["rms_final_error_per_joint"] == pytest.approx({"a": 0.125**0.5})
    assert joint_errors(staying)[0] == "error at the end"
    assert joint_errors(summary([Episode(1, 0.0, 5, None, "")])) == ("", [])
