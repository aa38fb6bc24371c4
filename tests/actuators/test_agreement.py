"""The rig moves as an independent integration of the published equations says, in every mode.

The reference is SciPy's DOP853 at a relative tolerance of 1e-10, of equations written here from the paper. Smooth
references are held over each step at their value in its middle.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pliant.actuators import PID, CompliantJoint, Motor, compile_model

MASS, ARM, GRAVITY = 0.2, 0.04, 9.81
INERTIA = MASS * ARM**2 + 1e-9
DAMPING = 0.065
J, D, TORQUE_LIMIT = 0.0233, 0.2698, 6.0
KP, KI, KD = 125.0, 30.0, 4.5


def qbmove(q, theta1, theta2):
    d1, d2 = (min(max(q - theta, -0.8), 0.8) for theta in (theta1, theta2))
    return -0.0019 * math.sinh(8.9992 * d1), -0.0019 * math.sinh(8.9992 * d2)


def bavs(q, theta1, theta2):
    d1, d2 = (min(max(theta - q, -0.27), 0.27) for theta in (theta1, theta2))
    a, b, k, ke = 1.21e-6, 2.38e-6, 1.6e5, 8.71
    return (
        k * (b * math.exp(ke * d1) - a * math.exp(-ke * d1)),
        k * (a * math.exp(ke * d2) - b * math.exp(-ke * d2)),
    )


def sea(q, theta1, theta2):
    return -10.0 * min(max(q - theta1, -0.8), 0.8), 0.0


def awas2(q, theta1, sigma):
    d = min(max(q - theta1, -0.3), 0.3)
    return -20.0 * (0.05 / 0.015 * sigma / (0.05 - sigma)) ** 2 * math.sin(d) * math.cos(d), 0.0


LAWS = {"qbmove": qbmove, "bavs": bavs, "sea": sea, "awas2": awas2}


def jump_and_sine(t):
    """A step of 0.3 rad on which a sine of 0.3 rad sets out with up to 1.5 rad/s."""
    return 0.3 + 0.3 * math.sin(5.0 * t)


def slow_sine(t):
    """The sine of the paper's experiments."""
    return 0.8 * math.sin(0.8 * t)


def references(law, mode, first):
    """The two references as functions of time, from the equilibrium `first`."""
    preset = {"qbmove": 0.2, "bavs": 0.1, "sea": 0.0, "awas2": 0.005}[law]
    if mode == 4:
        return lambda t: (0.5 * first(t), preset if law == "awas2" else -0.1 * first(t))
    if mode in (2, 5) and law in ("qbmove", "bavs"):
        return lambda t: (first(t) + preset, first(t) - preset)
    return lambda t: (first(t), preset * (1.0 + 0.2 * math.sin(3.0 * t)))


@cache
def expected(law, mode, first, duration, timestep=1e-3, weight=0.0):
    """Link angles after every time step; `weight` is that of the reference's speed in the PID's derivative."""
    spring, given, pivot = LAWS[law], references(law, mode, first), law == "awas2"

    def control(t):
        c1, c2 = given(t)
        return (c1 + c2, c1 - c2) if mode in (3, 6) and law in ("qbmove", "bavs") else (c1, c2)

    def rates(t, x):
        q, dq = x[:2]
        c1, c2 = control(t)
        speeds = np.subtract(control(t + 1e-6), control(t - 1e-6)) / 2e-6
        springs = spring(q, c1, c2) if mode < 4 else spring(q, x[2], x[5])
        motors = []
        for k, c in enumerate((c1, c2)[: 0 if mode < 4 else 2]):
            theta, omega, z = x[2 + 3 * k : 5 + 3 * k]
            if k == 1 and pivot:  # a first-order lag of 50 ms, at most 0.1 m/s
                motors += [min(max((c - theta) / 0.05, -0.1), 0.1), 0.0, 0.0]
                continue
            torque = c if mode == 4 else KP * (c - theta) + z + KD * (weight * speeds[k] - omega)
            torque = min(max(torque, -TORQUE_LIMIT), TORQUE_LIMIT)
            integral = 0.0 if mode == 4 else KI * (c - theta)
            motors += [omega, (torque - D * omega - springs[k]) / J, integral]
        gravity = MASS * GRAVITY * ARM * math.sin(q)
        return [dq, (sum(springs) - gravity - DAMPING * dq) / INERTIA, *motors]

    times = np.arange(1, round(duration / timestep) + 1) * timestep
    start = [0.0] * (2 if mode < 4 else 8)
    solution = solve_ivp(rates, (0.0, times[-1]), start, "DOP853", times, rtol=1e-10, atol=1e-12)
    assert solution.success
    return solution.y[0]


@pytest.fixture
def error(pendulum, simulate):
    """Return a function that gives the largest difference of the link angle from the reference, rad."""

    def largest(law, mode, first, duration, *, integrator="euler", timestep=1e-3, weight=0.0):
        pid = PID(ki=KI, derivative_weight=weight, derivative_filter=0.0)
        joint = CompliantJoint(
            law=law, mode=mode, motor=Motor(static_friction=0.0, speed_limit=1e3), pid=pid,
            preset_range=(0.001, 0.01) if law == "awas2" else None,
        )  # fmt: skip
        model = compile_model(pendulum(joint, damping=DAMPING, integrator=integrator, timestep=timestep))
        control = references(law, mode, first)
        motion = simulate(model, lambda t: control(t)[: model.nu], duration)
        reference = expected(law, mode, first, duration, timestep, weight)
        assert np.ptp(reference) > 0.05
        return np.max(np.abs(motion.position[:, 0] - reference))

    return largest


