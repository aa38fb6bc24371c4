"""The policy on a command line, with what it was learned in: `pliant play POLICY`, `pliant deploy policy=PATH`."""

from collections.abc import Callable, Sequence

from pliant.controllers.policies import RandomPolicy, ZeroPolicy, load_policy, made_for, period_of
from pliant.controllers.policy import Policy, PolicyInfo
from pliant.errors import ConfigurationError, FileFormatError
from pliant.training import run_settings

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
    policy = run_settings.value_of(words, "policy")
    if policy is None or policy in SANITY:
        return words
    swept = {"--multirun", "-m"} & set(words)
    policies = [name for name in policy.split(",") if name not in SANITY] if swept else [policy]
    made = [_environment(name, run_settings.ENVIRONMENT) for name in policies]
    if any(own != made[0] for own in made):
        raise ConfigurationError(
            f"the policies {policy} were learned in different environments; run each by itself."
        )
    return run_settings.inherit(words, made[0]) if made else words


def deployed_policy(arguments: Sequence[str]) -> list[str]:
    """Return the command line of a deployment with the policy's own task and period before it, if it has one.

    The period gives way to `robot.period`.
    """
    policy = run_settings.value_of(arguments, "policy")
    if policy is None:
        return list(arguments)
    words = run_settings.inherit(arguments, _environment(policy, ("task",)))
    given = run_settings.value_of(words, "robot.period")
    return [f"robot.period={period_of(policy)!r}", *words] if given is None else words


def _environment(policy: str, groups: Sequence[str]) -> list[str]:
    """The overrides of some groups that made the environment a policy was learned in."""
    environment = made_for(policy).get("environment", [])
    if not (isinstance(environment, list) and all(isinstance(override, str) for override in environment)):
        raise FileFormatError(f"policy {policy}: the environment it names is no list of overrides.")
    return run_settings.of_groups(environment, groups)


def find_policy(name: str, info: PolicyInfo, seed: int) -> Policy:
    """Return the policy of a file, a run's folder, or "zero" or "random", made ready for an environment.

    Raises as `load_policy`.
    """
    return SANITY[name](info, seed) if name in SANITY else load_policy(name, info)
