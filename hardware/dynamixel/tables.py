"""Control tables of the supported servos, as data: registers, units, modes and the manual that gives them.

Source: ROBOTIS e-manual, the page of each model (`ServoModel.manual`); torque constants are stall torque over
stall current of the same page, a first approximation that ignores friction.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from pliant.errors import unknown_name
from pliant.hardware.dynamixel.registers import Register

RPM = 2 * math.pi / 60
MODES = MappingProxyType(
    {"current": 0, "velocity": 1, "position": 3, "extended": 4, "current_position": 5, "pwm": 16}
)
"""Operating modes of protocol 2.0 by name; `current_position` is position with a limited current."""

HARDWARE_ERRORS = MappingProxyType(
    {0: "input voltage", 2: "overheating", 3: "motor encoder", 4: "electrical shock", 5: "overload"}
)
"""Bits of `hardware_error_status` (protocol 2.0)."""

STATUS_ERRORS_1 = MappingProxyType(
    {
        0: "input voltage",
        1: "angle limit",
        2: "overheating",
        3: "range",
        4: "checksum",
        5: "overload",
        6: "instruction",
    }
)
"""Bits of the error byte of a status packet (protocol 1.0)."""


@dataclass(frozen=True)
class ServoModel:
    """A kind of servo: its control table and what its counts mean."""

    name: str
    number: int
    """What `model_number` reads."""
    protocol: int
    manual: str
    table: tuple[Register, ...]
    ram_start: int
    """First address of the RAM area; below it lies the EEPROM, writable with the torque off."""
    counts_per_turn: float
    zero_count: int
    """Count of the middle position, the servo's own 0 rad here."""
    largest_count: int
    """Largest goal of the position mode; the smallest is 0."""
    modes: tuple[str, ...]
    baud_rates: Mapping[int, int]
    """Value of the register `baud_rate` for each rate, bit/s."""
    feedback: tuple[str, ...]
    """Position, velocity and, where the servo measures it, current: neighbours, read as one block."""
    torque_constant: float | None
    """N·m of the output shaft per A; None where the servo measures no current."""
    fast_read_firmware: int | None = None
    """First firmware that answers a fast sync read; None if none does."""

    @cached_property
    def registers(self) -> Mapping[str, Register]:
        """The control table by register name."""
        return MappingProxyType({register.name: register for register in self.table})

    def register(self, name: str) -> Register:
        """Return the register `name`; raise `UnknownNameError` with the choices if there is none."""
        if name not in self.registers:
            raise unknown_name("register", name, self.registers, f"the control table of the {self.name}")
        return self.registers[name]

    @property
    def wraps(self) -> bool:
        """Whether the encoder goes round: after its last count of a turn comes 0."""
        return self.largest_count + 1 == self.counts_per_turn

    @property
    def radians_per_count(self) -> float:
        """Angle of one position count, rad."""
        return 2 * math.pi / self.counts_per_turn

    @property
    def torque_per_count(self) -> float:
        """Torque of one current count, N·m; NaN where the servo measures no current."""
        if self.torque_constant is None:
            return math.nan
        return self.registers["present_current"].scale * self.torque_constant


