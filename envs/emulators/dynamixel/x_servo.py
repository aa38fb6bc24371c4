"""A servo of the X series or an MX(2.0): protocol 2.0, six operating modes, a latched shutdown, a watchdog.

Source: ROBOTIS e-manual, pages XM430-W350, XL330-M288, XL430-W250, MX-64(2.0), MX-106(2.0).
"""

import math

from pliant.envs.emulators.dynamixel import motion, profile
from pliant.envs.emulators.dynamixel.memory import INDIRECT_ADDRESS, Reason, RefusedError, Write
from pliant.envs.emulators.dynamixel.packets import Error2
from pliant.envs.emulators.dynamixel.plant import TICK, Demand
from pliant.envs.emulators.dynamixel.servo import IDLE, Servo, ServoSettings
from pliant.hardware.dynamixel.packets import ALERT
from pliant.hardware.dynamixel.tables import MODES

_POSITION_MODES = (MODES["position"], MODES["extended"], MODES["current_position"])
_GOALS = ("goal_pwm", "goal_current", "goal_velocity", "goal_position")
_LIMIT_OF = {"goal_pwm": "pwm_limit", "goal_current": "current_limit", "goal_velocity": "velocity_limit"}
_ERRORS = {
    None: Error2.NONE,
    Reason.RESULT: Error2.RESULT_FAIL,
    Reason.INSTRUCTION: Error2.INSTRUCTION,
    Reason.CHECKSUM: Error2.CRC,
    Reason.RANGE: Error2.DATA_RANGE,
    Reason.LENGTH: Error2.DATA_LENGTH,
    Reason.LIMIT: Error2.DATA_LIMIT,
    Reason.ACCESS: Error2.ACCESS,
}
_VOLTAGE, _OVERHEAT, _OVERLOAD = 0x01, 0x04, 0x20
_REVERSED, _TIMED, _TORQUE_BY_GOAL = 0x01, 0x04, 0x08
_CLEAR_TURNS = bytes([0x01, 0x44, 0x58, 0x4C, 0x22])
_RESET_ALL, _RESET_BUT_ID, _RESET_BUT_ID_AND_BAUD = 0xFF, 0x01, 0x02
_TURN = 4096
_NEAR = 10
_LARGEST_JOINT_OFFSET = 1024


