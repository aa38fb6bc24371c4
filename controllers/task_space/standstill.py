"""What keeps joints from being thrown about where a level of tasks can get no further; functions to be compiled.

A level that its bounds hold up takes every gain, however small: a stretched arm is shaken along itself, an arm on
the other side is swung so that its inertia helps a trunk whose torque is at its limit. As long as it stands,

    ε²·|P·(u̇ − u̇_r)|²,   ε² = |G·u̇ − b|·0.001 m·s²

is added to what it minimises. u̇_r is what the posture wants, or else braking; P takes away the motions by which
the level moves well, those whose singular values in G are above 0.06 m. So a joint is accelerated by 1 rad/s² at
most for each mm/rad of what it gains. Where nothing is left undone, ε is 0.

Source: Sugihara 2011, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", for damping
by what is left undone; Chiaverini 1997, "Singularity-robust task-priority redundancy resolution", for damping some
directions only.
"""

import math

import numpy as np

from pliant.controllers.checks import Array

_SINGULAR = 0.06
"""See above, m; as `Recursion` by default."""
_STRENGTH = 1e-3
"""ε² by what is left undone, m·s²."""
_AHEAD = 0.1
"""Time after which its speed is judged, s; of `Problem.braking`."""
_MOVING = 3.0
"""Speed at which a level does not stand at all, beside the one up to which it wholly does."""
_DONE = 1e-6
"""What is left undone of a level that is done, m/s²."""


def calm(
    jacobian: Array,
    force_map: Array,
    wanted: Array,
    weight: Array,
    scale: Array,
    aim: Array,
    braking: Array,
    basis: Array,
    found: Array,
    standing: float,
) -> tuple[Array, Array]:
    """Return rows √ε²·P, (nv, nv), and √ε²·P·u̇_r, (nv,), to be added to a level; none if it is left alone.

    Args:
        jacobian, force_map, wanted, weight, scale, braking: of the level, see `Problem`.
        aim: u̇_r, (nv,).
        basis: B of `reduction`.
        found: x that the level has reached without them.
        standing: speed of the level, m/s, up to which it stands.
    """
    count, nv = jacobian.shape
    left, ahead = np.dot(jacobian, found[:nv]) - wanted, np.dot(jacobian, found[:nv] - braking)
    if np.any(force_map != 0.0):
        left += np.dot(force_map, found[nv:])
    cost, undone, speed = 0.0, 0.0, 0.0
    for i in range(count):
        cost += (weight[i] * left[i]) ** 2
        undone += (scale[i] * left[i]) ** 2
        speed += (_AHEAD * scale[i] * ahead[i]) ** 2
    undone, speed = math.sqrt(undone), math.sqrt(speed)
    share = min((_MOVING - speed / standing) / (_MOVING - 1.0), 1.0)
    if undone <= _DONE or not share > 0.0:
        return np.zeros((0, nv)), np.zeros(0)
    rows = np.eye(nv)
    among = np.dot(jacobian, basis[:nv])
    for i in range(count):
        among[i] *= scale[i]
    back = np.ascontiguousarray(among.T)
    values, vectors = np.linalg.eigh(np.dot(among, back))
    motions = np.dot(basis[:nv], np.dot(back, np.ascontiguousarray(vectors)))
    for k in range(count):
        strong = min(values[k] / (_SINGULAR * _SINGULAR), 1.0)
        size = np.sum(motions[:, k] ** 2)
        if strong > 1e-12 and size > 0.0:
            rows -= np.outer(motions[:, k], motions[:, k]) * (strong / size)
    rows *= math.sqrt(share * _STRENGTH * cost / undone)
    return rows, np.dot(rows, aim)