def _x_table(number: int, **initial: int) -> tuple[Register, ...]:
    """Return the table that the X series and MX(2.0) share, with some initial values of one model."""
    position, speed = 2 * math.pi / 4096, 0.229 * RPM
    registers = (
        Register("model_number", 0, 2, "R", number),
        Register("model_information", 2, 4, "R"),
        Register("firmware_version", 6, 1, "R"),
        Register("id", 7, 1, "RW", 1),
        Register("baud_rate", 8, 1, "RW", 1),
        Register("return_delay_time", 9, 1, "RW", 250, scale=2e-6, unit="s"),
        Register("drive_mode", 10, 1, "RW", 0),
        Register("operating_mode", 11, 1, "RW", 3),
        Register("secondary_id", 12, 1, "RW", 255),
        Register("protocol_type", 13, 1, "RW", 2),
        Register("homing_offset", 20, 4, "RW", 0, "signed", position, "rad"),
        Register("moving_threshold", 24, 4, "RW", 10, scale=speed, unit="rad/s"),
        Register("temperature_limit", 31, 1, "RW", 80, unit="°C"),
        Register("max_voltage_limit", 32, 2, "RW", 160, scale=0.1, unit="V"),
        Register("min_voltage_limit", 34, 2, "RW", 95, scale=0.1, unit="V"),
        Register("pwm_limit", 36, 2, "RW", 885, scale=1 / 885),
        Register("velocity_limit", 44, 4, "RW", 200, scale=speed, unit="rad/s"),
        Register("max_position_limit", 48, 4, "RW", 4095, scale=position, unit="rad"),
        Register("min_position_limit", 52, 4, "RW", 0, scale=position, unit="rad"),
        Register("shutdown", 63, 1, "RW", 52),
        Register("torque_enable", 64, 1, "RW", 0),
        Register("led", 65, 1, "RW", 0),
        Register("status_return_level", 68, 1, "RW", 2),
        Register("registered_instruction", 69, 1, "R", 0),
        Register("hardware_error_status", 70, 1, "R", 0),
        Register("velocity_i_gain", 76, 2, "RW", 1920),
        Register("velocity_p_gain", 78, 2, "RW", 100),
        Register("position_d_gain", 80, 2, "RW", 0, scale=1 / 16),
        Register("position_i_gain", 82, 2, "RW", 0, scale=1 / 65536),
        Register("position_p_gain", 84, 2, "RW", 800, scale=1 / 128),
        Register("feedforward_2nd_gain", 88, 2, "RW", 0, scale=1 / 4),
        Register("feedforward_1st_gain", 90, 2, "RW", 0, scale=1 / 4),
        Register("bus_watchdog", 98, 1, "RW", 0, "signed", 0.02, "s"),
        Register("goal_pwm", 100, 2, "RW", None, "signed", 1 / 885),
        Register("goal_velocity", 104, 4, "RW", None, "signed", speed, "rad/s"),
        Register("profile_acceleration", 108, 4, "RW", 0, scale=214.577 * RPM / 60, unit="rad/s²"),
        Register("profile_velocity", 112, 4, "RW", 0, scale=speed, unit="rad/s"),
        Register("goal_position", 116, 4, "RW", None, "signed", position, "rad"),
        Register("realtime_tick", 120, 2, "R", None, scale=1e-3, unit="s"),
        Register("moving", 122, 1, "R", 0),
        Register("moving_status", 123, 1, "R"),
        Register("present_pwm", 124, 2, "R", None, "signed", 1 / 885),
        Register("present_velocity", 128, 4, "R", None, "signed", speed, "rad/s"),
        Register("present_position", 132, 4, "R", None, "signed", position, "rad"),
        Register("velocity_trajectory", 136, 4, "R", None, "signed", speed, "rad/s"),
        Register("position_trajectory", 140, 4, "R", None, "signed", position, "rad"),
        Register("present_input_voltage", 144, 2, "R", None, scale=0.1, unit="V"),
        Register("present_temperature", 146, 1, "R", None, unit="°C"),
    )
    return tuple(replace(r, initial=initial.get(r.name, r.initial)) for r in registers)


def _current(scale: float, limit: int) -> tuple[Register, ...]:
    """Return the registers of a servo that measures its current, A a count."""
    return (
        Register("current_limit", 38, 2, "RW", limit, scale=scale, unit="A"),
        Register("goal_current", 102, 2, "RW", None, "signed", scale, "A"),
        Register("present_current", 126, 2, "R", None, "signed", scale, "A"),
    )


def _table(*parts: Iterable[Register]) -> tuple[Register, ...]:
    return tuple(sorted((r for part in parts for r in part), key=lambda r: r.address))


