import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import iv

from pliant.actuators import find_law
from pliant.controllers.frequency_response import LinearJoint
from pliant.experiments.harmonic_balance import equivalent_stiffness, harmonic_balance

QBMOVE, SEA = find_law("qbmove")(), find_law("sea")(k=0.2)
A = 8.9992
BAND = np.array([0.5, 2.0, 6.0])


@given(st.floats(1e-3, 0.2), st.floats(0.0, 0.6))
def test_equal_exponential_springs_have_the_stiffness_of_a_bessel_function(amplitude, preset):
    at_rest = QBMOVE.stiffness(0.0, preset, -preset)
    bessel = 2.0 * iv(1, A * amplitude) / (A * amplitude)
    assert equivalent_stiffness(QBMOVE, preset, amplitude) == pytest.approx(at_rest * bessel, rel=1e-6)


def test_a_linear_spring_answers_alike_at_every_amplitude():
    joint = LinearJoint(0.2, 3.2e-4, 0.02)
    for amplitude in (1e-3, 0.1):
        found = harmonic_balance(SEA, 0.0, joint, amplitude, BAND)
        np.testing.assert_allclose(found.response, joint.response(BAND).response, rtol=1e-9)


def test_the_balance_is_one_of_amplitudes():
    joint = LinearJoint(QBMOVE.stiffness(0.0, 0.2, -0.2), 3.2e-4, 0.02)
    found = harmonic_balance(QBMOVE, 0.2, joint, 0.15, BAND)
    for f, H in zip(BAND, found.response, strict=True):
        K = equivalent_stiffness(QBMOVE, 0.2, 0.15 * abs(1.0 - H))
        s = 2j * np.pi * f
        assert pytest.approx(K / (3.2e-4 * s**2 + 0.02 * s + K), rel=1e-6) == H
    small = harmonic_balance(QBMOVE, 0.2, joint, 1e-4, BAND)
    np.testing.assert_allclose(small.response, joint.response(BAND).response, rtol=1e-4)
