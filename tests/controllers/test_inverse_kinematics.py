import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model, uninstall
from pliant.controllers.inverse_kinematics import ClosedLoopIK
from pliant.controllers.paths import Line, joint_trajectory
from pliant.controllers.two_link import TwoLinkArm
from pliant.errors import ConfigurationError, MissingExtraError, OutOfBoundsError, ShapeError, UnknownNameError

pytest.importorskip("mink")

LINKS = (0.25, 0.2, 0.15)
BENT = np.array([0.4, -0.9, 1.1, 0.3])
AWAY = np.array([0.08, -0.05, 0.04])
PERIOD = 0.01


def chain(limit=2.0):
    """An arm of four hinges, the last three in a plane that the first one turns."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    body, at = spec.worldbody, 0.0
    axes = [[0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
    for i, axis in enumerate(axes):
        body = body.add_body(pos=[at, 0, 0])
        body.add_joint(name=f"j{i}", axis=axis, range=[-limit, limit], limited=mujoco.mjtLimited.mjLIMITED_TRUE)
        at = 0.0 if i == 0 else LINKS[i - 1]
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], mass=0.3)
    body.add_site(name="tip", pos=[LINKS[2], 0.05, 0])
    return spec.compile()


@pytest.fixture(scope="module")
def model():
    return chain()


@pytest.fixture
def ik(model):
    return ClosedLoopIK(model, "tip")


def numeric_jacobian(ik, q, step=1e-6):
    return np.column_stack(
        [(ik.position(q + step * e) - ik.position(q - step * e)) / (2 * step) for e in np.eye(4)]
    )


def test_it_finds_angles_for_every_point_that_the_arm_has_been_at(ik, model):
    random = np.random.default_rng(0)
    for _ in range(20):
        q = BENT + random.uniform(-0.4, 0.4, 4)
        goal = ik.position(q)
        found = ik(goal, near=BENT)
        assert np.linalg.norm(ik.position(found) - goal) < 1e-7
        assert (np.abs(found) <= 2.0).all()


def test_the_speed_is_the_smallest_that_moves_the_tip_as_asked(ik):
    velocity = np.array([0.02, -0.03, 0.01])
    step = ik.step(BENT, ik.position(BENT), velocity, 1e-4) - BENT
    expected = np.linalg.pinv(numeric_jacobian(ik, BENT)) @ velocity
    np.testing.assert_allclose(step / 1e-4, expected, atol=1e-5)


def test_an_error_of_position_decays_with_the_gain(model):
    ik = ClosedLoopIK(model, "tip", gain=5.0)
    goal = ik.position(BENT) + np.array([0.01, 0.005, -0.01])
    q = BENT
    before = np.linalg.norm(goal - ik.position(q))
    for _ in range(40):
        q = ik.step(q, goal, np.zeros(3), PERIOD)
    after = np.linalg.norm(goal - ik.position(q))
    assert after / before == pytest.approx((1.0 - 5.0 * PERIOD) ** 40, rel=0.05)


def test_a_moving_target_is_followed_without_lag(ik):
    start = ik.position(BENT)
    line = Line(start, start + AWAY, 1.0)
    q = BENT
    for k in range(100):
        q = ik.step(q, line.position(k * PERIOD), line.velocity(k * PERIOD), PERIOD)
        assert np.linalg.norm(ik.position(q) - line.position((k + 1) * PERIOD)) < 5e-4


def test_a_path_in_space_becomes_joint_motion(ik):
    start = ik.position(BENT)
    line = Line(start, start + AWAY, 1.0)
    motion = joint_trajectory(line, ik, near=BENT)
    for t in np.linspace(0.0, 1.0, 33):
        np.testing.assert_allclose(ik.position(motion.position(t)), line.position(t), atol=1e-6)


def test_joint_limits_hold_and_what_lies_behind_them_is_refused():
    free, tight = (ClosedLoopIK(chain(limit), "tip") for limit in (2.0, 1.15))
    goal = free.position([0.4, -0.9, 1.6, 0.3])
    free(goal, near=BENT)
    q = BENT
    for _ in range(200):
        q = tight.step(q, goal, np.zeros(3), PERIOD)
        assert (np.abs(q) <= 1.15).all()
    with pytest.raises(OutOfBoundsError, match=r"'tip' does not get to .* behind a joint's limit"):
        tight(free.position([1.9, -0.9, 1.1, 0.3]), near=BENT)


def test_what_is_out_of_reach_is_refused_with_how_far_it_is(ik):
    with pytest.raises(OutOfBoundsError, match=r"stays 0\.\d+ m away"):
        ik([1.0, 0.0, 0.0], near=BENT)


def test_on_a_planar_arm_it_agrees_with_the_closed_form():
    from pliant.envs.models.two_link import two_link

    arm, model = TwoLinkArm(), compile_model(two_link().spec)
    uninstall()
    ik = ClosedLoopIK(model, "tip")
    near = np.array([0.3, 1.0])
    shoulder = ik.position(near) - np.insert(arm.forward_kinematics(near), 1, 0.0)
    for point in ([1.2, 0.6], [0.9, 1.1], [1.4, 0.2]):
        found = ik(shoulder + np.insert(point, 1, 0.0), near)
        np.testing.assert_allclose(found, arm.inverse_kinematics(point, near), atol=1e-6)


def test_wrong_arguments_are_refused_by_name(ik, model):
    with pytest.raises(UnknownNameError, match=r"unknown site 'top' in the model.*Valid: tip"):
        ClosedLoopIK(model, "top")
    with pytest.raises(OutOfBoundsError, match="gain"):
        ClosedLoopIK(model, "tip", gain=0.0)
    with pytest.raises(OutOfBoundsError, match="damping"):
        ClosedLoopIK(model, "tip", damping=np.nan)
    with pytest.raises(OutOfBoundsError, match="gain·period"):
        ik.step(BENT, np.zeros(3), np.zeros(3), 0.2)
    with pytest.raises(ShapeError, match=r"q has shape \(3,\); \(4\) is needed"):
        ik.position(np.zeros(3))
    with pytest.raises(OutOfBoundsError, match=r"joint 'j2' = 2\.5 rad is outside \[-2, 2\]"):
        ik.position([0.0, 0.0, 2.5, 0.0])
    with pytest.raises(OutOfBoundsError, match="position"):
        ik([np.nan, 0.0, 0.0], near=BENT)
    with pytest.raises(ShapeError, match="desired velocity"):
        ik.step(BENT, np.zeros(3), np.zeros(2), PERIOD)


def test_a_model_that_holds_more_than_an_arm_is_refused():
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_freejoint()
    body.add_geom(size=[0.1, 0, 0])
    body.add_site(name="tip")
    with pytest.raises(ConfigurationError, match="free or ball joint"):
        ClosedLoopIK(spec.compile(), "tip")


def test_without_mink_the_extra_is_named(model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mink", None)
    with pytest.raises(MissingExtraError, match=r'pip install "pliant\[ik\]"'):
        ClosedLoopIK(model, "tip")
