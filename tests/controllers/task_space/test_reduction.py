from itertools import pairwise

import numpy as np
import pytest
from tests.controllers.task_space.problems import equalities, random_problem

from pliant.actuators.compiled import compiled
from pliant.controllers.task_space import reduction


def eliminated(problem, ratio=1.0, mass_weighted=False):
    passive = np.setdiff1d(np.arange(len(problem.bias)), problem.actuated)
    return compiled(reduction.eliminate)(
        problem.actuated,
        passive,
        problem.inertia,
        problem.bias,
        problem.constraint,
        problem.constraint_wanted,
        True,
        mass_weighted,
        ratio,
    )


@pytest.mark.parametrize("mass_weighted", [False, True])
@pytest.mark.parametrize("repeated", [0, 2])
def test_all_motions_that_the_equalities_allow_and_no_others(mass_weighted, repeated):
    problem = random_problem(np.random.default_rng(1), drives=8, repeated=repeated)
    start, basis, drive, misfit = eliminated(problem, 0.1, mass_weighted)
    equal, wanted = equalities(problem)
    assert basis.shape[1] == 16 - np.linalg.matrix_rank(equal)
    np.testing.assert_allclose(equal @ start, wanted, atol=1e-10)
    np.testing.assert_allclose(equal @ basis, 0.0, atol=1e-10)
    assert misfit < 1e-10
    norm = np.diag([*[1.0] * 12, *[0.01] * 4])
    norm[:12, :12] = problem.inertia if mass_weighted else np.eye(12)
    np.testing.assert_allclose(basis.T @ norm @ basis, np.eye(basis.shape[1]), atol=1e-10)
    np.testing.assert_allclose(basis.T @ norm @ start, 0.0, atol=1e-9)
    x = start + basis @ np.random.default_rng(2).normal(size=basis.shape[1])
    needed = problem.inertia @ x[:12] - problem.constraint.T @ x[12:]
    np.testing.assert_allclose(drive @ x, needed[problem.actuated], atol=1e-10)


def test_a_contradiction_is_told():
    problem = random_problem(np.random.default_rng(1), repeated=1)
    problem.constraint_wanted[-1] += 0.5
    assert 0.1 < eliminated(problem)[3] <= 0.5
    problem.constraint[0, 0] = np.nan
    assert np.isnan(eliminated(problem)[3])


def optimum(problem, damping, low, high, uneven=0.0):
    start, basis, drive, _ = eliminated(problem)
    free = basis.shape[1]
    offset = np.arange(free) / free
    level = (problem.jacobian, problem.force_map, problem.wanted, problem.weight, np.ones(len(problem.wanted)))
    bounds = len(drive) + len(problem.bias) + len(problem.cone)
    found = compiled(reduction.optimum)(
        *level,
        damping,
        0.0,
        uneven,
        start,
        basis,
        offset,
        drive,
        problem.cone,
        np.full(bounds, low),
        np.full(bounds, high),
    )
    return found, offset, free


@pytest.mark.parametrize("damping", [1e-5, 1.0])
def test_the_optimum_is_the_damped_least_squares(damping):
    problem = random_problem(np.random.default_rng(3), drives=8)
    (status, tasks, missing, step, *_), offset, free = optimum(problem, damping, -1e30, 1e30)
    stacked = np.vstack([tasks, damping * np.eye(free)])
    expected = np.linalg.lstsq(stacked, np.r_[missing, -damping * offset])[0]
    assert status == reduction.SATISFIED
    np.testing.assert_allclose(step, expected, rtol=1e-8, atol=1e-8)


def test_a_step_costs_its_square():
    problem = random_problem(np.random.default_rng(3), drives=8)
    (status, tasks, missing, step, _, root, *_), offset, free = optimum(problem, 0.1, -1e-3, 1e-3)
    assert status == reduction.VIOLATED

    def cost(z):
        return np.sum((tasks @ z - missing) ** 2) + 0.01 * np.sum((z + offset) ** 2)

    y = np.random.default_rng(4).normal(size=free)
    assert cost(step + np.linalg.solve(root, y)) - cost(step) == pytest.approx(y @ y, rel=1e-9)


def test_repeated_pulls_come_to_the_undamped_least_squares():
    problem = random_problem(np.random.default_rng(3), drives=8, levels=(0, 5))
    (status, tasks, missing, step, _, root, *_), _, _ = optimum(problem, 1e-6, -1e-3, 1e-3, uneven=0.1)
    assert status == reduction.INEXACT
    least = np.linalg.lstsq(tasks, missing)[0]
    away = [np.linalg.norm(tasks @ (step - least))]
    for _ in range(60):
        step = step + np.linalg.solve(root, compiled(reduction.pull)(tasks, missing, step, root))
        away.append(np.linalg.norm(tasks @ (step - least)))
    assert all(after <= before + 1e-12 for before, after in pairwise(away))
    assert away[-1] < 1e-6 * away[0]
