import numpy as np
import pytest
from tests.controllers.task_space.problems import (
    Atlas,
    equalities,
    motion,
    passed,
    random_problem,
    stationarity,
    tasks,
    with_levels,
)

from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.controllers.task_space.problem import Problem, Status
from pliant.controllers.task_space.weighted_qp import WeightedQP

KINDS = {
    "fully actuated": {},
    "four passive": {"drives": 8},
    "no constraints": {"constraints": 0, "cones": 0},
    "force tasks": {"drives": 8, "forces": 2},
    "repeated constraints": {"drives": 8, "repeated": 2, "cones": 0},
    "tight": {"room": 0.1},
    "more wanted than there is": {"levels": (0, 8, 20, 40)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_level_is_its_own_least_squares_among_what_the_higher_ones_leave(kind):
    rng = np.random.default_rng(7)
    for _ in range(30):
        problem = random_problem(rng, **KINDS[kind])
        solution = HierarchicalQP(problem, standing=0.0).solve(problem)
        x = motion(solution)
        assert solution.status == Status.SOLVED
        assert passed(problem, x) < 1e-6
        equal = equalities(problem)[0]
        for level in range(3):
            rows, right = tasks(problem, level)
            assert stationarity(problem, x, rows, right, equal) < 1e-6
            equal = np.vstack([equal, rows])


@pytest.mark.parametrize("kind", KINDS)
def test_a_lower_level_changes_no_residual_of_a_higher_one(kind):
    rng = np.random.default_rng(8)
    for _ in range(30):
        problem = random_problem(rng, **KINDS[kind])
        solver, above = HierarchicalQP(problem), problem.levels[2]
        before = solver.solve(problem).residual[:above].copy()
        problem.wanted[above:] += 100.0 * rng.normal(size=problem.levels[-1] - above)
        problem.jacobian[above:] = rng.normal(size=problem.jacobian[above:].shape)
        np.testing.assert_allclose(solver.solve(problem).residual[:above], before, atol=1e-8)


def test_tasks_of_all_levels_are_done_exactly_where_they_can_be():
    rng = np.random.default_rng(9)
    problem = random_problem(rng, drives=8, levels=(0, 2, 3, 5), room=1e4)
    solution = HierarchicalQP(problem, standing=0.0).solve(problem)
    np.testing.assert_allclose(solution.residual, 0.0, atol=1e-7)


def test_one_level_is_the_weighted_one():
    rng = np.random.default_rng(10)
    for _ in range(10):
        problem = random_problem(rng, drives=8, levels=(0, 14))
        strict = motion(HierarchicalQP(problem, 1e-3, 1e-3).solve(problem))
        np.testing.assert_allclose(
            motion(WeightedQP(problem, (1.0,), 1e-3, 1e-3).solve(problem)), strict, atol=1e-8
        )


def test_is_the_limit_of_weights_that_differ_ever_more():
    problem = random_problem(np.random.default_rng(12), drives=8, levels=(0, 6, 14))
    strict = HierarchicalQP(problem).solve(problem).residual[:6].copy()
    errors = [
        np.abs(WeightedQP(problem, (weight, 1.0), 1e-9, 1e-9).solve(problem).residual[:6] - strict).max()
        for weight in (1e2, 1e4, 1e6)
    ]
    assert errors[0] > 10.0 * errors[1] > 100.0 * errors[2]


def test_a_level_that_is_repeated_below_changes_nothing():
    problem = random_problem(np.random.default_rng(11), drives=8, levels=(0, 3, 6, 9))
    problem.jacobian[3:6], problem.wanted[3:6] = problem.jacobian[:3], 7.0
    solution = HierarchicalQP(problem, standing=0.0).solve(problem)
    without = Problem(problem.actuated, 12, 4, 6, (0, 3, 6))
    kept = np.r_[0:3, 6:9]
    for name, value in vars(problem).items():
        if isinstance(value, np.ndarray) and name != "actuated":
            getattr(without, name)[:] = value[kept] if len(value) == 9 else value
    expected = HierarchicalQP(without).solve(without)
    np.testing.assert_allclose(motion(solution), motion(expected), atol=1e-6)


def test_warm_and_cold_starts_agree():
    rng = np.random.default_rng(3)
    problem = random_problem(rng, drives=8)
    solver = HierarchicalQP(problem)
    for _ in range(50):
        problem.wanted += 0.1 * rng.normal(size=len(problem.wanted))
        warm, cold = solver.solve(problem), HierarchicalQP(problem, standing=0.0).solve(problem)
        np.testing.assert_allclose(warm.residual, cold.residual, atol=1e-7)


def test_atlas_keeps_its_balance_whatever_its_hand_is_to_do():
    atlas = Atlas()
    atlas.set()
    problem = with_levels(atlas.problem, (0, 6, 9, 37))
    solver = HierarchicalQP(problem)
    solution = solver.solve(problem)
    assert solution.status == Status.SOLVED
    np.testing.assert_allclose(solution.residual[:9], 0.0, atol=1e-7)
    problem.wanted[6:9] += [30.0, -40.0, 200.0]
    solution = solver.solve(problem)
    assert solution.status == Status.SOLVED
    assert np.any(solution.torque_bound) or np.any(solution.acceleration_bound) or np.any(solution.cone_bound)
    np.testing.assert_allclose(solution.residual[:6], 0.0, atol=1e-7)
    assert np.abs(solution.residual[6:9]).max() > 1.0
