"""Frequency responses: measured from records, read off (resonance, bandwidth), and of a linearised soft joint.

Frequencies are in Hz, as on a chirp; times in s. A response is output per input: rad per rad for a joint that is
driven by its equilibrium.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.controllers.checks import Array, all_finite, finite_array, number_array, positive
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds

_SEGMENTS = 4
"""Segments that records must hold side by side: the coherence of fewer says little, that of one is always 1."""

_SHORTEST = 8
"""Samples in a segment."""

_EXCITED = 1e-12
"""Below this share of the largest input power there is only rounding."""

_SHARPEST = 1e-3
"""The smallest 1/|H|² weighs no more in a fit than this share of the largest."""

_POINTS = 3
"""Frequencies needed to tell a peak."""


class FrequencyResponse(NamedTuple):
    """A response at some frequencies, and how much of the output the input explains there."""

    frequency: Array
    """(n,), Hz, increasing."""
    response: NDArray[np.complex128]
    """H, output per input, (n,)."""
    coherence: Array
    """γ², in [0, 1], (n,): 1 for a linear system without noise."""

    @property
    def gain(self) -> Array:
        """|H|, (n,)."""
        return np.abs(self.response)

    @property
    def phase(self) -> Array:
        """Angle of H without jumps, (n,), rad: negative where the output lags."""
        return np.unwrap(np.angle(self.response))

    def part(self, chosen: slice | NDArray[np.bool_]) -> Self:
        """Return the response at some of its frequencies."""
        return type(self)(self.frequency[chosen], self.response[chosen], self.coherence[chosen])


class Resonance(NamedTuple):
    """The peak of a response."""

    frequency: float
    """Where |H| is largest, Hz."""
    gain: float
    """|H| there."""


def estimate_frequency_response(
    excitation: ArrayLike,
    output: ArrayLike,
    period: float,
    segment: float,
    band: tuple[float, float] = (0.0, math.inf),
) -> FrequencyResponse:
    """Return the response that two records show.

    H = S_uy/S_uu (the estimator H1), γ² = |S_uy|²/(S_uu·S_yy), with the spectra of input u and output y averaged
    over segments, less their means and under a Hann window (Welch's method). Noise in the output averages out;
    noise in the record of the excitation, if nothing else, makes H too small by the factor γ². Frequencies that
    are not excited have H = 0 and γ² = 0.

    A long segment resolves, a short one averages: a resonance whose half-power points are 5/segment apart comes
    out 5 % too low, a narrower one lower still, and the coherence dips there. For a chirp let both records begin
    and end with half a segment at rest, or the frequencies at its ends count too little.

    Args:
        excitation: what drove the system, (n,).
        output: what it did, (n,), at the same times.
        period: time between samples, s.
        segment: length of a segment, s, at most a quarter of the records; frequencies are 1/segment apart.
        band: lowest and highest frequency to return, Hz: those that were excited.

    Raises:
        ShapeError: records of different lengths or of more than one column.
        OutOfBoundsError: NaN, a segment too long or too short, a constant excitation, an empty band.

    Source: Bendat & Piersol 2010, Random Data, sections 6.1 (the estimators) and 9.2 (their errors).
    """
    from scipy.signal import csd, welch  # 1 s to import

    u = finite_array("excitation", excitation, (None,))
    y = finite_array("output", output, u.shape)
    step = positive("sampling period", period, "s")
    size = _samples(positive("segment", segment, "s"), step, len(u))
    if np.ptp(u) == 0.0:
        raise OutOfBoundsError(f"the excitation is constant ({u[0]:g}): no response can be told from it.")
    overlap = size - size // 4  # squared Hann windows a quarter apart add up to a constant: no moment counts more
    frequency, cross = csd(u, y, 1.0 / step, nperseg=size, noverlap=overlap)
    power_u = welch(u, 1.0 / step, nperseg=size, noverlap=overlap)[1]
    power_y = welch(y, 1.0 / step, nperseg=size, noverlap=overlap)[1]
    excited = power_u > _EXCITED * power_u.max()
    response = np.divide(cross, power_u, out=np.zeros_like(cross), where=excited)
    product = power_u * power_y
    coherence = np.divide(np.abs(cross) ** 2, product, out=np.zeros_like(product), where=excited & (product > 0.0))
    return _within(band, FrequencyResponse(frequency, response, np.minimum(coherence, 1.0)))


def coherent(response: FrequencyResponse, least: float = 0.8) -> FrequencyResponse:
    """Return the longest run of frequencies whose coherence is at least `least`.

    Raises:
        OutOfBoundsError: fewer than 3 frequencies in a row are.
    """
    check_bounds("least coherence", least, 0.0, 1.0)
    good = np.concatenate([[False], response.coherence >= least, [False]])
    edges = np.flatnonzero(np.diff(good)).reshape(-1, 2)  # first of a run, first after it
    first, after = max(edges.tolist(), key=lambda run: run[1] - run[0], default=(0, 0))
    if after - first < _POINTS:
        raise OutOfBoundsError(
            f"the coherence is {least:g} or more at no {_POINTS} frequencies in a row (its median is "
            f"{np.median(response.coherence):.3g}): more excitation, a longer record or another segment is needed."
        )
    return response.part(slice(first, after))


def resonance(response: FrequencyResponse) -> Resonance | None:
    """Return the highest peak of a measured response, or None if its top is not within the frequencies given.

    1/|H|² of a second-order system is a parabola in ω²; it is fitted to the frequencies around the largest gain
    that are above 1/√2 of it (relative errors weighted alike), and the peak is its vertex: finer than the spacing
    of the frequencies, and little moved by noise. The gain of a peak too sharp for that spacing is the largest
    given. Not for two resonances closer than their widths.

    Args:
        response: without incoherent parts; see `coherent`.
    """
    with np.errstate(divide="ignore"):
        inverse = (1.0 / response.gain) ** 2
    top = int(np.argmin(inverse))
    low = high = top
    while low > 0 and inverse[low - 1] <= 2.0 * inverse[top]:
        low -= 1
    while high < len(inverse) - 1 and inverse[high + 1] <= 2.0 * inverse[top]:
        high += 1
    around = slice(max(min(low, top - 1), 0), max(high, top + 1) + 1)
    f, y = response.frequency[around], inverse[around]
    if len(f) < _POINTS or not np.isfinite(y).all():
        return None
    x = (f / f[-1]) ** 2 - 1.0  # of the order of 1 about 0, for the fit
    a, b, c = np.polyfit(x, y, 2, w=1.0 / np.maximum(y, _SHARPEST * y.max()))
    if not (a > 0.0 and x[0] < -b / (2.0 * a) < x[-1]):
        return None
    least = c - b**2 / (4.0 * a)
    gain = 1.0 / math.sqrt(least) if least > 0.0 else float(response.gain[top])
    return Resonance(float(f[-1]) * math.sqrt(1.0 - b / (2.0 * a)), gain)


def bandwidth(response: FrequencyResponse, static_gain: float) -> float | None:
    """Return the frequency at which |H| first falls to 1/√2 (−3 dB) of the static gain, Hz.

    None if it does not between the first and the last of the frequencies given.

    Args:
        response: without incoherent parts; see `coherent`.
        static_gain: |H(0)|, which a chirp does not show: 1 for a soft joint in a horizontal plane, else
            `LinearJoint.static_gain`, or the gain at a frequency far below the resonance.
    """
    gain = response.gain
    level = positive("static gain", static_gain) / math.sqrt(2.0)
    below = np.flatnonzero(gain < level)
    if not below.size or below[0] == 0:
        return None
    pair = slice(below[0] - 1, below[0] + 1)
    return float(np.interp(-level, -gain[pair], response.frequency[pair]))


@dataclass(frozen=True)
class LinearJoint:
    """A soft joint linearised about a rest angle: what a measured response is compared with.

        H(s) = K/(I·s² + d·s + K + G)

    from the equilibrium that the drive sets to the link's angle. Undamped and without gravity it swings with
    √(K/I). Holds for small deflections only: the stiffness of an exponential spring grows with them.
    """

    stiffness: float
    """K of the law at rest, N·m/rad, > 0."""
    inertia: float
    """I of what the joint moves, about its axis, kg·m², > 0."""
    damping: float = 0.0
    """d, N·m·s/rad, ≥ 0."""
    gravity_stiffness: float = 0.0
    """G = −∂τ_gravity/∂q, N·m/rad: m·g·l·cos q of a pendulum that hangs at q = 0; negative if it stands."""

    def __post_init__(self) -> None:
        values = {
            "stiffness": positive("LinearJoint stiffness", self.stiffness, "N·m/rad"),
            "inertia": positive("LinearJoint inertia", self.inertia, "kg·m²"),
            "damping": check_bounds("LinearJoint damping", self.damping, 0.0, math.inf, "N·m·s/rad"),
            "gravity_stiffness": check_bounds(
                "LinearJoint gravity_stiffness", self.gravity_stiffness, -math.inf, math.inf, "N·m/rad"
            ),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if self._total <= 0.0:
            raise ConfigurationError(
                f"LinearJoint: a stiffness of {self.stiffness:g} N·m/rad does not hold a gravity_stiffness of "
                f"{self.gravity_stiffness:g} N·m/rad; their sum must be > 0."
            )

    @property
    def natural_frequency(self) -> float:
        """√((K + G)/I)/2π, Hz."""
        return math.sqrt(self._total / self.inertia) / (2.0 * math.pi)

    @property
    def damping_ratio(self) -> float:
        """ζ = d/(2·√((K + G)·I))."""
        return self.damping / (2.0 * math.sqrt(self._total * self.inertia))

    @property
    def static_gain(self) -> float:
        """H(0) = K/(K + G)."""
        return self.stiffness / self._total

    @property
    def resonance(self) -> Resonance | None:
        """The peak, H(0)/(2ζ·√(1 − ζ²)) at ωn·√(1 − 2ζ²); None for ζ ≥ 1/√2, where there is none."""
        zeta = self.damping_ratio
        if 2.0 * zeta**2 >= 1.0:
            return None
        gain = self.static_gain / (2.0 * zeta * math.sqrt(1.0 - zeta**2)) if zeta else math.inf
        return Resonance(self.natural_frequency * math.sqrt(1.0 - 2.0 * zeta**2), gain)

    @property
    def bandwidth(self) -> float:
        """Where |H| falls to H(0)/√2: ωn·√(b + √(b² + 1))/2π with b = 1 − 2ζ², Hz."""
        b = 1.0 - 2.0 * self.damping_ratio**2
        return self.natural_frequency * math.exp(0.5 * math.asinh(b))  # the same, without cancellation for b < 0

    def response(self, frequency: ArrayLike) -> FrequencyResponse:
        """Return H at frequencies in Hz, (n,), with coherence 1; infinite where an undamped joint resonates."""
        f = all_finite("frequency", number_array("frequency", frequency))
        s = 2j * np.pi * f.astype(np.complex128)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            H = self.stiffness / (self.inertia * s**2 + self.damping * s + self._total)
        return FrequencyResponse(f, H, np.ones_like(f))

    @property
    def _total(self) -> float:
        return self.stiffness + self.gravity_stiffness


def _samples(segment: float, period: float, available: int) -> int:
    """Return the samples in a segment; raise if they are too few, or too many for the records."""
    longest = available // _SEGMENTS
    size = round(min(segment / period, available))
    if not _SHORTEST <= size <= longest:
        raise OutOfBoundsError(
            f"a segment of {segment:g} s does not suit {available} samples every {period:g} s: it must last at "
            f"least {_SHORTEST * period:g} s, and at most {longest * period:g} s so that {_SEGMENTS} of them fit."
        )
    return size


def _within(band: tuple[float, float], response: FrequencyResponse) -> FrequencyResponse:
    """Return the response at the frequencies in a band; raise if there are none."""
    low, high = band
    f = response.frequency
    chosen = (f >= low) & (f <= high)
    if not chosen.any():
        raise OutOfBoundsError(
            f"no frequency in the band [{low:g}, {high:g}] Hz: there is one every {f[1]:.4g} Hz, up to "
            f"{f[-1]:.4g} Hz."
        )
    return response.part(chosen)
