"""What a force-torque sensor is to the robot that carries it: the seam for drivers, ours and one's own."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from pliant.conf.build import NAMED, own_class
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.force_torque.wrench import QUANTITIES
from pliant.hardware.robot import Array


class Reading(NamedTuple):
    """The newest that is known of a sensor."""

    time: float
    """When it arrived, on the computer's monotonic clock, s; −∞ before the first one."""
    wrench: Array
    """(6,), N and N·m, in the sensor's axes at its origin: by which the arm holds what is behind the sensor. NaN
    for axes that are not measured."""
    fault: str = ""
    """Why it must not be used; empty if it may."""


NOTHING = Reading(-math.inf, np.full(6, math.nan), "no reading yet")


class ForceTorqueSensor(ABC):
    """A sensor with a wire of its own. A driver of one's own is a class of this kind: `sensor: mymodule:MySensor`.

    It is made with the other entries of its configuration. `newest` is called once a period of the robot, so it
    must return at once: a driver reads in a thread of its own.
    """

    @abstractmethod
    def connect(self) -> None:
        """Open the sensor; return when it reads. Raises `RobotError` with what is missing."""

    @abstractmethod
    def newest(self) -> Reading:
        """Return the newest reading; one that is too old has a fault. Never waits, never raises."""

    @abstractmethod
    def close(self) -> None:
        """Release the sensor. Safe to call twice."""

    @property
    def range(self) -> Array | None:
        """Largest reading of each axis, (6,), N and N·m; None: not known. Asked for once connected."""
        return None

    @property
    def rate(self) -> float | None:
        """Readings a second, Hz; None: not known. Likewise."""
        return None

    @property
    def axes(self) -> tuple[str, ...]:
        """Which are measured, of `force_x` … `torque_z`."""
        return QUANTITIES

    def diagnostics(self) -> Mapping[str, object]:
        """Return what the sensor knows of its own condition, as plain data."""
        return {}

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


SENSORS: Mapping[str, str] = {"net_ft": "pliant.hardware.force_torque.net_ft:NetFT"}
"""Drivers by the name that a configuration calls them by."""


def make_sensor(name: str, settings: Mapping[str, Any]) -> ForceTorqueSensor:
    """Return the sensor that settings describe: `{sensor: net_ft, host: 192.168.1.1}`.

    Args:
        name: of the sensor on its robot, for messages.
        settings: `sensor`, one of `SENSORS` or `module:Class`, and what its class takes.

    Raises:
        UnknownNameError: no such sensor.
        ConfigurationError: its module is of no trusted package, it is no `ForceTorqueSensor`, or does not take
            these settings.
    """
    where = f"force-torque sensor {name!r}"
    given = dict(settings)
    kind = given.pop("sensor", None)
    path = SENSORS.get(str(kind), str(kind))
    if not NAMED.fullmatch(path):
        raise unknown_name("sensor", kind, [*SENSORS, "module:Class"], where)
    found = own_class(path, ForceTorqueSensor, where)  # type: ignore[type-abstract]
    try:
        return found(**given)
    except TypeError as error:
        raise ConfigurationError(f"{where}: {error}") from error
