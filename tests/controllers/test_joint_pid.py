import time

import numpy as np
import pytest

from pliant.controllers import MinimumJerk, Recorded, Sine, Step
from pliant.controllers.joint_pid import ComputedTorque, JointPID
from pliant.controllers.two_link import TwoLinkArm
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError
from pliant.hardware.robot import State

ARM = TwoLinkArm()
LYING = TwoLinkArm(gravity=0.0)
REST = np.array([-np.pi / 2, 0.0])
GOAL = np.array([0.4, 0.9])
KP, KD = np.array([150.0, 60.0]), np.array([60.0, 20.0])
NONE = np.zeros(0)
PERIOD = 4e-3


def read(position, velocity=(0.0, 0.0)):
    """Return what a robot that measures angles and speeds alone would be read as."""
    q, dq = np.array(position, dtype=float), np.array(velocity, dtype=float)
    unknown = np.full_like(q, np.nan)
    return State(0.0, q, dq, unknown, unknown, NONE, NONE, NONE, NONE, unknown)


def run(controller, arm, q, duration, period=PERIOD):
    """Drive the pure dynamics from rest at `q`, torques held over a period; return angles and speeds, (n, 2)."""
    q, dq = np.array(q, dtype=float), np.zeros(2)
    controller.reset(read(q))
    positions, velocities = [q], [dq]
    for k in range(round(duration / period)):
        torque = controller.update(read(q, dq), k * period)
        half = dq + 0.5 * period * arm.forward_dynamics(q, dq, torque)  # midpoint rule
        ddq = arm.forward_dynamics(q + 0.5 * period * dq, half, torque)
        q, dq = q + period * half, dq + period * ddq
        positions.append(q)
        velocities.append(dq)
    return np.array(positions), np.array(velocities)


def hold(goal, duration=10.0):
    return Step(goal, goal, 0.0, duration)


def test_without_compensation_the_arm_rests_where_the_springs_carry_its_weight():
    q, dq = run(JointPID(hold(GOAL), KP, KD), ARM, REST, 6.0)
    np.testing.assert_allclose(dq[-1], 0.0, atol=1e-6)
    np.testing.assert_allclose(GOAL - q[-1], ARM.gravity_torque(q[-1]) / KP, rtol=1e-5)
    assert np.abs(GOAL - q[-1]).max() > 0.05


def test_with_gravity_compensation_it_rests_at_its_goal():
    q, _ = run(JointPID(hold(GOAL), KP, KD, gravity=ARM.gravity_torque), ARM, REST, 6.0)
    np.testing.assert_allclose(q[-1], GOAL, atol=1e-6)


def test_without_gravity_it_rests_at_its_goal_uncompensated():
    q, _ = run(JointPID(hold(GOAL), KP, KD), LYING, REST, 6.0)
    np.testing.assert_allclose(q[-1], GOAL, atol=1e-6)


def test_the_integral_brings_it_to_its_goal_uncompensated():
    q, _ = run(JointPID(hold(GOAL), KP, KD, ki=[150.0, 60.0], integral_limit=40.0), ARM, REST, 10.0)
    np.testing.assert_allclose(q[-1], GOAL, atol=1e-4)


def test_an_integral_limited_below_the_weight_leaves_what_it_cannot_carry():
    limit = np.array([4.0, 1.0])
    q, _ = run(JointPID(hold(GOAL), KP, KD, ki=[150.0, 60.0], integral_limit=limit), ARM, REST, 6.0)
    weight = ARM.gravity_torque(q[-1])
    assert (weight > limit).all()
    np.testing.assert_allclose(KP * (GOAL - q[-1]), weight - limit, rtol=1e-4)


@pytest.mark.parametrize("limit", [0.0, 2.5])
def test_the_integral_of_a_joint_that_is_held_stops_at_its_limit_and_comes_back_at_once(limit):
    pid = JointPID(hold([0.0]), 0.0, 0.0, ki=10.0, integral_limit=limit)
    held = [pid.update(read([-1.0], [0.0]), 0.1 * k)[0] for k in range(100)]
    np.testing.assert_allclose(held, np.minimum(np.arange(100) * 1.0, limit))
    assert pid.update(read([1.0], [0.0]), 10.0)[0] == pytest.approx(max(limit - 1.0, -limit))


