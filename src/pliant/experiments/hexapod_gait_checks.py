"""What is judged of the hexapod's strides."""

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pliant.controllers.gaits import MatsuokaGait, hexapod_legs
from pliant.envs.gait_measures import GaitLimits
from pliant.experiments.experiment import NOTHING, Source
from pliant.experiments.task_runs import Findings

if TYPE_CHECKING:
    from pliant.experiments.hexapod_gait import Condition, HexapodGait, Walk

LIMIT: Final = GaitLimits().torque
"""N·m"""


class Theirs(NamedTuple):
    """Another program's values of a stride."""

    speed: float
    """m/s"""
    peak: float | None = None
    """Largest torque, N·m."""
    collides: bool = False


PROTOTYPE: Final = {
    (0.012, 0.5): {1.0: Theirs(0.0505), 5.0: Theirs(0.2655, 1.02), 6.0: Theirs(0.316, 1.125, True)},
    (0.012, 0.8): {1.0: Theirs(0.0489), 5.0: Theirs(0.2522, 1.22), 6.0: Theirs(0.301, None, True)},
    (0.019, 0.5): {1.0: Theirs(0.0315), 5.0: Theirs(0.1734, 0.95), 6.0: Theirs(0.206, None, True)},
    (0.019, 0.8): {1.0: Theirs(0.0306), 5.0: Theirs(0.1646, 1.04), 6.0: Theirs(0.198, None, True)},
}
"""By step (s) and friction, and factor."""
_RHYTHMS: Final = {0.030: 0.019, 0.015: 0.039, 0.010: 0.059, 0.008: 0.074, 0.006: 0.100, 0.004: 0.152}
"""Its speeds with the default stride by step of the network, m/s."""
TOUCHING: Final = {0.010: 75.0, 0.020: 70.0, 0.028: 65.0}
"""Stroke of the coxae from which on its legs of a thickness touch, degrees."""
_SPEED_CLOSE, _TORQUE_CLOSE = 0.05, 0.10
_PUBLISHED: Final = {1.0: 0.05, 5.0: 0.25}
"""Speeds that the paper gives, m/s."""


def strides(condition: "Condition", walks: "list[Walk]", found: Findings) -> None:
    """Judge the strides of a condition against the other program's."""
    for walk in walks:
        name = f"step_{1e3 * condition.step:g}_friction_{condition.friction:g}_stride_{walk.factor:g}"
        speed, pairs = walk.measures.speed, [pair.split("_meets_") for pair in walk.measures.collisions]
        coxae = [k for k, joint in enumerate(walk.trace.joints) if joint.endswith("coxa")]
        late = walk.trace.time >= walk.trace.full
        goals, moved = (np.ptp(of[late][:, coxae], axis=0) for of in (walk.trace.target, walk.trace.position))
        found.metrics |= {
            f"{name}_speed": speed,
            f"{name}_peak": walk.peak,
            f"{name}_peak_from_the_stand": walk.measures.largest_torque,
            f"{name}_collisions": float(len(pairs)),
            f"{name}_stroke_goal_rad": float(goals.max()),
            f"{name}_stroke_least_rad": float(moved.min()),
            f"{name}_stroke_most_rad": float(moved.max()),
        }
        what = f"{condition}, stride ×{walk.factor:g}"
        met = ", ".join(" and ".join(part.replace("_", " ") for part in pair) for pair in pairs)
        said = f"{met} collide" if met else "clean"
        theirs = PROTOTYPE.get((condition.step, condition.friction), {}).get(walk.factor)
        if theirs is None:
            found.claim(
                f"{what}: speed, largest torque, collisions",
                NOTHING,
                f"{speed:.4f} m/s, {walk.peak:.2f} N·m, {said}",
                None,
            )
            continue
        found.claim(
            f"{what}: speed",
            f"{theirs.speed:g} m/s (prototype)",
            f"{speed:.4f} m/s",
            abs(speed / theirs.speed - 1.0) < _SPEED_CLOSE,
            "±5 %",
        )
        if theirs.peak is not None:
            passed = "" if walk.peak <= LIMIT else ", beyond the limit"
            found.claim(
                f"{what}: largest torque of a motor",
                f"{theirs.peak:g} N·m (prototype; limit {LIMIT:g})",
                f"{walk.peak:.3f} N·m{passed}",
                abs(walk.peak / theirs.peak - 1.0) < _TORQUE_CLOSE,
                "±10 %",
            )
        found.claim(
            f"{what}: collisions",
            ("collides" if theirs.collides else "clean") + " (prototype)",
            said,
            bool(pairs) == theirs.collides,
            "the same",
        )


