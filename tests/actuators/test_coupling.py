"""Link and motor get the same impulses from their spring: momentum to rounding, energy for ever, second order."""

import math

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from pliant.actuators import (
    PID,
    CompliantJoint,
    JointReader,
    Motor,
    StabilityError,
    compile_model,
    compliant_joints,
    find_law,
    stability_margin,
)
from pliant.actuators.layout import SIGNALS
from pliant.actuators.motor import mean_speed

INERTIA = 0.2 * 0.04**2 + 1e-9
FREE = Motor(damping=0.0, static_friction=0.0, speed_limit=1e3, torque_limit=1e3)
SINGLE_STEPS = ("euler", "implicit", "implicitfast", "discrete")


def undriven(pendulum, k, timestep, integrator="euler", motor=FREE):
    """A link and its motor on a spring of stiffness k, nothing else, swung by 0.1 rad."""
    joint = CompliantJoint(law=find_law("sea")(k=k), mode=4, motor=motor)
    model = compile_model(pendulum(joint, timestep=timestep, integrator=integrator, gravity=0.0))
    data = mujoco.MjData(model)
    data.qpos[0], data.act[0], data.act[2] = 0.15, 0.05, 0.05
    return model, data


@pytest.mark.parametrize("integrator", SINGLE_STEPS)
@pytest.mark.parametrize(("k", "timestep"), [(200.0, 5e-4), (200.0, 1e-3), (400.0, 5e-4), (400.0, 1e-3)])
def test_an_undriven_pair_keeps_momentum_to_rounding_and_energy_for_ten_seconds(
    pendulum, simulate, k, timestep, integrator
):
    model, data = undriven(pendulum, k, timestep, integrator)
    motion = simulate(model, 0.0, 10.0, data)
    link, motor = INERTIA * motion.velocity[:, 0], FREE.inertia * motion.act[:, 1]
    assert np.max(np.abs(link + motor)) < 1e-12 * np.max(np.abs(link))
    energy = leapfrog_energy(motion.position[:, 0], motion.velocity[:, 0], motion.act, k, timestep)
    assert np.max(np.abs(energy / energy[0] - 1)) < 1e-9


def leapfrog_energy(q, dq, act, k, timestep):
    """The energy that a leapfrog keeps exactly: of the speeds between two times and the product of deflections."""
    deflection = q - act[:, 0]
    kinetic = 0.5 * INERTIA * dq[1:] ** 2 + 0.5 * FREE.inertia * act[1:, 1] ** 2
    return kinetic + 0.5 * k * deflection[1:] * deflection[:-1]


@pytest.mark.parametrize("inertia", [1e-4, 1e-3, 0.0233])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_at_every_accepted_step_the_swing_of_an_undriven_pair_neither_grows_nor_fades(
    pendulum, simulate, share, inertia
):
    motor = Motor(**{**vars(FREE), "inertia": inertia})
    bound = 2 / math.sqrt(400.0 * (1 / INERTIA + 1 / inertia))
    model, data = undriven(pendulum, 400.0, share * bound, motor=motor)
    margin = stability_margin(model, [(j.name, j.description, j.joint) for j in compliant_joints(model)])
    assert margin.largest_step == pytest.approx(bound, rel=1e-4)
    motion = simulate(model, 0.0, 20_000 * share * bound, data)
    deflection = motion.position[:, 0] - motion.act[:, 0]
    early, late = np.max(np.abs(deflection[:4000])), np.max(np.abs(deflection[-4000:]))
    assert late == pytest.approx(early, rel=1e-3)


def test_just_above_the_bound_it_is_refused_and_would_grow(pendulum, simulate):
    bound = 2 / math.sqrt(400.0 * (1 / INERTIA + 1 / FREE.inertia))
    joint = CompliantJoint(law=find_law("sea")(k=400.0), mode=4, motor=FREE)
    with pytest.raises(StabilityError, match="heavier motor"):
        compile_model(pendulum(joint, timestep=1.01 * bound, gravity=0.0))
    model = compile_model(pendulum(joint, timestep=1.01 * bound, gravity=0.0), check=False)
    data = mujoco.MjData(model)
    data.qpos[0] = 1e-6
    assert np.max(np.abs(simulate(model, 0.0, 2.0, data).position)) > 0.1


def smooth(t):
    """A sine of 3 Hz."""
    return 0.3 * math.sin(6 * math.pi * t)


def chirp(t):
    """From 0.5 to 6 Hz in 2 s."""
    return 0.15 * math.sin(2 * math.pi * (0.5 * t + 0.5 * 2.75 * t * t))


def expected(reference, timestep, duration=2.0):
    """Link angles of a SEA of 200 N·m/rad behind the default motor with its PID, by SciPy, from the equations."""
    inertia, damping, kp, kd, k = 0.0233, 0.2698, 125.0, 4.5, 200.0

    def rates(t, x):
        q, dq, theta, omega = x
        spring = -k * (q - theta)
        torque = min(max(kp * (reference(t) - theta) - kd * omega, -6.0), 6.0)
        weight = 0.2 * 9.81 * 0.04 * math.sin(q)
        return [dq, (spring - weight - 0.065 * dq) / INERTIA, omega, (torque - damping * omega - spring) / inertia]

    times = np.arange(1, round(duration / timestep) + 1) * timestep
    return solve_ivp(rates, (0.0, times[-1]), [0.0] * 4, "DOP853", times, rtol=1e-10, atol=1e-12).y[0]


