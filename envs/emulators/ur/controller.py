"""The controller: everything but the sockets. One call of `cycle` is one cycle of the real one."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pliant.envs.emulators.ur.arm import make_arm
from pliant.envs.emulators.ur.forces import ForceSense, compliance
from pliant.envs.emulators.ur.log import Log, padded
from pliant.envs.emulators.ur.machine import ForceMode
from pliant.envs.emulators.ur.motion import JointMove, Motion, ProgramError, ToolMove
from pliant.envs.emulators.ur.nominal import NominalArm
from pliant.envs.emulators.ur.pins import Pins
from pliant.envs.emulators.ur.plant import Plant
from pliant.envs.emulators.ur.poses import Array
from pliant.envs.emulators.ur.program import Program, Watchdog
from pliant.envs.emulators.ur.reporting import Desired, Report
from pliant.envs.emulators.ur.safety import (
    EMERGENCY_DECELERATION,
    PROTECTIVE_DECELERATION,
    RobotMode,
    RuntimeState,
    Safety,
    SafetyMode,
)
from pliant.envs.emulators.ur.script import CONTROL, Script
from pliant.envs.emulators.ur.settings import ControllerSettings
from pliant.envs.emulators.ur.variables import INPUTS, OUTPUTS, Number, Recipe, Table
from pliant.errors import RobotError

_PROGRAM_DECELERATION = 15.0
"""How quickly the arm brakes when its program ends, rad/s²."""
_HAND_DECELERATION = 10.0
"""How quickly it brakes after torques or a hand have moved it, rad/s²."""
_START_DELAY = 0.03
"""Time from an upload until the program runs, s."""
_HAND_DAMPING = 0.05
"""Damping while the arm is moved by hand, as a part of the largest torque, s/rad."""
_HAND_FRICTION = 0.8
"""Part of the friction that is compensated then."""


class Controller:
    """The emulated controller with its arm.

    Args:
        settings: what it is.
        folder: where its log is written.
    """

    def __init__(self, settings: ControllerSettings, folder: Path) -> None:
        self.settings = settings
        self.version = settings.version
        self.cycle = 1.0 / self.version.rate
        arm = make_arm(settings.robot)
        self.joint_range = arm.range
        self.outputs, self.inputs = Table(OUTPUTS), Table(INPUTS)
        self.pins = Pins(self.outputs)
        self.arm = NominalArm(arm.parameters)
        self.arm.set_tcp(arm.tcp)
        self.arm.set_payload(arm.payload, arm.cog)
        self.plant = Plant(arm, settings, self.cycle)
        self.motion = Motion(self.arm, np.array(settings.start, dtype=float), self.cycle)
        self.safety = Safety(arm)
        self.force = ForceSense(self.arm, self.version.sensor_at_flange)
        self._report = Report(self.outputs, self.arm, self.plant, self.force)
        self.log = Log(folder, settings.log_time, self.cycle)
        self.remote_control = settings.remote_control
        self.cycles = 0
        """Cycles since the start."""
        self.program: Program | None = None
        self.foreign = ""
        """Name of a program that somebody else has started, which occupies the slot."""
        self.programs = 0
        """How many programs have been started."""
        self.reason = ""
        """Why the last program ended."""
        self._loading: tuple[int, Script] | None = None
        self._offsets = 0, 0
        self._watchdog: Watchdog | None = None
        self._fired = False
        self._torque: Array | None = None
        self._hand: tuple[int, ...] | None = None
        self._force_mode: ForceMode | None = None
        self._offset = np.zeros(6)
        """What force mode has moved the joints by."""
        self._free = False
        expected = self.arm.gravity(self.motion.q)
        self.plant.settle(expected)
        self.force.zero(self.plant, self.motion.q)
        self._measure(self.motion.q, self.motion.qd, expected)

    @property
    def time(self) -> float:
        """Time of the controller since its start, s."""
        return self.cycles * self.cycle

    @property
    def command_register(self) -> str:
        """Name of the input by which the client commands its program."""
        return f"input_int_register_{self._offsets[1]}"

    @property
    def runtime_state(self) -> RuntimeState:
        """What the program does."""
        return RuntimeState.PLAYING if self.program or self.foreign else RuntimeState.STOPPED

    @property
    def watchdog_period(self) -> float | None:
        """Longest time between two writes of the command register, s; None: the watchdog is not armed."""
        return None if self._watchdog is None else self._watchdog.period

    @property
    def scaling(self) -> float:
        """The speed scaling: that of the slider."""
        return self.pins.slider

    # What comes from outside

    def take_input(self, recipe: Recipe, values: tuple[Number, ...]) -> None:
        """Act on a data frame whose values are in the table of inputs already."""
        if self.command_register in recipe.names:
            if self._watchdog is not None:
                self._watchdog.fed()
            self._log_command(recipe)
        elif recipe.names[-1].startswith(("standard", "tool", "configurable", "speed")):
            self.pins.take(recipe, values)

    def load(self, script: Script) -> None:
        """Take a program from the script port: it replaces what runs, unless the arm must not run one."""
        if (self.version.remote_control and not self.remote_control) or not self.safety.normal or self.foreign:
            return
        self.end_program(f"replaced by {script.name}")
        if script.name == CONTROL:
            self._loading = self.cycles + max(round(_START_DELAY / self.cycle), 1), script

    def end_program(self, reason: str) -> None:
        """End the program, if one runs or starts; the arm comes to rest."""
        self._loading = None
        if self.program is None:
            return
        self.program, self._watchdog, self.reason = None, None, reason
        self._force_mode, self._torque, self._hand = None, None, None
        if not self._free:
            self.motion.stop(_PROGRAM_DECELERATION)

    def trip(self, mode: SafetyMode, reason: str) -> None:
        """Stop by the safety system; the program ends."""
        self.safety.trip(mode, reason, self.time)
        self.end_program(f"stopped by the safety system: {reason}")
        emergency = mode != SafetyMode.PROTECTIVE_STOP
        self.motion.stop(EMERGENCY_DECELERATION if emergency else PROTECTIVE_DECELERATION)
        if emergency:
            self.safety.robot_mode = RobotMode.POWER_OFF

    def unlock(self) -> None:
        """Unlock a protective stop; raises `RobotError` where that is not possible."""
        if self.safety.mode != SafetyMode.PROTECTIVE_STOP:
            raise RobotError("there is no protective stop to unlock.")
        left = self.safety.stopped_at + self.settings.unlock_delay - self.time
        if left > 0.0:
            raise RobotError(f"a protective stop can be unlocked some seconds after it; {left:.1f} s to go.")
        self.safety.mode = SafetyMode.NORMAL

    def free_slot(self) -> None:
        """End the program that somebody else has started."""
        self.foreign = ""

    def power_off(self) -> None:
        """Switch the arm off; its brakes hold it."""
        self.end_program("the arm was switched off")
        self.motion.stop(EMERGENCY_DECELERATION)
        self.safety.robot_mode = RobotMode.POWER_OFF

    def restart_safety(self) -> None:
        """Leave a fault of the safety system; the arm is off then."""
        if self.safety.mode == SafetyMode.FAULT:
            self.safety.mode = SafetyMode.NORMAL
            self.safety.robot_mode = RobotMode.POWER_OFF

    # What programs act on: see `Machine`

    def double(self, register: int) -> float:
        """Return an input register of the program."""
        return float(self.inputs.get(f"input_double_register_{register + self._offsets[0]}"))

    def integer(self, register: int) -> int:
        """Return an input register of the program."""
        return int(self.inputs.get(f"input_int_register_{register + self._offsets[1]}"))

    def answer(self, values: Sequence[float] | Array, register: int = 0) -> None:
        """Write output registers."""
        for n, value in enumerate(values):
            self.outputs.set(f"output_double_register_{register + n + self._offsets[0]}", float(value))

    def answer_integer(self, register: int, value: int) -> None:
        """Write an output register."""
        self.outputs.set(f"output_int_register_{register + self._offsets[1]}", value)

    def position(self) -> Array:
        """Return the measured angles, rad."""
        return self._q

    def velocity(self) -> Array:
        """Return the measured speeds, rad/s."""
        return self._qd

    def zero_force(self) -> None:
        """Take what the force sensor measures now as zero."""
        self.force.zero(self.plant, self._q)

    def set_force_mode(self, settings: ForceMode | None) -> None:
        """Begin or end force mode."""
        self._force_mode = settings

    def set_free(self, axes: Sequence[int] | None) -> None:
        """Begin or end moving by hand."""
        if axes is not None:
            self.motion.check_free("freedrive")
        self._hand = None if axes is None else tuple(axes)

    def set_torque(self, torque: Array) -> None:
        """Command torques for the next cycle."""
        self.motion.check_free("torque")
        self._torque = torque

    def arm_watchdog(self, frequency: float) -> None:
        """Stop the program when the command register is not written this often, Hz."""
        if not frequency > 0.0:
            raise ProgramError("a watchdog needs a frequency above 0")
        self._watchdog = Watchdog(frequency, self.cycle)

    def torques(self) -> Array:
        """Return joint torques without what the arm itself needs, N·m."""
        return self.plant.torque_of(self._current) - self._expected

    # Time

    def run_program(self) -> None:
        """Let the program run for a cycle without letting time pass."""
        if self._loading is not None and self.cycles >= self._loading[0]:
            self._start(self._loading[1])
        self._torque = None
        if self.program is None:
            return
        try:
            if not self.program.step():
                self.end_program("ended by its client")
        except ProgramError as error:
            self.end_program(str(error))

    def start_now(self) -> None:
        """Start what is loaded without its delay, for lock step."""
        if self._loading is not None:
            self._loading = self.cycles, self._loading[1]

    def advance(self) -> None:
        """Let one cycle pass: program, target, safety, arm, sensors."""
        self.cycles += 1
        if self._watchdog is not None and self._watchdog.tick():
            self._fired = True
            self.end_program("the watchdog: the command register was not written in time")
        self.run_program()
        free = self.safety.normal and (self._torque is not None or self._hand is not None)
        if free:
            self._move_freely()
        else:
            self._move_to_target()
        self._free = free
        self._log_cycle()

    def _move_freely(self) -> None:
        torque = self.arm.gravity(self._q)
        if self._torque is not None:
            torque = torque + self._torque
        else:
            friction = self.plant.coulomb * np.tanh(self._qd / 0.05)
            torque = torque + _HAND_FRICTION * friction - _HAND_DAMPING * self.plant.limit * self._qd
        self.plant.push_through(torque)
        self.motion.follow(self.plant.q, self.plant.qd)
        self._check()
        self._measure(self.motion.q, self.motion.qd, torque)

    def _move_to_target(self) -> None:
        motion = self.motion
        if self._free and motion.owner != "stop":  # a stop of the safety system is quicker
            motion.stop(_HAND_DECELERATION)
        before = motion.q, motion.generator, motion.owner
        try:
            motion.step(self.scaling)
        except ProgramError as error:
            motion.q, motion.generator, motion.owner = before
            self.end_program(str(error))
            motion.step(self.scaling)
        if not np.isfinite(motion.q).all():
            motion.q, motion.qd = before[0], np.zeros(6)
            self.end_program("a target that is no number")
        if self._force_mode is not None:
            twist = compliance(self._force_mode, self.force.wrench)
            self.arm.move(motion.q + self._offset)
            self._offset = self._offset + self.cycle * np.clip(self.arm.solve(twist), -0.5, 0.5)
        q = motion.q + self._offset
        if self._force_mode is None and not isinstance(motion.generator, JointMove | ToolMove):
            # A move keeps to its own line, beside which the arm stays until it has ended.
            self._offset = np.zeros(6)
            motion.q = q
        expected = self.arm.torques(q, motion.qd, motion.qdd)
        self.plant.track(q, motion.qd, expected)
        self._check()
        self._measure(q, motion.qd, expected)

    def _check(self) -> None:
        if not self.safety.normal:
            return
        target, plant = self.motion.q + self._offset, self.plant
        problem = self.safety.problem(target, plant.q, plant.qd, plant.torque, self._free)
        if problem:
            self.trip(SafetyMode.PROTECTIVE_STOP, problem)

    def _start(self, script: Script) -> None:
        self._loading = None
        self._offsets = script.float_offset, script.int_offset
        self.programs += 1
        self._fired = False
        self.reason = ""
        if self.motion.owner != "stop":
            self.motion.release()
        self.program = Program(self, script)
        self.zero_force()

    def _measure(self, target: Array, target_speed: Array, expected: Array) -> None:
        """Read the sensors and report what is seen."""
        self._expected = expected
        measured = self.plant.measured()
        self._q, self._qd, self._current = measured
        self._report.write_motion(Desired(target, target_speed, self.motion.qdd, expected), measured)
        self.report_state()

    def report_state(self) -> None:
        """Report modes and states, which also change without time passing."""
        self._report.write_state(self.time, self.safety, self.runtime_state, self.scaling)

    # The log

    def _log_cycle(self) -> None:
        watchdog = 2 if self._fired else int(self._watchdog is not None)
        values = self.outputs.values
        places = self.outputs.places
        target, speed = places["target_q"], places["target_qd"]
        self.log.cycle(
            self.cycles,
            self.time,
            time.monotonic(),
            *values[target.start : target.stop],
            *values[speed.start : speed.stop],
            *self.plant.q.tolist(),
            *self.plant.qd.tolist(),
            *self.plant.torque.tolist(),
            *self.force.wrench.tolist(),
            self.scaling,
            self.integer(0),
            self.runtime_state,
            self.safety.robot_mode,
            self.safety.mode,
            watchdog,
            self.programs if self.program is not None else 0,
        )

    def _log_command(self, recipe: Recipe) -> None:
        doubles = [self.inputs.get(name) for name in recipe.names if "double" in name]
        integers = [int(self.inputs.get(name)) for name in recipe.names if "int_register" in name]
        self.log.command(
            self.cycles + 1,
            time.monotonic(),
            self.integer(0),
            len(doubles),
            *(int(n) for n in padded(integers, 8)),
            *padded(doubles, 18),
        )
