"""Forces that are wanted of contacts: a foot bears a part of the weight, a hand a push, as far as bounds allow."""

from functools import partial

import numpy as np
import pytest
from tests.controllers.task_space.conftest import SEED, place

from pliant.controllers.task_space import (
    CentreOfMassTask,
    Constraint,
    Contact,
    ContactForceTask,
    OrientationTask,
    PostureTask,
    Recursion,
    TaskStack,
)
from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.controllers.task_space.weighted_qp import WeightedQP
from pliant.envs.models.atlas import STANCE
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError

SOLVERS = {
    "weighted": partial(WeightedQP, weights=[1e4, 1e2, 1.0]),
    "levelled": HierarchicalQP,
}
SOLE = (0.13, 0.06245)


def standing(mechanics, solver, forces, **more):
    """Atlas on both feet, the force of one of them, or of another constraint, above or below its motions."""
    mechanics.update(
        [STANCE.get(name, 0.0) for name in mechanics.joints], np.zeros(len(mechanics.joints)),
        [0.0, 0, 0.885, 1, 0, 0, 0], np.zeros(6),
    )  # fmt: skip
    feet = {f"{side}_foot": Contact(f"{side}_sole", size=SOLE, ramp=0.0) for side in ("left", "right")}
    tasks = {
        "com": CentreOfMassTask(level=1),
        "pelvis": OrientationTask("pelvis", level=2),
        "rest": PostureTask(mechanics=mechanics, level=3),
        **forces,
    }
    stack = TaskStack(mechanics, tasks, {**feet, **more}, solver=solver)
    stack.hold()
    return stack


def weight_of(mechanics):
    return float(mechanics.model.body_subtreemass[mechanics.root] * 9.81)


def unbalanced(stack):
    """What is left of M·u̇ + h = Sᵀ·τ + Jᵀ·λ."""
    problem, found = stack.problem, stack.solution
    left = problem.inertia @ found.acceleration + problem.bias - problem.constraint.T @ found.force
    left[problem.actuated] -= found.torque
    return np.abs(left).max()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_foot_bears_its_part_of_the_weight(humanoid, solver, share):
    weight = weight_of(humanoid)
    load = ContactForceTask("left_foot", [share * weight], level=2, rate=1e6)
    stack = standing(humanoid, SOLVERS[solver], {"load": load})
    stack.solve(0.002)
    stack.solve(0.002)
    np.testing.assert_allclose(stack.solution.acceleration, 0.0, atol=1e-3)
    assert stack.force("left_foot")[2] == pytest.approx(share * weight, abs=1e-3 * weight)
    assert stack.force("right_foot")[2] == pytest.approx((1.0 - share) * weight, abs=1e-3 * weight)
    assert unbalanced(stack) < 1e-6


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_hand_that_touches_a_wall_is_pressed_by_what_is_asked(humanoid, solver):
    """A wall holds the hand along x of the world and pushes it back by 20 N; the feet hold against it."""
    wall = Constraint("right_hand", axes=["x"])
    push = ContactForceTask("wall", [-20.0], axes=["x"], level=2, rate=1e6)
    stack = standing(humanoid, SOLVERS[solver], {"push": push}, wall=wall)
    stack.solve(0.002)
    stack.solve(0.002)
    assert stack.force("wall") == pytest.approx([-20.0], abs=0.1 if solver == "weighted" else 1e-6)
    ground = sum(stack.force(foot)[0] for foot in ("left_foot", "right_foot"))
    assert ground == pytest.approx(20.0, abs=1.0)
    assert unbalanced(stack) < 1e-6
    np.testing.assert_allclose(stack.residual("com"), 0.0, atol=1e-3)


def test_more_than_the_weight_gives_way_to_the_motions_above_it(humanoid):
    weight = weight_of(humanoid)
    load = ContactForceTask("left_foot", [1.5 * weight], level=2, rate=1e6)
    stack = standing(humanoid, HierarchicalQP, {"load": load})
    for _ in range(3):
        stack.solve(0.002)
    np.testing.assert_allclose(stack.residual("com"), 0.0, atol=1e-6)
    assert stack.force("left_foot")[2] == pytest.approx(weight, rel=0.02)
    assert load.lacking
    assert load.error[0] == pytest.approx(0.5 * weight, rel=0.05)


def test_it_begins_with_what_is_borne_and_goes_on_at_its_rate(humanoid):
    load = ContactForceTask("left_foot", [300.0], level=2, rate=1000.0)
    stack = standing(humanoid, HierarchicalQP, {"load": load})
    stack.solve(0.01)
    begins = stack.force("left_foot")[2]
    assert begins > 400.0
    for k in range(1, 6):
        stack.solve(0.01)
        assert stack.force("left_foot")[2] == pytest.approx(begins - 10.0 * k, abs=0.1)
    stack.constraints["left_foot"].active = False
    stack.solve(0.01)
    stack.solve(0.01)
    assert np.isnan(load.wanted).all()
    assert stack.force("left_foot")[2] == pytest.approx(0.0, abs=1e-6)


def test_what_cannot_be_is_refused(humanoid):
    with pytest.raises(UnknownNameError, match=r"constraint 'left_fot'.*left_foot"):
        standing(humanoid, HierarchicalQP, {"load": ContactForceTask("left_fot", [10.0])})
    point = Contact("right_hand")
    with pytest.raises(ConfigurationError, match=r"'tip'.*rx.*Valid axes: x, y, z"):
        standing(humanoid, HierarchicalQP, {"load": ContactForceTask("tip", [1.0], axes=["rx"])}, tip=point)
    with pytest.raises(ConfigurationError, match="HierarchicalQP or WeightedQP"):
        standing(humanoid, Recursion, {"load": ContactForceTask("left_foot", [10.0])})
    with pytest.raises(ShapeError, match="2 numbers for 1 axes"):
        ContactForceTask("left_foot", [10.0, 20.0])
    for wrench in ([np.nan], [1e9]):
        with pytest.raises(OutOfBoundsError, match="left_foot"):
            ContactForceTask("left_foot", wrench)
    with pytest.raises(OutOfBoundsError, match="rate"):
        ContactForceTask("left_foot", [10.0], rate=-1.0)


def test_the_torques_of_an_arm_that_presses_are_those_of_statics(arm):
    push = ContactForceTask("held", [-15.0], axes=["x"], rate=1e6, level=1)
    place(arm, np.random.default_rng(SEED))
    arm.update(arm.q, np.zeros(6))
    tasks = {"push": push, "rest": PostureTask(mechanics=arm, level=2)}
    stack = TaskStack(arm, tasks, {"held": Constraint("tcp", axes=["x"])}, solver=HierarchicalQP)
    stack.hold()
    stack.solve(0.002)
    stack.solve(0.002)
    expected = arm.gravity + arm.jacobian(arm.frame("tcp"))[0] * 15.0
    np.testing.assert_allclose(stack.torque, expected, atol=1e-6)
