"""What stands around a robot: boxes, cylinders and spheres, fixed, or held by a spring along one axis.

A thing has priority over whatever touches it: its own friction and contact hold, not the robot's. Contact as
MuJoCo has it (`solref`, `solimp`) is soft by the masses that meet, K_c ≈ m·d/((1 − d)·(d·T·ζ)²), where d is the
impedance and 1/m the sum of their inverse masses, and with pyramidal cones 2/μ² times that: the same numbers are
another stiffness on another robot. For a known one let a spring hold the thing: with contact and spring in
series, 1/K = 1/k + 1/K_c, and the light thing, not the robot, decides on K_c.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import mujoco

from pliant.controllers.checks import finite_array
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.tools import quaternion
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, check_bounds, unknown_name

SHAPES: Final = {"box": 3, "cylinder": 2, "sphere": 1}
"""The shapes, and how many lengths each has."""
_KINDS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
}
_BOUNDS = {
    "friction": (0.0, 10.0, ""),
    "stiffness": (1.0, 1e9, "N/m"),
    "damping": (0.0, 1e7, "N·s/m"),
    "mass": (1e-4, 1e4, "kg"),
}
_IMPEDANCE = (
    ("lowest impedance", 1e-4, 0.9999),
    ("highest impedance", 1e-4, 0.9999),
    ("width", 1e-6, 1.0),
    ("midpoint", 1e-4, 0.9999),
    ("power", 1.0, 100.0),
)
_COLOUR = (0.52, 0.56, 0.60, 1.0)
_HELD_COLOUR = (0.42, 0.58, 0.50, 1.0)
_DISCRETE = int(mujoco.mjtIntegrator.mjINT_DISCRETE)


@dataclass(frozen=True)
class Thing:
    """A solid of one shape; exactly one of `box`, `cylinder` and `sphere` is given.

    Raises:
        ConfigurationError: no shape, several, or what only a held thing has.
        OutOfBoundsError, ShapeError: numbers that cannot be.
    """

    box: Sequence[float] | None = None
    """Edges along x, y and z, m."""
    cylinder: Sequence[float] | None = None
    """Radius, and length along z, m."""
    sphere: float | None = None
    """Radius, m."""
    position: Sequence[float] = (0.0, 0.0, 0.0)
    """Of the centre, in the world of the robot's own model, m."""
    rotation: Sequence[float] = (0.0, 0.0, 0.0)
    """Rotation vector, rad."""
    friction: float = 0.5
    """Coefficient of sliding friction."""
    solref: Sequence[float] | None = None
    """Contact: time constant T, s, and damping ratio ζ; or −stiffness and −damping per unit of mass, 1/s² and 1/s.
    None: 0.02 and 1, or 0.004 and 1 of a thing that a spring holds."""
    solimp: Sequence[float] = (0.9, 0.95, 0.001, 0.5, 2.0)
    """Contact: how impedance grows with depth, as MuJoCo has it."""
    stiffness: float | None = None
    """Of a spring that holds the thing along its z, N/m; None: it stands fixed."""
    damping: float | None = None
    """Of that spring, N·s/m; None: critical for the thing by itself."""
    mass: float = 0.5
    """Of a thing that a spring holds, kg; its weight is carried."""

    def __post_init__(self) -> None:
        self.size()
        for name, shape in (("position", 3), ("rotation", 3), ("solref", 2), ("solimp", 5)):
            values = self.contact if name == "solref" else getattr(self, name)
            object.__setattr__(self, name, tuple(finite_array(name, values, (shape,)).tolist()))
        for name, (low, high, unit) in _BOUNDS.items():
            if getattr(self, name) is not None:  # text such as 5e4, which YAML takes for no number, becomes one
                object.__setattr__(self, name, check_bounds(name, getattr(self, name), low, high, unit))
        first, second = self.contact
        if (first > 0.0) != (second > 0.0) or first == 0.0 or second == 0.0:
            raise OutOfBoundsError(
                f"solref is [{first:g}, {second:g}]; both above 0 (time constant, damping ratio), or both below "
                "(−stiffness, −damping)."
            )
        for (what, low, high), value in zip(_IMPEDANCE, self.solimp, strict=True):
            check_bounds(f"solimp: {what}", value, low, high)
        if self.damping is not None and self.stiffness is None:
            raise ConfigurationError("damping is of a spring that holds a thing: give its stiffness too.")

    @property
    def contact(self) -> Sequence[float]:
        """Its `solref`."""
        if self.solref is not None:
            return self.solref
        return (0.02, 1.0) if self.stiffness is None else (0.004, 1.0)

    def size(self) -> tuple[str, list[float]]:
        """Return its shape, and its size as MuJoCo has it: half of the edges; radius and half of the length."""
        given = {shape: getattr(self, shape) for shape in SHAPES if getattr(self, shape) is not None}
        if len(given) != 1:
            said = " and ".join(given) or "no shape"
            raise ConfigurationError(f"{said} is given; one of {', '.join(SHAPES)} is needed.")
        ((shape, value),) = given.items()
        if shape == "sphere":
            return shape, [check_bounds("sphere: radius", value, 1e-4, 1e3, "m"), 0.0, 0.0]
        lengths = [
            check_bounds(shape, length, 1e-4, 1e3, "m")
            for length in finite_array(shape, value, (SHAPES[shape],)).tolist()
        ]
        if shape == "box":
            return shape, [length / 2 for length in lengths]
        return shape, [lengths[0], lengths[1] / 2, 0.0]


