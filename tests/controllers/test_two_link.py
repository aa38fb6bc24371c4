from dataclasses import FrozenInstanceError

import mujoco
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pliant.controllers.two_link import TwoLinkArm
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError

UNIT = TwoLinkArm()
UNEQUAL = TwoLinkArm(l1=0.7, l2=0.4, m1=1.5, m2=0.6)
LYING = TwoLinkArm(gravity=0.0)

lengths = st.floats(0.05, 3.0)
arms = st.builds(TwoLinkArm, lengths, lengths, lengths, lengths, st.floats(0.0, 20.0))
angles = st.tuples(st.floats(-7.0, 7.0), st.floats(-7.0, 7.0)).map(np.array)
speeds = st.tuples(st.floats(-5.0, 5.0), st.floats(-5.0, 5.0)).map(np.array)


def slope(function, q, direction, h=1e-6):
    """Return the derivative of a function of q along a direction."""
    return (function(q + h * direction) - function(q - h * direction)) / (2.0 * h)


def test_the_angles_count_from_the_horizontal_counter_clockwise():
    up = np.pi / 2
    q = [[0.0, 0.0], [up, 0.0], [-up, 0.0], [0.0, up], [up, -up], [0.0, np.pi]]
    tips = [[1.1, 0.0], [0.0, 1.1], [0.0, -1.1], [0.7, 0.4], [0.4, 0.7], [0.3, 0.0]]
    np.testing.assert_allclose(UNEQUAL.forward_kinematics(q), tips, atol=1e-15)


@given(arms, angles)
def test_the_jacobian_is_the_derivative_of_the_tip(arm, q):
    columns = [slope(arm.forward_kinematics, q, axis) for axis in np.eye(2)]
    np.testing.assert_allclose(arm.jacobian(q), np.stack(columns, axis=-1), atol=1e-8)
    assert np.linalg.det(arm.jacobian(q)) == pytest.approx(arm.l1 * arm.l2 * np.sin(q[1]), abs=1e-12)


@given(arms, st.floats(-np.pi, np.pi), st.floats(0.0, 1.0), st.sampled_from(["up", "down"]))
def test_the_inverse_kinematics_puts_the_tip_on_its_target(arm, bearing, share, elbow):
    near, far = arm.reach
    target = (near + share * (far - near)) * np.array([np.cos(bearing), np.sin(bearing)])
    q = arm.inverse_kinematics(target, elbow=elbow)
    np.testing.assert_allclose(arm.forward_kinematics(q), target, atol=1e-12 * far)
    assert (np.abs(q) <= np.pi + 1e-15).all()
    assert q[1] <= 0.0 if elbow == "up" else q[1] >= 0.0


@given(arms, angles)
def test_the_inverse_kinematics_finds_the_configuration_it_started_from(arm, q):
    assume(abs(np.sin(q[1])) > 1e-2)
    tip = arm.forward_kinematics(q)
    assume(np.linalg.norm(tip) > 1e-2 * arm.reach[1])
    np.testing.assert_allclose(arm.inverse_kinematics(tip, q), q, atol=1e-9)
    elbow = "up" if np.sin(q[1]) < 0.0 else "down"
    np.testing.assert_allclose(arm.inverse_kinematics(tip, q, elbow), q, atol=1e-9)
    turns = (arm.inverse_kinematics(tip, elbow=elbow) - q) / (2.0 * np.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-9)


@given(arms, angles, angles)
def test_nearest_is_the_nearer_of_both_elbows_and_no_turn_away(arm, near, q):
    tip = arm.forward_kinematics(q)
    found = [arm.inverse_kinematics(tip, near, elbow) for elbow in ("nearest", "up", "down")]
    nearest, up, down = np.linalg.norm(np.subtract(found, near), axis=-1)
    assert nearest == min(up, down)
    assert (np.abs(np.subtract(found, near)) <= np.pi + 1e-12).all()


