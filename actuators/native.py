"""The joint callbacks compiled: the kernel and the laws, by Numba, into C functions for MuJoCo.

Two functions serve every joint of every model in the process. Each call finds its law by the identity in the
joint's row of `actuator_user`, in a table of compiled functions; no Python runs and no interpreter lock is
taken, so that threads (`rollout`, `Batch`) run in parallel.
"""

import ctypes
import hashlib
import inspect
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import cfunc, types
from numba.extending import overload, register_jitable

from pliant.actuators import kernel, references
from pliant.actuators.cache import numba_cache, store_source
from pliant.actuators.drive import INPUTS, DriveKind
from pliant.actuators.identity import plain_functions
from pliant.actuators.law import Law
from pliant.actuators.layout import IMPLICIT, LARGEST_STEP, LAW_AT, MOTORS, SIGNALS, identity_words
from pliant.actuators.native_access import (
    REFERENCES,
    SLOTS,
    STIFFNESS,
    TORQUES,
    activation,
    call_drive,
    call_law,
    control,
    double_pointer,
    doubles,
    find_drives,
    find_law,
    int32_at,
    int64_at,
    joint_inertia,
    joint_row,
    law_table,
    link_state,
    multistage,
    other_force,
    push_step,
    timestep,
    torque_bounds,
)
from pliant.errors import ConfigurationError

_LAW_SIGNATURE = types.float64(types.float64, types.float64, types.float64, double_pointer, double_pointer)
_DRIVE_SIGNATURE = types.float64(
    types.int64, *[types.float64] * len(INPUTS), double_pointer, types.int64, double_pointer, types.int64,
    double_pointer, double_pointer,
)  # fmt: skip
_CALLBACK_SIGNATURE = types.float64(types.intp, types.intp, types.int32)
_c_callback = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_SIGNAL_COUNT = len(SIGNALS)
_compiled: list[Any] = []  # compiled functions must outlive the addresses that the table holds


@overload(kernel.spring_torques)
def _spring_torques(law: Any, q: Any, theta1: Any, theta2: Any, p: Any) -> Any:
    def call(law: Any, q: Any, theta1: Any, theta2: Any, p: Any) -> Any:
        _, tau1, tau2 = call_law(int64_at(law + 8 * TORQUES), q, theta1, theta2, p)
        return tau1, tau2

    return call


@overload(kernel.spring_stiffness)
def _spring_stiffness(law: Any, q: Any, theta1: Any, theta2: Any, p: Any) -> Any:
    def call(law: Any, q: Any, theta1: Any, theta2: Any, p: Any) -> Any:
        value, _, _ = call_law(int64_at(law + 8 * STIFFNESS), q, theta1, theta2, p)
        return value

    return call


@overload(kernel.map_references)
def _map_references(law: Any, equilibrium: Any, preset: Any, p: Any) -> Any:
    def call(law: Any, equilibrium: Any, preset: Any, p: Any) -> Any:
        _, first, second = call_law(int64_at(law + 8 * REFERENCES), equilibrium, preset, 0.0, p)
        return first, second

    return call


@overload(kernel.call_drive)
def _call_drive(
    drive: Any, which: Any, q: Any, dq: Any, target: Any, load: Any, step: Any, inertia: Any,
    explicit_stiffness: Any, low: Any, high: Any, p: Any, at: Any, act: Any, base: Any, rates: Any, out: Any,
) -> Any:  # fmt: skip
    def call(
        drive: Any, which: Any, q: Any, dq: Any, target: Any, load: Any, step: Any, inertia: Any,
        explicit_stiffness: Any, low: Any, high: Any, p: Any, at: Any, act: Any, base: Any, rates: Any, out: Any,
    ) -> Any:  # fmt: skip
        return call_drive(
            drive, which, q, dq, target, load, step, inertia, explicit_stiffness, low, high, p, at, act, base,
            rates, out,
        )  # fmt: skip

    return call


_OVERLOADED = {"spring_torques", "spring_stiffness", "map_references", "call_drive"}


@cache
def _make_jitable(function: Callable[..., Any]) -> None:
    register_jitable(function)


def _make_module_jitable(module: Any) -> None:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__ and name not in _OVERLOADED:
            _make_jitable(function)


@register_jitable
def _inputs(m: int, d: int, i: int, p: Any) -> tuple[float, float, float, float, Any, Any]:
    """Angle, speed, controls in force and slices of `act` and `act_dot` of the joint whose first actuator is i."""
    q, dq = link_state(m, d, i)
    c1 = control(m, d, i)
    c2 = control(m, d, i + 1) if p[MOTORS] == 2.0 else 0.0
    act_address, rates_address = activation(m, d, i)
    return q, dq, c1, c2, doubles(act_address), doubles(rates_address)


