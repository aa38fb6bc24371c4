"""The recursion: identities on a thousand states, the stacked solution, singular postures, floating robots."""

import numpy as np
import pytest
from tests.controllers.task_space.conftest import SEED, place

from pliant.controllers.task_space import (
    CentreOfMassTask,
    Constraint,
    Contact,
    FrameTask,
    OrientationTask,
    PointTask,
    PostureTask,
    Recursion,
    Status,
    TaskOperators,
    TaskStack,
)


def exact(problem):
    return Recursion(problem, singular=0.0)


def relative(residual, wanted):
    return float((np.abs(residual) / np.maximum(1.0, np.abs(wanted))).max())


HAND = {"arm": "tcp", "walker": "left_hand", "humanoid": "right_hand"}


@pytest.mark.parametrize("robot", ["arm", "walker", "humanoid"])
def test_on_a_thousand_states_every_task_is_done(robot, request):
    mechanics = request.getfixturevalue(robot)
    hand = HAND[robot]
    feet = {} if robot == "arm" else {"foot": Contact("left_sole", size=(0.1, 0.05))}
    tasks = {"hand": PointTask(hand), "posture": PostureTask(mechanics=mechanics, level=3)}
    tasks["second"] = (
        OrientationTask(hand, axes=["rx", "ry"], level=2) if robot == "arm" else CentreOfMassTask(level=2)
    )
    stack = TaskStack(mechanics, tasks, feet, solver=exact)
    random, worst = np.random.default_rng(SEED), 0.0
    for _ in range(1000):
        place(mechanics, random)
        for task in tasks.values():
            task.target[:3] = random.normal(size=3)
            task.acceleration[:] = random.normal(size=len(task.acceleration))
        solution = stack.solve()
        rows = stack.problem.levels[2]
        worst = max(worst, relative(solution.residual[:rows], stack.problem.wanted[:rows]))
        force = stack.problem.constraint.T @ solution.force
        needed = mechanics.inertia @ solution.acceleration + mechanics.bias - force
        assert solution.torque == pytest.approx(needed[stack.problem.actuated], rel=1e-9, abs=1e-9)
        free = np.setdiff1d(np.arange(mechanics.nv), stack.problem.actuated)
        assert needed[free] == pytest.approx(0.0, abs=1e-6 * max(1.0, np.abs(needed).max()))
    assert worst < 1e-9


@pytest.mark.parametrize("robot", ["arm", "walker", "humanoid"])
def test_null_spaces_of_a_thousand_states(robot, request):
    """G_i·N_p is 0 for i ≤ p, N is idempotent, f gives the wanted acceleration; G on both sides of A is wrong."""
    mechanics = request.getfixturevalue(robot)
    random, disturbed, idempotent, missed = np.random.default_rng(SEED), 0.0, 0.0, []
    hand = mechanics.frame(HAND[robot])
    for _ in range(1000):
        place(mechanics, random)
        drift = mechanics.acceleration_drift(hand)
        first = TaskOperators(mechanics, mechanics.jacobian(hand)[:3], drift[:3])
        rows = mechanics.jacobian(hand)[4:5] if robot == "arm" else mechanics.com_jacobian()
        second = TaskOperators(mechanics, rows, above=first)
        n = second.null_space.matrix
        disturbed = max(disturbed, *(np.abs(g @ n).max() for g in (mechanics.jacobian(hand)[:3], rows)))
        idempotent = max(idempotent, float(np.abs(n @ n - n).max()))
        wanted = random.normal(size=len(rows))
        inverse = np.linalg.inv(mechanics.inertia)
        reduced = second.jacobian.matrix
        wrong = np.linalg.pinv(rows @ inverse @ rows.T)
        right = rows @ inverse @ reduced.T @ (second.inertia @ wanted)
        assert right == pytest.approx(wanted, rel=1e-8, abs=1e-8)
        missed.append(np.abs(rows @ inverse @ reduced.T @ wrong @ wanted - wanted).max())
    assert disturbed < 1e-11
    assert idempotent < 1e-9
    assert np.median(missed) > 1e-3


def test_without_conflict_it_is_the_stacked_solution(arm):
    random, worst = np.random.default_rng(SEED), 0.0
    point, turn = PointTask("tcp"), OrientationTask("tcp", axes=["rx"], level=2)
    two = TaskStack(arm, {"point": point, "turn": turn}, solver=exact)
    both = FrameTask("tcp", axes=["x", "y", "z", "rx"])
    one = TaskStack(arm, {"both": both}, solver=exact)
    for _ in range(300):
        place(arm, random)
        for task in (point, turn, both):
            task.target[:3], task.target[3:] = (0.5, 0.2, 0.3), (0.5, 0.5, -0.5, 0.5)
        ours, stacked = two.solve().acceleration, one.solve().acceleration
        if np.linalg.cond(one.problem.jacobian) < 1e3:
            worst = max(worst, float(np.abs(ours - stacked).max() / np.abs(stacked).max()))
    assert worst < 4e-12