def test_a_torque_is_the_sum_of_its_terms():
    pid = JointPID(Sine([0.3, 0.2], 2.0, 0.1, 5.0), KP, KD, ki=[3.0, 5.0], gravity=ARM.gravity_torque)
    q, dq = np.array([0.2, 0.3]), np.array([-0.4, 0.7])
    e = [pid.trajectory.position(t) - q for t in (0.5, 0.7)]
    de = pid.trajectory.velocity(0.7) - dq
    np.testing.assert_array_equal(
        pid.update(read(q), 0.5), KP * e[0] + KD * pid.trajectory.velocity(0.5) + ARM.gravity_torque(q)
    )
    integral = np.array([3.0, 5.0]) * e[1] * (0.7 - 0.5)
    np.testing.assert_allclose(
        pid.update(read(q, dq), 0.7), KP * e[1] + integral + KD * de + ARM.gravity_torque(q)
    )


def test_a_step_of_the_reference_causes_no_derivative_kick():
    pid = JointPID(Step([0.0, 0.0], GOAL, 1.0, 2.0), KP, KD)
    before, after = (pid.update(read([0.1, 0.2], [1.0, -1.0]), t) for t in (0.999, 1.0))
    np.testing.assert_allclose(after - before, KP * GOAL)


def test_a_move_at_constant_speed_is_not_dragged_behind():
    ramp = Recorded([0.0, 4.0], [[-1.5, 0.3], [0.5, 0.3]])  # the elbow stiffly still: no Coriolis torques
    gravity = ARM.gravity_torque
    q, _ = run(JointPID(ramp, KP, KD, gravity=gravity), ARM, [-1.5, 0.3], 3.9)
    np.testing.assert_allclose(q[-1], ramp.position(3.9), atol=2e-3)
    assert KD[0] / KP[0] * 0.5 > 0.1  # how far damping against the ground would hold it back


def test_a_smooth_move_is_followed():
    move = MinimumJerk(REST, GOAL, 2.0)
    q, _ = run(JointPID(move, KP, KD, gravity=ARM.gravity_torque), ARM, REST, 3.0)
    assert np.abs(q - move.position(PERIOD * np.arange(len(q)))).max() < 0.1
    np.testing.assert_allclose(q[-1], GOAL, atol=1e-2)


def test_computed_torque_makes_every_error_decay_alike():
    omega = 8.0
    move = MinimumJerk(REST, GOAL, 1.5)
    offset = np.array([0.3, -0.2])
    controller = ComputedTorque(JointPID(move, omega**2, 2.0 * omega), ARM.inverse_dynamics)
    q, _ = run(controller, ARM, REST + offset, 1.5)
    t = PERIOD * np.arange(len(q))
    critical = ((1.0 + omega * t) * np.exp(-omega * t))[:, None] * offset
    np.testing.assert_allclose(q - move.position(t), critical, atol=5e-3)


def test_computed_torque_knows_the_acceleration_up_to_both_ends():
    sine = Sine([0.3, 0.2], 2.0, 0.1, 5.0)
    controller = ComputedTorque(JointPID(sine, 0.0, 0.0), lambda q, dq, ddq: ddq)
    for t in (0.0, 0.4, 2.3, 5.0):
        wanted = -4.0 * (sine.position(t) - 0.1)
        np.testing.assert_allclose(controller.update(read(sine.position(t)), t), wanted, atol=3e-3)
    np.testing.assert_array_equal(controller.update(read([0.0, 0.0]), 6.0), 0.0)


def test_it_repeats_itself_after_a_reset():
    for controller in (
        JointPID(hold(GOAL), KP, KD, ki=5.0),
        ComputedTorque(JointPID(hold(GOAL), 9.0, 6.0, ki=5.0), ARM.inverse_dynamics),
    ):
        runs = []
        for _ in range(2):
            controller.reset(read(REST))
            runs.append([controller.update(read(REST + 0.1 * k), 0.01 * k) for k in range(5)])
        np.testing.assert_array_equal(*runs)
        assert np.ptp(runs[0], axis=0).min() > 0.0


