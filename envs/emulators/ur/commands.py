"""What the client's program does for each command that it finds in its register.

Numbers and registers are those of the program that ur-rtde 1.6 uploads. A real-time command is carried out every
cycle while it stands in the register; any other once, and it may take many cycles: then it is a generator that
yields once a cycle.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from pliant.envs.emulators.ur.motion import (
    Generator,
    JointMove,
    JointSpeed,
    Motion,
    ProgramError,
    Servo,
    ToolMove,
    ToolSpeed,
)
from pliant.envs.emulators.ur.nominal import NominalArm
from pliant.envs.emulators.ur.poses import Array, compose
from pliant.envs.emulators.ur.safety import SafetyMode
from pliant.envs.emulators.ur.script import PathMove, Script
from pliant.envs.emulators.ur.versions import PolyScope

Work = Iterator[None]
REAL_TIME = frozenset({6, 9, 10, 11, 24, 25, 26, 27, 38, 58, 66, 67, 68, 69, 70, 71})
STOP_PROGRAM = 255
_STEADY = 0.5
"""How long the target must have stood for `isSteady`, s."""
_KILLED = 10.0
"""How quickly the arm brakes when the thread that moved it is killed, rad/s²."""
_FREE_AXES = (1,) * 6
_RUNNING = 1 << 15
_MOST = 127


class ForceMode(NamedTuple):
    """Settings of force mode."""

    frame: Array
    selection: tuple[int, ...]
    wrench: Array
    limits: Array
    kind: int


class Machine(Protocol):
    """What commands act on: the controller."""

    version: PolyScope
    arm: NominalArm
    motion: Motion
    cycle: float
    joint_range: tuple[Array, Array]

    def double(self, register: int) -> float:
        """Return an input register of the program."""

    def integer(self, register: int) -> int:
        """Return an input register of the program."""

    def answer(self, values: Sequence[float] | Array, register: int = 0) -> None:
        """Write output registers."""

    def answer_integer(self, register: int, value: int) -> None:
        """Write an output register."""

    def position(self) -> Array:
        """Return the measured angles, rad."""

    def velocity(self) -> Array:
        """Return the measured speeds, rad/s."""

    def zero_force(self) -> None:
        """Take what the force sensor measures now as zero."""

    def set_force_mode(self, settings: ForceMode | None) -> None:
        """Begin or end force mode."""

    def set_free(self, axes: Sequence[int] | None) -> None:
        """Begin or end moving by hand."""

    def set_torque(self, torque: Array) -> None:
        """Command torques for the next cycle."""

    def arm_watchdog(self, frequency: float) -> None:
        """Stop the program when the command register is not written this often, Hz."""

    def trip(self, mode: SafetyMode, reason: str) -> None:
        """Stop by the safety system."""

    def torques(self) -> Array:
        """Return joint torques without what the arm itself needs, N·m."""


class Commands:
    """The commands of one program.

    Args:
        machine: they act on.
        script: what was uploaded.
    """

    def __init__(self, machine: Machine, script: Script) -> None:
        self._machine = machine
        self._script = script
        self._move: Work | None = None
        self._changes = 0
        self._operations = 0
        self._handlers: dict[int, Callable[[], Work | None]] = {
            1: self._move_j,
            2: self._move_j_ik,
            3: self._move_l,
            4: self._move_l_fk,
            6: self._force_mode,
            7: self._force_mode_stop,
            8: lambda: self._machine.zero_force(),
            9: self._speed_j,
            10: self._speed_l,
            11: self._servo_j,
            15: self._speed_stop,
            16: self._servo_stop,
            17: self._set_payload,
            18: lambda: self._machine.set_free(_FREE_AXES),
            19: lambda: self._machine.set_free(None),
            24: self._servo_l,
            25: lambda: self._machine.answer_integer(1, 0),
            26: lambda: self._machine.answer([self._machine.cycle]),
            29: lambda: self._machine.arm.set_tcp(self._vector(0)),
            30: self._inverse_near,
            31: lambda: self._machine.trip(SafetyMode.PROTECTIVE_STOP, "asked for by the program"),
            33: self._stop_l,
            34: self._stop_j,
            35: lambda: self._machine.arm_watchdog(self._machine.double(0)),
            36: self._pose_within_limits,
            37: self._joints_within_limits,
            38: lambda: self._machine.answer(self._machine.torques()),
            39: lambda: self._machine.answer(compose(self._vector(0), self._vector(6))),
            40: lambda: self._machine.answer(self._machine.arm.tcp),
            43: lambda: self._machine.answer(self._machine.arm.forward(self._machine.position())),
            44: lambda: self._machine.answer(self._machine.arm.forward(self._vector(0), self._vector(6))),
            45: self._move_path,
            46: self._inverse,
            47: lambda: self._machine.answer_integer(1, int(self._machine.motion.still >= _STEADY)),
            52: self._freedrive,
            53: lambda: self._machine.set_free(None),
            54: lambda: self._machine.answer_integer(1, 0),
            58: self._flange_pose,
            59: lambda: self._machine.arm.set_gravity(self._vector(0)[:3]),
            60: self._has_solution,
            61: self._has_solution_near,
            65: self._set_payload,
            66: self._direct_torque,
            67: self._mass_matrix,
            68: self._coriolis,
            69: lambda: self._machine.answer(self._machine.motion.qdd),
            70: self._jacobian,
            71: self._jacobian_derivative,
        }

    def begin(self, command: int) -> Work | None:
        """Carry out a command; return what is left to do of it, cycle by cycle, or None.

        Commands that are not emulated do nothing, as those that the program does not know.
        """
        handler = self._handlers.get(command)
        return None if handler is None else handler()

    def step(self) -> None:
        """Go on with an asynchronous move."""
        if self._move is not None and next(self._move, True):
            self._move = None

    def report_idle(self) -> None:
        """Report that no asynchronous operation is running."""
        self._report(-1)

    # What registers hold

    def _vector(self, register: int) -> Array:
        values = np.array([self._machine.double(register + n) for n in range(6)])
        if not np.isfinite(values).all():
            raise ProgramError("an argument is no number")
        return values

    def _report(self, progress: int) -> None:
        """Write the word about asynchronous operations; −1: none is running."""
        self._changes = (self._changes + 1) % (_MOST + 1)
        if progress == 0:
            self._operations = (self._operations + 1) % (_MOST + 1)
        word = self._changes << 16 | self._operations << 24
        if progress >= 0:
            word |= min(progress, _RUNNING - 1) | _RUNNING
        self._machine.answer_integer(2, word)

    # Moves

    def _run(self, moves: Iterator[None], asynchronous: int) -> Work | None:
        self._cancel_move()
        if asynchronous != 1:
            return moves
        self._report(0)
        self._move = self._reported(moves)
        return None

    def _reported(self, moves: Work) -> Work:
        yield from moves
        self._report(-1)

    def _cancel_move(self) -> None:
        if self._move is not None:
            self._move = None
            self._report(-1)
            # The thread is killed in its move; whoever moves next takes over, else the arm brakes.
            self._machine.motion.stop(_KILLED)

    def _joint_move(self, q: Array) -> Work:
        motion = self._machine.motion
        speeds = self._speed()
        yield from self._perform(lambda: JointMove(motion.q, q, *speeds, motion.speed_limit))

    def _tool_move(self, pose: Array) -> Work:
        motion, arm = self._machine.motion, self._machine.arm
        speeds = self._speed()
        yield from self._perform(lambda: ToolMove(arm.forward(motion.q), pose, *speeds))

    def _perform(self, make: Callable[[], Generator]) -> Work:
        """Make a move when the arm does not brake any more, and see it through."""
        motion = self._machine.motion
        while motion.owner == "stop":
            yield
        motion.begin("a move", make())
        yield
        while not motion.finished():
            yield
        motion.release()

    def _speed(self) -> tuple[float, float]:
        return self._machine.double(6), self._machine.double(7)

    def _move_j(self) -> Work | None:
        return self._run(self._joint_move(self._vector(0)), self._machine.integer(1))

    def _move_j_ik(self) -> Work | None:
        return self._run(self._joint_move(self._solution(self._vector(0))), self._machine.integer(1))

    def _move_l(self) -> Work | None:
        return self._run(self._tool_move(self._vector(0)), self._machine.integer(1))

    def _move_l_fk(self) -> Work | None:
        pose = self._machine.arm.forward(self._vector(0))
        return self._run(self._tool_move(pose), self._machine.integer(1))

    def _move_path(self) -> Work | None:
        return self._run(self._path(), self._machine.integer(1))

    def _path(self) -> Work:
        motion, arm = self._machine.motion, self._machine.arm
        for step in self._script.path:
            if not isinstance(step, PathMove):
                self._report(step)
                continue
            values = np.array(step.values)
            speeds = step.speed, step.acceleration
            if step.kind == "movej":
                q = self._solution(values) if step.is_pose else values
                yield from self._perform(partial(JointMove, motion.q, q, *speeds, motion.speed_limit))
            else:
                pose = values if step.is_pose else arm.forward(values)
                yield from self._perform(partial(ToolMove, arm.forward(motion.q), pose, *speeds))

    def _stop_j(self) -> Work | None:
        return self._stop(self._machine.double(0))

    def _stop_l(self) -> Work | None:
        motion, arm = self._machine.motion, self._machine.arm
        arm.move(motion.q)
        speed = float(np.linalg.norm((arm.jacobian() @ motion.qd)[:3]))
        deceleration = self._machine.double(0)
        if speed > 1e-3:
            # Joints that slow down in proportion slow the TCP down along its path.
            deceleration *= float(np.abs(motion.qd).max()) / speed
        return self._stop(deceleration)

    def _stop(self, deceleration: float) -> Work | None:
        motion = self._machine.motion
        self._cancel_move()
        motion.check_free("stop")
        return self._run(self._brake(deceleration), self._machine.integer(1))

    def _brake(self, deceleration: float) -> Work:
        motion = self._machine.motion
        motion.stop(deceleration)
        while motion.owner == "stop":
            yield

    # Servoing and speed

    def _servo_j(self) -> None:
        self._servo(self._vector(0))

    def _servo_l(self) -> None:
        self._servo(self._solution(self._vector(0)))

    def _servo(self, q: Array) -> None:
        machine, motion = self._machine, self._machine.motion
        settings = machine.double(8), machine.double(9), machine.double(10)
        if isinstance(motion.generator, Servo):
            motion.generator.update(q, *settings)
        else:
            motion.begin("servoing", Servo(q, *settings))

    def _servo_stop(self) -> Work | None:
        return self._end("servoing")

    def _speed_j(self) -> None:
        motion, qd = self._machine.motion, self._vector(0)
        if isinstance(motion.generator, JointSpeed):
            motion.generator.update(qd, self._machine.double(6))
        else:
            self._begin_speed(JointSpeed(qd, self._machine.double(6)))

    def _speed_l(self) -> None:
        motion, twist = self._machine.motion, self._vector(0)
        if isinstance(motion.generator, ToolSpeed):
            motion.generator.update(twist, self._machine.double(6))
        else:
            self._begin_speed(ToolSpeed(twist, self._machine.double(6)))

    def _begin_speed(self, generator: JointSpeed | ToolSpeed) -> None:
        # One thread serves both kinds, so the one takes over from the other.
        self._machine.motion.begin("speed control", generator)

    def _speed_stop(self) -> Work | None:
        return self._end("speed control")

    def _end(self, owner: str) -> Work | None:
        motion = self._machine.motion
        if motion.owner == owner:
            motion.release()
        else:
            motion.check_free("stop")
        return self._brake(self._machine.double(0))

    def _direct_torque(self) -> None:
        # Before 5.26 the client's program has no line here, and nothing happens. Since then a misspelt variable
        # passes zero friction scales, so friction is never compensated.
        if self._machine.version.direct_torque:
            self._machine.set_torque(self._vector(0))

    # Forces and hands

    def _force_mode(self) -> None:
        machine = self._machine
        selection = tuple(machine.integer(n) for n in range(2, 8))
        machine.set_force_mode(
            ForceMode(self._vector(0), selection, self._vector(6), np.abs(self._vector(12)), machine.integer(1))
        )

    def _force_mode_stop(self) -> Work | None:
        self._machine.set_force_mode(None)
        return self._brake(_KILLED) if not self._machine.motion.owner else None

    def _freedrive(self) -> None:
        if self._machine.version.freedrive_axes:
            self._machine.set_free([self._machine.integer(n) for n in range(1, 7)])

    def _set_payload(self) -> None:
        machine = self._machine
        cog = np.array([machine.double(n) for n in (1, 2, 3)])
        if not cog.any() and machine.version.major >= 5:
            cog = machine.arm.cog
        machine.arm.set_payload(max(machine.double(0), 0.0), cog)

    # Kinematics and dynamics

    def _solution(self, pose: Array, near: Array | None = None) -> Array:
        q = self._machine.arm.inverse(pose, self._machine.motion.q if near is None else near)
        if q is None:
            raise ProgramError("get_inverse_kin: no solution")
        return q

    def _inverse(self) -> None:
        self._machine.answer(self._solution(self._vector(0)))

    def _inverse_near(self) -> None:
        self._machine.answer(self._solution(self._vector(0), self._vector(6)))

    def _has_solution(self) -> None:
        found = self._machine.arm.inverse(self._vector(0), self._machine.motion.q)
        self._machine.answer_integer(1, int(found is not None))

    def _has_solution_near(self) -> None:
        found = self._machine.arm.inverse(self._vector(0), self._vector(6))
        self._machine.answer_integer(1, int(found is not None))

    def _pose_within_limits(self) -> None:
        q = self._machine.arm.inverse(self._vector(0), self._machine.motion.q)
        self._machine.answer_integer(1, int(q is not None and self._within(q)))

    def _joints_within_limits(self) -> None:
        self._machine.answer_integer(1, int(self._within(self._vector(0))))

    def _within(self, q: Array) -> bool:
        low, high = self._machine.joint_range
        return bool((q >= low).all() and (q <= high).all())

    def _flange_pose(self) -> None:
        self._machine.arm.move(self._machine.position())
        self._machine.answer(self._machine.arm.flange_pose())

    def _mass_matrix(self) -> None:
        if self._machine.version.dynamics:
            self._matrix(self._machine.arm.mass_matrix(self._machine.position()))

    def _jacobian(self) -> None:
        if self._machine.version.dynamics:
            self._machine.arm.move(self._machine.position())
            self._matrix(self._machine.arm.jacobian())

    def _jacobian_derivative(self) -> None:
        if self._machine.version.dynamics:
            machine = self._machine
            self._matrix(machine.arm.jacobian_derivative(machine.position(), machine.velocity()))

    def _coriolis(self) -> None:
        if self._machine.version.dynamics:
            arm, q, qd = self._machine.arm, self._machine.position(), self._machine.velocity()
            self._machine.answer(arm.torques(q, qd, np.zeros(6)) - arm.gravity(q))

    def _matrix(self, matrix: Array) -> None:
        """Write 36 numbers, column by column: 24 from register 0 on, 12 from register 36 on."""
        values = matrix.ravel(order="F").tolist()
        self._machine.answer(values[:24])
        self._machine.answer(values[24:], 36)
