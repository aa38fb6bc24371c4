"""From a joint's command to its servos' goals and back: pure functions.

Counts here are those of `servo_count`: continuous over turns. What a servo itself counts differs from them by
whole turns, which a `TurnCounter` keeps.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pliant.hardware.dynamixel.config import (
    POSITION_MODES,
    DynamixelJoint,
    ServoMount,
    Travel,
    joint_angle,
    servo_count,
)
from pliant.hardware.robot import Channel


class Goal(NamedTuple):
    """A count for a goal register of one servo."""

    servo: int
    register: str
    value: int


def channels(joint: DynamixelJoint) -> list[Channel]:
    """Return the command columns of a joint.

    In the position modes `joint/position` (rad), or behind a spring `joint/equilibrium`, of antagonists with
    `joint/preset`; with `joint/torque_limit` (N·m, of each servo) if the current is limited. `joint/torque` (N·m)
    in current mode; `joint/pwm` (share of the supply) in PWM mode.
    """
    name = joint.name
    if joint.mode == "pwm":
        return [Channel(f"{name}/pwm", "1", -1.0, 1.0)]
    if joint.mode == "current":
        torque = joint.largest_torque()
        return [Channel(f"{name}/torque", "N·m", -torque, torque)]
    first = "equilibrium" if joint.compliant else "position"
    columns = [Channel(f"{name}/{first}", "rad", joint.low, joint.high, joint.rest)]
    if joint.antagonists:
        columns.append(Channel(f"{name}/preset", "rad", joint.preset[0], joint.preset[1], joint.preset_rest))
    if joint.mode == "current_position":
        torque = min(joint.largest_torque(index) for index in range(len(joint.servos)))
        columns.append(Channel(f"{name}/torque_limit", "N·m", 0.0, torque, torque))
    return columns


def goals(joint: DynamixelJoint, command: Sequence[float]) -> list[Goal]:
    """Return the servos' goals for a command of the joint, rounded to counts.

    Two servos go to θ₁ = equilibrium + preset and θ₂ = equilibrium − preset.
    """
    mount = joint.servos[0]
    if joint.mode == "pwm":
        full = mount.table.register("goal_pwm").scale
        return [Goal(mount.servo, "goal_pwm", round(mount.direction * command[0] / full))]
    if joint.mode == "current":
        return [Goal(mount.servo, "goal_current", round(mount.direction * command[0] / torque_count(mount)))]
    angles = (command[0] + command[1], command[0] - command[1]) if joint.antagonists else (command[0],)
    found = []
    for servo, angle in zip(joint.servos, angles, strict=True):
        count = round(servo_count(servo, angle))
        if joint.mode == "position":
            count = min(max(count, 0), servo.table.largest_count)
        found.append(Goal(servo.servo, "goal_position", count))
        if joint.mode == "current_position":
            found.append(Goal(servo.servo, "goal_current", int(command[-1] / torque_count(servo) + 1e-9)))
    return found


def sent_command(joint: DynamixelJoint, sent: Sequence[Goal]) -> list[float]:
    """Return the command that the joint's goals amount to, after their rounding."""
    mount = joint.servos[0]
    if joint.mode == "pwm":
        return [mount.direction * sent[0].value * mount.table.register("goal_pwm").scale]
    if joint.mode == "current":
        return [mount.direction * sent[0].value * torque_count(mount)]
    counts = {goal.servo: goal.value for goal in sent if goal.register == "goal_position"}
    angles = [joint_angle(servo, counts[servo.servo]) for servo in joint.servos]
    command = _from_angles(joint, angles)
    if joint.mode == "current_position":
        limits = {goal.servo: goal.value for goal in sent if goal.register == "goal_current"}
        command.append(min(limits[servo.servo] * torque_count(servo) for servo in joint.servos))
    return command


def hold_command(joint: DynamixelJoint, angles: Sequence[float]) -> list[float]:
    """Return the command that leaves the joint as it is when its servos stand at `angles` (θ, rad)."""
    if joint.mode not in POSITION_MODES:
        return [0.0]
    command = _from_angles(joint, angles)
    if joint.mode == "current_position":
        command.append(channels(joint)[-1].high)
    return command


def _from_angles(joint: DynamixelJoint, angles: Sequence[float]) -> list[float]:
    if joint.antagonists:
        return [(angles[0] + angles[1]) / 2, (angles[0] - angles[1]) / 2]
    return [angles[0]]


def torque_count(mount: ServoMount) -> float:
    """Return the torque of one count of current on the joint's side, N·m."""
    return mount.table.torque_per_count * mount.gear


class TurnCounter:
    """Follows a servo's count over the end of its encoder, and finds the turn it starts in.

    A servo that counts turns starts with an unknown number of them when it is switched on; the one that puts
    the joint nearest to the middle of its travel is right, because a travel is less than a turn.

    Args:
        mount: The servo.
        travel: Range of θ.
    """

    def __init__(self, mount: ServoMount, travel: Travel) -> None:
        self._turn = round(mount.table.counts_per_turn) if mount.table.wraps else 0
        self._middle = servo_count(mount, (travel.low + travel.high) / 2)
        self._last: float | None = None
        self.offset = 0
        """Add to the servo's count to get the continuous one."""

    def restart(self) -> None:
        """Forget the turn: the next reading decides it anew."""
        self._last = None

    def update(self, count: int) -> int:
        """Return the continuous count for the servo's own."""
        expected = self._middle if self._last is None else self._last
        if self._turn:
            self.offset = self._turn * round((expected - count) / self._turn)
        self._last = count + self.offset
        return count + self.offset