class XServo(Servo):
    """See `Servo`. Control works on the exact angle; the registers show it in counts."""

    def __init__(self, settings: ServoSettings, boot_time: float = 0.0) -> None:
        super().__init__(settings, boot_time)
        self._count = self.model.radians_per_count
        self._speed = self.model.register("present_velocity").scale
        self._rates = {value: rate for rate, value in self.model.baud_rates.items()}
        self._start()

    @property
    def baud(self) -> float:
        """See `Servo.baud`."""
        return self._rates[self.memory["baud_rate"]]

    @property
    def torque(self) -> bool:
        """See `Servo.torque`."""
        return self.memory["torque_enable"] == 1

    def _start(self) -> None:
        memory = self.memory
        memory["goal_pwm"] = memory["pwm_limit"]
        memory["goal_velocity"] = memory["velocity_limit"]
        if "goal_current" in memory:
            memory["goal_current"] = memory["current_limit"]
        self._heard = self.now
        self._tripped = False
        self._shut_down = False
        self._limits = profile.Limits(math.inf, math.inf)
        self._shape = profile.Shape.STEP
        self._forget_turns()
        self._rest()
        memory["goal_position"] = self._counts(self.reading.position)

    # Positions: encoder angle in rad, as the plant gives it, and counts, as the registers hold them

    @property
    def _sense(self) -> int:
        return -1 if self.memory["drive_mode"] & _REVERSED else 1

    @property
    def _offset(self) -> int:
        """Counts from the encoder to the position registers: turns and homing offset."""
        homing = self.memory["homing_offset"]
        if self.memory["operating_mode"] == MODES["position"] and abs(homing) > _LARGEST_JOINT_OFFSET:
            homing = 0
        return self._turns + homing

    def _counts(self, angle: float) -> int:
        return math.floor(self._sense * angle / self._count + 0.5) + self._offset

    def _angle(self, counts: int) -> float:
        return self._sense * (counts - self._offset) * self._count

    def _forget_turns(self) -> None:
        encoder = math.floor(self._sense * self.reading.position / self._count + 0.5)
        self._turns = -_TURN * (encoder // _TURN)

    def _rest(self) -> None:
        """Stop here: the reference and the goal are the present position, the loops are empty."""
        self._reference = profile.Reference(self.reading.position)
        self._goal = self.reading.position
        self._loop = motion.Loop()
        self._halted = True

    # Instructions

    def ping(self) -> bytes:
        """See `Servo.ping`: model number and firmware version."""
        return self.memory.read(0, 2) + self.memory.read(6, 1)

    def heard(self) -> None:
        """See `Servo.heard`: the watchdog starts anew."""
        self._heard = self.now

    def report(self, reason: Reason | None) -> int:
        """See `Servo.report`: the number, and the alert bit while there is a hardware error."""
        return _ERRORS[reason] | (ALERT if self.memory["hardware_error_status"] else 0)

    def factory_reset(self, option: int | None, broadcast: bool) -> None:
        """See `Servo.factory_reset`. Resetting the numbers of all servos at once is refused."""
        keep: dict[int | None, tuple[str, ...]] = {
            _RESET_ALL: (),
            _RESET_BUT_ID: ("id",),
            _RESET_BUT_ID_AND_BAUD: ("id", "baud_rate"),
        }
        if option not in keep or (broadcast and option == _RESET_ALL):
            raise RefusedError(Reason.RANGE)
        self.memory.restore(eeprom=True, keep=keep[option])
        self._restart()

    def reboot(self) -> None:
        """See `Servo.reboot`; the only way out of a shutdown."""
        self._restart()

    def clear(self, parameters: bytes) -> None:
        """See `Servo.clear`; refused while the servo moves."""
        self.refresh()
        if parameters != _CLEAR_TURNS or self.memory["moving"]:
            raise RefusedError(Reason.RESULT)
        self._forget_turns()
        self.memory["goal_position"] = self._counts(self._goal)

    def overload(self) -> None:
        """See `Servo.overload`."""
        self._fail(_OVERLOAD)

    def _flag_registered(self, waiting: bool) -> None:
        self.memory["registered_instruction"] = int(waiting)

    # Writes

    def _admit(self, write: Write) -> None:
        name, count, memory = write.register.name, write.value, self.memory
        locked = write.register.address < self.model.ram_start or name.startswith(INDIRECT_ADDRESS)
        if locked and self.torque:
            raise RefusedError(Reason.ACCESS)
        if self._tripped and (name in _GOALS or (name == "bus_watchdog" and count != 0)):
            raise RefusedError(Reason.RANGE)
        if name in _LIMIT_OF and abs(count) > memory[_LIMIT_OF[name]]:
            raise RefusedError(Reason.LIMIT)
        inside = memory["min_position_limit"] <= count <= memory["max_position_limit"]
        joint = memory["operating_mode"] == MODES["position"]
        if name == "goal_position" and joint and not inside:
            raise RefusedError(Reason.LIMIT)

    def _written(self, name: str, before: int) -> None:
        memory = self.memory
        if name == "torque_enable" and memory[name] and not before:
            self._torque_on()
        elif name == "operating_mode" and memory[name] != before:
            memory["profile_velocity"] = memory["profile_acceleration"] = 0
            memory["goal_pwm"] = memory["pwm_limit"]
            if "goal_current" in memory:
                memory["goal_current"] = memory["current_limit"]
            if memory[name] == MODES["position"]:
                self._forget_turns()
            self._rest()
        elif name == "bus_watchdog":
            self._tripped = False
        elif name in _GOALS:
            if memory["drive_mode"] & _TORQUE_BY_GOAL and not self._shut_down:
                memory["torque_enable"] = 1
            self._halted = False
            if name == "goal_position":
                self._aim()

    def _torque_on(self) -> None:
        """Hold the present position; after a shutdown the torque stays off."""
        if self._shut_down:
            self.memory["torque_enable"] = 0
            return
        if self.memory["operating_mode"] == MODES["position"]:
            self._forget_turns()
        self._rest()
        self.memory["goal_position"] = self._counts(self.reading.position)

    def _aim(self) -> None:
        """Plan the way to the goal position with the profile registers as they are."""
        memory = self.memory
        self._goal = self._angle(memory["goal_position"])
        if memory["drive_mode"] & _TIMED:
            distance = self._goal - self._reference.position
            duration, ramp = memory["profile_velocity"] / 1000, memory["profile_acceleration"] / 1000
            self._limits = profile.timed(distance, duration, ramp)
        else:
            speed, acceleration = memory.value("profile_velocity"), memory.value("profile_acceleration")
            self._limits = profile.Limits(speed or math.inf, acceleration or math.inf)
        self._shape = profile.shape(self._reference, self._goal, self._limits)

    # Control

    def _control(self) -> Demand:
        memory = self.memory
        if not self.torque:
            self._reference = profile.Reference(self.reading.position)
            self._loop = motion.Loop()
            return IDLE
        mode = memory["operating_mode"]
        limit = min(abs(memory.value("goal_pwm")), memory.value("pwm_limit"))
        if mode in _POSITION_MODES:
            return self._hold_position(mode, limit)
        if mode == MODES["velocity"]:
            return self._hold_velocity(limit)
        if self._halted:
            return IDLE
        if mode == MODES["current"]:
            current = self._sense * memory.value("goal_current")
            return Demand(math.copysign(limit, current), abs(current), None)
        return Demand(self._sense * memory.value("goal_pwm"), math.inf, None)

    def _hold_position(self, mode: int, limit: float) -> Demand:
        memory = self.memory
        if not self._halted:
            self._reference = profile.advance(self._reference, self._goal, self._limits, TICK)
        gains = motion.Gains(*(memory.value(f"position_{term}_gain") for term in "pid"))
        error = (self._reference.position - self.reading.position) / self._count
        duty, self._loop = motion.pid(error, self._loop, gains, limit)
        limited = mode == MODES["current_position"]
        current = abs(memory.value("goal_current")) if limited else math.inf
        return Demand(duty, current, self._reference.position)

    def _hold_velocity(self, limit: float) -> Demand:
        memory = self.memory
        goal = 0.0 if self._halted else self._sense * memory.value("goal_velocity")
        change = memory.value("profile_acceleration") * TICK or math.inf
        velocity = self._reference.velocity
        velocity += min(max(goal - velocity, -change), change)
        self._reference = profile.Reference(self.reading.position, velocity)
        gains = motion.Gains(memory["velocity_p_gain"] / 128, memory["velocity_i_gain"] / 65536)
        error = (velocity - self.reading.velocity) / self._speed
        duty, self._loop = motion.pid(error, self._loop, gains, limit)
        return Demand(duty, math.inf, None)

    # Protection

    def _watch(self) -> None:
        memory, reading = self.memory, self.reading
        watchdog = memory["bus_watchdog"]
        if watchdog > 0 and self.torque and self.now - self._heard > memory.value("bus_watchdog"):
            self._tripped = True
            memory["bus_watchdog"] = -1
            self._rest()
            self._note("bus_watchdog", -1, by="servo")
        low, high = memory.value("min_voltage_limit"), memory.value("max_voltage_limit")
        if not low <= reading.voltage <= high:
            self._fail(_VOLTAGE)
        if reading.temperature > memory["temperature_limit"]:
            self._fail(_OVERHEAT)
        # Where a goal current limits the push, pushing in vain is what was asked for.
        free = memory["operating_mode"] in (MODES["velocity"], MODES["position"], MODES["extended"])
        limit = min(abs(memory.value("goal_pwm")), memory.value("pwm_limit")) if free else 0.0
        if self._overloaded(limit, memory.value("moving_threshold")):
            self._fail(_OVERLOAD)

    def _fail(self, bit: int) -> None:
        """Latch a hardware error; shut down if the shutdown register says so."""
        self.memory["hardware_error_status"] |= bit
        if bit & self.memory["shutdown"]:
            self._shut_down = True
            if self.torque:
                self._note("torque_enable", 0, by="servo")
            self.memory["torque_enable"] = 0

    # Present values

    def refresh(self) -> None:
        """See `Servo.refresh`."""
        memory, reading, sense = self.memory, self.reading, self._sense
        position = self._counts(reading.position)
        memory["realtime_tick"] = round(self.now / TICK) % 32768
        memory["present_position"] = position
        memory.store("present_velocity", sense * reading.velocity)
        memory.store("present_pwm", sense * self.duty)
        if "present_current" in memory:
            memory.store("present_current", sense * reading.current)
        else:
            memory.store("present_load", sense * self.duty)
        memory.store("present_input_voltage", reading.voltage)
        memory["present_temperature"] = round(reading.temperature)
        memory.store("velocity_trajectory", sense * self._reference.velocity)
        memory["position_trajectory"] = self._counts(self._reference.position)
        holding = self.torque and memory["operating_mode"] in _POSITION_MODES and not self._halted
        under_way = holding and self._reference.position != self._goal
        fast = abs(reading.velocity) > memory.value("moving_threshold")
        memory["moving"] = int(fast or under_way)
        there = holding and not under_way and abs(position - memory["goal_position"]) <= _NEAR
        memory["moving_status"] = (self._shape if holding else 0) | (under_way << 1) | there
