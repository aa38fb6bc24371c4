"""A tool under interaction control, run and recorded: what the experiments on two arms have in common."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from pliant.controllers.checks import Array
from pliant.controllers.interaction import Contact, InteractionController, LawLimits, Watch
from pliant.controllers.interaction.goals import as_gains
from pliant.controllers.poses import matrix
from pliant.envs.arm import arm, load_behind
from pliant.envs.description import RobotDescription, describe, robot_settings
from pliant.envs.movement import Movement
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings
from pliant.hardware.robot import State


@dataclass(frozen=True)
class ToolArm:
    """An arm of an experiment, and what is its own there."""

    robot: str
    """Name or file."""
    gains: Mapping[str, Any]
    """Of the law."""
    period: float = 0.004
    """From one command to the next, and of a physics step, s: a command that is held over several steps jerks the
    arm, always at the same moment before the sensor is read."""
    heading: Sequence[float] = (1.0, 0.0, 0.0)
    """Direction of the motion in the robot's world, (3,)."""
    speed: float = 0.0035
    """Of the motion, m/s."""
    start: Sequence[float] | None = None
    """Joint positions, rad; None: the robot's own start."""
    contact: Mapping[str, float] | None = None
    """What is believed of the contact, see `Contact`; None: nothing."""
    cutoff: float = 20.0
    """Of the wrench's low-pass, Hz."""
    held: Mapping[str, float] = field(default_factory=dict)
    """Things of the robot's surroundings that a spring holds, by name: its stiffness, N/m."""

    def __post_init__(self) -> None:
        as_gains(self.gains)
        check_bounds(f"{self.robot}: period", self.period, 1e-4, 0.1, "s")
        check_bounds(f"{self.robot}: speed", self.speed, 1e-5, 1.0, "m/s")

    @property
    def description(self) -> RobotDescription:
        """Of the robot."""
        settings = robot_settings(self.robot)
        own = settings["model"] if isinstance(settings["model"], dict) else settings
        own |= {"timestep": self.period, "integrator": "discrete"}
        for name, stiffness in self.held.items():
            settings["surroundings"][name]["stiffness"] = stiffness
        return describe({**settings, "period": self.period})

    def along(self) -> Array:
        """Return the direction of the motion in the axes of the tool at the start, (3,)."""
        description = self.description
        compiled = description.simulated().compiled
        start = compiled.qpos[compiled.positions] if self.start is None else np.array(self.start)
        heading = np.asarray(self.heading, np.float64)
        found: Array = matrix(arm(description).kinematics.pose(start)[3:]).T @ (heading / np.linalg.norm(heading))
        return found

    def movement(
        self, goals: Sequence[Mapping[str, Any]], duration: float, after: float = np.inf, **options: Any
    ) -> "ToolMovement":
        """Return the motion of the tool with its goals, from the arm's start.

        Args:
            goals: of the `InteractionController`.
            duration: s.
            after: how long it is recorded after the last goal, s.
            options: of the controller.
        """
        description = self.description
        robot = description.simulated(self.period)
        settings = WrenchSettings(load=load_behind(description), cutoff=self.cutoff)
        controller = InteractionController(
            arm(description),
            robot.info,
            self.gains,
            WrenchConditioning(settings),
            contact=None if self.contact is None else Contact(**self.contact),
            goals=goals,
            limits=options.pop("limits", LawLimits(distance=2.0)),
            watch=options.pop("watch", Watch()),
            start=self.start,
            **options,
        )
        return ToolMovement(robot, controller, duration, self.start, after)


