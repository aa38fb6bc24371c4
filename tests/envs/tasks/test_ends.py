"""Each end condition holds when it says, and means what its role says."""

import math

import pytest

from pliant.controllers.trajectories import MinimumJerk
from pliant.envs.tasks import Task, ends
from pliant.envs.tasks.goals import Drawn, JointTrajectory, Pose, Posture
from pliant.envs.tasks.observations import Signals, clock, error, gravity, preview, time_left, yaw
from pliant.envs.tasks.rewards import alive, value
from pliant.errors import UnknownNameError

PERIOD = 0.02


def ended(term, goal=None, **more) -> Task:
    return Task(
        "one", observations={"joints": Signals()}, rewards={"alive": alive()}, ends={"it": term, **more}, goal=goal
    )


def verdicts(begin, lead, task, periods: list[dict]) -> list[tuple]:
    one, episodes = begin(task)
    found = []
    for signals in periods:
        outcome, _ = lead(one, episodes, **signals)
        found.append(tuple(int(outcome[name]) for name in ("is_success", "terminated", "truncated")))
    return found


SUCCESS, FAILURE, TIME, NOTHING, SO_FAR = (1, 1, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0), (1, 0, 0)
NEAR, FAR = {"hip__position": 0.5, "knee__position": 0.54}, {"hip__position": 0.5, "knee__position": 0.56}
AHEAD = {"tip__position_x": 1.0, "tip__orientation_w": 1.0}


def test_a_goal_counts_as_reached_when_it_was_kept(begin, lead):
    task = ended(ends.reached(tolerance=0.05, hold=0.04), Posture(0.5, 0.5))
    assert verdicts(begin, lead, task, [NEAR, FAR, NEAR, NEAR]) == [NOTHING, NOTHING, NOTHING, SUCCESS]


def test_what_once_left_its_limits_is_no_success_any_more(begin, lead):
    task = ended(ends.stayed_within(limit=1.0))
    inside, outside = {"hip__torque": -1.0}, {"knee__torque": -1.5}
    assert verdicts(begin, lead, task, [inside, outside, inside]) == [SO_FAR, NOTHING, NOTHING]


def test_a_pose_needs_position_and_orientation(begin, lead):
    turned = {**AHEAD, "tip__orientation_w": math.cos(0.1), "tip__orientation_x": math.sin(0.1)}
    goal = Drawn(
        [*(f"tip/position_{a}" for a in "xyz"), *(f"tip/orientation_{a}" for a in "wxyz")],
        (1, 0, 0, 1, 0, 0, 0),
        (1, 0, 0, 1, 0, 0, 0),
    )
    task = ended(ends.posed(tolerance=0.01, angle=0.1, hold=0.02), goal)
    assert verdicts(begin, lead, task, [{}, turned, AHEAD]) == [NOTHING, NOTHING, SUCCESS]
    task = ended(ends.arrived(tolerance=0.01, hold=0.02), Pose(low=[1, 0, 0], high=[1, 0, 0]))
    assert verdicts(begin, lead, task, [{}, turned]) == [NOTHING, SUCCESS]


def test_a_verdict_ends_nothing_and_is_lost_for_good(begin, lead):
    task = ended(ends.followed(tolerance=0.05), Posture(0.5, 0.5))
    assert verdicts(begin, lead, task, [NEAR, FAR, NEAR]) == [SO_FAR, NOTHING, NOTHING]
    task = ended(ends.stayed_near(tolerance=0.05), Drawn(["hip/position", "knee/position"], 0.5, 0.5))
    assert verdicts(begin, lead, task, [NEAR, FAR, NEAR]) == [SO_FAR, NOTHING, NOTHING]
    task = ended(ends.followed_on_average(tolerance=0.05), Posture(0.5, 0.5))
    assert verdicts(begin, lead, task, [NEAR, FAR, NEAR, FAR, FAR]) == [SO_FAR, NOTHING, SO_FAR, NOTHING, NOTHING]


def test_all_verdicts_must_hold(begin, lead):
    task = ended(
        ends.at_least(signals="hip/position", limit=0.5), None, high=ends.at_least(signals="base/*_z", limit=0.0)
    )
    low = {**NEAR, "base__position_z": -0.1}
    assert verdicts(begin, lead, task, [NEAR, low, {}]) == [SO_FAR, NOTHING, NOTHING]


