import numpy as np
import pytest
from tests.controllers.task_space.problems import (
    ATLAS_WEIGHTS,
    Atlas,
    Ur10,
    bounds,
    equalities,
    motion,
    passed,
    random_problem,
    stationarity,
    tasks,
)

from pliant.controllers.task_space.problem import Status
from pliant.controllers.task_space.weighted_qp import WeightedQP
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError

daqp = pytest.importorskip("daqp")

WEIGHTS = (100.0, 1.0, 0.1)
KINDS = {
    "fully actuated": {},
    "four passive": {"drives": 8},
    "no constraints": {"constraints": 0, "cones": 0},
    "force tasks": {"drives": 8, "forces": 2},
    "repeated constraints": {"drives": 8, "repeated": 2, "cones": 0},
    "unactuated": {"drives": 0, "constraints": 0, "cones": 0, "room": 5.0},
    "one degree of freedom": {"nv": 1, "drives": 1, "constraints": 0, "cones": 0, "levels": (0, 1, 1, 2)},
    "large": {"nv": 40, "drives": 34, "constraints": 12, "cones": 20, "levels": (0, 6, 12, 46)},
}


def whole(problem, weights, small, small_force):
    """Return H, A and b of all terms and what daqp finds with nothing eliminated."""
    count, forces = len(problem.bias), len(problem.constraint_wanted)
    scale = np.sqrt(np.repeat(weights, np.diff(problem.levels)))
    rows, right = tasks(problem)
    rows, right = scale[:, None] * rows, scale * right
    rest = np.diag(np.repeat([small, small_force], [count, forces]))
    equal, wanted = equalities(problem)
    if len(equal):
        kept = np.linalg.qr(equal.T)[1]
        kept = np.abs(np.diag(kept)) > 1e-9
        equal, wanted = equal[: len(kept)][kept], wanted[: len(kept)][kept]
    among, low, high = bounds(problem)
    sense = np.repeat([5, 0], [len(equal), len(among)]).astype(np.intc)
    low, high = np.maximum(np.r_[wanted, low], -1e30), np.minimum(np.r_[wanted, high], 1e30)
    x, _, flag, _ = daqp.solve(
        rows.T @ rows + rest, -rows.T @ right, np.vstack([equal, among]), high, low, sense, primal_tol=1e-11
    )
    return rows, right, x, flag


@pytest.mark.parametrize("kind", KINDS)
def test_is_the_optimum_of_the_whole_problem(kind):
    rng, bound = np.random.default_rng(5), 0
    for _ in range(30):
        problem = random_problem(rng, **KINDS[kind])
        solution = WeightedQP(problem, WEIGHTS, 1e-3, 1e-3).solve(problem)
        x = motion(solution)
        rows, right, expected, flag = whole(problem, WEIGHTS, 1e-3, 1e-3)
        assert solution.status == Status.SOLVED
        assert passed(problem, x) < 1e-8
        assert stationarity(problem, x, rows, right, equalities(problem)[0], 1e-3) < 1e-9
        assert flag == 1
        np.testing.assert_allclose(x, expected, atol=1e-8)
        needed = problem.inertia @ solution.acceleration + problem.bias - problem.constraint.T @ solution.force
        np.testing.assert_allclose(solution.torque, needed[problem.actuated], atol=1e-8)
        achieved = problem.jacobian @ solution.acceleration + problem.force_map @ solution.force - problem.wanted
        np.testing.assert_allclose(solution.residual, achieved, atol=1e-9)
        bound += np.count_nonzero(solution.torque_bound) + np.count_nonzero(solution.acceleration_bound)
    assert bound > 20 or kind == "unactuated"  # or the bounds would not be tried


def test_bounds_that_bind_are_told():
    problem = random_problem(np.random.default_rng(8), drives=8)
    solution = WeightedQP(problem, WEIGHTS).solve(problem)
    x = motion(solution)
    among, low, high = bounds(problem)
    at = among @ x
    told = np.concatenate([solution.torque_bound, solution.acceleration_bound, solution.cone_bound])
    assert np.any(told == 1)
    assert np.any(told == -1)
    np.testing.assert_array_equal(told, (np.abs(at - high) < 1e-6).astype(int) - (np.abs(at - low) < 1e-6))


@pytest.mark.parametrize("mass_weighted", [False, True])
def test_is_the_constrained_least_squares_where_nothing_binds(mass_weighted):
    rng = np.random.default_rng(6)
    for kind in KINDS:
        problem = random_problem(rng, **{**KINDS[kind], "room": 1e4})
        rows, right = tasks(problem)
        equal, wanted = equalities(problem)
        count, forces = len(problem.bias), len(problem.constraint_wanted)
        rest = 1e-2 * np.eye(count + forces)
        rest[:count, :count] = 1e-3 * (problem.inertia if mass_weighted else np.eye(count))
        system = np.block([[rows.T @ rows + rest, equal.T], [equal, np.zeros((len(equal), len(equal)))]])
        expected = np.linalg.lstsq(system, np.r_[rows.T @ right, wanted])[0][: count + forces]
        solver = WeightedQP(problem, (1.0, 1.0, 1.0), 1e-3, 1e-2, mass_weighted=mass_weighted)
        solution = solver.solve(problem)
        np.testing.assert_allclose(motion(solution), expected, atol=1e-8)
        assert not solution.torque_bound.any()
        assert not solution.acceleration_bound.any()