def test_the_raised_elbow_is_above_the_line_to_the_tip():
    shank = TwoLinkArm(l1=0.7, l2=1e-9)
    elbow_up, elbow_down = (
        shank.forward_kinematics(UNEQUAL.inverse_kinematics([0.8, 0.2], elbow=elbow) * [1.0, 0.0])
        for elbow in ("up", "down")
    )
    line = elbow_up[0] * 0.25, elbow_down[0] * 0.25  # height of the line from the shoulder, there
    assert elbow_up[1] > line[0] + 0.05
    assert elbow_down[1] < line[1] - 0.05


def test_the_edges_of_the_reach_are_reached_despite_rounding():
    for arm in (UNIT, UNEQUAL, TwoLinkArm(l1=0.1, l2=0.2)):
        for q in ([0.3, 0.0], [1.2, np.pi]):
            tip = arm.forward_kinematics(q)
            for push in (1.0 - 1e-12, 1.0 + 1e-12):
                found = arm.inverse_kinematics(tip * push, elbow="up")
                np.testing.assert_allclose(arm.forward_kinematics(found), tip, atol=1e-11)
    assert UNEQUAL.reach == pytest.approx((0.3, 1.1))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([1.0, 0.6], r"position = \(1, 0\.6\) m is too far: 1\.16619 m .* reaches from 0\.3 to 1\.1 m"),
        ([0.1, 0.0], r"position = \(0\.1, 0\) m is too near: 0\.1 m .* reaches from 0\.3 to 1\.1 m"),
        ([[0.5, 0.5], [0.0, 0.0]], r"position\[1\] = \(0, 0\) m is too near: 0 m"),
        ([0.0, -0.29999], r"too near: 0\.29999 m"),
        ([0.0, -1.10001], r"too far: 1\.10001 m"),
    ],
)
def test_a_target_out_of_reach_is_refused_with_its_distance_and_the_reach(target, message):
    with pytest.raises(OutOfBoundsError, match=message):
        UNEQUAL.inverse_kinematics(target, elbow="down")


@given(arms, angles, speeds)
def test_the_inverse_velocity_moves_the_tip_as_asked(arm, q, v):
    assume(abs(np.sin(q[1])) > 1e-3)
    dq = arm.inverse_velocity(q, v)
    np.testing.assert_allclose(arm.jacobian(q) @ dq, v, atol=1e-9)


def test_a_straight_or_folded_arm_cannot_be_told_a_velocity_but_rest():
    for bend in (0.0, np.pi, -np.pi, 1e-7):
        with pytest.raises(OutOfBoundsError, match=r"q\[1\] = .* rad is singular .* at \(0, 0\.1\) m/s"):
            UNIT.inverse_velocity([[0.4, 1.0], [0.4, bend]], [0.0, 0.1])
        np.testing.assert_array_equal(UNIT.inverse_velocity([0.4, bend], [0.0, 0.0]), 0.0)


@given(arms, angles)
def test_the_mass_matrix_is_symmetric_positive_definite_and_blind_to_the_first_angle(arm, q):
    M = arm.mass_matrix(q)
    assert M[0, 1] == M[1, 0]
    assert (np.linalg.eigvalsh(M) > 0.0).all()
    np.testing.assert_array_equal(M, arm.mass_matrix([0.0, q[1]]))


def test_two_equal_rods_in_line_are_one_rod_of_twice_the_length():
    assert UNIT.mass_matrix([0.3, 0.0])[0, 0] == pytest.approx(2.0 * 2.0**2 / 3.0)
    assert UNIT.gravity_torque([0.0, 0.0]) == pytest.approx([2.0 * 9.81 * 1.0, 0.5 * 9.81])


@given(arms, angles, speeds, speeds)
def test_the_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(arm, q, dq, x):
    rate = slope(arm.mass_matrix, q, dq)
    skew = rate - 2.0 * arm.coriolis_matrix(q, dq)
    scale = np.abs(arm.mass_matrix(q)).max()
    np.testing.assert_allclose(skew, -skew.T, atol=1e-7 * scale)
    assert x @ skew @ x == pytest.approx(0.0, abs=1e-6 * scale)


@given(arms, angles)
def test_the_gravity_torque_is_the_slope_of_the_potential_energy(arm, q):
    numeric = [slope(lambda at: arm.energy(at, [0.0, 0.0]), q, axis) for axis in np.eye(2)]
    np.testing.assert_allclose(arm.gravity_torque(q), numeric, atol=1e-6)