def arms_of(given: Mapping[str, ToolArm | Mapping[str, Any]]) -> dict[str, ToolArm]:
    """Return the arms of an experiment from its settings.

    Raises:
        UnknownNameError: an entry that nothing is called.
        ConfigurationError, OutOfBoundsError: none is given, or what cannot be.
    """
    if not given:
        raise ConfigurationError("the experiment has no arms: {ur10: {robot: ur10_ramp, gains: …}} is needed.")
    known = [f.name for f in fields(ToolArm)]
    found = {}
    for name, entry in given.items():
        if isinstance(entry, ToolArm):
            found[name] = entry
            continue
        for key in entry:
            if key not in known:
                raise unknown_name("entry", key, known, f"the arm {name!r}")
        found[name] = ToolArm(**entry)
    return found


class ToolRun(NamedTuple):
    """What happened, period by period: the leading axis. In the axes of the tool at the start."""

    time: Array
    """s"""
    desired: Array
    """Position from the start, (…, 3), m."""
    commanded: Array
    """Likewise, of the law."""
    measured: Array
    """Likewise, by the joints that are measured."""
    wrench: Array
    """Of the tool on its surroundings, (…, 6), N and N·m."""
    wanted: Array
    """Likewise, desired."""
    joints: Array
    """Joint positions, (…, joints), rad."""
    qpos: Array
    """Coordinates of the whole model, for pictures."""

    def at(self, t: float, width: float = 1.0) -> "ToolRun":
        """Return the mean over a time about `t`, s: friction and contact chatter."""
        chosen = np.abs(self.time - t) <= width / 2
        return ToolRun(*(field[chosen].mean(axis=0) for field in self))

    def touches(self, force: float = 0.1) -> tuple[float, float]:
        """Return when the tool first and last presses down harder than a force (N), s; NaN if never."""
        when = self.time[self.wrench[:, 2] > force]
        return (float(when[0]), float(when[-1])) if len(when) else (np.nan, np.nan)


class ToolMovement(Movement):
    """A motion under interaction control."""

    controller: InteractionController

    def __init__(
        self,
        robot: SimulatedRobot,
        controller: InteractionController,
        duration: float,
        start: Sequence[float] | None,
        after: float = np.inf,
        push: Callable[[SimulatedRobot, State], None] | None = None,
    ) -> None:
        """Keep what is given; nothing moves yet.

        Args:
            robot: what is moved.
            controller: of it.
            duration: s.
            start: joint positions at the beginning, (joints,), rad; None: the robot's own.
            after: how long it is recorded after the controller's last goal, s.
            push: called before every period: what else acts on the arm.
        """
        super().__init__(robot, controller, duration, position=start, before=controller.initial_command)
        self._start, self._after, self._push = start, after, push

    def states(self) -> Iterator[State]:
        """As of `Movement`, with what else acts."""
        for state in super().states():
            if self._push is not None:
                self._push(self.robot, state)
            yield state

    def pushed(self, push: Callable[[SimulatedRobot, State], None]) -> "ToolMovement":
        """Return the same motion, with something that acts on the arm before every period."""
        return ToolMovement(self.robot, self.controller, self.duration, self._start, self._after, push)

    def record(self) -> ToolRun:
        """Run it.

        Raises:
            ConfigurationError: the controller held the arm on the way.
        """
        rows: list[tuple[Any, ...]] = []
        states, over = self.states(), 0.0
        begin = next(states)
        for state in states:
            seen = self.controller.feedback()
            over = 0.0 if seen.goal else over + self.robot.info.period
            if over > self._after:
                break
            rows.append(
                (
                    seen.time,
                    seen.desired[:3],
                    seen.commanded[:3],
                    seen.measured[:3],
                    seen.wrench,
                    seen.desired_wrench,
                    state.position,
                    self.robot.data.qpos.copy(),
                )
            )
            if seen.reason:
                raise ConfigurationError(f"{self.robot.info.name} was held at {seen.time:.6g} s: {seen.reason}.")
        pose = self.controller.arm.preview.pose(begin.position)
        run = ToolRun(*(np.array(column) for column in zip(*rows, strict=True)))
        inside = {
            name: (getattr(run, name) - pose[:3]) @ matrix(pose[3:])
            for name in ("desired", "commanded", "measured")
        }
        return run._replace(**inside)
