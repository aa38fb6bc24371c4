"""A robot of Dynamixel servos behind the robot interface."""

import itertools
import logging
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import RobotError
from pliant.hardware.dynamixel import mapping, setup
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.config import DynamixelConfig
from pliant.hardware.dynamixel.sensing import Sensors
from pliant.hardware.dynamixel.wire import Counters
from pliant.hardware.robot import Array, Robot, RobotInfo, State, check_command
from pliant.hardware.timing import Clock, SystemClock, Ticker

log = logging.getLogger(__name__)

# Register, the value that tells of trouble, and of which.
_SHUT_DOWN = (("torque_limit", 0, "has shut down (torque limit 0)"),)
_POWERLESS = (
    ("torque_enable", 0, "has lost its torque (a dip of the supply?)"),
    ("bus_watchdog", -1, "has been stopped by its bus watchdog"),
)


class DynamixelRobot(Robot):
    """Joints moved by Dynamixel servos.

    - `connect` checks and configures the servos and moves nothing. Without torque they can be read, and moved
      by hand.
    - The first `send` switches the torque on at the measured pose, arms the servos' bus watchdog, and refuses
      a command further than `first_step` from that pose.
    - A hardware error, a servo that has lost its torque, or a tripped watchdog: every joint holds,
      `RobotError` names servo and joint, and every `send` is refused until `recover`.
    - `stop` holds every joint where it is, with torque (in current and PWM mode: without drive).
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
        self._info = RobotInfo(
            name=config.name,
            joints=tuple(joint.name for joint in config.joints),
            motors=tuple(f"{joint.name}/{index + 1}" for joint, index, _ in self._motors),
            command=tuple(channel for joint in config.joints for channel in mapping.channels(joint)),
            period=config.period,
            parameters=config.parameters,
        )
        ends = np.cumsum([len(mapping.channels(joint)) for joint in config.joints]).tolist()
        self._columns = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        self._sensors = Sensors(self.bus, config)
        self._engaged = False
        self._fault = ""
        self._sent: Array | None = None
        self._current_limits: dict[int, bytes] = {}
        # What feedback does not show. A servo that restarts after a dip of the supply says nothing of it; it is
        # only without torque.
        bad = _SHUT_DOWN if config.protocol == 1 else _POWERLESS
        self._audits = itertools.cycle(itertools.product(bad, self._motors))

    @property
    def info(self) -> RobotInfo:
        """Joints, motors, command columns and period."""
        return self._info

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
        self.bus.open()
        self._engaged, self._fault = False, self._fault or f"{self.config.name}: the recovery failed."
        setup.set_watchdog(self.bus, self.config, 0.0)
        setup.revive(self.bus, self.config)
        self._begin()

    def read(self) -> State:
        """Return the newest state. Raises `RobotError` if a servo does not answer or reports an error."""
        self._measure()
        if not self._fault:
            self._check_health()
        return self._state()

    def send(self, command: ArrayLike) -> Array:
        """Send a command, wait for the next period, and return what was sent, in whole counts."""
        wanted = np.clip(check_command(command, self._info), self._info.low, self._info.high)
        if self._fault:
            raise RobotError(f"{self._fault} Call recover() first.")
        if self._engaged:
            self._check_watchdog()
        else:
            self._engage(wanted)
        self._sent = self._write_goals(wanted)
        beat = self._ticker.wait()
        self.overruns += beat.lateness > 0
        self.worst_lateness = max(self.worst_lateness, beat.lateness)
        return self._sent.copy()

    def stop(self) -> None:
        """Hold every joint where it is (in current and PWM mode: without drive). Never raises."""
        if not (self.bus.is_open and self._engaged):
            return
        try:
            self._disarm()
            self._sensors.update()
            self._sent = self._write_goals(self._hold())
        except RobotError as error:
            log.error("%s: could not be stopped: %s", self.config.name, error)

    def close(self) -> None:
        """Bring the servos to the end state `on_close` and release the port. Safe to call twice."""
        if not self.bus.is_open:
            return
        try:
            if self.config.on_close == "hold":
                self.stop()
            else:
                self._release()
        finally:
            self._engaged = False
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
        self._engaged, self._fault, self._sent = False, "", None
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
            self._fail(f"hardware error of {faults}" if faults else "a hardware error that is gone again")
        if self._engaged:
            self._audit()

    def _hold(self) -> Array:
        """Return the command that leaves every joint where it was measured."""
        command: list[float] = []
        for joint in self.config.joints:
            angles = [self._sensors.angle[self._sensors.index[mount.servo]] for mount in joint.servos]
            command += mapping.hold_command(joint, angles)
        return np.array(command)

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
            command=self._hold() if self._sent is None else self._sent.copy(),
        )

    def _engage(self, wanted: Array) -> None:
        """Switch the torque on at the measured pose."""
        if not self.bus.is_open:
            raise RobotError(f"{self.config.name} is not connected; call connect() first.")
        self._sensors.restart()
        self._measure()
        measured = self._hold()
        self._check_first(measured, wanted)
        here = np.clip(measured, self._info.low, self._info.high)
        self._current_limits = {}
        self._write_goals(here)
        for _, _, mount in self._motors:
            self.bus.write(mount.servo, "torque_enable", 1)
        # Some servos forget their goals as the torque comes on.
        self._current_limits = {}
        self._write_goals(here)
        setup.set_watchdog(self.bus, self.config, self.config.watchdog)
        self._engaged = True
        self._ticker.restart()

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

    def _write_goals(self, command: Array) -> Array:
        """Write the goals of a command to all servos; return the command they amount to."""
        writes: dict[str, dict[int, bytes]] = {}
        sent: list[float] = []
        for joint, columns in zip(self.config.joints, self._columns, strict=True):
            goals = mapping.goals(joint, command[columns].tolist())
            sent += mapping.sent_command(joint, goals)
            for goal in goals:
                row = self._sensors.index[goal.servo]
                # A servo that counts turns has its own number of them; single-turn goals lie in the first.
                multi = goal.register == "goal_position" and joint.mode != "position"
                value = goal.value - (self._sensors.turns[row].offset if multi else 0)
                register = self._sensors.mounts[row].table.register(goal.register)
                writes.setdefault(goal.register, {})[goal.servo] = register.encode(value)
        self._drop_unchanged_limits(writes)
        table = self._motors[0][2].table
        for name, data in writes.items():
            self.bus.sync_write(table.register(name).address, data)
        return np.array(sent)

    def _drop_unchanged_limits(self, writes: dict[str, dict[int, bytes]]) -> None:
        """Leave current limits out that the servos have already: they seldom change."""
        limited = [m.servo for joint, _, m in self._motors if joint.mode == "current_position"]
        currents = writes.get("goal_current", {})
        for servo in limited:
            if self._current_limits.get(servo) == currents[servo]:
                del currents[servo]
            else:
                self._current_limits[servo] = currents[servo]
        if not currents:
            writes.pop("goal_current", None)

    def _check_watchdog(self) -> None:
        """Raise if the bus has been silent for so long that the servos have stopped by themselves."""
        if self.config.watchdog and self.bus.silence > self.config.watchdog:
            for joint, _, mount in self._motors:
                if self.bus.read(mount.servo, "bus_watchdog") == -1:
                    self._fail(f"the bus watchdog of servo {mount.servo}, joint {joint.name!r}, has tripped")

    def _disarm(self) -> None:
        """Switch the watchdogs off, and clear a trip, as far as the servos answer."""
        for _, _, mount in self._motors if self.config.protocol == 2 else ():
            try:
                self.bus.write(mount.servo, "bus_watchdog", 0)
            except RobotError as error:
                if not self.bus.is_open:
                    raise
                log.error("%s", error)

    def _audit(self) -> None:
        """Check one register of one servo, in turn at every call."""
        (register, bad, meaning), (joint, _, mount) = next(self._audits)
        if self.bus.read(mount.servo, register) == bad:
            self._fail(f"servo {mount.servo}, joint {joint.name!r}, {meaning}")

    def _fail(self, what: str) -> None:
        """Hold every joint, remember why, and raise."""
        self._fault = f"{self.config.name}: {what}."
        self.stop()
        raise RobotError(f"{self._fault} All joints hold. End the cause, then call recover().")

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
