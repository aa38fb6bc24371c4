"""The rows of tasks and constraints at an instant, G·u̇ = ẍ* − Ġ·u, written by one compiled function."""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pliant.actuators.mujoco_calls import (
    long,
    mj_angmom_mat,
    mj_jac,
    mj_jac_subtree_com,
    numbers,
    record,
    table,
    whole,
)
from pliant.controllers.checks import Array
from pliant.controllers.task_space.mechanics import Mechanics, point_drift
from pliant.controllers.task_space.tasks import CENTRE_OF_MASS, FRAME, MOMENTUM, OWN, POSTURE, Task

_LENGTH: Final = 0.3
"""What a turn of 1 rad counts as against metres where something is nearly singular, m."""
_FIELDS: Final = (
    "kind",
    "row",
    "rows",
    "body",
    "other",
    "local",
    "place",
    "other_place",
    "chosen",
    "sensed",
    "stiffness",
    "damping",
    "largest",
    "target",
    "velocity",
    "acceleration",
    "error",
    "rate",
)


class Packed:
    """Tasks on a robot, packed for compiled code: a row of numbers and addresses each.

    Args:
        mechanics: of the robot.
        tasks: in the order of their rows.
    """

    def __init__(self, mechanics: Mechanics, tasks: Sequence[Task]) -> None:
        self.tasks = tuple(tasks)
        self.first = [sum(task.rows for task in tasks[:k]) for k in range(len(tasks) + 1)]
        """Where the rows of each task begin, and their number, (tasks + 1,)."""
        self.table = np.zeros(max(len(tasks), 1), dtype=[(name, np.int64) for name in _FIELDS])
        self.table["kind"] = OWN
        self._kept: list[Any] = []
        for k, task in enumerate(tasks):
            entries = {
                **task.bind(mechanics),
                "kind": task.kind,
                "row": self.first[k],
                "rows": task.rows,
                **{name: getattr(task, name) for name in _FIELDS[-8:]},
            }
            self._kept.append(entries)
            for name, entry in entries.items():
                self.table[k][name] = entry.ctypes.data if isinstance(entry, np.ndarray) else entry
        self.own = [(k, task) for k, task in enumerate(tasks) if task.kind == OWN]
        """Those with code of their own."""


def rows_record(jacobian: Array, wanted: Array, scale: Array) -> NDArray[Any]:
    """Return where `fill_rows` finds these arrays, (rows, nv), (rows,) and (rows,). Who keeps it keeps them."""
    return record(count=len(wanted), jacobian=jacobian, wanted=wanted, scale=scale)


def fill_rows(mechanics: NDArray[Any], tasks: NDArray[Any], rows: NDArray[Any]) -> None:
    """Write G, (rows, nv), b = ẍ* − Ġ·u, (rows,), and what 1 of a row counts as, m, of packed tasks."""
    r, to = mechanics[0], rows[0]
    jacobian, wanted, scale = (
        table(to.jacobian, to.count, r.nv),
        numbers(to.wanted, to.count),
        numbers(to.scale, to.count),
    )
    scratch, drift = table(r.scratch, 12, r.nv), np.empty(6)
    for k in range(len(tasks)):
        t = tasks[k]
        if t.kind == FRAME:
            _fill_frame(mechanics, t, jacobian, wanted, scale, scratch, drift)
        elif t.kind == CENTRE_OF_MASS or t.kind == MOMENTUM:
            _fill_whole(mechanics, t, jacobian, wanted, scale, scratch, drift)
        elif t.kind == POSTURE:
            _fill_posture(mechanics, t, jacobian, wanted, scale)


def _fill_posture(mechanics: Any, t: Any, jacobian: Array, wanted: Array, scale: Array) -> None:
    r = mechanics[0]
    qpos, qvel = numbers(r.qpos, r.nq), numbers(r.qvel, r.nv)
    n = t.rows
    target, velocity, acceleration = numbers(t.target, n), numbers(t.velocity, n), numbers(t.acceleration, n)
    stiffness, damping, largest = numbers(t.stiffness, n), numbers(t.damping, n), numbers(t.largest, 2)
    error, rate = numbers(t.error, n), numbers(t.rate, n)
    for i in range(n):
        dof = long(t.chosen, i)
        error[i], rate[i] = target[i] - qpos[long(t.place, i)], qvel[dof]
    share = _share(error, stiffness, damping, 0, n, largest[0])
    for i in range(n):
        row = t.row + i
        jacobian[row, :] = 0.0
        jacobian[row, long(t.chosen, i)] = 1.0
        wanted[row] = acceleration[i] + damping[i] * (velocity[i] - rate[i]) + share * stiffness[i] * error[i]
        scale[row] = _LENGTH