def test_the_integral_goes_by_the_time_that_has_passed_not_by_the_calls():
    torques = []
    for times in (np.linspace(0.0, 1.0, 101), [0.0, 1.0], [0.0, 0.3, 0.3, 1.0]):
        pid = JointPID(hold(GOAL), 0.0, 0.0, ki=7.0)
        torques.append([pid.update(read(REST), t) for t in times][-1])
    np.testing.assert_allclose(torques, [7.0 * (GOAL - REST)] * 3)


def test_a_thousand_updates_take_less_than_a_second():
    pid = JointPID(MinimumJerk(REST, GOAL, 1.0), KP, KD, ki=1.0, gravity=ARM.gravity_torque)
    state = read(REST)
    began = time.process_time()
    for k in range(1000):
        pid.update(state, 1e-3 * k)
    assert time.process_time() - began < 1.0


def test_time_that_goes_back_needs_a_reset():
    pid = JointPID(hold(GOAL), KP, KD)
    pid.update(read(REST), 1.0)
    with pytest.raises(OutOfBoundsError, match=r"time went back from 1 s to 0\.5 s; reset"):
        pid.update(read(REST), 0.5)
    pid.reset(read(REST))
    pid.update(read(REST), 0.5)


@pytest.mark.parametrize(
    ("state", "t", "error", "message"),
    [
        (read([0.0, np.nan]), 0.0, OutOfBoundsError, r"measured position\[1\] is nan"),
        (read([0.0, 0.0], [np.inf, 0.0]), 0.0, OutOfBoundsError, r"measured velocity\[0\] is inf"),
        (read([0.0], [0.0]), 0.0, ShapeError, r"measured position has shape \(1,\); \(2\) is needed"),
        (read(REST), np.nan, OutOfBoundsError, "time is nan"),
    ],
)
def test_a_state_or_time_that_is_no_use_is_refused_and_changes_nothing(state, t, error, message):
    pid, untouched = (JointPID(hold(GOAL), KP, KD, ki=1.0) for _ in range(2))
    pid.update(read(REST), 0.0)
    untouched.update(read(REST), 0.0)
    with pytest.raises(error, match=message):
        pid.update(state, t)
    np.testing.assert_array_equal(pid.update(read(REST), 0.1), untouched.update(read(REST), 0.1))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: JointPID(hold(GOAL), [1.0, 2.0, 3.0], 1.0), ShapeError, r"kp has shape \(3,\); \(\) or \(2,\)"),
        (lambda: JointPID(hold(GOAL), 1.0, -1.0), OutOfBoundsError, "JointPID kd has the entry -1"),
        (lambda: JointPID(hold(GOAL), [1.0, np.nan], 1.0), OutOfBoundsError, r"JointPID kp\[1\] is nan"),
        (lambda: JointPID(hold(GOAL), 1.0, 1.0, ki=np.inf), OutOfBoundsError, "JointPID ki is inf"),
        (lambda: JointPID(hold(GOAL), 1.0, 1.0, integral_limit=np.nan), OutOfBoundsError, "integral_limit"),
        (lambda: JointPID(hold(GOAL), "stiff", 1.0), ShapeError, "JointPID kp is not an array of numbers"),
        (
            lambda: ComputedTorque(
                JointPID(hold(GOAL), 1.0, 1.0, gravity=ARM.gravity_torque), ARM.inverse_dynamics
            ),
            ConfigurationError,
            "hold gravity already",
        ),
        (
            lambda: ComputedTorque(JointPID(hold(GOAL), 1.0, 1.0), ARM.inverse_dynamics, step=0.0),
            OutOfBoundsError,
            "ComputedTorque step is 0 s",
        ),
    ],
)
def test_wrong_settings_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_compensation_of_the_wrong_shape_or_without_a_value_is_refused():
    with pytest.raises(ShapeError, match="gravity compensation has shape"):
        JointPID(hold(GOAL), KP, KD, gravity=lambda q: q[:1]).update(read(REST), 0.0)
    with pytest.raises(OutOfBoundsError, match=r"gravity compensation\[0\] is nan"):
        JointPID(hold(GOAL), KP, KD, gravity=lambda q: q * np.nan).update(read(REST), 0.0)
    with pytest.raises(ShapeError, match="inverse dynamics has shape"):
        ComputedTorque(JointPID(hold(GOAL), KP, KD), lambda q, dq, ddq: 1.0).update(read(REST), 0.0)