def _act_dyn(m: int, d: int, i: int) -> float:
    """`mjcb_act_dyn`: writes all rows of the joint's `act_dot`. NaN where its law or drive is unknown."""
    address = joint_row(m, i)
    if address == 0:
        return math.nan
    p = doubles(address)
    law = find_law(p)
    known, drive, second = find_drives(p)
    if law == 0 or not known:
        return math.nan
    q, dq, c1, c2, act, rates = _inputs(m, d, i, p)
    low, high = torque_bounds(m, i)
    inertia = joint_inertia(m, d, i)
    force = other_force(m, d, i) if p[IMPLICIT] == 1.0 else 0.0
    kernel.act_rates(
        law, drive, second, p, q, dq, c1, c2, act, rates, timestep(m), multistage(m), inertia, force, low, high
    )
    return rates[0]


def _act_bias(m: int, d: int, i: int) -> float:
    """`mjcb_act_bias`: torque of the joint on its link. NaN with an unknown law or drive or too long a step."""
    address = joint_row(m, i)
    if address == 0:
        return math.nan
    p = doubles(address)
    law = find_law(p)
    known, drive, _ = find_drives(p)
    if law == 0 or not known:
        return math.nan
    if timestep(m) >= p[LARGEST_STEP] > 0.0:
        return math.nan
    q, dq, c1, c2, act, rates = _inputs(m, d, i, p)
    return kernel.bias_force(law, drive, p, q, dq, c1, c2, act, rates, timestep(m))


def read_joints(m: int, d: int, actuators: int, count: int, out: int) -> float:
    """Write the signals of `count` joints, whose first actuators are listed at an address, as rows at `out`."""
    for k in range(count):
        i = int32_at(actuators + 4 * k)
        p = doubles(joint_row(m, i))
        law = find_law(p)
        _, drive, second = find_drives(p)
        q, dq, c1, c2, act, _ = _inputs(m, d, i, p)
        row = doubles(out + 8 * _SIGNAL_COUNT * k)
        low, high = torque_bounds(m, i)
        kernel.joint_signals(law, drive, second, p, q, dq, c1, c2, act, low, high, push_step(m), row)
    return 0.0


def _trace_joint(
    row: int, steps: int, q: int, dq: int, c: int, columns: int, act: int, size: int, bounds: int, out: int
) -> float:
    """Signals of one joint along a recorded motion; arguments are addresses of contiguous arrays."""
    p = doubles(row)
    law = find_law(p)
    _, drive, second = find_drives(p)
    positions, velocities, controls = doubles(q), doubles(dq), doubles(c)
    low, high, push = doubles(bounds)[0], doubles(bounds)[1], doubles(bounds)[2]
    for k in range(steps):
        c1 = controls[columns * k]
        c2 = controls[columns * k + 1] if columns == 2 else 0.0
        state = doubles(act + 8 * size * k)
        line = doubles(out + 8 * _SIGNAL_COUNT * k)
        kernel.joint_signals(
            law, drive, second, p, positions[k], velocities[k], c1, c2, state, low, high, push, line
        )
    return 0.0


@cache
def callbacks() -> tuple[Any, Any]:
    """Compile, or load from the cache, `mjcb_act_dyn` and `mjcb_act_bias`; returns them as C functions."""
    for module in (references, kernel):
        _make_module_jitable(module)
    with numba_cache() as caching:
        compile_callback = cfunc(_CALLBACK_SIGNATURE, cache=caching, error_model="numpy")
        dyn, bias = compile_callback(_act_dyn), compile_callback(_act_bias)
    _compiled.extend((dyn, bias))
    return _c_callback(dyn.address), _c_callback(bias.address)


@cache
def readers() -> tuple[Any, Any]:
    """Compile, or load from the cache, `read_joints` and `_trace_joint`; returns them as C functions."""
    callbacks()
    with numba_cache() as caching:
        reader = cfunc(types.float64(*[types.intp] * 5), cache=caching, error_model="numpy")(read_joints)
        tracer = cfunc(types.float64(*[types.intp] * 10), cache=caching, error_model="numpy")(_trace_joint)
    _compiled.extend((reader, tracer))
    read = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_ssize_t] * 5)(reader.address)
    trace = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_ssize_t] * 10)(tracer.address)
    return read, trace


_LAW_SOURCE = '''"""Calling convention of a compliance law; generated."""


def torques(q, theta1, theta2, p, out):
    {torques}
    return 0.0


def stiffness(q, theta1, theta2, p, out):
    {stiffness}


def references(equilibrium, preset, unused, p, out):
    out[0], out[1] = law_references(equilibrium, preset)
    return 0.0
'''


