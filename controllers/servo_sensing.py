"""The torque of AX-12A servos, which measure none, as their position errors tell it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pliant.actuators.ax12a import AX12A
from pliant.hardware.dynamixel.config import DynamixelConfig, ServoMount
from pliant.hardware.robot import Robot, State
from pliant.hardware.wrapper import RobotWrapper

_MODEL = "AX-12A"


class _Servo(NamedTuple):
    """The servo of one joint: where the joint is in a state and a command, and turns of the servo to one of it."""

    law: AX12A
    joint: int
    column: int
    turns: float


class ServoTorqueSensing(RobotWrapper):
    """A robot whose torques, where an AX-12A drives a joint, are estimated: `AX12A.estimated_torque`.

    The error is that of the command in force against the angle read with it. What is `estimated` stays among what
    is `unmeasured`: no limit can be set of it, and it is too large of a joint that moves.

    Args:
        robot: the machine.
        config: its servos.
    """

    def __init__(self, robot: Robot, config: DynamixelConfig) -> None:
        super().__init__(robot)
        columns = {channel.name: at for at, channel in enumerate(robot.info.command)}
        self._servos = [
            _Servo(_law(mount), robot.info.joints.index(joint.name), columns[f"{joint.name}/position"], turns)
            for joint, _, mount in config.motors()
            if mount.model == _MODEL and not joint.compliant
            for turns in [mount.direction * mount.gear]
        ]

    @property
    def estimated(self) -> frozenset[str]:
        """The robot's, and the torque of every joint that an AX-12A drives."""
        joints: Sequence[str] = self.info.joints
        return self.robot.estimated | {f"{joints[servo.joint]}/torque" for servo in self._servos}

    def read(self) -> State:
        """Return the robot's state with the estimated torques."""
        state = self.robot.read()
        torque = state.torque.copy()
        for law, joint, column, turns in self._servos:
            error = turns * (state.command[column] - state.position[joint])
            if np.isfinite(error):
                torque[joint] = turns * float(law.estimated_torque(error))
        return state._replace(torque=torque)


def _law(mount: ServoMount) -> AX12A:
    """The servo with the registers that are written to it on connecting."""
    names = {
        "cw_margin": "cw_compliance_margin",
        "ccw_margin": "ccw_compliance_margin",
        "cw_slope": "cw_compliance_slope",
        "ccw_slope": "ccw_compliance_slope",
        "punch": "punch",
        "max_torque": "max_torque",
    }
    return AX12A(**{ours: mount.settings[theirs] for ours, theirs in names.items() if theirs in mount.settings})
