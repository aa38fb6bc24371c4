"""What a gait is judged by: speed, power, torques of the servos, collisions, forces and slip of the feet."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.errors import check_bounds
from pliant.hardware.robot import Array

GRAVITY = 9.81
"""m/s²"""
_PRESSED = 0.5
"""Force from which a foot counts as on the ground, N."""


@dataclass(frozen=True)
class GaitLimits:
    """What a gait must keep.

    Raises:
        OutOfBoundsError: a number that cannot be.
    """

    torque: float = 0.75 * 1.5
    """Largest torque of any servo's motor, N·m; of the AX-12A three quarters of its stall torque."""
    lean: float = 0.8
    """Of the trunk against the vertical, beyond which the robot has fallen, rad."""
    height: float = 0.05
    """Of the trunk above the lowest foot, below which the robot has fallen, m."""

    def __post_init__(self) -> None:
        check_bounds("gait: limit of torque", self.torque, 0.0, 1e4, "N·m")
        check_bounds("gait: limit of lean", self.lean, 0.0, math.pi, "rad")
        check_bounds("gait: limit of height", self.height, -10.0, 10.0, "m")


@dataclass(frozen=True)
class GaitTrace:
    """A trial at the beginning of every physics step."""

    joints: tuple[str, ...]
    feet: tuple[str, ...]
    """Legs whose feet are seen."""
    pairs: tuple[str, ...]
    """Parts that can collide, `front_left_meets_middle_left`."""
    mass: float
    """Of the robot, kg."""
    full: float
    """When it walks in full, s."""
    diverged: bool
    time: Array
    """(n,), s."""
    position: Array
    """Of the joints, (n, joints), rad."""
    velocity: Array
    """(n, joints), rad/s."""
    target: Array
    """Goals in force, (n, joints), rad."""
    torque: Array
    """On the joint, friction of the gear included, (n, joints), N·m."""
    motor_torque: Array
    """Electromagnetic torque of the servo's motor, (n, joints), N·m: of the AX-12A drive·stall − kt²/R·speed."""
    estimated_torque: Array
    """What the servo's position error tells, drive·stall, (n, joints), N·m: `AX12A.estimated_torque`."""
    shut_down: NDArray[np.bool_]
    """(n, joints)."""
    electrical_power: Array
    """Drawn from the supply by all motors, (n,), W; nothing flows back, and the electronics are left out."""
    base: Array
    """Position (m) and unit quaternion (w first) of the trunk, (n, 7)."""
    foot_position: Array
    """Of the tips, (n, feet, 3), m."""
    foot_velocity: Array
    """(n, feet, 3), m/s."""
    foot_force: Array
    """By which feet are pressed, (n, feet), N."""
    contacts: Array
    """Of each pair, (n, pairs)."""
    phase: Array | None
    """Of the gait in every period, (periods, legs), cycles; None: not a `Gait`."""
    period: float
    """From one command to the next, s."""

    @property
    def lean(self) -> Array:
        """Of the trunk against the vertical, (n,), rad."""
        x, y = self.base[:, 4], self.base[:, 5]
        lean: Array = np.arccos(np.clip(1.0 - 2.0 * (x * x + y * y), -1.0, 1.0))
        return lean

    @property
    def heading(self) -> Array:
        """Of the trunk's x axis, seen from above, (n,), rad, without jumps."""
        w, x, y, z = self.base[:, 3:].T
        return np.unwrap(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))

    @property
    def height(self) -> Array:
        """Of the trunk above the lowest foot, (n,), m."""
        height: Array = self.base[:, 2] - self.foot_position[:, :, 2].min(axis=1)
        return height


@dataclass(frozen=True)
class GaitMeasures:
    """What came of a trial. Means are over whole cycles once the robot walks in full, the rest over all of it."""

    limits: GaitLimits
    begin: float
    """Of the cycles, s."""
    end: float
    cycles: int
    """Whole ones; 0: there was none, and the means are over all that was walked in full."""
    speed: float
    """Ahead, along the trunk's heading at the beginning, m/s. NaN where the robot diverged, as all means."""
    drift: float
    """To the left of that, m/s."""
    turn_rate: float
    """Counter-clockwise, rad/s."""
    mechanical_power: float
    """Work that the joints do, none got back, W."""
    electrical_power: float
    """See `GaitTrace`, W."""
    cost_of_transport: float
    """Electrical power / (mass·g·speed); infinite where it does not go ahead."""
    peak_torque: Mapping[str, float]
    """Largest electromagnetic torque of each joint's motor, N·m."""
    rms_torque: Mapping[str, float]
    """The same in the mean."""
    peak_estimated_torque: Mapping[str, float]
    """Largest torque that each servo's position error tells, N·m."""
    estimate_error: float
    """Of that estimate against the motors' torque, rms over all joints, N·m."""
    collisions: Mapping[str, float]
    """Pairs that collided, the first one first, and when, s."""
    colliding: Mapping[str, float]
    """Share of the time that they touched."""
    fallen: float | None
    """When it fell, s."""
    shut_down: Mapping[str, float]
    """Servos that switched themselves off, and when, s."""
    diverged: float | None
    """When the simulation diverged, s."""
    peak_force: Mapping[str, float]
    """Largest force on each foot, N."""
    mean_force: Mapping[str, float]
    """On each foot while it is pressed, N."""
    on_ground: Mapping[str, float]
    """Share of the time that each foot is pressed."""
    slip: Mapping[str, float]
    """Way of each foot's tip along the ground while pressed, per way of the trunk. Rolling counts as slip."""

    @property
    def largest_torque(self) -> float:
        """Of all motors, N·m."""
        return max(self.peak_torque.values())

    @property
    def hardest_joint(self) -> str:
        """Whose motor gives it."""
        return max(self.peak_torque, key=lambda joint: self.peak_torque[joint])

    @property
    def margin(self) -> float:
        """Of the largest torque to the limit, N·m; negative: beyond."""
        return self.limits.torque - self.largest_torque

    @property
    def violations(self) -> tuple[str, ...]:
        """What limits were not kept, in words."""
        found = []
        if self.diverged is not None:
            found.append(f"the simulation diverged at {self.diverged:.3g} s")
        if self.fallen is not None:
            found.append(f"it fell at {self.fallen:.3g} s")
        found += [f"the servo of {joint} shut down at {time:.3g} s" for joint, time in self.shut_down.items()]
        found += [
            f"{' and '.join(pair.split('_meets_'))} collided at {time:.3g} s"
            for pair, time in self.collisions.items()
        ]
        if self.margin < 0.0:
            found.append(
                f"{self.hardest_joint} took {self.largest_torque:.3g} N·m; {self.limits.torque:.4g} are allowed"
            )
        return tuple(found)

    @property
    def kept(self) -> bool:
        """Whether all limits were kept."""
        return not self.violations


