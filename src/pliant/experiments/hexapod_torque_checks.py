"""What is judged of the hexapod's leg that is stretched."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from pliant.experiments.experiment import NOTHING, Source
from pliant.experiments.task_runs import Findings, rms

if TYPE_CHECKING:
    from pliant.experiments.hexapod_torque import Stretch

ANGLES: Final = (-45.0, -30.0, -15.0, 0.0)
"""Of the tibia, at which torques are compared, degrees."""
_TIBIA: Final = (0.20, 0.45, 0.67, 0.85)
_FEMUR: Final = (0.73, 0.97, 1.18, 1.36)
_SIMPLE: Final = (0.55, 0.77, 0.93, 1.04)
"""Another program's torques at `ANGLES`, without batteries, at a friction of 0.3, N·m; last: force times lever."""
_FORCES: Final = (8.83, 8.46)
"""Its force on the foot there, at the first and the last of `ANGLES`, N."""
_OFF: Final[Mapping[tuple[float, int], float | None]] = {
    (0.05, 0): None, (0.05, 1): -20.9, (0.05, 2): -36.6,
    (0.3, 0): None, (0.3, 1): -6.5, (0.3, 2): -20.6,
    (0.5, 0): None, (0.5, 1): None, (0.5, 2): -11.2,
    (0.8, 0): None, (0.8, 1): None, (0.8, 2): -2.8,
}  # fmt: skip
"""Where its femur's servo switched itself off, by friction and batteries, degrees of the tibia's goal."""
_TIBIA_MOST: Final = 1.14
"""Its largest torque of the tibia, N·m."""
_CLOSE: Final = 0.05
_CLOSE_STATICS: Final = 0.01
"""N·m"""
_CLOSE_OFF: Final = 3.0
"""What 0.05 N·m are of the tibia's way, degrees."""
_REFERENCE: Final = 0.3
"""Friction of the other program's torques."""


def judge(run: "Stretch", friction: float, load: int, found: Findings) -> None:
    """Judge one run."""
    name = f"friction_{friction:g}_batteries_{load}"
    where = f"friction {friction:g}, {load} {'battery' if load == 1 else 'batteries'}"
    if friction == _REFERENCE and load == 0:
        _judge_torques(run, found)
    end = run.stalled if run.stalled is not None else run.at(0.0)
    slides = slice(0, end)
    away = np.stack([getattr(run, link) - getattr(run.statics, link) for link in ("femur", "tibia")])[:, slides]
    found.metrics |= {f"{name}_off_statics_rms": rms(away), f"{name}_off_statics_max": float(np.abs(away).max())}
    found.claim(
        f"{where}: torques of femur and tibia until the servo stalls, off statics",
        "Jᵀ of the foot's force, sliding, less the weights",
        f"rms {rms(away):.4f} N·m, at most {np.abs(away).max():.3f} N·m",
        rms(away) < _CLOSE_STATICS,
        f"rms below {_CLOSE_STATICS:g} N·m",
    )
    told = float(np.abs(run.femur_told - run.femur)[slides].max())
    simple = float(np.abs(run.upright.force[:, 0] * run.upright.lever - run.tibia)[slides].max())
    degrees = np.rad2deg(run.goal)
    found.metrics |= {
        f"{name}_told_error": told,
        f"{name}_simple_error": simple,
        f"{name}_stalled_deg": degrees[run.stalled] if run.stalled is not None else np.nan,
        f"{name}_off_deg": degrees[run.off] if run.off is not None else np.nan,
        f"{name}_tibia_max": float(run.tibia_told.max()),
    }
    if load == 0:
        found.claim(
            f"{where}: force times distance, off the torque on the tibia",
            "0.93 N·m at most (prototype)" if friction == 0.8 else "what friction and weight are of it",
            f"{simple:.2f} N·m at most",
            abs(simple - 0.93) < _CLOSE if friction == 0.8 else None,
            f"±{_CLOSE:g} N·m" if friction == 0.8 else NOTHING,
        )
        found.claim(
            f"{where}: the femur's torque told by its position error, off the one on the joint",
            "friction of the gear, 0.015 N·m, and the way within a period",
            f"{told:.3f} N·m at most",
            told < 0.03,
            "below 0.03 N·m",
        )
    if friction == _REFERENCE and load == 2:
        most = float(run.tibia_told.max())
        found.claim(
            f"{where}: largest drive torque of the tibia: it is the femur that stalls",
            f"{_TIBIA_MOST:g} N·m (prototype)",
            f"{most:.3f} N·m",
            abs(most - _TIBIA_MOST) < _CLOSE,
            f"±{_CLOSE:g} N·m",
        )
    theirs = _OFF.get((friction, load), np.nan)
    if theirs is not None and np.isnan(theirs):
        return
    ours = None if run.off is None else float(degrees[run.off])
    holds = (theirs is None) == (ours is None)
    if theirs is not None and ours is not None:
        holds = abs(theirs - ours) < _CLOSE_OFF
    found.claim(
        f"{where}: tibia's goal where the femur's servo switches itself off",
        "never (prototype)" if theirs is None else f"{theirs:g}° (prototype)",
        "never" if ours is None else f"{ours:.1f}°, stalled from {degrees[run.stalled]:.1f}° on",
        holds,
        "never" if theirs is None else f"±{_CLOSE_OFF:g}°",
    )


