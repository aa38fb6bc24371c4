"""Springs neither make nor destroy energy, and push motor and link with opposite signs."""

import math

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, Motor, compile_model, find_law
from pliant.actuators.motor import mean_speed

FREE = Motor(damping=0.0, static_friction=0.0, speed_limit=1e3)
CASES = [("sea", None), ("qbmove", None), ("bavs", None), ("awas2", 0.01)]
"""Law and, for the lever, the pivot that its drive holds."""


def free_model(pendulum, law, pivot, *, timestep=1e-3, integrator="rk4", gravity=9.81):
    """Model of undriven motors and a link, joined by springs, without damping or friction."""
    bounds = None if pivot is None else (0.5 * pivot, pivot)
    joint = CompliantJoint(law=law, mode=4, motor=FREE, preset_range=bounds)
    return compile_model(pendulum(joint, timestep=timestep, integrator=integrator, gravity=gravity))


def energies(model, law, pivot, motion):
    """Total energy along a motion, J: link, motors, springs, weight."""
    compliance, inertia = find_law(law)(), 0.2 * 0.04**2 + 1e-9
    q, dq = motion.position[:, 0], motion.velocity[:, 0]
    total = 0.5 * inertia * dq**2 - 0.2 * 0.04 * abs(model.opt.gravity[2]) * np.cos(q)
    motors = 1 if pivot is not None else compliance.law.motors
    theta2 = np.full_like(q, pivot) if pivot is not None else motion.act[:, 4 * (motors - 1)]
    states = [tuple(map(float, state)) for state in zip(q, motion.act[:, 0], theta2, strict=True)]
    loads = np.array([compliance.torques(*state) for state in states])
    push = 0.0 if int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_RK4) else model.opt.timestep
    for k in range(motors):
        total += 0.5 * FREE.inertia * mean_speed(motion.act[:, 4 * k + 1], loads[:, k], push, FREE.inertia) ** 2
    return total + [compliance.energy(*state) for state in states]


def release(model, pivot):
    """Data of the model with springs stretched and everything at rest."""
    data = mujoco.MjData(model)
    data.qpos[0] = 0.15
    data.act[0] = data.act[2] = 0.3
    if model.na == 8:
        data.act[4] = pivot if pivot is not None else 0.0
    return data


@pytest.mark.parametrize(("law", "pivot"), CASES)
@pytest.mark.slow
def test_undriven_motors_and_link_keep_their_energy_for_10_seconds(pendulum, simulate, law, pivot):
    timestep = 1e-3 if law == "qbmove" else 2.5e-4
    model = free_model(pendulum, law, pivot, timestep=timestep)
    control = (0.0, 0.0 if pivot is None else pivot)[: model.nu]
    motion = simulate(model, control, 10.0, release(model, pivot))
    energy = energies(model, law, pivot, motion)
    lowest = -0.2 * 0.04 * 9.81
    assert np.ptp(motion.position) > 0.1
    assert np.ptp(energy) / (energy[0] - lowest) < 1e-4


@pytest.mark.parametrize(("law", "pivot"), CASES)
def test_without_gravity_motors_and_link_together_keep_their_momentum(pendulum, simulate, law, pivot):
    """The spring pushes motor and link with opposite signs: Newton's third law."""
    model = free_model(pendulum, law, pivot, gravity=0.0, timestep=5e-4)
    control = (0.0, 0.0 if pivot is None else pivot)[: model.nu]
    motion = simulate(model, control, 1.0, release(model, pivot))
    motors = motion.act[:, 1] + (motion.act[:, 5] if model.na == 8 else 0.0)
    link = (0.2 * 0.04**2 + 1e-9) * motion.velocity[:, 0]
    momentum = link + FREE.inertia * motors
    assert np.max(np.abs(momentum)) < 1e-9 * max(np.max(np.abs(link)), 1e-3)


@pytest.mark.parametrize("integrator", ["euler", "implicitfast"])
@pytest.mark.parametrize(("law", "drift"), [("qbmove", 0.01), ("sea", 0.1)])
def test_single_step_integrators_keep_the_energy_within_a_few_per_cent(pendulum, simulate, law, drift, integrator):
    """20 s at 1 ms. A vibration at 28 Hz (SEA) gains 0.3 % a second where nothing damps it."""
    model = free_model(pendulum, law, None, integrator=integrator)
    motion = simulate(model, np.zeros(model.nu), 20.0, release(model, None))
    energy = energies(model, law, None, motion) + 0.2 * 0.04 * 9.81
    first, last = np.mean(energy[:4000]), np.mean(energy[-4000:])
    assert last == pytest.approx(first, rel=drift)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("frequency", [2.0, 10.0])
def test_friction_gives_back_no_more_than_its_bristle_holds(pendulum, simulate, integrator, frequency):
    static, bristle = 0.3, 1000.0
    motor = Motor(damping=0.0, static_friction=static, bristle_stiffness=bristle, speed_limit=1e3)
    joint = CompliantJoint(law="sea", mode=4, motor=motor)
    model = compile_model(pendulum(joint, integrator=integrator, gravity=0.0))

    def torque(t):
        return 4.0 * math.sin(2 * math.pi * frequency * t)

    motion = simulate(model, torque, 3.0)
    moved = np.diff(motion.act[:, 0], prepend=0.0)
    work = np.cumsum([torque(t - 5e-4) * d for t, d in zip(motion.time[:, 0], moved, strict=True)])
    spent = work - energies(model, "sea", None, motion)
    assert spent[-1] > 1.0
    given_back = np.max(np.maximum.accumulate(spent) - spent)
    assert given_back <= 0.5 * static**2 / bristle


def test_damping_and_friction_only_take_energy(pendulum, simulate):
    joint = CompliantJoint(law="qbmove", mode=4, motor=Motor(damping=0.01, static_friction=0.05))
    model = compile_model(pendulum(joint, integrator="rk4", damping=1e-4))
    motion = simulate(model, (0.0, 0.0), 5.0, release(model, None))
    bristles = sum(0.5 * 1000.0 * (motion.act[:, k] - motion.act[:, k + 2]) ** 2 for k in (0, 4))
    energy = energies(model, "qbmove", None, motion) + bristles
    assert np.max(np.diff(energy)) < 1e-11
    assert energy[-1] < energy[0] - 3e-4
