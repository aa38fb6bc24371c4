"""Guided by hand, kept, and played again by the tool and by the joints."""

import numpy as np
import pytest
from tests.controllers.interaction.conftest import START

from pliant.controllers import Recorded
from pliant.controllers.interaction import Demonstration, DirectForceGains, LawLimits, Mode, Replay
from pliant.controllers.poses import difference
from pliant.errors import FileFormatError, MissingFileError, OutOfBoundsError, ShapeError, UnknownNameError

GUIDED = DirectForceGains(0.0, [5e-3] * 3 + [0.05] * 3, ("x", "y", "z", "rx", "ry", "rz"))
RIGID = DirectForceGains(0.0, 1e-5, ())


def hand(time, tip):
    """Pulls for three seconds, after one of rest."""
    if not 1.0 <= time < 4.0:
        return np.zeros(6)
    t = time - 1.0
    swing = np.sin(np.pi * t / 3.0) ** 2
    return swing * np.array([8.0 * np.cos(t), 6.0, 5.0 * np.sin(2.0 * t), 0.5, -0.3, 0.4])


@pytest.fixture
def taught(rig):
    """The rig as it was guided, and its demonstration."""
    found = rig(GUIDED, wrench=hand, period=0.004, limits=LawLimits(distance=2.0, angle=3.0))
    found.run(5.0)
    time = 0.004 * np.arange(len(found.commands) - 1)
    return found, Demonstration.of(time, found.commands[1:], found.arm.preview)


def test_the_tool_goes_where_it_is_pushed(taught):
    found, shown = taught
    way = difference(shown.poses[-1], shown.poses[0])
    assert np.linalg.norm(way[:3]) > 0.03
    # f = v/Ki: the integral of the force in world axes, pulled against what the tool exerts
    pulled = 5e-3 * -sum(hand(t, None)[:3] for t in 0.004 * np.arange(1250)) * 0.004
    np.testing.assert_allclose(way[:3], pulled, atol=1e-3)
    assert np.abs(found.accelerations()).max() < 2.0


@pytest.mark.parametrize("speed", [1.0, 2.0])
def test_a_demonstration_is_replayed_by_the_tool(rig, taught, tmp_path, speed):
    _, shown = taught
    shown.save(tmp_path / "shown.npz")
    again = rig(RIGID, period=0.004, limits=LawLimits(speed=1.0, turning=3.0))
    again.controller.submit(
        {"replay": {"demonstration": str(tmp_path / "shown.npz"), "lead": 1.0, "speed": speed}}
    )
    again.run(8.0, until=lambda now: now.mode is Mode.TRAJECTORY)
    again.run(8.0, until=lambda now: now.mode is Mode.STATIC)
    again.run(0.5)
    assert np.abs(difference(again.now.measured, shown.poses[-1])).max() < 2e-3
    moved = shown.moving()
    course = np.array([f.measured for f in again.feedback])
    for pose in moved.poses[:: len(moved.poses) // 10]:
        near = np.abs([difference(pose, there) for there in course[::2]]).max(axis=1).min()
        assert near < 5e-3, "it passes where it was led"
    assert np.abs(again.accelerations()).max() < 6.0 * speed**2


def test_the_same_file_is_a_trajectory_of_the_joints(taught, tmp_path):
    _, shown = taught
    shown.save(tmp_path / "shown.npz")
    recorded = Recorded.load(tmp_path / "shown.npz")
    assert recorded.names == shown.recorded.names
    np.testing.assert_allclose(recorded.position(2.0), shown.recorded.position(2.0))
    read = Demonstration.load(tmp_path / "shown.npz")
    np.testing.assert_array_equal(read.poses, shown.poses)


def test_what_stands_still_is_left_out(taught):
    _, shown = taught
    moved = shown.moving()
    assert 1.0 < shown.recorded.duration - moved.recorded.duration < 3.0
    times, poses = moved.waypoints(0.1)
    assert np.abs(np.diff(times) - 0.1).max() < 0.01
    assert len(times) == len(poses) == round(moved.recorded.duration / 0.1) + 1


def test_what_is_no_demonstration_is_refused(ur10, tmp_path, taught):
    _, shown = taught
    still = Demonstration.of([0.0, 1.0, 2.0], [START] * 3, ur10.preview)
    for make, error, part in (
        (still.moving, OutOfBoundsError, "does not move"),
        (lambda: Demonstration(shown.recorded, shown.poses[:-1]), ShapeError, "poses of a demonstration"),
        (lambda: Demonstration(shown.recorded, 2.0 * shown.poses), OutOfBoundsError, "no unit quaternion"),
        (lambda: Demonstration.load(tmp_path / "none.npz"), MissingFileError, "none.npz"),
        (lambda: Replay(shown, lead=-1.0).trajectory(), OutOfBoundsError, "lead of a replay"),
        (lambda: Replay(shown, period=0.0).trajectory(), OutOfBoundsError, "period of waypoints"),
    ):
        with pytest.raises(error, match=part):
            make()
    (tmp_path / "text.npz").write_text("nothing")
    with pytest.raises(FileFormatError):
        Demonstration.load(tmp_path / "text.npz")


def test_an_entry_of_a_replay_that_does_not_exist_is_named(rig):
    with pytest.raises(UnknownNameError, match=r"unknown entry 'sped'.*Did you mean 'speed'"):
        rig(RIGID).controller.submit({"replay": {"demonstration": "a.npz", "sped": 1.0}})
