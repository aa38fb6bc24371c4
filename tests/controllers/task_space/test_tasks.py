"""Rows of tasks against differences, and errors against closed forms."""

import math

import mujoco
import numpy as np
import pytest
from tests.controllers.task_space.conftest import SEED, place

from pliant.controllers.task_space import (
    CentreOfMassTask,
    FrameTask,
    MomentumTask,
    OrientationTask,
    PointTask,
    PostureTask,
    Task,
    TaskStack,
)
from pliant.controllers.task_space.tasks import OWN
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError


def tasks_of(mechanics):
    """One of each kind, without feedback: what is wanted is then minus the drift."""
    hand = "tcp" if "shoulder_pan" in mechanics.joints else "left_hand"
    other = "forearm" if hand == "tcp" else "right_sole"
    none = {"stiffness": 0.0, "damping": 0.0}
    local = FrameTask(hand, relative_to=other, **none)
    local.local = True
    return {
        "pose": FrameTask(hand, **none),
        "relative": FrameTask(hand, relative_to=other, **none),
        "local": local,
        "com": CentreOfMassTask(**none),
        "momentum": MomentumTask(damping=0.0),
        "posture": PostureTask(mechanics=mechanics, level=1, **none),
    }


@pytest.fixture
def frames(arm):
    names = [arm.model.body(k).name for k in range(arm.model.nbody)]
    assert "forearm" in names, names


@pytest.mark.parametrize("robot", ["arm", "walker"])
def test_drift_is_the_change_of_the_rows_along_the_motion(robot, request, frames):
    mechanics = request.getfixturevalue(robot)
    tasks = tasks_of(mechanics)
    stack = TaskStack(mechanics, tasks)
    random = np.random.default_rng(SEED)
    for task in tasks.values():
        task.target[-4:] = random.normal(size=len(task.target[-4:]))
        if isinstance(task, FrameTask):
            task.target[3:] /= np.linalg.norm(task.target[3:])
    for _ in range(10):
        place(mechanics, random)
        stack.solve()
        drift, velocity = -stack.problem.wanted.copy(), mechanics.velocity.copy()
        measured = np.concatenate([task.rate for task in tasks.values()])
        assert stack.problem.jacobian @ velocity == pytest.approx(measured, abs=1e-10)
        start, rows = mechanics.data.qpos.copy(), []
        for share in (1e-6, -1e-6):
            moved = start.copy()
            mujoco.mj_integratePos(mechanics.model, moved, velocity, share)
            mechanics.update(moved[mechanics.places], mechanics.u, moved[:7] if mechanics.base else None)
            stack.solve()
            rows.append(stack.problem.jacobian.copy())
        change = (rows[0] - rows[1]) / 2e-6 @ velocity
        size = np.abs(change).max()
        assert drift == pytest.approx(change, abs=1e-7 * max(size, 1.0))


@pytest.mark.parametrize("robot", ["arm", "walker"])
def test_errors_shrink_as_the_rows_say(robot, request, frames):
    mechanics = request.getfixturevalue(robot)
    tasks = {name: task for name, task in tasks_of(mechanics).items() if name != "momentum"}
    stack = TaskStack(mechanics, tasks)
    place(mechanics, np.random.default_rng(SEED))
    for task in tasks.values():
        task.hold(mechanics)
    stack.solve()
    assert np.concatenate([task.error for task in tasks.values()]) == pytest.approx(0.0, abs=1e-9)
    rows, start = stack.problem.jacobian.copy(), mechanics.data.qpos.copy()
    for dof in range(mechanics.nv):
        errors = []
        for step in (1e-6, -1e-6):
            moved, shift = start.copy(), np.zeros(mechanics.nv)
            shift[dof] = step
            mujoco.mj_integratePos(mechanics.model, moved, shift, 1.0)
            mechanics.update(moved[mechanics.places], mechanics.u, moved[:7] if mechanics.base else None)
            stack.solve()
            errors.append(np.concatenate([task.error for task in tasks.values()]))
        assert (errors[1] - errors[0]) / 2e-6 == pytest.approx(rows[:, dof], abs=1e-7)


@pytest.mark.parametrize("angle", [1e-9, 0.1, 1.5, 3.0, math.pi - 1e-9])
def test_an_orientation_error_is_the_rotation_vector_up_to_half_a_turn(arm, angle):
    random = np.random.default_rng(SEED)
    for _ in range(20):
        place(arm, random)
        axis = random.normal(size=3)
        axis /= np.linalg.norm(axis)
        task = OrientationTask("tcp")
        stack = TaskStack(arm, {"turn": task})
        turn, target = np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis)]), np.empty(4)
        mujoco.mju_mulQuat(target, turn, arm.pose(arm.frame("tcp"))[3:])
        task.target[3:] = target * random.choice([-1.0, 1.0])
        stack.solve()
        assert task.error[3:] == pytest.approx(angle * axis, abs=1e-8)


