"""How far a simulated joint is from an independent integration, by law, mode, integrator and time step.

    python tests/benchmarks/accuracy.py [--laws sea qbmove] [--modes 3 6]

The reference is SciPy's DOP853 at a relative tolerance of 1e-9, of equations written here from Mengacci et al.
2021; the rig is theirs, 0.2 kg at 0.04 m. Printed is the largest error of the link, mrad, as a Markdown table.
References are held over each step at their value in its middle; in modes 5 and 6 the derivative is that of the
measured angle (`derivative_weight=0`), so that a held reference has one meaning for every time step.
"""

import argparse
import math
from collections.abc import Callable
from functools import cache

import mujoco
import numpy as np
from scipy.integrate import solve_ivp

from pliant.actuators import (
    PID,
    CompliantJoint,
    Motor,
    StabilityError,
    add_compliant_joint,
    compile_model,
    find_law,
)

INERTIA, WEIGHT, DAMPING = 0.2 * 0.04**2 + 1e-9, 0.2 * 9.81 * 0.04, 0.065
J, D, LIMIT, KP, KD = 0.0233, 0.2698, 6.0, 125.0, 4.5
STEPS = (5e-4, 1e-3, 2e-3, 4e-3)
INTEGRATORS = ("euler", "implicit", "implicitfast", "discrete", "rk4")
DURATION = 2.0
RELEASED = 0.1
"""Angle from which the link is let go, rad."""

MOTIONS: dict[str, Callable[[float], float]] = {
    "step": lambda t: 0.3,
    "sine 3 Hz": lambda t: 0.3 * math.sin(6 * math.pi * t),
    "chirp to 6 Hz": lambda t: 0.15 * math.sin(2 * math.pi * (0.5 * t + 0.5 * 2.75 * t * t)),
    "release": lambda t: 0.0,
}
PRESETS = {"sea": 0.0, "qbmove": 0.6, "bavs": 0.1, "awas2": 0.005}
ANTAGONISTIC = ("qbmove", "bavs")


def springs(law: str, q: float, theta1: float, theta2: float) -> tuple[float, float]:
    """Torque of each spring on the link, N·m."""
    if law == "sea":
        return -200.0 * min(max(q - theta1, -0.8), 0.8), 0.0
    if law == "qbmove":
        d1, d2 = (min(max(q - theta, -0.8), 0.8) for theta in (theta1, theta2))
        return -0.0019 * math.sinh(8.9992 * d1), -0.0019 * math.sinh(8.9992 * d2)
    if law == "bavs":
        d1, d2 = (min(max(theta - q, -0.27), 0.27) for theta in (theta1, theta2))
        a, b, k, ke = 1.21e-6, 2.38e-6, 1.6e5, 8.71
        first = k * (b * math.exp(ke * d1) - a * math.exp(-ke * d1))
        return first, k * (a * math.exp(ke * d2) - b * math.exp(-ke * d2))
    d = min(max(q - theta1, -0.3), 0.3)
    return -20.0 * (0.05 / 0.015 * theta2 / (0.05 - theta2)) ** 2 * math.sin(d) * math.cos(d), 0.0


def commands(law: str, mode: int, motion: str, t: float) -> tuple[float, float]:
    """The two references of a joint; in mode 4 the motors' torques."""
    first, preset = MOTIONS[motion](t), PRESETS[law]
    if mode == 4:
        return 0.5 * first, preset if law == "awas2" else -0.3 * first
    if mode in (2, 5) and law in ANTAGONISTIC:
        return first + preset, first - preset
    return first, preset


