"""Steps of one leg of the hexapod in the air, read over the bus, one servo after another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import cos, sin
from typing import ClassVar, Final, NamedTuple

import numpy as np

from pliant.actuators.ax12a import AX12A
from pliant.controllers.checks import Array, positive
from pliant.envs.models.hexapod import JOINTS, REFERENCE_SERVO, STANCE, hexapod
from pliant.envs.models.hexapod_body import DROP, LEGS, LINKS, TRUNK
from pliant.envs.movement import OpenLoop
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.sensing import Sensing
from pliant.errors import check_bounds, unknown_name
from pliant.experiments.experiment import NOTHING, Experiment, Outcome
from pliant.experiments.task_runs import Findings
from pliant.report import COLOURS, Report, figure

SERVOS: Final[Mapping[str, Mapping[str, float]]] = {
    "reference": REFERENCE_SERVO,
    "found": {},
    "heavy": {**REFERENCE_SERVO, "armature": 0.004},
    "steep": {**REFERENCE_SERVO, "cw_slope": 16, "ccw_slope": 16},
}
"""`reference` is what the other program's values belong to, `found` as in recordings of single servos."""
AT: Final = 0.1
"""When the step comes, s."""
CYCLE: Final = 0.019
"""Of the whole robot: one write and 18 readings, s."""
_STEP = 1e-3
_CLOSE = 4.0
"""ms"""
_LARGE: Final = {"coxa": (77.0, 77.0), "femur": (72.0, 81.0), "tibia": (74.0, 76.0)}
_SMALL: Final = (44.0, 46.0)
"""Another program's rise, from and to, of 30° and of 10°, ms."""


class Step(NamedTuple):
    """A step as it was read."""

    time: Array
    """At which the servo was read, from the step on, (n,), s."""
    position: Array
    """From where it stood, by the height of the step, (n,)."""
    speed: float
    """Largest, rad/s."""
    error: float
    """At rest, rad."""

    @property
    def rise(self) -> float:
        """From 10 to 90 % of the way, between readings along straight lines, s."""
        part = self.position / self.position[-1]

        def reached(share: float) -> float:
            k = int(np.argmax(part >= share))
            return float(np.interp(share, part[k - 1 : k + 1], self.time[k - 1 : k + 1]))

        return reached(0.9) - reached(0.1)

    @property
    def overshoot(self) -> float:
        """Of the way."""
        return float(self.position.max() / self.position[-1] - 1.0)


