"""What surrounds a robot: simulation options, materials, floor, lights, cameras, and stands to fix it to.

Stands are only drawn: nothing collides with them. The floor carries what is put on it.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.envs.models import shapes
from pliant.envs.models.parts import add_mesh, orientation
from pliant.envs.models.shapes import Array
from pliant.errors import check_bounds, unknown_name

GRAVITY = 9.81
_FOVY = 30.0

INTEGRATORS = {
    name.removeprefix("mjINT_").lower(): value for name, value in mujoco.mjtIntegrator.__members__.items()
}
"""MuJoCo's integrators by the name they have in MJCF, in lower case."""

MATERIALS = {
    # name: colour, specular, shininess
    "housing": ((0.115, 0.120, 0.130, 1.0), 0.35, 0.45),
    "panel": ((0.185, 0.190, 0.205, 1.0), 0.25, 0.30),
    "ink": ((0.90, 0.91, 0.92, 1.0), 0.10, 0.10),
    "flange": ((0.080, 0.290, 0.640, 1.0), 0.55, 0.60),
    "steel": ((0.680, 0.700, 0.730, 1.0), 0.80, 0.80),
    "brass": ((0.780, 0.610, 0.280, 1.0), 0.80, 0.70),
    "mark": ((1.000, 0.430, 0.050, 1.0), 0.15, 0.20),
    "rubber": ((0.210, 0.210, 0.220, 1.0), 0.05, 0.05),
    "profile": ((0.600, 0.620, 0.640, 1.0), 0.45, 0.50),
    "plate": ((0.420, 0.435, 0.455, 1.0), 0.30, 0.40),
}


@dataclass(frozen=True)
class View:
    """What the cameras look at: a point and the radius of what should be in the picture, m."""

    centre: tuple[float, float, float]
    radius: float
    follow: str
    """Name of the body that the camera `tracking` keeps in the middle."""
    elevation: float = 10.0
    """How far above the horizon the camera `front` stands, degrees."""
    azimuth: float = -85.0
    """Where the camera `front` stands around the centre, degrees from +x to +y; light comes from behind it."""


def new_spec(name: str, timestep: float, integrator: str, gravity: bool = True) -> mujoco.MjSpec:
    """Return an empty spec with its simulation options and materials.

    Args:
        name: of the model.
        timestep: s.
        integrator: one of `INTEGRATORS`.
        gravity: 9.81 m/s² along −z, or none.

    Raises:
        OutOfBoundsError: the time step is not finite or outside [1e-6, 0.1] s.
        UnknownNameError: there is no such integrator.
    """
    if integrator not in INTEGRATORS:
        raise unknown_name("integrator", integrator, INTEGRATORS, name)
    spec = mujoco.MjSpec()
    spec.modelname = name
    spec.compiler.degree = False
    spec.option.timestep = check_bounds(f"{name}: timestep", timestep, 1e-6, 0.1, "s")
    spec.option.integrator = INTEGRATORS[integrator]
    spec.option.gravity = [0.0, 0.0, -GRAVITY if gravity else 0.0]
    for material, (colour, specular, shininess) in MATERIALS.items():
        spec.add_material(
            name=material, rgba=list(colour), specular=specular, shininess=shininess, reflectance=0.0
        )
    return spec


def add_scene(spec: mujoco.MjSpec, view: View) -> None:
    """Add sky, floor, lights and the cameras `front`, `side` and `tracking`.

    `front` and `side` look at `view.centre`, 70° apart; `tracking`, between them, turns after `view.follow`.
    """
    add_sky(spec)
    add_floor(spec, tiles=5 if view.radius < 0.6 else 1)
    add_lights(spec, view)
    _add_cameras(spec, view)
    spec.stat.center = list(view.centre)
    spec.stat.extent = 2.0 * view.radius
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight = 1920, 1080
    visual.global_.azimuth, visual.global_.elevation = view.azimuth + 200.0, -15.0
    visual.quality.shadowsize = 2048
    visual.quality.offsamples = 4
    visual.rgba.haze = [0.90, 0.92, 0.93, 1.0]
    visual.map.znear = 0.02
    visual.map.zfar = 20.0


def add_sky(spec: mujoco.MjSpec, prefix: str = "") -> None:
    """Add a bright sky; `prefix` goes before its name."""
    spec.add_texture(
        name=f"{prefix}sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.74, 0.79, 0.84],
        rgb2=[0.90, 0.92, 0.93],
        width=256,
        height=1536,
    )


