"""A robot from a file of its user's: an MJCF or URDF model, and a few lines that say what drives its joints."""

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from pliant.actuators import (
    PID,
    CompliantJoint,
    Mode,
    Motor,
    Pivot,
    ServoDrive,
    add_compliant_joint,
    find_drive,
    find_law,
)
from pliant.actuators.callbacks import suspended
from pliant.actuators.keyframes import Keyframes
from pliant.actuators.model import check_rows, check_text
from pliant.actuators.modes import as_mode
from pliant.actuators.servo import servo_named
from pliant.envs.models.robot_model import RobotModel, Start
from pliant.envs.models.several import Placed, empty_scene, in_one_scene
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MissingFileError,
    PliantError,
    check_bounds,
    require_extra,
    unknown_name,
)

NATIVE, PASSIVE, IGNORED = "native", "passive", "ignore"
_WORDS = {
    NATIVE: "driven by the actuators that the model brings",
    PASSIVE: "driven by nothing, read only",
    IGNORED: "neither driven nor read",
}
_JOINT_FIELDS = tuple(field.name for field in fields(CompliantJoint))
_SERVO_FIELDS = ("p_gain", "voltage", "temperature")
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_FREE = int(mujoco.mjtJoint.mjJNT_FREE)
_INTEGRATORS = {
    name.removeprefix("mjINT_").lower(): value for name, value in mujoco.mjtIntegrator.__members__.items()
}
_MODULE = re.compile(r"[a-z0-9_]+")


def own_robot(
    model: str | None,
    folder: str | Path = ".",
    *,
    name: str | None = None,
    robots: Mapping[str, Placed] | None = None,
    joints: Mapping[str, Any] | None = None,
    end_effectors: Mapping[str, str] | Sequence[str] | str = (),
    base: str | None = None,
    force_torque: Mapping[str, str] | None = None,
    signals: Sequence[str] | str = (),
    start: str | Mapping[str, Any] | None = None,
    ranges: Mapping[str, Sequence[float]] | None = None,
    gravity_compensation: bool | Sequence[str] = False,
    timestep: float | None = None,
    integrator: str | None = None,
) -> RobotModel:
    """Make a robot of a model file, or of robots that stand in the scene that it describes.

    Free bodies of the model that nothing is jointed to lie around: tasks may read and place them by their names.

    Args:
        model: an MJCF or URDF file, relative to `folder`; or the name of a package of `robot_descriptions`. None,
            with `robots`: nothing is there besides these.
        folder: where relative files are looked for.
        name: of the robot; None: of the file.
        robots: that stand in the scene, by name, see `in_one_scene`. `joints`, `base` and what is named below are
            then the scene's own, but for `signals` and `start`, which may name the robots' too.
        joints: what drives the joints, by name or glob (`"*_knee"`; `*` reaches over a `/` in a joint's name); a
            later entry goes before an earlier one.
            `native`, `passive`, `ignore`; or a mapping: `{law: sea, k: 40, mode: 6}` with the law's parameters and
            whatever else a `CompliantJoint` takes, `{servo: XL330/m6, p_gain: 400}`, `{mode: 0, torque_limit: 5}`,
            `{drive: position_loop, kp: 1e4}` with the drive's parameters. They take the place of what drives the
            joint in the model; the armature, damping and friction of a servo that of the joint. Joints that
            nothing is said of are native if an actuator moves them, else passive.
        end_effectors: names of sites, or other names for them (`{foot: toe}`).
        base: the body that floats; None: found by itself.
        force_torque: force-torque sensors, by name: the site each is at.
        signals: see `RobotModel.signals`.
        start: a keyframe's name, or what `Start` takes.
        ranges: bounds of command columns of the model's own actuators that have none.
        gravity_compensation: of all bodies of the robot, or of those named.
        timestep: s; None: the model's.
        integrator: euler, rk4, implicit, implicitfast or discrete; None: the model's.

    Raises:
        MissingFileError: there is no such file, or a file that it names is missing.
        FileFormatError: MuJoCo cannot read it.
        UnknownNameError: a joint, site, law, parameter, … that does not exist.
        ConfigurationError, OutOfBoundsError: what does not go together or is out of bounds.
    """
    if model is None:
        if not robots:
            raise ConfigurationError("a robot needs a model, or robots that make it up.")
        spec, title = empty_scene(robots), name or "_".join(robots)
    else:
        file = model_file(model, Path(folder))
        spec = read_model(file)
        title = name or spec.modelname or file.stem
    _name_joints(spec)
    if timestep is not None:
        spec.option.timestep = check_bounds("timestep", timestep, 1e-6, 1.0, "s")
    if integrator is not None:
        if integrator not in _INTEGRATORS:
            raise unknown_name("integrator", integrator, _INTEGRATORS)
        spec.option.integrator = _INTEGRATORS[integrator]
    names = _drive(spec, joints or {}, title)
    if not names and not robots:
        raise ConfigurationError(f"robot {title!r} has no hinge or slide that is read.")
    if not isinstance(end_effectors, Mapping):
        end_effectors = {site: site for site in _several(end_effectors)}
    base = floating_base(spec) if base is None else base
    _compensate(spec, gravity_compensation, title, base)
    scene = RobotModel(
        name=title,
        spec=spec,
        joints=names,
        end_effectors=dict(end_effectors),
        base=base,
        bodies={name: name for name in _free_bodies(spec) if name != base},
        force_torque=dict(force_torque or {}),
        signals=_several(signals),
        start=_start(start, title),
        ranges={column: _pair(f"range of {column!r}", bounds) for column, bounds in (ranges or {}).items()},
    )
    return in_one_scene(robots or {}, scene)


