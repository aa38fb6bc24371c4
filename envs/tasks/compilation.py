"""One compiled function for everything that happens in a period after a robot was read.

Its source is generated from the list of a task's terms: what they measure, end on, reward and observe, in a loop
over episodes. Where numbers stand, how many there are, weights and parameters come in as arrays, so that one
compilation serves every robot and every setting of the same terms.
"""

import hashlib
import inspect
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.actuators import compiled
from pliant.actuators.identity import plain_functions
from pliant.envs.tasks.term import Term
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array

OUTCOME: Final = 0
GOAL: Final = 1
OBSERVED: Final = 2
"""Spans of the outcome, of the goal's numbers, and of what is observed; those of terms follow."""

PERIOD: Final = 0
WEIGHTS: Final = 1
"""Numbers: the period, then the weights, then those of terms; scales and bounds of observations come last."""

WIDTH: Final = 4
"""Of a span in the plan: where its columns are listed there, from and to, the column where it begins if they stand
side by side (−1 if not), and where such numbers are gathered."""


def take(row: Array, plan: NDArray[np.intp], k: int) -> Array:
    """Return the numbers of span k: a part of the row itself, or gathered from it in a part kept for that.

    Args:
        row: of an episode.
        plan: the spans, then the columns that they list.
        k: which span.
    """
    first, last, column = plan[WIDTH * k], plan[WIDTH * k + 1], plan[WIDTH * k + 2]
    if column < 0:
        column = plan[WIDTH * k + 3]
        for j in range(last - first):
            row[column + j] = row[plan[first + j]]
    return row[column : column + last - first]


def settle(outcome: Array, terms: int, succeeded: bool, failed: bool, timed_out: bool, verdict: bool) -> bool:
    """Add the reward's terms up, from the last to the first, and write the verdict; False if it is not finite.

    Args:
        outcome: the terms, then reward, success, terminated, truncated, (terms + 4,).
        terms: how many.
        succeeded: whether an end of the role success holds.
        failed: likewise failure.
        timed_out: likewise time.
        verdict: whether the episode counts as a success so far although nothing ended it.
    """
    total = 0.0
    for k in range(terms - 1, -1, -1):
        total += outcome[k]
    over = succeeded or failed
    outcome[terms] = total
    outcome[terms + 1] = 1.0 if (succeeded or verdict) and not failed else 0.0
    outcome[terms + 2] = 1.0 if over else 0.0
    outcome[terms + 3] = 1.0 if timed_out and not over else 0.0
    return math.isfinite(total)


def see(row: Array, plan: NDArray[np.intp], numbers: Array, observation: NDArray[np.float32]) -> bool:
    """Write an observation, each entry times its scale and limited to its bounds; False if one is NaN.

    Then nothing is written: the last good observation stays.

    Args:
        row: of an episode.
        plan: see `take`.
        numbers: whose last ones are the scales, lower and upper bounds, (…, 3·size).
        observation: (size,).
    """
    first, size = plan[WIDTH * OBSERVED], observation.size
    for k in range(size):
        if math.isnan(row[plan[first + k]]):
            return False
    scale, low, high = numbers.size - 3 * size, numbers.size - 2 * size, numbers.size - size
    for k in range(size):
        observation[k] = row[plan[first + k]] * numbers[scale + k]
        if observation[k] < numbers[low + k]:
            observation[k] = numbers[low + k]
        elif observation[k] > numbers[high + k]:
            observation[k] = numbers[high + k]
    return True


class Call(NamedTuple):
    """A term in the pass."""

    term: Term
    arguments: tuple[str, ...]
    """Expressions, in the order of the function's arguments."""
    out: str
    """Expression of where a single number goes; empty if the term writes its own or returns a verdict."""


class Pass(NamedTuple):
    """The generated function, compiled and as Python."""

    compiled: Callable[..., bool]
    python: Callable[..., bool]
    source: str


_HEAD: Final = '''"""What happens to episodes after a robot was read; generated."""


def advance(judging, block, observation, index, table, numbers, plan):
    sound = True
    for e in range(index.size):
        row = block[index[e]]
        if judging:
            row[0] += 1.0
        step = row[0]
        row[1] = 0.0
'''
_TAIL: Final = """\
        if not see(row, plan, numbers, observation[index[e]]):
            row[1] = 1.0
        sound = sound and row[1] == 0.0
    return sound
"""


