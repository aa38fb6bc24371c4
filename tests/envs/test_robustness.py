import numpy as np
import pytest

from pliant.envs.models.arm2 import arm2
from pliant.envs.robustness import Perturbation, replay
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import OutOfBoundsError


@pytest.fixture
def command():
    with SimulatedRobot(arm2(), 0.01) as robot:
        rows = np.tile(robot.info.rest, (300, 1))
    rows[200:, 0] = np.linspace(0.0, 0.5, 100)  # after two seconds in which the arm settles
    return rows


def test_robots_without_differences_move_as_the_original(command):
    same = Perturbation(robots=2, mass=0.0, friction=0.0, spring=0.0, motor=0.0, command_delay=0.0)
    with SimulatedRobot(arm2(), 0.01) as robot:
        original = robot.rollout(command).position
    for positions in replay(arm2(), 0.01, command, same):
        np.testing.assert_allclose(positions, original, atol=1e-9)


def test_a_late_command_moves_the_robot_later(command):
    late = Perturbation(robots=1, mass=0.0, friction=0.0, spring=0.0, motor=0.0, command_delay=0.01)
    with SimulatedRobot(arm2(), 0.01) as robot:
        original = robot.rollout(command).position
    (positions,) = replay(arm2(), 0.01, command, late)
    np.testing.assert_allclose(positions[201:], original[200:-1], atol=1e-4)
    assert np.abs(positions - original).max() > 1e-3


@pytest.mark.parametrize("what", ["mass", "friction", "spring", "motor"])
def test_everything_that_varies_changes_the_motion(command, what):
    alike = dict.fromkeys(("mass", "friction", "spring", "motor"), 0.0)
    one = Perturbation(robots=1, command_delay=0.0, **{**alike, what: 0.3})
    with SimulatedRobot(arm2(), 0.01) as robot:
        original = robot.rollout(command).position
    (positions,) = replay(arm2(), 0.01, command, one)
    assert np.abs(positions - original).max() > 1e-4


def test_the_same_seed_gives_the_same_robots_and_another_seed_others(command):
    one, again, other = (replay(arm2(), 0.01, command, Perturbation(robots=2, seed=s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-4
    assert np.abs(one[0] - one[1]).max() > 1e-4


def test_no_robots_give_no_motions(command):
    assert replay(arm2(), 0.01, command, Perturbation(robots=0)).shape == (0, 301, 2)
    with pytest.raises(OutOfBoundsError):
        Perturbation(robots=-1)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mass", -1, r"mass = -1 is outside \[0, 0.9\]"),
        ("friction", 1e300, r"friction = 1e\+300 is outside \[0, 1\]"),
        ("spring", None, "spring is None"),
        ("motor", float("nan"), "motor is nan"),
        ("command_delay", -1, "command_delay = -1 s is outside"),
        ("seed", 1e300, "seed = 1e\\+300 is outside"),
        ("seed", {"a": 1}, "seed is {'a': 1}"),
    ],
)
def test_what_cannot_vary_so_is_refused_when_it_is_told_rather_than_after_the_learning(name, value, message):
    with pytest.raises(OutOfBoundsError, match=message):
        Perturbation(**{name: value})
