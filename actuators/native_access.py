"""How compiled callbacks reach MuJoCo's structs and the laws: raw pointers, wrapped in a few functions.

Importing this module verifies the struct layout and raises `StructLayoutError` where it is not as described.
"""

import ctypes
import math
from typing import Any, Final

import llvmlite.binding
import mujoco
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from pliant.actuators.drive import INPUTS
from pliant.actuators.layout import (
    DRIVE,
    IDENTITY,
    MAGIC,
    MAGIC_VALUE,
    PIVOT,
    SECOND_DRIVE,
    USER_SIZE,
)
from pliant.actuators.library import mujoco_library
from pliant.actuators.structs import field_offsets

double_pointer = types.CPointer(types.float64)

_AT = field_offsets()
_NUSER, _USER, _TRNID = _AT["nuser_actuator"], _AT["actuator_user"], _AT["actuator_trnid"]
_ACTADR, _CTRLADR = _AT["actuator_actadr"], _AT["actuator_ctrladr"]
_HISTORY, _DELAY = _AT["actuator_history"], _AT["actuator_delay"]
_LIMITED, _RANGE = _AT["actuator_ctrllimited"], _AT["actuator_ctrlrange"]
_FORCE_LIMITED, _FORCE_RANGE = _AT["jnt_actfrclimited"], _AT["jnt_actfrcrange"]
_QPOSADR, _DOFADR = _AT["jnt_qposadr"], _AT["jnt_dofadr"]
_TIMESTEP, _INTEGRATOR = _AT["opt.timestep"], _AT["opt.integrator"]
_TIME, _QPOS, _QVEL, _CTRL = _AT["time"], _AT["qpos"], _AT["qvel"], _AT["ctrl"]
_ACT, _ACT_DOT = _AT["act"], _AT["act_dot"]
_BIAS, _PASSIVE, _APPLIED = _AT["qfrc_bias"], _AT["qfrc_passive"], _AT["qfrc_applied"]
_INERTIA, _INERTIA_ROW, _INERTIA_COUNT = _AT["M"], _AT["M_rowadr"], _AT["M_rownnz"]
_RK4: Final = int(mujoco.mjtIntegrator.mjINT_RK4)

SLOTS: Final = 1024
TORQUES, STIFFNESS, REFERENCES = 3, 4, 5
_WORDS: Final = 6
law_table = np.zeros((SLOTS, _WORDS), dtype=np.int64)
"""A line a law or drive: the words of its identity (as float64) and the addresses of a law's three functions, or
of a drive's one.

Open addressing, starting at the last word; a line without addresses ends a search.
"""

# External symbols rather than constants: cached machine code then finds this process's own addresses.
_TABLE_SYMBOL: Final = "pliant_law_table"
llvmlite.binding.add_symbol(_TABLE_SYMBOL, law_table.ctypes.data)
llvmlite.binding.add_symbol("mj_readCtrl", ctypes.cast(mujoco_library().mj_readCtrl, ctypes.c_void_p).value)
_read_control = types.ExternalFunction(
    "mj_readCtrl",
    types.intp(types.intp, types.intp, types.int32, types.float64, types.intp, types.int32),
)


@intrinsic
def _table_address(context: Any) -> Any:
    """Address of the law table."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        symbol = builder.module.globals.get(_TABLE_SYMBOL)
        if symbol is None:
            symbol = ir.GlobalVariable(builder.module, word, _TABLE_SYMBOL)
            symbol.linkage = "external"
        return builder.ptrtoint(symbol, word)

    return types.intp(), generate


@intrinsic
def doubles(context: Any, address: Any) -> Any:
    """An address as a pointer to float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())

    return double_pointer(types.intp), generate


@intrinsic
def signed_bytes(context: Any, address: Any) -> Any:
    """An address as a pointer to int8."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.CPointer(types.int8)(types.intp), generate


@intrinsic
def longs(context: Any, address: Any) -> Any:
    """An address as a pointer to int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())

    return types.CPointer(types.int64)(types.intp), generate


def _load(builder: Any, address: Any, bits: int) -> Any:
    value = builder.load(builder.inttoptr(address, ir.IntType(bits).as_pointer()))
    return value if bits == 64 else builder.sext(value, ir.IntType(64))