@cache
def expected(law: str, mode: int, motion: str, timestep: float) -> np.ndarray:
    """Link angles after every time step, rad."""

    def rates(t: float, x: np.ndarray) -> list[float]:
        c1, c2 = commands(law, mode, motion, t)
        if mode in (3, 6) and law in ANTAGONISTIC:
            c1, c2 = c1 + c2, c1 - c2
        torques = springs(law, x[0], *((c1, c2) if mode < 4 else (x[2], x[4])))
        motors = []
        for k, c in enumerate((c1, c2) if mode >= 4 else ()):
            theta, omega = x[2 + 2 * k : 4 + 2 * k]
            if k == 1 and law == "awas2":
                motors += [0.0, 0.0]
                continue
            torque = c if mode == 4 else KP * (c - theta) - KD * omega
            motors += [omega, (min(max(torque, -LIMIT), LIMIT) - D * omega - torques[k]) / J]
        return [x[1], (sum(torques) - WEIGHT * math.sin(x[0]) - DAMPING * x[1]) / INERTIA, *motors]

    times = np.arange(1, round(DURATION / timestep) + 1) * timestep
    found = solve_ivp(rates, (0.0, DURATION), beginning(law, mode, motion), "DOP853", times, rtol=1e-9, atol=1e-11)
    return np.array(found.y[0])


def beginning(law: str, mode: int, motion: str) -> list[float]:
    """Link angle and speed, then those of the motors, at their references' beginning."""
    preset = PRESETS[law]
    if mode == 4:
        motors = [0.0, preset if law == "awas2" else 0.0]
    else:
        motors = [preset, -preset] if law in ANTAGONISTIC else [0.0, preset]
    angles = [RELEASED if motion == "release" else 0.0, 0.0]
    return angles if mode < 4 else [*angles, motors[0], 0.0, motors[1], 0.0]


def joint(law: str, mode: int) -> CompliantJoint:
    """The joint, its motors without dry friction and speed limit, which the reference does not have."""
    values = find_law(law)("soft") if law == "sea" else find_law(law)()
    return CompliantJoint(
        values, mode, motor=Motor(static_friction=0.0, speed_limit=1e3), pid=PID(derivative_weight=0.0),
        preset_range=(0.001, 0.005) if law == "awas2" else None,
    )  # fmt: skip


def rig(law: str, mode: int, integrator: str, timestep: float) -> mujoco.MjModel:
    """The rig of the paper with a joint."""
    spec = mujoco.MjSpec()
    spec.option.timestep = timestep
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    body = spec.worldbody.add_body(name="link")
    body.explicitinertial = True
    body.mass, body.ipos, body.inertia = 0.2, [0.0, 0.0, -0.04], [1e-9, 1e-9, 1e-9]
    body.add_joint(name="hinge", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0], damping=[DAMPING, 0, 0])
    add_compliant_joint(spec, "hinge", joint(law, mode))
    return compile_model(spec)


def largest_error(law: str, mode: int, integrator: str, motion: str, timestep: float) -> float:
    """Largest error of the link, rad; NaN where the time step is refused."""
    try:
        model = rig(law, mode, integrator, timestep)
    except StabilityError:
        return math.nan
    data = mujoco.MjData(model)
    start = beginning(law, mode, motion)
    data.qpos[0] = start[0]
    at = 0
    for k, size in enumerate(joint(law, mode).state_sizes if mode >= 4 else ()):
        data.act[at] = start[2 + 2 * k]
        at += size
    angles = []
    for k in range(round(DURATION / timestep)):
        data.ctrl[:] = commands(law, mode, motion, (k + 0.5) * timestep)[: model.nu]
        mujoco.mj_step(model, data)
        angles.append(data.qpos[0])
    return float(np.max(np.abs(angles - expected(law, mode, motion, timestep))))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", nargs="+", default=list(PRESETS), choices=list(PRESETS))
    parser.add_argument("--modes", nargs="+", type=int, default=[2, 3, 4, 5, 6], choices=[2, 3, 4, 5, 6])
    parser.add_argument("--integrators", nargs="+", default=list(INTEGRATORS), choices=list(INTEGRATORS))
    options = parser.parse_args()
    print("| law | mode | integrator |" + "".join(f" {motion} |" for motion in MOTIONS))
    print("|---|---|---|" + "---|" * len(MOTIONS))
    for law in options.laws:
        for mode in options.modes:
            for integrator in options.integrators:
                cells = []
                for motion in MOTIONS:
                    errors = [largest_error(law, mode, integrator, motion, step) for step in STEPS]
                    cells.append(" / ".join("–" if math.isnan(e) else f"{1e3 * e:.2g}" for e in errors))
                print(f"| {law} | {mode} | {integrator} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
