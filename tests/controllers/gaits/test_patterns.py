import numpy as np
import pytest

from pliant.controllers.gaits import LEGS, PATTERNS, Pattern
from pliant.controllers.gaits.patterns import pattern_of
from pliant.errors import OutOfBoundsError, ShapeError, UnknownNameError

NEIGHBOURS = ((0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (2, 5))


@pytest.mark.parametrize(("name", "feet"), [("tripod", 3), ("tetrapod", 4), ("ripple", 4), ("wave", 5)])
def test_as_many_feet_stand_as_the_name_says(name, feet):
    pattern = PATTERNS[name]
    for instant in (np.arange(120) + 0.5) / 120:
        swinging = np.mod(pattern.offsets + instant, 1.0) < 1.0 - pattern.duty
        assert len(LEGS) - swinging.sum() == feet
        assert not any(swinging[i] and swinging[j] for i, j in NEIGHBOURS), f"{name} at {instant}: neighbours"


@pytest.mark.parametrize("name", PATTERNS)
def test_steps_run_from_the_rear_to_the_front(name):
    lift = np.array(PATTERNS[name].lift)
    lag = {"tripod": 1 / 2, "tetrapod": 1 / 3, "ripple": 1 / 3, "wave": 1 / 6}[name]
    for rear, front in ((2, 1), (1, 0), (5, 4), (4, 3)):
        assert np.mod(lift[front] - lift[rear] + 1e-9, 1.0) == pytest.approx(lag)


def test_patterns_that_cannot_be_are_refused():
    with pytest.raises(UnknownNameError, match="tripod"):
        pattern_of("tripot")
    with pytest.raises(ShapeError):
        Pattern("four", (0.0, 0.5, 0.0, 0.5), 0.5)
    with pytest.raises(OutOfBoundsError, match="duty"):
        Pattern("flying", (0.0,) * 6, 0.4)
