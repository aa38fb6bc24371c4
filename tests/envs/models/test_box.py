import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model
from pliant.envs.models.box import BOX, add_box
from pliant.envs.models.scene import View, add_scene, new_spec
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError


def alone(**options):
    spec = new_spec("box", 1e-3, "implicitfast")
    add_scene(spec, View((0.0, 0.0, 0.1), 0.5, "box"))
    add_box(spec, (0.3, -0.1), **options)
    model = compile_model(spec)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 300)
    return model, data


def pushed(model, data, force, seconds=1.0):
    """How far the box goes when it is pushed level through its centre, m."""
    start = data.qpos[:3].copy()
    data.body(BOX).xfrc_applied[:3] = force
    mujoco.mj_step(model, data, round(seconds / model.opt.timestep))
    return np.linalg.norm(data.qpos[:3] - start)


def test_it_weighs_what_it_should_and_is_a_uniform_cube():
    model, _ = alone(mass=3.0, edge=0.2)
    assert model.body(BOX).mass[0] == pytest.approx(3.0)
    np.testing.assert_allclose(model.body(BOX).inertia, 3.0 * 0.2**2 / 6.0)


def test_it_stands_where_it_is_put():
    _, data = alone(yaw=0.7)
    np.testing.assert_allclose(data.qpos[:3], [0.3, -0.1, 0.1325], atol=2e-4)
    np.testing.assert_allclose(data.qpos[3:], [np.cos(0.35), 0, 0, np.sin(0.35)], atol=1e-6)


def test_it_slides_from_its_own_friction_on_not_from_the_floors():
    limit = 0.23 * 2.0 * 9.81
    assert pushed(*alone(), [0.9 * limit, 0.0, 0.0]) < 2e-3
    far = pushed(*alone(), [1.2 * limit, 0.0, 0.0])
    assert far == pytest.approx(0.5 * 0.2 * limit / 2.0, rel=0.05)  # ½·(F − μmg)/m·t²


def test_wrong_arguments_are_refused_by_name():
    spec = new_spec("box", 1e-3, "implicitfast")
    with pytest.raises(ShapeError, match="box: position"):
        add_box(spec, (0.0, 0.0, 0.0))
    for name, value in (("yaw", np.inf), ("edge", 0.0), ("mass", -1.0), ("friction", np.nan)):
        with pytest.raises(OutOfBoundsError, match=f"box: {name}"):
            add_box(spec, (0.0, 0.0), **{name: value})
    add_box(spec, (0.0, 0.0))
    with pytest.raises(ConfigurationError, match="has a body 'box' already"):
        add_box(spec, (1.0, 0.0))
