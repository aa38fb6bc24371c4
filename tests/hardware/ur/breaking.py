"""Drivers and safety layers that are broken on purpose: a campaign that does not see them proves nothing."""

import numpy as np

from pliant.errors import RobotError
from pliant.hardware import safety
from pliant.hardware.ur import robot
from pliant.hardware.ur.course import Course
from pliant.hardware.ur.supervisor import Supervisor


def watchdog_never_armed() -> None:
    """The controller's watchdog stays off."""
    call = Supervisor.call
    Supervisor.call = lambda self, name, *rest, **more: name == "arm" or call(self, name, *rest, **more)


def watchdog_of_a_second() -> None:
    """It waits longer than is promised."""
    call = Supervisor.call

    def slower(self, name, *rest, **more):
        return call(self, name, *rest, **(more | {"frequency": 1.0} if name == "arm" else more))

    Supervisor.call = slower


def stop_forgotten() -> None:
    """The arm is left to the program, and a thread goes on sending."""
    robot.URRobot.stop = lambda self: None
    robot.URRobot._hold_still = lambda self: None
    safety.SafeRobot._latch = lambda self, reason: None


def faults_forgotten() -> None:
    """A fault does not latch: the next command begins anew."""
    send = robot.URRobot.send

    def again(self, command):
        self._fault = ""
        return send(self, command)

    robot.URRobot.send = again
    safety.SafeRobot._refusal = lambda self: ""
    safety.SafeRobot._latch = lambda self, reason: None
    release = safety.SafeRobot._release
    safety.SafeRobot._release = lambda self: None if self._trip == "" else release(self)


def first_command_anywhere() -> None:
    """The arm is sent off from a place where it is not."""
    held = Course.held
    Course.held = lambda self, package: held(self, package) + 0.04
    Course.refuse_far = lambda self, here, wanted: None
    robot.checks.preflight = lambda config: None


def too_fast() -> None:
    """Limits of speed are those of another machine."""
    _limits(speed=4.0)


def too_sudden() -> None:
    """Limits of acceleration are those of another machine."""
    _limits(acceleration=4.0)


def _limits(speed: float = 1.0, acceleration: float = 1.0) -> None:
    limit = safety.limit_motion

    def unlimited(target, last, limits, period):
        more = limits._replace(speed=limits.speed * speed, acceleration=limits.acceleration * acceleration)
        return limit(target, last, more, period)

    safety.limit_motion = unlimited


def range_forgotten() -> None:
    """Commands are sent whatever the range is."""
    safety.limit_motion = lambda target, last, limits, period: target
    robot.URRobot._command = _passed_on


def _passed_on(self, wanted, state):
    start = self._course.sent
    self.supervisor.settings["low"] = [-9.0] * 6
    self._number = self.supervisor.command(start, wanted, self.config.steps)
    self._course.sent = np.array(wanted)
    return wanted


def refusals_forgotten() -> None:
    """What is refused is sent again by somebody who thinks that he knows better."""
    refused = safety.SafeRobot.send

    def insist(self, command):
        try:
            return refused(self, command)
        except RobotError:
            self.rearm()
            return refused(self, command)

    safety.SafeRobot.send = insist
