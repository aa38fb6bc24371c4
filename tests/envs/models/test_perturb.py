import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, add_compliant_joint, compile_model, find_law
from pliant.actuators.layout import DRIVE_AT, LAW_AT
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.arm5 import arm5
from pliant.envs.models.perturb import perturb, perturb_joints
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.two_link import two_link
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import OutOfBoundsError

OWN_LAW = """
from pliant.actuators import Parameter, compliance_law


@compliance_law(parameters=(Parameter("k", "", 5.0, 0.1, 100.0, ""), Parameter("c", "", 1.0, 0.0, 1.0, "")))
def cubic(q: float, theta: float, k: float, c: float) -> float:
    d = q - theta
    return -k * (d + c * d * d * d)
"""


def test_changes_stay_within_their_bounds_and_fill_them():
    robot = arm5()
    nominal = robot.spec.compile()
    random = np.random.default_rng(0)
    masses, frictions = [], []
    for _ in range(40):
        model = perturb(robot, random).spec.compile()
        masses.append(model.body_mass[1:] / nominal.body_mass[1:])
        frictions.append(model.dof_damping / nominal.dof_damping)
        frictions.append(model.dof_frictionloss / nominal.dof_frictionloss)
    assert 0.9 <= np.min(masses) < 0.92
    assert 1.08 < np.max(masses) <= 1.1
    assert 0.5 <= np.min(frictions) < 0.55
    assert 1.45 < np.max(frictions) <= 1.5


def test_inertia_scales_with_mass_and_its_place_stays():
    robot = arm2()
    nominal, model = compile_model(robot.spec), compile_model(perturb(robot, np.random.default_rng(3)).spec)
    ratio = model.body_mass[1:] / nominal.body_mass[1:]
    np.testing.assert_allclose(model.body_inertia[1:], nominal.body_inertia[1:] * ratio[:, None], rtol=1e-9)
    np.testing.assert_allclose(model.body_ipos, nominal.body_ipos, atol=1e-12)
    assert len(set(ratio)) == 2


def test_the_same_seed_gives_the_same_robot_and_another_a_different_one():
    robot = arm2()
    first, again, other = (
        compile_model(perturb(robot, np.random.default_rng(seed)).spec).body_mass for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, again)
    assert (first[1:] != other[1:]).all()


def test_the_same_seed_gives_the_same_robot_whether_or_not_it_was_compiled_before():
    fresh = compile_model(perturb(arm2(), np.random.default_rng(5)).spec)
    robot = arm2()
    compile_model(robot.spec)
    used = compile_model(perturb(robot, np.random.default_rng(5)).spec)
    np.testing.assert_array_equal(fresh.body_mass, used.body_mass)
    np.testing.assert_array_equal(fresh.dof_damping, used.dof_damping)


def test_the_original_is_not_touched():
    robot = arm2()
    before = compile_model(robot.spec)
    copy = perturb(robot, np.random.default_rng(0))
    after = compile_model(robot.spec)
    np.testing.assert_array_equal(before.body_mass, after.body_mass)
    np.testing.assert_array_equal(before.dof_damping, after.dof_damping)
    assert (copy.name, copy.joints, copy.end_effectors) == (robot.name, robot.joints, robot.end_effectors)


def test_no_change_moves_exactly_like_the_original():
    robot = arm2()
    motions = []
    for spec in (robot.spec, perturb(robot, np.random.default_rng(0), mass=0.0, friction=0.0).spec):
        model = compile_model(spec)
        data = mujoco.MjData(model)
        data.ctrl[:] = [0.5, 0.2, 0.3, 0.2]
        mujoco.mj_step(model, data, 300)
        motions.append(data.qpos.copy())
    np.testing.assert_array_equal(*motions)


def test_joints_stay_compliant_and_frictionless_ones_stay_so():
    robot = two_link()
    model = compile_model(perturb(robot, np.random.default_rng(0)).spec)
    np.testing.assert_array_equal(model.dof_damping, 0.0)
    assert [model.actuator(i).name for i in range(model.nu)] == ["shoulder/torque", "elbow/torque"]


