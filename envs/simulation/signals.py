"""What a simulated robot reads: joints, motors, its base, its end effectors and any sensor of the model, by name.

MuJoCo's own sensors measure everything that the joints' laws do not tell. They have a delay and a sampling period
of their own, kept in the state of the simulation, and are computed in the same pass as the physics.
"""

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

import mujoco

from pliant.envs.models.robot_model import BASE, RobotModel
from pliant.envs.selection import matches
from pliant.envs.simulation.sensing import OF_A_JOINT, Sensing
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.robot import Channel

JOINT: Final = 0
"""Source of a number: what the law of a joint tells, `layout.SIGNALS`, joint by joint …"""
QPOS: Final = 1
"""… positions of the simulation …"""
QVEL: Final = 2
"""… its speeds …"""
SENSOR: Final = 3
"""… its sensors …"""
NOTHING: Final = 4
"""… or 0."""

OURS: Final = "pliant/"
"""How the names of sensors begin that are added to a model."""
_XYZ: Final = ("x", "y", "z")
_WXYZ: Final = ("w", "x", "y", "z")


class _Kind(NamedTuple):
    """What MuJoCo's sensors of a type measure."""

    quantity: str
    axes: tuple[str, ...]
    unit: str
    low: float = -math.inf
    high: float = math.inf


def _kinds() -> dict[int, _Kind]:
    sensor = mujoco.mjtSensor
    kinds = {
        sensor.mjSENS_TOUCH: _Kind("touch", (), "N", 0.0),
        sensor.mjSENS_ACCELEROMETER: _Kind("acceleration", _XYZ, "m/s²"),
        sensor.mjSENS_VELOCIMETER: _Kind("velocity", _XYZ, "m/s"),
        sensor.mjSENS_GYRO: _Kind("angular_velocity", _XYZ, "rad/s"),
        sensor.mjSENS_FORCE: _Kind("force", _XYZ, "N"),
        sensor.mjSENS_TORQUE: _Kind("torque", _XYZ, "N·m"),
        sensor.mjSENS_MAGNETOMETER: _Kind("magnetic_field", _XYZ, "T"),
        sensor.mjSENS_RANGEFINDER: _Kind("distance", (), "m", -1.0),
        sensor.mjSENS_JOINTPOS: _Kind("position", (), "rad"),
        sensor.mjSENS_JOINTVEL: _Kind("velocity", (), "rad/s"),
        sensor.mjSENS_TENDONPOS: _Kind("length", (), "m"),
        sensor.mjSENS_TENDONVEL: _Kind("velocity", (), "m/s"),
        sensor.mjSENS_ACTUATORPOS: _Kind("length", (), "1"),
        sensor.mjSENS_ACTUATORVEL: _Kind("velocity", (), "1/s"),
        sensor.mjSENS_ACTUATORFRC: _Kind("force", (), "1"),
        sensor.mjSENS_JOINTACTFRC: _Kind("torque", (), "N·m"),
        sensor.mjSENS_TENDONACTFRC: _Kind("force", (), "N"),
        sensor.mjSENS_BALLQUAT: _Kind("orientation", _WXYZ, "1", -1.0, 1.0),
        sensor.mjSENS_BALLANGVEL: _Kind("angular_velocity", _XYZ, "rad/s"),
        sensor.mjSENS_FRAMEPOS: _Kind("position", _XYZ, "m"),
        sensor.mjSENS_FRAMEQUAT: _Kind("orientation", _WXYZ, "1", -1.0, 1.0),
        sensor.mjSENS_FRAMEXAXIS: _Kind("x_axis", _XYZ, "1", -1.0, 1.0),
        sensor.mjSENS_FRAMEYAXIS: _Kind("y_axis", _XYZ, "1", -1.0, 1.0),
        sensor.mjSENS_FRAMEZAXIS: _Kind("z_axis", _XYZ, "1", -1.0, 1.0),
        sensor.mjSENS_FRAMELINVEL: _Kind("velocity", _XYZ, "m/s"),
        sensor.mjSENS_FRAMEANGVEL: _Kind("angular_velocity", _XYZ, "rad/s"),
        sensor.mjSENS_FRAMELINACC: _Kind("acceleration", _XYZ, "m/s²"),
        sensor.mjSENS_FRAMEANGACC: _Kind("angular_acceleration", _XYZ, "rad/s²"),
        sensor.mjSENS_SUBTREECOM: _Kind("centre_of_mass", _XYZ, "m"),
        sensor.mjSENS_SUBTREELINVEL: _Kind("velocity", _XYZ, "m/s"),
        sensor.mjSENS_SUBTREEANGMOM: _Kind("angular_momentum", _XYZ, "kg·m²/s"),
        sensor.mjSENS_E_POTENTIAL: _Kind("potential_energy", (), "J"),
        sensor.mjSENS_E_KINETIC: _Kind("kinetic_energy", (), "J"),
        sensor.mjSENS_CLOCK: _Kind("time", (), "s", 0.0),
    }
    return {int(kind): description for kind, description in kinds.items()}