def _fill_whole(
    mechanics: Any, t: Any, jacobian: Array, wanted: Array, scale: Array, scratch: Array, drift: Array
) -> None:
    """Centre of mass or momentum."""
    r = mechanics[0]
    nv, body = r.nv, t.body
    mass, com = numbers(r.subtree_mass, r.bodies)[body], table(r.subtree_com, r.bodies, 3)
    qvel = numbers(r.qvel, nv)
    mj_jac_subtree_com(r.m, r.d, scratch.ctypes.data, np.int32(body))
    _drift_of_whole(mechanics, body, drift)
    count, unit = 3, 1.0
    if t.kind == MOMENTUM:
        count, unit = 6, mass
        mj_angmom_mat(r.m, r.d, scratch[3:].ctypes.data, np.int32(body))
    else:
        for i in range(3):
            drift[i] /= mass
    error, rate = numbers(t.error, count), numbers(t.rate, count)
    stiffness, damping = numbers(t.stiffness, count), numbers(t.damping, count)
    velocity, acceleration = numbers(t.velocity, count), numbers(t.acceleration, count)
    share = 1.0
    for i in range(count):
        size = unit if i < 3 else 1.0
        rate[i] = 0.0
        for j in range(nv):
            scratch[i, j] *= size
            rate[i] += scratch[i, j] * qvel[j]
    if t.kind == CENTRE_OF_MASS:
        target = numbers(t.target, 3)
        for i in range(3):
            error[i] = target[i] - com[body, i]
        share = _share(error, stiffness, damping, 0, 3, numbers(t.largest, 2)[0])
    for k in range(t.rows):
        i, row = long(t.chosen, k), t.row + k
        jacobian[row, :] = scratch[i]
        wanted[row] = (
            acceleration[i] + damping[i] * (velocity[i] - rate[i]) + share * stiffness[i] * error[i] - drift[i]
        )
        scale[row] = 1.0 if t.kind == CENTRE_OF_MASS else 1.0 / mass if i < 3 else 1.0 / (mass * _LENGTH)


def _drift_of_whole(mechanics: Any, body: int, drift: Array) -> None:
    """Change of momentum and of angular momentum about the centre of mass when u̇ = 0, (6,)."""
    r = mechanics[0]
    com, velocity = table(r.subtree_com, r.bodies, 3), table(r.cvel, r.bodies, 6)
    places, turns = table(r.xipos, r.bodies, 3), table(r.ximat, r.bodies, 9)
    mass, inertia = numbers(r.mass, r.bodies), table(r.body_inertia, r.bodies, 3)
    own, about = np.zeros(6), np.zeros(3)
    drift[:] = 0.0
    for b in range(body, r.bodies):
        if b != body and whole(r.parent, b) < body:
            break
        if mass[b] == 0.0:
            continue
        point_drift(mechanics, b, places[b], own)
        x, y, z = places[b, 0] - com[body, 0], places[b, 1] - com[body, 1], places[b, 2] - com[body, 2]
        fx, fy, fz = mass[b] * own[0], mass[b] * own[1], mass[b] * own[2]
        drift[0] += fx
        drift[1] += fy
        drift[2] += fz
        drift[3] += y * fz - z * fy
        drift[4] += z * fx - x * fz
        drift[5] += x * fy - y * fx
        # I·α + ω × I·ω, with I = R·diag·Rᵀ
        for part in range(2):
            vx = own[3] if part == 0 else velocity[b, 0]
            vy = own[4] if part == 0 else velocity[b, 1]
            vz = own[5] if part == 0 else velocity[b, 2]
            for i in range(3):
                about[i] = 0.0
            for j in range(3):
                along = inertia[b, j] * (turns[b, j] * vx + turns[b, 3 + j] * vy + turns[b, 6 + j] * vz)
                for i in range(3):
                    about[i] += turns[b, 3 * i + j] * along
            if part == 0:
                drift[3] += about[0]
                drift[4] += about[1]
                drift[5] += about[2]
            else:
                drift[3] += vy * about[2] - vz * about[1]
                drift[4] += vz * about[0] - vx * about[2]
                drift[5] += vx * about[1] - vy * about[0]