@pytest.mark.parametrize("mode", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("law", ["qbmove", "bavs", "sea", "awas2"])
def test_with_rk4_at_1_ms_a_jump_and_a_fast_sine_agree(error, law, mode):
    assert error(law, mode, jump_and_sine, 1.0, integrator="rk4") < 5e-5


@pytest.mark.parametrize("integrator", ["euler", "implicit", "implicitfast", "discrete"])
@pytest.mark.parametrize("mode", [2, 3, 4, 5, 6])
def test_with_single_step_integrators_at_1_ms_the_papers_sine_agrees(error, mode, integrator):
    assert error("qbmove", mode, slow_sine, 2.5, integrator=integrator) < 3e-4


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("mode", [5, 6])
def test_the_derivative_of_the_error_agrees_to_first_order(error, mode, integrator):
    """The speed of the reference is that of its last change, which is half a step late (under RK4 a bit more)."""
    errors = [
        error("qbmove", mode, slow_sine, 1.0, integrator=integrator, timestep=step, weight=1.0)
        for step in (2e-3, 1e-3, 5e-4)
    ]
    assert errors[1] < 3e-4
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.3)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.3)


@pytest.mark.parametrize("mode", [5, 6])
def test_a_jump_that_the_motors_smooth_agrees_at_1_ms(error, mode):
    assert error("qbmove", mode, jump_and_sine, 1.0) < 1e-3


def test_a_jump_straight_into_the_spring_agrees_to_first_order(error):
    """MuJoCo's single-step integrators are of first order: on such a jump RK4 is 600 times closer at 1 ms."""
    errors = [error("sea", 3, jump_and_sine, 0.5, timestep=step) for step in (1e-3, 5e-4, 2.5e-4)]
    assert errors[0] < 8e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.1)


def test_motor_friction_agrees_with_its_definition_integrated_at_10_microseconds(pendulum, simulate):
    """Dahl friction as Hayward & Armstrong state it, on a motor that turns round four times a second."""
    static, bristle, step = 0.2, 1000.0, 1e-5
    q, dq, theta, omega, anchor, reference = 0.0, 0.0, 0.0, 0.0, 0.0, []
    for k in range(100_000):
        target = 0.3 * math.sin(8 * math.pi * (k + 0.5) * step)
        spring = sea(q, theta, 0.0)[0]
        weight = MASS * GRAVITY * ARM * math.sin(q)
        if theta - anchor < -static / bristle:
            anchor = theta + static / bristle
        elif theta - anchor > static / bristle:
            anchor = theta - static / bristle
        torque = min(max(KP * (target - theta) - KD * omega, -TORQUE_LIMIT), TORQUE_LIMIT)
        omega += step * (torque - D * omega - bristle * (theta - anchor) - spring) / J
        dq += step * (spring - weight - DAMPING * dq) / INERTIA
        theta, q = theta + step * omega, q + step * dq
        if k % 100 == 99:
            reference.append(q)
    joint = CompliantJoint(
        law="sea", mode=5, motor=Motor(static_friction=static, speed_limit=1e3), pid=PID(derivative_weight=0.0)
    )
    for integrator, bound in (("euler", 1e-3), ("rk4", 1e-4)):
        model = compile_model(pendulum(joint, damping=DAMPING, integrator=integrator))
        motion = simulate(model, lambda t: 0.3 * math.sin(8 * math.pi * t), 1.0)
        assert np.max(np.abs(motion.position[:, 0] - reference)) < bound, integrator


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_constant_torque_accelerates_the_rigid_link_uniformly(pendulum, simulate, integrator):
    model = compile_model(pendulum(CompliantJoint(law="rigid", mode=0), gravity=0.0, integrator=integrator))
    motion = simulate(model, 1e-4, 2.0)
    t = motion.time[:, 0]
    late = model.opt.timestep if integrator == "euler" else 0.0  # semi-implicit: the speed acts a step early
    assert motion.position[:, 0] == pytest.approx(1e-4 / (2 * INERTIA) * t * (t + late), rel=1e-9)


def test_the_rigid_link_follows_its_pid_as_a_damped_oscillator(pendulum, simulate):
    pid = PID(kp=0.8, kd=0.2, derivative_weight=0.0)  # on the error, the jump would kick it
    joint = CompliantJoint(law="rigid", mode=1, pid=pid)
    spec = pendulum(joint, gravity=0.0, armature=0.05, integrator="rk4")
    motion = simulate(compile_model(spec), 0.7, 3.0)
    inertia, t = 0.05 + INERTIA, motion.time[:, 0]
    decay = 0.2 / (2 * inertia)
    omega = math.sqrt(0.8 / inertia - decay**2)
    analytic = 0.7 * (1 - np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t)))
    assert motion.position[:, 0] == pytest.approx(analytic, abs=1e-9)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_motor_at_its_speed_limit_turns_uniformly(pendulum, simulate, integrator):
    joint = CompliantJoint(law="sea", mode=5, motor=Motor(speed_limit=2.0))
    model = compile_model(pendulum(joint, damping=DAMPING, integrator=integrator))
    motion = simulate(model, 3.0, 1.0)
    speed = np.diff(motion.act[:, 0]) / model.opt.timestep
    assert np.max(np.abs(speed)) <= 2.0 + 1e-9
    assert speed[200:900] == pytest.approx(2.0, abs=1e-9)