_KINDS: Final = _kinds()
_FRAME: Final = tuple(
    int(kind)
    for kind in (
        mujoco.mjtSensor.mjSENS_FRAMEPOS,
        mujoco.mjtSensor.mjSENS_FRAMEQUAT,
        mujoco.mjtSensor.mjSENS_FRAMELINVEL,
        mujoco.mjtSensor.mjSENS_FRAMEANGVEL,
    )
)
"""What is read of an end effector, in the world's frame."""
_POSE: Final = _FRAME[:2]
"""What is read of a target, likewise."""
_WRENCH: Final = (int(mujoco.mjtSensor.mjSENS_FORCE), int(mujoco.mjtSensor.mjSENS_TORQUE))
_JOINT_SENSORS: Final = dict(
    zip(
        OF_A_JOINT,
        (
            mujoco.mjtSensor.mjSENS_JOINTPOS,
            mujoco.mjtSensor.mjSENS_JOINTVEL,
            mujoco.mjtSensor.mjSENS_JOINTACTFRC,
        ),
        strict=True,
    )
)
FREE: Final = (
    *((f"position_{axis}", "m", QPOS, k) for k, axis in enumerate(_XYZ)),
    *((f"orientation_{axis}", "1", QPOS, 3 + k) for k, axis in enumerate(_WXYZ)),
    *((f"velocity_{axis}", "m/s", QVEL, k) for k, axis in enumerate(_XYZ)),
    *((f"angular_velocity_{axis}", "rad/s", QVEL, 3 + k) for k, axis in enumerate(_XYZ)),
)
"""What a free joint holds: velocity in the world's frame, angular velocity in the body's."""


class Offer(NamedTuple):
    """A signal that a robot could be read for."""

    group: str
    """What it belongs to: the base, a free body, an end effector, a sensor."""
    channel: Channel
    sensor: str
    """Of the model with our own sensors; empty for what floats."""
    place: int
    """Which number of the sensor, or of `FREE`."""


def offers(model: RobotModel) -> list[Offer]:
    """Return everything that could be read of a robot beyond its joints and motors, in a fixed order."""
    found = []
    for name in model.floating:
        for k, (quantity, unit, _, _) in enumerate(FREE):
            limit = 1.0 if unit == "1" else math.inf
            found.append(Offer(name, Channel(f"{name}/{quantity}", unit, -limit, limit), "", k))
    for sites, kinds in _sites(model):
        for name in sites:
            for kind in kinds:
                found += _of_sensor(name, f"{OURS}{name}/{_KINDS[kind].quantity}", kind)
    for sensor in model.spec.sensors:
        if sensor.name and not sensor.name.startswith(OURS):
            found += _of_sensor(sensor.name, sensor.name, int(sensor.type), _size(sensor))
    return found


def _sites(model: RobotModel) -> tuple[tuple[Mapping[str, str], tuple[int, ...]], ...]:
    """What has sites of its own, by name, and the sensors at them."""
    return (model.end_effectors, _FRAME), (model.force_torque, _WRENCH), (model.targets, _POSE)


def _of_sensor(group: str, sensor: str, type_: int, size: int = 0) -> list[Offer]:
    kind = _KINDS.get(type_)
    if kind is None:
        return [
            Offer(group, Channel(f"{group}/{k}", "1", -math.inf, math.inf), sensor, k) for k in range(size or 1)
        ]
    names = [f"{group}/{kind.quantity}_{axis}" for axis in kind.axes] or [f"{group}/{kind.quantity}"]
    return [Offer(group, Channel(name, kind.unit, kind.low, kind.high), sensor, k) for k, name in enumerate(names)]


def _size(sensor: mujoco.MjsSensor) -> int:
    try:
        return int(sensor.get_data_size())
    except (ValueError, mujoco.FatalError):
        return int(sensor.dim)


def choose(model: RobotModel, wanted: Sequence[str]) -> list[Offer]:
    """Return the signals that are wanted, by the name of what they belong to, their own, or a glob of either.

    Raises:
        UnknownNameError: nothing is called so.
    """
    known = offers(model)
    for pattern in wanted:
        if not any(_matches(pattern, offer) for offer in known):
            groups = dict.fromkeys(offer.group for offer in known)
            raise unknown_name("signal", pattern, groups, f"robot {model.name!r}")
    return [offer for offer in known if any(_matches(pattern, offer) for pattern in wanted)]


def _matches(pattern: str, offer: Offer) -> bool:
    """A group's name is one part, whatever `/` it has."""
    by_group = offer.group == pattern or fnmatchcase(offer.group, pattern)
    return by_group or matches(offer.channel.name, pattern)