def test_masses_that_mujoco_infers_from_geoms_are_scaled_too():
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="body")
    body.add_joint(name="hinge")
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.1, 0.1, 0.1])
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0], mass=3.0)
    robot = RobotModel("made of geoms", spec, ())
    nominal, model = (s.compile() for s in (spec, perturb(robot, np.random.default_rng(0)).spec))
    ratio = model.body_mass[1] / nominal.body_mass[1]
    assert ratio != 1.0
    assert 0.9 <= ratio <= 1.1
    np.testing.assert_allclose(model.body_inertia[1], nominal.body_inertia[1] * ratio, rtol=1e-9)


@pytest.mark.parametrize("change", [{"mass": -0.1}, {"mass": 1.0}, {"friction": 1.5}, {"friction": float("nan")}])
def test_impossible_changes_are_refused(change):
    with pytest.raises(OutOfBoundsError, match=f"perturb: {next(iter(change))}"):
        perturb(arm2(), np.random.default_rng(0), **change)


def scales(robot, spring, motor, seed=0):
    """By what the laws' and the drives' parameters of every joint differ from before."""
    before = robot.model.actuator_user.copy()
    perturb_joints(robot.model, robot.compiled.joints, np.random.default_rng(seed), spring, motor)
    found = []
    for joint in robot.compiled.joints:
        row, was = (user[joint.actuators[0]] for user in (robot.model.actuator_user, before))
        blocks = [(LAW_AT, joint.description.law.law.parameters)]
        blocks += [(DRIVE_AT, drive.kind.parameters) for drive in joint.description.drives[:1]]
        changed = {p.name: row[at + k] / was[at + k] for at, ps in blocks for k, p in enumerate(ps) if was[at + k]}
        others = np.setdiff1d(np.arange(len(row)), [at + k for at, ps in blocks for k in range(len(ps))])
        np.testing.assert_array_equal(row[others], was[others])
        found.append(changed)
    return found


def test_every_parameter_of_springs_and_motors_varies_and_gains_do_not():
    for changed in scales(SimulatedRobot(arm2()), 0.1, 0.2):
        springs = [changed.pop(name) for name in ("k1", "a1", "k2", "a2", "max_deflection")]
        gains = [
            changed.pop(name) for name in ("kp", "kd", "integral_limit", "derivative_weight", "derivative_filter")
        ]
        assert (np.abs(np.subtract(springs, 1.0)) <= 0.1).all()
        assert len(set(springs)) == 5
        assert gains == [1.0] * 5
        motors = list(changed.values())
        assert len(set(motors)) == len(motors) >= 5
        assert 0.01 < np.abs(np.subtract(motors, 1.0)).max() <= 0.2


def test_the_parameters_of_a_law_of_ones_own_vary_within_their_bounds(tmp_path, monkeypatch):
    (tmp_path / "ownlaw.py").write_text(OWN_LAW)
    monkeypatch.syspath_prepend(tmp_path)
    spec = mujoco.MjSpec.from_string(
        "<mujoco><worldbody><body><joint name='j' damping='1'/><geom size='.1'/></body></worldbody></mujoco>"
    )
    add_compliant_joint(spec, "j", CompliantJoint(find_law("ownlaw:cubic")(k=8.0, c=1.0), 3))
    for seed in range(8):
        (changed,) = scales(SimulatedRobot(RobotModel("own", spec, ("j",))), 0.5, 0.0, seed)
        assert 0.5 <= changed["k"] <= 1.5
        assert changed["k"] != 1.0
        assert changed["c"] <= 1.0, "its upper bound"


def test_impossible_changes_of_joints_are_refused():
    robot = SimulatedRobot(arm2())
    for change in ({"spring": 1.0}, {"motor": -0.1}):
        with pytest.raises(OutOfBoundsError, match=f"perturb: {next(iter(change))}"):
            perturb_joints(robot.model, robot.compiled.joints, np.random.default_rng(0), **change)
