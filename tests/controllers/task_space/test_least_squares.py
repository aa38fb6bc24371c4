"""What solvers do when there is no solution."""

import mujoco
import numpy as np
import pytest
from scipy.optimize import nnls
from tests.controllers.task_space.problems import ATLAS_WEIGHTS, Atlas, bounds, equalities, random_problem

from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.controllers.task_space.problem import Problem, Status
from pliant.controllers.task_space.weighted_qp import WeightedQP

SOLVERS = {
    "weighted": lambda problem: WeightedQP(problem, (100.0, 1.0, 0.1)[: len(problem.levels) - 1], 1e-6, 1e-6),
    "hierarchical": HierarchicalQP,
}


def finite(solution):
    arrays = (solution.acceleration, solution.torque, solution.force, solution.residual)
    return all(np.isfinite(array).all() for array in arrays)


def pendulum(low, high):
    """A mass of 2 kg on a rail, pushed by one drive, N."""
    problem = Problem(np.array([0]), 1, 0, 0, (0, 1))
    problem.inertia[:], problem.jacobian[:], problem.wanted[:] = 2.0, 1.0, 0.0
    problem.torque_low[:], problem.torque_high[:] = low, high
    return problem


@pytest.mark.parametrize("kind", SOLVERS)
def test_limits_of_acceleration_give_way_to_those_of_torque(kind):
    problem = pendulum(-1.0, 1.0)
    problem.acceleration_low[:] = 3.0  # of which the torque allows 0.5
    solution = SOLVERS[kind](problem).solve(problem)
    assert solution.status == Status.LIMITS_RELAXED
    assert solution.acceleration[0] == pytest.approx(0.5, abs=1e-5)
    assert solution.torque[0] <= 1.0
    assert solution.torque_bound[0] == 1
    assert solution.acceleration_bound[0] == -1


@pytest.mark.parametrize("kind", SOLVERS)
def test_limits_of_acceleration_that_cross_meet_in_their_middle(kind):
    problem = pendulum(-10.0, 10.0)
    problem.acceleration_low[:], problem.acceleration_high[:] = 3.0, 1.0
    solution = SOLVERS[kind](problem).solve(problem)
    assert solution.status == Status.LIMITS_RELAXED
    assert solution.acceleration[0] == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("kind", SOLVERS)
def test_limits_are_passed_by_the_least_sum_of_squares(kind):
    """By the multipliers of the least |slack|² within torques, cones and constraints."""
    rng, relaxed = np.random.default_rng(1), 0
    for _ in range(40):
        problem = random_problem(rng, drives=8)
        shift = rng.normal(size=12) * 6.0
        problem.acceleration_low += shift
        problem.acceleration_high += shift
        solution = SOLVERS[kind](problem).solve(problem)
        assert finite(solution)
        if solution.status != Status.LIMITS_RELAXED:
            continue
        relaxed += 1
        x = np.r_[solution.acceleration, solution.force]
        u = solution.acceleration
        slack = np.maximum(u - problem.acceleration_high, 0.0) - np.maximum(problem.acceleration_low - u, 0.0)
        among, low, high = bounds(problem)
        hard = np.r_[0:8, 20:26]
        at = (among @ x)[hard]
        assert np.all(at <= high[hard] + 1e-6)
        assert np.all(at >= low[hard] - 1e-6)
        equal, wanted = equalities(problem)
        np.testing.assert_allclose(equal @ x, wanted, atol=1e-6)
        pushing = [among[hard][at >= high[hard] - 1e-5], -among[hard][at <= low[hard] + 1e-5], equal, -equal]
        slope = np.r_[slack, np.zeros(4)]
        assert nnls(np.vstack(pushing).T, -slope, maxiter=10000)[1] < 1e-3 * np.linalg.norm(slope)
    assert relaxed > 5


@pytest.mark.parametrize("kind", SOLVERS)
def test_constraints_give_way_where_torques_cannot_hold_them(kind):
    """Two masses of 1 and 3 kg are to keep a distance: the first one's drive can push 1 N, the other has none."""
    problem = Problem(np.array([0]), 2, 1, 0, (0, 1))
    problem.inertia[:] = np.diag([1.0, 3.0])
    problem.bias[:] = [0.0, 12.0]
    problem.constraint[:], problem.jacobian[:] = [[0.0, 1.0]], [[1.0, 0.0]]  # a bearing, which holds all by itself
    problem.torque_low[:], problem.torque_high[:] = -1.0, 1.0
    solution = SOLVERS[kind](problem).solve(problem)
    assert solution.status == Status.SOLVED
    assert solution.force[0] == pytest.approx(12.0)

    held = Problem(np.array([0]), 2, 1, 2, (0, 1))
    for name, value in vars(problem).items():
        if isinstance(value, np.ndarray) and "cone" not in name:
            getattr(held, name)[:] = value
    held.cone[:], held.cone_high[:] = [[1.0], [-1.0]], [9.0, 0.0]  # a bearing of at most 9 N
    solution = SOLVERS[kind](held).solve(held)
    assert solution.status == Status.CONSTRAINTS_RELAXED
    assert solution.force[0] == pytest.approx(9.0, abs=1e-4)
    assert solution.acceleration[1] == pytest.approx((9.0 - 12.0) / 3.0, abs=1e-4)
    assert solution.cone_bound[0] == 1
    assert solution.acceleration[0] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("kind", SOLVERS)
