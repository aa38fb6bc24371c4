"""What stands between every command and every real robot."""

import atexit
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import TracebackType
from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import PliantError, RobotError
from pliant.hardware.limits import Bounds, Motion, bounds, limit_motion
from pliant.hardware.resting import RestingWay
from pliant.hardware.retracing import Trail
from pliant.hardware.robot import Array, Robot, RobotInfo, State, check_command
from pliant.hardware.safety_config import SafetyConfig, motion_limits, walks
from pliant.hardware.stopping import AGAIN, Interrupts
from pliant.hardware.timing import Clock, SystemClock
from pliant.hardware.watch import Watch

log = logging.getLogger(__name__)

_RELEASING = "releasing"


@dataclass
class SafetyReport:
    """What the safety layer had to do."""

    limited: int = 0
    """Periods in which less was sent than was asked."""
    missed_reads: int = 0
    overruns: int = 0
    """Periods that took half a period too long."""
    trips: list[str] = field(default_factory=list)
    """Why the robot was stopped, each time."""


class SafeRobot(Robot):
    """A robot behind limits, watched, and left in a known state whatever happens.

    - A command with a NaN or a wrong shape is refused whole; nothing is sent. Others are limited in range,
      step, speed and acceleration (`limit_motion`); `send` returns what was sent.
    - The first motion starts from the state's own command, which a machine at rest measures then.
    - `walk_to` goes anywhere at walking speed.
    - From outside its range a joint comes back in at walking speed.
    - A robot that is commanded torques or forces alone does not walk: slowly changed, they would move it just the
      same. It begins where it stands; `walk_to` and every end brake it by `stop` and leave it to the machine.
    - **Trip.** Reads that go on failing or whose `State.time` stands still, a machine that refuses a command, a
      joint beyond its limits, periods that go on being late, the stop key: the joints are held for `hold_time`,
      then the robot is closed (torque off, in the robot's own order), and `RobotError` says why. Nothing moves
      again before `rearm`, which connects anew and starts from the measured state; `connect` refuses.
    - **End.** Leaving the `with` block, normally, by an exception, by Ctrl-C, SIGTERM, SIGHUP or SIGQUIT, walks
      back to rest from the last command sent (with a `trail`, by the way it came), then closes. A signal during
      that walk cuts it short: hold, then close; so does the second of two. A trip on the way raises `RobotError`,
      if nothing else is being raised. SIGKILL is left to the machine's own watchdog. A program that ends without
      having called `close` closes then, also by SIGTERM, SIGHUP and SIGQUIT without a `with` block.
    - A robot that falls without torque has a way to `rest` (`SafetyConfig`). It gets up by it before its first
      walk, and goes down by it before it is released, at whatever end: after a trip or `stop`, on those of its
      joints that still move (`Robot.carry_on`), without being held before; a signal meanwhile releases it at once.
    - `stop` holds where the robot is and latches, as a trip does. It may be called from any thread: when it
      returns, nothing more is sent.

    Args:
        robot: Any robot.
        config: Limits and patience.
        stop_key: Asked every period whether to stop, such as a `StopKey`.
        clock: What `hold_time` is measured on.
    """

    def __init__(
        self,
        robot: Robot,
        config: SafetyConfig | None = None,
        stop_key: Callable[[], bool] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.robot = robot
        self.config = config or SafetyConfig()
        self.report = SafetyReport()
        self._stop_key = stop_key or (lambda: False)
        self._clock = clock or SystemClock()
        self._interrupts = Interrupts()
        self.walks = walks(robot.info)
        """Whether it walks: a place is commanded of everything, beside which a torque or force only limits."""
        limits = motion_limits(robot.info, self.config.motion)
        self._bounds = bounds(limits, robot.info.command, robot.info.period, walk=False)
        self._walking = bounds(limits, robot.info.command, robot.info.period, walk=True)
        low, high = self._bounds.low, self._bounds.high
        self._info = replace(
            robot.info,
            command=tuple(
                replace(c, low=float(a), high=float(b), rest=min(max(c.rest, float(a)), float(b)))
                for c, a, b in zip(robot.info.command, low, high, strict=True)
            ),
        )
        self._way = RestingWay(self.config.rest, self._info) if self.config.rest else None
        self._watch = Watch(robot.info, self.config)
        self._watch.refuse_blind(robot.unmeasured)
        self.observer: Callable[[State, Array, Array], None] | None = None
        """Told every period of a walk: the state before it, the command asked for and the one sent. If it fails,
        it is told nothing more, and the walk goes on."""
        self.listener: Callable[[str], None] = lambda notice: None
        """Told what the machine has to say (`Robot.notices`)."""
        self.trail: Trail | None = None
        """What was sent since it was set, where a robot shall go back to rest by the way it came, for there may be
        something in between; None: it goes straight."""
        self._trip = "the robot is not connected"
        self._latched = False
        """Whether only `rearm` lets the robot move again."""
        self._lock = threading.RLock()
        self._last = self._asked = Motion(self._info.rest, np.zeros(len(low)))
        self._connected = self._started = self._moved = False

    @property
    def info(self) -> RobotInfo:
        """The robot's, with the range of the limits."""
        return self._info

    @property
    def limits(self) -> Bounds:
        """Range, speed and acceleration that `send` keeps to, of every column."""
        return self._bounds

    @property
    def tripped(self) -> str:
        """Why the robot may not move; empty if it may."""
        return self._trip

    @property
    def unmeasured(self) -> frozenset[str]:
        """The robot's."""
        return self.robot.unmeasured

    @property
    def estimated(self) -> frozenset[str]:
        """The robot's."""
        return self.robot.estimated

    def connect(self) -> None:
        """Connect the robot and start from its measured state. Moves nothing.

        Raises:
            RobotError: The robot was stopped; only `rearm` lets it move again.
            ConfigurationError: A limit is set of what the robot does not measure.
        """
        if self._latched:
            raise RobotError(self._refusal())
        self._interrupts.install()
        with self._interrupts.deferred():
            try:
                if not self._connected:
                    self._connected = True
                    self.robot.connect()
                    atexit.register(self._close_at_exit)
                self._start()
            except BaseException:
                self._release()
                raise

    def rearm(self) -> None:
        """Allow motion again after a trip or `stop`, from the measured state; old targets are dropped.

        For the person who has ended the cause. If it fails, nothing may move still.
        """
        latched, self._latched = self._latched, False
        try:
            self.connect()
        except BaseException:
            self._latched = latched
            raise

    def read(self) -> State:
        """Return the newest state, or the last one while reads are failing within `patience`."""
        with self._interrupts.deferred():
            return self._read().copy()

    def send(self, command: ArrayLike) -> Array:
        """Limit the command, send it, wait for the next period, and return what was sent."""
        with self._interrupts.deferred():
            asked = check_command(command, self._info)
            self._prepare()
            self._asked = Motion(asked, (asked - self._asked.value) / self._info.period)
            motion = limit_motion(self._asked, self._last, self._bounds_here(), self._info.period)
            self.report.limited += not np.allclose(motion.value, asked, rtol=0, atol=1e-9)
            sent = self._send(motion)
            if self.trail is not None:
                self.trail.add(sent)
            return sent

    def walk_to(self, command: ArrayLike) -> Array:
        """Go to `command` at walking speed and return what was sent last.

        One with a way to rest goes there by it before its first motion. A robot that does not walk is braked, if
        it moves, and begins anew where it stands.

        Raises:
            OutOfBoundsError: The command has a NaN.
            RobotError: The robot was stopped on the way.
        """
        target = np.clip(check_command(command, self._info), self._info.low, self._info.high)
        if self._trip:
            raise RobotError(self._refusal())
        if not self.walks:
            with self._interrupts.deferred():
                if self._moved:
                    self._hold()
                    self._moved = False
                    self._start()
            return self._last.value.copy()
        still = Motion(target, np.zeros(len(target)))
        sent = self._last.value.copy()
        if self._way is not None and not self._started:
            with self._interrupts.deferred():
                self._prepare()
                begin = self._last.value
            for motion in self._way.up(begin, target, self._walking, self._info.period):
                with self._interrupts.deferred():
                    self._prepare()
                    sent = self._walk_on(motion)
        while not (self._started and (self._last.value == target).all()):
            with self._interrupts.deferred():
                self._prepare()
                sent = self._walk_on(still)
        self._asked = still
        return sent

    def stop(self) -> None:
        """Hold where the robot is; nothing moves before `rearm`. Safe to call at any time, from any thread."""
        if not self._trip or (self._connected and not self._latched):  # while it connects, too
            self._latch("stopped")
        # At once, and again if a command was on its way to the robot meanwhile.
        try:
            self.robot.stop()
        finally:
            with self._lock:
                self.robot.stop()

    def close(self) -> None:
        """Walk back to rest, unless the robot was stopped or never moved, and release it.

        Raises:
            RobotError: The robot was stopped on the way back. It is released all the same.
        """
        with self._interrupts.deferred():
            self._close()

    def abort(self) -> None:
        """Leave the robot under its last command: `close`, to which every way out leads, walks it home.

        Until then its own limits and the machine's watchdog go on watching it.
        """

    def reset(
        self,
        seed: int | None = None,
        position: ArrayLike | None = None,
        command: ArrayLike | None = None,
        *,
        bodies: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """Walk to `command` (None: the resting one) and return what is read there.

        Nothing real can be put anywhere, so `seed`, `position` and `bodies` have no part in it: the joints stand
        where the command holds them. Errors as `walk_to`.
        """
        self.walk_to(self._info.rest if command is None else command)
        return self.read()

    def diagnostics(self) -> Mapping[str, object]:
        """Return the robot's, and under `safety` what this layer had to do."""
        return {**self.robot.diagnostics(), "safety": asdict(self.report)}

    def __enter__(self) -> Self:
        self._interrupts.__enter__()
        try:
            self.connect()
        except BaseException:
            try:
                self.close()
            finally:
                self._interrupts.__exit__(None, None, None)
            raise
        return self

    def _close_at_exit(self) -> None:
        try:
            self.close()
        except RobotError as error:
            log.error("%s", error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._leave(kind)
        except (KeyboardInterrupt, SystemExit):
            # It came before it could be deferred; the next will wait.
            self._leave(kind)
            raise
        finally:
            self._interrupts.__exit__(None, None, None)

    def _leave(self, kind: type[BaseException] | None) -> None:
        with self._interrupts.deferred():
            try:
                self._close()
            except RobotError:
                if kind is None:
                    raise
                # What is on its way already says more; the log has this.
            finally:
                if kind is not None:
                    self._interrupts.pending = None

    def _start(self) -> None:
        state = self._first_read()
        self._watch.refuse_blind(self._watch.not_finite(state))
        with self._lock:
            if self._latched:
                raise RobotError(self._refusal())
            self._watch.start(state)
            self._trip = ""
        self._last = Motion(np.array(state.command), np.zeros(len(state.command)))
        self._asked, self._started = self._last, False

    def _first_read(self) -> State:
        """Return what is read at the start, where no earlier state can stand in for a failed read."""
        for _ in range(self.config.patience):
            try:
                return self.robot.read()
            except RobotError:
                self.report.missed_reads += 1
        return self.robot.read()

    def _read(self) -> State:
        watch = self._watch
        try:
            state = self.robot.read()
            if not self._trip:
                watch.check_fresh(state)
        except RobotError as error:
            self.report.missed_reads += 1
            missed = watch.missed()
            if watch.state is None or self._trip:
                raise
            if missed > self.config.patience:
                self._stop_and_release(f"{missed} reads in a row failed, the last with: {error}")
            return watch.state
        except Exception as error:
            if watch.state is None or self._trip:
                raise
            self._stop_and_release(f"it cannot be read: {error!r}")
        self._tell()
        fault = "" if self._trip else watch.fault(state)
        self.report.overruns = watch.overruns
        if fault:
            self._stop_and_release(fault)
        watch.believe(state)
        return state

    def _tell(self) -> None:
        for notice in self.robot.notices():
            log.warning("%s: %s", self._info.name, notice)
            try:
                self.listener(notice)
            except Exception as error:
                log.error("%s: its notices are not kept any more: %r", self._info.name, error)
                self.listener = lambda notice: None

    def _bounds_here(self) -> Bounds:
        """Return the limits of the next command: outside its range, a column walks."""
        inside = (self._last.value >= self._bounds.low) & (self._last.value <= self._bounds.high)
        return self._bounds._replace(speed=np.where(inside, self._bounds.speed, self._walking.speed))

    def _send(self, motion: Motion) -> Array:
        try:
            pressed = self._stop_key()
        except Exception as error:
            self._stop_and_release(f"the stop key cannot be asked: {error!r}")
        if pressed:
            self._stop_and_release("the stop key")
        if self._watch.commands:
            self._read()
        try:
            # Whoever calls `stop` in another thread waits here for this command, and stops then.
            with self._lock:
                if self._trip:
                    raise RobotError(self._refusal())
                self._moved = True
                sent = self.robot.send(motion.value)
        except Exception as error:
            if self._trip:
                raise
            self._stop_and_release(str(error) if isinstance(error, PliantError) else repr(error))
        if self.robot.held_back:  # as by a speed slider: else the machine would run after the commands later
            motion = Motion(sent.copy(), (sent - self._last.value) / self._info.period)
        self._last = motion
        self._watch.commanded()
        return sent

    def _walk_on(self, target: Motion) -> Array:
        """Send the next command of a walk."""
        state = self._watch.state
        sent = self._send(limit_motion(target, self._last, self._walking, self._info.period))
        if state is not None:
            self._observe(state, sent)
        return sent

    def _observe(self, state: State, sent: Array) -> None:
        """Tell the observer of a period of a walk."""
        if self.observer is None:
            return
        try:
            self.observer(state, self._last.value, sent)
        except Exception as error:
            # A disk that is full must not drop the arm.
            log.error("%s: the walk is not observed any more: %r", self._info.name, error)
            self.observer = None

    def _prepare(self) -> None:
        """Raise if the robot may not move; before the first motion, see where it is now."""
        if self._trip:
            raise RobotError(self._refusal())
        if not self._started:
            self._start()
            self._started = True

    def _refusal(self) -> str:
        return f"{self._info.name} may not move: {self._trip}. {AGAIN}"

    def _latch(self, reason: str) -> None:
        self._trip, self._latched = reason, True
        self.report.trips.append(reason)

    def _stop_and_release(self, reason: str) -> NoReturn:
        reason = reason.removeprefix(f"{self._info.name}: ").rstrip(".")
        before = "going to rest" if self._lies_down else "holding"
        log.error("%s: %s; %s, then releasing.", self._info.name, reason, before)
        self._latch(reason)
        failed = self._hold_and_close()
        end = "Its joints were held and then released" if self.walks else "It was stopped and then released"
        if self._lies_down:
            end = "It went to rest and was released" if self._lies else "It did not come to rest"
        if failed:
            told = ", ".join(f"{what} it failed ({why})" for what, why in failed.items())
            left = "it may still have its torque" if _RELEASING in failed else "it was released"
            end = f"{told[0].upper()}{told[1:]}; {left}"
        raise RobotError(f"{self._info.name} was stopped: {reason}. {end}. {AGAIN}")

    def _hold_and_close(self) -> dict[str, str]:
        """Stop, hold and release, whatever fails; return what did: why it is to stop is the more important."""
        failed = dict[str, str]()
        try:
            self._try("stopping", self._hold, failed)
        finally:
            self._try(_RELEASING, self._release, failed)
        return failed

    def _try(self, what: str, call: Callable[[], None], failed: dict[str, str]) -> None:
        try:
            call()
        except Exception as error:
            told = str(error).removeprefix(f"{self._info.name}: ").rstrip(".") or repr(error)
            log.error("%s: %s it failed: %s", self._info.name, what, told)
            failed[what] = told

    def _hold(self) -> None:
        """Stop, again and again while that fails, for `hold_time`; what then goes down to rest does not wait."""
        end = self._clock.now() + (0.0 if self._lies_down else self.config.hold_time)
        signals = self._interrupts.count
        problem = self._stop_robot()
        # A further signal means: now.
        while self._clock.now() < end and self._interrupts.count == signals:
            self._clock.sleep_until(min(end, self._clock.now() + 0.02))
            problem = problem and self._stop_robot()
        if problem is not None:
            raise problem

    def _stop_robot(self) -> Exception | None:
        """Stop the robot; return what failed."""
        try:
            self.robot.stop()
        except Exception as error:
            return error
        return None

    def _release(self) -> None:
        if not self._connected:
            return
        if self._way is not None and self._lies_down and self._moved:
            self._go_down(self._way)
        self._started = self._moved = False
        try:
            self.robot.close()
        except Exception:
            self._connected = False
            raise
        else:
            self._connected = False
        finally:
            self._interrupts.uninstall()
            if not self._connected:  # else interrupted, and to be done at the latest when the program ends
                atexit.unregister(self._close_at_exit)

    def _close(self) -> None:
        try:
            if self._moved and not self._trip and not self.walks:
                self._hold()
            elif self._moved and not self._trip and self.config.return_to_rest:
                self._walk_home()
        except RobotError as error:
            log.error("%s: no way back to rest: %s", self._info.name, error)
            if self._connected:  # stopped, but not released
                self._hold_and_close()
            raise
        except BaseException:
            self._hold_and_close()
            raise
        finally:
            self._trip = self._trip or "the robot is closed"
            self._release()

    @property
    def _lies_down(self) -> bool:
        """Whether it goes to rest at every end."""
        return self._way is not None and self.config.return_to_rest

    def _go_down(self, way: RestingWay) -> None:
        """Bring a robot that is stopped to rest, as far as what still moves of it allows. Never raises."""
        if self._lies:
            return
        signals = self._interrupts.count
        try:
            if not self.robot.carry_on():
                log.error("%s: nothing of it can be moved any more; it stays as it is.", self._info.name)
                return
            state = self.robot.read()
            self._last = still = Motion(np.array(state.command), np.zeros(len(way.rest)))
            for target in way.down(still.value, self._walking, self._info.period):
                # A further signal means: now.
                if self._interrupts.count != signals:
                    log.warning("%s: going to rest is cut short by a signal.", self._info.name)
                    return
                self._last = limit_motion(target, self._last, self._walking, self._info.period)
                sent = self.robot.send(self._last.value)
                self._observe(state, sent)
                state = self.robot.read()
                self._tell()
        except Exception as error:
            log.error("%s: it did not come to rest: %s", self._info.name, error)

    @property
    def _lies(self) -> bool:
        """Whether it was last commanded to be where it rests by its way."""
        return self._way is not None and bool(np.allclose(self._last.value, self._way.rest, rtol=0, atol=1e-9))

    def _walk_home(self) -> None:
        for target in self._way_home():
            if self._interrupts.pending is not None:
                log.warning("%s: the walk back to rest is cut short by a signal.", self._info.name)
                self._hold_and_close()
                return
            self._walk_on(target)

    def _way_home(self) -> Iterator[Motion]:
        """Targets, one a period: back along the trail, to its very end, and from there to rest."""
        still = Motion(self._info.rest if self._way is None else self._way.rest, np.zeros(len(self._info.rest)))
        if self.trail is not None:
            end = self._last
            for end in self.trail.back(self._walking, self._info.period):
                yield end
            while not (self._last.value == end.value).all():
                yield Motion(end.value, still.speed)
        if self._way is not None:
            yield from self._way.down(self._last.value, self._walking, self._info.period)
        while not (self._last.value == still.value).all():
            yield still