@given(arms, angles, speeds, speeds)
def test_the_drives_power_is_the_rate_of_the_energy(arm, q, dq, ddq):
    torque = arm.inverse_dynamics(q, dq, ddq)
    h = 1e-6
    after, before = (arm.energy(q + s * h * dq, dq + s * h * ddq) for s in (1.0, -1.0))
    scale = 1.0 + np.abs(arm.mass_matrix(q)).max()
    assert torque @ dq == pytest.approx((after - before) / (2.0 * h), abs=1e-4 * scale)


@given(arms, angles, speeds, speeds)
def test_forward_and_inverse_dynamics_undo_each_other(arm, q, dq, ddq):
    torque = arm.inverse_dynamics(q, dq, ddq)
    np.testing.assert_allclose(arm.forward_dynamics(q, dq, torque), ddq, atol=1e-6)


@pytest.mark.parametrize("arm", [UNIT, UNEQUAL, LYING], ids=["unit", "unequal", "lying"])
def test_an_undriven_arm_keeps_its_energy(arm):
    random = np.random.default_rng(1)
    q, dq = random.uniform(-3, 3, (20, 2)), random.uniform(-2, 2, (20, 2))
    start, h = arm.energy(q, dq), 1e-3
    for _ in range(1000):  # Runge–Kutta of fourth order
        k1 = dq, arm.forward_dynamics(q, dq, np.zeros(2))
        k2 = dq + h / 2 * k1[1], arm.forward_dynamics(q + h / 2 * k1[0], dq + h / 2 * k1[1], np.zeros(2))
        k3 = dq + h / 2 * k2[1], arm.forward_dynamics(q + h / 2 * k2[0], dq + h / 2 * k2[1], np.zeros(2))
        k4 = dq + h * k3[1], arm.forward_dynamics(q + h * k3[0], dq + h * k3[1], np.zeros(2))
        q = q + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
        dq = dq + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1])
    assert np.ptp(q, axis=0).min() > 1.0  # they did move
    np.testing.assert_allclose(arm.energy(q, dq), start, atol=1e-7)


def test_a_lying_arm_feels_no_gravity_and_coasts_with_its_angular_momentum():
    np.testing.assert_array_equal(LYING.gravity_torque([0.4, -1.0]), 0.0)
    q, dq = np.array([0.2, 0.9]), np.array([1.0, -2.0])
    ddq = LYING.forward_dynamics(q, dq, [0.0, 0.0])
    momentum_rate = slope(LYING.mass_matrix, q, dq)[0] @ dq + LYING.mass_matrix(q)[0] @ ddq
    assert momentum_rate == pytest.approx(0.0, abs=1e-8)


def mujoco_arm(arm):
    rods = [(arm.m1, arm.l1), (arm.m2, arm.l2)]
    inertials = [
        f'<inertial mass="{m}" pos="{length / 2} 0 0" diaginertia="{m * length**2 / 12} {m * length**2 / 12} '
        f'{m * length**2 / 12}"/>'
        for m, length in rods
    ]
    return mujoco.MjModel.from_xml_string(f"""
        <mujoco><compiler angle="radian"/><option gravity="0 0 {-arm.gravity}"/>
        <worldbody><body><joint axis="0 -1 0"/>{inertials[0]}
        <body pos="{arm.l1} 0 0"><joint axis="0 -1 0"/>{inertials[1]}<site name="tip" pos="{arm.l2} 0 0"/>
        </body></body></worldbody></mujoco>""")


