"""Terrains on the floor of a scene."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model
from pliant.envs.models.scene import View, add_scene, new_spec
from pliant.envs.models.terrain import add_terrain, rough_heights


def ground(terrain):
    """A scene with the terrain, and by how much a robot leans on it."""
    spec = new_spec("ground", 1e-3, "euler")
    ball = spec.worldbody.add_body(name="ball")
    ball.add_geom(size=[0.01, 0, 0])
    add_scene(spec, View((0.0, 0.0, 0.0), 1.0, "ball"))
    lean = add_terrain(spec, terrain, "robot")
    return compile_model(spec), lean


def height(model, x, y):
    """Of what lies below a point, m."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    hit = np.zeros(1, np.int32)
    down = np.array([0.0, 0.0, -1.0])
    return 2.0 - mujoco.mj_ray(model, data, np.array([x, y, 2.0]), down, None, 1, -1, hit, None)


def test_steps_rise_from_where_they_are_said_to():
    model, lean = ground({"steps": 0.025})
    assert lean == 0.0
    heights = [height(model, 0.4 + 0.25 * k - 0.05, 0.3) for k in range(9)]
    np.testing.assert_allclose(heights, 0.025 * np.arange(9), atol=1e-9)


@pytest.mark.parametrize("angle", [0.2, -0.1])
def test_a_slope_rises_along_x_by_its_angle(angle):
    model, lean = ground({"slope": angle})
    assert lean == angle
    for x in (-0.5, 0.0, 1.0):
        assert height(model, x, 0.7) == pytest.approx(x * np.tan(angle), abs=1e-9)


def test_rough_ground_is_level_at_the_start_and_no_higher_than_said():
    model, lean = ground({"rough": 0.04, "seed": 5})
    assert lean == 0.0
    assert height(model, 0.1, 0.1) == pytest.approx(0.0, abs=2e-3)
    x, y = np.random.default_rng(0).uniform(-1.9, 1.9, (2, 200))
    heights = np.array([height(model, *at) for at in zip(x, y, strict=True)])
    assert 0.0 <= heights.min() < 0.01 < 0.02 < heights.max() < 0.042


def test_rough_ground_is_the_same_for_a_seed_and_another_for_another():
    np.testing.assert_array_equal(rough_heights(1), rough_heights(1))
    assert np.abs(rough_heights(1) - rough_heights(2)).max() > 0.1
    assert (rough_heights(1).min(), rough_heights(1).max()) == (0.0, 1.0)
