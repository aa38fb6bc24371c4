"""Identify a servo's motor and friction from recordings of a pendulum, and report how far to trust it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from pliant import command_line
from pliant.controllers.identification import SOURCE, HeldOut, IdentificationResult, identify, leave_one_gain_out
from pliant.controllers.pendulum_bench import Recording, load_recordings
from pliant.errors import ConfigurationError, MissingExtraError
from pliant.files import write_json
from pliant.report import COLOURS, Report, figure


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


def write_report(
    folder: Path, recordings: Sequence[Recording], result: IdentificationResult, folds: Sequence[HeldOut]
) -> Path | None:
    """Write `report.html`; None (and says so) where the extra `report` is missing."""
    page = Report(
        f"Servo {recordings[0].servo} identified",
        f"Mean absolute position error {1e3 * result.mae:.1f} mrad over {len(recordings)} recordings.",
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
        rows = [(fold.p_gain, 1e3 * fold.mae, 1e3 * fold.result.mae) for fold in folds]
        page.table(("P gain left out", "mean |e| on it (mrad)", "mean |e| on the others (mrad)"), rows)
    return page.save(folder / "report.html")


def job(config: DictConfig) -> dict[str, Any]:
    """Identify, cross-validate, and write `servo.json`, `metrics.json` and `report.html`."""
    console = Console()
    folder = command_line.run_folder()
    recordings = load_recordings(config.recordings)
    console.print(f"{len(recordings)} recordings of servo {recordings[0].servo}; identifying {config.model} …")
    gains = {recording.p_gain for recording in recordings}
    if config.leave_one_gain_out and len(gains) < 2:
        raise ConfigurationError(
            f"all recordings have the P gain {gains.pop():g}, so none can be left out: leave_one_gain_out=false."
        )
    options: dict[str, Any] = {"starts": int(config.starts), "seed": int(config.seed)}
    result = identify(recordings, str(config.model), source=SOURCE, **options)
    for estimate in result.estimates:
        console.print(
            f"  {estimate.name:18} {estimate.value:10.4g} ± {estimate.standard_error:.2g} {estimate.unit}",
            highlight=False,
        )
    console.print(f"mean absolute position error {1e3 * result.mae:.1f} mrad")
    folds = leave_one_gain_out(recordings, str(config.model), **options) if config.leave_one_gain_out else ()
    for fold in folds:
        console.print(f"P gain {fold.p_gain:g} unseen: {1e3 * fold.mae:.1f} mrad")
    held_out = [
        {"p_gain": fold.p_gain, "mae": fold.mae, "residuals": [vars(r) for r in fold.residuals]} for fold in folds
    ]
    entry = {**result.summary(), "leave_one_gain_out": held_out}
    names = [recording.name for recording in recordings]
    write_json(folder / "servo.json", {"source": SOURCE, "recordings": names, "models": [entry]})
    metrics = {
        "mae_rad": result.mae,
        "mae_per_recording_rad": {r.recording: r.mae for r in result.residuals},
        "mae_of_unseen_gain_rad": {f"{fold.p_gain:g}": fold.mae for fold in folds},
    }
    write_json(folder / "metrics.json", metrics)
    report = write_report(folder, recordings, result, folds)
    console.print(f"results in {folder}" + ("" if report is None else f"; report: {report}"), soft_wrap=True)
    return metrics


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "identify")


if __name__ == "__main__":
    main()
