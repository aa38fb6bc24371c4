"""Ranges and choices of a search, as they are read."""

import math

import pytest

from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError
from pliant.training.gait_space import Choice, Range, read_space

USUAL = {"controller.stride": 0.03, "controller.pattern": "tripod"}


def test_ranges_are_read():
    given = {
        "controller.stride": {"low": 0.01, "high": 0.1, "log": True},
        "controller.pattern": {"choices": ["tripod", "wave"]},
    }
    assert read_space(given, USUAL) == {
        "controller.stride": Range(0.01, 0.1, True),
        "controller.pattern": Choice(("tripod", "wave")),
    }
    assert read_space({"controller.stride": [0.01, 1]}, USUAL) == {"controller.stride": Range(0.01, 1.0)}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ConfigurationError, "a search needs parameters"),
        ({"controller.strde": [0.1, 0.2]}, UnknownNameError, "Did you mean 'controller.stride'"),
        ({"controller.stride": [0.2, 0.1]}, OutOfBoundsError, "the second number must be the larger one"),
        ({"controller.stride": [0.1, math.nan]}, OutOfBoundsError, "controller.stride: high"),
        (
            {"controller.stride": {"low": 0.0, "high": 1.0, "log": True}},
            OutOfBoundsError,
            "controller.stride: low",
        ),
        ({"controller.stride": [0.1, 0.2, 0.3]}, ConfigurationError, r"\[low, high\]"),
        ({"controller.stride": 0.1}, ConfigurationError, r"\[low, high\]"),
        ({"controller.stride": {"low": 0.1}}, ConfigurationError, r"\[low, high\]"),
        ({"controller.pattern": {"choices": []}}, ConfigurationError, "choices"),
        ({"controller.pattern": {"choices": [[1]]}}, ConfigurationError, "choices"),
    ],
)
def test_what_is_no_range_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        read_space(given, USUAL)
