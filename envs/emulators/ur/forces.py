"""What the controller makes of its force sensor, and how force mode answers to it."""

import numpy as np

from pliant.envs.emulators.ur.machine import ForceMode
from pliant.envs.emulators.ur.nominal import NominalArm
from pliant.envs.emulators.ur.plant import Plant
from pliant.envs.emulators.ur.poses import Array, rotation_matrix

_DAMPING = np.array([400.0] * 3 + [20.0] * 3)
"""Force per speed, N·s/m, and torque per turning speed, N·m·s/rad, of a free axis in force mode."""


class ForceSense:
    """The wrench on the tool in base axes: less the payload's weight, and less what was there when it was zeroed.

    Args:
        arm: with the payload that the controller knows of.
        at_flange: whether torques are about the flange, as of a sensor there, or about the TCP.
    """

    def __init__(self, arm: NominalArm, at_flange: bool) -> None:
        self._arm = arm
        self._at_flange = at_flange
        self._zero = np.zeros(6)
        self.wrench = np.zeros(6)
        """Force, N, and torque, N·m, on the tool, in base axes."""

    def measure(self, plant: Plant) -> Array:
        """Take a measurement where the arm has been put; return it as the sensor has it, in the flange's axes."""
        felt = plant.wrench()
        _, turn = self._arm.flange()
        self.wrench = self._compensated(felt, turn) - self._zero
        return np.concatenate([turn.T @ felt[:3], turn.T @ felt[3:]])

    def zero(self, plant: Plant, q: Array) -> None:
        """Take what is measured now as zero."""
        plant.zeroed()
        self._arm.move(q)
        _, turn = self._arm.flange()
        self._zero = self._compensated(plant.wrench(), turn)

    def _compensated(self, felt: Array, turn: Array) -> Array:
        weight = self._arm.payload * self._arm.model.opt.gravity
        out = felt.copy()
        out[:3] -= weight
        out[3:] -= np.cross(turn @ self._arm.cog, weight)
        if not self._at_flange:
            out[3:] -= np.cross(turn @ self._arm.tcp[:3], out[:3])
        return out


def compliance(mode: ForceMode, wrench: Array) -> Array:
    """Return the twist of the TCP in base axes by which free axes yield: v = (wanted + felt)/D, within limits.

    Args:
        mode: which axes of which frame are free, and what they shall exert.
        wrench: on the tool, in base axes.
    """
    turn = rotation_matrix(mode.frame[3:])
    felt = np.concatenate([turn.T @ wrench[:3], turn.T @ wrench[3:]])
    speed = np.clip((mode.wrench + felt) / _DAMPING, -mode.limits, mode.limits)
    speed = np.where(np.array(mode.selection) != 0, speed, 0.0)
    return np.concatenate([turn @ speed[:3], turn @ speed[3:]])