def generate(
    measures: Sequence[Call], ends: Sequence[Call], rewards: Sequence[Call], observed: Sequence[Call], moving: bool
) -> Pass:
    """Write and compile the pass.

    Args:
        measures: in order.
        ends: likewise.
        rewards: likewise.
        observed: what is computed to be observed.
        moving: whether the goal is a table.
    """
    functions: list[Callable[..., Any]] = []

    def name(call: Call) -> str:
        function = call.term.function.function
        if function not in functions:
            functions.append(function)
        return f"term_{functions.index(function)}({', '.join(call.arguments)})"

    def line(call: Call) -> str:
        return f"{call.out} = {name(call)}" if call.out else name(call)

    text = [f"        {line(call)}\n" for call in measures]
    if moving:
        text.append("        when = min(int(step), table.shape[0] - 1)\n")
        text.append(f"        goal = take(row, plan, {GOAL})\n")
        text.append("        for k in range(table.shape[1]):\n            goal[k] = table[when, k]\n")
    verdicts = [call for call in ends if call.term.role == "verdict"]
    text.append("        if judging:\n")
    text.append("            succeeded = failed = timed_out = False\n")
    text.append(f"            verdict = {bool(verdicts)}\n")
    flags = {"success": "succeeded", "failure": "failed", "time": "timed_out"}
    for call in ends:
        if call.term.role == "verdict":
            text.append(f"            if not {name(call)}:\n                verdict = False\n")
        else:
            text.append(f"            if {name(call)}:\n                {flags[call.term.role]} = True\n")
    text.append("            success = 1.0 if succeeded and not failed else 0.0\n")
    text.append("            failure = 1.0 if failed else 0.0\n")
    text.append(f"            outcome = take(row, plan, {OUTCOME})\n")
    for k, call in enumerate(rewards):
        text.append(f"            outcome[{k}] = numbers[{WEIGHTS + k}] * {name(call)}\n")
    text.append(
        f"            if not settle(outcome, {len(rewards)}, succeeded, failed, timed_out, verdict):\n"
        "                row[1] = 2.0\n"
    )
    text += [f"        {line(call)}\n" for call in observed]
    return _compile(_HEAD + "".join(text) + _TAIL, tuple(functions))


@cache
def _compile(source: str, functions: tuple[Callable[..., Any], ...]) -> Pass:
    from numba import njit

    from pliant.actuators.cache import numba_cache, store_source

    used: tuple[Callable[..., Any], ...] = (take, settle, see, *functions)
    digest = _digest(source, used)
    stored = None if digest is None else store_source(f"task_{digest}.py", source)
    namespace: dict[str, Any] = {
        "__name__": __name__,  # Numba imports it when it loads the cached code
        **{function.__name__: function for function in (take, settle, see)},
        **{f"term_{k}": function for k, function in enumerate(functions)},
    }
    exec(compile(source, str(stored or "<task>"), "exec"), namespace)
    for function in used:
        compiled.make_callable(function, checked=True)
    python = namespace["advance"]
    with numba_cache() as caching:
        machine = njit(cache=caching and stored is not None, error_model="numpy", boundscheck=True)(python)
    return Pass(machine, python, source)


def refused(error: Exception, names: Sequence[str]) -> ConfigurationError:
    """Return the error for terms that Numba cannot compile."""
    reason = " ".join(str(error).strip().splitlines()[-6:])
    return ConfigurationError(
        f"a term among {', '.join(names)} cannot be compiled: {reason}. Use only floats, arrays, `math` and plain "
        "functions in a term."
    )


def _digest(source: str, functions: Sequence[Callable[..., Any]]) -> str | None:
    """What the machine code depends on; None where a function has no source that could be looked at."""
    text = [source, *(Path(home).read_text() for home in (__file__, compiled.__file__))]  # how it is compiled
    for function in (used for f in functions for used in plain_functions(f)):
        try:
            text += [function.__module__, inspect.getsource(function)]  # machine code names the module
        except (OSError, TypeError):
            return None
        constants = ((name, function.__globals__.get(name)) for name in function.__code__.co_names)
        text += [f"{name}={value!r}" for name, value in constants if isinstance(value, int | float)]
    return hashlib.sha256("\n".join(text).encode()).hexdigest()[:16]