@intrinsic
def int64_at(context: Any, address: Any) -> Any:
    """The 64-bit integer (or pointer) at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(builder, arguments[0], 64)

    return types.intp(types.intp), generate


@intrinsic
def int32_at(context: Any, address: Any) -> Any:
    """The 32-bit integer at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(builder, arguments[0], 32)

    return types.intp(types.intp), generate


@intrinsic
def int8_at(context: Any, address: Any) -> Any:
    """The byte at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _load(builder, arguments[0], 8)

    return types.intp(types.intp), generate


@intrinsic
def call_law(context: Any, function: Any, x: Any, y: Any, z: Any, p: Any) -> Any:
    """Call a compiled law function through its address; returns its value and its two outputs."""
    result = types.UniTuple(types.float64, 3)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.DoubleType()
        pointer = double.as_pointer()
        kind = ir.FunctionType(double, [double, double, double, pointer, pointer])
        out = cgutils.alloca_once(builder, double, size=2)
        callee = builder.inttoptr(arguments[0], kind.as_pointer())
        value = builder.call(callee, [*arguments[1:5], out])
        second = builder.gep(out, [ir.Constant(ir.IntType(32), 1)])
        return context.make_tuple(builder, result, [value, builder.load(out), builder.load(second)])

    return result(types.intp, types.float64, types.float64, types.float64, double_pointer), generate


@intrinsic
def call_drive(
    context: Any, function: Any, which: Any, q: Any, dq: Any, target: Any, load: Any, step: Any, inertia: Any,
    explicit_stiffness: Any, low: Any, high: Any, p: Any, at: Any, act: Any, base: Any, rates: Any, out: Any,
) -> Any:  # fmt: skip
    """Call a compiled drive through its address; see `drive.DriveKind.text`."""
    whole, number = types.int64, types.float64
    given = (
        whole, *[number] * len(INPUTS), double_pointer, whole, double_pointer, whole, double_pointer,
        double_pointer,
    )  # fmt: skip

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [context.get_value_type(t) for t in given])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return number(types.intp, *given), generate


@register_jitable
def float_at(address: int) -> float:
    """The float64 at an address."""
    return doubles(address)[0]


@register_jitable
def find_entry(word1: float, word2: float, word3: float) -> int:
    """Address of the entry with an identity in the table; 0 where this process does not know it."""
    slot = int(word3) % SLOTS
    for _ in range(SLOTS):
        entry = _table_address() + slot * (8 * _WORDS)
        word = doubles(entry)
        if word[0] == word1 and word[1] == word2 and word[2] == word3:
            return entry
        if int64_at(entry + 8 * TORQUES) == 0:
            return 0
        slot = (slot + 1) % SLOTS
    return 0


@register_jitable
def find_law(p: Any) -> int:
    """Address of the entry of a joint's law in the table; 0 where this process does not know the law."""
    return find_entry(p[IDENTITY], p[IDENTITY + 1], p[IDENTITY + 2])


@register_jitable
def find_drives(p: Any) -> tuple[bool, int, int]:
    """Whether this process knows a joint's drives, and their compiled functions; 0 for ideal motors."""
    if p[DRIVE] == 0.0 and p[DRIVE + 1] == 0.0 and p[DRIVE + 2] == 0.0:
        return True, 0, 0
    entry = find_entry(p[DRIVE], p[DRIVE + 1], p[DRIVE + 2])
    if entry == 0:
        return False, 0, 0
    first = int64_at(entry + 8 * TORQUES)
    if p[PIVOT] == 0.0:
        return True, first, first
    entry = find_entry(p[SECOND_DRIVE], p[SECOND_DRIVE + 1], p[SECOND_DRIVE + 2])
    if entry == 0:
        return False, 0, 0
    return True, first, int64_at(entry + 8 * TORQUES)


@register_jitable
def joint_row(m: int, i: int) -> int:
    """Address of actuator i's row of `actuator_user`; 0 where the actuator is not one of ours."""
    width = int64_at(m + _NUSER)
    if width < USER_SIZE:
        return 0
    address = int64_at(m + _USER) + 8 * width * i
    return address if float_at(address + 8 * MAGIC) == MAGIC_VALUE else 0


