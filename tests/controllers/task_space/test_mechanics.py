"""The model's mechanics against MuJoCo's own functions and against differences."""

import mujoco
import numpy as np
import pytest
from tests.controllers.task_space.conftest import SEED, place

from pliant.controllers.task_space import Mechanics
from pliant.envs.models.ur import ur
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError


@pytest.mark.parametrize("robot", ["arm", "walker"])
def test_mass_and_bias_are_those_of_inverse_dynamics(robot, request):
    mechanics = request.getfixturevalue(robot)
    random = np.random.default_rng(SEED)
    data = mujoco.MjData(mechanics.model)
    for _ in range(50):
        place(mechanics, random)
        acceleration = random.normal(size=mechanics.nv)
        data.qpos[:], data.qvel[:] = mechanics.data.qpos, mechanics.data.qvel
        data.qacc[:] = acceleration
        mujoco.mj_inverse(mechanics.model, data)
        free = data.qfrc_inverse + data.qfrc_constraint  # what contacts or stops of the model would add
        assert mechanics.inertia @ acceleration + mechanics.bias == pytest.approx(free, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("robot", ["arm", "walker"])
def test_gravity_is_what_the_energy_grows_by(robot, request):
    mechanics = request.getfixturevalue(robot)
    place(mechanics, np.random.default_rng(SEED))
    model, data = mechanics.model, mujoco.MjData(mechanics.model)

    def energy(shift):
        data.qpos[:] = mechanics.data.qpos
        mujoco.mj_integratePos(model, data.qpos, shift, 1.0)
        mujoco.mj_kinematics(model, data)
        return float(model.body_mass @ data.xipos @ -model.opt.gravity)

    for dof in range(mechanics.nv):
        step = np.zeros(mechanics.nv)
        step[dof] = 1e-5
        slope = (energy(step) - energy(-step)) / 2e-5
        assert mechanics.gravity[dof] == pytest.approx(slope, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("robot", ["arm", "walker"])
def test_drift_of_a_frame_is_the_change_of_its_jacobian(robot, request):
    mechanics = request.getfixturevalue(robot)
    random = np.random.default_rng(SEED)
    frame = mechanics.frame("tcp" if robot == "arm" else "left_hand")
    for _ in range(20):
        place(mechanics, random)
        change = np.zeros((6, mechanics.nv))
        mujoco.mj_jacDot(
            mechanics.model, mechanics.data, change[:3], change[3:], mechanics.pose(frame)[:3], frame.body
        )
        exact = mechanics.acceleration_drift(frame)
        assert exact == pytest.approx(change @ mechanics.velocity, rel=1e-10, abs=1e-10)


def test_a_drive_that_carries_the_weight_needs_no_torque_for_it():
    carried = ur("ur10", mode="torque", gravity_compensation=True)
    mechanics = Mechanics(carried.spec.compile(), carried.joints)
    mechanics.update([0.3, -1.0, 1.2, 0.1, -1.0, 0.5], np.zeros(6))
    assert mechanics.bias == pytest.approx(np.zeros(6), abs=1e-12)
    assert mechanics.gravity == pytest.approx(np.zeros(6), abs=1e-12)


def test_what_cannot_be_is_refused(arm):
    with pytest.raises(UnknownNameError, match="wrist_9"):
        Mechanics(arm.model, ["wrist_9"])
    with pytest.raises(UnknownNameError, match="frame") as refusal:
        arm.frame("tip of the nose")
    names = str(refusal.value).partition("Valid: ")[2].rstrip(".").split(", ")
    assert {"base", "tcp", "forearm"} <= set(names)
    assert len(names) == len(set(names))
    with pytest.raises(ConfigurationError, match="does not float"):
        Mechanics(arm.model, arm.joints, arm.model.body(1).name)
    with pytest.raises(OutOfBoundsError, match="velocity"):
        arm.update(np.zeros(6), [0, 0, np.nan, 0, 0, 0])
    with pytest.raises(ShapeError):
        arm.update(np.zeros(5), np.zeros(6))


def test_no_pose_of_an_arm_reaches_farther_than_its_links_together(arm, walker):
    frame, random = arm.frame("tcp"), np.random.default_rng(SEED)
    centre, longest = arm.reach(frame)
    for _ in range(200):
        place(arm, random)
        assert np.linalg.norm(arm.pose(frame)[:3] - centre) < longest
        again, same = arm.reach(frame)
        np.testing.assert_allclose([*again, same], [*centre, longest], atol=1e-9)
    assert 1.3 < longest < 1.7, "m; a UR10 reaches 1.3 m"
    assert np.isinf(walker.reach(walker.frame("left_hand"))[1])


def test_a_slide_adds_its_way():
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    cart = spec.worldbody.add_body(name="cart", pos=[0.0, 0.0, 1.0])
    slide = cart.add_joint(name="slide", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[1, 0, 0], range=[-0.5, 1.0])
    arm = cart.add_body(name="arm")
    arm.add_joint(name="swing", axis=[0, 1, 0])
    for body in (cart, arm):
        body.add_geom(fromto=[0, 0, 0, 0, 0, 0.4], size=[0.02, 0, 0], type=mujoco.mjtGeom.mjGEOM_CAPSULE)
    arm.add_site(name="end", pos=[0.0, 0.0, 0.4])
    found = Mechanics(spec.compile(), ["slide", "swing"])
    centre, longest = found.reach(found.frame("end"))
    np.testing.assert_allclose(centre, [0.0, 0.0, 1.0], atol=1e-12)
    assert longest == pytest.approx(1.9)
    slide.limited = mujoco.mjtLimited.mjLIMITED_FALSE
    endless = Mechanics(spec.compile(), ["slide", "swing"])
    assert np.isinf(endless.reach(endless.frame("end"))[1])
