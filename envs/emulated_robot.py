"""A robot of Dynamixel servos with a simulated far end: the real driver, real packets, MuJoCo behind them."""

import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from pliant.envs.emulators.dynamixel.bus import BusSettings
from pliant.envs.emulators.dynamixel.plant import Plant
from pliant.envs.emulators.dynamixel.process import EmulatedBus
from pliant.envs.emulators.dynamixel.robot_plant import RobotPlant, RobotServo
from pliant.envs.emulators.dynamixel.servo import ServoSettings
from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.robot import Robot
from pliant.hardware.timing import StepClock

_PATIENCE = 0.5
"""How long the driver waits for an answer of a bus in lock step, s: physics may keep it waiting."""

_SUPPLY = 12.0
"""What most servos are fed with, V."""


class EmulatedRobot(DynamixelRobot):
    """A `DynamixelRobot` with the machine it drives: an emulated bus in a process of its own.

    What is behind the servos is any robot with the same joints, so it may differ from the model that was learned
    on: that difference is the reality gap. The servos round to their counts as real ones do.

    In lock step the machine's time passes with the bus, so nobody waits, and runs repeat. In real time it is the
    wall's.

    The machine is switched on by the first `connect` and stays on when the driver disconnects, as a machine does;
    `power_off`, or the end of this object or process, ends it.

    Args:
        config: the servos, as the driver sees them. Without a port, one in a temporary folder is made.
        machine: what the servos move, usually a `SimulatedRobot` whose period is its model's time step. Its
            columns and joints carry the names of the configuration's.
        lock_step: whether time passes with the bus only.
        latency: time from the end of a status on the wire until the computer has it, s; real time only.
        goal_delay: time from the end of a goal on the wire until the servos act on it, s.
        supply: voltage of the supply, V; None: that of the model, while the servos report 12, or what they take
            where that is another.

    Raises:
        UnknownNameError: the machine lacks a column, motor or joint that a servo belongs to.
        ConfigurationError: no one supply suits the servos, and none is given.
    """

    def __init__(
        self,
        config: DynamixelConfig,
        machine: Robot,
        *,
        lock_step: bool = True,
        latency: float = 0.0,
        goal_delay: float = 0.0,
        supply: float | None = None,
    ) -> None:
        folder = "" if config.port else tempfile.mkdtemp(prefix="pliant-")
        config = replace(config, port=config.port or str(Path(folder) / "bus"))
        self.settings = BusSettings(
            servos=tuple(_servo(mount, config.baud_rate) for mount in config.mounts()),
            lock_step=lock_step,
            cycle=config.period if lock_step else 0.0,
            latency=latency,
            goal_delay=goal_delay,
        )
        """The emulated bus."""
        self.plant: Callable[[], Plant] = partial(
            RobotPlant, machine, servo_map(config), _supply(config, supply), powering=supply is not None
        )
        """Makes what is behind it."""
        self.machine = EmulatedBus(config.port, self.settings, self.plant)
        """The running machine, and what can be done to it: faults, unplugging, power."""
        self._powered = False
        self._finalizer = weakref.finalize(self, _end, self.machine, folder)
        if lock_step:
            config = replace(config, slack=max(config.slack, _PATIENCE))
        super().__init__(config, StepClock() if lock_step else None)

    def connect(self) -> None:
        """Switch the machine on, if it is not, and connect; see `DynamixelRobot.connect`."""
        if not self._powered:
            self.machine.start()
            self._powered = True
        super().connect()

    def power_off(self) -> None:
        """Close, and end the machine for good."""
        self.close()
        self._finalizer()


def _end(machine: EmulatedBus, folder: str) -> None:
    machine.stop()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


def _servo(mount: ServoMount, baud_rate: int) -> ServoSettings:
    """The servo that a mount expects on the bus; the rest of its memory is the factory's."""
    registers = {"return_delay_time": 0}
    if mount.table.protocol == 2:
        registers["homing_offset"] = mount.homing_offset
    return ServoSettings(mount.servo, mount.model, baud_rate, registers)


def _supply(config: DynamixelConfig, given: float | None) -> float:
    """The voltage given, or one within the limits of every servo's memory, V."""
    if given is not None:
        return check_bounds("supply", given, 0.0, 60.0, "V")
    limits = {}
    for mount in config.mounts():
        low, high = (mount.table.registers[f"{end}_voltage_limit"] for end in ("min", "max"))
        limits[mount.model] = ((low.initial or 0) * low.scale, (high.initial or 0) * high.scale)
    lowest, highest = max(low for low, _ in limits.values()), min(high for _, high in limits.values())
    if lowest > highest:
        ranges = ", ".join(f"{model} {low:g} to {high:g} V" for model, (low, high) in limits.items())
        raise ConfigurationError(f"no one supply suits these servos ({ranges}); say which: hardware.supply=12.")
    return _SUPPLY if lowest <= _SUPPLY <= highest else (lowest + highest) / 2.0


def servo_map(config: DynamixelConfig) -> dict[int, RobotServo]:
    """Return how every servo of a configuration is part of a robot with the same joints.

    With θ = direction·(φ − zero)/gear: one servo is the joint's position, or behind a spring its equilibrium, two
    are θ₁,₂ = equilibrium ± preset, and an encoder reads the joint itself.
    """
    found = {}
    for joint, index, mount in config.motors():
        shares = _shares(joint, index)
        slope = mount.direction / mount.gear
        motor = {f"{joint.name}/{index + 1}" if joint.compliant else joint.name: 1 / slope}
        found[mount.servo] = _part(mount, {name: slope * share for name, share in shares.items()}, motor)
    for joint in config.joints:
        if joint.encoder is not None:
            slope = joint.encoder.direction / joint.encoder.gear
            found[joint.encoder.servo] = _part(joint.encoder, {}, {joint.name: 1 / slope})
    return found


def _shares(joint: DynamixelJoint, index: int) -> dict[str, float]:
    """What the angle of one of its servos adds to a joint's columns."""
    if not joint.compliant:
        return {f"{joint.name}/position": 1.0}
    if not joint.antagonists:
        return {f"{joint.name}/equilibrium": 1.0}
    return {f"{joint.name}/equilibrium": 0.5, f"{joint.name}/preset": 0.5 if index == 0 else -0.5}


def _part(mount: ServoMount, command: dict[str, float], reading: dict[str, float]) -> RobotServo:
    table = mount.table
    zero = (table.zero_count - mount.homing_offset) * table.radians_per_count + mount.zero
    # The firmware reports a torque on the servo's shaft, which a gear makes 1/gear of the joint's.
    constant = (table.torque_constant or 1.0) * mount.gear**2
    return RobotServo(command, reading, zero, constant)
