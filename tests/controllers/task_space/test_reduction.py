import numpy as np
import pytest
from tests.controllers.task_space.problems import equalities, random_problem

from pliant.controllers.task_space import reduction


def eliminated(problem, ratio=1.0, mass_weighted=False):
    passive = np.setdiff1d(np.arange(len(problem.bias)), problem.actuated)
    return reduction.eliminate(
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


def optimum(problem, damping):
    start, basis, _, _ = eliminated(problem)
    offset = np.arange(basis.shape[1]) / basis.shape[1]
    level = problem.jacobian, problem.force_map, problem.wanted, problem.weight
    return *reduction.optimum(level, (damping, 0.0), (start, basis, offset)), offset


@pytest.mark.parametrize("levels", [(0, 14), (0, 20)])
@pytest.mark.parametrize("damping", [1e-5, 1.0])
def test_the_optimum_is_the_damped_least_squares(damping, levels):
    problem = random_problem(np.random.default_rng(3), drives=8, levels=levels)
    tasks, missing, step, _, offset = optimum(problem, damping)
    stacked = np.vstack([tasks, damping * np.eye(len(offset))])
    expected = np.linalg.lstsq(stacked, np.r_[missing, -damping * offset])[0]
    np.testing.assert_allclose(step, expected, rtol=1e-8, atol=1e-8)


def test_a_step_costs_its_square():
    problem = random_problem(np.random.default_rng(3), drives=8)
    tasks, missing, step, root, offset = optimum(problem, 0.1)

    def cost(z):
        return np.sum((tasks @ z - missing) ** 2) + 0.01 * np.sum((z + offset) ** 2)

    y = np.random.default_rng(4).normal(size=len(offset))
    assert cost(step + np.linalg.solve(root, y)) - cost(step) == pytest.approx(y @ y, rel=1e-9)


def test_what_is_left_of_rows_of_all_sizes_is_all_that_they_leave():
    rng = np.random.default_rng(5)
    tasks = rng.normal(size=(6, 12)) * 10.0 ** rng.uniform(-6, 6, (6, 1))
    tasks[4], tasks[5] = tasks[0] - 1e3 * tasks[1], 0.0
    basis, offset, step = np.linalg.qr(rng.normal(size=(16, 12)))[0], rng.normal(size=12), rng.normal(size=12)
    kept, rest = reduction.narrow(tasks[:3], tasks[3:], basis, offset, step)
    within = basis.T @ kept
    assert within.shape == (12, 8)
    np.testing.assert_allclose(kept.T @ kept, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(tasks @ within / np.linalg.norm(tasks[:5], axis=1).max(), 0.0, atol=1e-12)
    np.testing.assert_allclose(rest, within.T @ (offset + step), atol=1e-12)