_STARTUP = (Register("startup_configuration", 60, 1, "RW", 0), Register("backup_ready", 147, 1, "R"))
_MX_ACCELERATION = (Register("acceleration_limit", 40, 4, "RW", 32767, scale=214.577 * RPM / 60, unit="rad/s²"),)
_X_BAUD = MappingProxyType(
    {9600: 0, 57600: 1, 115200: 2, 1000000: 3, 2000000: 4, 3000000: 5, 4000000: 6, 4500000: 7}
)
_XL330_BAUD = MappingProxyType({rate: value for rate, value in _X_BAUD.items() if value <= 6})
# 2 Mbit/s ÷ (value + 1); the usual rates.
_AX_BAUD = MappingProxyType(
    {1000000: 1, 500000: 3, 400000: 4, 250000: 7, 200000: 9, 115200: 16, 57600: 34, 19200: 103, 9600: 207}
)
_X_MODES = tuple(MODES)
_X_FEEDBACK = ("present_current", "present_velocity", "present_position")
_MANUAL = "ROBOTIS e-manual, docs/en/dxl/"


_AX_POSITION, _AX_SPEED = math.radians(300) / 1023, 0.111 * RPM

AX_12A = ServoModel(
    "AX-12A",
    12,
    1,
    _MANUAL + "ax/ax-12a",
    (
        Register("model_number", 0, 2, "R", 12),
        Register("firmware_version", 2, 1, "R"),
        Register("id", 3, 1, "RW", 1),
        Register("baud_rate", 4, 1, "RW", 1),
        Register("return_delay_time", 5, 1, "RW", 250, scale=2e-6, unit="s"),
        Register("cw_angle_limit", 6, 2, "RW", 0, scale=_AX_POSITION, unit="rad"),
        Register("ccw_angle_limit", 8, 2, "RW", 1023, scale=_AX_POSITION, unit="rad"),
        Register("temperature_limit", 11, 1, "RW", 70, unit="°C"),
        Register("min_voltage_limit", 12, 1, "RW", 60, scale=0.1, unit="V"),
        Register("max_voltage_limit", 13, 1, "RW", 140, scale=0.1, unit="V"),
        Register("max_torque", 14, 2, "RW", 1023, scale=1 / 1023),
        Register("status_return_level", 16, 1, "RW", 2),
        Register("alarm_led", 17, 1, "RW", 36),
        Register("shutdown", 18, 1, "RW", 36),
        Register("torque_enable", 24, 1, "RW", 0),
        Register("led", 25, 1, "RW", 0),
        Register("cw_compliance_margin", 26, 1, "RW", 1, scale=_AX_POSITION, unit="rad"),
        Register("ccw_compliance_margin", 27, 1, "RW", 1, scale=_AX_POSITION, unit="rad"),
        Register("cw_compliance_slope", 28, 1, "RW", 32, scale=_AX_POSITION, unit="rad"),
        Register("ccw_compliance_slope", 29, 1, "RW", 32, scale=_AX_POSITION, unit="rad"),
        Register("goal_position", 30, 2, "RW", None, scale=_AX_POSITION, unit="rad"),
        Register("moving_speed", 32, 2, "RW", 0, scale=_AX_SPEED, unit="rad/s"),
        Register("torque_limit", 34, 2, "RW", 1023, scale=1 / 1023),
        Register("present_position", 36, 2, "R", None, scale=_AX_POSITION, unit="rad"),
        Register("present_speed", 38, 2, "R", None, "direction", _AX_SPEED, "rad/s"),
        Register("present_load", 40, 2, "R", None, "direction", 1 / 1023),
        Register("present_voltage", 42, 1, "R", None, scale=0.1, unit="V"),
        Register("present_temperature", 43, 1, "R", None, unit="°C"),
        Register("registered", 44, 1, "R", 0),
        Register("moving", 46, 1, "R", 0),
        Register("lock", 47, 1, "RW", 0),
        Register("punch", 48, 2, "RW", 32, scale=1 / 1023),
    ),
    ram_start=24,
    counts_per_turn=1023 * 360 / 300,
    zero_count=512,
    largest_count=1023,
    modes=("position",),
    baud_rates=_AX_BAUD,
    feedback=("present_position", "present_speed"),
    torque_constant=None,
)

