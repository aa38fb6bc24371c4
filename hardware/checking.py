"""Whether a driver keeps what the robot interface promises, tried on the machine or on what stands in for it."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from pliant.errors import OutOfBoundsError, PliantError, RobotError, ShapeError, check_count
from pliant.hardware.robot import Array, Robot, State, stacked
from pliant.hardware.safety_config import SafetyConfig, walks

_MOVED = 0.1
"""How far a joint may go under the command that it was found under, rad or m."""
_ROUNDED = 1e-4
"""By how much a machine may round a command, in its unit."""


class Checked(NamedTuple):
    """What was found out of a robot that keeps its promises."""

    period: float
    """Mean time from one reading to the next, by its own clock, s."""
    longest_period: float
    """s."""
    reading: float
    """Mean time that it takes to read it, by the computer's clock, s."""
    noise: Array
    """Standard deviation of the positions while it held still, (joints,), rad or m."""
    unmeasured: tuple[str, ...]
    """Signals that were NaN all the time."""


def check_robot(robot: Robot, periods: int = 100) -> Checked:
    """Try a robot for what everything above relies on; raise `RobotError` for the first promise that it breaks.

    **Its torque comes on**, and it is commanded for some periods to stay where it stands: support it, and have the
    emergency stop at hand. It is stopped, released and connected once more. One that is commanded torques is
    commanded for two periods only, what it was found under: that holds nothing.

    Args:
        robot: any robot, not connected; without a safety layer around it.
        periods: for how many it holds.

    Returns:
        What was measured meanwhile.
    """
    check_count("periods", periods, 2, 1_000_000)
    robot.stop()
    robot.close()
    with _refused("a reading before it is connected", RobotError):
        robot.read()
    try:
        robot.connect()
        first = _checked(robot, robot.read())
        _check_refusals(robot, first)
        states, reading = _hold(robot, first, periods if walks(robot.info) else 2)
        robot.stop()
        robot.stop()
        _checked(robot, robot.read())
        robot.close()
        robot.close()
        with _refused("a command after it was released", RobotError):
            robot.send(first.command)
        robot.connect()
        again = _checked(robot, robot.read())
        if not again.time < states[-1].time:
            raise RobotError(f"connected anew, its time goes on at {again.time:g} s; it begins anew, too.")
    finally:
        robot.close()
    motion = stacked(states)
    steps = np.diff(motion.time)
    blind = np.flatnonzero(np.isnan(motion.signals).all(axis=0))
    return Checked(
        period=float(steps.mean()),
        longest_period=float(steps.max()),
        reading=reading,
        noise=motion.position.std(axis=0),
        unmeasured=tuple(robot.info.signal_names[k] for k in blind),
    )


def _check_refusals(robot: Robot, state: State) -> None:
    """Raise unless commands that are none are refused."""
    with _refused("a command of NaN", OutOfBoundsError):
        robot.send(np.full(len(state.command), math.nan))
    with _refused("a command with a number too many", ShapeError):
        robot.send(np.append(state.command, 0.0))


def _hold(robot: Robot, first: State, periods: int) -> tuple[list[State], float]:
    """Command a robot to stay; return its states, one a period, and the time that one takes to be read, s."""
    states, reading, stale = list[State](), 0.0, 0
    for k in range(periods):
        sent = robot.send(first.command)
        begin = time.perf_counter()
        state = _checked(robot, robot.read())
        reading += (time.perf_counter() - begin) / periods
        earlier = states[-1] if states else first
        if any(np.shares_memory(new, old) for new, old in zip(state[1:], earlier[1:], strict=True)):
            raise RobotError("the arrays of its states are not their own: a later reading changes an earlier one.")
        if not np.allclose(state.command, sent, rtol=0.0, atol=_ROUNDED):
            raise RobotError(f"the command in force is {state.command}, not {sent}, which was sent.")
        stale = 0 if not states or state.time > states[-1].time else stale + 1
        if stale > SafetyConfig.patience:
            raise RobotError(f"its time stands at {state.time:g} s from one period to the next.")
        moved = np.nan_to_num(np.abs(state.position - first.position))
        if moved.max() > _MOVED:
            robot.stop()
            joint = robot.info.joints[int(moved.argmax())]
            raise RobotError(
                f"joint {joint!r} went {moved.max():.3f} from where it stood, though commanded what it was found "
                f"under; stopped after {k + 1} periods. Are units, signs and zeros right, and is it strong enough?"
            )
        states.append(state)
    took = (states[-1].time - states[0].time) / (periods - 1)
    if not 0.2 < took / robot.info.period < 5.0:
        raise RobotError(f"by its own time a period takes {took:.4g} s; it says {robot.info.period:g} s.")
    return states, reading


def _checked(robot: Robot, state: State) -> State:
    """Return a state whose arrays have the sizes that the robot's `info` says, and numbers where it must."""
    info = robot.info
    sizes = {
        **dict.fromkeys(("position", "velocity", "torque", "stiffness"), len(info.joints)),
        **dict.fromkeys(("motor_position", "motor_velocity", "motor_torque", "spring_torque"), len(info.motors)),
        "command": len(info.command),
        "sensors": len(info.sensors),
    }
    for name, size in sizes.items():
        shape = np.shape(getattr(state, name))
        if shape != (size,):
            raise RobotError(f"`{name}` of its state has the shape {shape}; ({size},) is needed.")
    if not math.isfinite(state.time):
        raise RobotError(f"the time of its state is {state.time}.")
    if not np.isfinite(state.command).all():
        raise RobotError(f"the command in force is {state.command}.")
    told = {"position": state.position, "velocity": state.velocity, "torque": state.torque}
    blind = {
        f"{joint}/{what}" for what in told for joint, x in zip(info.joints, told[what], strict=True) if x != x
    }
    if unsaid := sorted(blind - robot.unmeasured):
        raise RobotError(f"{', '.join(unsaid)} is NaN, which `unmeasured` does not say.")
    return state


@contextmanager
def _refused(what: str, error: type[PliantError]) -> Iterator[None]:
    try:
        yield
    except error:
        return
    except Exception as other:
        raise RobotError(f"{what} raises {other!r}; {error.__name__} is needed.") from other
    raise RobotError(f"{what} is not refused; {error.__name__} is needed.")
