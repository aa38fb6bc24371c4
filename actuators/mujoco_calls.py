"""MuJoCo's own functions and arrays, to be called and read by compiled code.

Functions take addresses: of a model and its data (`MjModel._address`), and of numbers.
"""

import ctypes
from typing import Any, Final

import llvmlite.binding
import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from pliant.actuators.library import mujoco_library
from pliant.actuators.native_access import doubles, int32_at, int64_at, longs, signed_bytes

_M: Final = types.intp
_INT: Final = types.int32


def _function(name: str, *arguments: Any) -> Any:
    """A function of MuJoCo's without a result."""
    llvmlite.binding.add_symbol(name, ctypes.cast(getattr(mujoco_library(), name), ctypes.c_void_p).value)
    return types.ExternalFunction(name, types.void(*arguments))


mj_kinematics = _function("mj_kinematics", _M, _M)
mj_com_pos = _function("mj_comPos", _M, _M)
mj_make_m = _function("mj_makeM", _M, _M)
mj_factor_m = _function("mj_factorM", _M, _M)
mj_com_vel = _function("mj_comVel", _M, _M)
mj_passive = _function("mj_passive", _M, _M)
mj_rne = _function("mj_rne", _M, _M, _INT, _M)
mj_full_m = _function("mj_fullM", _M, _M, _M)
mj_mul_m = _function("mj_mulM", _M, _M, _M, _M)
mj_solve_m = _function("mj_solveM", _M, _M, _M, _M, _INT)
mj_jac = _function("mj_jac", _M, _M, _M, _M, _M, _INT)
mj_jac_subtree_com = _function("mj_jacSubtreeCom", _M, _M, _M, _INT)
mj_angmom_mat = _function("mj_angmomMat", _M, _M, _M, _INT)


def record(**entries: int | NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers by name, one row: those given, and of arrays the addresses. Who keeps it keeps those.

    Compiled functions read `row[0].name`: one argument in place of dozens, each of which costs 0.1 µs a call.
    """
    values = tuple(entry if isinstance(entry, int) else entry.ctypes.data for entry in entries.values())
    return np.array([values], dtype=[(name, np.int64) for name in entries])


def numbers(address: int, count: int) -> Any:
    """The numbers at an address as an array, (count,)."""
    return carray(doubles(address), (count,))


def table(address: int, rows: int, columns: int) -> Any:
    """The numbers at an address as an array, (rows, columns)."""
    return carray(doubles(address), (rows, columns))


def whole(address: int, k: int) -> int:
    """Number k of an array of 32-bit integers."""
    found: int = int32_at(address + 4 * k)
    return found


def set_byte(address: int, k: int, value: int) -> None:
    """Write number k of an array of signed bytes."""
    signed_bytes(address)[k] = value


def set_long(address: int, k: int, value: int) -> None:
    """Write number k of an array of 64-bit integers."""
    longs(address)[k] = value


def long(address: int, k: int) -> int:
    """Number k of an array of 64-bit integers."""
    found: int = int64_at(address + 8 * k)
    return found