def _several(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names that are given as a list, or one that is given by itself."""
    return (names,) if isinstance(names, str) else tuple(names)


def _pair(what: str, bounds: object) -> tuple[float, float]:
    if not isinstance(bounds, Sequence) or isinstance(bounds, str) or len(bounds) != 2:
        raise ConfigurationError(f"{what} is {bounds!r}; [low, high] is needed.")
    low, high = (check_bounds(what, bound, -1e12, 1e12) for bound in bounds)
    return low, high


def model_file(model: str, folder: Path) -> Path:
    """Return the file that a model's name means, relative to a folder.

    Raises:
        MissingFileError: there is none, and no package of `robot_descriptions` is called so.
        MissingExtraError: it seems to be a package of `robot_descriptions`, which is not installed.
    """
    path = Path(model).expanduser()
    file = path if path.is_absolute() else folder / path
    if file.is_file():
        return file.resolve()
    if path.suffix or "/" in model or not _MODULE.fullmatch(model):
        alike = sorted(p.name for p in file.parent.glob(f"*{path.suffix}") if p.is_file())
        there = f"in {file.parent} there is {', '.join(alike[:5])}" if alike else f"looked in {file.parent}"
        raise MissingFileError(f"model file {model!r} does not exist; {there}.")
    require_extra("robot_descriptions", "descriptions", f"the model {model!r}, which is no file,")
    try:
        package = importlib.import_module(f"robot_descriptions.{model}")
    except ImportError as error:
        raise MissingFileError(
            f"{model!r} is neither a file in {folder} nor a package of robot_descriptions ({error})."
        ) from error
    found = getattr(package, "MJCF_PATH", None) or getattr(package, "URDF_PATH", None)
    if found is None:
        raise MissingFileError(f"robot_descriptions.{model} names neither an MJCF nor a URDF file.")
    return Path(found)


def read_model(file: Path) -> mujoco.MjSpec:
    """Return the spec of an MJCF or URDF file that compiles by itself.

    Raises:
        MissingFileError: a mesh, texture or included file is missing; the message says where it was looked for.
        FileFormatError: MuJoCo cannot read or compile it.
    """
    folders = [file.parent]
    try:
        spec = mujoco.MjSpec.from_file(str(file))
        check_rows(spec)
        folders += [file.parent / folder for folder in (spec.meshdir, spec.texturedir) if folder]
        with suspended():
            check_text(spec.copy().compile())
    except PliantError:
        raise
    except (ValueError, mujoco.FatalError) as error:
        raise _explained(file, folders, " ".join(str(error).split())) from error
    return spec


def _explained(file: Path, folders: Sequence[Path], reason: str) -> Exception:
    missing = re.search(r"[Ee]rror opening file '([^']*)'", reason)
    if missing is not None:
        places = dict.fromkeys(str(folder) for folder in folders)
        return MissingFileError(
            f"model {file}: the file {Path(missing[1]).name!r} that it names is missing; looked in "
            f"{', '.join(places)}. Put it there, or correct meshdir, texturedir or the include."
        )
    if "mass and inertia of moving bodies" in reason:
        body = re.search(r"name '([^']*)'", reason)
        which = f"body {body[1]!r}" if body else "a body"
        return FileFormatError(
            f"model {file}: {which} moves and has neither inertia nor geometry to infer one from. Give it an "
            "<inertial> or a <collision> geometry."
        )
    return FileFormatError(f"MuJoCo cannot read the model {file}: {reason}")


def floating_base(spec: mujoco.MjSpec) -> str | None:
    """Return the first body with a free joint and something jointed below it; None if the robot is fixed."""
    for body in spec.bodies:
        if any(int(joint.type) == _FREE for joint in body.joints) and any(_jointed(b) for b in body.bodies):
            if not body.name:
                body.name = "trunk"
            return str(body.name)
    return None


def _free_bodies(spec: mujoco.MjSpec) -> list[str]:
    """Names of the bodies with a free joint, those without a name left out."""
    return [body.name for body in spec.bodies if body.name and any(int(j.type) == _FREE for j in body.joints)]


def _jointed(body: mujoco.MjsBody) -> bool:
    return bool(body.joints) or any(_jointed(child) for child in body.bodies)


def _name_joints(spec: mujoco.MjSpec) -> None:
    """Name hinges and slides that have no name after their body."""
    taken = {joint.name for joint in spec.joints}
    for joint in spec.joints:
        if not joint.name and int(joint.type) in _SCALAR:
            stem = f"{joint.parent.name or 'body'}_joint"
            names = (stem if k == 1 else f"{stem}{k}" for k in range(1, len(taken) + 2))
            joint.name = next(name for name in names if name not in taken)
            taken.add(joint.name)


def _drive(spec: mujoco.MjSpec, joints: Mapping[str, Any], robot: str) -> tuple[str, ...]:
    """Put drives on the joints that are to have one; returns the names of those that are read."""
    scalar = {joint.name: joint for joint in spec.joints if int(joint.type) in _SCALAR}
    for pattern in joints:
        if not any(fnmatchcase(name, pattern) for name in scalar):
            raise unknown_name("joint", pattern, scalar, f"the model of robot {robot!r}")
    read = []
    for name, joint in scalar.items():
        entries = [entry for pattern, entry in joints.items() if fnmatchcase(name, pattern)]
        entry = entries[-1] if entries else None
        if isinstance(entry, str) and entry not in _WORDS:
            entry = {"law": entry}
        if entry == IGNORED:
            continue
        read.append(name)
        if entry == PASSIVE:
            _take_away(spec, name)
        elif isinstance(entry, Mapping):
            description = joint_description(name, entry, _range(spec, joint))
            add_compliant_joint(spec, name, description, replace=True)
        elif entry not in (None, NATIVE):
            raise ConfigurationError(
                f"joint {name!r}: {entry!r} does not say what drives it. Give {_choices()} or a mapping such as "
                "{law: sea, k: 40, mode: 6} or {servo: AX-12A}."
            )
        elif entry == NATIVE and not any(_actuators(spec, name)):
            raise ConfigurationError(f"joint {name!r} is to be native, but no actuator of the model acts on it.")
    return tuple(read)


def _take_away(spec: mujoco.MjSpec, joint: str) -> None:
    """Delete the actuators of a joint, in keyframes too."""
    removed = list(_actuators(spec, joint))
    if removed:
        for _ in Keyframes(spec).replace(removed, joint):
            pass


def _choices() -> str:
    return ", ".join(f"{word} ({meaning})" for word, meaning in _WORDS.items())


def _actuators(spec: mujoco.MjSpec, joint: str) -> Iterator[mujoco.MjsActuator]:
    on_joint = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    return (a for a in spec.actuators if a.target == joint and int(a.trntype) in on_joint)


def _range(spec: mujoco.MjSpec, joint: mujoco.MjsJoint) -> tuple[float, float] | None:
    """The range of a joint, rad or m; None if it has no limits."""
    low, high = (float(bound) for bound in joint.range)
    limited = int(joint.limited)
    auto = limited == int(mujoco.mjtLimited.mjLIMITED_AUTO) and spec.compiler.autolimits and low != high
    if not auto and limited != int(mujoco.mjtLimited.mjLIMITED_TRUE):
        return None
    degrees = spec.compiler.degree and int(joint.type) == int(mujoco.mjtJoint.mjJNT_HINGE)
    return (float(np.deg2rad(low)), float(np.deg2rad(high))) if degrees else (low, high)


def joint_description(name: str, entry: Mapping[str, Any], limits: tuple[float, float] | None) -> CompliantJoint:
    """Return the joint that an entry describes.

    Args:
        name: of the joint, for messages.
        entry: `law`, `mode`, `servo`, `drive`, parameters of the law by name or `set` and of the drive by name,
            `torque_limit` of the motor, and other fields of `CompliantJoint`; `motor`, `pid` and `pivot` as
            mappings of theirs.
        limits: the joint's range, the default of `position_range`.

    Raises:
        UnknownNameError: an entry that nothing is called.
        ConfigurationError, OutOfBoundsError: as `CompliantJoint`.
    """
    given = dict(entry)
    servo = given.pop("servo", None)
    mode = given.pop("mode", None)
    drive = None if given.get("drive") is None else find_drive(str(given.pop("drive")))
    if drive is not None and mode is None:
        mode = drive.modes[-1]
    rigid = servo is not None or (mode is not None and as_mode(mode).rigid)
    law = find_law(given.pop("law", "rigid" if rigid else "qbmove"))
    known = [parameter.name for parameter in law.parameters]
    values = {key: given.pop(key) for key in list(given) if key in known or key == "set"}
    of_drive = [parameter.name for parameter in drive.parameters] if drive is not None else []
    settings: dict[str, Any] = {}
    if drive is not None:
        settings["drive"] = drive(**{key: given.pop(key) for key in of_drive if key in given})
    if limits is not None:
        settings["position_range"] = limits
    if servo is not None:
        options = {key: given.pop(key) for key in list(given) if key in _SERVO_FIELDS}
        settings["servo"] = ServoDrive(servo_named(str(servo)), **options)
        mode = Mode.LINK_POSITION if mode is None else mode
    motor = dict(given.pop("motor", {}))
    if "torque_limit" in given:  # a drive's own is taken already
        motor["torque_limit"] = given.pop("torque_limit")
    for key, kind, part in (("motor", Motor, motor), ("pid", PID, given.pop("pid", {})), ("pivot", Pivot, {})):
        part = given.pop(key, part) or {}
        if part:
            allowed = [field.name for field in fields(kind)]
            for item in part:
                if item not in allowed:
                    raise unknown_name(f"parameter of {key}", item, allowed, f"joint {name!r}")
            settings[key] = kind(**part)
    allowed = [*_JOINT_FIELDS, *known, *of_drive, "set", "servo", *_SERVO_FIELDS, "torque_limit"]
    for key in given:
        if key not in _JOINT_FIELDS:
            raise unknown_name("entry", key, dict.fromkeys(allowed), f"joint {name!r}")
    if mode is not None:
        settings["mode"] = mode
    return CompliantJoint(law(**values), **(settings | given))


def _compensate(spec: mujoco.MjSpec, wanted: bool | Sequence[str], robot: str, base: str | None) -> None:
    """Compensate gravity of all bodies but those that lie around, or of those named."""
    if wanted is False:
        return
    bodies = {body.name: body for body in spec.bodies[1:]}
    if wanted is not True:
        for name in wanted:
            if name not in bodies:
                raise unknown_name("body", name, filter(None, bodies), f"the model of robot {robot!r}")
    for body in _of_robot(spec.worldbody, base) if wanted is True else spec.bodies[1:]:
        if wanted is True or body.name in wanted:
            body.gravcomp = 1.0


def _of_robot(body: mujoco.MjsBody, base: str | None) -> Iterator[mujoco.MjsBody]:
    """All below a body but what is free and carries no joints."""
    for child in body.bodies:
        free = any(int(joint.type) == _FREE for joint in child.joints)
        if not free or child.name == base or any(map(_jointed, child.bodies)):
            yield child
            yield from _of_robot(child, base)


def _start(start: str | Mapping[str, Any] | None, robot: str) -> Start:
    if start is None:
        return Start()
    if isinstance(start, str):
        return Start(keyframe=start)
    allowed = [field.name for field in fields(Start)]
    for key in start:
        if key not in allowed:
            raise unknown_name("entry", key, allowed, f"the start of robot {robot!r}")
    return Start(**dict(start))