def check_names(model: RobotModel) -> None:
    """Raise where the sites, bodies or joints that a robot names are not in its spec.

    Raises:
        UnknownNameError: no such site, body or joint.
        ConfigurationError: a base or free body that does not float; a name for two things; a joint that is no
            hinge or slide.
    """
    spec, where = model.spec, f"the model of robot {model.name!r}"
    sites = [site.name for site in spec.sites]
    for site in (site for places, _ in _sites(model) for site in places.values()):
        if site not in sites:
            raise unknown_name("site", site, [name for name in sites if name], where)
    joints = {joint.name: joint for joint in spec.joints}
    scalar = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    for name in model.joints:
        if name not in joints:
            raise unknown_name("joint", name, [name for name in joints if name], where)
        if int(joints[name].type) not in scalar:
            raise ConfigurationError(f"joint {name!r} of robot {model.name!r} is neither a hinge nor a slide.")
    bodies, free = {body.name: body for body in spec.bodies}, int(mujoco.mjtJoint.mjJNT_FREE)
    for name, body in model.floating.items():
        if body not in bodies:
            raise unknown_name("body", body, [name for name in bodies if name], where)
        if free not in [int(joint.type) for joint in bodies[body].joints]:
            raise ConfigurationError(f"body {body!r}, {name!r} of robot {model.name!r}, has no free joint.")
    groups = [BASE, *model.bodies, *(name for places, _ in _sites(model) for name in places)]
    groups += [sensor.name for sensor in spec.sensors if sensor.name]
    for name in groups:
        if groups.count(name) > 1 or name in model.joints:
            raise ConfigurationError(
                f"robot {model.name!r} calls two things {name!r}; joints, free bodies, end effectors and sensors "
                "need names of their own."
            )


def add_sensors(
    spec: mujoco.MjSpec,
    model: RobotModel,
    chosen: Sequence[Offer],
    compliant: Sequence[str],
    sensing: Mapping[str, Sensing],
) -> None:
    """Add to a spec, a copy of the model's, the sensors that read what is wanted of it.

    Args:
        spec: changed.
        model: whose it is.
        chosen: signals beyond joints and motors.
        compliant: joints whose laws tell their torque.
        sensing: by signal, see `sensing_of`.
    """
    wanted = {offer.sensor for offer in chosen}
    site = mujoco.mjtObj.mjOBJ_SITE
    for sites, kinds in _sites(model):
        for name, place in sites.items():
            for kind in kinds:
                sensor = f"{OURS}{name}/{_KINDS[kind].quantity}"
                if sensor in wanted:
                    spec.add_sensor(name=sensor, type=mujoco.mjtSensor(kind), objtype=site, objname=place)
    for joint in model.joints:
        for quantity, kind in _JOINT_SENSORS.items():
            sampled = sensing.get(f"{joint}/{quantity}", Sensing()).sampled
            told = joint in compliant and not spec.joint(joint).actgravcomp
            if sampled or (quantity == "torque" and not told):
                spec.add_sensor(
                    name=f"{OURS}{joint}/{quantity}",
                    type=kind,
                    objtype=mujoco.mjtObj.mjOBJ_JOINT,
                    objname=joint,
                )
    step = float(spec.option.timestep)
    signal_of = {offer.sensor: offer.channel.name for offer in chosen if offer.sensor}
    for sensor in spec.sensors:
        signal = signal_of.get(sensor.name, sensor.name.removeprefix(OURS))
        how = sensing.get(signal, Sensing())
        if how.sampled:
            sensor.delay = how.delay
            sensor.interval = [how.period, how.phase - how.period if how.phase else 0.0]
            sensor.nsample = max(math.ceil(how.delay / max(step, how.period) - 1e-9), 1) + 1


def check_sampled(sensing: Mapping[str, Sensing], chosen: Sequence[Offer], joints: Sequence[str]) -> None:
    """Raise `ConfigurationError` where a signal that no sensor measures is to have a delay or period of its own.

    All numbers of one sensor are sampled together; what is said of its first counts, and the others must agree.
    """
    sensors: dict[str, str] = {offer.channel.name: offer.sensor for offer in chosen if offer.sensor}
    sensors |= {f"{joint}/{q}": f"{joint}/{q}" for joint in joints for q in OF_A_JOINT}
    timing: dict[str, tuple[float, float, float]] = {}
    for name, sensor in sensors.items():
        how = sensing.get(name, Sensing())
        own = (how.delay, how.period, how.phase)
        if timing.setdefault(sensor, own) != own:
            raise ConfigurationError(
                f"signal {name!r} is of a sensor whose other numbers are sampled otherwise; name them together "
                f"({name.rpartition('_')[0]}_*)."
            )
    for name, how in sensing.items():
        if how.sampled and name not in sensors:
            raise ConfigurationError(
                f"signal {name!r} is read from the joint itself and cannot have a delay or period of its own; "
                "positions, velocities and torques of joints, end effectors and sensors can. The robot's "
                "sensor_delay holds for all."
            )
