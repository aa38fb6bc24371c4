"""Task-space control of a robot, from its description: the controller's own model, tasks, contacts and limits."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from pliant.actuators import compile_model
from pliant.controllers.checks import Array
from pliant.controllers.task_space import (
    Balance,
    CentreOfMassTask,
    Constraint,
    Contact,
    ContactForceTask,
    ForceTask,
    FrameTask,
    JointLimits,
    MeasuredWrench,
    Mechanics,
    MomentumTask,
    OrientationTask,
    PointTask,
    PostureTask,
    Prescribed,
    Recursion,
    Task,
    TaskSpaceController,
    TaskStack,
)
from pliant.envs.description import RobotDescription, describe
from pliant.envs.models.robot_model import tool_load
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings

TASKS: Final[Mapping[str, type[Task]]] = {
    "point": PointTask,
    "orientation": OrientationTask,
    "pose": FrameTask,
    "centre_of_mass": CentreOfMassTask,
    "momentum": MomentumTask,
    "posture": PostureTask,
    "contact_force": ContactForceTask,
}
CONSTRAINTS: Final = {"weld": Constraint, "contact": Contact, "prescribed": Prescribed}
_OF_CONTROLLER: Final = ("target", "path", "follow", "sense")
"""Entries of a task that are the controller's."""
_TORQUE: Final = "torque"
_SPEEDS: Final = "speed_limits"


def mechanics(robot: Any) -> Mechanics:
    """Return the mechanics of a robot by a model of its own, from its description (see `describe`)."""
    found = describe(robot)
    model = compile_model(found.model.spec)
    return Mechanics(model, found.model.joints, found.model.base)


def task_space(
    robot: Any,
    tasks: Mapping[str, Mapping[str, Any]],
    constraints: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    forces: Mapping[str, Mapping[str, Any]] | None = None,
    solver: Any = Recursion,
    limits: Mapping[str, Any] | None = None,
    balance: Mapping[str, Any] | None = None,
    **settings: Any,
) -> TaskSpaceController:
    """Return a controller of a robot's tasks.

    Args:
        robot: see `describe`. Its joints that are commanded torques do the tasks.
        tasks: by name: `{task: point, frame: tip, target: [0.4, 0.1, 1.0], level: 1}`; which ones there are,
            `TASKS`; entries are those of the task, and `target`, `path`, `follow` and `sense` of
            `TaskSpaceController`. Frames are end effectors, sites or bodies.
        constraints: what holds the robot, by name: `{constraint: contact, frame: sole, size: [0.13, 0.06]}`; which
            ones there are, `CONSTRAINTS`.
        forces: that it exerts on its surroundings, by name: `{frame: hand, axes: [x], wrench: [50]}`, entries of
            `ForceTask`; and `measure`, the force-torque sensor that tells the wrench: its name, or `{sensor:
            wrist, cutoff: 20}` with entries of `WrenchSettings`, whose load is the model's if it is not said.
        solver: makes the solver of a problem, see `TaskStack`.
        limits: of `JointLimits`; `speed: true` is the model's numeric `speed_limits`, null the same if it has one,
            false none. None: no limits.
        balance: of `Balance`: `{task: com, margin: 0.02}`; None: nothing keeps the balance.
        settings: of `TaskSpaceController`.

    Raises:
        UnknownNameError: no such task, constraint, frame, joint or entry.
        ConfigurationError: an entry is missing; no joint of the robot is commanded a torque.
    """
    given_by_name = {"tasks": tasks, "constraints": constraints, "forces": forces, "limits": limits}
    for what, entries in given_by_name.items():
        if not isinstance(entries, Mapping) and not (entries is None and what != "tasks"):
            raise ConfigurationError(f"task-space control: {what} are {entries!r}; entries by name are needed.")
    if not callable(solver):
        raise ConfigurationError(
            f"task-space control: solver is {solver!r}; what makes one, such as Recursion, is needed."
        )
    found = describe(robot)
    model = mechanics(found)
    info = found.simulated().info
    actuated = [c.owner for c in info.command if c.quantity == _TORQUE]
    if not actuated:
        raise ConfigurationError(
            f"robot {info.name!r} is commanded no torques, but {', '.join(info.command_names)}: task-space "
            "control cannot move it. Arms of ours take torques with robot.model.mode=torque."
        )
    torque = [(c.low, c.high) for c in info.command if c.quantity == _TORQUE]
    of_tasks = {name: _made(name, entry, TASKS, "task", model, found) for name, entry in tasks.items()}
    stack = TaskStack(
        model,
        of_tasks,
        {
            name: _made(name, entry, CONSTRAINTS, "constraint", model, found)
            for name, entry in (constraints or {}).items()
        },
        forces={name: _force(name, entry, model, found) for name, entry in (forces or {}).items()},
        actuated=actuated,
        torque=torque,
        limits=_limits(model, limits, actuated),
        solver=solver,
    )
    given: dict[str, Any] = {
        f"{what}s" if what in ("target", "path") else what: {
            name: entry[what] for name, entry in tasks.items() if entry.get(what) is not None
        }
        for what in _OF_CONTROLLER
    }
    measure = {
        name: _measured(name, entry["measure"], found)
        for name, entry in (forces or {}).items()
        if entry.get("measure")
    }
    over = None if balance is None else _called(Balance, "balance", balance, stack)
    return TaskSpaceController(stack, **given, measure=measure, balance=over, **settings)


