"""What `gymnasium.make` and `make_vec` call: a described robot and a task, made one environment or many."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, Literal

from pliant.actuators import CompliantJoint, Law, Mode
from pliant.actuators.modes import as_mode
from pliant.controllers.two_link import TwoLinkArm
from pliant.envs.description import RobotDescription, describe
from pliant.envs.env import PliantEnv
from pliant.envs.models.arm2 import arm2, arm2_joints
from pliant.envs.models.building import configured_law
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.two_link import torque_joints, two_link
from pliant.envs.simulation.signals import offers
from pliant.envs.tasks import TASKS, Kinematics, PlanarKinematics, Task, TrackPath
from pliant.envs.tasks.ends import SUCCEEDING
from pliant.envs.tasks.reach_pose import planar_reach
from pliant.envs.vector.env import PliantVectorEnv
from pliant.errors import ConfigurationError, UnknownNameError, unknown_name
from pliant.hardware.robot import Robot, RobotInfo

ACTION_PERIOD = 0.02
"""Time from one action to the next where nothing else is said, s."""
_REACH = (-1.57, 1.57)
_PLANAR_TASKS: Mapping[str, Callable[..., Task]] = {"reach": planar_reach, "track": TrackPath}
_MANY = [p.name for p in signature(PliantVectorEnv).parameters.values() if p.kind is p.KEYWORD_ONLY]
"""What is said to the many rather than to each."""


def as_task(task: str | Task) -> Task:
    """Return a task from its name or as it is; raise `UnknownNameError` otherwise."""
    if isinstance(task, Task):
        return task
    if not isinstance(task, str) or task not in TASKS:
        raise unknown_name("task", task, TASKS)
    return TASKS[task]()


def robot_env(
    robot: Any = "arm2",
    task: str | Task = "reach",
    *,
    period: float | None = ACTION_PERIOD,
    randomisation: Any = None,
    kinematics: Kinematics | None = None,
    render_mode: str | None = None,
    width: int = 640,
    height: int = 480,
    **simulation: Any,
) -> PliantEnv:
    """Make an environment of any robot and any task: `pliant/Robot-v0`.

    Args:
        robot: a name, a file, a description (see `pliant.envs.description.describe`), or any robot, real or
            simulated.
        task: its name, or a configured one.
        period: time from one action to the next, s; None: the robot's own.
        randomisation: how the robot differs from episode to episode.
        kinematics: where the end effectors are, in place of the robot's own.
        render_mode: None, "human" or "rgb_array".
        width: of an image, pixels.
        height: of an image, pixels.
        simulation: options of `SimulatedRobot`.

    Raises:
        UnknownNameError: no such robot, task or option.
        ConfigurationError: a robot as it is, with settings for another one; a robot and a task that do not go
            together.
    """
    chosen = as_task(task)
    view: dict[str, Any] = {"render_mode": render_mode, "width": width, "height": height, "kinematics": kinematics}
    if isinstance(robot, Robot):
        given = [name for name in simulation if simulation[name] is not None]
        given += ["randomisation"] if randomisation is not None else []
        if given or period not in (None, ACTION_PERIOD, robot.info.period):
            raise ConfigurationError(
                f"robot {robot.info.name!r} is given as it is, so {', '.join(given) or 'period'} cannot be given "
                "with it."
            )
        return PliantEnv(robot, chosen, **view)
    description = describe(robot)
    options = {**simulation, "randomisation": randomisation}
    if kinematics is None:
        options["signals"] = needed_signals(description, chosen)
    return PliantEnv(description.simulated(period, **options), chosen, **view)


def needed_signals(description: RobotDescription, task: Task) -> tuple[str, ...]:
    """Return the signals besides those of joints and motors that a task uses of a robot.

    Raises:
        UnknownNameError: the robot has no such signal. Others: as `Task.on`.
    """
    everything = dict.fromkeys(offer.group for offer in offers(description.model))
    full = description.simulated(signals=tuple(everything))
    reads = task.on(full.info, full.kinematics).reads
    sensors = {channel.name for channel in full.info.sensors}
    return tuple(name for name in reads if name in sensors)


def measurable(
    task: Task, info: RobotInfo, kinematics: Kinematics | None = None, estimated: Collection[str] = ()
) -> tuple[Task, tuple[str, ...]]:
    """Return a task without what looks at signals that a robot lacks: rewards, ends and measures, and their names.

    Observations stay: a policy cannot do without them. Ends that say whether an episode is a success are left out
    also where they look at signals that are only `estimated`.
    """
    lost: list[str] = []
    measures = {n: t for n, t in task.measures.items() if _known(task.but(measures={n: t}), info, kinematics)}
    whole = task.but(measures=measures)
    rewards = {n: t for n, t in task.rewards.items() if _known(whole, info, kinematics, rewards={n: t})}
    ends = {n: t for n, t in task.ends.items() if _known(whole, info, kinematics, ends={n: t})}
    for name in [n for n, term in ends.items() if term.role in SUCCEEDING]:
        alone = whole.but(observations={}, rewards={}, ends={name: ends[name]})
        if not set(estimated).isdisjoint(alone.on(info, kinematics).reads):
            del ends[name]
    for kind, all_of_them, kept in (
        ("measure", task.measures, measures), ("reward", task.rewards, rewards), ("end", task.ends, ends),
    ):  # fmt: skip
        lost += [f"{kind} {name!r}" for name in all_of_them if name not in kept]
    return whole.but(rewards=rewards, ends=ends), tuple(lost)


def _known(task: Task, info: RobotInfo, kinematics: Kinematics | None, **parts: Any) -> bool:
    """Whether a robot has the signals of some parts of a task."""
    try:
        task.but(**{"observations": {}, "rewards": {}, "ends": {}, **parts}).on(info, kinematics)
    except UnknownNameError:
        return False
    return True


def compliant_joint_env(
    task: str | Task = "track",
    *,
    law: str | Law | None = None,
    mode: Mode | int | str | None = None,
    parameters: str | Mapping[str, float] | None = None,
    period: float | None = None,
    robot: Robot | Mapping[str, Any] | None = None,
    **options: Any,
) -> PliantEnv:
    """Make `pliant/CompliantJoint-v0`: one joint turns a weight on a rod, any law in any mode.

    ## Action space
    `Box(-1, 1, (n,), float32)`, spread over the bounds of the joint's references; by default:

    | i | action | at −1 | at 1 | unit |
    |---|---|---|---|---|
    | 0 | `joint/equilibrium` | −1.57 | 1.57 | rad |
    | 1 | `joint/preset` | −0.8 | 0.8 | rad |

    ## Observation space
    `Box(low, high, (m,), float32)`; where low and high are `signal`, they are those of the
    robot's own signal (of the position or speed that a goal is compared with). By default:

    | i | observation | low | high | unit |
    |---|---|---|---|---|
    | 0 | `joint/position` | signal | signal | rad |
    | 1 | `joint/velocity` | signal | signal | rad/s |
    | 2 | `joint/torque`, of the drive on the link | signal | signal | N·m |
    | 3 | `joint/equilibrium_command`, in force | −1.57 | 1.57 | rad |
    | 4 | `joint/preset_command`, in force | −0.8 | 0.8 | rad |
    | 5 | `joint/desired_position` at the end of the coming period (task `track`) | signal | signal | rad |
    | 6 | `joint/desired_velocity` likewise (task `track`) | signal | signal | rad/s |
    | 5 | `joint/goal` (task `reach`) | signal | signal | rad |

    Args:
        task: its name, or a configured one.
        law: None: "qbmove".
        mode: None: 3, equilibrium and preset of ideal motors.
        parameters: of the law, by name, or the name of a set.
        period: time from one action to the next, s; None: 0.02.
        robot: options of `SimulatedRobot` by name; or any robot, which takes the place of this one.
        options: see `robot_env`.

    Raises:
        As `robot_env`.
    """

    def build() -> RobotDescription:
        chosen = as_mode(Mode.EQUILIBRIUM_PRESET if mode is None else mode)
        joint = CompliantJoint(configured_law(law or "qbmove", parameters), chosen, position_range=_REACH)
        return RobotDescription(rig1(joint))

    told = {"law": law, "mode": mode, "parameters": parameters, "period": period}
    return _front(build, task, told, robot, options)


def compliant_arm2_env(
    task: str | Task = "track",
    *,
    law: str | Law | None = None,
    mode: Mode | int | str | None = None,
    parameters: str | Mapping[str, float] | None = None,
    period: float | None = None,
    robot: Robot | Mapping[str, Any] | None = None,
    **options: Any,
) -> PliantEnv:
    """Make `pliant/CompliantArm2-v0`: a hanging arm of two qbMove joints, the robot `arm2`.

    ## Action space
    `Box(-1, 1, (n,), float32)`, spread over the bounds of the joints' references; by default:

    | i | action | at −1 | at 1 | unit |
    |---|---|---|---|---|
    | 0 | `shoulder/equilibrium` | −1.57 | 1.57 | rad |
    | 1 | `shoulder/preset` | 0 | 0.6 | rad |
    | 2 | `elbow/equilibrium` | −1.57 | 1.57 | rad |
    | 3 | `elbow/preset` | 0 | 0.6 | rad |

    ## Observation space
    `Box(low, high, (m,), float32)`, shoulder before elbow, and as of `compliant_joint_env`; by default:

    | i | observation | low | high | unit |
    |---|---|---|---|---|
    | 0, 1 | `position` | signal | signal | rad |
    | 2, 3 | `velocity` | signal | signal | rad/s |
    | 4, 5 | `torque`, of the drive on the link | signal | signal | N·m |
    | 6–9 | the references in force, `…_command`, as under actions | as there | as there | rad |
    | 10, 11 | `desired_position` at the end of the coming period (task `track`) | signal | signal | rad |
    | 12, 13 | `desired_velocity` likewise (task `track`) | signal | signal | rad/s |
    | 10, 11 | `goal` (task `reach`) | signal | signal | rad |

    Arguments as of `compliant_joint_env`; the mode is 6 if it is not given, and the springs those of the real arm
    if neither law nor parameters are.
    """

    def build() -> RobotDescription:
        chosen = Mode.EQUILIBRIUM_PRESET_MOTORS if mode is None else mode
        return RobotDescription(arm2(arm2_joints(chosen, law, parameters)))

    told = {"law": law, "mode": mode, "parameters": parameters, "period": period}
    return _front(build, task, told, robot, options)


def two_link_arm_env(
    task: str | Task = "reach",
    *,
    arm: TwoLinkArm | None = None,
    elbow: Literal["up", "down"] = "up",
    vertical: bool | None = None,
    damping: float | None = None,
    torque_limit: float | None = None,
    period: float | None = None,
    robot: Robot | Mapping[str, Any] | None = None,
    **options: Any,
) -> PliantEnv:
    """Make `pliant/TwoLinkArm-v0`: two rods of 1 m and 1 kg in a plane, driven by torques; the robot `two_link`.

    Points are (x, z) from the shoulder in the arm's plane: z is the height where the arm is upright, and the
    world's y where it lies.

    Args:
        task: "reach", "track" or a configured one, such as `planar_reach` or `TrackPath`.
        arm: its lengths and masses; None: 1 m and 1 kg each.
        elbow: the solution of the inverse kinematics in which the joints start on a path.
        vertical: whether the arm moves in a vertical plane, with gravity; None: it does.
        damping: viscous friction of each joint, N·m·s/rad; None: 0.
        torque_limit: N·m; None: 60.
        period: time from one action to the next, s; None: 0.02.
        robot: options of `SimulatedRobot` by name; or any robot, which takes the place of this one.
        options: see `robot_env`.

    Raises:
        As `robot_env`.
    """
    if not isinstance(task, Task):
        if not isinstance(task, str) or task not in _PLANAR_TASKS:
            raise unknown_name("task", task, _PLANAR_TASKS, "the two-link arm")
        task = _PLANAR_TASKS[task]()
    kinematics = PlanarKinematics(TwoLinkArm() if arm is None else arm, elbow)

    def build() -> RobotDescription:
        shape = kinematics.arm
        model = two_link(
            torque_joints(60.0 if torque_limit is None else torque_limit),
            lengths=(shape.l1, shape.l2),
            masses=(shape.m1, shape.m2),
            vertical=True if vertical is None else bool(vertical),
            damping=0.0 if damping is None else damping,
        )
        return RobotDescription(model)

    told = {"vertical": vertical, "damping": damping, "torque_limit": torque_limit, "period": period}
    return _front(build, task, told, robot, {**options, "kinematics": kinematics})


def _front(
    build: Callable[[], RobotDescription],
    task: str | Task,
    told: Mapping[str, Any],
    robot: Robot | Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> PliantEnv:
    """An environment of a robot that is built as told, or of one that is given in its place."""
    if isinstance(robot, Robot):
        if given := [name for name, value in told.items() if value is not None]:
            raise ConfigurationError(
                f"robot {robot.info.name!r} brings its own joints and period, so {', '.join(given)} cannot be "
                "given with it."
            )
        return robot_env(robot, task, period=None, **options)
    if robot is not None and not isinstance(robot, Mapping):
        raise ConfigurationError(
            f"robot is a {type(robot).__name__}; a Robot or options of SimulatedRobot by name are needed."
        )
    period = ACTION_PERIOD if told["period"] is None else told["period"]
    return robot_env(replace(build(), period=period), task, period=None, **{**(robot or {}), **options})


def many(single: Callable[..., PliantEnv]) -> Callable[..., PliantVectorEnv]:
    """Return what makes n environments like a single one, for `gymnasium.make_vec`.

    It takes `num_envs`, `autoreset_mode`, `threads` and what concerns pictures as `PliantVectorEnv` does, and the
    options of the single environment; a `robot` among these must be a simulated one.

    Args:
        single: makes the single environment; its robot and task are those of the many.
    """

    def make(num_envs: int = 1, **options: Any) -> PliantVectorEnv:
        own = {name: options.pop(name) for name in _MANY if name in options}
        one = single(**options)
        return PliantVectorEnv(one.robot, one.task.task, num_envs, kinematics=one.task.kinematics, **own)

    return make


robot_envs = many(robot_env)
compliant_joint_envs = many(compliant_joint_env)
compliant_arm2_envs = many(compliant_arm2_env)
two_link_arm_envs = many(two_link_arm_env)
