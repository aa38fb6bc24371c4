"""A robot before a target that is out of reach comes to rest, and one that is getting on is left alone."""

import numpy as np
import pytest
from tests.controllers.task_space.problems import random_problem

from pliant.actuators.compiled import compiled
from pliant.controllers.task_space import JointLimits, PointTask, PostureTask, TaskStack, standstill
from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.errors import OutOfBoundsError

pytest.importorskip("daqp")

START = np.array([0.0, -np.pi / 4, np.pi / 2, -np.pi / 4, -np.pi / 2, 0.0])
BEYOND = np.array([-1.6, 0.0, 0.3])
"""0.266 m beyond the reach of a UR10, m."""
ONE = np.ones(1)


def calmed(jacobian, undone, rate=0.0, weight=1.0, scale=1.0, aim=0.0):
    """Rows and goals for one row of a task that is left undone, at a speed."""
    nv = len(jacobian)
    row, found = np.array([jacobian]), np.zeros(nv)
    braking = -10.0 * rate * np.linalg.pinv(row)[:, 0]
    return compiled(standstill.calm)(
        row, np.zeros((1, 0)), row @ found + undone, weight * ONE, scale * ONE, np.full(nv, aim), braking,
        np.eye(nv), found, 0.1,
    )  # fmt: skip


def test_motions_by_which_a_level_moves_well_are_not_damped_and_the_others_by_what_is_undone():
    rows, goals = calmed([0.0, 2.0, 0.0], undone=50.0, aim=3.0)
    np.testing.assert_allclose(rows.T @ rows, 0.001 * 50.0 * np.diag([1.0, 0.0, 1.0]), atol=1e-12)
    np.testing.assert_allclose(goals, rows @ np.full(3, 3.0), atol=1e-12)


def test_a_singular_direction_is_damped_the_more_the_less_it_gains():
    for gain in (0.0, 0.03, 0.059):
        rows, _ = calmed([gain, 0.0], undone=50.0)
        share = 1.0 - (gain / 0.06) ** 2
        np.testing.assert_allclose(rows, np.sqrt(0.05) * np.diag([share, 1.0]), atol=1e-12)


@pytest.mark.parametrize(("rate", "share"), [(0.0, 1.0), (0.1, 1.0), (0.2, 0.5), (0.25, 0.25)])
def test_a_level_that_moves_is_damped_less(rate, share):
    rows, _ = calmed([1.0, 0.0], undone=50.0, rate=rate)
    assert (rows**2).sum() == pytest.approx(share * 0.001 * 50.0)


def test_what_is_done_or_moves_fast_is_left_alone():
    assert not len(calmed([1.0, 0.0], undone=0.0)[1])
    assert not len(calmed([1.0, 0.0], undone=50.0, rate=0.3)[1])


def test_weights_and_units_of_rows_change_nothing_of_what_is_found():
    """A row in mm (a scale of 0.001) of weight w: the tasks' cost and the damping grow alike, by (1000·w)²."""
    rows, _ = calmed([0.01, 0.5], undone=50.0)
    others, _ = calmed([10.0, 500.0], undone=5e4, weight=2.0, scale=1e-3)
    np.testing.assert_allclose(others, 2e3 * rows, rtol=1e-9)


def test_without_anything_undone_the_solution_is_the_same_bit_for_bit():
    rng = np.random.default_rng(5)
    for _ in range(30):
        problem = random_problem(rng, drives=8, levels=(0, 2, 3, 5), room=1e4)
        plain, calm = HierarchicalQP(problem, standing=0.0), HierarchicalQP(problem, standing=1e3)
        np.testing.assert_array_equal(plain.solve(problem).torque, calm.solve(problem).torque)


def reaching(arm, target, duration, **settings):
    """Speeds, (steps, 6), and places of the tool, (steps, 3), of an arm accelerated as its solver wants."""
    limits = JointLimits(arm, speed=[2.09, 2.09, 3.14, 3.14, 3.14, 3.14])
    tasks = {
        "tool": PointTask("tcp", stiffness=225.0, damping=30.0),
        "rest": PostureTask(mechanics=arm, stiffness=0.0, damping=20.0),
    }
    stack = TaskStack(
        arm, tasks, torque=np.outer([330, 330, 150, 56, 56, 56], [-1.0, 1.0]), limits=limits,
        solver=lambda problem: HierarchicalQP(problem, **settings),
    )  # fmt: skip
    tool, h = arm.frame("tcp"), 0.002
    arm.update(START, np.zeros(6))
    stack.hold()
    tasks["tool"].target[:3] = target
    speeds, places = [], []
    for _ in range(round(duration / h)):
        arm.u += h * stack.solve(h).acceleration
        arm.q += h * arm.u
        arm.refresh()
        speeds.append(arm.u.copy())
        places.append(arm.pose(tool)[:3])
    return np.array(speeds), np.array(places)


def test_an_arm_rests_before_a_target_out_of_reach(arm):
    speeds, places = reaching(arm, BEYOND, 3.0)
    assert np.abs(speeds[-250:]).max() < 1e-2, "rad/s"
    assert np.ptp(places[-250:], axis=0).max() < 1e-4, "m"
    shoulder = np.array([0.0, 0.0, 0.1273])
    stretched = shoulder + (BEYOND - shoulder) * (1.0 - 0.2658 / np.linalg.norm(BEYOND - shoulder))
    np.testing.assert_allclose(places[-1], stretched, atol=0.02)


def test_without_it_that_arm_is_shaken(arm):
    speeds, _ = reaching(arm, BEYOND, 2.0, standing=0.0)
    assert np.abs(speeds[-250:]).max() > 0.1, "rad/s"


def test_on_the_way_to_a_target_within_reach_limits_bind_and_nothing_changes(arm):
    goal = np.array([-0.4, -0.1, 1.0])
    speeds, places = reaching(arm, goal, 1.0)
    plain, _ = reaching(arm, goal, 1.0, standing=0.0)
    assert np.linalg.norm(places[-1] - goal) < 1e-4
    np.testing.assert_allclose(speeds, plain, atol=1e-9)


def test_a_speed_that_cannot_be_is_refused():
    problem = random_problem(np.random.default_rng(0))
    with pytest.raises(OutOfBoundsError, match="standing"):
        HierarchicalQP(problem, standing=-0.1)
