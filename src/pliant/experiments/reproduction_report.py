"""The files of reproduced experiments: figures, `metrics.json` and `report.html`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pliant.errors import MissingExtraError
from pliant.experiments.reproduction import Failures, Picture, Result
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
    header = ("claim", "paper", "ours", "agrees")
    for name, error in failures.items():
        report.text(f"{name} could not be run: {error}")
    report.table(("experiment", *header), [(r.name, *row) for r in results for row in _rows(r)])
    for result in results:
        report.begin(result)
        try:
            result.experiment.draw(result.outcome, report)
        except MissingExtraError as error:
            report.text(f"No figures: {error}")
        report.table(header, _rows(result))
        for note in result.outcome.notes:
            report.text(note)
    return report.save(folder / "report.html")


def write_metrics(folder: Path, results: Sequence[Result], failures: Failures) -> Path:
    """Write `metrics.json`: claims, numbers, notes and settings of every experiment."""
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
        "compared": sum(r.compared for r in results),
        "agreeing": sum(r.agreeing for r in results),
        "seconds": sum(r.seconds for r in results),
        "experiments": experiments,
        "failed": {name: str(error) for name, error in failures.items()},
    }
    return write_json(folder / "metrics.json", data)


def _rows(result: Result) -> list[tuple[object, ...]]:
    claims = result.outcome.claims
    return [(c.what, c.paper, c.ours, "–" if c.holds is None else bool(c.holds)) for c in claims]


def _summary(results: Sequence[Result], failures: Failures) -> str:
    text = (
        f"{sum(r.agreeing for r in results)} of {sum(r.compared for r in results)} numbers agree, in "
        f"{len(results)} experiments that took {sum(r.seconds for r in results):.0f} s."
    )
    return text + (f" {len(failures)} could not be run." if failures else "")
