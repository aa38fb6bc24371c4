"""Moves of the client's program: to a pose, along a path, to rest; blocking, or beside other commands."""

from collections.abc import Callable, Iterator

import numpy as np

from pliant.envs.emulators.ur.machine import Machine, vector
from pliant.envs.emulators.ur.motion import Generator, JointMove, ProgramError, ToolMove
from pliant.envs.emulators.ur.poses import Array
from pliant.envs.emulators.ur.script import PathMove, Script

Work = Iterator[None]
"""What takes several cycles: yields once a cycle."""
_KILLED = 10.0
"""How quickly the arm brakes when the thread that moved it is killed, rad/s²."""
_RUNNING = 1 << 15
_MOST = 127


class Moves:
    """The moves of one program.

    Args:
        machine: they act on.
        script: what was uploaded, which may hold a path.
    """

    def __init__(self, machine: Machine, script: Script) -> None:
        self._machine = machine
        self._script = script
        self._move: Work | None = None
        self._changes = 0
        self._operations = 0
        self._report(-1)

    def step(self) -> None:
        """Go on with an asynchronous move."""
        if self._move is not None and next(self._move, True):
            self._move = None

    def _run(self, moves: Work, asynchronous: bool) -> Work | None:
        self._cancel_move()
        if not asynchronous:
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

    def _joint_move(self, q: Array, speed: float, acceleration: float) -> Work:
        motion = self._machine.motion
        return self._perform(lambda: JointMove(motion.q, q, speed, acceleration, motion.speed_limit))

    def _tool_move(self, pose: Array, speed: float, acceleration: float) -> Work:
        motion, arm = self._machine.motion, self._machine.arm
        return self._perform(lambda: ToolMove(arm.forward(motion.q), pose, speed, acceleration))

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

    def _asynchronous(self) -> bool:
        return self._machine.integer(1) == 1

    def to_joints(self) -> Work | None:
        """Carry out `moveJ`."""
        return self._run(self._joint_move(vector(self._machine, 0), *self._speed()), self._asynchronous())

    def to_pose(self) -> Work | None:
        """Carry out `moveJ_IK`."""
        q = self.solution(vector(self._machine, 0))
        return self._run(self._joint_move(q, *self._speed()), self._asynchronous())

    def along_line(self) -> Work | None:
        """Carry out `moveL`."""
        return self._run(self._tool_move(vector(self._machine, 0), *self._speed()), self._asynchronous())

    def along_line_to_joints(self) -> Work | None:
        """Carry out `moveL_FK`."""
        pose = self._machine.arm.forward(vector(self._machine, 0))
        return self._run(self._tool_move(pose, *self._speed()), self._asynchronous())

    def along_path(self) -> Work | None:
        """Carry out `movePath`."""
        return self._run(self._path(), self._asynchronous())

    def _path(self) -> Work:
        arm = self._machine.arm
        for step in self._script.path:
            if not isinstance(step, PathMove):
                self._report(step)
                continue
            values = np.array(step.values)
            if step.kind == "movej":
                q = self.solution(values) if step.is_pose else values
                yield from self._joint_move(q, step.speed, step.acceleration)
            else:
                pose = values if step.is_pose else arm.forward(values)
                yield from self._tool_move(pose, step.speed, step.acceleration)

    def stop_joints(self) -> Work | None:
        """Carry out `stopJ`."""
        return self._stop(self._machine.double(0))

    def stop_tool(self) -> Work | None:
        """Carry out `stopL`: the TCP slows down along its path."""
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
        return self._run(self.brake(deceleration), self._asynchronous())

    def brake(self, deceleration: float) -> Work:
        """Bring the arm to rest, rad/s²."""
        motion = self._machine.motion
        motion.stop(deceleration)
        while motion.owner == "stop":
            yield

    def solution(self, pose: Array, near: Array | None = None) -> Array:
        """Return the joint angles of a pose nearest to the target, or to `near`; raises `ProgramError`."""
        q = self._machine.arm.inverse(pose, self._machine.motion.q if near is None else near)
        if q is None:
            raise ProgramError("get_inverse_kin: no solution")
        return q

    def _report(self, progress: int) -> None:
        """Write the word about asynchronous operations; −1: none is running."""
        self._changes = (self._changes + 1) % (_MOST + 1)
        if progress == 0:
            self._operations = (self._operations + 1) % (_MOST + 1)
        word = self._changes << 16 | self._operations << 24
        if progress >= 0:
            word |= min(progress, _RUNNING - 1) | _RUNNING
        self._machine.answer_integer(2, word)
