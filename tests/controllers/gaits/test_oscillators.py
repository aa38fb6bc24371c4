import math

import numpy as np
import pytest

from pliant.controllers.gaits import PATTERNS, Hopf, Kuramoto, Salamander, cadence
from pliant.errors import OutOfBoundsError, ShapeError

KINDS = (Kuramoto, Hopf, Salamander)


@pytest.mark.parametrize("kind", KINDS)
def test_locked_phases_turn_at_the_frequency(kind):
    rhythm = kind()
    rhythm.begin(PATTERNS["ripple"].offsets)
    for _ in range(100):
        rhythm.advance(0.01, 0.7)
    expected = np.mod(PATTERNS["ripple"].offsets + 0.7, 1.0)
    np.testing.assert_allclose(rhythm.phase / (2 * math.pi), expected, atol=1e-9)
    np.testing.assert_allclose(rhythm.amplitude, rhythm.limit, atol=1e-12)


def test_two_kuramoto_oscillators_lock_as_the_closed_form_says():
    # ψ̇ = −K·sin ψ: tan(ψ/2) = tan(ψ₀/2)·exp(−K·t)
    rhythm = Kuramoto(coupling=3.0, count=2)
    rhythm.perturb([0.0, 2.5])
    for _ in range(40):
        rhythm.advance(0.02, 1.0)
    apart = np.diff(rhythm.phase)[0]
    assert math.tan(apart / 2) == pytest.approx(math.tan(1.25) * math.exp(-3.0 * 0.8), rel=1e-6)


def test_kuramoto_oscillators_of_two_frequencies_stay_apart_by_the_arcsine():
    # Δω = K·sin ψ as long as Δω < K
    rhythm = Kuramoto(coupling=3.0, count=2)
    for _ in range(500):
        rhythm.advance(0.02, [1.0, 1.3])
    assert np.diff(rhythm.phase)[0] == pytest.approx(math.asin(2 * math.pi * 0.3 / 3.0), rel=1e-6)


@pytest.mark.parametrize("start", [0.1, 2.0])
def test_the_hopf_amplitude_is_the_closed_form(start):
    # r² = μ/(1 + (μ/r₀² − 1)·exp(−2·α·μ·t))
    rhythm = Hopf(alpha=50.0, mu=1.5)
    rhythm.begin(np.zeros(6), amplitude=np.full(6, start))
    rhythm.advance(0.03, 1.0)
    expected = 1.5 / (1 + (1.5 / start**2 - 1) * math.exp(-2 * 50 * 1.5 * 0.03))
    np.testing.assert_allclose(rhythm.amplitude**2, expected, rtol=1e-4)
    for _ in range(20):
        rhythm.advance(0.03, 1.0)
    np.testing.assert_allclose(rhythm.amplitude, math.sqrt(1.5), rtol=1e-9)


def test_mu_may_be_moved_while_it_runs():
    rhythm = Hopf()
    rhythm.mu = 2.0
    rhythm.advance(1.0, 1.0)
    np.testing.assert_allclose(rhythm.amplitude, math.sqrt(2.0), rtol=1e-9)
    with pytest.raises(OutOfBoundsError):
        rhythm.mu = 0.0


def test_the_salamander_amplitude_is_critically_damped():
    # r = R + (r₀ − R)·(1 + a·t/2)·exp(−a·t/2)
    rhythm = Salamander(gain=20.0, amplitude=2.0)
    rhythm.begin(np.zeros(6), amplitude=np.full(6, 0.5))
    rhythm.advance(0.17, 1.0)
    expected = 2.0 - 1.5 * (1 + 1.7) * math.exp(-1.7)
    np.testing.assert_allclose(rhythm.amplitude, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_is_found_from_any_start(kind, name):
    offsets = PATTERNS[name].offsets
    for seed in range(5):
        rhythm = kind()
        rhythm.begin(offsets)
        rhythm.perturb(np.random.default_rng(seed).uniform(0, 2 * math.pi, 6))
        for _ in range(100):
            rhythm.advance(0.1, 1.0)
        apart = rhythm.phase - rhythm.phase[0] - 2 * math.pi * (offsets - offsets[0])
        np.testing.assert_allclose(np.angle(np.exp(1j * apart)), 0.0, atol=1e-6)


def test_the_cadence_of_cpg_rl():
    assert cadence(2 * math.pi * 5, 2 * math.pi * 2) == (pytest.approx(1 / 0.35), pytest.approx(0.25 / 0.35))


def test_what_cannot_be_is_refused():
    with pytest.raises(OutOfBoundsError, match="Hopf: mu"):
        Hopf(mu=-1.0)
    with pytest.raises(OutOfBoundsError, match="coupling"):
        Kuramoto(coupling=math.nan)
    rhythm = Salamander()
    with pytest.raises(ShapeError):
        rhythm.couple([0.0, 0.5])
    for dt, frequency in ((-0.1, 1.0), (math.nan, 1.0), (0.1, math.nan)):
        with pytest.raises(OutOfBoundsError):
            rhythm.advance(dt, frequency)
