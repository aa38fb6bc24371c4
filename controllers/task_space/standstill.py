"""What brings a robot to rest where a level of tasks can get no further; functions to be compiled.

A level that its bounds hold up takes every gain, however small: a stretched arm is shaken along itself, an arm on
the other side is swung so that its inertia helps a trunk whose torque is at its limit. As long as it stands,

    ε²·|u̇ − u̇_r|²,   ε² = |G·u̇ − b|·0.001 m·s²,   u̇_r = −10/s·(u + 0.1 rad/s·sat(u/0.008 rad/s))

is added to what it minimises. At rest u̇_r is 0: it pulls joints nowhere, so that they rest where no motion within
the bounds brings the level further. They creep there by 1 rad/s for each 0.01 m/rad gained, less 0.1 rad/s:
what gains less than 0.001 m/rad is left. Where nothing is left undone, ε is 0.

So that nothing else moves, the posture below such a level wants u̇_r too, and stays where it is.

Source: Sugihara 2011, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", for damping
by what is left undone. That u̇_r brakes, by viscous and by dry friction, is our own.
"""

import math

import numpy as np

from pliant.controllers.checks import Array

_STRENGTH = 1e-3
"""ε² by what is left undone, m·s²."""
_AHEAD = 0.1
"""Time after which its speed is judged, s; of `Problem.braking`."""
_DRY = 1.0
"""Dry friction, rad/s²: at 0.1 rad/s `Problem.braking` is as much."""
_STEEP = 12.5
"""Dry friction beside `Problem.braking` at the smallest speeds."""
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
    braking: Array,
    found: Array,
    standing: float,
) -> tuple[float, Array, Array]:
    """Return how far a level stands, 0 … 1, and rows ε·1, (nv, nv), and ε·u̇_r, (nv,), to be added to it.

    Those are none if it is left alone.

    Args:
        jacobian, force_map, wanted, weight, scale, braking: of the level, see `Problem`.
        found: x that the level has reached by itself.
        standing: speed of the level, m/s, up to which it stands.
    """
    nv = jacobian.shape[1]
    left, ahead = np.dot(jacobian, found[:nv]) - wanted, np.dot(jacobian, found[:nv] - braking)
    if np.any(force_map != 0.0):
        left += np.dot(force_map, found[nv:])
    cost, undone, speed = 0.0, 0.0, 0.0
    for i in range(len(left)):
        cost += (weight[i] * left[i]) ** 2
        undone += (scale[i] * left[i]) ** 2
        speed += (_AHEAD * scale[i] * ahead[i]) ** 2
    undone, speed = math.sqrt(undone), math.sqrt(speed)
    share = min((_MOVING - speed / standing) / (_MOVING - 1.0), 1.0)
    if undone <= _DONE or not share > 0.0:
        return 0.0, np.zeros((0, nv)), np.zeros(0)
    strength = math.sqrt(share * _STRENGTH * cost / undone)
    return share, strength * np.eye(nv), strength * resting(braking)


def resting(braking: Array) -> Array:
    """Return u̇_r, (nv,), from `Problem.braking`."""
    aim = braking.copy()
    for i in range(len(aim)):
        aim[i] += min(max(_STEEP * braking[i], -_DRY), _DRY)
    return aim
