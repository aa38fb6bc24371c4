"""The least-squares problem behind `pliant.controllers.identification`.

Whole recordings are simulated open loop from their first sample, and the parameters x minimise

    ½ Σ_r Σ_i ρ((q_sim − q_meas)/σ)·T_i/T_c + ½ Σ_j ((x_j − μ_j)/σ_j)²

ρ is the smooth absolute value (soft L1): the fit is judged by mean absolute error, and where a pendulum sticks
a moment too early is no better known than by how far. The errors are the model's, not the encoder's: they hang
together over T_c, so a sample that stands for T_i seconds counts as T_i/T_c independent ones, of σ each. A
pendulum that stands still says where it got stuck once, not once every T_c: T_i is the sampling period in motion,
and all samples of one standstill together stand for T_c at most (`counted_time`). Otherwise a fit bends its
friction until every standstill is met, and errs at the gains it has not seen. σ and T_c are
expected at first; where the fit turns out better, it is refined with what is measured on it. The second sum is
prior knowledge, the servo's published parameters and plausible sizes of the rest: weak against what the
recordings determine, it settles what they do not (a pendulum whose arm was not weighed does not tell the scale
of the torques).

With P = JᵀJ + 1 and the measured errors k times the expected in variance per independent sample, the estimate's
covariance about one minimum is P⁻¹(k·JᵀJ + 1)P⁻¹, in units of the prior's spread.

The cost has many local minima, as every sample at which the pendulum sticks is a discontinuity: hence the
screening of random starts, and finite differences that begin wide. Minima that the recordings cannot tell from the
best one (`ServoFit.equals`) are kept: how far they lie apart, in parameters and in what they predict, is part of
the uncertainty.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import chi2

from pliant.actuators.bam import PARAMETERS, SERVOS, BamServo, friction_model
from pliant.controllers.checks import Array
from pliant.controllers.pendulum_bench import BENCH_PARAMETERS, STEP, Recording, predict, simulate

MODEL_ERROR = 0.02
"""σ expected at first, rad."""
CORRELATION_TIME = 0.4
"""T_c expected at first, s."""

_SCREENED = 200
_WIDTHS = (0.03, 0.003)  # of the finite differences, stage by stage, in standard deviations of the prior
_ITERATIONS = 60
_SMALLEST_ERROR = 1e-4  # rad: finer than any encoder here
_NORMAL_95 = 1.959964
_STILL = 0.004  # rad within _STILL_TIME: two counts of an encoder with 4096, and its noise
_STILL_TIME = 0.1  # s
_STRIBECK_RANGES = {"stribeck_speed": (0.01, 3.0), "stribeck_exponent": (0.5, 2.0)}


class Unknown(NamedTuple):
    """A parameter to identify: what is known of it beforehand, and its bounds."""

    name: str
    unit: str
    mean: float
    spread: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """A parameter as identified, with its standard error and 95 % interval (inside its bounds)."""

    name: str
    unit: str
    value: float
    standard_error: float
    low95: float
    high95: float
    informed: float
    """Share of the prior's variance that the recordings took away: near 0, the value is the prior's."""


def unknowns(servo: BamServo, model: str) -> tuple[Unknown, ...]:
    """What there is to identify, with the prior that a servo's published M1 set gives.

    Torques scale with its Coulomb friction, quadratic terms with its stall torque. The Stribeck curve is kept to
    the range, and near the starting value, of the family's authors (better-actuator-models 1.0.2): outside it,
    friction of rest no longer fades with speed and passes for friction in motion.
    """
    known = servo.values
    coulomb, viscous = known["kc"], known["kv"]
    stall = known["kt"] * servo.voltage / known["resistance"]
    priors = {
        "kt": (known["kt"], 0.3 * known["kt"]),
        "resistance": (known["resistance"], 0.3 * known["resistance"]),
        "armature": (known["armature"], 0.5 * known["armature"]),
        "supply_resistance": (0.04 * known["resistance"], 0.03 * known["resistance"]),
        "heating": (0.006, 0.004),
        "kv": (viscous, viscous),
        "kc": (coulomb, coulomb),
        "kcs": (0.5 * coulomb, coulomb),
        "stribeck_speed": (0.2, 1.0),
        "stribeck_exponent": (1.35, 0.4),
        "kmq": (0.4 / stall, 0.7 / stall),
        "keq": (0.4 / stall, 0.7 / stall),
        "arm_mass": (0.05, 0.05),
        "position_offset": (0.0, 0.01),
        "command_delay": (0.004, 0.004),
    } | dict.fromkeys(("km", "ke", "kms", "kes"), (0.1, 0.1))
    always = ("kt", "resistance", "armature", "supply_resistance", "heating")
    names = (*always, *friction_model(model).free, *(p.name for p in BENCH_PARAMETERS))
    described = {p.name: p for p in (*PARAMETERS, *BENCH_PARAMETERS)}
    ranges = {name: (described[name].low, described[name].high) for name in names} | _STRIBECK_RANGES
    return tuple(Unknown(name, described[name].unit, *priors[name], *ranges[name]) for name in names)


def counted_time(recording: Recording, correlation: float) -> Array:
    """Return the time that each sample stands for, (samples,), s: a standstill counts `correlation` s at most."""
    period = np.gradient(recording.time)
    half = max(round(0.5 * _STILL_TIME / float(np.median(period))), 1)
    padded = np.pad(recording.position, half, "edge")
    still = np.abs(padded[2 * half :] - padded[: -2 * half]) < _STILL
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
    for begin, end in edges.reshape(-1, 2):
        period[begin:end] *= min(correlation / period[begin:end].sum(), 1.0)
    return period


class ServoFit:
    """The problem for one friction model and one set of recordings, in coordinates u = (x − μ)/σ of the prior."""

    def __init__(self, recordings: Sequence[Recording], model: str, source: str) -> None:
        """Take recordings of one servo on one bench; `source` is written into the servos that are built."""
        self.recordings = recordings
        self.published = SERVOS[recordings[0].servo]
        self.model = model
        self.source = source
        self._expect(MODEL_ERROR, CORRELATION_TIME)
        self.step = 2.0 * STEP
        """Of the simulation: coarse for the search, `STEP` for what is refined."""
        self.unknowns = unknowns(self.published, model)
        _, _, mean, spread, low, high = zip(*self.unknowns, strict=True)
        self.mean, self.spread = np.array(mean), np.array(spread)
        self.low = (np.array(low) - self.mean) / self.spread
        self.high = (np.array(high) - self.mean) / self.spread

    def built(self, u: Array) -> tuple[BamServo, dict[str, float]]:
        """Servo and bench at a point."""
        values = {
            unknown.name: min(max(float(unknown.mean + unknown.spread * x), unknown.low), unknown.high)
            for unknown, x in zip(self.unknowns, u, strict=True)
        }
        bench = {p.name: values.pop(p.name) for p in BENCH_PARAMETERS}
        like, voltage = self.published, self.recordings[0].voltage
        return BamServo(
            like.name, self.model, values, voltage, self.source, like.error_gain, like.max_duty
        ), bench  # fmt: skip

    def cost(self, u: Array) -> float:
        """What is minimised."""
        terms = self._terms(u)
        return 0.5 * float(terms @ terms)

    def screened(self, count: int, rng: np.random.Generator) -> list[Array]:
        """Starts inside the bounds: the prior's mean, and the best of many draws from the prior."""
        room = 1e-3 * np.minimum(self.high - self.low, 1.0)
        draws = rng.normal(size=(_SCREENED, len(self.unknowns)))
        mean, *draws = np.clip([np.zeros(len(self.unknowns)), *draws], self.low + room, self.high - room)
        if count > 1:
            draws.sort(key=self.cost)
        return [mean, *draws[: count - 1]]

    def search(self, start: Array, widths: Sequence[float | Array] = _WIDTHS) -> Array:
        """Local search: first with wide differences, which see past the jumps, then with narrow ones."""
        u = start
        for width in widths:
            slope = partial(self._slope, width=width)
            u = least_squares(self._terms, u, slope, bounds=(self.low, self.high), max_nfev=_ITERATIONS).x
        return u

    def refined(self, u: Array) -> Array:
        """Search again in fine steps, with the σ and T_c measured at a point if they are the better ones."""
        self.step = STEP
        sigma, correlation = self._measured(u)
        if sigma**2 * correlation < self.sigma**2 * self.correlation:
            self._expect(sigma, correlation)
        return self.search(u, [_widths(self._information(u))])

    def equals(self, points: Sequence[Array], best: Array) -> list[Array]:
        """Those of the points that lie in the joint 95 % region of the best one: 2·Δcost ≤ k·χ²₀.₉₅."""
        limit = self.cost(best) + 0.5 * self._excess(best) * float(chi2.ppf(0.95, len(best)))
        return [point for point in points if self.cost(point) <= limit]

    def covariance(self, u: Array) -> Array:
        """Of the estimate about a point, in units of the prior's spread."""
        information, one = self._information(u), np.eye(len(u))
        inverse = np.linalg.inv(information + one)
        spread: Array = inverse @ (self._excess(u) * information + one) @ inverse
        return spread

    def draws(self, u: Array, covariance: Array, count: int, rng: np.random.Generator) -> list[Array]:
        """Points about an estimate as its covariance spreads them, inside the bounds."""
        return [np.clip(point, self.low, self.high) for point in rng.multivariate_normal(u, covariance, count)]

    def estimates(self, u: Array, covariance: Array, equals: Sequence[Array] = ()) -> tuple[Estimate, ...]:
        """Values at a point, with standard errors and 95 % intervals that take in other minima just as good.

        Variance is that about the point, and the mean square distance to the others.
        """
        variance = np.diag(covariance) + np.mean([(other - u) ** 2 for other in (u, *equals)], axis=0)
        found = []
        for unknown, x, v in zip(self.unknowns, self.mean + self.spread * u, variance, strict=True):
            error = unknown.spread * math.sqrt(v)
            low, high = max(x - _NORMAL_95 * error, unknown.low), min(x + _NORMAL_95 * error, unknown.high)
            values = map(float, (x, error, low, high, max(1.0 - v, 0.0)))
            found.append(Estimate(unknown.name, unknown.unit, *values))
        return tuple(found)

    def _expect(self, sigma: float, correlation: float) -> None:
        self.sigma, self.correlation = sigma, correlation
        counted = np.concatenate([counted_time(recording, correlation) for recording in self.recordings])
        self._scale = np.sqrt(counted / correlation)

    def _errors(self, u: Array) -> Array:
        """Errors over σ, weighted by √(independent samples per sample), all recordings in a row."""
        servo, bench = self.built(u)
        errors = [simulate(r, servo, bench, step=self.step) - r.position for r in self.recordings]
        return np.concatenate(errors) * self._scale / self.sigma

    def _terms(self, u: Array) -> Array:
        """All terms whose squares are summed: softened errors, then the prior's."""
        errors = self._errors(u)
        scale = self._scale  # the weighted error where q_sim − q_meas is σ
        softened = scale * np.sqrt(2.0 * (np.sqrt(1.0 + (errors / scale) ** 2) - 1.0))
        return np.concatenate([np.copysign(softened, errors), u])

    def _slope(self, u: Array, width: float | Array, *, raw: bool = False) -> Array:
        """Derivative of the terms (of the errors before softening where `raw`) by differences of some width."""
        function = self._errors if raw else self._terms
        here = function(u)
        columns = []
        for i, change in enumerate(np.broadcast_to(width, u.shape)):
            other = u.copy()
            other[i] += change if u[i] + change < self.high[i] else -change
            columns.append((function(other) - here) / (other[i] - u[i]))
        return np.stack(columns, axis=1)

    def _information(self, u: Array) -> Array:
        """JᵀJ, by differences that are narrow against what each parameter is uncertain by.

        Any wider and curvature passes for information, above all where parameters can stand in for each other.
        """
        slope = self._slope(u, _WIDTHS[-1], raw=True)
        slope = self._slope(u, _widths(slope.T @ slope), raw=True)
        return slope.T @ slope

    def _excess(self, u: Array) -> float:
        """k: measured over expected variance per independent sample."""
        sigma, correlation = self._measured(u)
        return sigma**2 * correlation / (self.sigma**2 * self.correlation)

    def _measured(self, u: Array) -> tuple[float, float]:
        """σ and T_c of the errors at a point."""
        fits = predict(self.recordings, *self.built(u))
        sigma = max(math.sqrt(np.mean([fit.rms**2 for fit in fits])), _SMALLEST_ERROR)
        return sigma, max(float(np.mean([fit.correlation_time for fit in fits])), STEP)


def _widths(information: Array) -> Array:
    """A tenth of each parameter's uncertainty, the others fixed, in units of the prior's spread."""
    return 0.1 / np.sqrt(np.diag(information) + 1.0)
