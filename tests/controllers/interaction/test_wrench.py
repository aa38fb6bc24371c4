"""The measured and the desired wrench of the tool."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.controllers.interaction.conftest import START, Conditioning

from pliant.controllers.interaction import Watch
from pliant.controllers.interaction.wrench import WrenchRamp, WrenchSensing
from pliant.hardware.robot import State

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


@pytest.fixture
def sensing(ur10):
    """A sensing of 10 ms and a function that gives it a force."""
    found = WrenchSensing(Conditioning(), (0, 1, 2, 3, 4, 5), IDENTITY, Watch(contact=2.0, lost_after=0.05), 0.01)
    none = np.empty(0)

    def press(*force):
        raw = np.array([*force, *[0.0] * (6 - len(force))])
        state = State(0.0, START, none, none, none, none, none, none, none, START, raw)
        found.take(state, IDENTITY, np.eye(3), ur10.kinematics, START, 0.1 * np.ones(6))

    return found, press


def test_a_contact_begins_at_its_force_and_ends_at_half_of_it(sensing):
    found, press = sensing
    seen = []
    for force in (1.9, 2.1, 1.5, 1.1, 0.9, 1.9):
        press(0.0, 0.0, force)
        seen.append(found.touching)
    assert seen == [False, True, True, True, False, False]


def test_a_contact_is_lost_only_after_there_was_one_and_for_long_enough(sensing):
    found, press = sensing
    press(0.0, 0.0, 0.0)
    assert not any(found.lost(pressing=True) for _ in range(20))
    press(0.0, 0.0, 5.0)
    assert not found.lost(pressing=True)
    press(0.0, 0.0, 0.0)
    assert [found.lost(pressing=True) for _ in range(7)] == [False] * 5 + [True] * 2
    assert not found.lost(pressing=False)
    assert not any(found.lost(pressing=True) for _ in range(20))


def test_in_turned_axes_the_same_wrench_is_felt(sensing):
    found, press = sensing
    press(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    turn = Rotation.from_euler("xyz", [0.3, -0.4, 1.0]).as_matrix()
    found.turn(turn)
    np.testing.assert_allclose(found.value, np.concatenate([turn @ [1.0, 2.0, 3.0], turn @ [4.0, 5.0, 6.0]]))


def test_a_tare_is_told_how_fast_everything_is(sensing, ur10):
    found, press = sensing
    press(0.0)
    assert found.conditioning.speeds == (None, None)
    found.start_tare()
    press(0.0)
    tip = ur10.preview.jacobian(START)[:3] @ (0.1 * np.ones(6))
    assert found.conditioning.speeds == (pytest.approx(0.1), pytest.approx(np.linalg.norm(tip)))
    assert found.tare_ended() is None
    found.conditioning.tare.state = "done"
    assert found.tare_ended() == ""
    assert found.tare_ended() is None


def test_a_desired_wrench_goes_on_a_straight_line_no_faster_than_it_may():
    ramp = WrenchRamp(np.full(6, 50.0), 0.01)
    ramp.go_to(np.array([0.0, 0.0, 10.0, 1.0, 0.0, 0.0]), over=1.0)
    course = []
    for _ in range(120):
        ramp.advance()
        course.append(ramp.value)
    course = np.array(course)
    np.testing.assert_allclose(course[:100, 2], 0.1 * np.arange(1, 101))
    np.testing.assert_allclose(course[:100, 3], 0.01 * np.arange(1, 101))
    np.testing.assert_allclose(course[100:], [[0.0, 0.0, 10.0, 1.0, 0.0, 0.0]] * 20)
    ramp.go_to(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), over=0.001)
    ramp.advance()
    assert ramp.value[2] == pytest.approx(9.5)
