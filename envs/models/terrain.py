"""What a robot walks on instead of a flat floor: steps, a slope, rough ground."""

from collections.abc import Mapping
from math import cos, sin
from typing import Any, Final

import mujoco
import numpy as np

from pliant.envs.models.shapes import Array
from pliant.errors import ConfigurationError, check_bounds, check_count, unknown_name

TERRAINS: Final = {"steps": (1e-3, 0.5, "m"), "slope": (-0.6, 0.6, "rad"), "rough": (1e-3, 0.5, "m")}
"""The terrains, and bounds of the number that each has."""

_STEPS, _DEPTH, _BEGIN, _WIDTH = 8, 0.25, 0.4, 2.0
_HALF, _CELLS, _GRAIN = 2.0, 128, 4
"""Half of the rough ground's edge, m; cells along it; cells from one random height to the next."""
_LEVEL = 0.3
"""Radius around the start where the ground is level, m."""


def add_terrain(spec: mujoco.MjSpec, terrain: Mapping[str, Any] | None, robot: str) -> float:
    """Put a terrain on the floor of a scene; return by how much a robot at the origin leans back on it, rad.

    - `steps`: eight upwards along x from 0.4 m on, 0.25 m deep, as high as the number says, m.
    - `slope`: the floor rises along x by this angle, rad.
    - `rough`: 4 m × 4 m of random heights up to this one, m, drawn with `seed` and joined smoothly; level around
      the origin.

    Args:
        spec: with the floor of `scene.add_scene`.
        terrain: one of `TERRAINS` with its number, and `seed` of a rough one; None: flat.
        robot: its name, for messages.

    Raises:
        ConfigurationError: no mapping, no terrain or several.
        UnknownNameError: no such terrain.
        OutOfBoundsError: a number that cannot be.
    """
    if terrain is None:
        return 0.0
    where = f"{robot}: terrain"
    if not isinstance(terrain, Mapping):
        raise ConfigurationError(f"{where} is {terrain!r}; a mapping such as {{steps: 0.02}} is needed.")
    for name in terrain:
        if name not in (*TERRAINS, "seed"):
            raise unknown_name("terrain", name, (*TERRAINS, "seed"), where)
    kinds = [name for name in terrain if name in TERRAINS]
    if len(kinds) != 1 or ("seed" in terrain and kinds != ["rough"]):
        raise ConfigurationError(f"{where}: one of {', '.join(TERRAINS)} is needed, and a seed of `rough` only.")
    kind = kinds[0]
    low, high, unit = TERRAINS[kind]
    size = check_bounds(f"{where}: {kind}", terrain[kind], low, high, unit)
    if kind == "slope":
        spec.geom("floor").quat = [cos(size / 2), 0.0, -sin(size / 2), 0.0]
        return size
    if kind == "steps":
        _add_steps(spec, size)
    else:
        _add_rough(spec, size, check_count(f"{where}: seed", terrain.get("seed", 0), 0, 2**31 - 1))
    return 0.0


def _add_steps(spec: mujoco.MjSpec, rise: float) -> None:
    length = _STEPS * _DEPTH
    for k in range(_STEPS):
        half = (length - k * _DEPTH) / 2
        spec.worldbody.add_geom(
            name=f"step{k + 1}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            pos=[_BEGIN + length - half, 0.0, (k + 0.5) * rise],
            size=[half, _WIDTH / 2, rise / 2],
            material="profile",
        )


def _add_rough(spec: mujoco.MjSpec, height: float, seed: int) -> None:
    heights = rough_heights(seed)
    spec.add_hfield(
        name="rough",
        size=[_HALF, _HALF, height, 0.05],
        nrow=len(heights),
        ncol=len(heights),
        userdata=heights.ravel().tolist(),
    )
    spec.worldbody.add_geom(
        name="rough",
        type=mujoco.mjtGeom.mjGEOM_HFIELD,
        hfieldname="rough",
        pos=[0.0, 0.0, 1e-3],
        material="profile",
    )


def rough_heights(seed: int) -> Array:
    """Return heights from 0 to 1 on a square grid, the corners of its cells; 0 around its middle."""
    coarse = np.random.default_rng(seed).uniform(0.0, 1.0, (_CELLS // _GRAIN + 1,) * 2)
    fine, knots = np.arange(_CELLS + 1) / _GRAIN, np.arange(len(coarse))
    rows = np.array([np.interp(fine, knots, row) for row in coarse])
    heights = np.array([np.interp(fine, knots, column) for column in rows.T]).T
    along = np.linspace(-_HALF, _HALF, _CELLS + 1)
    away = np.hypot(along[:, None], along[None, :])
    heights = heights * np.clip((away - _LEVEL) / _LEVEL, 0.0, 1.0)
    return np.asarray(heights / heights.max(), np.float64)
