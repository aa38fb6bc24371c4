"""What a solver of task-space control takes for an instant of a UR10 and of Atlas on both feet.

python -m tests.benchmarks.task_space_solvers [--times 2000]
"""

import argparse
import time

import numpy as np
from tests.controllers.task_space.problems import ATLAS_WEIGHTS, Atlas, Ur10, with_levels

from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.controllers.task_space.problem import Problem, Status
from pliant.controllers.task_space.weighted_qp import WeightedQP


def ur10(limited: bool) -> Problem:
    """Return a UR10 on the way to a goal, with or without bounds that bind."""
    robot = Ur10()
    problem = robot.set(np.array([0.0, -0.8, 1.6, 0.1, 0.2, 0.3]), np.full(6, 0.1), np.array([0.4, 0.1, 1.0]))
    if not limited:
        problem.acceleration_low[:], problem.acceleration_high[:] = -1e4, 1e4
        problem.wanted[:3] *= 0.01
    return problem


def atlas(push: float) -> Problem:
    """Return Atlas moving at random, its pelvis sent to a side."""
    robot = Atlas()
    robot.data.qvel[:] = 0.05 * np.random.default_rng(0).normal(size=34)
    problem = robot.set()
    problem.wanted[1] += push
    return problem


def measure(solver: HierarchicalQP | WeightedQP, problem: Problem, times: int) -> tuple[np.ndarray, Status, int]:
    """Return the time of each solution, s, its status, and how many bounds bind."""
    wanted, taken = problem.wanted.copy(), []
    for k in range(times + 100):
        problem.wanted[:] = wanted * (1.0 + 0.01 * np.sin(0.1 * k))
        begin = time.perf_counter()
        solution = solver.solve(problem)
        taken.append(time.perf_counter() - begin)
    bound = (solution.torque_bound, solution.acceleration_bound, solution.cone_bound)
    return np.array(taken[100:]), solution.status, sum(map(np.count_nonzero, bound))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=2000)
    options = parser.parse_args()
    print(f"{'':44}{'median':>8}{'p99':>8}  µs  bounds that bind")
    for limited in (False, True):
        problem = ur10(limited)
        cases = {"UR10, weighted": WeightedQP(problem, (1.0, 1e-2)), "UR10, two levels": HierarchicalQP(problem)}
        for name, solver in cases.items():
            _row(name, *measure(solver, problem, options.times))
    for push in (0.0, 10.0):
        problem = atlas(push)
        _row("Atlas, weighted", *measure(WeightedQP(problem, ATLAS_WEIGHTS, 1e-10, 1e-4), problem, options.times))
        problem = with_levels(problem, (0, 6, 9, 37))
        _row("Atlas, three levels", *measure(HierarchicalQP(problem), problem, options.times))


def _row(name: str, taken: np.ndarray, status: Status, bound: int) -> None:
    half, most = 1e6 * np.percentile(taken, [50, 99])
    print(f"{name + ', ' + status.name.lower():44}{half:8.1f}{most:8.1f}  {bound:10}")


if __name__ == "__main__":
    main()
