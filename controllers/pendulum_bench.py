"""A servo that swings a pendulum: the recordings of such a bench, and its simulation.

The bench of the BAM family of servo models: a mass on a rigid arm, bolted to the servo's horn, hanging down at
q = 0. The servo follows a goal in position mode; in some recordings its torque is switched off on the way.

    (m + m_a/3)·l² + armature =: I,   I·q̈ = τm + τe + τf,   τe = −(m + m_a/2)·g·l·sin(q − q0)

with the arm's mass m_a spread evenly over its length l. τm and τf are those of `pliant.actuators.bam`.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numba
import numpy as np
from numba.extending import register_jitable

from pliant.actuators import bam
from pliant.actuators.bam import friction_budget, loaded_resistance, motor_torque, rubbed_speed, servo_duty
from pliant.actuators.cache import numba_cache
from pliant.actuators.parameters import Parameter
from pliant.controllers.checks import Array, finite_array, positive
from pliant.errors import FileFormatError, MissingFileError, OutOfBoundsError, check_bounds, unknown_name
from pliant.files import PathLike, existing_file

GRAVITY = 9.81
STEP = 1e-3
"""Step of the simulation, s."""

BENCH_PARAMETERS = (
    Parameter("arm_mass", "kg", 0.05, 0.0, 1.0, "mass of the arm, spread evenly over its length"),
    Parameter("position_offset", "rad", 0.0, -0.2, 0.2, "reading of the encoder when the pendulum hangs"),
    Parameter("command_delay", "s", 0.004, 0.0, 0.05, "from the goal's time stamp to its effect"),
)
"""What the bench adds to the servo's own parameters."""

_PLAUSIBLE = {
    "voltage": (1.0, 100.0, "V"),
    "mass": (1e-4, 100.0, "kg"),
    "length": (1e-3, 10.0, "m"),
    "temperature": (-50.0, 150.0, "°C"),
}
"""What a bench can be: beyond it a number is in another unit, or wrong."""
_LARGEST = {
    "goal": (2.0 * math.pi, "rad", "degrees"),
    "position": (2.0 * math.pi, "rad", "degrees"),
    "speed": (100.0, "rad/s", "degrees or revolutions"),
}
"""A servo in position mode turns once; a pendulum that falls past it stays below 100 rad/s."""
_LONGEST_STEP = 0.2
"""From one sample to the next, s."""

_COLUMNS = ("timestamp", "goal_position", "position", "speed", "temp", "torque_enable")


@dataclass(frozen=True, eq=False)
class Recording:
    """One recording of the bench. Arrays are (samples,), copied and read-only.

    Raises:
        UnknownNameError: no such servo.
        ShapeError: arrays of different lengths.
        OutOfBoundsError: an entry that is not finite, or that no bench can have: degrees, milliseconds, grams.
        FileFormatError: time stamps that do not ascend, or a hole between them.
    """

    name: str
    servo: str
    """A key of `pliant.actuators.bam.SERVOS`."""
    p_gain: float
    """Value of the P gain register."""
    voltage: float
    """Nominal supply, V. The voltage that the servo reports is no better: it is sampled at the edges of the
    PWM, where it swings by ±1 V about this value in proportion to duty²·(1 − duty)."""
    mass: float
    """kg"""
    length: float
    """m"""
    temperature: float
    """Of the servo's case at the start, °C."""
    time: Array
    """s, ascending."""
    goal: Array
    """rad"""
    position: Array
    """rad"""
    speed: Array
    """rad/s, as the servo reports it, filtered."""
    enabled: Array
    """1 while the torque is on, else 0."""

    def __post_init__(self) -> None:
        where = f"recording {self.name!r}"
        if self.servo not in bam.SERVOS:
            raise unknown_name("servo", self.servo, bam.SERVOS, where)
        positive(f"{where}: p_gain", self.p_gain)
        for name, (low, high, unit) in _PLAUSIBLE.items():
            check_bounds(f"{where}: {name}", getattr(self, name), low, high, unit)
        samples = len(self.time)
        for name in ("time", "goal", "position", "speed", "enabled"):
            object.__setattr__(self, name, finite_array(f"{where}: {name}", getattr(self, name), (samples,)))
        if samples < 2 or not (np.diff(self.time) > 0.0).all():
            raise FileFormatError(f"{where}: time stamps must ascend, over two samples at least.")
        _check_sampling(where, self.time)
        for name, (limit, unit, turn) in _LARGEST.items():
            _check_size(f"{where}: {name}", getattr(self, name), limit, unit, turn, self.time)
        if not np.isin(self.enabled, (0.0, 1.0)).all():
            raise OutOfBoundsError(f"{where}: enabled must be 0 or 1 throughout.")