@dataclass(frozen=True)
class HexapodStep(Experiment):
    """The trunk is held in the air, the robot in its default pose; coxa, femur and tibia of a leg step by turns.

    The leg's three servos are read in turn, each reading one transaction: each of them every three.
    """

    title: ClassVar[str] = "Steps of a hexapod's leg"
    source: ClassVar[str] = "Čížek, Faigl and others, hexapod on AX-12A servos, Fig. 6"

    leg: str = "middle_left"
    large: float = 0.5236
    """Height of the larger steps, rad."""
    small: float = 0.1745
    """Of the smaller ones, rad."""
    transaction: float = 0.001
    """Of reading one servo, s."""
    duration: float = 0.6
    """Of a motion, s."""

    def __post_init__(self) -> None:
        if not isinstance(self.leg, str) or self.leg not in LEGS:
            raise unknown_name("leg", self.leg, LEGS, "hexapod_step")
        for name in ("large", "small"):
            check_bounds(f"hexapod_step: {name}", getattr(self, name), 0.02, 0.6, "rad")
        positive("hexapod_step: transaction", self.transaction, "s")
        check_bounds("hexapod_step: transaction", self.transaction, _STEP, CYCLE / (len(JOINTS) + 1), "s")
        check_bounds("hexapod_step: duration", self.duration, AT + 0.2, 60.0, "s")

    def run(self) -> Outcome:
        """Step every joint up and down, with every servo."""
        found = Findings()
        robots: dict[tuple[str, float], SimulatedRobot] = {}
        steps = {}
        for name, motion in self._motions().items():
            kind = (motion.servo, motion.period)
            robots[kind] = robots.get(kind) or self._robot(*kind)
            steps[name] = self._record(motion, robots[kind])
        for name, step in steps.items():
            found.metrics |= {
                f"{name}_rise_s": step.rise,
                f"{name}_overshoot": step.overshoot,
                f"{name}_speed": step.speed,
                f"{name}_error_rad": step.error,
            }
            found.arrays |= {f"{name}_time": step.time, f"{name}_position": step.position}
        for link, theirs in _LARGE.items():
            _judge_rise(found, f"{link}, 30°", [steps[f"reference_{link}{s}_large"] for s in "+-"], theirs)
        for link in LINKS:
            _judge_rise(found, f"{link}, 10°", [steps[f"reference_{link}{s}_small"] for s in "+-"], _SMALL)
        large = [steps[f"reference_{link}{sign}_large"] for link in LINKS for sign in "+-"]
        overshoot, speeds = max(step.overshoot for step in large), [step.speed for step in large]
        errors = np.rad2deg([abs(step.error) for step in large])
        found.claim(
            "30°: largest overshoot", "0.9 % (prototype)", f"{overshoot:.2%}", overshoot <= 0.009, "no more"
        )
        found.claim(
            "30°: largest speeds",
            "5.7 to 6.4 rad/s (prototype)",
            f"{min(speeds):.2f} to {max(speeds):.2f} rad/s",
            min(speeds) > 5.6 and max(speeds) < 6.5,
            "±0.1 rad/s",
        )
        found.claim(
            "30°: errors at rest",
            "0.2 to 0.7° (prototype)",
            f"{errors.min():.2f} to {errors.max():.2f}°",
            errors.min() > 0.1 and errors.max() < 0.8,
            "±0.1°",
        )
        own = self.integrated("reference", self.large)
        found.arrays |= {"integrated_time": own.time, "integrated_position": own.position}
        found.metrics["integrated_rise_s"] = own.rise
        coxa = steps["reference_coxa+_large"]
        found.claim(
            "coxa, 30°: 10 to 90 %, by the servo's equations alone",
            f"{1e3 * own.rise:.1f} ms (integrated for the leg's inertia)",
            f"{1e3 * coxa.rise:.1f} ms",
            abs(coxa.rise - own.rise) < 1e-3,
            "±1 ms",
        )
        for name, what, low, high in (("heavy", "armature 0.004 kg·m²", 5, 8), ("steep", "slope 16", 2, 5)):
            over = [100.0 * steps[f"{name}_{link}+_large"].overshoot for link in LINKS]
            found.claim(
                f"30°, {what}: overshoot of coxa, femur, tibia",
                f"{low} to {high} % (prototype)",
                ", ".join(f"{value:.1f}" for value in over) + " %",
                min(over) > low - 1.5 and max(over) < high + 1.5,
                "±1.5 %",
            )
        for link in LINKS:
            step, cycle = steps[f"found_{link}+_large"], steps[f"cycle_{link}+_large"]
            found.claim(
                f"{link}, 30°, servo as in recordings: 10 to 90 %, overshoot, speed",
                NOTHING,
                f"{1e3 * step.rise:.1f} ms, {step.overshoot:.0%}, {step.speed:.2f} rad/s",
                None,
            )
            found.claim(
                f"{link}, 30°, read with the whole robot, every {1e3 * CYCLE:g} ms: 10 to 90 %",
                NOTHING,
                f"{1e3 * cycle.rise:.1f} ms from {sum((cycle.time > 0.0) & (cycle.time < 0.1))} readings in 0.1 s",
                None,
            )
        return found.outcome(_NOTES)

    def movements(self) -> Mapping[str, Callable[[], OpenLoop]]:
        """By servo, link, sign and height; `cycle`: read with the whole robot."""
        return {
            name: partial(self._movement, motion, partial(self._robot, motion.servo, motion.period))
            for name, motion in self._motions().items()
        }

    def record(self, name: str) -> Step:
        """Run a motion, and take what is read of the joint that steps."""
        motion = self._motions()[name]
        return self._record(motion, self._robot(motion.servo, motion.period))

    def draw(self, outcome: Outcome, report: Report) -> None:
        """A panel for each joint: both servos, both heights, and what the whole robot's cycle shows."""
        a = outcome.arrays
        with figure(1, 3, width=12.0, height=3.8, sharey=True) as (drawing, axes):
            for axis, link in zip(axes[0], LINKS, strict=True):
                lines = (
                    ("reference", "large", "30°", COLOURS[0], "-"),
                    ("reference", "small", "10°", COLOURS[0], "--"),
                    ("found", "large", "30°, servo as in recordings", COLOURS[1], "-"),
                )
                for servo, height, label, colour, style in lines:
                    name = f"{servo}_{link}+_{height}"
                    axis.plot(
                        1e3 * a[f"{name}_time"], a[f"{name}_position"], style, marker=".", markersize=3,
                        linewidth=0.9, color=colour, label=label,
                    )  # fmt: skip
                name = f"cycle_{link}+_large"
                axis.plot(
                    1e3 * a[f"{name}_time"], a[f"{name}_position"], "o", color="black", fillstyle="none",
                    label="30°, every 19 ms",
                )  # fmt: skip
                axis.axhline(1.0, color="black", linestyle=":", linewidth=1.0)
                axis.set(xlabel="time since the step (ms)", xlim=(-20, 300), title=link)
            axes[0, 0].plot(
                1e3 * a["integrated_time"], a["integrated_position"], color=COLOURS[2], linewidth=0.8,
                label="30°, equations alone",
            )  # fmt: skip
            axes[0, 0].set(ylabel="way by height of the step")
            axes[0, 0].legend(fontsize=8, loc="lower right")
            report.figure(
                drawing,
                "Steps of a leg in the air. Each dot is a reading, every third transaction of 1 ms; circles: the "
                "same read with all 18 servos.",
            )

    def integrated(self, servo: str, height: float) -> Step:
        """Integrate the servo's equations for a coxa, whose leg is a rigid body about a vertical axis."""
        own = AX12A(**SERVOS[servo])  # type: ignore[arg-type]
        inertia, power, dt = own.armature + _inertia(self.leg), own.powered_on, 1e-5
        q = speed = fastest = 0.0
        ways = []
        for k in range(round((self.duration - AT) / dt)):
            if k % 100 == 0:
                ways.append(q)
            torque = own.torque(own.drive(height - q, power), speed, power) - own.damping * speed
            if speed == 0.0 and abs(torque) < own.friction:
                continue
            rubbing = np.copysign(own.friction, speed if speed else torque)
            faster = speed + dt * (torque - rubbing) / inertia
            speed = 0.0 if faster * speed < 0.0 else faster
            q += dt * speed
            fastest = max(fastest, abs(speed))
        time: Array = 1e-3 * np.arange(len(ways), dtype=np.float64)
        return Step(time, np.array(ways) / height, fastest, height - q)

    def _motions(self) -> dict[str, "_Motion"]:
        heights = {"large": self.large, "small": self.small}
        found = {
            f"{servo}_{link}{sign}_{name}": _Motion(servo, link, float(f"{sign}{height}"))
            for servo in ("reference", "found")
            for name, height in heights.items()
            for link in LINKS
            for sign in "+-"
        }
        for link in LINKS:
            found |= {f"{servo}_{link}+_large": _Motion(servo, link, self.large) for servo in ("heavy", "steep")}
            found[f"cycle_{link}+_large"] = _Motion("reference", link, self.large, CYCLE)
        return found

    def _robot(self, servo: str, period: float) -> SimulatedRobot:
        """The robot with its trunk held in the air, read over the bus."""
        model = hexapod(servo=SERVOS[servo])
        model.spec.delete(model.spec.joint(TRUNK))
        model.spec.body(TRUNK).pos = [0.0, 0.0, 0.4]
        model = replace(model, base=None, signals=(), start=replace(model.start, base=None, on_floor=False))
        if period == CYCLE:
            return SimulatedRobot(model, CYCLE, transaction=self.transaction)
        turns = {}
        for link in LINKS:
            cycle, delay = self._turn(link, period)
            turns[f"{self.leg}_{link}/position"] = Sensing(period=cycle, phase=delay)
        return SimulatedRobot(model, period, sensing=turns)

    def _turn(self, link: str, period: float) -> tuple[float, float]:
        """How often a joint is read, and how long after the beginning of a turn, s."""
        if period == CYCLE:
            return CYCLE, (JOINTS.index(f"{self.leg}_{link}") + 1) * self.transaction - CYCLE
        return len(LINKS) * self.transaction, list(LINKS).index(link) * self.transaction

    def _movement(self, motion: "_Motion", robot: Callable[[], SimulatedRobot]) -> OpenLoop:
        found = robot()
        rows = np.tile(found.info.rest, (round(self.duration / motion.period), 1))
        rows[round(AT / motion.period) :, JOINTS.index(f"{self.leg}_{motion.link}")] += motion.height
        return OpenLoop(found, rows)

    def _record(self, motion: "_Motion", robot: SimulatedRobot) -> Step:
        movement = self._movement(motion, lambda: robot)
        joint, period = JOINTS.index(f"{self.leg}_{motion.link}"), motion.period
        read = movement.run()
        robot.close()
        sent = movement.rows[:, joint]
        cycle, delay = self._turn(motion.link, period)
        taken = np.arange(1, int((len(sent) * period - delay) / cycle)) * cycle + delay
        seen = read.position[np.ceil(taken / period - 1e-6).astype(int), joint]
        time = np.asarray(taken - round(AT / period) * period, dtype=np.float64)
        return Step(
            time=time,
            position=(seen - read.position[0, joint]) / motion.height,
            speed=float(np.abs(read.velocity[:, joint]).max()),
            error=float(sent[-1] - read.position[-1, joint]),
        )


