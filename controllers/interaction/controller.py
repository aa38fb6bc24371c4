"""Control of the interaction of a tool with its surroundings, on any arm that is commanded joint positions.

A law (`Admittance`, `DirectForce`) takes the force at the wrist into a departure of the tool from its desired
motion; the arm's kinematics takes that to joint positions, which the robot's own loops follow.

Source: Storiale, Ferrentino and Chiacchio 2022, "Robot-agnostic interaction controllers": the laws and the three
states. Unlike there, every switch leaves the command and its speed without a jump.
"""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.controller import Controller, Ended
from pliant.controllers.interaction.execution import Conditioning, Event, Feedback, Mode, Watch
from pliant.controllers.interaction.frames import Frame, along, as_frame, offset_pose
from pliant.controllers.interaction.goals import (
    Approach,
    CartesianTrajectory,
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
from pliant.controllers.interaction.laws import DirectForce, Gains, Law, LawLimits, law_of
from pliant.controllers.interaction.motion import CartesianMotion, JointMotion, joint_duration, smooth
from pliant.controllers.interaction.planning import Arm, Rehearsal, places
from pliant.controllers.interaction.stability import Contact, LowPass, check_stability
from pliant.controllers.interaction.wrench import WrenchRamp, WrenchSensing
from pliant.controllers.poses import difference, matrix
from pliant.errors import ConfigurationError, MismatchError, OutOfBoundsError, RobotError, check_bounds
from pliant.hardware.robot import RobotInfo, State

_GAIN: Final = 0.2
"""Of the loop of the inverse kinematics, per period."""
_STILL: Final = np.zeros(6)
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
        self._info, self._period = info, info.period
        self._contact, self._limits = contact, limits or LawLimits()
        self._low_pass = LowPass.of(conditioning)
        self._frame, self._first_gains, self._goals = as_frame(frame, "frame"), as_gains(gains), as_goals(goals)
        self._places = joints, columns, signals = places(arm, info)
        self._joints, self._columns = np.array(joints), np.array(columns)
        self._arm_speed = np.asarray(arm.speed, np.float64)
        fastest = check_bounds("joint_speed", joint_speed, 1e-6, 100.0, "rad/s")
        self._joint_speed = np.minimum(self._arm_speed, fastest)
        self._joint_acceleration = check_bounds("joint_acceleration", joint_acceleration, 1e-6, 1e3, "rad/s²")
        sensor = np.asarray(arm.frames.sensor, np.float64)
        self._wrench = WrenchSensing(conditioning, signals, sensor, self.watch, self._period)
        for rate in finite_array("wrench_rate", wrench_rate, (2,)):
            check_bounds("wrench_rate", rate, 1e-6, 1e6, "N/s or N·m/s")
        self._asked = WrenchRamp(np.repeat(wrench_rate, 3).astype(np.float64), self._period)
        self._law: Law[Any] = law_of(self._period, self._first_gains, self._limits)
        self.events: deque[Event] = deque(maxlen=_REMEMBERED)
        """What happened since `reset`, the last thousand."""
        self._begun = False
        begin = info.rest
        if start is not None:
            begin[self._columns] = finite_array("start", start, self._columns.shape)
            self.initial_command = begin
        self._check_gains(self._first_gains)
        self._rehearsed = begin[self._columns]
        self.duration = self._rehearse(self._rehearsed) if self._goals else None
        """How long the list of goals takes, s, as far as is known beforehand; None without a list."""

    retraces = True

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
        """Raise `MismatchError` if a robot has other columns or signals, or another period."""
        if places(self.arm, info) != self._places or info.period != self._period:
            raise MismatchError(
                f"the interaction controller was made for robot {self._info.name!r} at {self._period:g} s; "
                f"{info.name!r} has other columns or signals, or a period other than its {info.period:g} s."
            )

    def reset(self, state: State) -> None:
        """Begin at a state, with the joints where it commands them, in the static law.

        Raises:
            OutOfBoundsError: joint positions that the arm cannot have, or goals that cannot be done from there.
        """
        q = finite_array("command of the joints", state.command[self._columns], self._columns.shape)
        kinematics = self.arm.kinematics
        if self._goals and np.abs(q - self._rehearsed).max() > 1e-3:
            self.duration = self._rehearse(q)
            self._rehearsed = q
        self._command = np.array(state.command)
        self._low, self._high = kinematics.low, kinematics.high
        self._q, self._speed = np.clip(q, self._low, self._high), np.zeros(len(q))
        self._law = law_of(self._period, self._first_gains, self._limits)
        self._wrench.reset()
        self._pending: deque[Goal] = deque()
        self._next, self._list_stopped, self._waiting = 0, False, 0.0
        self.events.clear()
        self._count, self._late = 0, 0.0
        self._motion: CartesianMotion | None = None
        self._joint_motion: JointMotion | None = None
        self._approach: Approach | None = None
        self._trajectory: CartesianTrajectory | None = None
        self._stuck = self._braking = 0.0
        self._held = self._reason = self._goal = ""
        self._stand()
        self._measured = self._desired_then = self._target
        self._mode, self._begun = Mode.STATIC, True

    def update(self, state: State, t: float) -> Array:
        """Return the command, (columns,): of the joints as the law and the motion have it, of others as it was."""
        self._count += 1
        self._desired_then = self._desired
        self._late = t - (self._count - 1) * self._period
        kinematics = self.arm.kinematics
        joints = state.position[self._joints]
        self._measured = self._target if math.isnan(joints.sum()) else kinematics.pose(joints)
        self._wrench.take(state, self._measured, self._axes, kinematics, self._q, self._speed)
        if self._mode is not Mode.HELD:
            self._watch_over()
        if self._mode is not Mode.HELD:
            self._serve()
        if self._mode is Mode.HELD:
            q = self._brake()
        elif self._mode is Mode.JOINT:
            q = self._joint_step()
        else:
            q = self._law_step()
        self._speed = (q - self._q) / self._period
        self._q = q
        command = self._command.copy()
        command[self._columns] = q
        return command

    def feedback(self) -> Feedback:
        """Return how it stands."""
        cartesian, motion = self._motion, self._motion or self._joint_motion
        return Feedback(
            time=self._count * self._period,
            mode=self._mode,
            goal=self._goal,
            waypoint=0 if cartesian is None or self._approach else cartesian.passed,
            remaining=0.0 if motion is None else motion.remaining,
            desired=self._desired.copy(),
            commanded=self._target.copy(),
            measured=self._measured.copy(),
            error=difference(self._desired_then, self._measured),
            wrench=self._wrench.value.copy(),
            desired_wrench=self._asked.value.copy(),
            contact=self._wrench.touching,
            slowed=self._held or (cartesian.slowed if cartesian else ""),
            reason=self._reason,
            late=self._late,
        )

    @property
    def gains(self) -> Gains:
        """Of the law in force."""
        found: Gains = self._law.gains if self._approach is None else self._approach_gains
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
        if isinstance(checked, NewGains):
            self._check_gains(as_gains(checked.gains))
        elif not isinstance(checked, DesiredWrench):
            begins_here = self._led_by_force or isinstance(checked, Approach)
            self._rehearsal(self._q, self._target if begins_here else self._desired).play(checked)
        self._pending.append(checked)

    def pause(self) -> None:
        """Bring a motion to a smooth stop on its way, until `resume`."""
        self._check_begun()
        for motion in (self._motion, self._joint_motion):
            if motion is not None:
                motion.paused = True
        self._note("paused")

    def resume(self) -> None:
        """Go on with a motion after `pause`, with the list of goals after `cancel` or `recover`."""
        self._check_begun()
        for motion in (self._motion, self._joint_motion):
            if motion is not None:
                motion.paused = False
        self._list_stopped = False
        self._note("resumed")

    def cancel(self) -> None:
        """End a motion by a smooth stop, and a wait; the rest of a list of goals waits for `resume`."""
        self._check_begun()
        self._list_stopped = True
        for motion in (self._motion, self._joint_motion):
            if motion is not None:
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

    def _check_begun(self) -> None:
        if not self._begun:
            raise RobotError("the controller has not begun; `reset` comes first.")

    def _stand(self) -> None:
        """Let the law take over where the joints are, at rest, with nothing desired of a force."""
        self._desired = self._target = self.arm.kinematics.pose(self._q)
        self._start = self._desired
        self._axes = self._law_axes()
        self._law.begin()
        self._asked.reset()

    def _law_axes(self) -> Array:
        return matrix(self.arm.frames.locate(self._frame, self._target, self._start)[3:])

    @property
    def _led_by_force(self) -> bool:
        """Whether the tool may be far from the desired pose, because its law does not lead it back."""
        return isinstance(self._law, DirectForce)

    def _anchor(self) -> None:
        """Make the commanded pose the desired one; the speed goes on."""
        self._desired = self._target.copy()
        self._law.begin(_STILL, self._law.rate.copy())

    def _watch_over(self) -> None:
        """Stop where something is wrong."""
        if self._wrench.fault:
            self._hold(self._wrench.fault)
            return
        asked = 0.0
        if self._led_by_force and self._mode is not Mode.JOINT and self._approach is None:
            asked = math.hypot(*self._asked.value[:3].tolist())
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
        self._braking, self._brake_speed = 1.0, self._speed.copy()
        if self._approach is not None:
            self._law.gains = self._approach_gains
        self._motion = self._joint_motion = self._approach = self._trajectory = None
        self._wrench.taring, self._held, self._list_stopped = False, "", True
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
            self._change_gains(as_gains(goal.gains))
            return
        self._goal = type(goal).__name__
        if isinstance(goal, Wait):
            self._waiting = goal.duration
        elif isinstance(goal, Tare):
            self._wrench.start_tare()
        elif isinstance(goal, JointSetpoint):
            self._mode = Mode.JOINT
            position = np.asarray(goal.position)
            fastest = joint_duration(position - self._q, self._joint_speed, self._joint_acceleration)
            duration = max(fastest, goal.duration or 0.0)
            self._joint_motion = JointMotion(self._q, self._speed, position, duration, self._period)
        else:
            self._begin_motion(goal)

    def _begin_motion(self, goal: CartesianTrajectory | Approach) -> None:
        if self._led_by_force or isinstance(goal, Approach):
            self._anchor()
        self._start = self._desired
        before, self._axes = self._axes, self._law_axes()
        turn = self._axes.T @ before
        self._law.turn(turn)
        self._wrench.turn(turn)
        if isinstance(goal, Approach):
            self._approach, self._approach_gains = goal, self._law.gains
            self._law.gains = replace(self._law.gains, axes=())
            path = goal.path(self._axes, self._desired)
        else:
            self._trajectory = goal if goal.wrench is not None else None
            self._asked_before = self._asked.value
            frame = self.arm.frames.locate(as_frame(goal.frame), self._target, self._start)
            path = goal.path(frame, self._desired)
        self._mode, self._stuck = Mode.TRAJECTORY, 0.0
        self._motion = CartesianMotion(path, self._period, self._limits.speed, self._limits.turning)

    def _change_gains(self, gains: Gains) -> None:
        if self._approach is not None:
            self._approach_gains = gains
            return
        if type(gains) is type(self._law.gains):
            self._law.gains = gains
            return
        if self._led_by_force and self._motion is None:
            self._anchor()
        law = law_of(self._period, gains, self._limits)
        law.begin(self._law.offset, self._law.rate)
        self._law = law

    def _check_gains(self, gains: Gains) -> None:
        if self._contact is not None:
            check_stability(gains, self._contact, self._period, self._low_pass, self.arm.load)

    def _joint_step(self) -> Array:
        motion = self._joint_motion
        assert motion is not None
        q: Array = np.clip(motion.advance(), self._low, self._high)
        if motion.done:
            self._note("set-point cancelled" if motion.cancelled else "set-point reached")
            self._joint_motion, self._mode, self._goal = None, Mode.STATIC, ""
            before, self._q = self._q, q
            self._stand()
            self._q = before
        return q

    def _law_step(self) -> Array:
        """Joint positions by law, motion and kinematics."""
        rate, motion = _STILL, self._motion
        if motion is not None:
            rate = along(self._axes, motion.advance(not self._held), 1.0 / self._period)
            self._desired = motion.pose
            self._follow_wrench(motion)
        self._asked.advance()
        missing = _STILL if self._wrench.taring else self._asked.value - self._wrench.value
        self._law.advance(rate, missing)
        target, way = offset_pose(self._desired, self._law.offset, self._axes, self._target)
        q, gain = self._q, _GAIN / self._period
        step = self.arm.kinematics.step(
            q, self._target, way / self._period, self._period, gain=gain, speed=self._arm_speed
        )
        self._held = step.held
        self._target = self._give_in(step.q) if step.held else target
        if motion is not None:
            self._end_motion(motion)
        return step.q

    def _give_in(self, q: Array) -> Array:
        """Take the pose that the joints could reach for the commanded one, so that nothing winds up."""
        reached = self.arm.kinematics.pose(q)
        offset = along(self._axes, difference(reached, self._desired))
        rate = along(self._axes, difference(reached, self._target), 1.0 / self._period)
        self._law.correct(offset, rate)
        return reached

    def _follow_wrench(self, motion: CartesianMotion) -> None:
        """End an approach at a contact; ask for the wrench of a trajectory."""
        if self._approach is not None:
            goal = self._approach
            if float(self._wrench.value[:3] @ np.asarray(goal.direction)) >= goal.force:
                self._note("touches")
                self._law.gains, self._approach = self._approach_gains, None
                motion.cancelled = True
                self._asked.go_to(np.asarray(goal.wrench))
        elif self._trajectory is not None:
            line, share = motion.place
            wrenches = np.asarray(self._trajectory.wrench)
            before = wrenches[line - 1] if line else self._asked_before
            self._asked.go_to(before + share * (wrenches[line] - before))

    def _end_motion(self, motion: CartesianMotion) -> None:
        self._stuck = self._stuck + self._period if self._held and motion.clock.rate == 0.0 else 0.0
        if self._stuck > self.watch.stuck_after:
            self._hold(f"kinematics: the tool is kept from its way: {self._held}")
        elif motion.done:
            if self._approach is not None:
                self._law.gains = self._approach_gains
                if not motion.cancelled:
                    self._hold(f"nothing was touched within {self._approach.distance:g} m")
                    return
            if self._trajectory is not None:
                self._asked.go_to(_STILL)
            self._note("motion ended" if motion.cancelled else "motion done")
            self._motion, self._approach, self._trajectory = None, None, None
            self._mode, self._goal = Mode.STATIC, ""

    def _brake(self) -> Array:
        """Joint positions on the way to rest."""
        if self._braking == 0.0:
            return self._q
        self._braking = max(self._braking - self._period / self.watch.stop, 0.0)
        way = self._period * smooth(self._braking) * self._brake_speed
        q: Array = np.clip(self._q + way, self._low, self._high)
        return q

    def _note(self, text: str) -> None:
        self.events.append(Event(self._count * self._period, text))

    def _rehearsal(self, q: Array, tool: Array) -> Rehearsal:
        return Rehearsal(
            self.arm, q, tool, self._frame, self._contact, self._joint_speed, self._joint_acceleration
        )

    def _rehearse(self, q: Array) -> float:
        """Go through the whole list from joint positions, and return how long it takes, s."""
        rehearsal = self._rehearsal(q, self.arm.preview.pose(q))
        for number, goal in enumerate(self._goals, start=1):
            try:
                if isinstance(goal, NewGains):
                    self._check_gains(as_gains(goal.gains))
                rehearsal.play(goal)
            except (OutOfBoundsError, ConfigurationError) as error:
                raise type(error)(f"goal {number} ({type(goal).__name__}): {error}") from error
        return rehearsal.duration
