"""What an experiment of the literature is here: it runs, says in numbers how close it comes, and draws itself."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

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
    def draw(self, outcome: Outcome, report: Report) -> None:
        """Add its figures, laid out like the publication's, to a report."""
