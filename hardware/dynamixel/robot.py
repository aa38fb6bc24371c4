"""A robot of Dynamixel servos behind the robot interface."""

import logging
import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import RobotError
from pliant.hardware.dynamixel import mapping, setup
from pliant.hardware.dynamixel.audit import Audit
from pliant.hardware.dynamixel.bus import Bus, RefusalError
from pliant.hardware.dynamixel.config import POSITION_MODES, DynamixelConfig, ServoMount
from pliant.hardware.dynamixel.goals import Goals
from pliant.hardware.dynamixel.sensing import Sensors
from pliant.hardware.dynamixel.wire import Counters
from pliant.hardware.robot import Array, Robot, RobotInfo, State, check_command, joint_signals
from pliant.hardware.stopping import Exclusive, mended
from pliant.hardware.timing import Clock, SystemClock, Ticker

log = logging.getLogger(__name__)


class DynamixelRobot(Robot):
    """Joints moved by Dynamixel servos.

    - `connect` checks and configures the servos and moves nothing. Without torque they can be read, and moved
      by hand.
    - The first `send` refuses a command further than `first_step` from the measured pose, arms the servos' bus
      watchdogs and then switches the torque on at that pose: nothing moves. A joint that stands a little outside
      its range is held there, and may only be commanded towards it.
    - A hardware error, a servo that has lost its torque, or a tripped watchdog: every joint holds,
      `RobotError` names servo and joint, and every `send` is refused until `recover`.
    - Goals that a servo does not take are noticed: by the silence after which its watchdog trips, and by reading
      them back, a servo a period.
    - An AX-12A is looked at once in as many periods as there are servos: its load, temperature and supply are kept
      to the `limits` of the configuration, with `notices` before and the same end beyond as of an error.
    - `carry_on` leaves out the servos that have no torque or do not answer, and drives the others.
    - `stop` holds every joint where it is, with torque (in current and PWM mode: without drive). Every servo
      confirms it, and then its watchdog is switched off; a servo that does not confirm keeps its watchdog. A joint
      whose servos do not answer keeps its last command. May be called from any thread. The next `send` begins
      anew, as the first one did.
    - `close` ends in the state `on_close`: torque off from tip to base, or holding.
    - A process that dies leaves the servos to their watchdog: they stop within `watchdog` seconds.

    What the servos cannot measure is NaN: torque without a current sensor, stiffness, spring torques, and the
    position of a compliant joint without an encoder. Torque is that of the motor currents, friction included.

    Args:
        config: The servos and how they move the joints.
        clock: Where the period is taken from; a `StepClock` for an emulator in lock step.
    """

    def __init__(self, config: DynamixelConfig, clock: Clock | None = None) -> None:
        self.config = config
        self.bus = Bus(config.port, config.baud_rate, config.protocol, config.retries, config.slack)
        self.overruns = 0
        """Periods that began late since `connect`."""
        self.worst_lateness = 0.0
        """Longest delay of a period since `connect`, s."""
        self._clock = clock or SystemClock()
        self._ticker = Ticker(config.period, self._clock)
        self._start = 0.0
        self._motors = list(config.motors())
        joints = tuple(joint.name for joint in config.joints)
        motors = tuple(f"{joint.name}/{index + 1}" for joint, index, _ in self._motors)
        ranges = {channel.name: channel for channel in config.positions}
        self._info = RobotInfo(
            name=config.name,
            joints=joints,
            motors=motors,
            signals=tuple(ranges.get(channel.name, channel) for channel in joint_signals(joints, motors)),
            command=tuple(channel for joint in config.joints for channel in mapping.channels(joint)),
            period=config.period,
            parameters=config.parameters,
        )
        self._sensors = Sensors(self.bus, config)
        self._goals = Goals(self.bus, config, self._sensors)
        self._audit = Audit(self.bus, config, self._goals)
        self._exclusive = Exclusive(self._hold_still)
        self._commanded = -math.inf
        """When the last goals were sent, on the clock, s."""
        self._engaged = False
        self._torque = False
        """Whether a servo may have torque from us."""
        self._fault = ""
        self._low, self._high = self._info.low, self._info.high
        self._unheld: set[int] = set()
        """Servos that were stopped and have not confirmed it."""
        self._left_out: set[int] | None = None
        """Servos that are passed over since `carry_on`; None: none is, and everything is checked."""

    @property
    def info(self) -> RobotInfo:
        """Joints, motors, command columns and period."""
        return self._info

    @property
    def unmeasured(self) -> frozenset[str]:
        """Speed and position of a compliant joint without an encoder, torque where no current is measured."""
        blind = [joint for joint in self.config.joints if joint.compliant and joint.encoder is None]
        weak = [joint for joint, _, mount in self._motors if mount.table.torque_constant is None]
        return frozenset(
            [f"{joint.name}/{what}" for joint in blind for what in ("position", "velocity")]
            + [f"{joint.name}/torque" for joint in weak]
        )

    @property
    def counters(self) -> Counters:
        """What has happened on the bus."""
        return self.bus.counters

    def connect(self) -> None:
        """Open the bus, check the servos and write what they should hold. Nothing moves.

        Raises:
            RobotError: The port cannot be opened, a servo is missing or has a hardware error.
            ConfigurationError: The servos are not as the configuration says.
        """
        with self._exclusive():
            if self.bus.is_open:
                return
            self.bus.open()
            try:
                self._begin()
            except BaseException:
                self.bus.close()
                raise

    def recover(self) -> None:
        """Bring back servos that have shut down and begin anew: old goals dropped, torque with the next send.

        A servo that has shut down is restarted without torque: support the arm. Raises `RobotError` if its
        hardware error comes back.
        """
        with self._exclusive():
            self.bus.open()
            self._engaged, self._fault = False, self._fault or f"{self.config.name}: the recovery failed."
            setup.disarm(self.bus, self.config)
            setup.revive(self.bus, self.config)
            self._begin()

    def read(self) -> State:
        """Return the newest state. Raises `RobotError` if a servo does not answer or reports an error."""
        with self._exclusive():
            if self._left_out is not None:
                self._left_out.update(self._sensors.update(self._left_out))
                return self._state()
            if self._engaged:
                # Before the measurement, whose packets the servos take as a sign of life.
                self._fail_if(self._audit.watchdogs())
            self._measure()
            if self._unheld:
                self._confirm_halt()
            if not self._fault:
                self._check_health()
            return self._state()

    def send(self, command: ArrayLike) -> Array:
        """Send a command, wait for the next period, and return what was sent, in whole counts."""
        wanted = check_command(command, self._info)
        # After a late period the next deadline may be near; goals that come at once are a jump.
        self._clock.sleep_until(self._commanded + self.config.period / 2)
        with self._exclusive():
            if self._fault:
                raise RobotError(f"{self._fault} {mended()}")
            if not self._engaged:
                self._engage(wanted)
            if self._left_out is None:
                self._fail_if(self._audit.watchdogs())
            wanted = np.clip(wanted, self._low, self._high)
            self._low, self._high = np.minimum(self._info.low, wanted), np.maximum(self._info.high, wanted)
            self._raise_if_stopped()
            self._goals.set(wanted)
            self._goals.send(self._left_out or ())
            self._commanded = self._clock.now()
            self._raise_if_stopped()
            sent = self._told()
        beat = self._ticker.wait()
        self.overruns += beat.lateness > 0
        self.worst_lateness = max(self.worst_lateness, beat.lateness)
        return sent

    def carry_on(self) -> bool:
        """See `Robot.carry_on`: servos that have no torque or do not answer are left out from now on."""
        with self._exclusive():
            if not (self.bus.is_open and self._torque):
                return False
            try:
                self._left_out = set(self._sensors.update())
                for _, _, mount in self._motors:
                    if mount.servo not in self._left_out and not self._can_move(mount):
                        self._left_out.add(mount.servo)
            except RobotError as error:
                log.error("%s: %s", self.config.name, error)
                return False
            if self._left_out:
                names = ", ".join(map(str, sorted(self._left_out)))
                log.error("%s: going on without servo %s.", self.config.name, names)
            self._fault, self._engaged = "", True
            self._unheld.clear()
            self._ticker.restart()
            return len(self._left_out) < len(self._motors)

    def _can_move(self, mount: ServoMount) -> bool:
        """Whether a servo has torque and answers; arms its watchdog again."""
        registers = ("torque_enable", "torque_limit") if self.config.protocol == 1 else ("torque_enable",)
        try:
            if not all(self.bus.read(mount.servo, register) for register in registers):
                return False
            self._arm(mount)
        except RobotError:
            if not self.bus.is_open:
                raise
            return False
        return True

    def notices(self) -> Sequence[str]:
        """Return the warnings of the servos' limits that have come since the last call."""
        notices, self._audit.warnings = self._audit.warnings, []
        return notices

    def stop(self) -> None:
        """Hold every joint where it is (in current and PWM mode: without drive). Never raises; any thread.

        Called by a signal's handler while this thread uses the bus, it takes effect when that is over, before
        anything else is sent.
        """
        with self._exclusive():
            self._exclusive.stop_pending = True

    def _raise_if_stopped(self) -> None:
        if self._exclusive.stop_pending:
            raise RobotError(f"{self.config.name} was stopped.")

    def _hold_still(self) -> None:
        """Do what `stop` says."""
        if not (self.bus.is_open and (self._engaged or self._unheld)):
            return
        self._engaged = False
        try:
            self._halt()
        except RobotError as error:
            log.error("%s: could not be stopped: %s", self.config.name, error)

    def close(self) -> None:
        """Bring the servos to the end state `on_close` and release the port. Safe to call twice."""
        with self._exclusive():
            if not self.bus.is_open:
                return
            try:
                if self.config.on_close == "hold":
                    self._hold_still()
                else:
                    self._release()
            finally:
                self._engaged = self._torque = False
                self.bus.close()

    def _release(self) -> None:
        try:
            silent = setup.release(self.bus, self.config, self._clock)
        except RobotError as error:
            log.error("%s: the torque may still be on: %s", self.config.name, error)
            return
        if silent:
            log.error("%s: servo %s did not confirm that its torque is off.", self.config.name, silent)

    def _begin(self) -> None:
        setup.prepare(self.bus, self.config)
        self._engaged, self._torque, self._fault, self._goals.command = False, False, "", None
        self._left_out = None
        self._unheld.clear()
        self._audit.restart()
        self._sensors.restart()
        self.overruns, self.worst_lateness = 0, 0.0
        self._start = self._clock.now()
        self._ticker.restart()

    def _measure(self) -> None:
        silent = self._sensors.update()
        if silent:
            names = ", ".join(map(str, silent))
            raise RobotError(
                f"{self.config.name}: servo {names} on {self.config.port} did not answer: "
                "a loose cable, lost power, or another device on the bus?"
            )

    def _check_health(self) -> None:
        if self._sensors.alert:
            faults = setup.describe_faults(self.bus, self.config)
            self._fail_if(f"hardware error of {faults}" if faults else "a hardware error that is gone again")
        if self._engaged:
            self._fail_if(self._audit.next())

    def _told(self) -> Array:
        """Return the command that was sent last; before the first, the one that holds the pose."""
        return self._hold() if self._goals.command is None else self._goals.command.copy()

    def _hold(self, silent: Collection[int] = ()) -> Array:
        return self._goals.here(silent)

    def _state(self) -> State:
        sensors, joints, motors = self._sensors, self.config.joints, len(self._motors)
        gauges = [j.encoder or (None if j.compliant else j.servos[0]) for j in joints]
        places = [None if gauge is None else sensors.index[gauge.servo] for gauge in gauges]
        drive = [sum(sensors.torque[sensors.index[m.servo]] for m in j.servos) for j in joints]
        return State(
            time=self._clock.now() - self._start,
            position=np.array([math.nan if at is None else sensors.angle[at] for at in places]),
            velocity=np.array([math.nan if at is None else sensors.speed[at] for at in places]),
            torque=np.array(drive, dtype=np.float64),
            stiffness=np.full(len(joints), math.nan),
            motor_position=sensors.angle[:motors].copy(),
            motor_velocity=sensors.speed[:motors].copy(),
            motor_torque=sensors.torque[:motors].copy(),
            spring_torque=np.full(motors, math.nan),
            command=self._told(),
        )

    def _engage(self, wanted: Array) -> None:
        """Arm the watchdogs, then switch the torque on at the measured pose."""
        if not self.bus.is_open:
            raise RobotError(self.bus.loss or f"{self.config.name} is not connected; call connect() first.")
        self._sensors.restart()
        self._measure()
        here = self._hold()
        self._check_first(here, wanted)
        held, self._torque = self._torque, True
        self._unheld = {mount.servo for _, _, mount in self._motors}
        try:
            self._switch_on(here)
        except BaseException:
            if held:
                self._hold_still()
            else:
                self._release()
                self._torque = False
                self._unheld.clear()
            raise
        self._low, self._high = np.minimum(self._info.low, here), np.maximum(self._info.high, here)
        self._engaged = True
        self._unheld.clear()
        self._ticker.restart()

    def _switch_on(self, here: Array) -> None:
        """Set goals, watchdog and torque of every motor, in this order; every write is confirmed."""
        self._goals.set(here)
        for _, _, mount in self._motors:
            self._confirm_goals(mount)
            self._arm(mount)
        self._audit.expect_silence()
        for _, _, mount in self._motors:
            self.bus.write(mount.servo, "torque_enable", 1)
            # Some servos forget their goals as the torque comes on.
            self._confirm_goals(mount)

    def _arm(self, mount: ServoMount) -> None:
        """Arm a servo's watchdog; an AX-12A, which has none, lights its LED, which goes out if it restarts."""
        if self.config.protocol == 1:
            self.bus.write(mount.servo, "led", 1)
        else:
            self.bus.write(mount.servo, "bus_watchdog", setup.watchdog_count(self.config))

    def _confirm_goals(self, mount: ServoMount) -> None:
        """Write the last command's goals of one servo, confirmed.

        A tripped watchdog, which keeps a servo from taking them, is cleared for it and armed again.
        """
        try:
            self._goals.write(mount)
        except RefusalError:
            if self.config.protocol == 1 or self.bus.read(mount.servo, "bus_watchdog") != -1:
                raise
            self.bus.write(mount.servo, "bus_watchdog", 0)
            try:
                self._goals.write(mount)
            finally:
                self._arm(mount)

    def _halt(self) -> None:
        """Hold, have every servo confirm it, and then disarm it."""
        self._unheld = {mount.servo for _, _, mount in self._motors}
        if any(joint.mode not in POSITION_MODES for joint in self.config.joints):
            # No drive is right whatever the measurement says.
            self._tell_afresh(self._hold(self._sensors.index))
        silent = self._sensors.update()
        self._tell_afresh(self._hold(silent))
        self._confirm_halt(silent)
        if self._unheld:
            # They may hear without being heard.
            self._goals.send(self._left_out or (), afresh=True)
            log.error(
                "%s: servo %s did not confirm that it holds%s.",
                self.config.name,
                ", ".join(map(str, sorted(self._unheld))),
                "; its watchdog stays armed" if self.config.watchdog else "",
            )

    def _tell_afresh(self, command: Array) -> None:
        self._goals.set(command)
        self._goals.send(self._left_out or (), afresh=True)

    def _confirm_halt(self, silent: list[int] | None = None) -> None:
        """Let the servos that were stopped confirm it, except the silent ones, and disarm those that do."""
        for _, _, mount in self._motors:
            if mount.servo not in self._unheld or mount.servo in (silent or ()):
                continue
            try:
                self._confirm_goals(mount)
                if self.config.protocol == 2:
                    self.bus.write(mount.servo, "bus_watchdog", 0)
                self._unheld.discard(mount.servo)
            except RobotError as error:
                if not self.bus.is_open:
                    raise
                log.error("%s: %s", self.config.name, error)

    def _check_first(self, measured: Array, wanted: Array) -> None:
        for channel, here, there in zip(self._info.command, measured, wanted, strict=True):
            if channel.unit != "rad":
                continue
            if max(channel.low - here, here - channel.high) > self.config.first_step:
                raise RobotError(
                    f"{channel.name} stands at {here:.3f} rad, outside [{channel.low:g}, {channel.high:g}]; "
                    "move it in by hand (the torque is off), or correct the zero or the limits."
                )
            if abs(there - here) > self.config.first_step:
                raise RobotError(
                    f"the first command of {channel.name} is {there:.3f} rad; it stands at {here:.3f}. "
                    "Walk there (SafeRobot.walk_to), beginning with the state's own command."
                )

    def _fail_if(self, what: str) -> None:
        """Unless `what` is empty, hold every joint, remember why, and raise."""
        if not what:
            return
        self._fault = f"{self.config.name}: {what}."
        self._hold_still()
        raise RobotError(f"{self._fault} All joints hold. {mended()}")

    def diagnostics(self) -> Mapping[str, object]:
        """Return the condition of bus and servos, read one by one; not for a control loop.

        `overruns` and `worst_lateness_s` since `connect`, the bus's counters, `fault` (why nothing is sent any
        more; empty if it is), and of every `servo` by its id: `joint`, `temperature_celsius`, `voltage_v`,
        `errors` (names of hardware errors); None where it does not answer. Without a connection, no servos.
        """
        servos = [(j.name, mount) for j in self.config.joints for mount in (*j.servos, j.encoder) if mount]
        return {
            "overruns": self.overruns,
            "worst_lateness_s": self.worst_lateness,
            **vars(self.counters),
            "fault": self._fault,
            "servos": {
                str(mount.servo): setup.condition(self.bus, mount) | {"joint": joint}
                for joint, mount in (servos if self.bus.is_open else ())
            },
        }
