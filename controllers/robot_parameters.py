"""Whether a robot has the parameters that something was learned with: springs, drives, masses.

What a robot is (`RobotInfo.parameters`) comes in sections, each with numbers and names by name:

| section | holds |
|---|---|
| `joints` | law, drive and mode of each joint, its damping, friction and armature |
| `actuators` | gains of the actuators that the model brings |
| `bodies` | mass, inertia and place of every link |
| `held` | resting values of the command columns that a policy's task does not command |
| `varied` | factors between which the parameters varied while a policy learned |
"""

import logging
import math
from collections.abc import Iterator, Mapping
from typing import Any

from pliant.files import plain

log = logging.getLogger(__name__)

_SECTIONS = {
    "joints": "laws, drives and friction of the joints",
    "actuators": "the model's own actuators",
    "bodies": "masses and inertia",
    "held": "the columns that are not commanded",
}
ALL_THE_SAME = "to use it all the same: same_robot=false on the command line, parameters=False in Python"
_VARIED = "varied"
_FACTORS = {"mass": "mass", "inertia": "mass", "damping": "damping", "friction": "friction"}
"""What a factor of a randomisation is called, by what it multiplies."""
_CLOSE = 1e-5
"""Relative difference of what is the same number: a model file keeps six digits."""


def parameter_differences(
    made: Mapping[str, Any], here: Mapping[str, Any], stored_in: str = "in the file"
) -> list[str]:
    """Return a line for every parameter of a robot that differs from what something was learned with.

    Sections that only one side has are not compared; see `uncompared`. What a file says more or less of a joint or
    link than this version does is passed over. A number within the factors that a policy learned with is no
    difference.

    Args:
        made: what it was learned with.
        here: of the robot.
        stored_in: where `made` is from, in words.
    """
    factors = made.get(_VARIED, {})
    stored, present = _sections(made), _sections(here)
    found: list[str] = []
    for section in _SECTIONS:
        if section in stored and section in present:
            found += _differences((section,), stored[section], present[section], factors, stored_in)
    return found


def uncompared(made: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return, in words, what only the file or only the robot says anything of."""
    stored, present = _sections(made), _sections(here)
    one_sided = [s for s in _SECTIONS if bool(stored.get(s)) != bool(present.get(s))]
    return [_SECTIONS[section] for section in one_sided if section not in stored or section not in present]


def tell(what: str, made: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Log what could not be compared, and the differences that somebody has decided to live with.

    Args:
        what: is used, such as "the policy made for 'arm2'".
        made: what it was learned with.
        here: of the robot.
    """
    if lines := parameter_differences(made, here):
        log.warning("%s is used on a robot that differs:\n  - %s", what, "\n  - ".join(lines))
    if missing := uncompared(made, here):
        log.warning("%s: not compared with this robot: %s.", what, "; ".join(missing))


def _sections(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by section; what stands in none is a joint, as files had it before there were sections."""
    data = plain(parameters)
    found = {name: data[name] for name in _SECTIONS if name in data}
    others = {name: value for name, value in data.items() if name not in (*_SECTIONS, _VARIED)}
    return found | ({"joints": {**others, **found.get("joints", {})}} if others else {})


def _differences(
    path: tuple[str, ...], stored: Any, present: Any, factors: Mapping[str, Any], stored_in: str
) -> list[str]:
    if isinstance(stored, Mapping) and isinstance(present, Mapping):
        lines = []
        for key in dict.fromkeys([*stored, *present]):
            if key in stored and key in present:
                lines += _differences((*path, key), stored[key], present[key], factors, stored_in)
            elif len(path) == 1 and path[0] != "joints":  # names of joints are compared elsewhere
                where = "unknown to the robot" if key in stored else f"missing {stored_in}"
                lines.append(f"{'.'.join((*path, key))} is {where}")
        return lines
    low, high = factors.get(_factor(path), (1.0, 1.0))
    pairs = list(_pairs(stored, present))
    if pairs and all(_within(a, b, low, high) for a, b in pairs):
        return []
    return [] if stored == present else [f"{'.'.join(path)}: {stored!r} {stored_in}, {present!r} here"]


def _factor(path: tuple[str, ...]) -> str:
    """The factor that multiplies a number: `mass`, `damping`, `friction`, `law.k`, `drive.kp`."""
    section, *_, last = path
    if section == "joints" and len(path) > 3:
        return f"law.{last}" if path[2] == "parameters" else f"drive.{last}"
    return _FACTORS.get(last, "")


def _pairs(stored: Any, present: Any) -> Iterator[tuple[float, float]]:
    """The numbers of two values, side by side; nothing where they are no numbers."""
    if isinstance(stored, list) and isinstance(present, list) and len(stored) == len(present):
        each = [list(_pairs(a, b)) for a, b in zip(stored, present, strict=True)]
        if all(each):
            yield from (pair for pairs in each for pair in pairs)
    elif _number(stored) and _number(present):
        yield float(stored), float(present)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _within(stored: float, present: float, low: float, high: float) -> bool:
    first, last = sorted((low * stored, high * stored))
    slack = _CLOSE * max(abs(first), abs(last)) + math.ulp(1.0)
    return first - slack <= present <= last + slack
