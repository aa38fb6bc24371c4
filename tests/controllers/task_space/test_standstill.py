"""A robot before a target that is out of reach comes to rest, and one that is getting on is left alone."""

import mujoco
import numpy as np
import pytest
from tests.controllers.task_space.problems import random_problem

from pliant.controllers.task_space import JointLimits, Mechanics, PointTask, PostureTask, TaskStack, standstill
from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.errors import OutOfBoundsError

START = np.array([0.0, -np.pi / 4, np.pi / 2, -np.pi / 4, -np.pi / 2, 0.0])
BEYOND = np.array([-1.6, 0.0, 0.3])
"""0.266 m beyond the reach of a UR10, m."""
INSIDE = np.array([0.1, 0.0, 0.4])
"""Too near to the axis of the base, m."""
ONE = np.ones(1)


def calmed(jacobian, undone, rate=0.0, weight=1.0, scale=1.0):
    """How far one row of a task stands that is left undone, at a speed, and the rows and goals that calm it."""
    nv = len(jacobian)
    row, found = np.array([jacobian]), np.zeros(nv)
    braking = -10.0 * rate * np.linalg.pinv(row)[:, 0]
    return standstill.calm(
        row, np.zeros((1, 0)), row @ found + undone, weight * ONE, scale * ONE, braking, found, 0.1
    )


@pytest.mark.parametrize(("rate", "share"), [(0.0, 1.0), (0.1, 1.0), (0.2, 0.5), (0.25, 0.25)])
def test_a_level_is_damped_by_what_is_undone_and_less_if_it_moves(rate, share):
    stands, rows, goals = calmed([1.0, 0.0], undone=50.0, rate=rate)
    assert stands == pytest.approx(share)
    np.testing.assert_allclose(rows, np.sqrt(share * 0.001 * 50.0) * np.eye(2), atol=1e-12)
    braked = -10.0 * (rate + 0.1 * (rate > 0.0))
    np.testing.assert_allclose(goals, rows @ [braked, 0.0], atol=1e-12)


def test_what_is_done_or_moves_fast_is_left_alone():
    for stands, rows, goals in (calmed([1.0], undone=0.0), calmed([1.0], undone=50.0, rate=0.3)):
        assert (stands, len(rows), len(goals)) == (0.0, 0, 0)


def test_weights_and_units_of_rows_change_nothing_of_what_is_found():
    """A row in mm (a scale of 0.001) of weight w: the tasks' cost and the damping grow alike, by (1000·w)²."""
    _, rows, _ = calmed([0.01, 0.5], undone=50.0)
    _, others, _ = calmed([10.0, 500.0], undone=5e4, weight=2.0, scale=1e-3)
    np.testing.assert_allclose(others, 2e3 * rows, rtol=1e-9)


def test_what_rests_is_pulled_nowhere_and_what_moves_is_braked_by_dry_friction_too():
    speeds = np.array([0.0, 0.004, 0.008, 0.1, -0.002, -3.0])
    found = standstill.resting(-10.0 * speeds)
    np.testing.assert_allclose(found, [0.0, -0.54, -1.08, -2.0, 0.27, 31.0], atol=1e-12)


def test_without_anything_undone_the_solution_is_the_same_bit_for_bit():
    rng = np.random.default_rng(5)
    for _ in range(30):
        problem = random_problem(rng, drives=8, levels=(0, 2, 3, 5), room=1e4)
        plain, calm = HierarchicalQP(problem, standing=0.0), HierarchicalQP(problem, standing=1e3)
        np.testing.assert_array_equal(plain.solve(problem).torque, calm.solve(problem).torque)


def reaching(arm, target, duration, posture=(0.0, 20.0), start=START, **settings):
    """Speeds, (steps, joints), and places of the tool, (steps, 3), of an arm accelerated as its solver wants."""
    joints = len(start)
    limits = JointLimits(arm, speed=[2.09, 2.09, 3.14, 3.14, 3.14, 3.14][:joints])
    tasks = {
        "tool": PointTask(
            "tcp", stiffness=225.0, damping=30.0, axes=("x", "y", "z") if joints == 6 else ("x", "z")
        ),
        "rest": PostureTask(mechanics=arm, stiffness=posture[0], damping=posture[1]),
    }
    stack = TaskStack(
        arm, tasks, torque=np.outer([330, 330, 150, 56, 56, 56][:joints], [-1.0, 1.0]), limits=limits,
        solver=lambda problem: HierarchicalQP(problem, **settings),
    )  # fmt: skip
    tool, h = arm.frame("tcp"), 0.002
    arm.update(start, np.zeros(joints))
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


@pytest.mark.parametrize("posture", [(0.0, 20.0), (25.0, 10.0)])
@pytest.mark.parametrize("target", [BEYOND, INSIDE])
def test_an_arm_rests_as_near_to_a_target_out_of_reach_as_it_can_come(arm, target, posture):
    speeds, places = reaching(arm, target, 3.0, posture)
    _, shaken = reaching(arm, target, 3.0, posture, standing=0.0)
    assert np.abs(speeds[-250:]).max() < 1e-2, "rad/s"
    nearest = np.linalg.norm(shaken - target, axis=1).min()
    assert np.linalg.norm(places[-1] - target) < nearest + 1e-4, "m"


def test_two_links_rest_stretched_towards_a_target_out_of_reach():
    links = """<mujoco><worldbody><body><joint name="a" axis="0 -1 0"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03" mass="2"/>
      <body pos="0.5 0 0"><joint name="b" axis="0 -1 0"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" mass="1"/><site name="tcp" pos="0.3 0 0"/>
      </body></body></worldbody></mujoco>"""
    planar = Mechanics(mujoco.MjModel.from_xml_string(links), ["a", "b"])
    target = np.array([0.9, 0.0, 1.2])  # 1.5 m away, along (3, 4)/5
    speeds, places = reaching(planar, target, 3.0, (25.0, 10.0), np.array([0.1, 1.0]))
    assert np.abs(speeds[-250:]).max() < 1e-2, "rad/s"
    np.testing.assert_allclose(places[-1], [0.48, 0.0, 0.64], atol=2e-3)
    np.testing.assert_allclose(planar.q, [np.arctan2(4, 3), 0.0], atol=1e-2)


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
