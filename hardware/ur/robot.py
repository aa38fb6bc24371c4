"""An arm of Universal Robots behind the robot interface."""

import contextlib
import logging
import math
import time
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import RobotError
from pliant.hardware.robot import Array, Robot, RobotInfo, State, check_command
from pliant.hardware.stopping import Exclusive, mended
from pliant.hardware.ur import preflight as checks
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.course import Course
from pliant.hardware.ur.rtde import looking
from pliant.hardware.ur.seam import FAILED, OLD, TAKEN
from pliant.hardware.ur.signals import robot_info, state_of
from pliant.hardware.ur.supervisor import UPLOAD_TIME, ClientLostError, Supervisor, verdict_text

log = logging.getLogger(__name__)

_TRIES: Final = 3
_BACK_OFF: Final = 0.5
"""Time before the next try to upload the program, s; twice as long each time."""
_FIRST: Final = 1.0
"""How long the client may take for the first command, s: nothing moves yet."""
_CAUSE: Final = 0.2
"""How long after a failed command the packages may take that tell why, s."""
_PLAYS: Final = 2.0
"""How long the controller may take to say that it runs the program, s."""
_ARRIVAL: Final = 0.5
"""How long the arm may take to arrive at the last command, s."""


class URRobot(Robot):
    """An arm of Universal Robots, driven by `ur-rtde` in a process of its own.

    - `connect` starts that process and only listens: nothing is uploaded, nothing moves, and the arm may be read
      while it is moved by hand or by a program of the pendant.
    - The first `send` makes sure that the arm may move (`preflight`), refuses a command further than `first_step`
      from where it is, uploads the client's program, which zeroes the force sensor, arms the controller's
      watchdog, and begins where the controller holds the arm: nothing jumps.
    - Every `send` is limited in speed and, in the modes `position` and `tool`, interpolated over the period. It
      returns what was sent. A speed slider below 100 % limits the speed further. After a gap it goes on from the
      controller's own target.
    - A protective or emergency stop, a program that has ended, a client that is dead or whose controller has been
      silent for `stale` s: the arm's program is stopped, `RobotError` says why, and every `send` is refused until
      `recover`, which the operator calls when the cause is gone. Nothing unlocks a protective stop by itself
      (`pliant ur unlock`).
    - `stop` brakes and ends the program; the controller holds the arm. Any thread. The next `send` begins anew.
    - A process that dies, or one that only falls silent, leaves the arm to the controller's watchdog.

    Torque is that of the motors' currents if `torque_constants` are configured. Else it is what the controller's
    own model of the arm says, which is also the signal `JOINT/controller_torque`: it knows of no contact and no
    friction. `tcp/…` are pose (m, rotation vector), speed, and wrench at the tool's centre point in the axes of
    the controller's base frame; the wrench is what the surroundings do to the tool.

    Args:
        config: the arm and how it is driven.
    """

    def __init__(self, config: URConfig) -> None:
        self.config = config
        self.overruns = 0
        """Periods that began late since `connect`."""
        self.worst_lateness = 0.0
        """Longest delay of a period since `connect`, s."""
        self._info = robot_info(config)
        self._course = Course(config, self._info)
        # From outside of its range, as far as `first_step`, the arm may come back.
        margin = config.first_step if self._course.led else 0.0
        self.supervisor = Supervisor(
            {
                "host": config.host,
                "mode": config.mode,
                "cycle": config.cycle,
                "low": [end - margin for end in self._info.low.tolist()],
                "high": [end + margin for end in self._info.high.tolist()],
                "step": self._course.step.tolist(),
                "lookahead": config.lookahead,
                "gain": config.gain,
                "acceleration": config.acceleration,
                "deceleration": config.deceleration,
                "viscous": list(config.viscous),
                "coulomb": list(config.coulomb),
                "stale": config.stale,
            },
            config.stale,
            config.deceleration if config.mode != "tool" else 4.0,
        )
        self._exclusive = Exclusive(self._hold_still)
        self._connected = self._engaged = self._spent = False
        self._fault = ""
        self._start = 0.0
        self._deadline = 0.0
        """The controller's time at which the period ends, s."""

    @property
    def info(self) -> RobotInfo:
        """Joints, signals, command columns and period."""
        return self._info

    @property
    def unmeasured(self) -> frozenset[str]:
        """The joints' torques, unless `torque_constants` are configured."""
        if self.config.torque_constants is not None:
            return frozenset()
        return frozenset(f"{joint}/torque" for joint in self._info.joints)

    @property
    def held_back(self) -> bool:
        """Whether `speed`, the speed slider or a pause kept the last command from being sent as it was given."""
        return self._course.held_back

    def connect(self) -> None:
        """Start the client and listen to the controller. Nothing moves.

        Raises:
            MissingExtraError: `ur-rtde` is not installed.
            RobotError: the controller does not answer, or the client does not work with its version.
        """
        with self._exclusive():
            if self._connected:
                return
            with looking(self.config.host) as (_, version):
                if problem := checks.version_problem(version):
                    raise RobotError(problem)
                self.supervisor.has_dashboard = checks.has_dashboard(version)
            self._listen()
            self._start = self.supervisor.time()
            self._engaged, self._fault, self._course.sent = False, "", None
            self.overruns, self.worst_lateness = 0, 0.0
            self._connected = True

    def recover(self) -> None:
        """Allow motion again after a fault, from the measured state; old targets are dropped.

        For the operator who has ended the cause. The client is built anew. Raises `RobotError` if the arm is not
        ready.
        """
        with self._exclusive():
            if not self._connected:
                raise self._not_connected()
            self._engaged = False
            self._listen()
            self._check_condition(self.supervisor.state())
            self._fault, self._course.sent = "", None

    def read(self) -> State:
        """Return the newest state. Raises `RobotError` if the controller is silent or the arm was stopped."""
        with self._exclusive():
            if not self._connected:
                raise self._not_connected()
            state = self._package()
            if self._engaged:
                self._check(state)
            return self._state(state)

    def send(self, command: ArrayLike) -> Array:
        """Send a command, wait for the next period, and return what was sent."""
        wanted = check_command(command, self._info)
        with self._exclusive():
            if not self._connected:
                raise self._not_connected()
            if self._fault:
                raise RobotError(f"{self._fault} {mended()}")
            if not self._engaged:
                self._engage(wanted)
            state = self._package()
            self._check(state)
            self._raise_if_stopped()
            self._check_followed(state)
            try:
                sent = self._command(wanted, state)
            except ClientLostError as error:
                raise self._fail(str(error)) from error
            number = self._number
            deadline = self._deadline
        now = self._wait(deadline)
        with self._exclusive():
            if self._engaged:
                self._check_answer(number)
            self._next_deadline(now)
            self._raise_if_stopped()
        return sent.copy()

    def stop(self) -> None:
        """Brake and let the controller hold the arm. Never raises; any thread.

        Called by a signal's handler while this thread has the robot, it takes effect when that is over, before
        anything else is sent. An upload that is under way is given up.
        """
        self._exclusive.stop_pending = True
        with self._exclusive():
            self._exclusive.stop_pending = True

    def close(self) -> None:
        """Let the arm arrive at the last command, then end the client; the controller holds the arm.

        Safe to call twice.
        """
        with self._exclusive():
            if not self._connected:
                return
            self._arrive()
            self._hold_still()
            self._connected = False
            self.supervisor.end()

    def zero_force(self) -> None:
        """Zero the force-torque sensor. Let the tool hang free: what presses on it would push back afterwards.

        The arm is held, and the next `send` begins anew.

        Raises:
            RobotError: the arm moves, may not be driven, or is not connected.
        """
        with self._exclusive():
            if not self._connected:
                raise self._not_connected()
            state = self._package()
            if np.abs(state["actual_qd"]).max() > checks.STEADY_SPEED:
                raise RobotError(f"{self.config.name} moves; the force sensor is zeroed at rest only.")
            self._hold_still()
            if self._spent:
                self._listen()
            self._preflight()
            self._upload()
            try:
                if not self.supervisor.call("zero"):
                    raise RobotError(f"{self.config.name}: the force sensor was not zeroed.")
            finally:
                self._engaged = True
                self._hold_still()

    def diagnostics(self) -> Mapping[str, object]:
        """Return the condition of client and controller.

        `overruns`, `worst_lateness_s`, `fault` (why nothing is sent any more; empty if it is),
        `client_pid`, and of the controller's newest package `age_s`, `robot_mode`, `safety_mode`, `speed_scaling`,
        `joint_temperatures_celsius`; these only while it answers.
        """
        found: dict[str, object] = {
            "overruns": self.overruns,
            "worst_lateness_s": self.worst_lateness,
            "fault": self._fault or self.supervisor.loss,
            "client_pid": self.supervisor.pid,
        }
        with contextlib.suppress(RobotError):
            state = self.supervisor.state()
            found |= {
                "age_s": time.monotonic() - float(state["arrival"][0]),
                "robot_mode": checks.ROBOT_MODES.get(int(state["robot_mode"][0]), "unknown"),
                "safety_mode": checks.SAFETY_MODES.get(int(state["safety_mode"][0]), "unknown"),
                "speed_scaling": float(state["speed_scaling"][0]),
                "joint_temperatures_celsius": state["joint_temperatures"].tolist(),
            }
        return found

    def _raise_if_stopped(self) -> None:
        if self._exclusive.stop_pending or not self._engaged:
            raise RobotError(self._fault or f"{self.config.name} was stopped.")

    def _not_connected(self) -> RobotError:
        return RobotError(f"{self.config.name} is not connected; call connect() first.")

    # To and from rest

    def _listen(self) -> None:
        self.supervisor.start()
        self._spent = False

    def _engage(self, wanted: Array) -> None:
        """Make sure that the arm may move, take it over where it is held, and begin a period."""
        if self._spent or self.supervisor.loss:
            self._listen()
        state = self._package()
        self._course.refuse_far(self._course.held(state), wanted)
        self._preflight()
        self._raise_if_stop_pending()
        self._upload()
        try:
            self._raise_if_stop_pending()
            if not self.supervisor.call("arm", frequency=1 / self.config.watchdog):
                raise RobotError(f"{self.config.name}: the controller's watchdog could not be armed.")
            self._engaged = True
            state = self._package()
            here = self._course.held(state)
            self._course.begin(here)
            self._begin(here)
        except BaseException as error:
            self._engaged = True
            self._hold_still()
            if isinstance(error, ClientLostError):
                self._fault = str(error)
            raise
        self._deadline = self.supervisor.time() + self._info.period

    def _preflight(self) -> None:
        found = checks.preflight(self.config)
        for warning in found.warnings:
            log.warning("%s: %s", self.config.name, warning)
        found.raise_if_refused(self.config.name)

    def _begin(self, here: Array) -> None:
        """Have the client hold the arm; a command that came too late is repeated: nothing moves yet."""
        for _ in range(_TRIES):
            self._number = self.supervisor.command(here, here, 1)
            if self._check_answer(self._number, late=True):
                return
        raise self._fail(f"the command was not passed on: {verdict_text(OLD)}.")

    def _upload(self) -> None:
        """Have the client upload its program and see that the controller runs it.

        The client's constructor fails now and then, as after an emergency stop; a client is used for one program
        only, because reconnecting brings it down.
        """
        for attempt in range(_TRIES):
            try:
                if self._spent:
                    self._listen()
                self._spent = True
                self.supervisor.moving = True  # a client that is lost from here on may have left its program
                self.supervisor.call("upload", UPLOAD_TIME)
                self._await_playing()
                return
            except RobotError as error:
                self.supervisor.end()
                if attempt == _TRIES - 1:
                    with contextlib.suppress(RobotError):
                        self._listen()
                    raise RobotError(
                        f"{self.config.name}: the client's program could not be started, {_TRIES} tries: {error}"
                    ) from error
                log.warning("%s: %s; trying again.", self.config.name, error)
                time.sleep(_BACK_OFF * 2**attempt)
            self._raise_if_stop_pending()

    def _await_playing(self) -> None:
        deadline = time.monotonic() + _PLAYS
        while int(self._package()["runtime_state"][0]) != checks.PLAYING:
            if time.monotonic() > deadline:
                raise RobotError("the controller does not run the uploaded program")
            self.supervisor.wait(0.01)

    def _raise_if_stop_pending(self) -> None:
        if self._exclusive.stop_pending:
            raise RobotError(f"{self.config.name} was stopped.")

    def _hold_still(self) -> None:
        """Do what `stop` says."""
        if not self._engaged:
            return
        self._engaged = False
        supervisor = self.supervisor
        try:
            supervisor.call("stop")
            supervisor.moving = False
        except RobotError as error:
            log.error("%s: %s", self.config.name, error)
            supervisor.give_up(f"it could not stop the arm ({error})")

    def _arrive(self) -> None:
        """Wait until the controller's target, which lags behind, is the last command."""
        last = self._course.sent
        if not (self._engaged and last is not None and self._course.led):
            return
        deadline = time.monotonic() + _ARRIVAL
        with contextlib.suppress(RobotError):
            while not self._exclusive.stop_pending and time.monotonic() < deadline:
                state = self._package()
                self._check(state)
                if self._course.has_arrived(state):
                    return
                self.supervisor.command(last, last, 1)
                self.supervisor.wait_until(float(state["timestamp"][0]) + self.config.cycle)

    def _fail(self, what: str) -> RobotError:
        """Stop, remember why, and return the error."""
        self._fault = f"{self.config.name}: {what}"
        self._hold_still()
        return RobotError(f"{self._fault} {mended()}")

    # Commands

    def _command(self, wanted: Array, state: Mapping[str, Array]) -> Array:
        """Limit a command, hand it to the client, and return what it amounts to."""
        start, end = self._course.next(wanted, state)
        self._number = self.supervisor.command(start, end, self.config.steps)
        assert self._course.sent is not None
        return self._course.sent

    def _wait(self, deadline: float) -> float:
        """Let the period pass on the controller's clock and return its time."""
        try:
            return self.supervisor.wait_until(deadline - 0.25 * self.config.cycle)
        except ClientLostError as error:
            with self._exclusive():
                stopped = not self._engaged or self._exclusive.stop_pending
                if not stopped:
                    raise self._fail(str(error)) from error
            raise RobotError(self._fault or f"{self.config.name} was stopped.") from error

    def _next_deadline(self, now: float) -> None:
        late = now - self._deadline
        period = self._info.period
        if late > 0.5 * self.config.cycle:
            self.overruns += 1
            self.worst_lateness = max(self.worst_lateness, late)
        self._deadline += period * (1 + max(0, math.floor(late / period + 1e-6)))

    def _check_answer(self, number: int, late: bool = False) -> bool:
        """Make sure that the client took a command; it has the time until the controller is stale.

        Args:
            number: of the command.
            late: whether one that came too late is no fault; False is returned then.
        """
        end = time.monotonic() + (_FIRST if late else self.config.stale)
        while True:
            try:
                taken, verdict, _ = self.supervisor.answer()
            except ClientLostError as error:
                raise self._fail(str(error)) from error
            if taken >= number:
                break
            if time.monotonic() > end:
                self.supervisor.give_up("it did not take a command in time")
                raise self._fail(self.supervisor.loss)
            with contextlib.suppress(ClientLostError):
                self.supervisor.wait(0.005)
        if late and verdict == OLD:
            return False
        if verdict != TAKEN:
            if verdict == FAILED:
                self._find_cause()
            raise self._fail(f"the command was not passed on: {verdict_text(verdict)}.")
        return True

    def _find_cause(self) -> None:
        """Raise with why the client could not pass a command on, as soon as the controller's packages tell."""
        end = time.monotonic() + _CAUSE
        while time.monotonic() < end:
            self._check(self._package())
            with contextlib.suppress(ClientLostError):
                self.supervisor.wait(0.01)

    # States

    def _package(self) -> Mapping[str, Array]:
        """Return the controller's newest package; the loss of the client is a fault while the arm is driven."""
        try:
            return self.supervisor.state()
        except ClientLostError as error:
            if self._engaged:
                raise self._fail(str(error)) from error
            if self._fault or not self._connected:
                raise RobotError(self._fault or str(error)) from error
            # Nothing moves, so nothing is lost by beginning anew.
            self._listen()
            return self.supervisor.state()

    def _check(self, state: Mapping[str, Array]) -> None:
        """Raise if the arm that is driven was stopped by anything else."""
        self._check_condition(state)
        if int(state["runtime_state"][0]) != checks.PLAYING:
            raise self._fail(
                "the program on the controller has ended: by its watchdog (nothing was sent in time), by the stop "
                "button, or by a switch to local control."
            )

    def _check_followed(self, state: Mapping[str, Array]) -> None:
        if distance := self._course.astray(state):
            raise self._fail(
                f"the controller's target is {distance:.3f} from what is sent: another program has the arm "
                "(the pendant's, or a second client's)."
            )

    def _check_condition(self, state: Mapping[str, Array]) -> None:
        modes = (int(state[name][0]) for name in ("robot_mode", "safety_mode", "safety_status_bits"))
        if problem := checks.condition(self.config.host, *modes):
            raise self._fail(problem)

    def _state(self, package: Mapping[str, Array]) -> State:
        rotation, sent = self._course.turned(package), self._course.sent
        command = self._course.held(package) if sent is None or not self._engaged else sent.copy()
        return state_of(self.config, package, command, self._start, rotation)
