"""The policy interface: from an observation to an action, once a period, whatever it was that made the policy.

A learned network, a feed-forward and a controller are equals behind it, and nobody above needs to know which one
runs. What a policy sees and does has names, units and bounds (`PolicyInfo`); it runs only where they match.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import (
    Array,
    finite_array,
    name_differences,
    number_array,
    order_differences,
    positive,
)
from pliant.controllers.robot_parameters import ALL_THE_SAME, parameter_differences
from pliant.errors import FileFormatError, MismatchError, OutOfBoundsError, PliantError, ShapeError
from pliant.files import plain
from pliant.hardware.robot import Channel, RobotInfo

_PLACE = "the environment"


@dataclass(frozen=True)
class PolicyInfo:
    """What an environment offers to a policy, or a policy was made for. Known without running either.

    An action is in [−1, 1] and spread over the bounds of its command column; see `to_command`.

    Raises:
        OutOfBoundsError: a period that is not positive.
    """

    robot: str
    """Name of the robot; another one of the same layout will do."""
    joints: tuple[str, ...]
    """Names of its joints."""
    observations: tuple[Channel, ...]
    """Names, units and bounds of an observation's entries, in order."""
    actions: tuple[Channel, ...]
    """The command columns that an action moves, in order."""
    period: float
    """Time from one action to the next, s."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What the robot is; see `pliant.controllers.robot_parameters`. Empty where nothing is known."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """Where a policy comes from (algorithm, steps, environment, versions), as plain data. Never compared."""

    def __post_init__(self) -> None:
        positive("period of a policy", self.period, "s")

    @classmethod
    def of(cls, robot: RobotInfo, observations: Sequence[Channel], actions: Sequence[Channel]) -> Self:
        """Return what a robot offers through an environment that observes and commands these channels."""
        commanded = _names(actions)
        held = {channel.name: channel.rest for channel in robot.command if channel.name not in commanded}
        parameters = {**plain(robot.parameters), "held": held}
        return cls(robot.name, robot.joints, tuple(observations), tuple(actions), robot.period, parameters)

    def to_json(self) -> dict[str, Any]:
        """Return it in JSON's own types; a bound that is infinite is null."""
        return {
            "robot": self.robot,
            "joints": list(self.joints),
            "observations": [_channel_to_json(channel) for channel in self.observations],
            "actions": [_channel_to_json(channel) for channel in self.actions],
            "period": self.period,
            "parameters": plain(self.parameters),
            "origin": plain(self.origin),
        }

    @classmethod
    def from_json(cls, data: Any, where: str) -> Self:
        """Return what `to_json` gave.

        Args:
            data: from JSON.
            where: the file it comes from, for the message.

        Raises:
            FileFormatError: an entry is missing or no such thing.
        """
        try:
            return cls(
                robot=str(data["robot"]),
                joints=tuple(map(str, data["joints"])),
                observations=tuple(map(_channel_from_json, data["observations"])),
                actions=tuple(map(_channel_from_json, data["actions"])),
                period=data["period"],
                parameters=dict(data.get("parameters", {})),  # files of 0.1 have none
                origin=dict(data["origin"]),
            )
        except (PliantError, KeyError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{where}: what it says of its observations and actions lacks {error}."
            ) from error


def _channel_to_json(channel: Channel) -> dict[str, Any]:
    bounds = {name: getattr(channel, name) for name in ("low", "high")}
    return {**vars(channel), **{name: value if np.isfinite(value) else None for name, value in bounds.items()}}


def _channel_from_json(data: Mapping[str, Any]) -> Channel:
    unbounded: dict[str, Any] = {"low": -np.inf, "high": np.inf}
    values: dict[str, Any] = {k: unbounded.get(k) if value is None else value for k, value in data.items()}
    return Channel(**values)


class Policy(ABC):
    """From an observation to an action, once a period.

    Life cycle: `reset` when an episode begins, then a call a period. Does no I/O and knows no clock.
    """

    def __init__(self, info: PolicyInfo) -> None:
        self.info = info
        """What it sees and does."""

    @property
    def period(self) -> float:
        """Time from one action to the next, s."""
        return self.info.period

    def reset(self) -> None:  # noqa: B027  most policies remember nothing
        """Begin an episode: forget what was before."""

    def __call__(self, observation: ArrayLike) -> Array:
        """Return the action for an observation.

        Args:
            observation: (observations,), in the order and units of `info.observations`.

        Returns:
            (actions,), each in [−1, 1].

        Raises:
            ShapeError: an observation of another size.
            OutOfBoundsError: an entry of it is not finite, or the policy's answer is not.
        """
        seen = np.asarray(observation, dtype=np.float64)
        if seen.shape != (len(self.info.observations),):
            raise ShapeError(
                f"the policy sees {len(self.info.observations)} numbers, the observation has shape {seen.shape}."
            )
        if not np.isfinite(seen).all():
            bad = [c.name for c, value in zip(self.info.observations, seen, strict=True) if not np.isfinite(value)]
            raise OutOfBoundsError(f"the observation has no finite value for {', '.join(bad)}.")
        action = finite_array("the policy's action", self.act(seen), (len(self.info.actions),))
        return np.clip(action, -1.0, 1.0)

    @abstractmethod
    def act(self, observation: Array) -> ArrayLike:
        """Return the action, (actions,), for a checked observation; values beyond ±1 will be limited."""