def _fill_frame(
    mechanics: Any, t: Any, jacobian: Array, wanted: Array, scale: Array, scratch: Array, drift: Array
) -> None:
    r = mechanics[0]
    nv = r.nv
    qvel, velocity = numbers(r.qvel, nv), numbers(t.velocity, 6)
    position, turn, other, other_turn = np.empty(3), np.empty(4), np.zeros(3), np.empty(4)
    _place(mechanics, t.body, t.place, position, turn)
    mj_jac(r.m, r.d, scratch.ctypes.data, scratch[3:].ctypes.data, position.ctypes.data, np.int32(t.body))
    point_drift(mechanics, t.body, position, drift)
    rate, error, target = numbers(t.rate, 6), numbers(t.error, 6), numbers(t.target, 7)
    for i in range(6):
        rate[i] = 0.0
        for j in range(nv):
            rate[i] += scratch[i, j] * qvel[j]
    _place(mechanics, t.other, t.other_place, other, other_turn)
    if t.other != 0:
        _subtract_other(mechanics, t.other, position, other, scratch, rate, drift)
    sensed = numbers(t.sensed, 7)
    if sensed[0] == sensed[0]:
        position[:] = sensed[:3]
    if sensed[3] == sensed[3]:
        turn[:] = sensed[3:]
    axes = _matrix(other_turn)
    relative, back, way, local = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    _conjugate(other_turn, back)
    _multiply(back, turn, relative)
    _conjugate(relative, local)
    _multiply(target[3:], local, way)
    _logarithm(way, error[3:])
    for i in range(3):
        error[i] = target[i]
        for j in range(3):
            error[i] -= axes[j, i] * (position[j] - other[j])
    if t.other != 0 or other_turn[0] != 1.0:
        _turn_rows(axes, scratch, rate, drift)
    if t.local != 0:
        own = _matrix(relative)
        spin = np.empty(3)
        spin[:] = rate[3:]
        for part in range(2):  # d/dt(Rᵀ·v) = Rᵀ·(a − ω × v)
            x, y, z = rate[3 * part], rate[3 * part + 1], rate[3 * part + 2]
            drift[3 * part] -= spin[1] * z - spin[2] * y
            drift[3 * part + 1] -= spin[2] * x - spin[0] * z
            drift[3 * part + 2] -= spin[0] * y - spin[1] * x
        _turn_rows(own, scratch, rate, drift)
        _turn_vector(own, error, 0)
        _turn_vector(own, error, 3)
    stiffness, damping, largest = numbers(t.stiffness, 6), numbers(t.damping, 6), numbers(t.largest, 2)
    acceleration = numbers(t.acceleration, 6)
    share = _share(error, stiffness, damping, 0, 3, largest[0])
    turning = _share(error, stiffness, damping, 3, 6, largest[1])
    for k in range(t.rows):
        i, row = long(t.chosen, k), t.row + k
        jacobian[row, :] = scratch[i]
        wanted[row] = (
            acceleration[i]
            + damping[i] * (velocity[i] - rate[i])
            + (share if i < 3 else turning) * stiffness[i] * error[i]
            - drift[i]
        )
        scale[row] = 1.0 if i < 3 else _LENGTH


