"""Closed triangle meshes for the outside of machines: plates, rounded boxes, discs, marks.

Everything is a loft of convex loops along z; a mesh is merged from several lofts, so that one geom draws one
material of a part.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


class Mesh(NamedTuple):
    """A closed surface."""

    vertices: Array
    """(n, 3), m"""
    faces: NDArray[np.int32]
    """(m, 3), counter-clockwise seen from outside"""


def loft(outlines: Sequence[ArrayLike], heights: Sequence[float]) -> Mesh:
    """Join convex outlines (each (n, 2), counter-clockwise) at ascending heights, closed by flat caps."""
    loops = [np.column_stack([o, np.full(len(np.asarray(o)), z)]) for o, z in zip(outlines, heights, strict=True)]
    n = len(loops[0])
    here = np.arange(n)
    after = (here + 1) % n
    fan = np.column_stack([np.zeros(n - 2, int), here[1:-1], here[2:]])
    faces = [fan[:, ::-1], fan + n * (len(loops) - 1)]
    for level in range(len(loops) - 1):
        low, high = n * level, n * (level + 1)
        faces.append(np.column_stack([low + here, low + after, high + after]))
        faces.append(np.column_stack([low + here, high + after, high + here]))
    return Mesh(np.vstack(loops), np.vstack(faces).astype(np.int32))


def merged(*meshes: Mesh) -> Mesh:
    """One mesh from several."""
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes[:-1]])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(faces).astype(np.int32))


def moved(mesh: Mesh, offset: ArrayLike) -> Mesh:
    """The mesh displaced by `offset`, m."""
    return Mesh(mesh.vertices + np.asarray(offset, np.float64), mesh.faces)


def turned(mesh: Mesh, angle: float) -> Mesh:
    """The mesh turned about z by `angle`, rad."""
    c, s = np.cos(angle), np.sin(angle)
    return Mesh(mesh.vertices @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]), mesh.faces)


def along_x(mesh: Mesh) -> Mesh:
    """The mesh with its axes renamed z → x → y → z, so that it is lofted along x."""
    return Mesh(mesh.vertices[:, [2, 0, 1]], mesh.faces)


def circle(radius: float, points: int = 48) -> Array:
    """Outline of a circle, (points, 2)."""
    angle = 2 * np.pi * np.arange(points) / points
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def rectangle(half_x: float, half_y: float, corner: float, points: int = 6) -> Array:
    """Outline of a rectangle with round corners of radius `corner`, (4·points, 2)."""
    arc = np.linspace(0.0, np.pi / 2, points)
    corners = [(half_x, half_y, 0), (-half_x, half_y, 1), (-half_x, -half_y, 2), (half_x, -half_y, 3)]
    return np.vstack(
        [
            [x - np.sign(x) * corner, y - np.sign(y) * corner]
            + corner * np.column_stack([np.cos(arc + k * np.pi / 2), np.sin(arc + k * np.pi / 2)])
            for x, y, k in corners
        ]
    )


def tongue(radius: float, reach: float, half_width: float, points: int = 24) -> Array:
    """Outline of a plate with a round end about the origin, widening to ±half_width at x = reach."""
    tilt = np.arcsin((half_width - radius) / np.hypot(reach, half_width))
    arc = np.linspace(np.pi / 2 + tilt, 3 * np.pi / 2 - tilt, points)
    round_end = radius * np.column_stack([np.cos(arc), np.sin(arc)])
    return np.vstack([round_end, [[reach, -half_width], [reach, half_width]]])


def taper(start: float, end: float, length: float, points: int = 20) -> Array:
    """Outline around two circles of radius `start` at the origin and `end` at x = length."""
    tilt = np.arcsin((start - end) / length)
    arc = np.linspace(-np.pi / 2 + tilt, np.pi / 2 - tilt, points)
    far = end * np.column_stack([np.cos(arc), np.sin(arc)]) + [length, 0.0]
    arc = np.linspace(np.pi / 2 - tilt, 3 * np.pi / 2 + tilt, points)
    return np.vstack([far, start * np.column_stack([np.cos(arc), np.sin(arc)])])


def slab(outline: ArrayLike, low: float, high: float, chamfer: float = 0.0) -> Mesh:
    """An outline extruded from z = low to high, its edges chamfered."""
    full = np.asarray(outline, np.float64)
    if chamfer <= 0.0:
        return loft([full, full], [low, high])
    centre = full.mean(axis=0)
    small = centre + (full - centre) * (1.0 - chamfer / np.abs(full - centre).max())
    return loft([small, full, full, small], [low, low + chamfer, high - chamfer, high])


def rounded_box(half_x: float, half_y: float, half_z: float, edge: float) -> Mesh:
    """A box whose edges and corners are rounded with radius `edge`."""
    arc = np.linspace(0.0, np.pi / 2, 6)
    inset = edge * (1.0 - np.sin(arc))
    corner = edge * 1.4
    outlines = [rectangle(half_x - i, half_y - i, corner - i) for i in inset]
    heights = list(-half_z + edge * (1.0 - np.cos(arc)))
    return loft(outlines + outlines[::-1], heights + [-z for z in heights[::-1]])


def box(low: ArrayLike, high: ArrayLike) -> Mesh:
    """The box between two opposite corners."""
    (x0, y0, z0), (x1, y1, z1) = np.asarray(low, np.float64), np.asarray(high, np.float64)
    return slab([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], float(z0), float(z1))
