"""What can be chosen alike about robots of ours with many joints: what drives them, numbers of each, the view."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import pi
from typing import Any, Final

import numpy as np

from pliant.actuators import CompliantJoint
from pliant.controllers.checks import finite_array, number_array
from pliant.envs.models.own_robot import joint_description
from pliant.envs.models.scene import View
from pliant.errors import ConfigurationError, check_bounds, unknown_name

MODES: Final = ("position", "torque")
"""What is commanded of rigid joints."""
_FULL_TORQUE_AT = 0.005
"""Error at which a position loop gives the whole torque of its joint, rad."""
_DRIVES = ("law", "servo", "drive", "mode")
"""Entries that say what a joint is driven by, rather than change what it is driven by anyway."""


def changed_view(robot: str, view: View, given: Mapping[str, Any] | None) -> View:
    """Return a robot's view, changed by what is given: entries of a `View`, or None."""
    if given is None:
        return view
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{robot}: view is {given!r}; a mapping such as {{radius: 1.0}} is needed.")
    bounds = {"radius": (0.01, 100.0), "elevation": (-90.0, 90.0), "azimuth": (-360.0, 360.0)}
    changes: dict[str, Any] = {}
    for name, value in given.items():
        what = f"{robot}: view: {name}"
        if name == "centre":
            changes[name] = tuple(finite_array(what, value, (3,)).tolist())
        elif name in bounds:
            changes[name] = check_bounds(what, value, *bounds[name])
        else:
            raise unknown_name("entry", name, ("centre", *bounds), f"{robot}: view")
    return replace(view, **changes)


def for_each(what: str, value: float | Sequence[float], count: int, unit: str, most: float = 1e3) -> list[float]:
    """Return one number from 0 to `most` for each joint, from one for all or one each."""
    values = number_array(what, value)
    each = np.full(count, values) if values.ndim == 0 else finite_array(what, values, (count,))
    return [check_bounds(what, number, 0.0, most, unit) for number in each.tolist()]


def joint_drives(
    robot: str,
    ranges: Mapping[str, tuple[float, float] | None],
    torques: Sequence[float],
    mode: str,
    given: Mapping[str, Any] | None,
) -> tuple[CompliantJoint, ...]:
    """Return what drives each joint: by the mode of all, changed or replaced by what is given.

    Args:
        robot: its name.
        ranges: of the joints, by name, rad; None: turns without end.
        torques: largest, N·m.
        mode: one of `MODES`: position loops that give the whole torque at 5 mrad, or torques.
        given: by joint or glob, a `CompliantJoint`, or entries as in a robot's own file; a later one goes before
            an earlier one.

    Raises:
        UnknownNameError: no such mode, joint, law or entry.
        ConfigurationError, OutOfBoundsError: as `joint_description`.
    """
    if mode not in MODES:
        raise unknown_name("mode", mode, MODES, robot)
    for pattern in given or {}:
        if not any(fnmatchcase(name, pattern) for name in ranges):
            raise unknown_name("joint", pattern, ranges, robot)
    drives = []
    for (name, limits), torque in zip(ranges.items(), torques, strict=True):
        own: dict[str, Any] = {"mode": 0, "torque_limit": torque}
        if mode == "position":
            own = {"drive": "position_loop", "kp": torque / _FULL_TORQUE_AT, "torque_limit": torque}
        entries = [entry for pattern, entry in (given or {}).items() if fnmatchcase(name, pattern)]
        entry = entries[-1] if entries else {}
        if isinstance(entry, CompliantJoint):
            drives.append(entry)
            continue
        if not isinstance(entry, Mapping):
            raise ConfigurationError(f"{robot}: joint {name!r} is {entry!r}; a mapping or a joint is needed.")
        if any(key in entry for key in _DRIVES):
            own = {"torque_limit": torque} if "servo" not in entry else {}
        drives.append(joint_description(name, {**own, **entry}, limits or (-2 * pi, 2 * pi)))
    return tuple(drives)
