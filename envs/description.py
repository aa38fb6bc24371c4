"""One description of a robot for everything: simulated, learned on, recorded, deployed.

Ours come from conf/robot by name; a user's own from a YAML file beside a model::

    # leg.yaml
    model: leg.xml               # MJCF or URDF, relative to this file
    period: 0.01                 # from one command to the next, s
    joints:
      hip: {law: sea, k: 40.0, mode: 6}
      "knee*": {servo: AX-12A}
    end_effectors: {foot: toe}   # name: site
    signals: [imu_gyro]

or several robots in a scene, each with its name before the names of its own::

    robots:
      left: {robot: ./leg.yaml, at: [0, 0.5, 0]}
      right: {robot: ./leg.yaml, at: [0, -0.5, 0]}

Of ours, of a user's and of a scene it says what stands around::

    surroundings:
      wall: {box: [1, 0.1, 0.5], position: [0, 0.6, 0.25], friction: 0.3, stiffness: 5.0e+4}
    targets:
      foot: [0.1, 0.0, 0.3]      # read as foot_target/position_x and so on, and dragged in a viewer
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from pliant.conf.build import LEARNED, build, check_trusted
from pliant.envs.models.own_robot import own_robot
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.several import Placed
from pliant.envs.models.surroundings import with_surroundings
from pliant.envs.models.targets import with_targets
from pliant.envs.simulation.sensing import Sensing
from pliant.envs.simulation.simulated_robot import SimulatedRobot
from pliant.errors import ConfigurationError, FileFormatError, PliantError, check_bounds, unknown_name
from pliant.files import existing_file
from pliant.hardware.resting import RestingWay

_MODEL_FILES = (".xml", ".mjcf", ".urdf")
_OWN = tuple(
    name
    for name, parameter in inspect.signature(own_robot).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
)
_SIMULATION = tuple(
    name
    for name, parameter in inspect.signature(SimulatedRobot).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
)
_COMMON = ("model", "folder", "period", "surroundings", "targets", "simulation", "machine", "limits", "rest")
_LIMITS = ("speed", "acceleration", "step", "walk_speed")


@dataclass(frozen=True)
class RobotDescription:
    """A robot: what it is, how often it is commanded, how it is simulated, and what drives it on the bench."""

    model: RobotModel
    period: float = 0.01
    """Time from one command to the next, s."""
    simulation: Mapping[str, Any] = field(default_factory=dict)
    """Options of `SimulatedRobot`: noise, delays, how signals are sensed."""
    machine: Mapping[str, Any] | None = None
    """What drives it on the bench, as configured; None where there is no such thing."""
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Of the motion that is sent to a machine, by unit, `rad` or `m`: some of speed, acceleration, step and
    walk_speed, see `pliant.hardware.limits.MotionLimits`."""
    rest: Sequence[Mapping[str, float]] = ()
    """Of one that falls without torque, poses from where it rests to where it stands: joint positions by name or
    pattern, see `pliant.hardware.resting.RestingWay`."""

    def simulated(self, period: float | None = None, **options: Any) -> SimulatedRobot:
        """Return the robot, simulated.

        Args:
            period: in place of the description's, s.
            options: of `SimulatedRobot`, in place of the description's.

        Raises:
            UnknownNameError: no such option. Others: as `SimulatedRobot`.
        """
        given = {**self.simulation, **options}
        for name in given:
            if name not in _SIMULATION:
                raise unknown_name("option of a simulated robot", name, _SIMULATION)
        if "sensing" in given:
            given["sensing"] = {name: _sensing(name, how) for name, how in (given["sensing"] or {}).items()}
        return SimulatedRobot(self.model, self.period if period is None else period, **given)

    @property
    def lying(self) -> "RobotDescription":
        """The same robot, which starts where it rests without torque."""
        if not self.rest:
            return self
        info = self.simulated().info
        pose = zip(info.command, RestingWay(self.rest, info).rest.tolist(), strict=True)
        start = replace(self.model.start, keyframe=None, joints={channel.owner: value for channel, value in pose})
        return replace(self, model=replace(self.model, start=start))


def robot_names() -> list[str]:
    """Names of the robots that come with Pliant."""
    return sorted(file.name.removesuffix(".yaml") for file in _folder().iterdir() if file.name.endswith(".yaml"))