XM430_W350 = ServoModel(
    "XM430-W350",
    1020,
    2,
    _MANUAL + "x/xm430-w350",
    _table(_x_table(1020), _current(2.69e-3, 1193), _STARTUP),
    ram_start=64,
    counts_per_turn=4096,
    zero_count=2048,
    largest_count=4095,
    modes=_X_MODES,
    baud_rates=_X_BAUD,
    feedback=_X_FEEDBACK,
    torque_constant=4.1 / 2.3,
    fast_read_firmware=45,
)

XL330_M288 = replace(
    XM430_W350,
    name="XL330-M288",
    number=1200,
    manual=_MANUAL + "x/xl330-m288",
    table=_table(
        _x_table(
            1200,
            temperature_limit=70,
            max_voltage_limit=70,
            min_voltage_limit=35,
            velocity_limit=445,
            shutdown=53,
            velocity_i_gain=1600,
            velocity_p_gain=180,
            position_p_gain=400,
        ),
        _current(1e-3, 1750),
        _STARTUP,
        (Register("pwm_slope", 62, 1, "RW", 140, scale=1.977, unit="V/s"),),
    ),
    baud_rates=_XL330_BAUD,
    torque_constant=0.52 / 1.47,
    fast_read_firmware=46,
)

XL430_W250 = replace(
    XM430_W350,
    name="XL430-W250",
    number=1060,
    manual=_MANUAL + "x/xl430-w250",
    table=_table(
        _x_table(
            1060,
            temperature_limit=72,
            max_voltage_limit=140,
            min_voltage_limit=60,
            velocity_limit=265,
            velocity_i_gain=1000,
            position_d_gain=4000,
            position_p_gain=640,
        ),
        (Register("present_load", 126, 2, "R", None, "signed", 1e-3),),
        _STARTUP,
    ),
    modes=("velocity", "position", "extended", "pwm"),
    feedback=("present_velocity", "present_position"),
    torque_constant=None,
)

MX_64 = replace(
    XM430_W350,
    name="MX-64(2.0)",
    number=311,
    manual=_MANUAL + "mx/mx-64-2",
    table=_table(
        _x_table(311, velocity_limit=435, position_p_gain=850), _current(3.36e-3, 1941), _MX_ACCELERATION
    ),
    torque_constant=6.0 / 4.1,
    fast_read_firmware=None,
)

MX_106 = replace(
    MX_64,
    name="MX-106(2.0)",
    number=321,
    manual=_MANUAL + "mx/mx-106-2",
    table=_table(
        _x_table(321, velocity_limit=360, position_p_gain=850), _current(3.36e-3, 2047), _MX_ACCELERATION
    ),
    torque_constant=8.4 / 5.2,
)

MODELS: Mapping[str, ServoModel] = MappingProxyType(
    {model.name: model for model in (AX_12A, XL330_M288, XL430_W250, XM430_W350, MX_64, MX_106)}
)


def servo_model(name: str) -> ServoModel:
    """Return the model `name`, such as `XM430-W350`."""
    if name not in MODELS:
        raise unknown_name("servo model", name, MODELS)
    return MODELS[name]


def model_by_number(number: int) -> ServoModel:
    """Return the model whose `model_number` reads `number`."""
    for model in MODELS.values():
        if model.number == number:
            return model
    known = [f"{model.number} ({model.name})" for model in MODELS.values()]
    raise unknown_name("servo model number", number, known)