def _subtract_other(
    mechanics: Any, body: int, position: Array, other: Array, scratch: Array, rate: Array, drift: Array
) -> None:
    """Make Jacobian, velocity and drift those relative to a frame that moves, in the world's axes."""
    r = mechanics[0]
    nv = r.nv
    qvel, its = numbers(r.qvel, nv), np.empty(6)
    mj_jac(r.m, r.d, scratch[6:].ctypes.data, scratch[9:].ctypes.data, other.ctypes.data, np.int32(body))
    point_drift(mechanics, body, other, its)
    x, y, z = position[0] - other[0], position[1] - other[1], position[2] - other[2]
    for j in range(nv):
        a, b, c = scratch[9, j], scratch[10, j], scratch[11, j]
        scratch[0, j] -= scratch[6, j] + b * z - c * y
        scratch[1, j] -= scratch[7, j] + c * x - a * z
        scratch[2, j] -= scratch[8, j] + a * y - b * x
        scratch[3, j] -= a
        scratch[4, j] -= b
        scratch[5, j] -= c
    wx, wy, wz = 0.0, 0.0, 0.0
    for j in range(nv):
        wx += scratch[9, j] * qvel[j]
        wy += scratch[10, j] * qvel[j]
        wz += scratch[11, j] * qvel[j]
    for i in range(6):
        rate[i] = 0.0
        for j in range(nv):
            rate[i] += scratch[i, j] * qvel[j]
    # r̈ = a_A − a_B − α × d − 2·ω × (ṙ + ω × d) + ω × (ω × d), with ṙ the velocity relative to the turning frame
    ex, ey, ez = wy * z - wz * y, wz * x - wx * z, wx * y - wy * x
    sx, sy, sz = 2.0 * rate[0] + ex, 2.0 * rate[1] + ey, 2.0 * rate[2] + ez
    drift[0] -= its[0] + its[4] * z - its[5] * y + wy * sz - wz * sy
    drift[1] -= its[1] + its[5] * x - its[3] * z + wz * sx - wx * sz
    drift[2] -= its[2] + its[3] * y - its[4] * x + wx * sy - wy * sx
    drift[3] -= its[3] + wy * rate[5] - wz * rate[4]
    drift[4] -= its[4] + wz * rate[3] - wx * rate[5]
    drift[5] -= its[5] + wx * rate[4] - wy * rate[3]


def _share(error: Array, stiffness: Array, damping: Array, first: int, end: int, largest: float) -> float:
    """By what the way to the target must be shortened for it not to be faster than `largest`."""
    if math.isinf(largest):
        return 1.0
    square = 0.0
    for i in range(first, end):
        if damping[i] > 0.0:
            square += (stiffness[i] / damping[i] * error[i]) ** 2
    return 1.0 if square <= largest * largest else largest / math.sqrt(square)


def _place(mechanics: Any, body: int, place: int, position: Array, turn: Array) -> None:
    """Pose of a frame, from its body's and its place there."""
    r = mechanics[0]
    at, turns, inside = table(r.xpos, r.bodies, 3), table(r.xquat, r.bodies, 4), numbers(place, 7)
    axes = _matrix(turns[body])
    for i in range(3):
        position[i] = at[body, i]
        for j in range(3):
            position[i] += axes[i, j] * inside[j]
    _multiply(turns[body], inside[3:], turn)


def _turn_rows(axes: Array, scratch: Array, rate: Array, drift: Array) -> None:
    """Express the first six rows, velocity and drift in other axes: those that are the columns of `axes`."""
    for part in range(2):
        a, b, c = 3 * part, 3 * part + 1, 3 * part + 2
        for j in range(scratch.shape[1]):
            x, y, z = scratch[a, j], scratch[b, j], scratch[c, j]
            scratch[a, j] = axes[0, 0] * x + axes[1, 0] * y + axes[2, 0] * z
            scratch[b, j] = axes[0, 1] * x + axes[1, 1] * y + axes[2, 1] * z
            scratch[c, j] = axes[0, 2] * x + axes[1, 2] * y + axes[2, 2] * z
        _turn_vector(axes, rate, a)
        _turn_vector(axes, drift, a)


def _turn_vector(axes: Array, vector: Array, first: int) -> None:
    x, y, z = vector[first], vector[first + 1], vector[first + 2]
    for i in range(3):
        vector[first + i] = axes[0, i] * x + axes[1, i] * y + axes[2, i] * z


def _matrix(q: Array) -> Array:
    w, x, y, z = q[0], q[1], q[2], q[3]
    found = np.empty((3, 3))
    found[0, 0], found[0, 1], found[0, 2] = w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)
    found[1, 0], found[1, 1], found[1, 2] = 2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)
    found[2, 0], found[2, 1], found[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z
    return found


def _conjugate(q: Array, found: Array) -> None:
    found[0], found[1], found[2], found[3] = q[0], -q[1], -q[2], -q[3]


def _multiply(p: Array, q: Array, found: Array) -> None:
    found[0] = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3]
    found[1] = p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2]
    found[2] = p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1]
    found[3] = p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]


def _logarithm(q: Array, found: Array) -> None:
    """Rotation vector, at most π long, of a unit quaternion."""
    sign = -1.0 if q[0] < 0.0 else 1.0
    sine = math.sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    factor = 2.0 if sine < 1e-12 else 2.0 * math.atan2(sine, sign * q[0]) / sine
    for i in range(3):
        found[i] = sign * factor * q[1 + i]