def with_surroundings(robot: RobotModel, surroundings: Mapping[str, Any] | None) -> RobotModel:
    """Return a robot with things around it.

    Each is a body with a geom of its own name, and a slide of that name if a spring holds it. They are no part of
    the robot: nothing of them is commanded or read.

    Args:
        robot: is not changed.
        surroundings: things by name: `Thing`s, or their entries.

    Raises:
        ConfigurationError: a name that something in the model has; a spring that the model's time step does not
            carry; an entry that is no mapping. Others: as `Thing`, with the name before them.
        UnknownNameError: an entry that nothing is called.
    """
    if not surroundings:
        return robot
    if not isinstance(surroundings, Mapping):
        raise ConfigurationError(
            f"surroundings are {surroundings!r}; things by name are needed: {{wall: {{box: [1, 0.1, 0.5]}}}}."
        )
    spec = robot.spec.copy()
    held: list[str] = []
    taken = {part.name for part in (*spec.bodies, *spec.joints, *spec.geoms) if part.name}
    for name, entry in surroundings.items():
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"surroundings: {name!r} is no name.")
        if name in taken:
            raise ConfigurationError(
                f"surroundings: the model of {robot.name!r} has something called {name!r} already."
            )
        thing = _thing(name, entry)
        _add(spec, name, thing)
        if thing.stiffness is not None:
            _check_step(spec, name, thing)
            held.append(name)
    for k, name in enumerate(held):  # which would be pushed by what they stand in
        others = ["world", *(other for other in surroundings if other != name and other not in held[:k])]
        for other in others:
            spec.add_exclude(bodyname1=name, bodyname2=other)
    return replace(robot, spec=spec)


def _thing(name: str, entry: Any) -> Thing:
    if isinstance(entry, Thing):
        return entry
    if not isinstance(entry, Mapping):
        raise ConfigurationError(
            f"surroundings: {name!r} is {entry!r}; a mapping such as "
            "{{box: [1, 0.3, 0.01], position: [0, 0.8, 0.1]}} is needed."
        )
    known = [field.name for field in fields(Thing)]
    for key in entry:
        if key not in known:
            raise unknown_name("entry", key, known, f"surroundings: {name!r}")
    try:
        return Thing(**{key: value for key, value in entry.items() if value is not None})
    except (ConfigurationError, OutOfBoundsError, ShapeError) as error:
        raise type(error)(f"surroundings: {name!r}: {error}") from error


def _add(spec: mujoco.MjSpec, name: str, thing: Thing) -> None:
    """Add a thing; every field that a model's defaults could set is set."""
    body = spec.worldbody.add_body(name=name, pos=list(thing.position), quat=quaternion(thing.rotation))
    shape, size = thing.size()
    body.add_geom(
        name=name,
        type=_KINDS[shape],
        size=size,
        pos=[0.0, 0.0, 0.0],
        quat=[1.0, 0.0, 0.0, 0.0],
        contype=1,
        conaffinity=1,
        condim=3,
        priority=1,
        friction=[thing.friction, 0.005, 0.0001],
        solref=list(thing.contact),
        solimp=list(thing.solimp),
        margin=0.0,
        gap=0.0,
        mass=thing.mass,
        group=0,
        rgba=list(_COLOUR if thing.stiffness is None else _HELD_COLOUR),
        material="",
    )
    if thing.stiffness is None:
        return
    body.gravcomp = 1.0
    damping = 2.0 * math.sqrt(thing.stiffness * thing.mass) if thing.damping is None else thing.damping
    joint = body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0.0, 0.0, 1.0], pos=[0.0, 0.0, 0.0])
    joint.stiffness[0], joint.damping[0] = thing.stiffness, damping
    joint.springref, joint.ref, joint.armature, joint.frictionloss = 0.0, 0.0, 0.0, 0.0
    joint.limited, joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE, mujoco.mjtLimited.mjLIMITED_FALSE
    joint.actgravcomp = False


def _check_step(spec: mujoco.MjSpec, name: str, thing: Thing) -> None:
    """Raise where the integrator would not carry the spring: but for `discrete` h < 2·√(m/k)."""
    assert thing.stiffness is not None
    longest, step = 2.0 * math.sqrt(thing.mass / thing.stiffness), float(spec.option.timestep)
    if int(spec.option.integrator) != _DISCRETE and step >= longest:
        raise ConfigurationError(
            f"surroundings: {name!r}: {thing.mass:g} kg on {thing.stiffness:g} N/m need a time step below "
            f"{longest:.3g} s, the model's is {step:g} s; give it more mass, or the model integrator=discrete."
        )