def fitted(policy: Policy, info: PolicyInfo, *, parameters: bool = True) -> Policy:
    """Return a policy for what an environment offers, its numbers put in the environment's order.

    Observations and actions are matched by name, so that another order is no obstacle. Everything else must be
    the same: the names, their units and bounds, the joints, the period, and what the robot is.

    Args:
        policy: as it was made.
        info: what the environment offers.
        parameters: whether the robot's parameters (laws, drives, masses, what columns that are not commanded rest
            at) must be the same too, as far as both sides know them.

    Raises:
        MismatchError: it does not fit; every difference is listed.
    """
    made = policy.info
    found = name_differences("joint", made.joints, info.joints, _PLACE)
    found += _channel_differences("observation", made.observations, info.observations)
    found += _channel_differences("action", made.actions, info.actions)
    if not np.isclose(made.period, info.period, rtol=1e-9, atol=0.0):
        found.append(f"period: {made.period:g} s in the file, {info.period:g} s here")
    if parameters and (differing := parameter_differences(made.parameters, info.parameters)):
        found += [*differing, ALL_THE_SAME]
    if found:
        for kind in ("observations", "actions"):
            found += order_differences(kind, _names(getattr(made, kind)), _names(getattr(info, kind)))
        raise MismatchError(
            f"the policy made for {made.robot!r} does not fit the environment of {info.robot!r}:\n  - "
            + "\n  - ".join(found)
        )
    alike = made.observations == info.observations and made.actions == info.actions
    return policy if alike else _Rearranged(policy, info)


def to_command(action: ArrayLike, actions: Sequence[Channel]) -> Array:
    """Return the command of an action: middle + half·action, over the bounds of each column, (actions,)."""
    middle, half = _spread(actions)
    return middle + half * number_array("action", action)


def to_action(command: ArrayLike, actions: Sequence[Channel]) -> Array:
    """Return the action that gives a command, (actions,); beyond ±1 for a command out of bounds."""
    middle, half = _spread(actions)
    return (number_array("command", command) - middle) / half


class _Rearranged(Policy):
    """A policy whose numbers come in another order than the environment's."""

    def __init__(self, policy: Policy, info: PolicyInfo) -> None:
        super().__init__(info)
        self._policy = policy
        seen, done = _names(info.observations), _names(policy.info.actions)
        self._observed = [seen.index(name) for name in _names(policy.info.observations)]
        self._acted = [done.index(name) for name in _names(info.actions)]

    def reset(self) -> None:
        self._policy.reset()

    def act(self, observation: Array) -> ArrayLike:
        return self._policy(observation[self._observed])[self._acted]


def _channel_differences(kind: str, made: Sequence[Channel], offered: Sequence[Channel]) -> list[str]:
    """Return the differences in names, and in units and bounds of what both sides have."""
    found = name_differences(kind, _names(made), _names(offered), _PLACE)
    here = {channel.name: channel for channel in offered}
    for channel in made:
        other = here.get(channel.name, channel)
        if other.unit != channel.unit:
            found.append(f"{kind} {channel.name!r}: unit {channel.unit!r} in the file, {other.unit!r} here")
        elif not np.allclose((channel.low, channel.high), (other.low, other.high), rtol=1e-6, atol=0.0):
            found.append(
                f"{kind} {channel.name!r}: [{channel.low:g}, {channel.high:g}] {channel.unit} in the file, "
                f"[{other.low:g}, {other.high:g}] {other.unit} here"
            )
    return found


def _names(channels: Sequence[Channel]) -> list[str]:
    return [channel.name for channel in channels]


def _spread(actions: Sequence[Channel]) -> tuple[Array, Array]:
    """Middle and half range of each column."""
    low, high = np.array([c.low for c in actions]), np.array([c.high for c in actions])
    return (low + high) / 2, (high - low) / 2
