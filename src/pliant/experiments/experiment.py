"""What an experiment of the literature is here: it runs, says in numbers how close it comes, and draws itself.

The motions it simulates can be watched: they are the ones that `run` takes its numbers from.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pliant.envs.movement import Movement
from pliant.errors import unknown_name
from pliant.hardware.robot import Array
from pliant.report import Report


@dataclass(frozen=True)
class Claim:
    """One number of a publication beside ours."""

    what: str
    """What is compared, such as `rest angle, SEA soft`."""
    paper: str
    """The published value, as text with its unit, or what the publication says."""
    ours: str
    """Our value, as text with its unit."""
    holds: bool | None
    """Whether ours agrees; None where nothing can be compared (and the notes say why)."""


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
