import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.signal import cont2discrete, lfilter

from pliant.controllers import Chirp
from pliant.controllers.frequency_response import (
    FrequencyResponse,
    LinearJoint,
    bandwidth,
    coherent,
    estimate_frequency_response,
    resonance,
)
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError

PERIOD = 0.005
SOFT = LinearJoint(stiffness=0.1063, inertia=3.2e-4, damping=1.2e-3)  # 2.9 Hz, damping ratio 0.10
STIFF = LinearJoint(stiffness=3.784, inertia=3.2e-4, damping=1.2e-3)  # 17 Hz
SWEEP = Chirp(0.15, 0.5, 6.0, 60.0)
BAND = (0.5, 6.0)

joints = st.builds(
    LinearJoint, st.floats(0.05, 10), st.floats(1e-4, 1.0), st.floats(0.0, 3.0), st.floats(-0.04, 1.0)
)


def answer(joint, u):
    """Return the joint's motion from rest at 0, exact for an input that goes straight from sample to sample."""
    plant = ([joint.stiffness], [joint.inertia, joint.damping, joint.stiffness + joint.gravity_stiffness])
    numerator, denominator, _ = cont2discrete(plant, PERIOD, method="foh")
    return lfilter(numerator.ravel(), denominator, u)


def swept(segment):
    """Return a chirp with half a segment at rest before and after it."""
    t = np.arange(-segment / 2, SWEEP.duration + segment / 2, PERIOD)
    return np.where((t >= 0.0) & (t <= SWEEP.duration), SWEEP.position(t)[:, 0], 0.0)


def noise(samples, seed=0):
    return np.random.default_rng(seed).standard_normal(samples)


@pytest.mark.parametrize("ratio", [0.05, 0.1, 0.2, 0.5])
@pytest.mark.parametrize("sigma", [0.0, 0.01])
def test_a_chirp_finds_resonance_and_bandwidth_of_a_known_joint(ratio, sigma):
    joint = LinearJoint(0.1063, 3.2e-4, 2.0 * ratio * np.sqrt(0.1063 * 3.2e-4))
    u = swept(15.0)
    y = answer(joint, u) + sigma * noise(len(u))
    found = coherent(estimate_frequency_response(u, y, PERIOD, 15.0, BAND))
    peak = resonance(found)
    assert peak.frequency == pytest.approx(joint.resonance.frequency, rel=0.01)
    assert peak.gain == pytest.approx(joint.resonance.gain, rel=0.06)
    assert bandwidth(found, joint.static_gain) == pytest.approx(joint.bandwidth, rel=0.01)


def test_without_noise_a_linear_joint_is_coherent_and_has_its_own_gain_and_phase():
    u = swept(15.0)
    found = estimate_frequency_response(u, answer(SOFT, u), PERIOD, 15.0, BAND)
    true = SOFT.response(found.frequency)
    assert (found.coherence > 0.97).all()
    assert np.median(found.coherence) > 0.999
    np.testing.assert_allclose(found.gain, true.gain, rtol=0.02)
    np.testing.assert_allclose(found.phase, true.phase, atol=0.03)
    assert found.phase[-1] < -2.5


def test_beyond_the_frequencies_excited_nothing_is_read_off():
    u = swept(15.0)
    found = coherent(estimate_frequency_response(u, answer(STIFF, u), PERIOD, 15.0, BAND))
    assert resonance(found) is None
    assert bandwidth(found, 1.0) is None
    np.testing.assert_allclose(found.gain, STIFF.response(found.frequency).gain, rtol=0.01)


def test_an_overdamped_joint_has_a_bandwidth_but_no_resonance():
    heavy = LinearJoint(0.1063, 3.2e-4, 0.02)
    u = swept(15.0)
    found = coherent(estimate_frequency_response(u, answer(heavy, u), PERIOD, 15.0, BAND))
    assert resonance(found) is None
    assert heavy.resonance is None
    assert bandwidth(found, 1.0) == pytest.approx(heavy.bandwidth, rel=0.01)


def test_noise_in_the_output_lowers_the_coherence_by_its_share_and_leaves_the_gain():
    u = noise(400_000)
    clean = answer(SOFT, u)
    found = estimate_frequency_response(u, clean + 0.5 * noise(len(u), 1), PERIOD, 10.0, (0.3, 20.0))
    true = SOFT.response(found.frequency)
    np.testing.assert_allclose(found.coherence, true.gain**2 / (true.gain**2 + 0.5**2), atol=0.06)
    wide = (true.gain > 0.3) & (np.abs(found.frequency - 2.9) > 0.3)
    np.testing.assert_allclose(found.gain[wide], true.gain[wide], rtol=0.2)
    assert np.mean(found.gain[wide] / true.gain[wide]) == pytest.approx(1.0, abs=0.01)


