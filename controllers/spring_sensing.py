"""The torque on a link, told by the springs that carry it, where a machine measures only its motors' currents."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from pliant.actuators import Compliance, JointOnModel
from pliant.hardware.robot import Robot, RobotInfo, State
from pliant.hardware.wrapper import RobotWrapper


class _Spring(NamedTuple):
    """The springs of one joint: where its angles are in a state."""

    law: Compliance
    joint: int
    motors: Sequence[int]


class SpringSensing(RobotWrapper):
    """A robot whose unmeasured spring torques follow from measured angles and the joints' compliance laws.

        τ = Σᵢ τᵢ(q, θ),   K = −∂τ/∂q

    Torque, stiffness and spring torques of the state are filled in where the robot says that it cannot measure a
    joint's spring torques. The current of a servo tells the torque of its motor, friction and inertia of the motor
    included, which in motion is several times what its spring passes on to the link: a policy that learned with
    the torque on the link would be misled. As true as the laws' parameters are.

    Joints that are rigid, move a pivot, have other motors on the machine, or whose link nothing measures stay as
    they are.

    Args:
        robot: the machine.
        joints: the joints of its model, matched by name.
    """

    def __init__(self, robot: Robot, joints: Sequence[JointOnModel]) -> None:
        super().__init__(robot)
        self._springs = [spring for joint in joints if (spring := _spring(joint, robot.info)) is not None]

    def read(self) -> State:
        """Return the robot's state with what the springs tell."""
        state = self.robot.read()
        blind = [
            spring
            for spring in self._springs
            if math.isnan(state.spring_torque[spring.motors[0]]) and math.isfinite(state.position[spring.joint])
        ]
        if not blind:
            return state
        names = ("torque", "stiffness", "spring_torque")
        filled = {name: getattr(state, name).copy() for name in names}
        for law, joint, motors in blind:
            angles = [float(state.motor_position[motor]) for motor in motors]
            torques = law.torques(float(state.position[joint]), *angles)
            filled["torque"][joint] = sum(torques)
            filled["stiffness"][joint] = law.stiffness(float(state.position[joint]), *angles)
            filled["spring_torque"][motors] = torques[: len(motors)]
        return state._replace(**filled)


def _spring(joint: JointOnModel, info: RobotInfo) -> _Spring | None:
    """The springs of a model's joint on a robot; None if there they are none, or unknown."""
    motors = [k for k, name in enumerate(info.motors) if name.rpartition("/")[0] == joint.name]
    law = joint.description.law
    if joint.description.mode.rigid or law.law.pivot or len(motors) != law.law.motors:
        return None
    return _Spring(law, info.joints.index(joint.name), motors) if joint.name in info.joints else None
