"""Bounds of accelerations: a joint that follows them passes neither its speed nor its end."""

import math

import numpy as np
import pytest

from pliant.controllers.task_space import JointLimits
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError


@pytest.fixture
def limits(arm):
    return JointLimits(arm, position=[[-1.0, 2.0]] * 6, speed=[1.5, 1.5, 3.0, 3.0, 3.0, 0.5], window=0.2)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_on_the_bound_a_joint_comes_to_its_end_and_no_further(arm, limits, direction):
    q, u, h = np.zeros(6), np.zeros(6), 1e-3
    low, high = np.full(6, -math.inf), np.full(6, math.inf)
    fastest, farthest = np.zeros(6), np.zeros(6)
    for _ in range(12000):
        arm.q[:], arm.u[:] = q, u
        limits.apply(low, high)
        assert (low <= high).all()
        u = u + h * np.clip(direction * 50.0, low, high)
        q = q + h * u
        fastest, farthest = np.maximum(fastest, np.abs(u)), np.maximum(farthest, direction * q)
    end = 2.0 if direction > 0 else 1.0
    assert (fastest <= limits.speed + 1e-9).all()
    assert fastest[5] == pytest.approx(0.5, rel=1e-3)
    assert (farthest <= end + 1e-9).all()
    assert farthest == pytest.approx(end, abs=1e-4)


def test_a_joint_beyond_its_end_comes_back(arm, limits):
    q, u, h = np.full(6, 2.3), np.zeros(6), 1e-3
    low, high = np.full(6, -math.inf), np.full(6, math.inf)
    for _ in range(5000):
        arm.q[:], arm.u[:] = q, u
        limits.apply(low, high)
        u = u + h * np.clip(-20.0 * u, low, high)
        q = q + h * u
        assert (np.abs(u) <= limits.speed + 1e-9).all()
    assert (q <= 2.0 + 1e-3).all()
    assert (q > 1.5).all()


def test_what_cannot_be_is_refused(arm):
    with pytest.raises(ConfigurationError, match="no range"):
        JointLimits(arm, position=[[1.0, -1.0]] * 6)
    with pytest.raises(OutOfBoundsError, match="speed"):
        JointLimits(arm, speed=-1.0)
    with pytest.raises(OutOfBoundsError, match="window"):
        JointLimits(arm, window=0.0)
    with pytest.raises(OutOfBoundsError, match="position"):
        JointLimits(arm, position=[[0.0, 1.0]])


@pytest.mark.parametrize("name", ["speed", "acceleration"])
@pytest.mark.parametrize("value", ["fast", [1.0, 2.0], [[1.0], [2.0]]])
def test_largest_values_of_another_shape_or_kind_are_refused_by_name(arm, name, value):
    with pytest.raises(ShapeError, match=f"limits: {name}"):
        JointLimits(arm, **{name: value})


@pytest.mark.parametrize("value", ["wide", [[0.0, 1.0], [0.0]]])
def test_positions_that_are_no_numbers_are_refused_by_name(arm, value):
    with pytest.raises(ShapeError, match="limits: position"):
        JointLimits(arm, position=value)