class _Motion(NamedTuple):
    """A joint that steps."""

    servo: str
    link: str
    height: float
    """rad"""
    period: float = _STEP
    """s"""


def _inertia(leg: str) -> float:
    """Of a leg in its default pose about the axis of its coxa, kg·m²."""
    side = 1.0 if LEGS[leg].y > 0.0 else -1.0
    femur, tibia = (side * STANCE[f"{leg}_{link}"] for link in ("femur", "tibia"))
    below = {"coxa": 0.0, "femur": DROP["femur"] + femur, "tibia": DROP["tibia"] + femur + tibia}
    total = out = 0.0
    for link, (length, centre, mass, (along, across, up)) in LINKS.items():
        angle = below[link]
        own = mass / 12.0 * (across**2 + along**2 * cos(angle) ** 2 + up**2 * sin(angle) ** 2)
        total += mass * (out + centre * cos(angle)) ** 2 + own
        out += length * cos(angle)
    return total


def _judge_rise(found: Findings, what: str, steps: list[Step], theirs: tuple[float, float]) -> None:
    ours = [1e3 * step.rise for step in steps]
    low, high = theirs
    text = f"{low:g} ms" if low == high else f"{low:g} to {high:g} ms"
    found.claim(
        f"{what}: 10 to 90 %, positive and negative",
        f"{text} (prototype)",
        f"{ours[0]:.1f} and {ours[1]:.1f} ms",
        min(ours) > low - _CLOSE and max(ours) < high + _CLOSE,
        f"±{_CLOSE:g} ms",
    )


_NOTES: Final = (
    "The publication shows curves, whose values are not public. Numbers named prototype are those of an "
    "independent program with a servo law of its own.",
    "They belong to a servo with less inertia than was found in recordings of single servos, which overshoots "
    "in the air by a sixth and more. Which of both the leg's servos are like, the publication does not tell.",
    "With 18 readings of 1 ms and a write a servo is read every 19 ms: four or five readings on the way.",
)
