"""The page on which a Net F/T box tells its settings: counts, units, ranges, rate.

Entries from the manuals 9620-05-NET FT and 9610-05-Ethernet Axia, the section on netftapi2.xml: `cfgcpf` and
`cfgcpt`, counts of a unit of force and of torque, in the units `scfgfu` and `scfgtu`; `cfgmr`, the six ranges in
these units; `comrdte`, whether records are sent; `comrdtrate`, how many a second.
"""

import http.client
import math
import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from xml.etree import ElementTree

import numpy as np

from pliant.errors import RobotError
from pliant.hardware.robot import Array

PAGE: Final = "/netftapi2.xml"
_FORCE: Final = {
    "n": 1.0,
    "kn": 1e3,
    "lbf": 4.4482216152605,
    "klbf": 4448.2216152605,
    "kg": 9.80665,
    "g": 9.80665e-3,
}
_TORQUE: Final = {
    **{"nm": 1.0, "nmm": 1e-3, "knm": 1e3},
    **{"lbfin": 0.1129848290276167, "lbfft": 1.3558179483314004, "kgcm": 0.0980665},
}
"""N or N·m of a unit, by its name without case, dots and dashes."""
_PATIENCE: Final = 3.0
"""How long the box may take to answer, s."""
_LONGEST: Final = 1 << 20


class BoxSettings(NamedTuple):
    """What a box says of itself."""

    scale: Array
    """N and N·m of a count, (6,)."""
    range: Array | None
    """Largest readings, (6,), N and N·m; None: not told."""
    rate: float | None
    """Records a second, Hz."""


def read_page(host: str, port: int) -> bytes:
    """Return the page of the box at an address. Raises `RobotError` if none answers."""
    connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
    try:
        connection.request("GET", PAGE)
        answer = connection.getresponse()
        text = answer.read(_LONGEST)
    except (OSError, http.client.HTTPException) as error:
        raise RobotError(
            f"no Net F/T answers at {host} (port {port}: {error or type(error).__name__}). Is it switched on, is "
            "the cable in, and are both in one network?"
        ) from error
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise RobotError(f"what answers at {host}, port {port}, is no Net F/T: {PAGE} gives {answer.status}.")
    return text


def box_settings(page: bytes, host: str) -> BoxSettings:
    """Return what a box's page says.

    Args:
        page: XML.
        host: where it is from, for messages.

    Raises:
        RobotError: it is no such page, lacks units or counts, or says what cannot be.
    """
    where = f"the page {PAGE} of the sensor at {host}"
    try:
        tree = ElementTree.fromstring(page)
    except ElementTree.ParseError as error:
        raise RobotError(f"{where} is no XML: {error}.") from error
    found = {e.tag.rpartition("}")[2].lower(): (e.text or "").strip() for e in tree.iter()}
    if found.get("comrdte", "Enabled").lower() not in ("enabled", "1"):
        raise RobotError(f"{where} says that records are switched off; switch RDT on (Communications).")
    units = np.repeat([_unit(found, "scfgfu", _FORCE, where), _unit(found, "scfgtu", _TORQUE, where)], 3)
    scale = units / np.repeat([_counts(found, "cfgcpf", where), _counts(found, "cfgcpt", where)], 3)
    ranges = np.array([_number(text) for text in found.get("cfgmr", "").split(";") if text.strip()])
    told = ranges.shape == (6,) and bool(np.isfinite(ranges).all() and (ranges > 0.0).all())
    if told and (ranges * units > 2.0**31 * scale).any():
        raise RobotError(
            f"{where} says {found['cfgcpf']} and {found['cfgcpt']} counts of a unit: its own range, "
            f"{found['cfgmr']}, would not fit into a record. Set its configuration anew."
        )
    rate = _number(found.get("comrdtrate", ""))
    return BoxSettings(scale, ranges * units if told else None, rate if 0.0 < rate < math.inf else None)


def _unit(found: Mapping[str, str], entry: str, known: Mapping[str, float], where: str) -> float:
    name = re.sub(r"[\s.·-]", "", found.get(entry, "")).lower()
    if name not in known:
        raise RobotError(f"{where} says the unit {entry} is {found.get(entry)!r}; known are {', '.join(known)}.")
    return known[name]


def _counts(found: Mapping[str, str], entry: str, where: str) -> float:
    number = _number(found.get(entry, ""))
    if not 0.0 < number < math.inf:
        raise RobotError(
            f"{where} says {entry}, the counts of a unit, are {found.get(entry)!r}; a number above 0 is needed."
        )
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