def _judge_torques(run: "Stretch", found: Findings) -> None:
    """Judge the torques without battery."""
    simple = run.upright.force[:, 0] * run.upright.lever
    for degrees, tibia, femur, plain in zip(ANGLES, _TIBIA, _FEMUR, _SIMPLE, strict=True):
        k = run.at(degrees)
        ours = (float(run.tibia_told[k]), float(run.femur_told[k]), float(simple[k]))
        found.metrics |= {
            f"{what}_at_{degrees:g}": value for what, value in zip(("tibia", "femur", "simple"), ours, strict=True)
        }
        found.claim(
            f"no battery, friction {_REFERENCE:g}, tibia's goal {degrees:g}°: drive torque of tibia and femur",
            f"{tibia:.2f} and {femur:.2f} N·m (prototype)",
            f"{ours[0]:.3f} and {ours[1]:.3f} N·m",
            max(abs(ours[0] - tibia), abs(ours[1] - femur)) < _CLOSE,
            f"±{_CLOSE:g} N·m",
        )
        found.claim(
            "the same: what the publication takes for true, foot force times distance from the tibia's axis",
            f"{plain:.2f} N·m (prototype)",
            f"{ours[2]:.3f} N·m; {run.tibia[k]:.3f} N·m on the joint",
            abs(ours[2] - plain) < _CLOSE,
            f"±{_CLOSE:g} N·m",
        )
    forces = [float(run.force[run.at(degrees)]) for degrees in (ANGLES[0], ANGLES[-1])]
    found.claim(
        "the same: force on the foot at the first and the last of these",
        f"{_FORCES[0]:.2f} and {_FORCES[1]:.2f} N (prototype): the lever raises the torque, not the load",
        f"{forces[0]:.2f} and {forces[1]:.2f} N",
        max(abs(ours - theirs) for ours, theirs in zip(forces, _FORCES, strict=True)) < 0.1,
        "±0.1 N",
    )
    rising = np.diff([run.tibia[run.at(degrees)] for degrees in ANGLES])
    found.claim(
        "the same: the tibia's torque on the way",
        "rises",
        f"by {rising[0]:.2f}, {rising[1]:.2f} and {rising[2]:.2f} N·m every 15°",
        bool((rising > 0.0).all()),
        "every one of them more",
        Source.VERBAL,
    )


NOTES: Final = (
    "The publication shows curves, whose values are not public. Numbers named prototype are those of an "
    "independent program with a servo law of its own, on another model of the robot.",
    "The publication plots the tibia, and a plateau where servos are overloaded. Here it is the femur that "
    "stalls: it bears the same force on a longer lever.",
    "What the publication takes for the true torque, the foot's force times its distance, leaves out the "
    "friction of the foot and the tibia's weight.",
    "A servo that switches itself off after two seconds at its torque limit is an assumption: the manual has no "
    "time. The prototype's angles are compared within what 0.05 N·m are of the way.",
    "Torques told by position errors are drive times stall torque, right within the 0.015 N·m by which the gear "
    "rubs.",
    "Friction of the feet is not published. It decides the torque: a sliding foot pushes the leg back by μ·N. "
    "Contacts are hard along the ground here (impratio 1000): with softer ones a foot that slides by a "
    "millimetre a second bears less friction than μ·N, and torques are up to 0.1 N·m larger.",
    "Legs are 10 mm thick where they touch, so that no flat tibia lies on the ground beside its foot.",
)
