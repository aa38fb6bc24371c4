import math

import pytest

from pliant.errors import ConfigurationError, OutOfBoundsError, PliantError, ShapeError, UnknownNameError
from pliant.hardware.ur.config import Payload, URConfig


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"host": ""}, ConfigurationError, "host=192.168"),
        ({"host": "a b"}, ConfigurationError, "address"),
        ({"host": None}, ConfigurationError, "address"),
        ({"model": "ur99"}, UnknownNameError, "ur10e"),
        ({"mode": "positon"}, UnknownNameError, "Did you mean 'position'"),
        ({"period": 0.003}, ConfigurationError, "every 2 ms, so 4 ms"),
        ({"period": 0.0}, OutOfBoundsError, "period"),
        ({"period": math.nan}, OutOfBoundsError, "period"),
        ({"period": 0.1}, ConfigurationError, "less than two periods"),
        ({"watchdog": 0.0}, OutOfBoundsError, "watchdog"),
        ({"stale": 1e-3}, OutOfBoundsError, "stale"),
        ({"lookahead": 0.01}, OutOfBoundsError, r"\[0.03, 0.2\]"),
        ({"gain": 50}, OutOfBoundsError, r"\[100, 2000\]"),
        ({"gain": math.inf}, OutOfBoundsError, "gain"),
        ({"joints": ["a"] * 6}, ConfigurationError, "six joints of different names"),
        ({"joints": ["a", "b"]}, ConfigurationError, "six joints"),
        ({"low": [0.0] * 5}, ShapeError, "6 numbers"),
        ({"low": "000000"}, ShapeError, "6 numbers"),
        ({"low": [math.nan] * 6}, OutOfBoundsError, "low"),
        ({"low": [1.0] * 6, "high": [0.5] * 6}, ConfigurationError, "not below"),
        ({"high": [7.0] * 6}, OutOfBoundsError, "shoulder_pan/position: high"),
        ({"rest": [6.5] * 6}, OutOfBoundsError, "rest"),
        ({"speed": [10.0] * 6}, OutOfBoundsError, "speed"),
        ({"mode": "torque", "high": [400.0] * 6}, OutOfBoundsError, "torque: high"),
        ({"mode": "tool"}, ConfigurationError, "where it rests"),
        ({"viscous": [2.0] * 6}, OutOfBoundsError, "viscous"),
        ({"damping": [-1.0] * 6}, OutOfBoundsError, "damping"),
        ({"torque_constants": [0.0] * 6}, OutOfBoundsError, "torque_constants"),
        ({"payload": 3.0}, ConfigurationError, "mass"),
        ({"payload": {"weight": 3.0}}, ConfigurationError, "mass"),
        ({"payload": {"mass": -3.0}}, OutOfBoundsError, "mass"),
        ({"payload": {"mass": 1.0, "cog": [0.0]}}, ShapeError, "cog"),
        ({"tcp": [0.0] * 3}, ShapeError, "tcp"),
        ({"inputs": ["standard_8"]}, UnknownNameError, "standard_0"),
        ({"outputs": ["digital_0"]}, UnknownNameError, "tool_0"),
        ({"first_step": 10.0}, OutOfBoundsError, "first_step"),
        ({"deceleration": 0.0}, OutOfBoundsError, "deceleration"),
        ({"acceleration": "fast"}, OutOfBoundsError, "acceleration"),
    ],
)
def test_what_cannot_be_is_refused(settings, error, words):
    with pytest.raises(error, match=words) as raised:
        URConfig(**{"host": "arm", **settings})
    assert isinstance(raised.value, PliantError)


def test_the_arm_says_what_nobody_said():
    config = URConfig("arm")
    assert (config.period, config.cycle, config.steps) == (0.002, 0.002, 1)
    assert config.low == (-2 * math.pi,) * 6
    assert config.speed[0] == pytest.approx(math.radians(120))
    assert config.units == ("rad",) * 6
    old = URConfig("arm", model="ur10", period=0.024)
    assert (old.cycle, old.steps) == (0.008, 3)


def test_each_mode_has_its_columns():
    assert URConfig("arm", mode="velocity").columns[2] == "elbow/velocity"
    assert URConfig("arm", mode="torque").high == (330.0, 330.0, 150.0, 54.0, 54.0, 54.0)
    tool = URConfig("arm", mode="tool", rest=[0.4, 0, 0.4, 3.1, 0, 0])
    assert tool.columns == ("tcp/x", "tcp/y", "tcp/z", "tcp/rx", "tcp/ry", "tcp/rz")
    assert tool.units == ("m",) * 3 + ("rad",) * 3


def test_a_payload_may_be_said_as_settings():
    assert URConfig("arm", payload={"mass": 1.0, "cog": [0, 0, 0.1]}).payload == Payload(1.0, (0.0, 0.0, 0.1))