def test_noise_in_the_excitation_record_makes_the_gain_too_small_by_the_coherence():
    u = noise(400_000)
    found = estimate_frequency_response(u + 0.7 * noise(len(u), 1), answer(SOFT, u), PERIOD, 10.0, (0.3, 2.0))
    share = 1.0 / (1.0 + 0.7**2)
    assert np.mean(found.coherence) == pytest.approx(share, abs=0.02)
    assert np.mean(found.gain / SOFT.response(found.frequency).gain) == pytest.approx(share, abs=0.02)


def test_records_that_have_nothing_to_do_with_each_other_are_not_coherent():
    found = estimate_frequency_response(noise(40_000), noise(40_000, 1), PERIOD, 5.0)
    assert np.mean(found.coherence) < 0.1
    with pytest.raises(OutOfBoundsError, match=r"coherence is 0\.8 or more at no 3 frequencies .* median is 0\.0"):
        coherent(found)
    with pytest.raises(OutOfBoundsError, match="at no 3 frequencies"):
        coherent(estimate_frequency_response(noise(4000), np.full(4000, 0.3), PERIOD, 1.0))
    still = estimate_frequency_response(noise(4000), np.zeros(4000), PERIOD, 1.0)
    assert (still.coherence == 0.0).all()
    assert resonance(still) is None


def test_frequencies_that_are_not_excited_have_no_response():
    t = PERIOD * np.arange(8000)
    found = estimate_frequency_response(np.sin(2.0 * np.pi * 3.0 * t), noise(8000), PERIOD, 5.0)
    silent = np.abs(found.frequency - 3.0) > 0.5
    np.testing.assert_array_equal(found.response[silent], 0.0)
    np.testing.assert_array_equal(found.coherence[silent], 0.0)
    assert found.coherence[15] > 0.0


def test_a_record_is_wholly_coherent_with_itself_and_no_more():
    for seed in range(5):
        found = estimate_frequency_response(noise(1000, seed), noise(1000, seed), PERIOD, 0.5)
        np.testing.assert_allclose(found.coherence, 1.0)
        assert (found.coherence <= 1.0).all()


def test_neither_an_offset_nor_a_scale_of_the_records_matters():
    u = swept(15.0)
    y = answer(SOFT, u)
    plain, moved = (
        estimate_frequency_response(a * u + b, a * y + c, PERIOD, 15.0, BAND)
        for a, b, c in [(1, 0, 0), (1e3, 5, -7)]
    )
    np.testing.assert_allclose(moved.response, plain.response, rtol=1e-6)
    np.testing.assert_allclose(moved.coherence, plain.coherence, rtol=1e-6)


def test_the_coherent_part_is_the_longest_run():
    f = np.arange(10.0)
    coherence = np.array([0.9, 0.9, 0.1, 0.95, 0.99, 0.8, 0.85, 0.2, 0.9, 1.0])
    part = coherent(FrequencyResponse(f, f + 0j, coherence))
    np.testing.assert_array_equal(part.frequency, [3, 4, 5, 6])
    np.testing.assert_array_equal(part.response, [3, 4, 5, 6])
    np.testing.assert_array_equal(part.coherence, coherence[3:7])
    whole = FrequencyResponse(f, f + 0j, np.ones(10))
    np.testing.assert_array_equal(coherent(whole, 1.0).frequency, f)


@given(joints, st.floats(0.05, 0.3))
def test_the_peak_of_a_second_order_system_is_found_between_the_frequencies(joint, spacing):
    assume(joint.damping_ratio < 0.6)
    top = joint.resonance.frequency
    found = resonance(joint.response(np.arange(0.2 * top, 3.0 * top, spacing * top)))
    assert found.frequency == pytest.approx(top, rel=1e-3)
    if joint.damping_ratio > 0.05:
        assert found.gain == pytest.approx(joint.resonance.gain, rel=1e-3)


