"""An AX-12A: protocol 1.0, position by compliance, wheel mode, a shutdown that sets the torque limit to 0.

Source: ROBOTIS e-manual, page AX-12A.
"""

import math

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
_STILL = 2 * math.pi * 0.111 / 60


class AxServo(Servo):
    """See `Servo`. Beyond its 300° the position sensor sees nothing; the register stays at its end."""

    def __init__(self, settings: ServoSettings, boot_time: float = 0.0) -> None:
        super().__init__(settings, boot_time)
        self._count = self.model.radians_per_count
        self._start()

    @property
    def baud(self) -> float:
        """See `Servo.baud`."""
        return 2e6 / (self.memory["baud_rate"] + 1)

    @property
    def torque(self) -> bool:
        """See `Servo.torque`."""
        return self.memory["torque_enable"] == 1 and self.memory["torque_limit"] > 0

    @property
    def _wheel(self) -> bool:
        return self.memory["cw_angle_limit"] == 0 and self.memory["ccw_angle_limit"] == 0

    @property
    def _limit(self) -> float:
        return min(self.memory.value("torque_limit"), self.memory.value("max_torque"))

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
        bits = _ERRORS[reason] | self._conditions()
        self._protect(bits)
        return int(bits)

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
        if name == "moving_speed" and count > 1023 and not self._wheel:
            raise RefusedError(Reason.RANGE)
        inside = memory["cw_angle_limit"] <= count <= memory["ccw_angle_limit"]
        if name == "goal_position" and not self._wheel and not inside:
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
        memory, position = self.memory, self.reading.position
        if not self.torque:
            self._reference = profile.Reference(position)
            return IDLE
        speed = memory["moving_speed"]
        if self._wheel:
            duty = (speed & 0x3FF) / 1023 * (-1 if speed & _BACKWARDS else 1)
            return Demand(min(max(duty, -self._limit), self._limit), math.inf, None)
        limits = profile.Limits(memory.value("moving_speed") or math.inf, math.inf)
        goal = memory["goal_position"] * self._count
        self._reference = profile.advance(self._reference, goal, limits, TICK)
        error = (self._reference.position - position) / self._count
        side = "ccw" if error > 0.0 else "cw"
        duty = compliance_drive(
            error,
            memory[f"{side}_compliance_margin"],
            rounded_slope(memory[f"{side}_compliance_slope"]),
            memory.value("punch"),
            self._limit,
        )
        return Demand(duty, math.inf, self._reference.position)

    # Protection

    def _conditions(self) -> Error1:
        memory, reading = self.memory, self.reading
        bits = Error1.OVERLOAD if self._overload else Error1(0)
        if not memory.value("min_voltage_limit") <= reading.voltage <= memory.value("max_voltage_limit"):
            bits |= Error1.VOLTAGE
        if reading.temperature > memory["temperature_limit"]:
            bits |= Error1.OVERHEAT
        return bits

    def _watch(self) -> None:
        if self._overloaded(0.0 if self._wheel else self._limit, _STILL):
            self._overload = True
        self._protect(self._conditions())

    def _protect(self, bits: int) -> None:
        if bits & self.memory["shutdown"]:
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
        memory["moving"] = int(self.torque and not self._wheel and self._reference.position != goal)