def _check_sampling(where: str, time: Array) -> None:
    """Refuse time stamps that are no seconds, and holes in which the pendulum could have done anything."""
    steps = np.diff(time)
    usual, longest = float(np.median(steps)), int(steps.argmax())
    if usual > _LONGEST_STEP:
        raise OutOfBoundsError(
            f"{where}: its samples are {usual:g} s apart; at most {_LONGEST_STEP:g} s are needed. Time is in s"
            f"{f': {usual:g} ms would be {1e-3 * usual:g} s' if 1e-3 * usual <= _LONGEST_STEP else ''}."
        )
    if steps[longest] > _LONGEST_STEP:
        raise FileFormatError(
            f"{where}: a hole of {steps[longest]:g} s after {time[longest] - time[0]:g} s, where samples are "
            f"{usual:g} s apart otherwise; at most {_LONGEST_STEP:g} s may be missing. Cut the recording there."
        )


def _check_size(what: str, values: Array, limit: float, unit: str, degrees: str, time: Array) -> None:
    worst = int(np.abs(values).argmax())
    if abs(values[worst]) > limit:
        raise OutOfBoundsError(
            f"{what} is {values[worst]:.4g} {unit} at {time[worst] - time[0]:.4g} s, outside [{-limit:.4g}, "
            f"{limit:.4g}] {unit}; angles are in rad, so {degrees} must be converted."
        )


def load_recordings(folder: PathLike) -> tuple[Recording, ...]:
    """Return the recordings (`*.json`) of a folder, by name.

    Each file is an object with `motor`, `kp`, `vin` (V), `mass` (kg), `length` (m), and a table: `columns`
    names, `rows` of numbers, with at least timestamp, goal_position, position, speed, temp, torque_enable.

    Raises:
        MissingFileError: no such folder, or no recording in it.
        FileFormatError: a file is not such a recording.
        UnknownNameError: a servo that is not in `pliant.actuators.bam.SERVOS`.
        ShapeError, OutOfBoundsError: a ragged table, or an entry that is not finite or not plausible.
    """
    path = Path(folder)
    files = sorted(path.glob("*.json"))
    if not files:
        what = "holds no recording (*.json)" if path.is_dir() else "is not a folder"
        raise MissingFileError(f"recordings: {path} {what}.")
    return tuple(read_recording(file) for file in files)


