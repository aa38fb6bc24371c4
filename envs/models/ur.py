"""Arms of Universal Robots, from their published kinematics, masses, torque limits and joint ranges.

The body of each link is its Denavit–Hartenberg frame, so the nominal chain is the one that a controller reports
its tool's pose by. The world's frame is the controller's `base`: x and y as there, the first axis along +z.
Parameters and their source: `pliant.hardware.ur_arms`. Dry friction, damping and rotor inertia of the gears are
not published: they are 0 unless given.
"""

from functools import partial
from math import cos, pi, sin
from pathlib import Path
from typing import Any, Final

import numpy as np

from pliant.envs.models.arms import ArmDesign, ArmLink, arm_settings, build_arm
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.scene import View
from pliant.envs.models.ur_looks import add_looks, add_meshes, add_pedestal, wrist_radius
from pliant.hardware.ur_arms import ALPHA, JOINTS, LINKS, UrArm, ur_arm

HOME: Final = (0.0, -pi / 2, pi / 2, -pi / 2, -pi / 2, 0.0)
"""Where the arm starts, rad: the elbow bent at a right angle, the tool pointing down."""


def ur(arm: str, *, meshes: str | Path | None = None, **settings: Any) -> RobotModel:
    """Build an arm: joints `shoulder_pan` to `wrist_3`, the tool's centre point read as `tip`, the sensor `wrist`.

    Args:
        arm: name, such as `ur10e` (see `pliant.hardware.ur_arms.ur_names`).
        meshes: folder with `base`, `shoulder`, `upperarm`, `forearm`, `wrist1`, `wrist2` and `wrist3`, each .stl
            or .obj, drawn instead of our own shapes. They are placed as in the manufacturer's ROS description.
        settings: of `ArmSettings`.

    Raises:
        UnknownNameError: no such arm or setting.
        MissingFileError: a mesh is not in the folder.
        Others: as `build_arm`.
    """
    parameters = ur_arm(arm)
    reach = -parameters.a[1] - parameters.a[2] + parameters.d[4]
    looks = partial(add_looks, arm=parameters)
    if meshes is not None:
        looks = partial(add_meshes, arm=parameters, folder=Path(meshes))
    design = ArmDesign(
        name=arm,
        links=tuple(_links(parameters)),
        home=HOME,
        pedestal=0.6,
        flange=wrist_radius(parameters),
        view=View((-0.3 * reach, 0.0, 0.22 * reach), 0.82 * reach, "base", elevation=14.0, azimuth=-60.0),
        add_looks=looks,
        add_pedestal=partial(add_pedestal, arm=parameters),
    )
    return build_arm(design, arm_settings(arm, settings))


def _links(arm: UrArm) -> list[ArmLink]:
    """Each link in its Denavit–Hartenberg frame, which lies beyond its joint."""
    return [
        ArmLink(
            body=LINKS[k],
            joint=JOINTS[k],
            position=(arm.a[k], 0.0, arm.d[k]),
            orientation=(cos(alpha / 2), sin(alpha / 2), 0.0, 0.0),
            # the joint's axis is z of the frame before, in front of which the link lies by a
            axis=(0.0, float(np.sign(round(sin(alpha)))), float(round(cos(alpha)))),
            anchor=(-arm.a[k], 0.0, 0.0),
            link=arm.links[k],
            range=arm.range[k],
            torque=arm.torque[k],
            speed=arm.speed[k],
        )
        for k, alpha in enumerate(ALPHA)
    ]
