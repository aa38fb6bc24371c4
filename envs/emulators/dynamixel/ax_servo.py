"""An AX-12A: protocol 1.0, position by compliance, wheel mode, a shutdown that sets the torque limit to 0.

Source: ROBOTIS e-manual, page AX-12A.
"""

import math
from typing import NamedTuple

from pliant.actuators.ax12a import compliance_drive, rounded_slope
from pliant.envs.emulators.dynamixel import profile
from pliant.envs.emulators.dynamixel.memory import Reason, RefusedError, Write
from pliant.envs.emulators.dynamixel.packets import Error1
from pliant.envs.emulators.dynamixel.plant import TICK, Demand
from pliant.envs.emulators.dynamixel.servo import IDLE, Servo, ServoSettings

_ERRORS: dict[Reason | None, Error1] = {
    None: Error1(0),
    Reason.RESULT: Error1.INSTRUCTION,
    Reason.INSTRUCTION: Error1.INSTRUCTION,
    Reason.CHECKSUM: Error1.CHECKSUM,
    Reason.RANGE: Error1.RANGE,
    Reason.LENGTH: Error1.RANGE,
    Reason.LIMIT: Error1.ANGLE,
    Reason.ACCESS: Error1.RANGE,
}
_BACKWARDS = 0x400
_OVERLOAD, _OVERHEAT, _VOLTAGE = int(Error1.OVERLOAD), int(Error1.OVERHEAT), int(Error1.VOLTAGE)
_STILL = 2 * math.pi * 0.111 / 60


class _Side(NamedTuple):
    """How the servo drives in one direction, counts."""

    margin: int
    slope: int


class _Settings(NamedTuple):
    """What the registers say, as the control loop needs it once a tick."""

    torque: bool
    wheel: bool
    limit: float
    """Share of the full drive."""
    goal: float
    """rad."""
    speed: int
    """Count of the moving speed."""
    motion: profile.Limits
    punch: float
    cw: _Side
    ccw: _Side
    lowest: float
    """V."""
    highest: float
    hottest: int
    """°C."""
    shutdown: int