def read_recording(file: PathLike) -> Recording:
    """Return one recording; format and errors as in `load_recordings`."""
    path = existing_file(file, "recording")
    try:
        data = json.loads(path.read_text("utf-8"))
        columns, rows = list(data["columns"]), data["rows"]
        motor = str(data["motor"])
        p_gain, voltage, mass, length = (float(data[key]) for key in ("kp", "vin", "mass", "length"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"recording {path} cannot be read: {type(error).__name__} {error}.") from error
    missing = [name for name in _COLUMNS if name not in columns]
    if missing:
        raise FileFormatError(f"recording {path} lacks the column {', '.join(missing)}; it has {columns}.")
    table = finite_array(f"recording {path}: rows", rows, (None, len(columns)))
    time, goal, position, speed, temperature, enabled = (table[:, columns.index(name)] for name in _COLUMNS)
    servo = _SPELLINGS.get(_plain(motor), motor)
    return Recording(
        path.stem, servo, p_gain, voltage, mass, length, float(temperature[0]),
        time, goal, position, speed, enabled,
    )  # fmt: skip


def _plain(name: str) -> str:
    return name.replace("-", "").casefold()


_SPELLINGS = {_plain(name): name for name in bam.SERVOS}


def simulate(
    recording: Recording, servo: bam.BamServo, bench: Mapping[str, float], *, step: float = STEP
) -> Array:
    """Simulate the bench over a recording, open loop from its first sample.

    Args:
        recording: goal, torque switch, P gain, supply and initial state; later positions are not looked at.
        servo: the servo's model. Its `voltage` is not used: the recording has its own.
        bench: one value for each of `BENCH_PARAMETERS`.
        step: s.

    Returns:
        Position at each time stamp, (samples,), rad, as the encoder would read it.

    Raises:
        ConfigurationError: the servo has no position loop.
    """
    values = servo.all_values
    trace = np.empty_like(recording.time)
    rig = (
        recording.p_gain, *servo.loop, recording.voltage, recording.temperature, recording.mass, recording.length,
    )  # fmt: skip
    _compiled_swing()(
        values[: len(bam.MOTOR_PARAMETERS)],
        values[len(bam.MOTOR_PARAMETERS) :],
        tuple(float(bench[parameter.name]) for parameter in BENCH_PARAMETERS),
        rig,
        recording.time,
        recording.goal,
        recording.enabled,
        float(recording.position[0]),
        float(recording.speed[0]),
        step,
        trace,
    )
    return trace


@dataclass(frozen=True)
class Residuals:
    """How far the simulation of one recording is from the measurement, rad and s."""

    recording: str
    p_gain: float
    mae: float
    rms: float
    bias: float
    largest: float
    correlation_time: float


def residuals(recording: Recording, predicted: Array) -> Residuals:
    """Compare a simulated trace with its recording."""
    error = predicted - recording.position
    centred = error - error.mean()
    variance = float(centred @ centred)
    correlation = 0.0
    if variance > 0.0:
        lags = np.correlate(centred, centred, "full")[len(error) - 1 :] / variance
        # the sum of correlations up to their first zero, as in Monte Carlo practice
        zero = int(np.argmax(lags < 0.0)) or len(lags)
        correlation = (2.0 * float(lags[:zero].sum()) - 1.0) * float(np.mean(np.diff(recording.time)))
    return Residuals(
        recording.name,
        recording.p_gain,
        float(np.mean(np.abs(error))),
        float(np.sqrt(np.mean(error**2))),
        float(error.mean()),
        float(np.abs(error).max()),
        correlation,
    )


def predict(
    recordings: Sequence[Recording], servo: bam.BamServo, bench: Mapping[str, float]
) -> tuple[Residuals, ...]:
    """Simulate recordings, seen or unseen, and compare; arguments as in `simulate`."""
    return tuple(residuals(recording, simulate(recording, servo, bench)) for recording in recordings)


def mean_error(residuals: Sequence[Residuals]) -> float:
    """Mean over recordings of the mean absolute position error, rad."""
    return sum(r.mae for r in residuals) / len(residuals)


Numbers = tuple[float, ...]


def swing(
    motor: Numbers,
    friction: Numbers,
    bench: Numbers,
    rig: Numbers,
    time: Array,
    goal: Array,
    enabled: Array,
    position: float,
    speed: float,
    step: float,
    trace: Array,
) -> None:
    """Write the position at each time stamp into `trace`; semi-implicit Euler, friction implicit.

    Args:
        motor, friction, bench: values in the order of `MOTOR_PARAMETERS`, `FRICTION_PARAMETERS` and
            `BENCH_PARAMETERS`.
        rig: P gain, error gain, largest duty, supply voltage, case temperature, mass, length.
        time, goal, enabled: of the recording; the goal is taken as linear between its samples.
        position, speed: at the first time stamp.
        step: s.
        trace: (samples,), written.
    """
    kt, resistance, armature, supply_resistance, heating = motor
    arm_mass, position_offset, command_delay = bench
    p_gain, error_gain, max_duty, voltage, temperature, mass, length = rig
    weight = (mass + arm_mass / 2.0) * GRAVITY * length
    inertia = (mass + arm_mass / 3.0) * length * length + armature
    now = time[0]
    behind = 0
    trace[0] = position
    for sample in range(1, len(time)):
        while now < time[sample]:
            due = now - command_delay
            while behind < len(time) - 2 and time[behind + 1] < due:
                behind += 1
            external = -weight * math.sin(position - position_offset)
            torque = 0.0
            if enabled[behind] > 0.5:
                share = (due - time[behind]) / (time[behind + 1] - time[behind])
                target = goal[behind] + min(max(share, 0.0), 1.0) * (goal[behind + 1] - goal[behind])
                duty = servo_duty(target - position, p_gain, error_gain, max_duty)
                total = loaded_resistance(duty, temperature, resistance, supply_resistance, heating)
                torque = motor_torque(duty, speed, voltage, kt, total)
            budget = friction_budget(speed, torque, external, *friction)
            speed = rubbed_speed(speed, torque + external, budget, inertia, step)
            position += step * speed
            now += step
        trace[sample] = position - (now - time[sample]) * speed


@cache
def _compiled_swing() -> Callable[..., None]:
    for law in (servo_duty, loaded_resistance, motor_torque, friction_budget, rubbed_speed):
        register_jitable(law)
    with numba_cache() as caching:
        compiled: Callable[..., None] = numba.njit(cache=caching, nogil=True)(swing)
    return compiled
