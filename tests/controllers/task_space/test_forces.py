"""Forces on the surroundings: statics in closed form, ramps, feedback."""

from functools import partial

import mujoco
import numpy as np
import pytest
from tests.controllers.task_space.conftest import SEED, place

from pliant.controllers.poses import matrix
from pliant.controllers.task_space import (
    ForceTask,
    JointLimits,
    MeasuredWrench,
    PostureTask,
    Recursion,
    TaskStack,
)
from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.controllers.task_space.weighted_qp import WeightedQP
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings

SOLVERS = {"recursion": Recursion, "weighted": partial(WeightedQP, weights=[1.0]), "levelled": HierarchicalQP}


def stack_of(mechanics, force, solver=Recursion, **settings):
    posture = PostureTask(mechanics=mechanics, level=1)
    return TaskStack(mechanics, {"posture": posture}, forces={"push": force}, solver=solver, **settings)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_arm_at_rest_carries_its_weight_and_the_force(arm, solver):
    force = ForceTask("tcp", [7.0, -30.0, 2.0], axes=["x", "z", "ry"], rate=1e6)
    stack = stack_of(arm, force, SOLVERS[solver])
    place(arm, np.random.default_rng(SEED))
    arm.update(arm.q, np.zeros(6))
    stack.hold()
    stack.solve(0.002)
    expected = arm.gravity + arm.jacobian(arm.frame("tcp")).T @ [7.0, 0.0, -30.0, 0.0, 2.0, 0.0]
    np.testing.assert_allclose(stack.torque, expected, atol=1e-8)
    np.testing.assert_allclose(arm.bias, arm.gravity, atol=1e-12)  # the mechanics do not know of it


def test_a_wall_feels_the_force_in_mujoco(arm):
    """A spring at the tip comes to rest at f/k."""
    force = ForceTask("tcp", [-40.0], axes=["x"], rate=400.0)
    stack = stack_of(arm, force)
    stack.tasks["posture"].stiffness[:] = 0.0
    arm.update([0.0, -1.0, 1.5, -0.5, 1.5, 0.0], np.zeros(6))
    stack.hold()
    model, data = arm.model, mujoco.MjData(arm.model)
    data.qpos[:], start = arm.q, arm.pose(arm.frame("tcp"))[:3]
    for _ in range(1500):
        arm.update(data.qpos, data.qvel)
        stack.solve(0.002)
        mujoco.mj_forward(model, data)
        pull = -2e4 * (arm.pose(arm.frame("tcp"))[:3] - start) - 300.0 * (
            arm.jacobian(arm.frame("tcp"))[:3] @ arm.u
        )
        applied = stack.torque + arm.jacobian(arm.frame("tcp"))[:3].T @ pull
        data.qvel += 0.002 * np.linalg.solve(arm.inertia, applied - arm.bias)
        mujoco.mj_integratePos(model, data.qpos, data.qvel, 0.002)
    found = arm.pose(arm.frame("tcp"))[:3] - start
    np.testing.assert_allclose(found, [-40.0 / 2e4, 0.0, 0.0], atol=2e-6)


def test_the_force_goes_to_what_is_wanted_at_its_rate(arm):
    force = ForceTask("tcp", [10.0, -4.0], axes=["x", "ry"], rate=[5.0, 1.0])
    stack_of(arm, force)
    for _ in range(100):
        force.advance(0.01)
    np.testing.assert_allclose(force.wrench, [5.0, 0, 0, 0, -1.0, 0], atol=1e-12)
    force.target[0] = 4.0
    for _ in range(1000):
        force.advance(0.01)
    np.testing.assert_allclose(force.wanted, [4.0, -4.0])
    force.reset()
    np.testing.assert_array_equal(force.wrench, np.zeros(6))


def test_axes_are_those_of_the_other_frame(arm):
    place(arm, np.random.default_rng(SEED))
    force = ForceTask("tcp", [3.0], axes=["z"], relative_to="tcp", rate=1e6)
    stack_of(arm, force)
    force.advance(1.0)
    where, wrench = force.in_world(arm)
    pose = arm.pose(arm.frame("tcp"))
    np.testing.assert_allclose(where, pose[:3])
    np.testing.assert_allclose(wrench[:3], 3.0 * matrix(pose[3:])[:, 2], atol=1e-12)


