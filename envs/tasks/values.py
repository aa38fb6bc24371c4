"""Checking what terms are set to: values one of which may serve all joints, scales and bounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import all_finite, number_array
from pliant.errors import OutOfBoundsError, ShapeError, check_bounds
from pliant.hardware.robot import Array, Channel

Values = float | Sequence[float]
"""One number for all joints, or one per joint."""


def per_channel(what: str, value: ArrayLike, count: int) -> Array:
    """Return `value` as (count,) finite floats; one number serves all. Raises as `finite_array` does."""
    array = all_finite(what, number_array(what, value))
    if array.ndim > 1 or array.size not in (1, count):
        raise ShapeError(f"{what} has shape {array.shape}; one number, or one for each of {count}, is needed.")
    return np.broadcast_to(array, count).copy()


def check_within(what: str, values: ArrayLike, channels: Sequence[Channel]) -> None:
    """Raise `OutOfBoundsError` where values, (…, channels), lie outside the channels' bounds."""
    array = np.asarray(values, dtype=np.float64)
    for k, channel in enumerate(channels):
        for value in (array[..., k].min(), array[..., k].max()):
            if not channel.low <= value <= channel.high:
                raise OutOfBoundsError(
                    f"{what}: {value:g} {channel.unit} for {channel.name!r}, whose range is "
                    f"[{channel.low:g}, {channel.high:g}] {channel.unit}."
                )


def freeze(config: Any, *names: str) -> None:
    """Keep attributes of a frozen configuration that are lists as tuples, so that equal ones compare equal."""
    for name in names:
        if isinstance(value := getattr(config, name), list):
            object.__setattr__(config, name, tuple(value))


def check_scale(what: str, scale: float) -> float:
    """Return what an observation is multiplied by; raise `OutOfBoundsError` if it is not finite or 0."""
    number = check_bounds(f"{what}: scale", scale, -1e12, 1e12)
    if number == 0.0:
        raise OutOfBoundsError(f"{what}: scale is 0, so nothing would be seen of it; leave the term out instead.")
    return number


def named(name: str, like: Channel, low: float | None = None, high: float | None = None) -> Channel:
    """Return a channel of another name with the unit of `like`, and its bounds where none are given."""
    return channel(name, like.unit, like.low if low is None else low, like.high if high is None else high)


def channel(name: str, unit: str, low: float, high: float) -> Channel:
    """Return a channel whose resting value is 0 or the bound nearest to it."""
    return Channel(name, unit, low, high, min(max(0.0, low), high))
