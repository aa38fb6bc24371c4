"""Who a law or a drive is, in every process alike: a digest of the source of its functions and what they use."""

import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pliant.errors import ConfigurationError


def plain_functions(function: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """A function and the plain ones that it calls by name, each once, but for Numba's own."""
    found = [function]
    for caller in found:
        for name in caller.__code__.co_names if inspect.isfunction(caller) else ():
            used = caller.__globals__.get(name)
            if inspect.isfunction(used) and used not in found and used.__module__.partition(".")[0] != "numba":
                found.append(used)
    return tuple(found)


def digest(words: Sequence[str], functions: Sequence[Callable[..., Any]]) -> str:
    """12 hexadecimal digits over some words, the source of functions and of those they call, and their constants.

    Raises:
        ConfigurationError: a function has no readable source.
    """
    text = list(words)
    for function in (used for f in functions for used in plain_functions(f)):
        text.append(_source_of(function))
        constants = ((name, function.__globals__.get(name)) for name in function.__code__.co_names)
        text += [f"{name}={value!r}" for name, value in constants if isinstance(value, int | float)]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:12]


def _source_of(function: Callable[..., object]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError) as error:
        raise ConfigurationError(
            f"function {getattr(function, '__name__', function)!r} has no readable source ({error}). A law or "
            "drive must be made of plain functions defined in a file, so that it can be compiled and recognised."
        ) from error
