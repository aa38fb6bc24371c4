"""The policy on a command line: `pliant play POLICY`, with the environment that it was learned in."""

from collections.abc import Callable, Sequence

from pliant.controllers.policies import RandomPolicy, ZeroPolicy, load_policy, made_for
from pliant.controllers.policy import Policy, PolicyInfo
from pliant.errors import FileFormatError
from pliant.scripts import _inheritance

SANITY: dict[str, Callable[[PolicyInfo, int], Policy]] = {
    "zero": lambda info, seed: ZeroPolicy(info),
    "random": RandomPolicy,
}
"""Policies that need no file, for a first look: from what an environment offers, and a seed."""


def bare_word(arguments: Sequence[str]) -> list[str]:
    """Return the command line with a bare first word as `policy='WORD'`."""
    if not arguments or "=" in arguments[0] or arguments[0].startswith("-"):
        return list(arguments)
    quoted = arguments[0].replace("'", "\\'")
    return [f"policy='{quoted}'", *arguments[1:]]


def named_policy(arguments: Sequence[str]) -> list[str]:
    """Return the command line with its bare first word named, and the policy's own environment before it."""
    words = bare_word(arguments)
    policy = _inheritance.value_of(words, "policy")
    if policy is None or policy in SANITY:
        return words
    environment = made_for(policy).get("environment", [])
    if not (isinstance(environment, list) and all(isinstance(override, str) for override in environment)):
        raise FileFormatError(f"policy {policy}: the environment it names is no list of overrides.")
    return _inheritance.inherit(words, _inheritance.of_groups(environment, _inheritance.ENVIRONMENT))


def find_policy(name: str, info: PolicyInfo, seed: int) -> Policy:
    """Return the policy of a file, a run's folder, or "zero" or "random", made ready for an environment.

    Raises as `load_policy`.
    """
    return SANITY[name](info, seed) if name in SANITY else load_policy(name, info)