@pytest.mark.parametrize(
    ("reference", "bound"),
    [(smooth, 1.5e-4), (chirp, 1.5e-4), (lambda t: 0.3, 4e-4)],
    ids=["sine", "chirp", "step"],
)
def test_through_its_motor_a_link_is_this_close_to_an_independent_integration_at_2_ms(
    pendulum, simulate, reference, bound
):
    pid = PID(derivative_weight=0.0)
    joint = CompliantJoint(
        law=find_law("sea")(k=200.0), mode=5, motor=Motor(static_friction=0.0, speed_limit=1e3), pid=pid
    )
    errors = []
    for timestep in (2e-3, 1e-3):
        model = compile_model(pendulum(joint, timestep=timestep, damping=0.065))
        motion = simulate(model, reference, 2.0)
        errors.append(np.max(np.abs(motion.position[:, 0] - expected(reference, timestep))))
    assert errors[0] < bound
    assert errors[0] > 2.0 * errors[1], "better than first order"


@pytest.mark.parametrize("mode", [4, 5, 6])
@pytest.mark.parametrize("integrator", SINGLE_STEPS)
def test_what_rests_stays_at_rest_and_is_read_so(pendulum, integrator, mode):
    """Between two pushes of its spring a motor that rests moves to and fro; what is read does not."""
    joint = CompliantJoint(law=find_law("sea")(k=200.0), mode=mode)
    model = compile_model(pendulum(joint, timestep=1e-3, integrator=integrator))
    q = 0.5
    load = 0.2 * 9.81 * 0.04 * math.sin(q)
    theta = q + load / 200.0
    command = load if mode == 4 else theta + load / 125.0
    (drive,) = joint.drives
    data = mujoco.MjData(model)
    data.qpos[0], data.ctrl[0] = q, command
    state = drive.resting(theta, command, load, 1e-3)
    data.act[: len(state)] = state
    reader = JointReader(model, data, compliant_joints(model))
    for _ in range(1000):
        mujoco.mj_step(model, data)
    read = dict(zip(SIGNALS, reader.read()[0], strict=True))
    assert data.qpos[0] == pytest.approx(q, abs=1e-12)
    assert read["motor_position1"] == pytest.approx(theta, abs=1e-12)
    assert read["motor_velocity1"] == pytest.approx(0.0, abs=1e-12)
    assert read["motor_torque1"] == pytest.approx(load, rel=1e-9)
    assert data.act[1] == pytest.approx(-mean_speed(0.0, load, 1e-3, 0.0233), rel=1e-9)


class TestImplicitStiffness:
    """Of a stiff joint with motors, both sides are implicit, each in view of the other."""

    @staticmethod
    def release(pendulum, timestep, implicit, damping):
        joint = CompliantJoint(law="awas2", mode=6, preset=0.04, implicit=implicit)
        integrator = "discrete" if implicit else "euler"
        spec = pendulum(joint, timestep=timestep, integrator=integrator, damping=damping, gravity=0.0)
        model = compile_model(spec)
        data = mujoco.MjData(model)
        data.qpos[0], data.ctrl[1] = 0.05, 0.04
        data.act[joint.state_sizes[0]] = 0.04
        reader = JointReader(model, data, compliant_joints(model))
        signals = []
        for _ in range(round(0.3 / timestep)):
            mujoco.mj_step(model, data)
            signals.append(reader.read()[0].copy())
        return np.array(signals)

    @pytest.mark.parametrize("timestep", [1e-3, 2e-3, 4e-3])
    @pytest.mark.parametrize("damping", [0.0, 0.065])
    def test_a_released_link_moves_its_motor_no_more_than_it_does(self, pendulum, timestep, damping):
        angle, speed = SIGNALS.index("motor_position1"), SIGNALS.index("motor_velocity1")
        truth = self.release(pendulum, 1e-5, False, damping)
        ours = self.release(pendulum, timestep, True, damping)
        for signal in (angle, speed):  # the link's 530 Hz, which such steps cannot show, are damped
            moves, moved = np.max(np.abs(ours[:, signal])), np.max(np.abs(truth[:, signal]))
            assert moves <= 1.05 * moved
        assert np.max(np.abs(ours[:, angle])) > 0.3 * np.max(np.abs(truth[:, angle]))
        assert np.max(np.abs(ours[-10:, 0])) < 1e-3

    @pytest.mark.parametrize(
        ("reference", "bound"),
        [(smooth, 5e-4), (chirp, 5e-4), (lambda t: 0.1, 5e-4)],
        ids=["sine", "chirp", "step"],
    )
    def test_at_2_ms_it_is_this_close_to_an_explicit_one_at_10_microseconds(self, pendulum, reference, bound):
        angles = []
        for timestep, implicit, integrator in ((1e-5, False, "euler"), (2e-3, True, "discrete")):
            joint = CompliantJoint(
                law="awas2", mode=6, preset=0.04, implicit=implicit, pid=PID(derivative_weight=0.0)
            )
            model = compile_model(pendulum(joint, damping=0.065, timestep=timestep, integrator=integrator))
            data = mujoco.MjData(model)
            data.act[joint.state_sizes[0]] = 0.04
            angles.append([])
            for k in range(1000):
                data.ctrl[:] = reference((k + 0.5) * 2e-3), 0.04
                mujoco.mj_step(model, data, nstep=round(2e-3 / timestep))
                angles[-1].append(data.qpos[0])
        assert np.max(np.abs(np.subtract(*angles))) < bound