def test_an_orientation_may_be_kept(begin, lead):
    goal = Drawn([f"tip/orientation_{part}" for part in "wxyz"], (1, 0, 0, 0), (1, 0, 0, 0))
    turned = {"tip__orientation_w": math.cos(0.1), "tip__orientation_x": math.sin(0.1)}
    assert verdicts(begin, lead, ended(ends.stayed_aligned(tolerance=0.1), goal), [{}, turned]) == [
        SO_FAR,
        NOTHING,
    ]


def test_a_fall_is_a_failure(begin, lead):
    task = ended(ends.fallen(lowest=0.3, tilt=0.5))
    leaning = {"base__orientation_w": math.cos(0.3), "base__orientation_y": math.sin(0.3)}
    bowed = {"base__orientation_w": math.cos(0.2), "base__orientation_y": math.sin(0.2)}
    assert verdicts(begin, lead, task, [{}, bowed, leaning]) == [NOTHING, NOTHING, FAILURE]
    assert verdicts(begin, lead, task, [{"base__position_z": 0.29}]) == [FAILURE]


def test_limits_are_failures_and_a_role_may_be_another(begin, lead):
    assert verdicts(
        begin, lead, ended(ends.beyond(signals="wrist/force_*", limit=5)), [{"wrist__force_y": -6}]
    ) == [FAILURE]
    done = ends.beyond(signals="wrist/force_*", limit=5, role="success")
    assert verdicts(begin, lead, ended(done), [{}, {"wrist__force_y": -6}]) == [NOTHING, SUCCESS]
    with pytest.raises(UnknownNameError, match=r"role 'sucess'.*Did you mean 'success'"):
        ends.beyond(limit=5, role="sucess")


def test_a_failure_outweighs_success_and_time(begin, lead):
    task = ended(
        ends.beyond(signals="wrist/force_*", limit=5),
        done=ends.beyond(signals="wrist/force_*", limit=4, role="success"),
        time=ends.time_up(duration=PERIOD),
    )
    assert verdicts(begin, lead, task, [{"wrist__force_y": -6}]) == [FAILURE]
    assert verdicts(begin, lead, task, [{"wrist__force_y": -4.5}]) == [SUCCESS]
    assert verdicts(begin, lead, task, [{}]) == [TIME]


def test_time_is_counted_in_whole_periods(begin, lead):
    assert verdicts(begin, lead, ended(ends.time_up(duration=0.05)), [{}, {}, {}]) == [NOTHING, NOTHING, TIME]
    task = ended(ends.goal_ended(), JointTrajectory(MinimumJerk(0.0, 0.1, 0.04)))
    assert verdicts(begin, lead, task, [{}, {}]) == [NOTHING, TIME]


# Observations that are computed ---------------------------------------------------------------------------------


def observed(goal=None, **observations) -> Task:
    return Task(
        "seen", observations=observations, rewards={"x": value(signals="hip/position")}, ends={}, goal=goal
    )


def test_the_base_is_seen_in_its_own_frame(begin, lead):
    task = observed(gravity=gravity(), yaw=yaw())
    half = 0.4
    _, seen = lead(*begin(task), **{"base__orientation_w": math.cos(half), "base__orientation_y": math.sin(half)})
    expected = [math.sin(2 * half), 0.0, -math.cos(2 * half), 0.0]
    assert list(seen.values()) == pytest.approx(expected, abs=1e-6)
    _, seen = lead(*begin(task), **{"base__orientation_w": math.cos(half), "base__orientation_z": math.sin(half)})
    assert list(seen.values()) == pytest.approx([0.0, 0.0, -1.0, 2 * half], abs=1e-6)


def test_errors_previews_and_time_left_are_seen(begin, lead):
    motion = MinimumJerk(0.0, 0.1, 0.06)
    task = observed(
        JointTrajectory(motion),
        error=error(goals="*/desired_position"),
        ahead=preview(ahead=[1, 2]),
        time=time_left(duration=0.06),
        clock=clock(frequency=2.0),
    )
    _, seen = lead(*begin(task), **{"hip__position": 0.5})
    at = lambda k: float(motion.position(k * PERIOD)[0])  # noqa: E731
    assert seen["hip/desired_position_error"] == pytest.approx(at(1) - 0.5)
    assert seen["knee/desired_position"] == pytest.approx(at(2), abs=1e-7)
    assert seen["knee/desired_position_in_2"] == pytest.approx(at(3), abs=1e-7)
    assert seen["time/left"] == pytest.approx(0.04)
    angle = 2.0 * math.pi * 2.0 * 0.02
    assert [seen["clock/sine"], seen["clock/cosine"]] == pytest.approx([math.sin(angle), math.cos(angle)])
