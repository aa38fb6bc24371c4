"""A controller has all its machine code from the beginning: no machine waits for it on its way."""

import subprocess
import sys

import pytest

LOADED = """
import gc

import numpy as np
from numba.core.dispatcher import Dispatcher


def loaded():
    found = [one for one in gc.get_objects() if isinstance(one, Dispatcher)]
    return {(one.py_func.__name__, str(signature)) for one in found for signature in one.signatures}
"""

GIVING_WAY = (
    LOADED
    + """
from tests.controllers.task_space.problems import random_problem
from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.controllers.task_space.weighted_qp import WeightedQP

rng, seen = np.random.default_rng(6), set()
HierarchicalQP(random_problem(rng))
before = loaded()
for k in range(40):
    problem = random_problem(rng, drives=8, room=(0.01, 1.0)[k % 2])
    problem.constraint_wanted += rng.normal(size=4) * 10.0 ** rng.uniform(-1, 3)
    problem.acceleration_low += rng.normal(size=12) * 10.0 ** rng.uniform(0, 4)
    problem.wanted[0] = np.nan if k == 39 else 1.0
    for solver in (HierarchicalQP(problem), WeightedQP(problem, np.ones(len(problem.levels) - 1))):
        seen.add(solver.solve(problem).status.name)
print(sorted(seen), sorted(loaded() - before))
"""
)
GAIT = (
    LOADED
    + """
from pliant.controllers.gaits import FootGait, MatsuokaGait
from pliant.envs.description import describe
from pliant.hardware.limits import MotionLimits

with describe("hexapod").simulated() as robot:
    info = robot.info
for kind in (FootGait, MatsuokaGait):
    gait = kind(info, limits=MotionLimits(speed=0.3, acceleration=3.0, walk_speed=0.1))
    before = loaded()
    held = 0.0
    for k in range(1, 300):
        gait.update(None, k * info.period)
        held = max(held, gait.held_back)
    print(held > 0.0, sorted(loaded() - before))
"""
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "told"),
    [
        (GIVING_WAY, "['BRAKING', 'CONSTRAINTS_RELAXED', 'LIMITS_RELAXED', 'SOLVED'] []\n"),
        (GAIT, "True []\nTrue []\n"),
    ],
)
def test_nothing_is_compiled_or_loaded_on_the_way(program, told, root):
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert ran.stdout == told