def test_what_is_missing_is_fed_back_up_to_a_bound(arm):
    force = ForceTask("tcp", [50.0], axes=["x"], rate=1e6, gain=2.0, correction=5.0)
    stack_of(arm, force)
    force.measured[:] = 0.0
    force.measured[0] = 49.0
    for _ in range(100):
        force.advance(0.01)
    assert force.wrench[0] == pytest.approx(52.0)  # K_I·e·t = 2·1·1 N
    force.measured[:] = np.nan
    force.advance(1.0)
    assert force.wrench[0] == pytest.approx(52.0)
    force.measured[:] = 0.0
    force.advance(100.0)
    assert force.wrench[0] == pytest.approx(55.0)
    force.measured[0] = 51.0
    force.advance(0.5)  # it does not remember what was beyond the bound
    assert force.wrench[0] == pytest.approx(54.0)


def test_a_sensors_wrench_is_told_at_the_frame_in_the_forces_axes(arm):
    place(arm, np.random.default_rng(SEED))
    conditioning = WrenchConditioning(WrenchSettings(cutoff=None, spike=None, gravity=(0.0, 0.0, 0.0)))
    sensor = MeasuredWrench("wrist", "wrist_3", conditioning)
    force = ForceTask("tcp", [1.0], axes=["x"])
    own, tip = arm.pose(arm.frame("wrist_3")), arm.pose(arm.frame("tcp"))
    pull, at_tip = np.array([4.0, -2.0, 7.0]), np.array([0.3, 0.2, -0.1])
    turn = matrix(own[3:])
    raw = np.concatenate([turn.T @ pull, turn.T @ (at_tip + np.cross(tip[:3] - own[:3], pull))])
    assert sensor.take(0.0, raw, force, arm) == ""
    np.testing.assert_allclose(force.measured, [*pull, *at_tip], atol=1e-9)
    assert sensor.take(1.0, np.full(6, np.nan), force, arm).startswith("missing")
    assert np.isnan(force.measured).all()


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"wrench": [1.0]}, ShapeError, "1 numbers for 3 axes"),
        ({"wrench": [1.0, 2.0, np.nan]}, OutOfBoundsError, "finite"),
        ({"wrench": [1.0], "axes": ["w"]}, UnknownNameError, "w"),
        ({"wrench": [1.0], "axes": ["x"], "rate": -1.0}, OutOfBoundsError, "rate"),
        ({"wrench": [1.0], "axes": ["x"], "gain": -1.0}, OutOfBoundsError, "gain"),
        ({"wrench": "much"}, ShapeError, "numbers"),
    ],
)
def test_forces_that_cannot_be_are_refused(settings, error, text):
    with pytest.raises(error, match=text):
        ForceTask("tcp", **settings)


def test_a_frame_that_there_is_not_is_named(arm):
    with pytest.raises(UnknownNameError, match="tcpp"):
        stack_of(arm, ForceTask("tcpp", [1.0], axes=["x"]))


def test_the_same_force_twice_is_refused(arm):
    force = ForceTask("tcp", [1.0], axes=["x"])
    with pytest.raises(ConfigurationError, match="twice"):
        TaskStack(arm, {"posture": PostureTask(mechanics=arm)}, forces={"a": force, "b": force})


def test_torques_stay_within_their_limits(arm):
    force = ForceTask("tcp", [5000.0], axes=["z"], rate=1e6)
    arm.update([0.0, -1.0, 1.5, -0.5, 1.5, 0.0], np.zeros(6))
    bound = np.tile([-50.0, 50.0], (6, 1))
    stack = stack_of(arm, force, SOLVERS["weighted"], torque=bound, limits=JointLimits(arm))
    stack.hold()
    stack.solve(0.01)
    assert np.abs(stack.torque).max() <= 50.0 + 1e-6
    assert any(text.startswith("torque of") for text in stack.binding())
