"""The files of reproduced experiments: figures, `metrics.json` and `report.html`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.errors import MissingExtraError
from pliant.experiments.reproduction import HEADER, Failures, Picture, Result, headline, row, tally
from pliant.files import write_bytes, write_json
from pliant.report import Ran, Report, svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PNG_RESOLUTION = 150
"""Of the figures' PNG copies, dots per inch."""


@dataclass
class IllustratedReport(Report):
    """A report that also keeps the pictures that are added to it, as files in a folder per experiment."""

    folder: Path = field(kw_only=True)
    pictures: list[Picture] = field(default_factory=list, kw_only=True)
    """Those of the present experiment."""
    name: str = field(default="", kw_only=True)
    """Of the present experiment."""

    def begin(self, result: Result) -> None:
        """Begin an experiment's section; its pictures go to `result`."""
        self.heading(f"{result.experiment.title} ({result.name})")
        self.text(result.experiment.source)
        self.name, self.pictures = result.name, result.pictures

    def figure(self, drawing: "Figure", caption: str) -> None:
        """Add a figure, kept as SVG and PNG."""
        super().figure(drawing, caption)
        file = self._keep(svg(drawing).encode(), "svg", caption)
        drawing.savefig(file.with_suffix(".png"), dpi=_PNG_RESOLUTION)

    def image(self, data: bytes, kind: str, caption: str) -> None:
        """Add an encoded image and keep it."""
        super().image(data, kind, caption)
        self._keep(data, kind, caption)

    def _keep(self, content: bytes, kind: str, caption: str) -> Path:
        picture = Picture(f"{self.name}_{len(self.pictures) + 1}.{kind}", content, caption)
        self.pictures.append(picture)
        return write_bytes(self.folder / self.name / picture.file, content)


def write_report(folder: Path, results: Sequence[Result], failures: Failures, ran: Ran | None = None) -> Path:
    """Draw the experiments and write `report.html` and the pictures; without matplotlib it is tables alone."""
    report = IllustratedReport(
        "Experiments of the literature, reproduced", _summary(results, failures), ran, folder=folder
    )
    for name, error in failures.items():
        report.text(f"{name} could not be run: {error}")
    report.table(("experiment", *HEADER), [(r.name, *row(claim)) for r in results for claim in r.outcome.claims])
    for result in results:
        report.begin(result)
        try:
            result.experiment.draw(result.outcome, report)
        except MissingExtraError as error:
            report.text(f"No figures: {error}")
        report.table(HEADER, [row(claim) for claim in result.outcome.claims])
        for note in result.outcome.notes:
            report.text(note)
    return report.save(folder / "report.html")


def write_metrics(folder: Path, results: Sequence[Result], failures: Failures) -> Path:
    """Write `metrics.json`: claims and how many agree by source, numbers, notes and settings."""
    experiments = {
        r.name: {
            "title": r.experiment.title,
            "source": r.experiment.source,
            "settings": r.settings,
            "seconds": r.seconds,
            "claims": [asdict(claim) for claim in r.outcome.claims],
            "metrics": r.outcome.metrics,
            "notes": r.outcome.notes,
        }
        for r in results
    }
    data = {
        **{source.value: count._asdict() for source, count in tally(results).items()},
        "seconds": sum(r.seconds for r in results),
        "experiments": experiments,
        "failed": {name: str(error) for name, error in failures.items()},
    }
    return write_json(folder / "metrics.json", data)


def _summary(results: Sequence[Result], failures: Failures) -> str:
    found = headline(results)
    many = "" if len(results) == 1 else "s"
    text = (
        f"{found[0].upper()}{found[1:]}; in {len(results)} experiment{many} that took "
        f"{sum(r.seconds for r in results):.0f} s."
    )
    return text + (f" {len(failures)} could not be run." if failures else "")
