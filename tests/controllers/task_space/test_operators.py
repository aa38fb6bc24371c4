"""Operators of a task against Newton and Euler, written without MuJoCo, and against the balance of energy."""

import numpy as np
import pytest
from tests.controllers.task_space import tree
from tests.controllers.task_space.conftest import SEED, place

from pliant.controllers.task_space import TaskOperators

HAND = {"arm": "tcp", "humanoid": "right_hand"}


@pytest.mark.parametrize("robot", ["arm", "humanoid"])
def test_bias_forces_of_a_task_are_those_of_newton_and_euler(robot, request):
    """Λ, μ and p of a hand, of a robot that floats too: M, c, g, G and Ġ·u all by the other way."""
    mechanics = request.getfixturevalue(robot)
    model, random = mechanics.model, np.random.default_rng(SEED)
    frame = mechanics.frame(HAND[robot])
    for _ in range(5):
        place(mechanics, random)
        q, u, zero, one = mechanics.data.qpos, mechanics.velocity, np.zeros(model.nv), np.eye(model.nv)
        (weight,) = tree.generalised_forces(model, q, [(zero, zero)], model.opt.gravity)
        coriolis, *columns = tree.generalised_forces(model, q, [(u, zero), *((zero, row) for row in one)])
        inertia = np.array(columns).T + np.diag(model.dof_armature)
        coriolis += damping(model) * u
        at = [
            tree.moved(tree.bodies(model, q, way, zero)[frame.body], np.array(frame.position)) for way in (u, *one)
        ]
        drift, jacobian = at[0][2], np.array([velocity for _, velocity, _ in at[1:]]).T
        response = np.linalg.solve(inertia, jacobian.T)
        felt = np.linalg.inv(jacobian @ response)
        tool = TaskOperators(mechanics, mechanics.jacobian(frame)[:3], mechanics.acceleration_drift(frame)[:3])
        for ours, expected in (
            (tool.inertia.matrix, felt),
            (tool.mu, felt @ (response.T @ coriolis - drift)),
            (tool.p, felt @ (response.T @ weight)),
        ):
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("robot", ["arm", "humanoid"])
def test_power_of_all_forces_is_the_change_of_energy(robot, request):
    """u·(M·u̇ + h) = d/dt of kinetic and potential energy, summed over bodies, plus what dampers take."""
    mechanics = request.getfixturevalue(robot)
    model, random = mechanics.model, np.random.default_rng(SEED)
    for _ in range(50):
        place(mechanics, random)
        u, du = mechanics.velocity, random.normal(size=model.nv)
        found = tree.bodies(model, mechanics.data.qpos, u, du)
        forces, ways = tree.inertial_forces(model, found, model.opt.gravity)
        own = u @ (model.dof_armature * du + damping(model) * u)
        power = u @ (mechanics.inertia @ du + mechanics.bias)
        assert power == pytest.approx((forces * ways).sum() + own, rel=1e-9, abs=1e-9)


def damping(model):
    """Viscous, of every degree of freedom, N·m·s/rad."""
    return model.dof_damping.reshape(model.nv, -1)[:, 0]


@pytest.mark.parametrize("robot", ["arm", "humanoid"])
def test_without_mu_the_bias_forces_are_others(robot, request):
    """The check above can fail: at these speeds μ is no rounding beside p."""
    mechanics = request.getfixturevalue(robot)
    place(mechanics, np.random.default_rng(SEED))
    frame = mechanics.frame(HAND[robot])
    tool = TaskOperators(mechanics, mechanics.jacobian(frame)[:3], mechanics.acceleration_drift(frame)[:3])
    assert np.linalg.norm(tool.mu) > 1e-2 * np.linalg.norm(tool.p)
