"""The 1-DOF rig of the paper comes to rest where statics says, in every mode, also under an external torque."""

import math

import mujoco
import numpy as np
import pytest
from scipy.optimize import brentq, fsolve

from pliant.actuators import PID, CompliantJoint, Motor, compile_model, find_law

MGL = 0.2 * 9.81 * 0.04
"""Largest gravity torque of the rig, N·m."""

RIGS = [
    ("sea", {"set": "soft"}, None, 0.7997),
    ("sea", {"set": "stiff"}, None, 0.7999),
    ("awas2", {}, 0.005, 0.7799),
    ("bavs", {}, 0.001, 0.7944),
    ("bavs", {}, 0.22, 0.7988),
    ("qbmove", {}, 0.2, 0.5777),
    ("qbmove", {}, 0.6, 0.7854),
]


@pytest.mark.parametrize(("law", "values", "preset", "rest"), RIGS)
def test_a_step_to_0p8_rad_ends_at_the_published_angle(pendulum, simulate, law, values, preset, rest):
    compliance = find_law(law)(**values)
    bounds = None if preset is None else (0.9 * preset, preset)
    joint = CompliantJoint(law=compliance, mode=3, preset_range=bounds)
    model = compile_model(pendulum(joint, damping=0.01))
    motion = simulate(model, 0.8 if preset is None else (0.8, preset), 4.0)
    references = compliance.references(0.8, preset or 0.0)
    balance = brentq(lambda q: compliance.torque(q, *references) - MGL * math.sin(q), 0.4, 0.8, xtol=1e-14)
    assert motion.position[-1, 0] == pytest.approx(rest, abs=6e-5)
    assert motion.position[-1, 0] == pytest.approx(balance, abs=1e-9)


@pytest.mark.parametrize("timestep", [5e-4, 1e-3, 2e-3])
def test_the_stiffest_lever_rests_at_the_published_angle_with_implicit_stiffness(pendulum, simulate, timestep):
    joint = CompliantJoint(law="awas2", mode=3, implicit=True)
    model = compile_model(pendulum(joint, damping=0.01, timestep=timestep, integrator="discrete"))
    motion = simulate(model, lambda t: (min(t, 0.8), 0.04), 1.5)
    assert motion.position[-1, 0] == pytest.approx(0.8 - MGL * math.sin(0.8) / 3555.6, abs=1e-8)
    assert motion.position[-1, 0] == pytest.approx(0.8000, abs=6e-5)


def balance(mode: int, controls: tuple[float, ...], external: float) -> float:
    """Rest angle of the qbMove rig from the balance of link and motors."""
    law, pid = find_law("qbmove")(), PID(kp=20.0)
    if mode == 0:
        return math.asin((controls[0] + external) / MGL)
    if mode == 1:
        return brentq(lambda q: 0.8 * (controls[0] - q) + external - MGL * math.sin(q), -1.0, 1.0, xtol=1e-13)
    references = law.references(*controls) if mode in (3, 6) else controls

    def residuals(x):
        q, *motors = x
        springs = law.torques(q, *motors)
        link = sum(springs) + external - MGL * math.sin(q)
        if mode <= 3:
            return [link, motors[0] - references[0], motors[1] - references[1]]
        drives = references if mode == 4 else [pid.kp * (r - m) for r, m in zip(references, motors, strict=True)]
        return [link, drives[0] - springs[0], drives[1] - springs[1]]

    solution, *_, message = fsolve(residuals, [0.3, 0.5, 0.1], xtol=1e-13, full_output=True)
    assert np.allclose(residuals(solution), 0.0, atol=1e-10), message
    return float(solution[0])


@pytest.mark.parametrize("external", [0.0, 0.01, -0.03])
@pytest.mark.parametrize(
    ("mode", "controls"),
    [
        (0, (0.02,)),
        (1, (0.5,)),
        (2, (0.7, 0.2)),
        (3, (0.5, 0.25)),
        (4, (0.03, -0.01)),
        (5, (0.7, 0.2)),
        (6, (0.5, 0.25)),
    ],
)
def test_every_mode_rests_where_link_and_motors_balance(pendulum, simulate, mode, controls, external):
    joint = CompliantJoint(
        law="rigid" if mode < 2 else "qbmove", mode=mode,
        motor=Motor(inertia=2e-3, damping=0.02, static_friction=0.0), pid=None if mode < 2 else PID(kp=20.0),
    )  # fmt: skip
    model = compile_model(pendulum(joint, damping=0.01))
    data = mujoco.MjData(model)
    data.qfrc_applied[0] = external
    motion = simulate(model, controls, 12.0 if mode == 4 else 4.0, data)
    assert motion.position[-1, 0] == pytest.approx(balance(mode, controls, external), abs=1e-6)


def test_a_torque_command_and_the_link_pid_are_limited(pendulum, simulate):
    for mode, control in ((0, 1.0), (1, 3.0)):
        joint = CompliantJoint(law="rigid", mode=mode, motor=Motor(torque_limit=0.05), pid=PID(kp=50.0, kd=0.1))
        model = compile_model(pendulum(joint, damping=0.2, gravity=0.0, timestep=5e-4))
        data = mujoco.MjData(model)
        simulate(model, control, 0.05, data)
        mujoco.mj_forward(model, data)
        assert data.qfrc_actuator[0] == pytest.approx(0.05)


def test_the_integral_of_the_link_pid_removes_the_droop_and_is_clamped(pendulum, simulate):
    pid = PID(kp=0.8, ki=4.0, kd=0.02, integral_limit=0.2)
    model = compile_model(pendulum(CompliantJoint(law="rigid", mode=1, pid=pid), damping=0.01))
    assert simulate(model, 0.8, 6.0).position[-1, 0] == pytest.approx(0.8, abs=1e-6)
    data = mujoco.MjData(model)
    data.qfrc_applied[0] = -3.0
    assert simulate(model, 0.8, 2.0, data).act[-1, 0] == 0.2
