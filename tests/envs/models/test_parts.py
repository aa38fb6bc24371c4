import mujoco
import numpy as np
import pytest

from pliant.envs.models import parts
from pliant.envs.models.scene import new_spec


@pytest.mark.parametrize(
    ("part", "mass"),
    [
        (parts.CUBE, 0.45419),
        (parts.FLAT_FLANGE, 0.04190),
        (parts.C_FLANGE, 0.08664),
        (parts.HAND_FLANGE, 0.03481),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_part_weighs_what_is_stated_and_nothing_that_is_drawn(part, mass):
    spec = new_spec("part", 1e-3, "euler")
    link = spec.worldbody.add_body(name="link")
    link.add_freejoint()
    parts.add_part(spec, link, "part", part, (0, 0, 0), (1, 0, 0), (0, 0, 1))
    spec.fuse_static()
    model = spec.compile()
    assert model.body("link").mass[0] == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(np.sort(model.body("link").inertia), np.sort(part.inertial.inertia), rtol=1e-6)
    np.testing.assert_allclose(model.body("link").ipos, part.inertial.centre, atol=1e-12)


def test_the_cube_has_the_stated_edge_and_inertia():
    assert parts.CUBE.inertial.inertia == (1.798e-4, 1.781e-4, 1.688e-4)
    assert parts.CUBE_EDGE == 0.066
    housing = dict(parts.CUBE.looks)["housing"]()
    np.testing.assert_allclose(np.ptp(housing.vertices, axis=0), 0.066, atol=1e-12)


def test_offsets_between_parts_are_the_published_ones():
    assert (parts.FLAT_TO_CUBE, parts.C_TO_CUBE, parts.CUBE_TO_FLAT) == (0.037, 0.090, 0.0405)


def test_plates_weigh_like_the_boxes_that_mujoco_makes_of_them():
    boxes = np.array(
        [[[0, -1, -1], [0.2, 1, 1]], [[-2, -0.5, 0.8], [0, 0.5, 1]], [[-2, -0.5, -1], [0, 0.5, -0.8]]]
    )
    inertial = parts.plates_inertial(3.0, boxes)
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="b")
    body.add_freejoint()
    volumes = np.prod(boxes[:, 1] - boxes[:, 0], axis=1)
    for low, high in boxes:
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=(low + high) / 2,
            size=(high - low) / 2,
            density=3.0 / volumes.sum(),
        )
    model = spec.compile()
    np.testing.assert_allclose(model.body("b").ipos, inertial.centre, atol=1e-12)
    np.testing.assert_allclose(np.sort(model.body("b").inertia), np.sort(inertial.inertia), rtol=1e-9)


def test_the_c_flange_balances_on_its_plane_of_symmetry_between_axis_and_web():
    x, y, z = parts.C_FLANGE.inertial.centre
    assert y == pytest.approx(0.0, abs=1e-12)
    assert z == pytest.approx(0.0, abs=1e-12)
    assert 0.0 < x < parts.C_TO_FACE


def test_orientation_turns_the_axes_where_they_are_asked():
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, parts.orientation((0, 0, -1), (0, -1, 0)))
    np.testing.assert_allclose(matrix.reshape(3, 3), [[0, 1, 0], [0, 0, -1], [-1, 0, 0]], atol=1e-12)


def test_what_is_seen_does_not_touch_and_what_touches_is_not_seen():
    spec = new_spec("part", 1e-3, "euler")
    for i, part in enumerate((parts.CUBE, parts.FLAT_FLANGE, parts.C_FLANGE, parts.HAND_FLANGE)):
        parts.add_part(spec, spec.worldbody, f"part{i}", part, (0, 0, 0), (1, 0, 0), (0, 0, 1))
    model = spec.compile()
    seen = model.geom_group == parts.VISUAL_GROUP
    touching = model.geom_group == parts.COLLISION_GROUP
    assert (seen | touching).all()
    assert touching.sum() == 4
    assert not model.geom_contype[seen].any()
    assert not model.geom_conaffinity[seen].any()
    assert model.geom_contype[touching].all()
    assert (model.geom_matid[seen] >= 0).all()