@pytest.mark.parametrize("mass_weighted", [False, True])
def test_without_tasks_the_motion_is_the_least_there_is(mass_weighted):
    problem = random_problem(np.random.default_rng(2), drives=8, constraints=2, cones=0, levels=(0,), room=1e3)
    solution = WeightedQP(problem, (), 1e-6, 1e-14, mass_weighted=mass_weighted).solve(problem)
    equal, wanted = equalities(problem)
    weight = np.zeros((14, 14))
    weight[:12, :12] = problem.inertia if mass_weighted else np.eye(12)
    system = np.block([[weight, equal.T], [equal, np.zeros((len(equal), len(equal)))]])
    expected = np.linalg.lstsq(system, np.r_[np.zeros(14), wanted])[0]
    np.testing.assert_allclose(solution.acceleration, expected[:12], atol=1e-6)


def test_warm_and_cold_starts_agree():
    rng = np.random.default_rng(3)
    problem = random_problem(rng, drives=8)
    solver = WeightedQP(problem, WEIGHTS, 1e-6, 1e-6)
    for _ in range(100):
        problem.wanted += rng.normal(size=len(problem.wanted))
        problem.bias += 0.1 * rng.normal(size=len(problem.bias))
        warm = solver.solve(problem)
        cold = WeightedQP(problem, WEIGHTS, 1e-6, 1e-6).solve(problem)
        assert warm.status == cold.status
        np.testing.assert_allclose(motion(warm), motion(cold), atol=1e-9 if warm.status == Status.SOLVED else 1e-2)


def test_a_tiny_regularisation_leaves_tasks_as_they_are():
    """Also where tasks leave motions free and bounds bind, with weights that differ by 14 orders of magnitude."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        problem = random_problem(rng, drives=8, levels=(0, 3, 5))
        solution = WeightedQP(problem, (1e4, 1.0), 1e-10, 1e-10).solve(problem)
        rows, right = tasks(problem)
        scale = np.sqrt([1e4, 1e4, 1e4, 1.0, 1.0])
        rows, right = scale[:, None] * rows, scale * right
        assert solution.status == Status.SOLVED
        assert passed(problem, motion(solution)) < 1e-8
        assert stationarity(problem, motion(solution), rows, right, equalities(problem)[0]) < 1e-6


def test_a_wrist_of_small_inertia_is_damped_on_a_ur10():
    """A regularisation of 1e-6 would be 1,000 times what the tasks ask of wrist 3."""
    robot = Ur10()
    problem = robot.set(np.array([0.2, -0.9, 1.5, 0.1, 0.3, 0.0]), np.array([0, 0, 0, 0, 0, 1.0]), np.zeros(3))
    problem.wanted[:3] = problem.jacobian[:3] @ np.array([0, 0, 0, 0, 0, -20.0])
    solution = WeightedQP(problem, (1.0, 1.0)).solve(problem)
    assert solution.acceleration[5] == pytest.approx(-20.0, rel=1e-2)


def test_atlas_is_held_on_both_feet():
    atlas = Atlas()
    problem = atlas.set()
    solution = WeightedQP(problem, ATLAS_WEIGHTS, 1e-10, 1e-4).solve(problem)
    x = motion(solution)
    assert solution.status == Status.SOLVED
    assert passed(problem, x) < 1e-8
    scale = np.sqrt(np.repeat(ATLAS_WEIGHTS, np.diff(problem.levels)))
    rows, right = tasks(problem)
    rows = np.vstack([scale[:, None] * rows, 1e-2 * np.eye(46)[34:]])
    right = np.r_[scale * right, np.zeros(12)]
    assert stationarity(problem, x, rows, right, equalities(problem)[0]) < 1e-8
    assert solution.force[[2, 8]].sum() == pytest.approx(159.8546 * (9.81 + _rise(problem, x)), rel=1e-6)


def _rise(problem, x):
    """Vertical acceleration of the centre of mass, less what its Jacobian changes by, 0 at rest, m/s²."""
    return problem.jacobian[2] @ x[:34]


def test_the_yaw_row_holds_a_foot_from_turning():
    """One foot that is to carry a torque about the vertical: what friction bears, and not more."""
    atlas = Atlas()
    problem = atlas.set()
    problem.acceleration_low[:], problem.acceleration_high[:] = -np.inf, np.inf
    problem.wanted[3:6] = 0.0, 0.0, 400.0  # of the pelvis, rad/s²
    solution = WeightedQP(problem, ATLAS_WEIGHTS, 1e-10, 1e-4).solve(problem)
    fx, fy, fz, tx, ty, tz = solution.force[:6]
    x, y, mu = 0.9 * 0.13, 0.9 * 0.0624435, 0.7
    most = mu * (x + y) * fz - abs(y * fx + mu * tx) - abs(x * fy + mu * ty)
    least = -mu * (x + y) * fz + abs(y * fx - mu * tx) + abs(x * fy - mu * ty)
    assert least - 1e-6 <= tz <= most + 1e-6
    assert np.any(solution.cone_bound[8:16] != 0) or np.any(solution.cone_bound[24:] != 0)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"weights": (1.0,)}, ShapeError, "weights of levels"),
        ({"weights": (1.0, 0.0, 1.0)}, OutOfBoundsError, "weight of level 1"),
        ({"weights": (1.0, np.nan, 1.0)}, OutOfBoundsError, "weights of levels"),
        ({"weights": WEIGHTS, "regularisation": 0.0}, OutOfBoundsError, "regularisation"),
        ({"weights": WEIGHTS, "force_regularisation": -1.0}, OutOfBoundsError, "regularisation of forces"),
    ],
)
def test_settings_that_cannot_be_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        WeightedQP(random_problem(np.random.default_rng(0)), **options)


def test_a_problem_of_another_size_is_refused():
    rng = np.random.default_rng(0)
    solver = WeightedQP(random_problem(rng), WEIGHTS)
    with pytest.raises(ConfigurationError, match="degrees of freedom"):
        solver.solve(random_problem(rng, nv=13))
