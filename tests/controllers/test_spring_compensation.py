import math

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant.actuators import find_law
from pliant.controllers import MinimumJerk, Setpoints, run, spring_compensation
from pliant.controllers.spring_compensation import (
    GravityTorque,
    SpringHolding,
    holding_equilibria,
    spring_equilibrium,
)
from pliant.envs.models.arm2 import arm2, arm2_joints
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError

QBMOVE = find_law("qbmove")()
LAWS = [
    (QBMOVE, 0.2),
    (find_law("qbmove")(set="identified_joint1"), 0.3),
    (find_law("qbmove")(set="manual"), 0.0),
    (find_law("sea")(), 0.0),
    (find_law("bavs")(), 0.1),
    (find_law("awas2")(), 0.02),
]
IDS = [f"{law.law.name}-{i}" for i, (law, _) in enumerate(LAWS)]


@pytest.mark.parametrize(("law", "preset"), LAWS, ids=IDS)
@pytest.mark.parametrize("torque", [-0.5, -0.02, 0.0, 0.3, 0.7])
def test_the_springs_put_the_torque_asked_for_on_the_link(law, preset, torque):
    equilibrium = spring_equilibrium(law, 0.4, torque, preset)
    assert law.torque(0.4, *law.references(equilibrium, preset)) == pytest.approx(torque, abs=1e-9)


@given(torque=st.floats(-1.1, 1.1), preset=st.floats(-0.19, 0.19))
def test_the_closed_form_of_equal_springs_is_what_root_finding_finds(torque, preset):
    closed = spring_compensation._symmetric(QBMOVE, torque, preset)
    assert closed is not None
    assert closed == pytest.approx(spring_compensation._root(QBMOVE, 0.0, torque, preset), abs=1e-9)


def test_the_deflection_is_the_published_formula():
    k, a = 0.0019, 8.9992
    expected = 0.1 + math.asinh(0.5 / (2 * k * math.cosh(a * 0.2))) / a
    assert spring_equilibrium(QBMOVE, 0.1, 0.5, 0.2) == pytest.approx(expected, abs=1e-12)


def test_a_saturated_spring_is_no_case_for_the_closed_form():
    torque = 1.25  # beyond 1.24 N·m at 0.6 rad one spring is at its end
    equilibrium = spring_equilibrium(QBMOVE, 0.0, torque, 0.6)
    assert QBMOVE.torque(0.0, *QBMOVE.references(equilibrium, 0.6)) == pytest.approx(torque, abs=1e-9)
    assert equilibrium > math.asinh(torque / (2 * 0.0019 * math.cosh(8.9992 * 0.6))) / 8.9992 + 0.05


@pytest.mark.parametrize(("law", "preset"), LAWS, ids=IDS)
def test_a_torque_beyond_the_springs_is_refused_with_what_they_carry(law, preset):
    with pytest.raises(OutOfBoundsError, match=rf"springs of law '{law.law.name}' at preset {preset:g} carry"):
        spring_equilibrium(law, 0.0, 1e6, preset)


def pendulum():
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    body = spec.worldbody
    for i, at in enumerate((0.0, 0.3)):
        body = body.add_body(pos=[at, 0, 0])
        body.add_joint(name=f"j{i}", axis=[0, -1, 0])
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.01, 0, 0], pos=[0.3, 0, 0], mass=0.2)
    return spec.compile()


def test_gravity_torques_hold_the_arm():
    model = pendulum()
    gravity = GravityTorque(model)
    q = np.array([0.3, -0.8])
    first = 0.2 * 9.81 * (2 * 0.3 * math.cos(q[0]) + 0.3 * math.cos(q.sum()))
    np.testing.assert_allclose(gravity(q), [first, 0.2 * 9.81 * 0.3 * math.cos(q.sum())], atol=1e-12)
    data = mujoco.MjData(model)
    data.qpos[:], data.qfrc_applied[:] = q, gravity(q)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qacc, 0.0, atol=1e-9)


def test_every_joint_of_an_arm_is_compensated_for_its_own_torque():
    q, torque, laws = [0.1, -0.2], [0.4, -0.3], [QBMOVE, find_law("sea")()]
    together = holding_equilibria(laws, q, torque, [0.2, 0.0])
    alone = [spring_equilibrium(*row) for row in zip(laws, q, torque, [0.2, 0.0], strict=True)]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(
        holding_equilibria([QBMOVE] * 2, q, torque, 0.2), holding_equilibria([QBMOVE] * 2, q, torque, [0.2, 0.2])
    )


def test_wrong_arguments_are_refused_by_name():
    with pytest.raises(OutOfBoundsError, match="joint 1: the springs"):
        holding_equilibria([QBMOVE] * 2, [0.0, 0.0], [0.1, 9.0], 0.2)
    with pytest.raises(ShapeError, match=r"torque has shape \(3,\)"):
        holding_equilibria([QBMOVE] * 2, [0.0, 0.0], [0.1, 0.2, 0.3], 0.2)
    with pytest.raises(ShapeError, match="preset has shape"):
        holding_equilibria([QBMOVE] * 2, [0.0, 0.0], [0.1, 0.2], [0.2] * 3)
    with pytest.raises(OutOfBoundsError, match="position, torque and preset"):
        spring_equilibrium(QBMOVE, math.nan, 0.0, 0.2)
    with pytest.raises(OutOfBoundsError, match="position"):
        GravityTorque(pendulum())([math.inf, 0.0])
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.add_geom(size=[0.1, 0, 0])
    with pytest.raises(ConfigurationError, match="free or ball joint"):
        GravityTorque(spec.compile())


def test_setpoints_through_the_springs_lead_the_arm_where_plain_ones_let_it_hang():
    """A slow lift of the hanging arm: the springs yield to its weight unless they are set to carry it."""
    robot = SimulatedRobot(arm2(arm2_joints(3), friction=0.0))
    laws = [joint.law for joint in arm2_joints(3)]
    lift = MinimumJerk([0.1, 0.1], [0.6, 0.5], 8.0)
    holding = SpringHolding(laws, GravityTorque(robot.model), 0.2)
    errors = {}
    for name, through in (("plain", None), ("held", holding)):
        controller = Setpoints(lift, robot.info, through=through)
        with robot:
            robot.reset(position=lift.position(0.0), command=controller.update(robot.read(), 0.0))
            motion = run(robot, controller, 10.0).motion
        errors[name] = np.abs(motion.position - lift.position(motion.time)).max()
    assert errors["plain"] > 0.3
    assert errors["held"] < 0.03
    np.testing.assert_allclose(motion.position[-1], [0.6, 0.5], atol=1e-4)
