"""The seven operation modes: how the references a joint receives become torque on its link.

Numbers and names follow Mengacci et al., "ROS-Gazebo toolbox for articulated soft robots", Table "operation
modes".
"""

from enum import IntEnum
from typing import Self

from pliant.errors import unknown_name


class Mode(IntEnum):
    """Operation mode of a joint, with what its references are and what runs."""

    description: str

    def __new__(cls, value: int, description: str) -> Self:
        """Make a member of a number and its description."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member

    LINK_TORQUE = 0, "link torque, N·m; rigid joint"
    LINK_POSITION = 1, "link angle, rad; PID on the link, rigid joint"
    MOTOR_REFERENCES = 2, "motor angles θ1, θ2 (or σ); ideal motors, law"
    EQUILIBRIUM_PRESET = 3, "equilibrium and stiffness preset; reference map, ideal motors, law"
    MOTOR_TORQUES = 4, "motor torques, N·m; motor dynamics, law"
    MOTOR_POSITIONS = 5, "motor angles; PID, motor dynamics, law"
    EQUILIBRIUM_PRESET_MOTORS = 6, "equilibrium and stiffness preset; map, PID, motor dynamics, law"

    @property
    def rigid(self) -> bool:
        """The mode drives the link directly; there is no spring."""
        return self <= Mode.LINK_POSITION

    @property
    def has_motors(self) -> bool:
        """The mode integrates motor dynamics."""
        return self >= Mode.MOTOR_TORQUES

    @property
    def maps_references(self) -> bool:
        """The references are equilibrium and preset rather than one per motor."""
        return self in (Mode.EQUILIBRIUM_PRESET, Mode.EQUILIBRIUM_PRESET_MOTORS)


def as_mode(mode: "int | str | Mode") -> Mode:
    """Return a `Mode` from its number or its name in any case; raise `UnknownNameError` otherwise."""
    try:
        return Mode[mode.upper()] if isinstance(mode, str) else Mode(mode)  # type: ignore[call-arg]
    except (KeyError, ValueError):
        choices = (f"{int(m)} ({m.name.lower()})" for m in Mode)
        raise unknown_name("operation mode", mode, choices) from None
