"""Solids of revolution, of which the outsides of arms are made."""

from functools import partial
from math import pi
from typing import NamedTuple

import mujoco
import numpy as np

from pliant.envs.models import shapes
from pliant.envs.models.parts import add_mesh, orientation
from pliant.envs.models.shapes import Mesh

Vector = tuple[float, float, float]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
ORIGIN = (0.0, 0.0, 0.0)
_ROUND = 7
"""Outlines of a rounded edge."""


class Turned(NamedTuple):
    """A solid of revolution on a body, along an axis of it, from `low` to `high`, m."""

    body: str
    material: str
    origin: Vector
    axis: Vector
    radius: float
    low: float
    high: float
    edges: tuple[float, float] = (0.0, 0.0)
    """Radius of the rounded edge at each end, m."""
    taper: float = 1.0
    """Radius at the high end as a multiple of that at the low one."""


def add_turned(spec: mujoco.MjSpec, part: Turned, name: str) -> mujoco.MjsGeom:
    """Draw a solid on its body; its asset is called `name`."""
    geom = add_mesh(spec, spec.body(part.body), name, part.material, partial(_surface, part))
    geom.pos = list(part.origin)
    geom.quat = orientation(Z if part.axis[2] == 0.0 else X, part.axis)
    return geom


def _surface(part: Turned) -> Mesh:
    """The solid's surface, about z."""
    low, high = part.edges
    arc = np.linspace(0.0, pi / 2, _ROUND)
    far = part.taper * part.radius
    radii = [*(part.radius - low * (1.0 - np.sin(arc))), *(far - high * (1.0 - np.cos(arc)))]
    heights = [*(part.low + low * (1.0 - np.cos(arc))), *(part.high - high * (1.0 - np.sin(arc)))]
    kept = [k for k in range(len(heights)) if k == 0 or heights[k] > heights[k - 1] + 1e-6]
    return shapes.loft([shapes.circle(float(radii[k]), 64) for k in kept], [float(heights[k]) for k in kept])
