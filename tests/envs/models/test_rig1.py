import itertools

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, Mode, compile_model, find_law, law_names, load_model, save_model
from pliant.envs.models.rig1 import rig1
from pliant.errors import ConfigurationError, OutOfBoundsError

MODES = [
    (law, mode)
    for law, mode in itertools.product(law_names(), Mode)
    if (law == "rigid") == (mode <= Mode.LINK_POSITION)
]


def test_inertia_about_the_axis_is_that_of_a_point_mass(at_pose, mass_matrix):
    model, data = at_pose(rig1())
    assert mass_matrix(model, data)[0, 0] == pytest.approx(3.2e-4, rel=1e-8)
    model, data = at_pose(rig1(mass=0.5, length=0.1))
    assert mass_matrix(model, data)[0, 0] == pytest.approx(0.5 * 0.1**2, rel=1e-8)


@pytest.mark.parametrize("q", [-2.0, -0.3, 0.0, 0.8, np.pi / 2])
def test_gravity_acts_as_mgl_sin_q(q, at_pose):
    _, data = at_pose(rig1(), q)
    assert data.qfrc_bias[0] == pytest.approx(0.07848 * np.sin(q), abs=1e-12)


def test_the_tip_hangs_down_at_zero_and_moves_towards_x(at_pose):
    _, data = at_pose(rig1())
    hanging = data.site("tip").xpos.copy()
    _, data = at_pose(rig1(), 0.8)
    np.testing.assert_allclose(
        data.site("tip").xpos - hanging, [0.04 * np.sin(0.8), 0.0, 0.04 * (1 - np.cos(0.8))], atol=1e-12
    )


def test_the_weight_is_all_that_moves():
    model = compile_model(rig1().spec)
    assert model.body_mass.sum() == pytest.approx(0.2, rel=1e-12)
    assert model.nv == 1


@pytest.mark.parametrize(("law", "mode"), MODES, ids=lambda value: getattr(value, "name", value))
def test_every_law_runs_in_every_mode(law, mode):
    model = compile_model(rig1(CompliantJoint(find_law(law)(), mode), timestep=1e-4).spec)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 50)
    assert np.isfinite(data.qpos).all()
    assert model.opt.timestep == 1e-4


@pytest.mark.parametrize(("preset", "rest"), [(0.2, 0.5777), (0.6, 0.7854)])
def test_a_step_to_0_8_rad_ends_at_the_published_rest_angle(preset, rest):
    model = compile_model(rig1(preset=preset).spec)
    data = mujoco.MjData(model)
    data.ctrl[:] = [0.8, preset]
    mujoco.mj_step(model, data, 5000)
    assert data.qpos[0] == pytest.approx(rest, abs=1e-4)


def test_damping_and_friction_arrive_at_the_joint():
    model = compile_model(rig1(damping=0.3, friction=0.1).spec)
    assert model.dof_damping[0] == 0.3
    assert model.dof_frictionloss[0] == 0.1


def test_the_rig_survives_a_file(tmp_path):
    robot = rig1()
    save_model(robot.spec, tmp_path / "rig.xml")
    loaded, built = load_model(tmp_path / "rig.xml"), compile_model(robot.spec)
    assert loaded.body("pendulum").mass == built.body("pendulum").mass
    for model in (loaded, built):
        data = mujoco.MjData(model)
        data.ctrl[:] = [0.8, 0.2]
        mujoco.mj_step(model, data, 1000)
        assert data.qpos[0] == pytest.approx(0.5777, abs=0.02)
    assert loaded.nmesh == built.nmesh


@pytest.mark.parametrize(
    ("argument", "value"),
    [("mass", -0.2), ("mass", np.nan), ("length", 0.0), ("damping", -1.0), ("friction", np.inf), ("preset", 9.0)],
)
def test_bad_numbers_are_refused_by_name(argument, value):
    with pytest.raises(OutOfBoundsError, match=argument):
        rig1(**{argument: value})


def test_a_preset_needs_a_joint_that_has_one():
    with pytest.raises(ConfigurationError, match="'sea' has no stiffness preset"):
        rig1(CompliantJoint(find_law("sea")()), preset=0.1)


def test_a_law_is_not_a_joint():
    with pytest.raises(ConfigurationError, match="CompliantJoint, not as Law"):
        rig1(find_law("sea"))