def measure_gait(trace: GaitTrace, limits: GaitLimits) -> GaitMeasures:
    """Return the measures of a trial."""
    begin, end, cycles = _whole_cycles(trace)
    a, b = np.searchsorted(trace.time, [begin - 1e-9, end - 1e-9]).tolist()
    enough = b - a > 1 and not trace.diverged
    if not enough:
        a, b = 0, len(trace.time)
    last = min(b, len(trace.time) - 1)
    duration = float(trace.time[last] - trace.time[a]) if enough else math.nan
    heading = trace.heading
    ahead = np.array([math.cos(heading[a]), math.sin(heading[a])])
    way = trace.base[last, :2] - trace.base[a, :2]
    speed = float(way @ ahead) / duration
    work = np.maximum(trace.torque * trace.velocity, 0.0).sum(axis=1)
    electrical = float(trace.electrical_power[a:b].mean()) if enough else math.nan
    error = trace.estimated_torque[a:b] - trace.motor_torque[a:b]
    pressed = trace.foot_force > _PRESSED
    sliding = np.hypot(trace.foot_velocity[..., 0], trace.foot_velocity[..., 1]) * pressed
    step = float(trace.time[1] - trace.time[0]) if len(trace.time) > 1 else 0.0
    walked = float(np.hypot(*way))
    forces = np.where(pressed, trace.foot_force, 0.0)[a:b].sum(axis=0) / np.maximum(pressed[a:b].sum(axis=0), 1)
    collided = {pair: t for pair, t in zip(trace.pairs, _first(trace.contacts > 0.0, trace), strict=True)}
    collisions = {pair: t for pair, t in sorted(collided.items(), key=lambda of: of[1] or 0.0) if t is not None}
    fell = (trace.lean > limits.lean) | (trace.height < limits.height)
    down = zip(trace.joints, _first(trace.shut_down, trace), strict=True)
    return GaitMeasures(
        limits=limits,
        begin=begin,
        end=end,
        cycles=cycles if enough else 0,
        speed=speed,
        drift=float(ahead[0] * way[1] - ahead[1] * way[0]) / duration,
        turn_rate=float(heading[last] - heading[a]) / duration,
        mechanical_power=float(work[a:b].mean()) if enough else math.nan,
        electrical_power=electrical,
        cost_of_transport=electrical / (trace.mass * GRAVITY * speed) if not speed <= 0.0 else math.inf,
        peak_torque=_by(trace.joints, np.abs(trace.motor_torque).max(axis=0)),
        rms_torque=_by(trace.joints, np.sqrt(np.square(trace.motor_torque[a:b]).mean(axis=0))),
        peak_estimated_torque=_by(trace.joints, np.abs(trace.estimated_torque).max(axis=0)),
        estimate_error=math.sqrt(float(np.square(error).mean())),
        collisions=collisions,
        colliding={pair: float((trace.contacts[:, trace.pairs.index(pair)] > 0.0).mean()) for pair in collisions},
        fallen=_first(fell[:, None], trace)[0],
        shut_down={joint: t for joint, t in down if t is not None},
        diverged=float(trace.time[-1]) if trace.diverged else None,
        peak_force=_by(trace.feet, trace.foot_force.max(axis=0)),
        mean_force=_by(trace.feet, forces),
        on_ground=_by(trace.feet, pressed[a:b].mean(axis=0)),
        slip=_by(
            trace.feet, sliding[a:b].sum(axis=0) * step / walked if walked else np.full(len(trace.feet), math.inf)
        ),
    )


def _whole_cycles(trace: GaitTrace) -> tuple[float, float, int]:
    """Return beginning and end of the whole cycles that are walked in full, s, and how many they are."""
    full, whole = trace.full, float(trace.time[-1])
    if trace.phase is None:
        return full, whole, 0
    lifted = (np.flatnonzero(np.diff(trace.phase[:, 0]) < -0.5) + 1) * trace.period
    lifted = lifted[(lifted >= full) & (lifted <= whole)]
    return (float(lifted[0]), float(lifted[-1]), len(lifted) - 1) if len(lifted) > 1 else (full, whole, 0)


def _first(happening: NDArray[np.bool_], trace: GaitTrace) -> list[float | None]:
    """Return when each column is true first, s; None: never."""
    at = happening.argmax(axis=0)
    return [float(trace.time[k]) if happening[k, column] else None for column, k in enumerate(at.tolist())]


def _by(names: tuple[str, ...], values: Array) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
