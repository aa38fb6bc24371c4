"""Identify a servo from recordings of a pendulum: best parameters, how sure they are, what they predict.

How it is fitted is told in `pliant.controllers.servo_fit`. Whether to believe it is told by the recordings of a P
gain that the fit has not seen: `leave_one_gain_out`. Two things decide there, and both are reported. A gain
between those fitted is a smaller step than one beyond them. And where a pendulum sticks is nearly chance: fits
that explain the recordings equally well can differ by more at a new gain than the best one errs, so a prediction
is a band over all of them (`IdentificationResult.band`), not one line.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pliant.actuators.bam import FRICTION_MODELS, BamServo, servo_from_data
from pliant.controllers.checks import Array
from pliant.controllers.pendulum_bench import (
    BENCH_PARAMETERS,
    Recording,
    Residuals,
    mean_error,
    predict,
    residuals,
    simulate,
)
from pliant.controllers.servo_fit import Estimate, ServoFit
from pliant.errors import ConfigurationError, FileFormatError, OutOfBoundsError
from pliant.files import PathLike, check_json, existing_file

SOURCE = "identified from recordings of a pendulum"

Note = Callable[[], None]

_REFINEMENTS = 2
_DRAWS = 16
_NORMAL_95 = 1.959964


@dataclass(frozen=True, eq=False)
class IdentificationResult:
    """An identified servo on its bench, and how well it explains the recordings it was made from."""

    servo: BamServo
    bench: Mapping[str, float]
    estimates: tuple[Estimate, ...]
    residuals: tuple[Residuals, ...]
    predicted: Mapping[str, Array]
    """Simulated positions by the recording's name, (samples,), rad."""
    others: tuple[tuple[BamServo, Mapping[str, float]], ...] = ()
    """Servo and bench of other local minima that these recordings cannot tell from the best one."""
    draws: tuple[tuple[BamServo, Mapping[str, float]], ...] = ()
    """Servo and bench at random points about the best one, as the estimates' covariance spreads them."""

    @property
    def mae(self) -> float:
        """Mean over the recordings of the mean absolute position error, rad."""
        return mean_error(self.residuals)

    def predict(self, recordings: Sequence[Recording]) -> tuple[Residuals, ...]:
        """Residuals on any recordings of this servo and bench, such as ones it has not seen."""
        return predict(recordings, self.servo, self.bench)

    def band(self, recording: Recording) -> tuple[Array, Array]:
        """Lowest and highest position to expect, each (samples,), rad, over any recording of this servo and bench.

        At least 95 % of the samples should lie between: from the lowest to the highest motion of the servos that
        explain the recordings equally well (`others`, `draws`), and 1.96 times the root mean square error of the
        fit on either side. What the friction model cannot express is in neither.
        """
        servos = ((self.servo, self.bench), *self.others, *self.draws)
        traces = [simulate(recording, *each) for each in servos]
        margin = _NORMAL_95 * math.sqrt(sum(r.rms**2 for r in self.residuals) / len(self.residuals))
        return np.min(traces, axis=0) - margin, np.max(traces, axis=0) + margin

    def summary(self) -> dict[str, Any]:
        """Everything but the traces, for `pliant.files.write_json`; `servo` is what `find_servo` reads."""
        return {
            "servo": {**vars(self.servo), "values": dict(self.servo.values)},
            "bench": dict(self.bench),
            "mae": self.mae,
            "estimates": [vars(estimate) for estimate in self.estimates],
            "residuals": [vars(residual) for residual in self.residuals],
        }


class HeldOut(NamedTuple):
    """A fit without the recordings of one P gain, and its prediction of them."""

    p_gain: float
    result: IdentificationResult
    residuals: tuple[Residuals, ...]
    covered: float
    """Share of the unseen samples inside `IdentificationResult.band`: below 0.95, it is too narrow there."""
    mae_of_others: tuple[float, ...]
    """`mae` of each of the equally good fits, rad."""

    @property
    def between(self) -> bool:
        """Whether the P gain lies between those that were fitted."""
        fitted = [r.p_gain for r in self.result.residuals]
        return min(fitted) < self.p_gain < max(fitted)

    @property
    def worst_mae(self) -> float:
        """Largest `mae` of the best and the equally good fits, rad."""
        return max(self.mae, *self.mae_of_others, 0.0)

    def summary(self) -> dict[str, Any]:
        """Everything but the fit, for `pliant.files.write_json`."""
        return {
            "p_gain": self.p_gain,
            "between": self.between,
            "mae": self.mae,
            "mae_of_others": list(self.mae_of_others),
            "covered": self.covered,
            "residuals": [vars(r) for r in self.residuals],
        }

    @property
    def mae(self) -> float:
        """Mean absolute error over the recordings that the fit has not seen, rad."""
        return mean_error(self.residuals)


