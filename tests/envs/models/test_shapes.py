import mujoco
import numpy as np
import pytest

from pliant.envs.models import shapes

MESHES = {
    "slab": shapes.slab(shapes.rectangle(0.03, 0.02, 0.004), -0.01, 0.02, 0.001),
    "rounded box": shapes.rounded_box(0.03, 0.02, 0.01, 0.003),
    "tongue": shapes.slab(shapes.tongue(0.019, 0.06, 0.031), 0.0, 0.004),
    "taper": shapes.slab(shapes.taper(0.06, 0.04, 1.0), -0.02, 0.02, 0.004),
    "box along x": shapes.along_x(shapes.box((0, 0, 0), (1, 2, 3))),
    "turned and merged": shapes.merged(
        shapes.turned(shapes.box((0, 0, 0), (1, 1, 1)), 0.3),
        shapes.moved(shapes.box((0, 0, 0), (1, 1, 1)), (5, 0, 0)),
    ),
}


def volume(mesh: shapes.Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize("name", MESHES)
def test_meshes_are_closed_with_their_faces_outward(name):
    mesh = MESHES[name]
    edges = {(int(f[i]), int(f[(i + 1) % 3])) for f in mesh.faces for i in range(3)}
    assert len(edges) == 3 * len(mesh.faces)
    assert all((b, a) in edges for a, b in edges)
    assert volume(mesh) > 0.0


@pytest.mark.parametrize("name", MESHES)
def test_mujoco_accepts_the_meshes(name):
    spec = mujoco.MjSpec()
    mesh = MESHES[name]
    spec.add_mesh(name="m", uservert=mesh.vertices.ravel().tolist(), userface=mesh.faces.ravel().tolist())
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="m")
    assert spec.compile().nmesh == 1


def test_volumes_are_those_of_the_solids():
    assert volume(shapes.box((0, 0, 0), (1, 2, 3))) == pytest.approx(6.0)
    assert volume(shapes.slab(shapes.circle(0.5, 400), 0.0, 2.0)) == pytest.approx(np.pi / 2, rel=1e-4)
    assert volume(MESHES["turned and merged"]) == pytest.approx(2.0)
    # hull of two equal circles: a rectangle and a disc
    capsule = shapes.slab(shapes.taper(0.1, 0.1, 1.0, 200), 0.0, 1.0)
    assert volume(capsule) == pytest.approx(0.2 + np.pi * 0.01, rel=1e-4)


def test_rounding_keeps_the_outer_size():
    mesh = shapes.rounded_box(0.03, 0.02, 0.01, 0.003)
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), [0.06, 0.04, 0.02], atol=1e-12)
    assert volume(mesh) < 0.06 * 0.04 * 0.02