def add_floor(spec: mujoco.MjSpec, tiles: int, prefix: str = "") -> mujoco.MjsGeom:
    """Add a floor, a plane at height 0, and return it.

    Args:
        spec: what it is added to.
        tiles: how many lie along a metre.
        prefix: goes before the names of what is added.
    """
    name = f"{prefix}floor"
    spec.add_texture(
        name=name,
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        mark=mujoco.mjtMark.mjMARK_EDGE,
        rgb1=[0.82, 0.83, 0.84],
        rgb2=[0.80, 0.81, 0.82],
        markrgb=[0.70, 0.71, 0.72],
        width=512,
        height=512,
    )
    floor = spec.add_material(name=name, texrepeat=[tiles, tiles], texuniform=True, specular=0.1)
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    return spec.worldbody.add_geom(
        name=name, type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 0.05], material=name
    )


def add_lights(spec: mujoco.MjSpec, view: View, prefix: str = "") -> None:
    """Add light from behind the camera `front`; `prefix` goes before the names of the lights."""
    spec.visual.headlight.ambient = [0.38, 0.38, 0.38]
    spec.visual.headlight.diffuse = [0.30, 0.30, 0.30]
    spec.visual.headlight.specular = [0.10, 0.10, 0.10]
    spec.visual.map.shadowclip = 5.0
    for name, azimuth, elevation, strength, shadow in (
        ("key", view.azimuth - 35.0, 50.0, 0.50, True),
        ("fill", view.azimuth + 55.0, 25.0, 0.16, False),
    ):
        back = _direction(azimuth, elevation)
        spec.worldbody.add_light(
            name=f"{prefix}{name}",
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            pos=list(np.array(view.centre) + 12.0 * view.radius * back),
            dir=list(-back),
            diffuse=[strength] * 3,
            specular=[0.35 * strength] * 3,
            castshadow=shadow,
        )


def _direction(azimuth: float, elevation: float) -> Array:
    """Unit vector, (3,); angles in degrees."""
    a, e = np.radians(azimuth), np.radians(elevation)
    return np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])


def _add_cameras(spec: mujoco.MjSpec, view: View) -> None:
    centre = np.array(view.centre)
    distance = view.radius / np.tan(np.radians(_FOVY / 2))
    for name, azimuth, elevation in (
        ("front", view.azimuth, view.elevation),
        ("side", view.azimuth + 70.0, 12.0),
        ("tracking", view.azimuth + 35.0, max(25.0, view.elevation)),
    ):
        back = _direction(azimuth, elevation)
        right = _direction(azimuth + 90.0, 0.0)
        camera = spec.worldbody.add_camera(name=name, pos=list(centre + distance * back), fovy=_FOVY)
        camera.quat = orientation(right, back)
        if name == "tracking":
            camera.mode = mujoco.mjtCamLight.mjCAMLIGHT_TARGETBODYCOM
            camera.targetbody = view.follow


def add_beam(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, start: ArrayLike, end: ArrayLike, width: float = 0.04
) -> None:
    """Draw a square aluminium profile between two points that differ along one axis."""
    a, b = np.asarray(start, np.float64), np.asarray(end, np.float64)
    half = np.abs(b - a) / 2
    half = np.where(half > 0.0, half, width / 2)
    _add_block(spec, body, name, "profile", (a + b) / 2, half, 0.003)


def add_plate(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, centre: ArrayLike, half_sizes: ArrayLike
) -> None:
    """Draw a mounting plate, a block with rounded edges."""
    _add_block(spec, body, name, "plate", np.asarray(centre, np.float64), np.asarray(half_sizes), 0.002)


def _add_block(
    spec: mujoco.MjSpec,
    body: mujoco.MjsBody,
    name: str,
    material: str,
    centre: Array,
    half: Array,
    edge: float,
) -> None:
    x, y, z = map(float, half)
    geom = add_mesh(spec, body, name, material, lambda: shapes.rounded_box(x, y, z, edge))
    geom.pos = list(centre)


def add_stand(spec: mujoco.MjSpec, top: ArrayLike, width: float = 0.04) -> None:
    """A column of aluminium profile on a foot plate, standing on the floor and ending at `top`, (3,), m."""
    x, y, z = np.asarray(top, np.float64)
    add_beam(spec, spec.worldbody, "column", (x, y, 0.012), (x, y, z), width)
    add_plate(spec, spec.worldbody, "foot", (x, y, 0.006), (2.6 * width, 2.6 * width, 0.006))
