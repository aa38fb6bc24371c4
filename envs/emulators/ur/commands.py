"""What the client's program does for each command that it finds in its register.

Numbers and registers are those of the program that ur-rtde 1.6 uploads. A real-time command is carried out every
cycle while it stands in the register; any other once, and it may take many cycles: then it is a generator that
yields once a cycle.
"""

from collections.abc import Callable

import numpy as np

from pliant.envs.emulators.ur.machine import ForceMode, Machine, numbers, vector
from pliant.envs.emulators.ur.motion import JointSpeed, ProgramError, Servo, ToolSpeed
from pliant.envs.emulators.ur.moves import Moves, Work
from pliant.envs.emulators.ur.poses import Array, compose
from pliant.envs.emulators.ur.safety import SafetyMode
from pliant.envs.emulators.ur.script import Script

REAL_TIME = frozenset({6, 9, 10, 11, 24, 25, 26, 27, 38, 58, 66, 67, 68, 69, 70, 71})
STOP_PROGRAM = 255
_STEADY = 0.5
"""How long the target must have stood for `isSteady`, s."""
_AFTER_FORCE = 10.0
"""How quickly the arm brakes after force mode, rad/s²."""
_HEAVIEST = 100.0
"""Largest payload that is taken, kg."""
_FREE_AXES = (1,) * 6


class Commands:
    """The commands of one program.

    Args:
        machine: they act on.
        script: what was uploaded.
    """

    def __init__(self, machine: Machine, script: Script) -> None:
        self._machine = machine
        self._moves = moves = Moves(machine, script)
        self._handlers: dict[int, Callable[[], Work | None]] = {
            1: moves.to_joints,
            2: moves.to_pose,
            3: moves.along_line,
            4: moves.along_line_to_joints,
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
            33: moves.stop_tool,
            34: moves.stop_joints,
            35: lambda: self._machine.arm_watchdog(self._machine.double(0)),
            36: self._pose_within_limits,
            37: self._joints_within_limits,
            38: lambda: self._machine.answer(self._machine.torques()),
            39: lambda: self._machine.answer(compose(self._vector(0), self._vector(6))),
            40: lambda: self._machine.answer(self._machine.arm.tcp),
            43: lambda: self._machine.answer(self._machine.arm.forward(self._machine.position())),
            44: lambda: self._machine.answer(self._machine.arm.forward(self._vector(0), self._vector(6))),
            45: moves.along_path,
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
        self._moves.step()

    # What registers hold

    def _vector(self, register: int) -> Array:
        return vector(self._machine, register)

    def _numbers(self, *registers: int) -> list[float]:
        return numbers(self._machine, *registers)

    # Servoing and speed

    def _servo_j(self) -> None:
        self._servo(self._vector(0))

    def _servo_l(self) -> None:
        self._servo(self._moves.solution(self._vector(0)))

    def _servo(self, q: Array) -> None:
        motion = self._machine.motion
        settings = self._numbers(8, 9, 10)
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
        return self._moves.brake(self._machine.double(0))

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
        return self._moves.brake(_AFTER_FORCE) if not self._machine.motion.owner else None

    def _freedrive(self) -> None:
        if self._machine.version.freedrive_axes:
            self._machine.set_free([self._machine.integer(n) for n in range(1, 7)])

    def _set_payload(self) -> None:
        machine = self._machine
        mass, *cog = self._numbers(0, 1, 2, 3)
        if not 0.0 <= mass <= _HEAVIEST:
            raise ProgramError(f"a payload of {mass:g} kg")
        kept = machine.version.major >= 5 and not any(cog)
        machine.arm.set_payload(mass, machine.arm.cog if kept else cog)

    # Kinematics and dynamics

    def _inverse(self) -> None:
        self._machine.answer(self._moves.solution(self._vector(0)))

    def _inverse_near(self) -> None:
        self._machine.answer(self._moves.solution(self._vector(0), self._vector(6)))

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