@pytest.mark.parametrize("arm", [UNIT, UNEQUAL, LYING], ids=["unit", "unequal", "lying"])
def test_mujoco_agrees(arm):
    model = mujoco_arm(arm)
    data = mujoco.MjData(model)
    random = np.random.default_rng(2)
    for _ in range(20):
        data.qpos, data.qvel = random.uniform(-4, 4, (2, 2))
        data.qfrc_applied = random.uniform(-30, 30, 2)
        mujoco.mj_forward(model, data)
        M, J = np.zeros((2, 2)), np.zeros((3, 2))
        mujoco.mj_fullM(model, data, M)
        mujoco.mj_jacSite(model, data, J, None, 0)
        q, dq, torque = data.qpos, data.qvel, data.qfrc_applied
        bias = arm.coriolis_matrix(q, dq) @ dq + arm.gravity_torque(q)
        np.testing.assert_allclose(arm.forward_kinematics(q), data.site_xpos[0][[0, 2]], atol=1e-12)
        np.testing.assert_allclose(arm.jacobian(q), J[[0, 2]], atol=1e-12)
        np.testing.assert_allclose(arm.mass_matrix(q), M, atol=1e-12)
        np.testing.assert_allclose(bias, data.qfrc_bias, atol=1e-11)
        np.testing.assert_allclose(arm.forward_dynamics(q, dq, torque), data.qacc, rtol=1e-9, atol=1e-9)


def test_many_configurations_give_what_each_gives_alone():
    random = np.random.default_rng(3)
    q, dq, ddq = random.uniform(-2, 2, (3, 4, 5, 2))
    tips = UNEQUAL.forward_kinematics(q)
    together = [
        tips,
        UNEQUAL.jacobian(q),
        UNEQUAL.inverse_kinematics(tips, q + 0.3),
        UNEQUAL.inverse_velocity(q, dq),
        UNEQUAL.coriolis_matrix(q, dq),
        UNEQUAL.inverse_dynamics(q, dq, ddq),
        UNEQUAL.forward_dynamics(q, dq, ddq),
        UNEQUAL.energy(q, dq),
    ]
    for i in np.ndindex(4, 5):
        alone = [
            UNEQUAL.forward_kinematics(q[i]),
            UNEQUAL.jacobian(q[i]),
            UNEQUAL.inverse_kinematics(tips[i], q[i] + 0.3),
            UNEQUAL.inverse_velocity(q[i], dq[i]),
            UNEQUAL.coriolis_matrix(q[i], dq[i]),
            UNEQUAL.inverse_dynamics(q[i], dq[i], ddq[i]),
            UNEQUAL.forward_dynamics(q[i], dq[i], ddq[i]),
            UNEQUAL.energy(q[i], dq[i]),
        ]
        for many, one in zip(together, alone, strict=True):
            np.testing.assert_allclose(many[i], one, rtol=1e-12, atol=1e-13)
    assert UNIT.inverse_dynamics(q, [0.0, 0.0], [0.0, 0.0]).shape == (4, 5, 2)
    assert UNIT.coriolis_matrix([0.0, 1.0], dq).shape == (4, 5, 2, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TwoLinkArm(l1=0.0), OutOfBoundsError, "TwoLinkArm l1 is 0 m"),
        (lambda: TwoLinkArm(m2=np.nan), OutOfBoundsError, "TwoLinkArm m2 is nan kg"),
        (lambda: TwoLinkArm(gravity=-9.81), OutOfBoundsError, "TwoLinkArm gravity = -9.81"),
        (lambda: UNIT.forward_kinematics(0.0), ShapeError, r"q has shape \(\); \(\.\.\., 2\) is needed"),
        (lambda: UNIT.jacobian([1.0, 2.0, 3.0]), ShapeError, r"q has shape \(3,\)"),
        (lambda: UNIT.mass_matrix([0.0, np.nan]), OutOfBoundsError, r"q\[1\] is nan"),
        (lambda: UNIT.forward_dynamics([0, 0], [0, 0], "a"), ShapeError, "torque is not an array of numbers"),
        (lambda: UNIT.energy(np.zeros((3, 2)), np.zeros((4, 2))), ShapeError, r"q \(3, 2\), dq \(4, 2\)"),
        (lambda: UNIT.inverse_kinematics([1, 1]), ConfigurationError, "needs the configuration `near`"),
        (lambda: UNIT.inverse_kinematics([1, 1], elbow="left"), UnknownNameError, "elbow 'left'.*up, down"),
        (lambda: UNIT.inverse_kinematics([np.inf, 1], elbow="up"), OutOfBoundsError, r"position\[0\] is inf"),
    ],
)
def test_wrong_arguments_are_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_arm_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        UNIT.l1 = 2.0