def published(walks: "list[Walk]", found: Findings) -> None:
    """Judge the strides of the condition that comes nearest to the paper."""
    for walk in walks:
        if walk.factor in _PUBLISHED:
            theirs = _PUBLISHED[walk.factor]
            found.claim(
                f"stride ×{walk.factor:g}, as drawn: speed",
                f"{theirs:g} m/s",
                f"{walk.measures.speed:.4f} m/s",
                abs(walk.measures.speed / theirs - 1.0) < 0.10,
                "±10 %",
                Source.PUBLISHED,
            )
    good = [walk.factor for walk in walks if walk.peak <= LIMIT and not walk.measures.collisions]
    if good and 6.0 in (walk.factor for walk in walks):
        found.claim(
            "longest of these strides that keeps torques and touches nothing, as drawn",
            "×5; with ×6 legs collide",
            f"×{max(good):g}",
            max(good) == 5.0,
            "the same",
            Source.PUBLISHED,
        )


def geometry(e: "HexapodGait", found: Findings) -> None:
    """Judge from which stroke of the coxae on legs touch."""
    from pliant.experiments.hexapod_gait import legs_apart, touching_stroke

    strokes = np.deg2rad(np.linspace(40.0, 90.0, 51))
    found.arrays |= {"strokes": strokes, "apart": np.array([legs_apart(stroke) for stroke in strokes])}
    for thickness, theirs in TOUCHING.items():
        ours = float(np.rad2deg(touching_stroke(thickness)))
        found.metrics[f"touching_{1e3 * thickness:g}_mm_deg"] = ours
        found.claim(
            f"legs {1e3 * thickness:g} mm thick: stroke of the coxae, peak to peak, from which on they touch",
            f"{theirs:g}° (prototype, thin to fat)",
            f"{ours:.1f}° (distance of the legs' axes)",
            abs(ours / theirs - 1.0) < 0.05,
            "±5 %",
        )


def onset(e: "HexapodGait", found: Findings) -> None:
    """Judge with which stride legs begin to collide."""
    from pliant.experiments.hexapod_gait import Condition

    walks = e.walk(Condition(e.steps[-1], e.frictions[0]), [*e.between, max(e.factors)])
    hit = [walk for walk in walks if walk.measures.collisions]
    clean = [walk.factor for walk in walks if not walk.measures.collisions]
    if not hit or not clean:
        return
    first = next(iter(hit[0].measures.collisions)).replace("_meets_", " and ").replace("_", " ")
    found.metrics |= {"onset_clean": max(clean), "onset_collides": hit[0].factor}
    found.claim(
        f"{Condition(e.steps[-1], e.frictions[0])}: longest clean stride, first one that collides, of those tried",
        "begins at ×5.7 to ×5.8 (prototype)",
        f"×{max(clean):g}, ×{hit[0].factor:g}: {first} first",
        max(clean) <= 5.8 and hit[0].factor >= 5.7,
        "between these two",
    )


def cycle(e: "HexapodGait", found: Findings) -> None:
    """Judge whether a cycle of 19 ms goes with the paper's speeds."""
    from pliant.experiments.hexapod_gait import touching_stroke

    legs = hexapod_legs()
    feet = legs.forward_kinematics(legs.stand)[:, :2]
    radius = float(np.hypot(*(feet - [mount[1:3] for mount in legs.mounts]).T).mean())
    with e.robot(e.conditions[0]) as robot:
        steps = MatsuokaGait.published(robot.info).steps
    for speed in _PUBLISHED.values():
        needed = float(np.rad2deg(speed * steps * 0.019 / (2.0 * radius)))
        possible = float(np.rad2deg(touching_stroke(min(TOUCHING))))
        found.metrics[f"stroke_for_{speed:g}_deg"] = needed
        found.claim(
            f"{speed:g} m/s with 19 ms a step: stroke v·T/(2·r) if no foot slides, r = {radius:.4f} m",
            "19 ms a cycle",
            f"{needed:.1f}°; the default stride is {np.rad2deg(0.0025 * steps):.1f}°, legs "
            f"{1e3 * min(TOUCHING):g} mm thick touch from {possible:.0f}° on",
            None if speed < 0.1 else needed < possible,
            NOTHING if speed < 0.1 else "no leg touches another",
            Source.PUBLISHED,
        )


def rhythms(e: "HexapodGait", found: Findings) -> None:
    """Judge the speed with the default stride by the step of the network."""
    from pliant.experiments.hexapod_gait import Condition

    for step in e.rhythms:
        speed = e.walk(Condition(step, e.frictions[-1]), [1.0])[0].measures.speed
        found.metrics[f"step_{1e3 * step:g}_speed"] = speed
        theirs = _RHYTHMS.get(step)
        found.claim(
            f"{1e3 * step:g} ms a step, friction {e.frictions[-1]:g}, default stride: speed",
            f"{theirs:g} m/s (prototype)" if theirs else NOTHING,
            f"{speed:.4f} m/s",
            abs(speed / theirs - 1.0) < _SPEED_CLOSE if theirs else None,
            "±5 %" if theirs else NOTHING,
        )


