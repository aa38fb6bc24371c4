"""Atlas in MuJoCo, by the torques that solvers find every millisecond."""

import mujoco
import numpy as np
import pytest
from tests.controllers.task_space.problems import ATLAS_WEIGHTS, Atlas

from pliant.controllers.task_space.problem import Status
from pliant.controllers.task_space.weighted_qp import WeightedQP


def run(atlas, steps, push=0.0):
    """Yield every instant's solution; the chest is pushed forwards for the first 0.1 s, N."""
    problem = atlas.problem
    solver = WeightedQP(problem, ATLAS_WEIGHTS, 1e-10, 1e-4)
    chest = atlas.model.body("utorso").id
    for k in range(steps):
        atlas.set()
        solution = solver.solve(problem)
        yield solution
        atlas.data.qfrc_applied[6:] = solution.torque
        atlas.data.xfrc_applied[chest, 0] = push if k < 100 else 0.0
        mujoco.mj_step(atlas.model, atlas.data)
        mujoco.mj_forward(atlas.model, atlas.data)


def test_atlas_stands_still():
    """Gains, weights and what came of them (0.03 mm, 0.40 of the effort) are those of a prototype of 2026."""
    atlas = Atlas()
    most = 0.0
    for solution in run(atlas, 3000):
        assert solution.status == Status.SOLVED
        most = max(most, np.abs(solution.torque / atlas.effort).max())
    assert np.linalg.norm(atlas.data.subtree_com[0] - atlas.com) < 1e-3
    assert most < 0.405
    np.testing.assert_allclose(atlas.data.site_xpos[atlas.hand], atlas.reach, atol=1e-3)
    np.testing.assert_allclose(atlas.data.site_xpos[atlas.feet, 2], 0.0, atol=1e-3)


@pytest.mark.slow
def test_a_fall_is_survived():
    """All 1,000 instants have finite torques within bounds, whichever way of giving way they take."""
    atlas = Atlas()
    seen = set()
    for solution in run(atlas, 1000, push=1500.0):
        seen.add(solution.status)
        for array in (solution.acceleration, solution.torque, solution.force, solution.residual):
            assert np.isfinite(array).all()
        assert np.all(np.abs(solution.torque) <= atlas.effort)
        cones = atlas.problem.cone @ solution.force
        assert solution.status == Status.BRAKING or cones.max() < 1e-4
    assert atlas.data.subtree_com[0, 2] < 0.6  # it fell
    assert {Status.SOLVED, Status.LIMITS_RELAXED, Status.CONSTRAINTS_RELAXED} <= seen
