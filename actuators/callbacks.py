"""Installing the joint callbacks into MuJoCo, and who owns them.

MuJoCo has one `mjcb_act_dyn` and one `mjcb_act_bias` for the whole process, shared by all models and threads.
Ours serve every joint of every model; a callback that somebody else installed is never overwritten.
"""

import ctypes
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import cache
from typing import Any

import mujoco

from pliant.actuators import python_backend
from pliant.actuators.drive import DriveKind
from pliant.actuators.joint import CompliantJoint
from pliant.actuators.law import Law
from pliant.actuators.library import mujoco_library
from pliant.errors import PliantError, unknown_name


class Backend(Enum):
    """What runs a joint's law inside MuJoCo's callbacks."""

    NATIVE = "native"
    """Compiled by Numba; no interpreter lock, runs in `rollout` and `Batch` threads."""
    PYTHON = "python"
    """Interpreted; every line can be stepped in a debugger.

    MuJoCo's limits for Python callbacks: `Batch` refuses them, and a spec or a file can be compiled only through
    `compile_model` and `load_model` while they are installed, with no other thread stepping meanwhile.
    """


class CallbackOwnershipError(PliantError, RuntimeError):
    """Someone else's callback is installed where ours has to go, or has replaced ours."""


_SETTERS: dict[str, Callable[[Any], None]] = {
    "mjcb_act_dyn": mujoco.set_mjcb_act_dyn,
    "mjcb_act_bias": mujoco.set_mjcb_act_bias,
}
_lock = threading.RLock()
_laws: dict[int, Law] = {}
_drives: dict[int, DriveKind] = {}
_installed: dict[str, int] = {}  # callback name -> address that we put there
_backend: Backend | None = None


@cache
def _pointer(name: str) -> ctypes.c_void_p:
    """MuJoCo's own variable that holds a callback."""
    return ctypes.c_void_p.in_dll(mujoco_library(), name)


def _address(name: str) -> int:
    """The pointer that MuJoCo holds now; 0 when none."""
    return _pointer(name).value or 0


def _check_ownership() -> None:
    for name in _SETTERS:
        found = _address(name)
        if found and found != _installed.get(name):
            raise CallbackOwnershipError(
                f"another {name} is installed in this process, and MuJoCo has only one. Remove it with "
                f"mujoco.set_{name}(None) before using compliant joints, or run them in a process of their own."
            )


def current_backend() -> Backend | None:
    """The back end in force, or None while nothing is installed (or somebody removed it)."""
    if _backend is None or any(_address(name) != _installed.get(name) for name in _SETTERS):
        return None
    return _backend


def check_installed(joints: Iterable[str]) -> None:
    """Refuse to go on with compliant joints that would have no torque, for want of the callbacks.

    Args:
        joints: their names, for the message.

    Raises:
        CallbackOwnershipError: nothing is installed, or somebody removed or replaced it.
    """
    if current_backend() is None:
        _check_ownership()
        raise CallbackOwnershipError(
            f"without the callbacks of compliant joints, joint {', '.join(joints)} would have no torque. They are "
            "not installed in this process, or were removed (as by mj_resetCallbacks). Load models with "
            "pliant.actuators.load_model, or call prepare_model on those loaded otherwise; after a removal call "
            "install(), or reset the robot."
        )


def install(backend: Backend | str | None = None) -> Backend:
    """Install the joint callbacks; returns the back end in force.

    Args:
        backend: "native" or "python". None keeps what is installed, and is native where nothing is. Choosing
            another one switches all joints of the process.

    Raises:
        UnknownNameError: there is no such back end.
        CallbackOwnershipError: someone else's callback is installed; it is left alone.
        StructLayoutError: the native back end does not know this MuJoCo's structs.
    """
    global _backend
    try:
        wanted = Backend(backend) if backend is not None else (current_backend() or Backend.NATIVE)
    except ValueError:
        raise unknown_name("back end", backend, (b.value for b in Backend)) from None
    with _lock:
        if wanted is current_backend():
            return wanted
        _check_ownership()
        if wanted is Backend.NATIVE:
            with suspended():  # it compiles a model; and the Python back end must work without it
                from pliant.actuators import native

            for law in _laws.values():
                native.compile_law(law)
            for kind in _drives.values():
                native.compile_drive(kind)
            dyn, bias = native.callbacks()
        else:
            dyn, bias = python_backend.act_dyn, python_backend.act_bias
        for name, function in (("mjcb_act_dyn", dyn), ("mjcb_act_bias", bias)):
            _SETTERS[name](function)
            _installed[name] = _address(name)
        _backend = wanted
    return wanted


def uninstall() -> None:
    """Remove our callbacks, leaving anyone else's alone. Safe to call when none is installed.

    Models with compliant joints have no joint torque afterwards, until `install` is called again.
    """
    global _backend
    with _lock:
        for name, setter in _SETTERS.items():
            if _installed.get(name) and _address(name) == _installed[name]:
                setter(None)
            _installed.pop(name, None)
        _backend = None


@contextmanager
def suspended() -> Iterator[None]:
    """Take the Python callbacks out while MuJoCo compiles or loads a model, and put them back.

    MuJoCo calls the callbacks of a model that is not finished yet; its Python bindings cannot hand that model
    to a Python callback and fail. Native callbacks stay: other threads may be stepping with them.

    Raises:
        CallbackOwnershipError: someone else's callback is installed.
    """
    with _lock:
        _check_ownership()
        python = current_backend() is Backend.PYTHON
        if python:
            uninstall()
        try:
            yield
        finally:
            if python:
                install(Backend.PYTHON)


def register(joint: CompliantJoint) -> None:
    """Make a joint's law and drives known to the callbacks of this process, under their identities.

    Raises:
        ConfigurationError: the native back end is in force and cannot compile one, which stays unknown.
    """
    law, kinds = joint.law.law, {drive.kind for drive in joint.drives}
    with _lock:
        if current_backend() is Backend.NATIVE:
            from pliant.actuators import native

            native.compile_law(law)
            for kind in kinds:
                native.compile_drive(kind)
        _laws[int(law.identity, 16)] = law
        python_backend.register_law(law)
        for kind in kinds:
            _drives[int(kind.identity, 16)] = kind
            python_backend.register_drive(kind)