def influences(e: "HexapodGait", found: Findings) -> None:
    """Judge what friction does to the torque, and the servos' slope to the speed."""
    from pliant.experiments.hexapod_gait import Condition

    step, stride = e.steps[-1], 5.0
    peak = e.walk(Condition(step, 1.2), [stride])[0].peak
    found.metrics["friction_1.2_peak"] = peak
    found.claim(
        f"{1e3 * step:g} ms, friction 1.2, stride ×5: largest torque of a motor",
        "1.56 N·m (prototype)",
        f"{peak:.3f} N·m",
        abs(peak / 1.56 - 1.0) < _TORQUE_CLOSE,
        "±10 %",
    )
    for slope, theirs in ((16, 0.179), (64, 0.142)):
        condition = Condition(step, e.frictions[-1])
        speed = e.walk(condition, [stride], {"cw_slope": slope, "ccw_slope": slope})[0].measures.speed
        found.metrics[f"slope_{slope}_speed"] = speed
        found.claim(
            f"{condition}, stride ×5, slope {slope}: speed",
            f"{theirs:g} m/s (prototype)",
            f"{speed:.4f} m/s",
            abs(speed / theirs - 1.0) < _SPEED_CLOSE,
            "±5 %",
        )


def bus(e: "HexapodGait", found: Findings) -> None:
    """Judge what is told of a walk over the bus: torques by position errors, angles one after another."""
    from pliant.experiments.hexapod_gait import Condition

    condition = Condition(0.019, e.frictions[-1])
    walk = e.walk(condition, [1.0])[0]
    told = max(value for joint, value in walk.measures.peak_estimated_torque.items() if joint.endswith("femur"))
    off = walk.estimate_error("femur")
    angles = []
    for transaction in (0.0, 1e-3):
        with e.robot(condition, transaction=transaction) as robot:
            angles.append(robot.rollout(walk.command).position)
            joints = robot.info.joints
    skew = np.rad2deg(np.abs(angles[1] - angles[0]).max(axis=0))
    worst = int(skew.argmax())
    found.metrics |= {"told_peak": told, "told_error_rms": off, "skew_deg": float(skew[worst])}
    found.claim(
        f"{condition}, default stride: largest torque of femurs that position errors tell",
        "1.25 N·m (prototype)",
        f"{told:.3f} N·m; {max(walk.measures.peak_torque.values()):.3f} N·m in truth",
        abs(told / 1.25 - 1.0) < _TORQUE_CLOSE,
        "±10 %",
    )
    found.claim(
        "the same: that off the motors' torque, femurs, rms",
        "0.34 N·m (prototype)",
        f"{off:.3f} N·m",
        abs(off / 0.34 - 1.0) < _TORQUE_CLOSE,
        "±10 %",
    )
    found.claim(
        "the same: angles read one after another, 1 ms each, off those at the end of the cycle",
        "up to 3.2°, of a femur (prototype)",
        f"{skew[worst]:.1f}°, of {joints[worst].replace('_', ' ')}",
        abs(skew[worst] - 3.2) < 0.4 and joints[worst].endswith("femur"),
        "±0.4°, of a femur",
    )


NOTES: Final = (
    "The publication shows curves, whose values are not public; it tells that the default stride gives 0.05 "
    "m/s, that five times it is the fastest and that legs collide at six times. Numbers named prototype are "
    "those of an independent program with a servo law of its own.",
    "0.05 m/s goes with a step of the network of 12 ms. With 19 ms, which the paper gives for a cycle of the "
    "bus, the robot walks at 0.03 m/s, and 0.25 m/s is out of reach: legs touch before.",
    "Torques are those of the motors, drive times stall torque less back-EMF, once the robot walks in full. "
    "From the stand the first steps need up to 0.2 N·m more.",
    "The coxa's deflection is centred, 0.005 rad a step times the factor. The lab's course code has another "
    "one, to one side: docs/gait-search.md.",
    "Between these strides: docs/gait-search.md has the longest that keeps all limits, and what beats it.",
    "Thickness decides where legs collide: these are 28 mm, servos are 32 mm wide. Of 20 mm, the model's "
    "default, legs pass each other at six times the stride.",
    "Friction of the feet is not published; it decides the torque. At 1.2, where feet hardly slide, and at 4 ms "
    "a step, where legs hardly follow, the two programs are a little further apart than elsewhere.",
)
