"""Torques of servos that measure none, against the compliance law of their manual by hand."""

import math

import numpy as np
import pytest

from pliant.controllers.servo_sensing import ServoTorqueSensing
from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.robot import State

COUNT = math.radians(300) / 1023


def sensing(*mounts, **options):
    joints = [DynamixelJoint(f"j{m.servo}", [m], -1.0, 1.0) for m in mounts]
    config = DynamixelConfig(joints, "nowhere", watchdog=0.0, **options)
    return ServoTorqueSensing(DynamixelRobot(config), config)


def read(robot, monkeypatch, position, command):
    n, nan = len(position), np.full(len(position), math.nan)
    state = State(0.0, np.array(position), nan, nan, nan, nan, nan, nan, nan, np.array(command), np.empty(0))
    assert n == len(robot.info.joints)
    monkeypatch.setattr(robot.robot, "read", lambda: state)
    return robot.read().torque


def test_the_estimate_is_the_manuals_law(monkeypatch):
    """Margin 1, slope 32, punch 32: 17 counts off, half way up from punch to all of 1.5 N·m."""
    robot = sensing(ServoMount(1, "AX-12A"), ServoMount(2, "AX-12A", direction=-1), ServoMount(3, "AX-12A"))
    torque = read(robot, monkeypatch, [0.1, 0.1, 0.1], [0.1 + 17 * COUNT, 0.1 + 17 * COUNT, 0.1 + 0.5 * COUNT])
    half = 1.5 * (32 + (1023 - 32) * 0.5) / 1023
    np.testing.assert_allclose(torque, [half, half, 0.0], atol=1e-9)
    assert read(robot, monkeypatch, [0.1] * 3, [-0.5, 0.5, 0.1]) == pytest.approx([-1.5, 1.5, 0.0])


def test_gear_and_registers_count(monkeypatch):
    robot = sensing(ServoMount(1, "AX-12A", gear=2.0, settings={"ccw_compliance_slope": 64, "punch": 0}))
    torque = read(robot, monkeypatch, [0.0], [0.5 * 33 * COUNT])
    assert torque == pytest.approx([2.0 * 1.5 * 32 / 64])


def test_it_says_that_it_is_an_estimate():
    robot = sensing(ServoMount(1, "AX-12A"))
    assert robot.estimated == {"j1/torque"}
    assert robot.unmeasured == {"j1/torque"}
    assert sensing(ServoMount(1, "XL430-W250")).estimated == frozenset()


def test_what_is_not_known_stays_unknown(monkeypatch):
    robot = sensing(ServoMount(1, "AX-12A"))
    assert np.isnan(read(robot, monkeypatch, [math.nan], [0.0])).all()
