"""Measures: more signals, computed every period from those a robot reads."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pliant.envs.tasks.term import TermFunction, measure
from pliant.envs.tasks.values import channel
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array, Channel


def _tip(selected: Mapping[str, Sequence[Channel]], parameters: Mapping[str, Any]) -> Sequence[Channel]:
    joints = [c.owner for c in selected["position"]]
    if len(joints) != 2:
        raise ConfigurationError(
            f"planar_tip is for an arm of two links; the robot has {len(joints)} joint(s) ({', '.join(joints)})."
        )
    reach = parameters["l1"] + parameters["l2"]
    return [Channel(f"tip/position_{axis}", "m", -reach, reach) for axis in "xyz"]


@measure(_tip, position="*/position", positive=("l1", "l2"))
def planar_tip(position: Array, l1: float, l2: float, out: Array) -> None:
    """Tip of a planar arm of two links from the shoulder, `tip/position_x|y|z`, m.

    (l1·cos q1 + l2·cos(q1 + q2), 0, l1·sin q1 + l2·sin(q1 + q2))
    """
    first, both = position[0], position[0] + position[1]
    out[0] = l1 * math.cos(first) + l2 * math.cos(both)
    out[1] = 0.0
    out[2] = l1 * math.sin(first) + l2 * math.sin(both)


def _flight(selected: Mapping[str, Sequence[Channel]], parameters: Mapping[str, Any]) -> Sequence[Channel]:
    if "lengths" in parameters:
        lengths, joints = parameters["lengths"], [c.owner for c in selected["position"]]
        if len(lengths) != len(joints):
            raise ConfigurationError(
                f"thrown_by_chain: {len(lengths)} lengths for the {len(joints)} joints ({', '.join(joints)})."
            )
        if not parameters["height"] > sum(abs(length) for length in lengths):
            raise ConfigurationError(
                f"thrown_by_chain: at a height of {parameters['height']:g} m an arm of {sum(lengths):g} m hits "
                "the floor."
            )
    return [
        Channel("throw/now", "m", -math.inf, math.inf),
        Channel("throw/best", "m", 0.0, math.inf),
        Channel("throw/gain", "m", 0.0, math.inf),
    ]


@measure(_flight, position="*/position", velocity="*/velocity", positive=("height", "gravity"))
def thrown_by_chain(
    position: Array, velocity: Array, step: float, lengths: Array, height: float, gravity: float, out: Array
) -> None:
    """How far a ball flies that the tip of a hanging planar chain lets go, from the joints' angles and speeds.

    x = Σ lᵢ·sin φᵢ, z = height − Σ lᵢ·cos φᵢ with φᵢ = q₁ + … + qᵢ, and `fly` with their rates: `throw/now`;
    the farthest so far, `throw/best`, 0 at the start; and by how much it grew, `throw/gain`; all in m.

    Args:
        position: (joints,), rad; 0 hangs down.
        velocity: (joints,), rad/s.
        step: periods since the start.
        lengths: from each joint to the next, and from the last one to the tip, (joints,), m.
        height: of the first joint above the floor, m.
        gravity: m/s².
        out: (3,).
    """
    angle, rate = 0.0, 0.0
    x, z, dx, dz = 0.0, height, 0.0, 0.0
    for j in range(lengths.size):
        angle += position[j]
        rate += velocity[j]
        x += lengths[j] * math.sin(angle)
        z -= lengths[j] * math.cos(angle)
        dx += lengths[j] * rate * math.cos(angle)
        dz += lengths[j] * rate * math.sin(angle)
    record(fly(x, z, dx, dz, gravity), step, out)


@measure(_flight, position="tip/position_[xz]", velocity="tip/velocity_[xz]", positive=("gravity",))
def thrown_by_tip(
    position: Array, velocity: Array, step: float, height: float, gravity: float, out: Array
) -> None:
    """How far a ball flies that a tip lets go, as `thrown_by_chain` with the tip's own signals.

    Args:
        position: x and z of the tip, (2,), m, in the world's frame.
        velocity: of the tip, (2,), m/s.
        step: periods since the start.
        height: of the world's origin above the floor, m.
        gravity: m/s².
        out: (3,).
    """
    record(fly(position[0], height + position[1], velocity[0], velocity[1], gravity), step, out)


def fly(x: float, z: float, dx: float, dz: float, gravity: float) -> float:
    """Where a ball lands on the floor: x + ẋ·(ż + √(ż² + 2·g·z))/g, m; z below the floor counts as on it."""
    return x + dx * (dz + math.sqrt(max(dz * dz + 2.0 * gravity * z, 0.0))) / gravity


def record(now: float, step: float, out: Array) -> None:
    """Write what is thrown now, the best so far and how much was gained; `out` keeps the best."""
    if step == 0.0:
        out[0] = out[1] = out[2] = 0.0
        return
    out[0] = now
    out[2] = max(now - out[1], 0.0)
    out[1] += out[2]


def _local(selected: Mapping[str, Sequence[Channel]], parameters: Mapping[str, Any]) -> Sequence[Channel]:
    top = max(max(-c.low, c.high) for c in selected["velocity"])
    return [channel(f"base/local_velocity_{axis}", "m/s", -top, top) for axis in "xyz"]


@measure(_local, orientation="base/orientation_*", velocity="base/velocity_*")
def local_velocity(orientation: Array, velocity: Array, out: Array) -> None:
    """Velocity of a floating base in its own frame, Rᵀ·v, `base/local_velocity_x|y|z`, m/s.

    Args:
        orientation: quaternion w, x, y, z of the base.
        velocity: in the world's frame, (3,), m/s.
        out: (3,).
    """
    to_local(orientation, velocity[0], velocity[1], velocity[2], out)


def to_local(quaternion: Array, x: float, y: float, z: float, out: Array) -> None:
    """Write a vector of the world's frame in the frame whose orientation is a unit quaternion w, x, y, z."""
    w, a, b, c = quaternion[0], -quaternion[1], -quaternion[2], -quaternion[3]
    # v + 2·u × (u × v + w·v) with the conjugate's vector u
    p, q, r = b * z - c * y + w * x, c * x - a * z + w * y, a * y - b * x + w * z
    out[0] = x + 2.0 * (b * r - c * q)
    out[1] = y + 2.0 * (c * p - a * r)
    out[2] = z + 2.0 * (a * q - b * p)


MEASURES: Final[dict[str, TermFunction]] = {
    term.name: term for term in (planar_tip, thrown_by_chain, thrown_by_tip, local_velocity)
}
"""By name."""
