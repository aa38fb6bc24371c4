"""Reading a simulated robot in one compiled call. Imports Numba; the Python back end works without it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from pliant.actuators import native
from pliant.actuators.cache import numba_cache
from pliant.envs.measuring import collect
from pliant.hardware.robot import Array

read_joints = register_jitable(native.read_joints)
collect_measured = register_jitable(collect)


def read_and_collect(
    model: int,
    data: int,
    first: int,
    joints: int,
    out: int,
    signals: Array,
    order: NDArray[np.intp],
    counts: NDArray[np.int32],
    values: Array,
) -> bool:
    """Read the signals of all joints, as `JointReader` does, and collect what is measured.

    Args:
        model: address of the `mjModel`.
        data: address of the `mjData`.
        first: address of the joints' first actuators.
        joints: how many.
        out: address of `signals`.
        signals: see `collect`, as are the rest.
        order: likewise.
        counts: likewise.
        values: likewise.
    """
    read_joints(model, data, first, joints, out)
    sound: bool = collect_measured(signals, order, counts, values)
    return sound


def native_reader() -> Callable[..., bool]:
    """Compile `read_and_collect` at its first call, or load it from the cache."""
    return compiled_reader(read_and_collect)


@cache
def compiled_reader(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that uses the joints' kernel at its first call, or load it from the cache."""
    native.callbacks()  # makes the joint kernel callable from compiled code
    with numba_cache() as caching:
        reader: Callable[..., Any] = njit(cache=caching, error_model="numpy")(function)
    return reader
