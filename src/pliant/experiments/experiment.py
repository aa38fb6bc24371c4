"""What an experiment of the literature is here: it runs, says in numbers how close it comes, and draws itself.

The motions it simulates can be watched: they are the ones that `run` takes its numbers from.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from pliant.envs.movement import Movement
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.robot import Array
from pliant.report import Report


class Source(StrEnum):
    """Where what a claim expects comes from."""

    PUBLISHED = "published"
    """A number that the publication prints."""
    PREDICTED = "predicted"
    """Computed without the simulation: from equations, specifications or by an independent program."""
    VERBAL = "verbal"
    """A statement of the publication in words."""


NOTHING = "–"
"""In place of what is not there."""


@dataclass(frozen=True)
class Claim:
    """What is expected, beside what comes out.

    Raises:
        ConfigurationError: a verdict without a tolerance, or without anything that was expected.
    """

    what: str
    """What is compared, such as `rest angle, SEA soft`."""
    expected: str
    """The number, as text with its unit, or the statement; `NOTHING` where there is none."""
    ours: str
    """Our value, as text with its unit."""
    holds: bool | None
    """Whether ours agrees within the tolerance; None: no verdict (and the notes say why)."""
    tolerance: str = NOTHING
    """How far ours may be off to agree, or what is tested of a statement."""
    source: Source = Source.PREDICTED
    """Of what is expected."""

    def __post_init__(self) -> None:
        if self.holds is not None:
            object.__setattr__(self, "holds", bool(self.holds))
        if self.holds is not None and NOTHING in (self.expected, self.tolerance):
            raise ConfigurationError(f"claim {self.what!r} has a verdict, but no expectation or no tolerance.")

    @property
    def published(self) -> str:
        """What the publication prints or says."""
        return self.expected if self.source is not Source.PREDICTED else NOTHING

    @property
    def predicted(self) -> str:
        """What was predicted."""
        return self.expected if self.source is Source.PREDICTED else NOTHING

    @property
    def verdict(self) -> str:
        """`agrees`, `differs` or `no verdict`."""
        return "no verdict" if self.holds is None else "agrees" if self.holds else "differs"


@dataclass(frozen=True)
class Outcome:
    """What came of an experiment."""

    claims: tuple[Claim, ...]
    metrics: Mapping[str, float]
    """The numbers behind the claims, by name."""
    arrays: Mapping[str, Array]
    """The recorded data behind the figures, by name; all SI and rad."""
    notes: tuple[str, ...] = field(default=())
    """What was assumed and what could not be reproduced, and why."""


class Experiment(ABC):
    """An experiment; its settings are the fields of the dataclass that implements it."""

    title: ClassVar[str]
    source: ClassVar[str]
    """Publication and figure."""

    @abstractmethod
    def run(self) -> Outcome:
        """Run it; deterministic."""

    @abstractmethod
    def movements(self) -> Mapping[str, Callable[[], Movement]]:
        """Return what makes each of its motions, by name; the one to look at first comes first."""

    def movement(self, name: str | None = None) -> Movement:
        """Return a motion by its name, or the first one.

        Raises:
            UnknownNameError: it has none of this name.
        """
        movements = self.movements()
        chosen = next(iter(movements), None) if name is None else name
        if chosen is None or chosen not in movements:
            raise unknown_name("variant", chosen, movements, self.title)
        return movements[chosen]()

    @abstractmethod
    def draw(self, outcome: Outcome, report: Report) -> None:
        """Add its figures, laid out like the publication's, to a report."""
