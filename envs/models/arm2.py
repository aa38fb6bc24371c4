"""The planar arm with two qbMove joints, hanging (vertical) or lying (horizontal).

The links of the published two-joint arm (Mengacci et al., Figs. 12, 13 and 15) are not public. This one is
built from the bodies of a public arm of five qbMoves (see `parts`): a fixed cube turns a C-flange that carries the
second cube 90 mm away; that cube turns a second C-flange with a hand flange on it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import mujoco

from pliant.actuators import CompliantJoint, Law, Mode, find_law
from pliant.actuators.modes import as_mode
from pliant.envs.models.building import add_hinge, check_joints, complete, configured_law
from pliant.envs.models.parts import (
    C_FLANGE,
    C_TO_CUBE,
    C_TO_FACE,
    CUBE,
    HAND_FLANGE,
    HAND_REACH,
    add_part,
    orientation,
)
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.scene import View, add_beam, add_plate, add_scene, add_stand, new_spec

JOINTS: Final = ("shoulder", "elbow")

LENGTHS: Final = (C_TO_CUBE, C_TO_FACE + HAND_REACH)
"""From joint to joint, and from the second joint to the tip, m."""

_LIMIT = 1.57
"""Reach of a C-flange to either side in the public arm, rad."""
_HEIGHT = 0.42


def arm2_joints(
    mode: Mode | int | str = Mode.EQUILIBRIUM_PRESET_MOTORS,
    law: str | Law | None = None,
    parameters: str | Mapping[str, float] | None = None,
) -> tuple[CompliantJoint, CompliantJoint]:
    """The joints, with positions within the reach of their flanges, ±1.57 rad.

    Args:
        mode: operation mode.
        law: of both; None: qbMove.
        parameters: of the law, by name, or the name of a set; None with the law None too: the springs identified
            on the real arm, with a preset of 0.2 rad in a range of 0 to 0.6 rad.
    """
    reach = (-_LIMIT, _LIMIT)
    if law is None and parameters is None:
        identified = (find_law("qbmove")(set=f"identified_joint{i}") for i in (1, 2))
        first, second = (
            CompliantJoint(spring, as_mode(mode), preset_range=(0.0, 0.6), preset=0.2, position_range=reach)
            for spring in identified
        )
        return first, second
    joint = CompliantJoint(configured_law(law or "qbmove", parameters), as_mode(mode), position_range=reach)
    return joint, joint


def arm2(
    joints: Sequence[CompliantJoint] | None = None,
    *,
    preset: float | None = None,
    vertical: bool = True,
    damping: float = 0.065,
    friction: float = 0.025,
    gravity: bool = True,
    timestep: float = 1e-3,
    integrator: str = "implicitfast",
) -> RobotModel:
    """Build the arm: joints `shoulder` and `elbow`, tip at the site `tip`.

    The arm is straight at q = 0. Vertical, the axes are horizontal, the arm hangs down and positive angles lift it
    towards +x of the world. Horizontal, the axes are vertical, the arm points along +x and positive angles
    turn it towards +y; gravity then does not move it.

    Args:
        joints: shoulder and elbow; None: `arm2_joints()`, in mode 6.
        preset: resting stiffness preset of both joints, rad; None: the joints' own.
        vertical: whether the arm hangs in a vertical plane.
        damping: viscous friction of each joint, N·m·s/rad.
        friction: dry friction of each joint, N·m.
        gravity: whether there is any.
        timestep: s.
        integrator: euler, rk4, implicit, implicitfast or discrete.

    Raises:
        ConfigurationError: not two `CompliantJoint`s, or a preset for joints that have none.
        OutOfBoundsError: a number is not finite or outside its bounds.
        UnknownNameError: there is no such integrator.
    """
    descriptions = check_joints("arm2", JOINTS, arm2_joints() if joints is None else joints, preset)
    spec = new_spec("arm2", timestep, integrator, gravity)
    base = _add_base(spec, vertical)
    upper = _add_link(spec, base, 1, (0.0, 0.0, 0.0), damping, friction)
    add_part(spec, upper, "elbow_cube", CUBE, (C_TO_CUBE, 0, 0), (1, 0, 0), (0, 0, 1))
    fore = _add_link(spec, upper, 2, (C_TO_CUBE, 0.0, 0.0), damping, friction)
    add_part(spec, fore, "hand_flange", HAND_FLANGE, (C_TO_FACE, 0, 0), (0, 0, -1), (1, 0, 0))
    fore.add_site(name="tip", pos=[LENGTHS[1], 0.0, 0.0], size=[0.004], group=4)
    reach = sum(LENGTHS)
    centre = (0.0, 0.0, _HEIGHT - 0.4 * reach) if vertical else (0.45 * reach, 0.0, _HEIGHT)
    add_scene(spec, View(centre, 0.95 * reach, "link2", elevation=10.0 if vertical else 50.0))
    return complete(spec, "arm2", JOINTS, descriptions, "tip")


def _add_link(
    spec: mujoco.MjSpec,
    parent: mujoco.MjsBody,
    number: int,
    pos: tuple[float, float, float],
    damping: float,
    friction: float,
) -> mujoco.MjsBody:
    """A link that begins with a C-flange; x along the link, z the axis."""
    body = parent.add_body(name=f"link{number}", pos=list(pos))
    add_hinge(body, JOINTS[number - 1], (0, 0, 1), damping, friction, (-_LIMIT, _LIMIT))
    add_part(spec, body, f"link{number}_flange", C_FLANGE, (0, 0, 0), (1, 0, 0), (0, 0, 1))
    return body


def _add_base(spec: mujoco.MjSpec, vertical: bool) -> mujoco.MjsBody:
    """The first cube on its stand: held from above (vertical) or from behind (horizontal)."""
    x, z = ((0, 0, -1), (0, -1, 0)) if vertical else ((1, 0, 0), (0, 0, 1))
    base = spec.worldbody.add_body(name="base", pos=[0.0, 0.0, _HEIGHT], quat=orientation(x, z))
    add_part(spec, base, "shoulder_cube", CUBE, (0, 0, 0), (1, 0, 0), (0, 0, 1))
    add_plate(spec, base, "bracket", (-0.037, 0, 0), (0.004, 0.033, 0.033))
    if vertical:
        add_beam(spec, base, "beam", (-0.061, 0, 0.033), (-0.061, 0, -0.11))
        add_stand(spec, (0.0, 0.13, _HEIGHT + 0.081))
    else:
        add_stand(spec, (-0.061, 0.0, _HEIGHT + 0.033))
    return base
