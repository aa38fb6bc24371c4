"""What can be changed of a motion while it is watched.

The robot's command by hand, targets, noise, and the adjustable numbers of a controller.

Screens show it and take wishes, in threads of their own; the loop that runs the motion fulfils them in between.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np

from pliant.controllers import Controller
from pliant.envs.selection import select
from pliant.envs.simulation import SimulatedRobot
from pliant.hardware.robot import Channel

BY_HAND: Final = "by hand"
"""The switch that takes the whole command over as it is, and gives it back."""
_STEPS = 50
"""Of a slider that keys move, from one end to the other."""
_NOISE: Final = (("*/position", "noise of positions, rad", 1.0), ("*/velocity", "noise of speeds, rad/s", 1.0))
"""Signals of joints, and the largest noise that is offered."""
_PLACE_NOISE = 0.1
"""Likewise of where an end effector is, m."""
_REACH = 1.0
"""How far a target can be moved along each axis, m."""


class Slider:
    """A number, a choice, or what is on or off, that whoever watches may change."""

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
        choices: Sequence[str] = (),
        taken: Callable[[], bool] = lambda: False,
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
            choices: what the values 0, 1, … are called, where they are no numbers.
            taken: returns whether it is held by hand, against what would change it otherwise.
        """
        self.name, self.low, self.high, self.switch, self.fine = name, low, high, switch, fine
        self.choices, self._taken = tuple(choices), taken
        self._read, self._write = read, write
        self._wanted: float | None = None

    @property
    def value(self) -> float:
        """What is wanted of it, or else as it is."""
        wanted = self._wanted
        return float(self._read()) if wanted is None else wanted

    @property
    def taken(self) -> bool:
        """Whether it is held by hand."""
        return self._taken()

    @property
    def text(self) -> str:
        """Its value, as it is shown."""
        if self.choices:
            return self.choices[round(self.value)]
        return ("off", "on")[self.value > 0.5] if self.switch else f"{self.value:.4g}"

    def want(self, value: float) -> None:
        """Ask for a value, from any thread; beyond its ends it is the nearest."""
        self._wanted = min(max(float(value), self.low), self.high)

    def step(self, direction: int) -> None:
        """Ask for the next value up (1) or down (−1)."""
        step = 1.0 if self.switch or self.choices else (self.high - self.low) / _STEPS
        self.want(self.value + direction * step)

    def fulfil(self) -> None:
        """Give it the value that was asked for, if any was."""
        wanted, self._wanted = self._wanted, None
        if wanted is not None:
            self._write(wanted)


def sliders_of(robot: SimulatedRobot, controller: Controller | None) -> list[Slider]:
    """Return what can be changed of a robot and of what commands it."""
    own = [] if controller is None else _adjustables(controller)
    return [*_commands(robot), *own, *_targets(robot), *_noise(robot)]


def _commands(robot: SimulatedRobot) -> Iterator[Slider]:
    """Each column of the command, taken over by its slider, and a switch that gives all back."""
    channels = robot.info.command
    yield Slider(BY_HAND, 0.0, 1.0, lambda: bool(robot.by_hand.values), partial(_take_all, robot), switch=True)
    for k, channel in enumerate(channels):
        yield Slider(
            channel.name if channel.unit == "1" else f"{channel.name}, {channel.unit}",
            channel.low,
            channel.high,
            partial(_commanded, robot, k),
            partial(robot.by_hand.take, channel.name),
            taken=partial(_by_hand, robot, channel),
        )


def _take_all(robot: SimulatedRobot, on: float) -> None:
    """Take the whole command over as it is, or give it back."""
    if on < 0.5:
        robot.by_hand.give_back()
        return
    for channel, value in zip(robot.info.command, robot.command.tolist(), strict=True):
        robot.by_hand.take(channel.name, min(max(value, channel.low), channel.high))


def _commanded(robot: SimulatedRobot, column: int) -> float:
    """The command in force; what is by hand is so from the next period on."""
    name = robot.info.command[column].name
    return robot.by_hand.values.get(name, float(robot.command[column]))


def _by_hand(robot: SimulatedRobot, channel: Channel) -> bool:
    return channel.name in robot.by_hand.values


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
    for name in robot.targets.names:
        for k, axis in enumerate("xyz"):
            here = float(robot.targets.pose(name)[k])
            yield Slider(
                f"{name} {axis}, m",
                here - _REACH,
                here + _REACH,
                partial(_coordinate, robot, name, k),
                partial(_move, robot, name, k),
            )


def _coordinate(robot: SimulatedRobot, name: str, axis: int) -> float:
    return float(robot.targets.pose(name)[axis])


def _move(robot: SimulatedRobot, name: str, axis: int, value: float) -> None:
    pose = robot.targets.pose(name)
    pose[axis] = value
    robot.targets.move(name, pose)


def _noise(robot: SimulatedRobot) -> Iterator[Slider]:
    names = [channel.name for channel in robot.info.signals]
    offers = [offer for offer in _NOISE if select(offer[0], robot.info.signals, "signal", robot.info.name)]
    places = [name.removesuffix("_x") for name in names if name.endswith("/position_x")]
    fixed = {f"{name}/position" for name in (*robot.targets.names, *robot.info.bodies)}
    offers += [(f"{place}_*", f"noise of {place}, m", _PLACE_NOISE) for place in places if place not in fixed]
    for signals, name, most in offers:
        which = select(signals, robot.info.signals, "signal", robot.info.name)
        yield Slider(
            name,
            0.0,
            most,
            partial(_largest_noise, robot, which),
            partial(robot.sensor_errors.set_noise, signals),
            fine=True,
        )


def _largest_noise(robot: SimulatedRobot, which: list[int]) -> float:
    return float(np.max(robot.sensor_errors.noise[which]))
