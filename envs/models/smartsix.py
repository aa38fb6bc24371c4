"""The Comau Smart-Six, from its published kinematics and limits; its masses are an estimate.

Bodies are the frames of the manufacturer's URDF, `link1` to `link6`; each joint turns about z of its body, and the
frame of `link6` is the flange. The world's frame is that of `base_link`. Parameters, their source and what of them
is estimated: `pliant.hardware.smartsix`.
"""

from math import pi
from typing import Any, Final

import mujoco
import numpy as np

from pliant.envs.models.arms import ArmDesign, ArmLink, arm_settings, build_arm
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.scene import View
from pliant.envs.models.smartsix_looks import FLANGE_RADIUS, add_looks, add_pedestal
from pliant.envs.models.turned import ORIGIN, X, Y, Z
from pliant.hardware.smartsix import NAME, SmartSixJoint, smartsix_joints

HOME: Final = (0.0, 0.0, -pi / 2, 0.0, pi / 2, 0.0)
"""Where the arm starts, rad: the elbow bent at a right angle, the tool pointing down."""


def smartsix(**settings: Any) -> RobotModel:
    """Build the arm: joints `joint1` to `joint6`, the tool's centre point read as `tip`, the sensor `wrist`.

    Args:
        settings: of `ArmSettings`.

    Raises:
        PliantError: as `build_arm`.
    """
    design = ArmDesign(
        name=NAME,
        links=tuple(_link(k + 1, joint) for k, joint in enumerate(smartsix_joints())),
        home=HOME,
        pedestal=0.0,
        flange=FLANGE_RADIUS,
        view=View((0.3, 0.0, 0.5), 0.85, "base", elevation=14.0, azimuth=-60.0),
        add_looks=add_looks,
        add_pedestal=add_pedestal,
    )
    return build_arm(design, arm_settings(NAME, settings))


def _link(number: int, joint: SmartSixJoint) -> ArmLink:
    return ArmLink(
        body=f"link{number}",
        joint=f"joint{number}",
        position=joint.position,
        orientation=_turn(*joint.quarter_turns),
        axis=Z,
        anchor=ORIGIN,
        link=joint.link,
        range=joint.range,
        torque=joint.torque,
        speed=joint.speed,
    )


def _turn(roll: int, pitch: int, yaw: int) -> list[float]:
    """Unit quaternion of Rz·Ry·Rx, all angles quarter turns."""
    turn = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, quarters in ((np.array(X), roll), (np.array(Y), pitch), (np.array(Z), yaw)):
        one, product = np.empty(4), np.empty(4)
        mujoco.mju_axisAngle2Quat(one, axis, quarters * pi / 2)
        mujoco.mju_mulQuat(product, one, turn)
        turn = product
    return list(map(float, turn))
