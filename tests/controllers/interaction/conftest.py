"""A UR10 that is at once where it is sent, with a wrist sensor that feels whatever a test puts there."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant.controllers.interaction import InteractionController
from pliant.controllers.poses import matrix
from pliant.envs.arm import arm
from pliant.envs.models.ur import ur
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals

START = np.array([1.3644, -0.950874, 1.944186, 3.71903, -1.570797, -1.777184])
"""The tool points down, (7,)."""
QUANTITIES = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")


class Conditioning:
    """Lets a wrench pass as it is; faults and tares are as a test says."""

    def __init__(self):
        self.fault, self.tare = "", SimpleNamespace(state="none", reason="")
        self.resets = 0

    tare_state = property(lambda self: self.tare)

    def update(self, time, raw, rotation, *, joint_speed=None, tool_speed=None):
        self.speeds = joint_speed, tool_speed
        return np.array(raw), self.fault

    def reset(self):
        self.resets += 1

    def start_tare(self):
        self.tare = SimpleNamespace(state="running", reason="")


class Rig:
    """The robot, its controller, and what was commanded."""

    def __init__(self, arm, gains, period=0.002, wrench=None, **options):
        self.arm = arm
        joints = arm.kinematics.joints
        command = tuple(Channel(f"{j}/position", "rad", -6.3, 6.3) for j in joints)
        signals = joint_signals(joints, ()) + [Channel(f"wrist/{q}", "1", -np.inf, np.inf) for q in QUANTITIES]
        self.info = RobotInfo("ur10", joints, (), command, period, signals=tuple(signals))
        self.conditioning = Conditioning()
        self.controller = InteractionController(arm, self.info, gains, self.conditioning, **options)
        self.wrench = wrench or (lambda time, tip: np.zeros(6))
        """Of the tool on its surroundings at its tip, in the world's axes, of time and pose."""
        self.time, self.q, self.measured = 0.0, START.copy(), True
        self.commands, self.feedback = [self.q.copy(), self.q.copy()], []
        self.controller.reset(self.state())

    def state(self):
        tip = self.arm.preview.pose(self.q)
        rotation, lever = matrix(tip[3:]), matrix(tip[3:]) @ self.arm.frames.sensor[:3]
        force, torque = np.asarray(self.wrench(self.time, tip), float).reshape(2, 3)
        torque = torque - np.cross(lever, force)  # about the sensor
        rotation = rotation @ matrix(np.asarray(self.arm.frames.sensor)[3:])
        raw = np.concatenate([force @ rotation, torque @ rotation])
        none, unknown = np.empty(0), np.full(6, np.nan)
        position = self.q.copy() if self.measured else unknown
        return State(self.time, position, unknown, unknown, unknown, none, none, none, none, self.q.copy(), raw)

    def run(self, seconds, until=None):
        for _ in range(round(seconds / self.info.period)):
            self.q = np.array(self.controller.update(self.state(), self.time))
            self.commands.append(self.q.copy())
            self.feedback.append(self.controller.feedback())
            self.time += self.info.period
            if until is not None and until(self.feedback[-1]):
                return self
        assert until is None, f"it did not come to that: {self.feedback[-1]}, {list(self.controller.events)}"
        return self

    @property
    def now(self):
        return self.feedback[-1]

    @property
    def said(self):
        return [event.text for event in self.controller.events]

    def accelerations(self):
        """Of the commands, (n, joints), rad/s²: a jump of the speed v shows as v/period."""
        return np.diff(self.commands, n=2, axis=0) / self.info.period**2


@pytest.fixture(scope="session")
def ur10():
    """The arm with a tool of 195 mm."""
    return arm(ur("ur10", tcp=(0.0, 0.0, 0.195, 0.0, 0.0, 0.0)))


@pytest.fixture
def rig(ur10):
    """A maker of rigs."""
    return lambda gains, **options: Rig(ur10, gains, **options)
