"""Control of the interaction of a tool with its surroundings, on any arm that is commanded joint positions.

A law (`Admittance`, `DirectForce`) takes the force at the wrist into a departure of the tool from its desired
motion; the arm's kinematics takes that to joint positions, which the robot's own loops follow.

Source: Storiale, Ferrentino and Chiacchio 2022, "Robot-agnostic interaction controllers": the laws and the three
states. Unlike there, every switch leaves the command and its speed without a jump.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.controller import Controller, Ended, Event
from pliant.controllers.interaction.course import Course
from pliant.controllers.interaction.execution import Conditioning, Feedback, Mode, Watch
from pliant.controllers.interaction.frames import Frame, as_frame
from pliant.controllers.interaction.gains import Gains, LawLimits
from pliant.controllers.interaction.goals import (
    Approach,
    DesiredWrench,
    Goal,
    JointSetpoint,
    NewGains,
    Replay,
    Tare,
    Wait,
    as_gains,
    as_goals,
)
from pliant.controllers.interaction.lifting import LiftOff
from pliant.controllers.interaction.motion import STILL, CartesianMotion, JointMotion, smooth
from pliant.controllers.interaction.planning import Arm, Rehearsal, places
from pliant.controllers.interaction.stability import Contact, LowPass
from pliant.controllers.interaction.tracking import Tracking
from pliant.controllers.interaction.wrench import WrenchRamp, WrenchSensing, check_load
from pliant.controllers.poses import difference
from pliant.errors import MismatchError, RobotError, check_bounds
from pliant.hardware.robot import RobotInfo, State

_REMEMBERED: Final = 1000
"""Events."""


class InteractionController(Controller):
    """Moves a tool that touches things: three states, and a fourth after a fault; see `Mode`.

    It takes goals (`submit`) from any thread, or plays a list of them, each when the one before is done. A goal
    that cannot be is refused with the reason: in the wrong state, with a NaN, out of reach, by a singular posture,
    with gains that are unstable in contact. A whole list is rehearsed before anything moves.

    The motion goes on by one period in every update, whatever time passed.

    Args:
        arm: see `Arm`.
        info: of the robot.
        gains: of the law that it begins with.
        conditioning: of the sensor's raw wrench.
        contact: what is estimated of the contact; None: nothing, and no loop is checked for its stability.
        frame: whose axes the law acts along. `start` is renewed by every motion.
        goals: see `as_goals`.
        limits: of the law's motion; `speed` and `turning` are those of trajectories, too.
        watch: when it stops.
        wrench_rate: of the desired force and torque, largest, N/s and N·m/s.
        joint_speed: largest of a set-point, rad/s; also limited by the arm's own.
        joint_acceleration: likewise, rad/s².
        start: joint positions under which a machine waits before the first update, (joints,), rad; None: the
            robot's resting ones.

    Raises:
        MismatchError: a robot without such joints, columns or wrench.
        ConfigurationError, OutOfBoundsError, …: settings, gains or goals that cannot be.
    """

    def __init__(
        self,
        arm: Arm,
        info: RobotInfo,
        gains: Gains | Mapping[str, Any],
        conditioning: Conditioning,
        *,
        contact: Contact | None = None,
        frame: Frame | Mapping[str, Any] | str = "start",
        goals: Sequence[Any] = (),
        limits: LawLimits | None = None,
        watch: Watch | None = None,
        wrench_rate: Sequence[float] = (50.0, 10.0),
        joint_speed: float = 0.5,
        joint_acceleration: float = 1.0,
        start: Sequence[float] | None = None,
    ) -> None:
        self.arm, self.watch = arm, watch or Watch()
        self._period = info.period
        self._limits = limits or LawLimits()
        self._frame, self._first_gains, self._goals = as_frame(frame, "frame"), as_gains(gains), as_goals(goals)
        joints, columns, signals = places(arm, info)
        self._joints, self._columns = np.array(joints), np.array(columns)
        fastest = check_bounds("joint_speed", joint_speed, 1e-6, 100.0, "rad/s")
        self._rehearsal = Rehearsal(
            arm,
            info.period,
            self._frame,
            contact,
            LowPass.of(conditioning),
            np.minimum(np.asarray(arm.speed), fastest),
            check_bounds("joint_acceleration", joint_acceleration, 1e-6, 1e3, "rad/s²"),
        )
        sensor = np.asarray(arm.frames.sensor, np.float64)
        self._wrench = WrenchSensing(conditioning, signals, sensor, self.watch, self._period)
        for rate in finite_array("wrench_rate", wrench_rate, (2,)):
            check_bounds("wrench_rate", rate, 1e-6, 1e6, "N/s or N·m/s")
        self._asked = WrenchRamp(np.repeat(wrench_rate, 3).astype(np.float64), self._period)
        self.events: deque[Event] = deque(maxlen=_REMEMBERED)
        """What happened since `reset`, the last thousand."""
        self._begun = False
        begin = info.rest
        if start is not None:
            begin[self._columns] = finite_array("start", start, self._columns.shape)
            self.initial_command = begin
        self._rehearsal.check_gains(self._first_gains)
        self._rehearsed = begin[self._columns]
        self.duration = self._rehearsal.play(self._goals, self._rehearsed) if self._goals else None
        """How long the list of goals takes, s, as far as is known beforehand; None without a list."""

    retraces = True

    @property
    def clearance(self) -> Array:
        """What lifts the tool off what it touches, 8 mm against the force; see `Controller.clearance`."""
        found = np.zeros(len(self._command))
        found[self._columns] = self._lift.shift
        return found

    @property
    def ended(self) -> Ended | None:
        """That the joints rest after a fault, or that all goals of a list are done."""
        if not self._begun:
            return None
        if self._mode is Mode.HELD:
            return Ended(self._reason, fault=True) if self._braking == 0.0 else None
        listed = bool(self._goals) and self._next == len(self._goals)
        busy = self._goal or self._pending or self._list_stopped or self._asked.moving
        return Ended("all goals are done") if listed and not busy else None

    def check(self, info: RobotInfo) -> None:
        """Raise `MismatchError` if a robot lacks a joint, column or signal, has another period or another load.

        From then on it is for this robot, whose columns and signals may stand elsewhere.
        """
        check_load(self._wrench.conditioning, info.name, self.arm.sensor)
        joints, columns, signals = places(self.arm, info)
        if info.period != self._period:
            raise MismatchError(
                f"the interaction controller was made for a period of {self._period:g} s; that of robot "
                f"{info.name!r} is {info.period:g} s."
            )
        self._joints, self._columns = np.array(joints), np.array(columns)
        self._wrench.signals = np.array(signals)

    def reset(self, state: State) -> None:
        """Begin at a state, with the joints where it commands them, in the static law.

        Raises:
            OutOfBoundsError: joint positions that the arm cannot have, or goals that cannot be done from there.
        """
        q = finite_array("command of the joints", state.command[self._columns], self._columns.shape)
        if self._goals and np.abs(q - self._rehearsed).max() > 1e-3:
            self.duration = self._rehearsal.play(self._goals, q)
            self._rehearsed = q
        self._command = np.array(state.command)
        self._tool = Tracking(self.arm, self._period, self._frame, self._first_gains, self._limits, q)
        self._wrench.reset()
        self._asked.reset()
        self._lift = LiftOff(self.arm.kinematics, self._period)
        self._pending: deque[Goal] = deque()
        self._next, self._list_stopped, self._waiting = 0, False, 0.0
        self.events.clear()
        self._count, self._late = 0, 0.0
        self._course: Course | None = None
        self._joint_motion: JointMotion | None = None
        self._braking = 0.0
        self._reason = self._goal = ""
        self._measured = self._desired_then = self._tool.desired
        self._mode, self._begun = Mode.STATIC, True

    def update(self, state: State, t: float) -> Array:
        """Return the command, (columns,): of the joints as the law and the motion have it, of others as it was."""
        self._count += 1
        self._late = t - (self._count - 1) * self._period
        tool, kinematics = self._tool, self.arm.kinematics
        self._desired_then = tool.desired
        joints = state.position[self._joints]
        known = math.isfinite(joints.sum())  # else a joint is not measured
        self._measured = kinematics.place(joints) if known else tool.target
        self._wrench.take(state, self._measured, tool.axes, kinematics, tool.q, tool.speed)
        if self._mode is not Mode.HELD:
            self._watch_over()
        if self._mode is not Mode.HELD:
            self._serve()
        if self._mode is Mode.HELD:
            self._brake()
        elif self._mode is Mode.JOINT:
            self._joint_step()
        else:
            self._law_step()
        wrench = self._wrench
        self._lift.take(tool.q, tool.axes @ wrench.value[:3] if wrench.touching else None)
        command = self._command.copy()
        command[self._columns] = tool.q
        return command

    def feedback(self) -> Feedback:
        """Return how it stands; raises `RobotError` before `reset`."""
        self._check_begun()
        course = self._course
        motion = self._joint_motion if course is None else course.motion
        return Feedback(
            time=self._count * self._period,
            mode=self._mode,
            goal=self._goal,
            waypoint=0 if course is None else course.passed,
            remaining=0.0 if motion is None else motion.remaining,
            desired=self._tool.desired.copy(),
            commanded=self._tool.target.copy(),
            measured=self._measured.copy(),
            error=difference(self._desired_then, self._measured),
            wrench=self._wrench.value.copy(),
            desired_wrench=self._asked.value.copy(),
            contact=self._wrench.touching,
            slowed=self._tool.held or ("" if course is None else course.motion.slowed),
            reason=self._reason,
            late=self._late,
        )

    @property
    def gains(self) -> Gains:
        """Of the law in force."""
        if not self._begun:
            return self._first_gains
        found: Gains = self._tool.law.gains if self._course is None else self._course.gains
        return found

    def submit(self, goal: Goal | Replay | Mapping[str, Any]) -> None:
        """Ask for a goal, which begins with the next update. A motion is rehearsed first, which takes some ms.

        Raises:
            RobotError: it is refused in the present state, with the reason.
            OutOfBoundsError, ConfigurationError, …: it cannot be.
        """
        (checked,) = as_goals([goal])
        self._check_begun()
        quick = isinstance(checked, DesiredWrench | NewGains)
        if self._mode not in ((Mode.STATIC, Mode.TRAJECTORY) if quick else (Mode.STATIC,)):
            because = f" ({self._reason}), which `recover` ends" if self._mode is Mode.HELD else ""
            raise RobotError(
                f"the goal is refused: the controller is in the state {self._mode.value!r}{because}; a "
                f"{type(checked).__name__} is taken in the static law{' and on a trajectory' if quick else ''}."
            )
        waiting = [type(g).__name__ for g in self._pending if not isinstance(g, DesiredWrench | NewGains)]
        if not self._list_stopped:
            waiting += [type(g).__name__ for g in self._goals[self._next :]]
        if not quick and (waiting or self._goal):
            raise RobotError(
                f"the goal is refused: {', '.join(filter(None, [self._goal, *waiting]))} comes first."
            )
        begins_here = self._tool.led_by_force or isinstance(checked, Approach)
        self._rehearsal.play([checked], self._tool.q, self._tool.target if begins_here else self._tool.desired)
        self._pending.append(checked)

    def pause(self) -> None:
        """Bring a motion to a smooth stop on its way, until `resume`."""
        self._check_begun()
        for motion in self._motions():
            motion.paused = True
        self._note("paused")

    def resume(self) -> None:
        """Go on with a motion after `pause`, with the list of goals after `cancel` or `recover`."""
        self._check_begun()
        for motion in self._motions():
            motion.paused = False
        self._list_stopped = False
        self._note("resumed")

    def cancel(self) -> None:
        """End a motion by a smooth stop, and a wait; the rest of a list of goals waits for `resume`."""
        self._check_begun()
        self._list_stopped = True
        for motion in self._motions():
            motion.cancelled = True
        if self._goal == Wait.__name__:
            self._goal = ""
        self._note("cancelled")

    def recover(self) -> None:
        """Return from held to the static law, where it stands; the rest of a list of goals waits for `resume`.

        Raises:
            RobotError: it is not held, is still coming to rest, or what stopped it is still there.
        """
        self._check_begun()
        if self._mode is not Mode.HELD:
            raise RobotError("there is nothing to recover from: the controller is not held.")
        if self._braking > 0.0:
            raise RobotError("the controller cannot recover yet: the joints are still coming to rest.")
        if self._wrench.fault:
            raise RobotError(f"the controller cannot recover: {self._wrench.fault}.")
        self._stand()
        self._mode, self._reason, self._goal = Mode.STATIC, "", ""
        self._note("recovered")

    def _motions(self) -> list[CartesianMotion | JointMotion]:
        """What is on its way."""
        cartesian = None if self._course is None else self._course.motion
        return [motion for motion in (cartesian, self._joint_motion) if motion is not None]

    def _check_begun(self) -> None:
        if not self._begun:
            raise RobotError("the controller has not begun; `reset` comes first.")

    def _watch_over(self) -> None:
        """Stop where something is wrong."""
        if self._wrench.fault:
            self._hold(self._wrench.fault)
            return
        asked = 0.0
        if (
            self._tool.led_by_force
            and self._mode is not Mode.JOINT
            and not (self._course and self._course.approaching)
        ):
            axes = self._tool.law.gains.axes
            asked = math.hypot(
                *(f for axis, f in zip("xyz", self._asked.value.tolist()[:3], strict=True) if axis in axes)
            )
        if self._wrench.lost(asked > self.watch.contact):
            self._hold(
                f"the contact is lost for {self.watch.lost_after:g} s while it is to press with {asked:.3g} N"
            )

    def _hold(self, reason: str) -> None:
        """Bring the joints to rest, and hold them."""
        doing = f", during {self._goal}" if self._goal else ""
        if self._pending:
            doing += f"; not begun: {', '.join(type(goal).__name__ for goal in self._pending)}"
            self._pending.clear()
        self._mode, self._reason = Mode.HELD, reason
        self._braking, self._brake_speed = 1.0, self._tool.speed
        if self._course is not None:
            self._course.let_go()
        self._course = self._joint_motion = None
        self._wrench.taring, self._tool.held, self._list_stopped = False, "", True
        self._note(f"held: {reason}{doing}")

    def _serve(self) -> None:
        """End what is done without moving, and begin what is asked for."""
        if self._goal == Wait.__name__:
            self._waiting -= self._period
            if self._waiting < 0.5 * self._period:
                self._goal = ""
        refusal = self._wrench.tare_ended()
        if refusal is not None:
            self._goal = ""
            self._tool.resume()
            if refusal:
                self._hold(f"the tare is refused: {refusal}")
                return
        while self._pending:
            self._begin(self._pending.popleft())
        if not self._goal and not self._list_stopped and self._next < len(self._goals):
            self._next += 1
            self._begin(self._goals[self._next - 1])

    def _begin(self, goal: Goal) -> None:
        self._note(f"begins {type(goal).__name__}")
        if isinstance(goal, DesiredWrench):
            self._asked.go_to(np.asarray(goal.wrench), goal.over)
            return
        if isinstance(goal, NewGains):
            if self._course is not None:
                self._course.gains = as_gains(goal.gains)
            else:
                self._tool.change(as_gains(goal.gains), moving=False)
            return
        self._goal = type(goal).__name__
        if isinstance(goal, Wait):
            self._waiting = goal.duration
        elif isinstance(goal, Tare):
            self._wrench.start_tare()
            self._tool.resume()
        elif isinstance(goal, JointSetpoint):
            self._mode = Mode.JOINT
            duration, position = self._rehearsal.joint_duration(goal, self._tool.q), np.asarray(goal.position)
            self._joint_motion = JointMotion(self._tool.q, self._tool.speed, position, duration, self._period)
        else:
            self._mode = Mode.TRAJECTORY
            self._course = Course(
                goal, self.arm, self._tool, self._asked, self._wrench, self._period, self._limits
            )

    def _joint_step(self) -> None:
        """Let a period pass in joint control."""
        motion = self._joint_motion
        assert motion is not None
        self._tool.move(motion.advance())
        if motion.done:
            self._note("set-point cancelled" if motion.cancelled else "set-point reached")
            self._joint_motion, self._mode, self._goal = None, Mode.STATIC, ""
            self._stand()

    def _law_step(self) -> None:
        """Let a period pass under the law."""
        course, way, desired = self._course, STILL, self._tool.desired
        if course is not None:
            desired, way, touched = course.advance()
            if touched:
                self._note("touches")
        self._asked.advance()
        missing = STILL if self._wrench.taring else self._asked.value - self._wrench.value
        self._tool.follow(desired, way, missing)
        if course is None:
            return
        trouble = course.trouble(self.watch.stuck_after)
        if trouble:
            self._hold(trouble)
        elif course.motion.done:
            course.end()
            self._note("motion ended" if course.motion.cancelled else "motion done")
            self._course, self._mode, self._goal = None, Mode.STATIC, ""

    def _stand(self) -> None:
        """Let the law take over where the joints are, at rest, with no force desired."""
        self._tool.stand()
        self._asked.reset()

    def _brake(self) -> None:
        """Let a period pass on the way to rest."""
        self._braking = max(self._braking - self._period / self.watch.stop, 0.0)
        self._tool.move(self._tool.q + self._period * smooth(self._braking) * self._brake_speed)

    def _note(self, text: str) -> None:
        self.events.append(Event(self._count * self._period, text))