@given(joints)
def test_the_joints_bandwidth_and_peak_are_those_of_its_response(joint):
    at = joint.response([0.0, joint.bandwidth])
    assert at.gain[0] == pytest.approx(joint.static_gain)
    assert at.gain[1] == pytest.approx(joint.static_gain / np.sqrt(2.0))
    if joint.resonance is not None and joint.damping_ratio > 1e-3:
        around = joint.resonance.frequency * np.array([0.99, 1.0, 1.01])
        gain = joint.response(around).gain
        assert gain[1] == pytest.approx(joint.resonance.gain, rel=1e-6)
        assert gain[1] >= max(gain[0], gain[2])


def test_a_joint_swings_with_the_root_of_stiffness_over_inertia():
    assert LinearJoint(8.0, 2.0).natural_frequency == pytest.approx(2.0 / (2.0 * np.pi))
    hanging = LinearJoint(6.0, 2.0, 4.0, gravity_stiffness=2.0)
    assert hanging.natural_frequency == pytest.approx(2.0 / (2.0 * np.pi))
    assert (hanging.damping_ratio, hanging.static_gain) == pytest.approx((0.5, 0.75))
    assert LinearJoint(8.0, 2.0).resonance.gain == np.inf


def test_the_bandwidth_is_read_off_between_the_frequencies():
    f = np.array([1.0, 2.0, 3.0, 4.0])
    falling = FrequencyResponse(f, np.array([1.0, 1.2, 0.9, 0.5]) + 0j, np.ones(4))
    assert bandwidth(falling, 1.0) == pytest.approx(3.0 + (0.9 - np.sqrt(0.5)) / 0.4)
    assert bandwidth(falling, 0.6) is None
    assert bandwidth(falling, 2.0) is None


U = noise(1000)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: estimate_frequency_response(U, U[1:], 0.01, 1), ShapeError, r"output has shape \(999,\)"),
        (lambda: estimate_frequency_response(np.eye(3), np.eye(3), 0.01, 1), ShapeError, "excitation has shape"),
        (lambda: estimate_frequency_response(U * np.nan, U, 0.01, 1), OutOfBoundsError, r"excitation\[0\] is nan"),
        (lambda: estimate_frequency_response(U, U, 0, 1), OutOfBoundsError, "sampling period is 0 s"),
        (
            lambda: estimate_frequency_response(U, U, 0.01, 2.6),
            OutOfBoundsError,
            r"segment of 2\.6 s does not suit 1000 samples every 0\.01 s: .* at least 0\.08 s, and at most 2\.5 s",
        ),
        (lambda: estimate_frequency_response(U, U, 0.01, 0.07), OutOfBoundsError, r"segment of 0\.07 s"),
        (lambda: estimate_frequency_response(U, U, 0.01, 1e300), OutOfBoundsError, r"segment of 1e\+300 s"),
        (lambda: estimate_frequency_response(0 * U + 2, U, 0.01, 1), OutOfBoundsError, r"constant \(2\)"),
        (
            lambda: estimate_frequency_response(U, U, 0.01, 1, (60, 70)),
            OutOfBoundsError,
            r"no frequency in the band \[60, 70\] Hz: there is one every 1 Hz, up to 50 Hz",
        ),
        (lambda: coherent(SOFT.response([1, 2, 3]), 1.5), OutOfBoundsError, "least coherence = 1.5"),
        (lambda: bandwidth(SOFT.response([1, 2, 3]), 0.0), OutOfBoundsError, "static gain is 0"),
        (lambda: LinearJoint(0, 1), OutOfBoundsError, "LinearJoint stiffness is 0 N·m/rad"),
        (lambda: LinearJoint(1, np.inf), OutOfBoundsError, "LinearJoint inertia is inf"),
        (lambda: LinearJoint(1, 1, -1), OutOfBoundsError, "LinearJoint damping = -1"),
        (lambda: LinearJoint(1, 1, 0, np.nan), OutOfBoundsError, "gravity_stiffness is nan"),
        (lambda: LinearJoint(1, 1, 0, -2), ConfigurationError, "does not hold a gravity_stiffness of -2"),
        (lambda: SOFT.response([1, np.nan]), OutOfBoundsError, r"frequency\[1\] is nan"),
    ],
)
def test_wrong_arguments_are_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_longest_segment_allowed_is_a_quarter_of_the_records():
    found = estimate_frequency_response(U, U, 0.01, 2.5)
    np.testing.assert_allclose(np.diff(found.frequency), 0.4)
    np.testing.assert_allclose(found.response[1:], 1.0)