@register_jitable
def _delayed_control(m: int, d: int, i: int, time: float, interpolation: int) -> float:
    """What `mj_readCtrl` finds for a time, from which it takes the actuator's delay itself."""
    buffer = np.zeros(1)
    exact = _read_control(m, d, np.int32(i), time, buffer.ctypes.data, np.int32(interpolation))
    return buffer[0] if exact == 0 else float_at(exact)


@register_jitable
def control(m: int, d: int, i: int) -> float:
    """The control in force: delayed and limited as MuJoCo does it for its own actuators."""
    address = int32_at(int64_at(m + _CTRLADR) + 4 * i)
    delay = float_at(int64_at(m + _DELAY) + 8 * i)
    history = int64_at(m + _HISTORY) + 8 * i
    value = float_at(int64_at(d + _CTRL) + 8 * address)
    if delay > 0.0 and int32_at(history) > 0:
        value = _delayed_control(m, d, i, float_at(d + _TIME), int32_at(history + 4))
    if int8_at(int64_at(m + _LIMITED) + address) != 0:
        bounds = doubles(int64_at(m + _RANGE) + 16 * address)
        value = min(max(value, bounds[0]), bounds[1])
    return value


@register_jitable
def link_state(m: int, d: int, i: int) -> tuple[float, float]:
    """Angle and speed of the joint that actuator i acts on."""
    joint = int32_at(int64_at(m + _TRNID) + 8 * i)
    q = float_at(int64_at(d + _QPOS) + 8 * int32_at(int64_at(m + _QPOSADR) + 4 * joint))
    dq = float_at(int64_at(d + _QVEL) + 8 * int32_at(int64_at(m + _DOFADR) + 4 * joint))
    return q, dq


@register_jitable
def torque_bounds(m: int, i: int) -> tuple[float, float]:
    """Least and largest torque that the joint lets through on which actuator i acts."""
    joint = int32_at(int64_at(m + _TRNID) + 8 * i)
    if int8_at(int64_at(m + _FORCE_LIMITED) + joint) == 0:
        return -math.inf, math.inf
    bounds = doubles(int64_at(m + _FORCE_RANGE) + 16 * joint)
    return bounds[0], bounds[1]


@register_jitable
def joint_inertia(m: int, d: int, i: int) -> float:
    """Diagonal entry of the inertia matrix of the joint that actuator i acts on: the last of its row."""
    joint = int32_at(int64_at(m + _TRNID) + 8 * i)
    dof = int32_at(int64_at(m + _DOFADR) + 4 * joint)
    last = int32_at(int64_at(m + _INERTIA_ROW) + 4 * dof) + int32_at(int64_at(m + _INERTIA_COUNT) + 4 * dof) - 1
    return float_at(int64_at(d + _INERTIA) + 8 * last)


@register_jitable
def other_force(m: int, d: int, i: int) -> float:
    """Force on the joint that actuator i acts on, without that of actuators and constraints."""
    joint = int32_at(int64_at(m + _TRNID) + 8 * i)
    at = 8 * int32_at(int64_at(m + _DOFADR) + 4 * joint)
    applied = float_at(int64_at(d + _PASSIVE) + at) + float_at(int64_at(d + _APPLIED) + at)
    return applied - float_at(int64_at(d + _BIAS) + at)


@register_jitable
def activation(m: int, d: int, i: int) -> tuple[int, int]:
    """Addresses of actuator i's slices of `act` and `act_dot` (of their beginnings where it has none)."""
    first = 8 * max(int32_at(int64_at(m + _ACTADR) + 4 * i), 0)
    return int64_at(d + _ACT) + first, int64_at(d + _ACT_DOT) + first


@register_jitable
def timestep(m: int) -> float:
    """The model's time step."""
    return float_at(m + _TIMESTEP)


@register_jitable
def push_step(m: int) -> float:
    """Time step by which springs push the motors; 0 under RK4, which does not."""
    return 0.0 if multistage(m) else timestep(m)


@register_jitable
def multistage(m: int) -> bool:
    """The integrator is RK4."""
    return int32_at(m + _INTEGRATOR) == _RK4