def _law_source(law: Law) -> str:
    """The three functions of a law in the one signature that the table can hold."""
    angles = "theta1, theta2" if law.motors == 2 else "theta1"
    values = "".join(f", p[{LAW_AT + i}]" for i in range(len(law.parameters)))
    call = f"(q, {angles}{values})"
    if law.motors == 2:
        torques = f"out[0], out[1] = law_torque{call}"
    else:
        torques = f"out[0] = law_torque{call}\n    out[1] = 0.0"
    stiffness = f"return law_stiffness{call}"
    if law.stiffness is None:
        total = "{0}[0] + {0}[1]" if law.motors == 2 else "{0}"
        before = total.format(f"law_torque(q - 1e-6, {angles}{values})")
        after = total.format(f"law_torque(q + 1e-6, {angles}{values})")
        stiffness = f"return (({before}) - ({after})) / (2 * 1e-6)"
    return _LAW_SOURCE.format(torques=torques, stiffness=stiffness)


def _prepare(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call a plain function and the plain functions it uses."""
    for used in plain_functions(function):
        _make_jitable(used)
    return function


@cache
def compile_law(law: Law) -> None:
    """Compile, or load from the cache, a law's functions and enter them into the table.

    Raises:
        ConfigurationError: Numba cannot compile the law; the message holds Numba's reason.
    """
    source = _law_source(law)
    digest = hashlib.sha256((law.identity + source).encode()).hexdigest()[:12]
    stored = store_source(f"law_{law.name}_{digest}.py", source)
    namespace: dict[str, Any] = {
        "__name__": __name__,  # Numba imports it when it loads the cached code
        "law_torque": _prepare(law.torque),
        "law_references": _prepare(law.reference_map),
    }
    if law.stiffness is not None:
        namespace["law_stiffness"] = _prepare(law.stiffness)
    exec(compile(source, str(stored or f"<law {law.name}>"), "exec"), namespace)
    entry = []
    with numba_cache() as caching:
        compile_function = cfunc(_LAW_SIGNATURE, cache=caching and stored is not None, error_model="numpy")
        for name in ("torques", "stiffness", "references"):
            try:
                entry.append(compile_function(namespace[name]))
            except Exception as error:  # Numba lets through what fails in evaluating a law's constants
                raise _not_compiled(f"law {law.name!r}", error) from error
    _compiled.extend(entry)
    _enter(identity_words(law.identity), [function.address for function in entry])


@cache
def compile_drive(kind: DriveKind) -> None:
    """Compile, or load from the cache, a drive's functions and enter them into the table.

    Raises:
        ConfigurationError: Numba cannot compile the drive; the message holds Numba's reason.
    """
    digest = hashlib.sha256((kind.identity + kind.text).encode()).hexdigest()[:12]
    stored = store_source(f"drive_{kind.name}_{digest}.py", kind.text)
    namespace: dict[str, Any] = {
        "__name__": __name__,  # Numba imports it when it loads the cached code
        **{f"drive_{name}": _prepare(function) for name, function in kind.functions.items()},
    }
    exec(compile(kind.text, str(stored or f"<drive {kind.name}>"), "exec"), namespace)
    with numba_cache() as caching:
        compile_function = cfunc(_DRIVE_SIGNATURE, cache=caching and stored is not None, error_model="numpy")
        try:
            compiled = compile_function(namespace["drive"])
        except Exception as error:  # as in compile_law
            raise _not_compiled(f"drive {kind.name!r}", error) from error
    _compiled.append(compiled)
    _enter(identity_words(kind.identity), [compiled.address] * 3)


def _not_compiled(what: str, error: Exception) -> ConfigurationError:
    reason = str(error).strip().splitlines()
    return ConfigurationError(
        f"{what} cannot be compiled: {' '.join(reason[-6:])}. Use only floats, `math` and plain functions in it, "
        'or run it with backend="python".'
    )


def _enter(words: tuple[float, float, float], addresses: list[int]) -> None:
    identities = law_table.view(np.float64)[:, :TORQUES]
    slot = int(words[2]) % SLOTS
    for _ in range(SLOTS):
        if law_table[slot, TORQUES] == 0:
            law_table[slot, TORQUES:] = addresses
            identities[slot] = words  # last: another thread may be looking
            return
        if tuple(identities[slot]) == words:
            return
        slot = (slot + 1) % SLOTS
    raise ConfigurationError(f"this process already runs {SLOTS} different laws and drives; no more fit.")