def test_the_way_to_a_target_is_no_faster_than_its_speed(arm):
    place(arm, np.random.default_rng(SEED))
    arm.update(arm.q, np.zeros(6))
    free = PointTask("tcp", stiffness=100.0, damping=20.0)
    slow = PointTask("tcp", stiffness=100.0, damping=20.0, speed=0.25)
    way = np.array([0.6, -0.3, 0.2])
    wanted = []
    for task in (free, slow):
        task.hold(arm)
        task.target[:3] += way
        stack = TaskStack(arm, {"point": task})
        stack.solve()
        wanted.append(stack.problem.wanted.copy())
    assert wanted[0] == pytest.approx(100.0 * way)
    assert wanted[1] == pytest.approx(20.0 * 0.25 * way / np.linalg.norm(way))


def test_a_sensed_pose_goes_before_the_joints(arm):
    place(arm, np.random.default_rng(SEED))
    task = PointTask("tcp")
    stack = TaskStack(arm, {"point": task})
    task.hold(arm)
    task.sensed[:3] = task.target[:3] + np.array([0.01, -0.02, 0.03])
    stack.solve()
    assert task.error[:3] == pytest.approx([-0.01, 0.02, -0.03])


def test_momentum_of_a_robot_in_flight_stays(walker):
    """Of all that the drives can do, nothing moves the centre of mass or turns the whole."""
    stack = TaskStack(walker, {"momentum": MomentumTask(damping=0.0)})
    random = np.random.default_rng(SEED)
    for _ in range(20):
        place(walker, random)
        torque = np.zeros(walker.nv)
        torque[walker.dofs] = random.normal(size=len(walker.dofs))
        stack.solve()
        damping = walker.bias * 0.0
        damping[walker.dofs] = (
            -walker.model.dof_damping[walker.dofs].reshape(len(walker.dofs), -1)[:, 0] * walker.u
        )
        change = stack.problem.jacobian @ np.linalg.solve(walker.inertia, torque - walker.bias)
        force = change - stack.problem.wanted
        weight = walker.model.body_subtreemass[1] * walker.model.opt.gravity
        assert force == pytest.approx([*weight, 0, 0, 0], abs=1e-8)


def test_what_cannot_be_is_refused(arm):
    with pytest.raises(UnknownNameError, match="axis"):
        PointTask("tcp", axes=["x", "up"])
    with pytest.raises(ConfigurationError, match="axes"):
        PointTask("tcp", axes=[])
    with pytest.raises(OutOfBoundsError, match="stiffness"):
        PointTask("tcp", stiffness=-1.0)
    with pytest.raises(OutOfBoundsError, match="level"):
        PointTask("tcp", level=0)
    with pytest.raises(OutOfBoundsError, match="speed"):
        PointTask("tcp", speed=0.0)
    with pytest.raises(UnknownNameError, match="joint"):
        PostureTask(["knee"], mechanics=arm)
    with pytest.raises(UnknownNameError, match="frame"):
        TaskStack(arm, {"point": PointTask("nose")})
    task = PointTask("tcp")
    with pytest.raises(ConfigurationError, match="twice"):
        TaskStack(arm, {"one": task, "two": task})


class Height(Task):
    """A task with code of its own: a frame's height."""

    def __init__(self, frame: str) -> None:
        super().__init__(OWN, 1, 1, 1, 100.0, 20.0, 1, 1.0)
        self.frame = frame

    def bind(self, mechanics):
        return {}

    def measure(self, mechanics):
        return mechanics.pose(mechanics.frame(self.frame))[2:3]

    def write(self, mechanics, jacobian, wanted, scale):
        frame = mechanics.frame(self.frame)
        jacobian[0] = mechanics.jacobian(frame)[2]
        self.error[:], self.rate[:] = self.target - self.measure(mechanics), jacobian[0] @ mechanics.velocity
        wanted[0] = self.stiffness[0] * self.error[0] - self.damping[0] * self.rate[0]
        wanted[0] -= mechanics.acceleration_drift(frame)[2]
        scale[0] = 1.0


def test_a_task_of_ones_own_does_what_ours_would(arm):
    random = np.random.default_rng(SEED)
    for _ in range(20):
        place(arm, random)
        own, ours = Height("tcp"), PointTask("tcp", axes=["z"], stiffness=100.0, damping=20.0)
        found = []
        for task in (own, ours):
            stack = TaskStack(arm, {"tool": task, "rest": PostureTask(mechanics=arm)})
            stack.hold()
            task.target[-1 if task is own else 2] += 0.1
            found.append(stack.solve().torque.copy())
        assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-9)