def _made(
    name: str, entry: Any, kinds: Mapping[str, type[Any]], what: str, model: Mechanics, robot: RobotDescription
) -> Any:
    """A task or a constraint from its entry."""
    if not isinstance(entry, Mapping) or what not in entry:
        raise ConfigurationError(
            f"{what} {name!r} is {entry!r}; {{{what}: {next(iter(kinds))}, …}} with one of {', '.join(kinds)} is "
            "needed."
        )
    kind = kinds.get(str(entry[what]))
    if kind is None:
        raise unknown_name(what, str(entry[what]), kinds, f"entry {name!r}")
    given = {key: value for key, value in entry.items() if key != what and key not in _OF_CONTROLLER}
    takes = _parameters(kind)
    for key in given:
        if key not in takes or key == "mechanics":
            known = [*(one for one in takes if one != "mechanics"), *_OF_CONTROLLER]
            raise unknown_name("entry", key, known, f"{what} {name!r}")
    _find_frames(given, f"{what} {name!r}", model, robot)
    if "mechanics" in takes:
        given["mechanics"] = model
    try:
        return kind(**given)
    except TypeError as error:
        raise ConfigurationError(f"{what} {name!r}: {error}.") from error


def _find_frames(given: dict[str, Any], what: str, model: Mechanics, robot: RobotDescription) -> None:
    """Put the model's sites and bodies in place of end effectors; raise `UnknownNameError` with all three."""
    ours = robot.model.end_effectors
    for key in ("frame", "relative_to"):
        if key in given:
            name = given[key]
            given[key] = ours.get(name, name) if isinstance(name, str) else name
            if given[key] not in model.frames:
                raise unknown_name("frame", name, dict.fromkeys([*ours, *model.frames]), what)


def _force(name: str, entry: Any, model: Mechanics, robot: RobotDescription) -> ForceTask:
    """A force from its entry."""
    if not isinstance(entry, Mapping):
        raise ConfigurationError(
            f"force {name!r} is {entry!r}; {{frame: right_hand, axes: [x], wrench: [50]}} is one."
        )
    given = {key: value for key, value in entry.items() if key != "measure"}
    _find_frames(given, f"force {name!r}", model, robot)
    found: ForceTask = _called(ForceTask, f"force {name!r}", given)
    return found


def _measured(name: str, entry: Any, robot: RobotDescription) -> MeasuredWrench:
    """The sensor of a force."""
    settings = {"sensor": entry} if isinstance(entry, str) else dict(entry)
    sensor = settings.pop("sensor", None)
    known = robot.model.force_torque
    if sensor not in known:
        raise unknown_name("force-torque sensor", sensor, known, f"force {name!r}")
    settings.setdefault("load", tool_load(robot.model, sensor))
    of_wrench = _called(WrenchSettings, f"force {name!r}: measure", settings)
    return MeasuredWrench(sensor, known[sensor], WrenchConditioning(of_wrench))


def _called(kind: Callable[..., Any], what: str, given: Mapping[str, Any], *first: Any) -> Any:
    """Something of a kind from its entries, which are checked."""
    takes = [key for key in list(inspect.signature(kind).parameters)[len(first) :]]
    for key in given:
        if key not in takes:
            raise unknown_name("entry", key, takes, what)
    try:
        return kind(*first, **given)
    except TypeError as error:
        raise ConfigurationError(f"{what}: {error}.") from error


def _parameters(kind: type[Any]) -> list[str]:
    """What can be said of a task: of its own, and of the one that it is a kind of."""
    found: dict[str, None] = {}
    for one in kind.__mro__:
        if one is Task:
            break
        parameters = inspect.signature(one).parameters
        found.update(dict.fromkeys(k for k in parameters if k != "settings"))
        if "settings" not in parameters:
            break
    return list(found)


def _limits(model: Mechanics, given: Mapping[str, Any] | None, actuated: Sequence[str]) -> JointLimits | None:
    if given is None:
        return None
    settings = dict(given)
    known = [name for name in inspect.signature(JointLimits).parameters if name != "mechanics"]
    for name in settings:
        if name not in known:
            raise unknown_name("entry", name, known, "limits of task-space control")
    speed = settings.get("speed")
    if speed is True or (speed is None and _has_speeds(model, actuated)):
        settings["speed"] = _speeds(model, actuated)
    elif speed is False:
        settings["speed"] = None
    return JointLimits(model, **settings)


def _speeds(model: Mechanics, actuated: Sequence[str]) -> Array:
    """Of all joints, (joints,): of those that are driven by the model's numeric, of others infinite."""
    if not _has_speeds(model, actuated):
        raise ConfigurationError(
            f"the model does not say how fast its {len(actuated)} driven joints may be: give limits.speed, or the "
            "model a numeric 'speed_limits'."
        )
    found = np.full(len(model.joints), math.inf)
    found[[model.joints.index(name) for name in actuated]] = model.model.numeric(_SPEEDS).data
    return found


def _has_speeds(model: Mechanics, actuated: Sequence[str]) -> bool:
    """Whether the model says how fast its driven joints may be."""
    names = [model.model.numeric(k).name for k in range(model.model.nnumeric)]
    return _SPEEDS in names and len(model.model.numeric(_SPEEDS).data) == len(actuated)
