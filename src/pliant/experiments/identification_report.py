"""The report of `pliant identify`: recordings beside the identified servo's motion, and its parameters."""

from collections.abc import Sequence
from pathlib import Path

from pliant.controllers.identification import HeldOut, IdentificationResult
from pliant.controllers.pendulum_bench import Recording
from pliant.errors import MissingExtraError
from pliant.report import COLOURS, Ran, Report, figure


def write_report(
    folder: Path,
    recordings: Sequence[Recording],
    result: IdentificationResult,
    folds: Sequence[HeldOut],
    ran: Ran | None = None,
) -> Path | None:
    """Write `report.html`; None (and says so) where the extra `report` is missing."""
    page = Report(
        f"Servo {recordings[0].servo} identified",
        f"Mean absolute position error {1e3 * result.mae:.1f} mrad over {len(recordings)} recordings.",
        ran,
    )
    try:
        _traces(page, recordings, result)
    except MissingExtraError as error:
        print(f"no report: {error}")
        return None
    page.heading("Parameters")
    page.table(
        ("parameter", "value", "unit", "standard error", "95 % interval", "informed by the recordings"),
        [
            (e.name, e.value, e.unit, e.standard_error, f"{e.low95:.3g} … {e.high95:.3g}", f"{e.informed:.0%}")
            for e in result.estimates
        ],
    )
    page.text("Where the recordings inform a parameter little, its value is the prior's.")
    page.heading("Residuals")
    page.table(
        ("recording", "mean |e| (mrad)", "rms (mrad)", "bias (mrad)", "largest (mrad)"),
        [(r.recording, 1e3 * r.mae, 1e3 * r.rms, 1e3 * r.bias, 1e3 * r.largest) for r in result.residuals],
    )
    if folds:
        page.heading("Prediction of a P gain the fit has not seen")
        page.table(
            (
                "P gain left out", "against those fitted", "mean |e| on it (mrad)", "worst of fits as good (mrad)",
                "inside the 95 % band", "mean |e| on the others (mrad)",
            ),
            [
                (
                    fold.p_gain, "between" if fold.between else "beyond", 1e3 * fold.mae, 1e3 * fold.worst_mae,
                    f"{fold.covered:.0%}", 1e3 * fold.result.mae,
                )
                for fold in folds
            ],
        )  # fmt: skip
        page.text(
            "Where a pendulum sticks is nearly chance: fits that explain the recordings equally well (within "
            "their joint 95 % region) differ at a gain they have not seen. The band spans them all, and the error "
            "of the fit on top; a share below 95 % says that it is too narrow for such a step. A gain beyond "
            "those fitted is a larger step than one between them."
        )
    return page.save(folder / "report.html")


def _traces(report: Report, recordings: Sequence[Recording], result: IdentificationResult) -> None:
    """Measured and simulated position of every recording."""
    columns = 3
    rows = -(-len(recordings) // columns)
    with figure(rows, columns, width=10.0, height=1.9 * rows + 0.4) as (drawing, axes):
        for ax in axes.flat[len(recordings) :]:
            ax.set_visible(False)
        for ax, recording in zip(axes.flat, recordings, strict=False):
            ax.plot(recording.time, recording.goal, color="#bbbbbb", linewidth=1.0, label="goal")
            ax.plot(recording.time, recording.position, color="black", linewidth=1.2, label="measured")
            simulated = result.predicted[recording.name]
            ax.plot(recording.time, simulated, color=COLOURS[1], linewidth=1.0, label="simulated")
            ax.set_title(recording.name, fontsize=8)
        for ax in axes[-1]:
            ax.set(xlabel="time (s)")
        for ax in axes[:, 0]:
            ax.set(ylabel="angle (rad)")
        axes.flat[0].legend(fontsize=7)
        report.figure(drawing, "Every recording, simulated open loop from its first sample.")