def describe(robot: Any) -> RobotDescription:
    """Return the description of a robot.

    Args:
        robot: one of `robot_names`; a YAML file, or an MJCF or URDF file that needs no more said; settings like
            those of such a file; a `RobotModel` or a description.

    Raises:
        UnknownNameError: no such robot, or an entry that nothing is called.
        MissingFileError, FileFormatError: there is no such file, or not what it should be.
        ConfigurationError, OutOfBoundsError, …: as `own_robot`.
    """
    if isinstance(robot, RobotDescription):
        return robot
    if isinstance(robot, RobotModel):
        return RobotDescription(robot)
    if isinstance(robot, Mapping):
        return _from_settings(robot)
    return _from_settings(robot_settings(robot))


def described(node: Any) -> RobotDescription:
    """Return the description that a node of a composed configuration holds. Errors of `describe`."""
    from omegaconf import OmegaConf

    return describe(OmegaConf.to_container(node, resolve=True))


def is_file(robot: object) -> bool:
    """Whether a robot is named by a file rather than by a name of ours."""
    return isinstance(robot, Path) or (isinstance(robot, str) and robot.endswith((".yaml", ".yml", *_MODEL_FILES)))


def file_settings(path: str | Path, within: Sequence[Path] = ()) -> dict[str, Any]:
    """Return what a robot's file says, with the folder that its own files are relative to.

    Args:
        path: of the file.
        within: the files of the scenes that it is a robot of.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: it is not YAML, or no mapping; or a scene stands in itself.
    """
    import yaml

    file = existing_file(Path(path).expanduser(), "robot file").resolve()
    if file in within:
        raise FileFormatError(f"robot file {file} is a robot of its own scene.")
    if file.suffix in _MODEL_FILES:
        return {**dict.fromkeys((*_COMMON, *_OWN)), "model": file.name, "folder": str(file.parent)}
    try:
        settings = yaml.safe_load(file.read_text("utf-8"))
    except Exception as error:  # values such as dates fail in ways of their own
        raise FileFormatError(f"robot file {file} is no YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(settings, dict) or not all(isinstance(key, str) for key in settings):
        raise FileFormatError(f"robot file {file} must hold entries like `model: leg.xml`.")
    if "model" not in settings and "robots" not in settings:
        raise FileFormatError(f"robot file {file} does not say which model: `model: leg.xml`.")
    found = {**dict.fromkeys((*_COMMON, *_OWN)), **settings, "folder": str(file.parent)}
    for name, entry in _robots(found["robots"]).items():
        if is_file(entry["robot"]):
            one = file_settings(file.parent / Path(entry["robot"]).expanduser(), (*within, file))
            found["robots"] = {**found["robots"], name: {**entry, "robot": one}}
    return found


def _robots(robots: Any) -> Mapping[str, Mapping[str, Any]]:
    """The entries of a scene's robots; raises `ConfigurationError` where they are none."""
    if robots is None:
        return {}
    found: Mapping[str, Mapping[str, Any]] = robots if isinstance(robots, Mapping) else {"": robots}
    for entry in found.values():
        if not isinstance(entry, Mapping) or "robot" not in entry or not set(entry) <= {"robot", "at"}:
            raise ConfigurationError(
                f"robots of a scene: {entry!r} is none; `NAME: {{robot: ./arm.yaml, at: [x, y, z]}}` is needed, "
                "with its orientation, a quaternion, after the position."
            )
    return found


def _folder() -> Any:
    return files("pliant.conf") / "robot"


def robot_settings(robot: str | Path) -> dict[str, Any]:
    """Return what the file of a robot says: of one of `robot_names`, or one of the user's.

    Raises:
        UnknownNameError: no such robot. Others: as `file_settings`.
    """
    if is_file(robot):
        return file_settings(robot)
    if robot not in robot_names():
        raise unknown_name("robot", robot, [*robot_names(), "a file: ./robot.yaml"])
    from omegaconf import DictConfig, OmegaConf

    own = OmegaConf.create((_folder() / f"{robot}.yaml").read_text())
    assert isinstance(own, DictConfig)
    parts = [str(entry).removesuffix("@_here_") for entry in own.pop("defaults", ["_self_"])]
    read = [
        own if part == "_self_" else OmegaConf.create((_folder() / f"{part}.yaml").read_text()) for part in parts
    ]
    node = OmegaConf.create({"robot": OmegaConf.merge(*read)})
    settings: dict[str, Any] = OmegaConf.to_container(node, resolve=True)["robot"]  # type: ignore[index,call-overload,assignment]
    return settings


def _from_settings(settings: Mapping[str, Any]) -> RobotDescription:
    given = {key: value for key, value in settings.items() if value is not None}
    model, robots = given.get("model"), _robots(given.get("robots"))
    if isinstance(model, str) or (robots and model is None):
        for key in given:
            if key not in (*_COMMON, *_OWN):
                raise unknown_name("entry", key, (*_COMMON, *_OWN), "the robot's description")
        own = {key: value for key, value in given.items() if key in _OWN}
        _check_joints(own.get("joints", {}))
        try:
            own["robots"] = {
                name: Placed(describe(e["robot"]).model, e.get("at", (0, 0, 0))) for name, e in robots.items()
            }
            model = own_robot(model, given.get("folder", "."), **own)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            if isinstance(error, PliantError):
                raise
            raise ConfigurationError(f"the robot's description says what cannot be: {error}.") from error
    elif isinstance(model, Mapping):
        model = build(model, "robot.model", LEARNED)
    if not isinstance(model, RobotModel):
        raise ConfigurationError(
            f"the robot's model is a {type(model).__name__}; a file, or what builds a RobotModel, is needed."
        )
    model = with_targets(with_surroundings(model, given.get("surroundings")), given.get("targets"))
    period = check_bounds("robot: period", given.get("period", 0.01), 1e-5, 10.0, "s")
    simulation = given.get("simulation", {})
    if not isinstance(simulation, Mapping):
        raise ConfigurationError(f"robot: simulation is {simulation!r}; options of a simulated robot are needed.")
    return RobotDescription(
        model,
        period,
        dict(simulation),
        given.get("machine"),
        _motion_limits(given.get("limits", {})),
        given.get("rest", ()),
    )


def _motion_limits(limits: Any) -> dict[str, dict[str, float]]:
    """Raise unless these are limits of a motion by unit."""
    if not isinstance(limits, Mapping) or not all(isinstance(entry, Mapping) for entry in limits.values()):
        raise ConfigurationError(f"the robot's limits are {limits!r}; {{rad: {{acceleration: 4.0}}}} is needed.")
    for unit, entry in limits.items():
        if unit not in ("rad", "m"):
            raise unknown_name("unit", unit, ("rad", "m"), "the robot's limits")
        for name, value in entry.items():
            if name not in _LIMITS:
                raise unknown_name("limit", name, _LIMITS, f"the robot's limits of {unit}")
            check_bounds(f"the robot's limits: {unit}.{name}", value, 1e-9, 1e12)
    return {unit: dict(entry) for unit, entry in limits.items()}


def _check_joints(joints: Any) -> None:
    """Raise `ConfigurationError` unless this says joint by joint what drives it, with code of trusted packages."""
    if not isinstance(joints, Mapping):
        raise ConfigurationError(f"the robot's joints are {joints!r}; `NAME: native` and the like are needed.")
    drives = [{"law": entry} if isinstance(entry, str) else entry for entry in joints.values()]
    check_trusted(drives, "robot.joints", LEARNED)


def _sensing(name: str, how: Any) -> Sensing:
    if isinstance(how, Sensing):
        return how
    known = [f.name for f in fields(Sensing)]
    if not isinstance(how, Mapping):
        raise ConfigurationError(f"sensing of {name!r} is {how!r}; entries of {', '.join(known)} are needed.")
    for key in how:
        if key not in known:
            raise unknown_name("entry", key, known, f"the sensing of {name!r}")
    return Sensing(**how)


def with_signals(description: RobotDescription, signals: Sequence[str]) -> RobotDescription:
    """Return a description of which more is read, see `RobotModel.signals`."""
    model = description.model
    return replace(description, model=replace(model, signals=tuple(dict.fromkeys((*model.signals, *signals)))))
