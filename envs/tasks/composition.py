"""Tasks from plain data: what a YAML file says of the terms, by name."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from pliant.conf.build import imported
from pliant.envs.tasks.actions import AboutRest, Action, Limited, Parameters, Rate, Residual, Spread
from pliant.envs.tasks.ends import ENDS
from pliant.envs.tasks.gait import GaitAction
from pliant.envs.tasks.goals import GOALS, Goal
from pliant.envs.tasks.interaction import Interaction
from pliant.envs.tasks.markers import MARKERS
from pliant.envs.tasks.measures import MEASURES
from pliant.envs.tasks.observations import OBSERVATIONS
from pliant.envs.tasks.rewards import REWARDS
from pliant.envs.tasks.starts import PLACEMENTS, STARTS, AtHome, Start
from pliant.envs.tasks.task import Task
from pliant.envs.tasks.task_space import TaskSpace
from pliant.envs.tasks.term import TermFunction
from pliant.errors import ConfigurationError, unknown_name

ACTIONS: Final[Mapping[str, Callable[..., Action]]] = {
    "spread": Spread,
    "limited": Limited,
    "rate": Rate,
    "about_rest": AboutRest,
    "residual": Residual,
    "parameters": Parameters,
    "interaction": Interaction,
    "task_space": TaskSpace,
    "gait": GaitAction,
}
"""By name."""

KINDS: Final[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
    "action": ACTIONS,
    "start": STARTS,
    "body": PLACEMENTS,
    "goal": GOALS,
    "measure": MEASURES,
    "observation": OBSERVATIONS,
    "reward": REWARDS,
    "end": ENDS,
    "marker": MARKERS,
}
"""The terms there are, by kind and name."""

_OPTIONS: Final = ("weight", "role", "scale", "bound", "goals")
"""What belongs to one term and is never shared."""


def compose(
    name: str,
    *,
    observations: Mapping[str, Any],
    rewards: Mapping[str, Any],
    ends: Mapping[str, Any],
    action: Any = None,
    start: Any = None,
    bodies: Mapping[str, Any] | None = None,
    goal: Any = None,
    measures: Mapping[str, Any] | None = None,
    markers: Mapping[str, Any] | None = None,
    failure_penalty: float = 100.0,
    **shared: Any,
) -> Task:
    """Return the task that plain data describe.

    A term is a mapping with its name as `term` and its settings: `{term: action_rate, weight: -0.05}`. The name is
    one of ours (`KINDS`) or the import path of one's own, `mytask.slowness`. An entry that is null is left out.

    Args:
        name: what the task is called.
        observations: terms by names of one's own.
        rewards: terms by names of one's own.
        ends: terms by names of one's own.
        action: a term; None: the command, spread over the bounds of all columns.
        start: a term; None: where the robot itself begins.
        bodies: by free body, terms that place it.
        goal: a term, or None.
        measures: terms by names of one's own.
        markers: likewise, what pictures show besides what the goal brings.
        failure_penalty: see `Task`.
        shared: settings of all terms that take them and do not set them themselves: `tolerance: 0.05`.

    Raises:
        UnknownNameError: no such term, or no term takes such a setting.
        ConfigurationError: a term that cannot be imported, or settings that do not go together; see also `Task`.
    """
    builder = _Builder(name, shared)
    task = Task(
        name,
        measures=builder.several("measure", measures or {}),
        action=Spread() if action is None else builder.one("action", action, Action),
        start=AtHome() if start is None else builder.one("start", start, Start),
        bodies=builder.several("body", bodies or {}),
        goal=None if goal is None else builder.one("goal", goal, Goal),
        observations=builder.several("observation", observations),
        rewards=builder.several("reward", rewards),
        ends=builder.several("end", ends),
        markers=builder.several("marker", markers or {}),
        failure_penalty=failure_penalty,
    )
    builder.check_shared()
    return task


def find_term(kind: str, name: str) -> Callable[..., Any]:
    """Return a term by the name it has here, or by `module.name` anywhere on the import path.

    Raises:
        UnknownNameError: there is no such term.
        ConfigurationError: the module cannot be imported, or has no such thing.
    """
    if not isinstance(name, str) or not {".", ":"} & set(name):
        if name not in KINDS[kind]:
            raise unknown_name(f"{kind} term", name, KINDS[kind])
        return KINDS[kind][name]
    module, _, attribute = name.replace(":", ".").rpartition(".")
    found = imported(module, attribute, f"{kind} term {name!r}")
    if not callable(found):
        raise ConfigurationError(f"{name!r} is a {type(found).__name__}, no term.")
    return found  # type: ignore[no-any-return]


class _Builder:
    """Makes terms, and sees which of the shared settings are taken."""

    def __init__(self, name: str, shared: Mapping[str, Any]) -> None:
        self._where, self._shared = f"task {name!r}", shared
        self._taken: dict[str, None] = {}

    def several(self, kind: str, nodes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the terms of a kind."""
        if not isinstance(nodes, Mapping):
            raise ConfigurationError(f"{self._where}: {kind} terms are given by name, not as {nodes!r}.")
        return {
            name: self._make(kind, f"{kind} {name!r}", node) for name, node in nodes.items() if node is not None
        }

    def one(self, kind: str, node: Any, base: type[Any]) -> Any:
        """Return a term of which there is one."""
        made = self._make(kind, kind, node)
        if not isinstance(made, base):
            raise ConfigurationError(f"{self._where}: {kind} is {made!r}, not a term of that kind.")
        return made

    def check_shared(self) -> None:
        """Refuse a setting that no term takes."""
        for name in self._shared:
            if name not in self._taken:
                raise unknown_name("setting", name, self._taken, self._where)

    def _make(self, kind: str, what: str, node: Any) -> Any:
        if not isinstance(node, Mapping):
            return node
        settings = dict(node)
        if "term" not in settings:
            raise ConfigurationError(f"{self._where}: {what} names no term; write {{term: NAME, …}}.")
        found = find_term(kind, settings.pop("term"))
        known = found.settings if isinstance(found, TermFunction) else tuple(inspect.signature(found).parameters)
        sharing = [name for name in known if name not in _OPTIONS]
        self._taken |= dict.fromkeys(sharing)
        for name in settings:
            if name not in known:
                raise unknown_name("setting", name, known, f"{what} of {self._where}")
        given = {name: self._shared[name] for name in sharing if name in self._shared}
        return found(**{**given, **settings})
