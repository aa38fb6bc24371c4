"""What can be changed of a motion while it is watched: targets, noise, and the adjustable numbers of a controller.

Screens show it and take wishes, in threads of their own; the loop that runs the motion fulfils them in between.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import numpy as np

from pliant.controllers import Controller
from pliant.envs.selection import select
from pliant.envs.simulation import SimulatedRobot

_STEPS = 50
"""Of a slider that keys move, from one end to the other."""
_NOISE: Final = (("*/position", "noise of positions, rad", 1.0), ("*/velocity", "noise of speeds, rad/s", 1.0))
"""Signals of joints, and the largest noise that is offered."""
_PLACE_NOISE = 0.1
"""Likewise of where an end effector is, m."""
_REACH = 1.0
"""How far a target can be moved along each axis, m."""


class Slider:
    """A number, or what is on or off, that whoever watches may change."""

    def __init__(
        self,
        name: str,
        low: float,
        high: float,
        read: Callable[[], float],
        write: Callable[[float], object],
        *,
        switch: bool = False,
        fine: bool = False,
    ) -> None:
        """Keep what is given.

        Args:
            name: as it is shown, with the unit.
            low: its smallest value.
            high: its largest.
            read: returns it as it is.
            write: changes it, between two periods.
            switch: whether it is on (1) or off (0).
            fine: whether small values are to be told apart better than large ones.
        """
        self.name, self.low, self.high, self.switch, self.fine = name, low, high, switch, fine
        self._read, self._write = read, write
        self._wanted: float | None = None

    @property
    def value(self) -> float:
        """What is wanted of it, or else as it is."""
        wanted = self._wanted
        return float(self._read()) if wanted is None else wanted

    def want(self, value: float) -> None:
        """Ask for a value, from any thread; beyond its ends it is the nearest."""
        self._wanted = min(max(float(value), self.low), self.high)

    def step(self, direction: int) -> None:
        """Ask for the next value up (1) or down (−1)."""
        self.want(self.value + direction * (self.high - self.low) / (1 if self.switch else _STEPS))

    def fulfil(self) -> None:
        """Give it the value that was asked for, if any was."""
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            self._write(wanted)


def sliders_of(robot: SimulatedRobot, controller: Controller | None) -> list[Slider]:
    """Return what can be changed of a robot and of what commands it."""
    own = [] if controller is None else _adjustables(controller)
    return [*own, *_targets(robot), *_noise(robot)]


def _adjustables(controller: Controller) -> Iterator[Slider]:
    for name, number in controller.adjustables.items():
        yield Slider(
            name,
            float(number.low),
            float(number.high),
            partial(_adjusted, controller, name),
            partial(controller.adjust, name),
            switch=isinstance(number.value, bool),
        )


def _adjusted(controller: Controller, name: str) -> float:
    return float(controller.adjustables[name].value)


def _targets(robot: SimulatedRobot) -> Iterator[Slider]:
    for name in robot.targets:
        for k, axis in enumerate("xyz"):
            here = float(robot.target(name)[k])
            yield Slider(
                f"{name} {axis}, m",
                here - _REACH,
                here + _REACH,
                partial(_coordinate, robot, name, k),
                partial(_move, robot, name, k),
            )


def _coordinate(robot: SimulatedRobot, name: str, axis: int) -> float:
    return float(robot.target(name)[axis])


def _move(robot: SimulatedRobot, name: str, axis: int, value: float) -> None:
    pose = robot.target(name)
    pose[axis] = value
    robot.move_target(name, pose)


def _noise(robot: SimulatedRobot) -> Iterator[Slider]:
    names = [channel.name for channel in robot.info.signals]
    offers = [offer for offer in _NOISE if select(offer[0], robot.info.signals, "signal", robot.info.name)]
    places = [name.removesuffix("_x") for name in names if name.endswith("/position_x")]
    fixed = {f"{name}/position" for name in (*robot.targets, *robot.info.bodies)}
    offers += [(f"{place}_*", f"noise of {place}, m", _PLACE_NOISE) for place in places if place not in fixed]
    for signals, name, most in offers:
        which = select(signals, robot.info.signals, "signal", robot.info.name)
        yield Slider(
            name, 0.0, most, partial(_largest_noise, robot, which), partial(robot.set_noise, signals), fine=True
        )


def _largest_noise(robot: SimulatedRobot, which: list[int]) -> float:
    return float(np.max(robot.noise[which]))