def test_operators_give_the_law_of_the_literature(arm):
    """The recursion finds τ = Gᵀ(L·ẍ* + μ + p) + Nᵀ·(h + M·ü)."""
    random = np.random.default_rng(SEED)
    point, rest = PointTask("tcp", stiffness=225.0, damping=30.0), PostureTask(mechanics=arm, damping=20.0)
    stack = TaskStack(arm, {"point": point, "rest": rest}, solver=exact)
    frame = arm.frame("tcp")
    for _ in range(50):
        place(arm, random)
        point.target[:3] = random.normal(size=3)
        torque = stack.solve().torque.copy()
        drift = arm.acceleration_drift(frame)[:3]
        tool = TaskOperators(arm, arm.jacobian(frame)[:3], drift)
        wanted = point.stiffness[:3] * point.error[:3] - point.damping[:3] * point.rate[:3]
        left = arm.inertia @ (rest.stiffness * rest.error - rest.damping * rest.rate)
        law = tool.jacobian.T @ (tool.inertia @ wanted + tool.mu + tool.p) + tool.null_space.T @ (arm.bias + left)
        assert law == pytest.approx(torque, rel=1e-8, abs=1e-8)


def test_what_nothing_moves_falls_unless_it_is_carried(arm):
    place(arm, np.random.default_rng(SEED))
    arm.update(arm.q, np.zeros(6))
    for carried in (True, False):
        point = PointTask("tcp", stiffness=0.0)
        stack = TaskStack(arm, {"point": point}, solver=lambda p, c=carried: Recursion(p, compensate=c))
        found = stack.solve().acceleration
        assert stack.problem.jacobian @ found == pytest.approx(0.0, abs=1e-8)
        assert (np.abs(found).max() > 0.1) is not carried


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0, 1.3])
def test_by_a_singular_posture_accelerations_stay_small_and_continuous(arm, share):
    """Stretched out, the tool cannot go on outwards; pulled there it comes to rest."""
    stretched = np.array([0.3, -0.9, 1e-7, -0.4, 0.7, 0.0])
    task = PointTask("tcp", stiffness=100.0, damping=20.0)
    stack = TaskStack(arm, {"point": task, "rest": PostureTask(mechanics=arm, stiffness=0.0, damping=5.0)})
    largest = []
    for bend in np.linspace(0.2, -0.2, 81):
        q = stretched.copy()
        q[2] += bend
        arm.update(q, np.zeros(6))
        task.target[:3] = arm.pose(arm.frame("tcp"))[:3] * (1.0 + share)
        largest.append(np.abs(stack.solve().acceleration).max())
        assert stack.solution.status is Status.SOLVED
    assert max(largest) < 3e4
    assert np.isfinite(largest).all()


def test_two_tasks_for_one_point_share_by_their_weights(arm):
    place(arm, np.random.default_rng(SEED))
    found = []
    for weight in (1.0, 3.0):
        one, other = PointTask("tcp", weight=weight), PointTask("tcp")
        stack = TaskStack(arm, {"one": one, "other": other}, solver=exact)
        one.acceleration[:3], other.acceleration[:3] = 1.0, -1.0
        one.stiffness[:] = other.stiffness[:] = one.damping[:] = other.damping[:] = 0.0
        solution = stack.solve()
        drift = arm.acceleration_drift(arm.frame("tcp"))[:3]
        found.append(stack.problem.jacobian[:3] @ solution.acceleration + drift)
    assert found[0] == pytest.approx(0.0, abs=1e-8)
    assert found[1] == pytest.approx(0.5, abs=1e-8)  # (3·1 − 1·1)/4


def test_welded_feet_carry_the_robot(walker):
    """At rest the forces of the feet hold the weight, and no task needs the base to be driven."""
    feet = {name: Constraint(f"{name}_sole") for name in ("left", "right")}
    com = CentreOfMassTask()
    stack = TaskStack(walker, {"com": com, "posture": PostureTask(mechanics=walker)}, feet, solver=exact)
    bent = [0.0, 0.0, -0.4, 0.8, -0.4, 0.0] * 2 + [0.1] * 8
    order = [name for side in ("left", "right") for name in walker.joints if name.startswith(side)]
    legs = {name: bent[k % 6] for k, name in enumerate(order) if k % 10 < 6}
    walker.update([legs.get(name, 0.0) for name in walker.joints], np.zeros(len(walker.joints)))
    stack.hold()
    solution = stack.solve()
    weight = walker.model.body_subtreemass[1] * 9.81
    up = sum(stack.force(name)[2] for name in feet)
    assert up == pytest.approx(weight, rel=1e-6)
    assert solution.acceleration == pytest.approx(0.0, abs=1e-7)


def test_a_target_that_is_no_number_brakes(arm):
    place(arm, np.random.default_rng(SEED))
    task = PointTask("tcp")
    stack = TaskStack(arm, {"point": task}, torque=np.outer([330, 330, 150, 56, 56, 56], [-1.0, 1.0]))
    task.target[:] = np.nan
    solution = stack.solve()
    assert solution.status is Status.BRAKING
    needed = arm.inertia @ (-10.0 * arm.u) + arm.bias
    assert solution.torque == pytest.approx(
        np.clip(needed, [-330, -330, -150, -56, -56, -56], [330, 330, 150, 56, 56, 56])
    )
    task.target[:] = [0.5, 0.2, 0.3, 1, 0, 0, 0]
    assert stack.solve().status is Status.SOLVED


def test_a_model_that_is_no_number_brings_no_torque(arm):
    task = PointTask("tcp")
    stack = TaskStack(arm, {"point": task})
    arm.u[0] = np.nan
    arm.refresh()
    solution = stack.solve()
    assert solution.status is Status.BRAKING
    assert not solution.torque.any()
    arm.u[0] = 0.0
    arm.refresh()
    task.target[:] = [0.5, 0.2, 0.3, 1, 0, 0, 0]
    assert stack.solve().status is Status.SOLVED