class AxServo(Servo):
    """See `Servo`. Beyond its 300° the position sensor sees nothing; the register stays at its end."""

    def __init__(self, settings: ServoSettings, boot_time: float = 0.0) -> None:
        super().__init__(settings, boot_time)
        self._count = self.model.radians_per_count
        self._known = -1
        """`Memory.changes` that the settings are of."""
        self._start()

    @property
    def baud(self) -> float:
        """See `Servo.baud`."""
        return 2e6 / (self.memory["baud_rate"] + 1)

    @property
    def torque(self) -> bool:
        """See `Servo.torque`."""
        return self._set.torque

    @property
    def _set(self) -> _Settings:
        """The settings, read anew if a register has changed."""
        memory = self.memory
        if memory.changes != self._known:
            self._known = memory.changes
            cw, ccw = (
                _Side(memory[f"{side}_compliance_margin"], rounded_slope(memory[f"{side}_compliance_slope"]))
                for side in ("cw", "ccw")
            )
            self._last = _Settings(
                memory["torque_enable"] == 1 and memory["torque_limit"] > 0,
                memory["cw_angle_limit"] == 0 and memory["ccw_angle_limit"] == 0,
                min(memory.value("torque_limit"), memory.value("max_torque")),
                memory["goal_position"] * self._count,
                memory["moving_speed"],
                profile.Limits(memory.value("moving_speed") or math.inf, math.inf),
                memory.value("punch"),
                cw,
                ccw,
                memory.value("min_voltage_limit"),
                memory.value("max_voltage_limit"),
                memory["temperature_limit"],
                memory["shutdown"],
            )
        return self._last

    def _present(self) -> int:
        counts = math.floor(self.reading.position / self._count + 0.5)
        return min(max(counts, 0), self.model.largest_count)

    def _start(self) -> None:
        self.memory["torque_limit"] = self.memory["max_torque"]
        self.memory["goal_position"] = self._present()
        self._reference = profile.Reference(self.reading.position)
        self._overload = False

    # Instructions

    def heard(self) -> None:
        """See `Servo.heard`: nothing depends on it."""

    def ping(self) -> bytes:
        """See `Servo.ping`: nothing."""
        return b""

    def report(self, reason: Reason | None) -> int:
        """See `Servo.report`: what was refused, and what is wrong with the servo now."""
        bits = int(_ERRORS[reason]) | self._conditions()
        self._protect(bits)
        return bits

    def factory_reset(self, option: int | None, broadcast: bool) -> None:
        """See `Servo.factory_reset`: everything, the number and the baud rate too."""
        self.memory.restore(eeprom=True)
        self._restart()

    def reboot(self) -> None:
        """See `Servo.reboot`: protocol 1.0 has no such instruction."""
        raise RefusedError(Reason.INSTRUCTION)

    def clear(self, parameters: bytes) -> None:
        """See `Servo.clear`: protocol 1.0 has no such instruction."""
        raise RefusedError(Reason.INSTRUCTION)

    def overload(self) -> None:
        """See `Servo.overload`."""
        self._overload = True

    def _flag_registered(self, waiting: bool) -> None:
        self.memory["registered"] = int(waiting)

    # Writes

    def _admit(self, write: Write) -> None:
        name, count, memory = write.register.name, write.value, self.memory
        locked = memory["lock"] and (write.register.address < self.model.ram_start or name == "lock")
        if locked and not (name == "lock" and count):
            raise RefusedError(Reason.RANGE)
        if name == "moving_speed" and count > 1023 and not self._set.wheel:
            raise RefusedError(Reason.RANGE)
        inside = memory["cw_angle_limit"] <= count <= memory["ccw_angle_limit"]
        if name == "goal_position" and not self._set.wheel and not inside:
            raise RefusedError(Reason.LIMIT)

    def _written(self, name: str, before: int) -> None:
        if name == "torque_limit" and self.memory[name]:
            self._overload = False
            self._pushing = 0.0
        if name == "goal_position":
            # As the manual warns: a goal switches the torque on.
            self.memory["torque_enable"] = 1

    # Control

    def _control(self) -> Demand:
        own, position = self._set, self.reading.position
        if not own.torque:
            self._reference = profile.Reference(position)
            return IDLE
        if own.wheel:
            duty = (own.speed & 0x3FF) / 1023 * (-1 if own.speed & _BACKWARDS else 1)
            return Demand(min(max(duty, -own.limit), own.limit), math.inf, None)
        self._reference = profile.advance(self._reference, own.goal, own.motion, TICK)
        error = (self._reference.position - position) / self._count
        margin, slope = own.ccw if error > 0.0 else own.cw
        duty = compliance_drive(error, margin, slope, own.punch, own.limit)
        return Demand(duty, math.inf, self._reference.position)

    # Protection

    def _conditions(self) -> int:
        own, reading = self._set, self.reading
        bits = _OVERLOAD if self._overload else 0
        if not own.lowest <= reading.voltage <= own.highest:
            bits |= _VOLTAGE
        if reading.temperature > own.hottest:
            bits |= _OVERHEAT
        return bits

    def _watch(self) -> None:
        own = self._set
        if self._overloaded(0.0 if own.wheel else own.limit, _STILL):
            self._overload = True
        self._protect(self._conditions())

    def _protect(self, bits: int) -> None:
        if bits & self._set.shutdown:
            if self.torque:
                self._note("torque_limit", 0, by="servo")
            self.memory["torque_limit"] = 0

    # Present values

    def refresh(self) -> None:
        """See `Servo.refresh`."""
        memory, reading = self.memory, self.reading
        memory["present_position"] = self._present()
        memory.store("present_speed", reading.velocity)
        memory.store("present_load", self.duty)
        memory.store("present_voltage", reading.voltage)
        memory["present_temperature"] = round(reading.temperature)
        goal = memory["goal_position"] * self._count
        memory["moving"] = int(self.torque and not self._set.wheel and self._reference.position != goal)
