"""The everyday jobs on a bus: who is there, and giving a servo its id and rate.

They suppose servos at rest: nothing here moves one, and the torque must be off where the EEPROM is written.
"""

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from pliant.errors import ConfigurationError, RobotError, UnknownNameError
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.packets import LARGEST_ID
from pliant.hardware.dynamixel.tables import MODELS

log = logging.getLogger(__name__)

USUAL_RATES = (1_000_000, 57_600, 2_000_000, 3_000_000, 4_000_000, 115_200, 9_600)
"""Rates at which a lost servo is looked for, likeliest first, bit/s."""

EEPROM_TIME = 0.05
"""Time for a request to leave the adapter's buffer and be stored by the servo, s."""


class Found(NamedTuple):
    """A servo that answered."""

    servo: int
    model: str
    """Name of the model, or its number if it is not one of `MODELS`."""
    baud_rate: int


@contextmanager
def _at_rate(bus: Bus, rate: int) -> Iterator[None]:
    """Let this end of the bus speak at `rate` meanwhile."""
    before = bus.baud_rate
    bus.baud_rate = rate
    try:
        yield
    finally:
        if bus.is_open:
            bus.baud_rate = before


def scan(bus: Bus, servos: Iterable[int] | None = None, rates: Sequence[int] | None = None) -> Iterator[Found]:
    """Yield the servos that answer, as they do.

    Args:
        bus: An open bus; it speaks at its own rate again afterwards.
        servos: Ids to try; every possible one by default.
        rates: Rates to try, bit/s; the bus's own by default. One that the adapter cannot do is left out.
    """
    ids = list(range(LARGEST_ID[bus.protocol] + 1) if servos is None else servos)
    for rate in rates or (bus.baud_rate,):
        try:
            with _at_rate(bus, rate):
                yield from (Found(s, _model_name(bus, s), rate) for s in ids if bus.ping(s))
        except ConfigurationError as error:
            log.warning("%s", error)


def _model_name(bus: Bus, servo: int) -> str:
    try:
        return bus.model(servo).name
    except UnknownNameError:
        return f"model {int.from_bytes(bus.read_block(servo, 0, 2).data, 'little')}"
    except (RobotError, ConfigurationError) as error:
        return f"unknown model ({error})"


def explain_missing(bus: Bus, servos: Sequence[int]) -> str:
    """Return a message on servos that do not answer, with what was found instead.

    They are sought at the usual rates; what else answers at the bus's own rate is named too.
    """
    wanted = ", ".join(map(str, servos))
    parts = [f"servo {wanted} on {bus.path} does not answer at {bus.baud_rate} bit/s."]
    others = [rate for rate in USUAL_RATES if rate != bus.baud_rate]
    for found in scan(bus, servos, others):
        parts.append(
            f"Servo {found.servo} ({found.model}) answers at {found.baud_rate} bit/s: pliant bus set-baud "
            f"port={bus.path} baud={found.baud_rate} servo={found.servo} rate={bus.baud_rate}"
        )
    here = [f"{found.servo} ({found.model})" for found in scan(bus)]
    parts.append(f"At {bus.baud_rate} bit/s answer: {', '.join(here) or 'none'}.")
    if not here and len(parts) == 2:
        parts.append(f"Check the servos' power and cable, and that they speak protocol {bus.protocol}.0.")
    return " ".join(parts)


def _require_torque_off(bus: Bus, servo: int) -> None:
    if bus.read(servo, "torque_enable"):
        raise RobotError(
            f"servo {servo} holds torque; its EEPROM is written with it off. Support what it carries, then: "
            f"pliant bus write port={bus.path} servo={servo} register=torque_enable value=0"
        )


def set_id(bus: Bus, servo: int, new: int) -> None:
    """Give a servo another id, and check that it answers to it.

    Raises:
        ConfigurationError: The id does not exist.
        RobotError: Another servo has that id already, the torque is on, or the servo does not take it.
    """
    largest = LARGEST_ID[bus.protocol]
    if not 0 <= new <= largest:
        raise ConfigurationError(f"servo id {new} does not exist; 0 … {largest} do.")
    model = bus.model(servo)
    if new == servo:
        return
    if bus.ping(new, tries=2):
        raise RobotError(f"a servo with id {new} is already on {bus.path}; two of one id talk at once.")
    _require_torque_off(bus, servo)
    bus.write_unanswered(servo, "id", new, model)
    time.sleep(EEPROM_TIME)
    if not bus.ping(new, tries=3):
        raise RobotError(f"servo {servo} on {bus.path} did not take the id {new}.")


def set_baud_rate(bus: Bus, servo: int, rate: int) -> None:
    """Give a servo another rate (bit/s), and check that it answers at it; the bus keeps its own.

    Raises:
        ConfigurationError: The servo has no such rate.
        RobotError: The torque is on, or the servo does not take the rate.
    """
    model = bus.model(servo)
    if rate not in model.baud_rates:
        raise ConfigurationError(
            f"the {model.name} has no {rate} bit/s; valid: {', '.join(map(str, model.baud_rates))}."
        )
    _require_torque_off(bus, servo)
    bus.write_unanswered(servo, "baud_rate", model.baud_rates[rate], model)
    time.sleep(EEPROM_TIME)
    with _at_rate(bus, rate):
        if not bus.ping(servo, tries=3):
            raise RobotError(f"servo {servo} on {bus.path} does not answer at {rate} bit/s, as it was told to.")


def enable_answers(bus: Bus, servo: int, model: str) -> None:
    """Make a servo answer every request (status return level 2), if it now answers only pings."""
    bus.write_unanswered(servo, "status_return_level", 2, MODELS[model])
    if bus.read(servo, "status_return_level") != 2:
        raise RobotError(f"servo {servo} on {bus.path} did not take the status return level 2.")
