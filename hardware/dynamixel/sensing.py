"""What the servos of a robot measure, on the joints' side of their gears."""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.config import DynamixelConfig, ServoMount, Travel
from pliant.hardware.dynamixel.mapping import TurnCounter, torque_count
from pliant.hardware.dynamixel.registers import Register
from pliant.hardware.dynamixel.tables import ServoModel
from pliant.hardware.dynamixel.wire import Answer
from pliant.hardware.robot import Array


class Feedback(NamedTuple):
    """Where a servo keeps position, velocity and current, one block of its table."""

    address: int
    length: int
    position: tuple[Register, slice]
    velocity: tuple[Register, slice]
    current: tuple[Register, slice] | None


def feedback(table: ServoModel) -> Feedback:
    """Return the block of `table.feedback`."""
    registers = [table.register(name) for name in table.feedback]
    start = min(register.address for register in registers)
    end = max(register.address + register.size for register in registers)
    places = {
        register.name.removeprefix("present_"): (
            register,
            slice(register.address - start, register.address - start + register.size),
        )
        for register in registers
    }
    velocity = places.get("velocity") or places["speed"]
    return Feedback(start, end - start, places["position"], velocity, places.get("current"))


class Sensors:
    """The latest measurement of every servo; the motors come first, then the encoders.

    Args:
        bus: Where the servos are.
        config: Which they are.
    """

    def __init__(self, bus: Bus, config: DynamixelConfig) -> None:
        self._bus, self._fast = bus, config.fast_read
        self.mounts = config.mounts()
        self.index = {mount.servo: at for at, mount in enumerate(self.mounts)}
        """Place of each servo in the arrays."""
        travels = [joint.travel(index) for joint, index, _ in config.motors()]
        travels += [Travel(joint.low, joint.high) for joint in config.joints if joint.encoder is not None]
        self.turns = [TurnCounter(mount, travel) for mount, travel in zip(self.mounts, travels, strict=True)]
        self._blocks = [feedback(mount.table) for mount in self.mounts]
        self._groups: dict[tuple[int, int], list[int]] = {}
        for mount, block in zip(self.mounts, self._blocks, strict=True):
            self._groups.setdefault((block.address, block.length), []).append(mount.servo)
        self._scales()
        size = len(self.mounts)
        self.angle: Array = np.full(size, math.nan)
        """θ of each servo, rad."""
        self.speed: Array = np.full(size, math.nan)
        """rad/s."""
        self.torque: Array = np.full(size, math.nan)
        """By the current, N·m; NaN where the servo measures none."""
        self.alert = False
        """Whether a servo reported a hardware error with its latest measurement."""

    def _scales(self) -> None:
        def column(values: Sequence[float]) -> Array:
            return np.array(values, dtype=np.float64)

        mounts, blocks = self.mounts, self._blocks
        slope = column([mount.direction / mount.gear for mount in mounts])
        self._angle_scale = slope * column([mount.table.radians_per_count for mount in mounts])
        self._angle_zero = column([mount.table.zero_count for mount in mounts]) * self._angle_scale
        self._angle_zero += slope * column([mount.zero for mount in mounts])
        self._speed_scale = slope * column([block.velocity[0].scale for block in blocks])
        self._torque_scale = column([mount.direction * _torque_or_nan(mount) for mount in mounts])

    def restart(self) -> None:
        """Let the next measurement decide in which turn each servo is."""
        for counter in self.turns:
            counter.restart()

    def update(self, without: Collection[int] = ()) -> list[int]:
        """Measure all servos but some; return those that gave no answer, whose values stay what they were."""
        answers: dict[int, Answer] = {}
        for (address, length), servos in self._groups.items():
            asked = [servo for servo in servos if servo not in without]
            if asked:
                answers |= self._bus.sync_read(asked, address, length, self._fast)
        rows = [(self.index[servo], answer.data) for servo, answer in answers.items()]
        at = [row for row, _ in rows]
        counts, speeds, currents = [], [], []
        for row, data in rows:
            block = self._blocks[row]
            register, place = block.position
            counts.append(self.turns[row].update(register.decode(data[place])))
            register, place = block.velocity
            speeds.append(register.decode(data[place]))
            currents.append(block.current[0].decode(data[block.current[1]]) if block.current else 0)
        self.angle[at] = np.array(counts) * self._angle_scale[at] - self._angle_zero[at]
        self.speed[at] = np.array(speeds) * self._speed_scale[at]
        self.torque[at] = np.array(currents) * self._torque_scale[at]
        self.alert = any(answer.alert for answer in answers.values())
        return [mount.servo for mount in self.mounts if mount.servo not in answers]


def _torque_or_nan(mount: ServoMount) -> float:
    """Return the torque of one count of current, N·m; NaN where none is measured."""
    return math.nan if mount.table.torque_constant is None else torque_count(mount)