def test_constraints_that_contradict_each_other_are_met_halfway(kind):
    problem = random_problem(np.random.default_rng(2), drives=12, repeated=1, cones=0, room=100.0)
    problem.constraint[-1] = problem.constraint[0]
    problem.constraint_wanted[0], problem.constraint_wanted[-1] = 1.0, 2.0
    solution = SOLVERS[kind](problem).solve(problem)
    assert solution.status == Status.CONSTRAINTS_RELAXED
    achieved = problem.constraint @ solution.acceleration
    np.testing.assert_allclose(achieved[[0, -1]], 1.5, atol=1e-6)
    np.testing.assert_allclose(achieved[1:-1], problem.constraint_wanted[1:-1], atol=1e-6)


def straight_legs():
    """Atlas whose pelvis and feet are welded, each knee in line with hip and ankle: a row of each leg is void."""
    atlas = Atlas()
    for side in "lr":
        for joint, angle in (("hpy", -0.5), ("kny", 1.0), ("aky", -0.5)):
            atlas.data.joint(f"{side}_leg_{joint}").qpos = angle * 0.13290179442841663
    mujoco.mj_forward(atlas.model, atlas.data)
    standing = atlas.set()
    problem = Problem(standing.actuated, 34, 18, 0, standing.levels)
    for name, value in vars(standing).items():
        if isinstance(value, np.ndarray) and value.shape == getattr(problem, name).shape:
            getattr(problem, name)[:] = value
    problem.constraint[:12], problem.constraint[12:, :6] = standing.constraint, np.eye(6)
    problem.constraint_wanted[:12] = standing.constraint_wanted
    problem.acceleration_low[:], problem.acceleration_high[:] = -np.inf, np.inf
    return problem


def test_straight_legs_bear_their_load():
    problem = straight_legs()
    assert np.linalg.matrix_rank(problem.constraint, tol=1e-6) == 16
    solver = WeightedQP(problem, ATLAS_WEIGHTS, 1e-10, 1e-4)
    solution = solver.solve(problem)
    assert solution.status == Status.SOLVED
    assert np.abs(solution.acceleration).max() < 50.0
    assert np.abs(solution.torque / problem.torque_high).max() < 0.5
    np.testing.assert_allclose(problem.constraint @ solution.acceleration, problem.constraint_wanted, atol=1e-6)

    problem.constraint_wanted[2] += 0.01  # along the leg, where nothing but a bend of the knee could bring it
    solution = solver.solve(problem)
    assert solution.status == Status.CONSTRAINTS_RELAXED
    assert np.abs(problem.constraint @ solution.acceleration - problem.constraint_wanted).max() < 0.01
    assert np.abs(solution.acceleration).max() < 50.0


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize(
    "name",
    ["inertia", "bias", "constraint", "constraint_wanted", "jacobian", "wanted", "weight", "cone", "force_map"],
)
def test_what_is_not_a_number_brakes(kind, name):
    problem = random_problem(np.random.default_rng(4), drives=8)
    getattr(problem, name).flat[-1] = np.nan
    solver = SOLVERS[kind](problem)
    solution = solver.solve(problem)
    assert solution.status == Status.BRAKING
    assert finite(solution)
    assert np.all(solution.torque >= problem.torque_low)
    assert np.all(solution.torque <= problem.torque_high)
    good = random_problem(np.random.default_rng(4), drives=8)
    assert solver.solve(good).status == Status.SOLVED  # and is over with it


@pytest.mark.parametrize("name", ["torque_low", "torque_high", "acceleration_low", "cone_high"])
def test_bounds_that_are_not_numbers_brake(name):
    problem = random_problem(np.random.default_rng(4), drives=8)
    getattr(problem, name)[1] = np.nan
    solution = WeightedQP(problem, (1.0, 1.0, 1.0)).solve(problem)
    assert solution.status == Status.BRAKING
    assert finite(solution)


def test_braking_is_by_the_torques_that_its_motion_needs():
    problem = random_problem(np.random.default_rng(4), room=100.0)
    problem.wanted[0] = np.nan
    solution = WeightedQP(problem, (1.0, 1.0, 1.0)).solve(problem)
    assert solution.status == Status.BRAKING
    np.testing.assert_allclose(solution.acceleration, problem.braking, atol=1e-9)
    np.testing.assert_allclose(solution.torque, problem.inertia @ problem.braking + problem.bias, atol=1e-9)
    problem.torque_low[:], problem.torque_high[:] = -0.1, 0.1
    solution = WeightedQP(problem, (1.0, 1.0, 1.0)).solve(problem)
    needed = problem.inertia @ problem.braking + problem.bias
    np.testing.assert_allclose(solution.torque, np.clip(needed, -0.1, 0.1))


@pytest.mark.parametrize("kind", SOLVERS)
def test_wild_instants_are_survived(kind):
    """Bounds that exclude each other, rows of all sizes and of nothing: torques stay finite and within bounds."""
    rng = np.random.default_rng(6)
    seen = set()
    for k in range(200):
        problem = random_problem(rng, drives=8, room=rng.choice([0.01, 1.0]), repeated=k % 3)
        problem.constraint_wanted += rng.normal(size=4) * rng.choice([0.0, 1.0, 1e3])
        problem.acceleration_low += rng.normal(size=12) * rng.choice([0.0, 10.0, 1e4])
        problem.wanted *= 10.0 ** rng.uniform(-3, 6)
        problem.jacobian[rng.integers(14)] *= rng.choice([0.0, 1e-9, 1e4])
        solution = SOLVERS[kind](problem).solve(problem)
        seen.add(solution.status)
        assert finite(solution)
        assert np.all(solution.torque >= problem.torque_low)
        assert np.all(solution.torque <= problem.torque_high)
    assert {Status.SOLVED, Status.LIMITS_RELAXED, Status.CONSTRAINTS_RELAXED} <= seen
