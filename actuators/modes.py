"""The seven operation modes: how the references a joint receives become torque on its link.

Numbers and names follow Mengacci et al., "ROS-Gazebo toolbox for articulated soft robots", Table "operation
modes".
"""

from enum import IntEnum

from pliant.errors import unknown_name


class Mode(IntEnum):
    """Operation mode of a joint."""

    LINK_TORQUE = 0
    """Reference 1 is the link torque, N·m (rigid joint)."""
    LINK_POSITION = 1
    """Reference 1 is the link angle, rad; a PID on q (rigid joint)."""
    MOTOR_REFERENCES = 2
    """References are the motor angles θ1, θ2 (or σ); ideal motors, law only."""
    EQUILIBRIUM_PRESET = 3
    """References are equilibrium and stiffness preset; reference map, ideal motors, law."""
    MOTOR_TORQUES = 4
    """References are the motor torques, N·m; motor dynamics and law."""
    MOTOR_POSITIONS = 5
    """References are the motor angles; PID, motor dynamics, law."""
    EQUILIBRIUM_PRESET_MOTORS = 6
    """References are equilibrium and stiffness preset; map, PID, motor dynamics, law."""

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
        return Mode[mode.upper()] if isinstance(mode, str) else Mode(mode)
    except (KeyError, ValueError):
        choices = (f"{int(m)} ({m.name.lower()})" for m in Mode)
        raise unknown_name("operation mode", mode, choices) from None
