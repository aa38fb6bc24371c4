"""A controller: sways about where the robot stands, less where a joint is loaded.

It does no I/O and knows no clock, so that it commands a simulated robot, an emulated bus and the machine alike.
"""

from typing import Any

import numpy as np

from pliant.controllers import Controller
from pliant.hardware.robot import Array, RobotInfo, State


class MyController(Controller):
    """Moves all position columns by a sine.

    Args:
        info: given by Pliant: names, units, bounds and resting values of the robot's channels, its period.
        amplitude: rad; on a command line +controller.amplitude=0.1.
        frequency: Hz.
    """

    def __init__(self, info: RobotInfo, amplitude: float = 0.2, frequency: float = 0.5) -> None:
        self.swaying = [channel.name.endswith(("/equilibrium", "/position")) for channel in info.command]
        self.joints = [info.joints.index(channel.name.split("/")[0]) for channel in info.command]
        self.amplitude, self.frequency = amplitude, frequency

    def reset(self, state: State) -> None:
        """Begin at the command in force; called before the first update."""
        self.begin = state.command

    def update(self, state: State, t: float) -> Array:
        """Return a number for each command column, in its unit. What a machine does not measure is NaN in `state`.

        Args:
            state: what was read.
            t: since `reset`, s.
        """
        load: Any = np.nan_to_num(np.abs(state.torque[self.joints]))
        wave = self.amplitude * np.sin(2.0 * np.pi * self.frequency * t)
        return self.begin + np.where(self.swaying, wave / (1.0 + load), 0.0)