def identify(
    recordings: Sequence[Recording],
    model: str = "m6",
    *,
    starts: int = 12,
    seed: int = 0,
    source: str = SOURCE,
    note: Note = lambda: None,
) -> IdentificationResult:
    """Identify a servo's motor and friction, and its bench, from recordings.

    Args:
        recordings: of one servo on one bench.
        model: friction model, `m1` to `m6`.
        starts: local searches, from the prior's mean and the best of many random draws; the best one wins.
            A search of M6 over twelve recordings of 6 s takes about six seconds.
        seed: of the draws. The same recordings, model, starts and seed give the same result.
        source: written into the servo.
        note: called after every search; there are `search_count(starts)`.

    Raises:
        UnknownNameError: no such friction model.
        ConfigurationError: no recordings, or not all of one servo and one bench.
        OutOfBoundsError: `starts` is not positive.
    """
    if starts < 1:
        raise OutOfBoundsError(f"starts = {starts} must be at least 1.")
    together = _of_one_bench(recordings)
    fit = ServoFit(together, model, source)
    rng = np.random.default_rng(seed)
    starting = fit.screened(starts, rng)
    found = []
    for start in starting:
        found.append(fit.search(start))
        note()
    best = min(found, key=fit.cost)
    others = fit.equals([point for point in found if point is not best], best)
    for _ in range(_REFINEMENTS):
        best = fit.refined(best)
        note()
    servo, bench = fit.built(best)
    traces = {r.name: simulate(r, servo, bench) for r in together}
    errors = tuple(residuals(r, traces[r.name]) for r in together)
    covariance = fit.covariance(best)
    draws = fit.draws(best, covariance, _DRAWS, rng)
    built = (tuple(map(fit.built, points)) for points in (others, draws))
    return IdentificationResult(servo, bench, fit.estimates(best, covariance, others), errors, traces, *built)


def search_count(starts: int) -> int:
    """Return how many searches `identify` makes."""
    return starts + _REFINEMENTS


def leave_one_gain_out(
    recordings: Sequence[Recording],
    model: str = "m6",
    *,
    starts: int = 12,
    seed: int = 0,
    note: Note = lambda: None,
) -> tuple[HeldOut, ...]:
    """For each P gain, identify from the other gains' recordings and predict its own; see `identify`.

    Raises:
        ConfigurationError: the recordings have one P gain only; otherwise as `identify`.
    """
    gains = sorted({recording.p_gain for recording in recordings})
    if len(gains) < 2:
        raise ConfigurationError(f"recordings of at least two P gains are needed to leave one out, not {gains}.")
    folds = []
    for gain in gains:
        unseen = [recording for recording in recordings if recording.p_gain == gain]
        others_of = [r for r in recordings if r.p_gain != gain]
        result = identify(others_of, model, starts=starts, seed=seed, note=note)
        inside = [(low <= r.position) & (r.position <= high) for r in unseen for low, high in (result.band(r),)]
        others = tuple(mean_error(predict(unseen, *other)) for other in result.others)
        covered = float(np.mean([share.mean() for share in inside]))
        folds.append(HeldOut(gain, result, result.predict(unseen), covered, others))
    return tuple(folds)


def report(
    recordings: Sequence[Recording],
    models: Sequence[str] = tuple(FRICTION_MODELS),
    *,
    starts: int = 12,
    seed: int = 0,
    source: str = SOURCE,
) -> dict[str, Any]:
    """Identify and cross-validate several friction models; returns plain data for `pliant.files.write_json`.

    Under `models`, one entry each: what `IdentificationResult.summary` gives, and `leave_one_gain_out` with the
    residuals of each gain as predicted from the others. `pliant.actuators.bam.find_servo` reads such a file.
    """
    entries = []
    for model in models:
        result = identify(recordings, model, starts=starts, seed=seed, source=source)
        folds = leave_one_gain_out(recordings, model, starts=starts, seed=seed)
        entries.append({**result.summary(), "leave_one_gain_out": [fold.summary() for fold in folds]})
    return {"source": source, "recordings": [r.name for r in recordings], "models": entries}


def read_report(file: PathLike) -> dict[str, tuple[BamServo, dict[str, float]]]:
    """Return servo and bench, by friction model, from a file that holds what `report` gave.

    Raises:
        MissingFileError: no such file.
        FileFormatError: it holds something else.
    """
    path = existing_file(file, "identification report")
    try:
        content = json.loads(path.read_text("utf-8"))
        check_json(content, f"identification report {path}")
        return {
            entry["servo"]["model"]: (
                servo_from_data(entry["servo"], str(path)),
                {p.name: float(entry["bench"][p.name]) for p in BENCH_PARAMETERS},
            )
            for entry in content["models"]
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"identification report {path} cannot be read: {type(error).__name__} {error}."
        ) from error


def _of_one_bench(recordings: Sequence[Recording]) -> tuple[Recording, ...]:
    if not recordings:
        raise ConfigurationError("no recordings to identify a servo from.")
    benches = {(r.servo, r.mass, r.length) for r in recordings}
    if len(benches) > 1:
        raise ConfigurationError(
            "the recordings must be of one servo, mass and length; they are of "
            f"{', '.join(f'{servo} with {mass:g} kg at {length:g} m' for servo, mass, length in sorted(benches))}."
        )
    if len({r.name for r in recordings}) < len(recordings):
        raise ConfigurationError("two recordings have the same name.")
    return tuple(recordings)
