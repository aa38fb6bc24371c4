import math
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import toeplitz
from scipy.signal import lsim, lti

from pliant.controllers import (
    IterativeLearning,
    LearningLaw,
    MinimumJerk,
    NormOptimalILC,
    PDTypeILC,
    PTypeILC,
    StopReason,
    joint_impulse_response,
    sample,
)
from pliant.controllers.lifted import LiftedModel
from pliant.errors import OutOfBoundsError, ShapeError

INERTIA, DAMPING, STIFFNESS = 0.02, 0.065, 0.8  # a soft arm's joint: resonance 6.3 rad/s, damping ratio 0.26
OMEGA = math.sqrt(STIFFNESS / INERTIA)
ZETA = DAMPING / (2 * math.sqrt(STIFFNESS * INERTIA))
PERIOD = 0.005
JOINT = joint_impulse_response(OMEGA, ZETA, PERIOD, 5.0)
FAST = sample(MinimumJerk([0.0, 0.0], [0.8, -0.5], 2.0), PERIOD)


def errors_of(law, plant, motion=FAST, trials=10):
    learning = IterativeLearning(law, motion, plant, tolerance=1e-12, max_iterations=trials)
    return [trial.error for trial in learning]


def norms(errors):
    return np.array([np.linalg.norm(error) for error in errors])


def lifted(response, n):
    """Return the lower triangular matrix of a causal convolution."""
    column = np.zeros(n)
    column[: min(n, len(response))] = response[:n]
    return toeplitz(column, np.zeros(n))


@pytest.mark.parametrize("law", [PTypeILC(), PDTypeILC(PERIOD, 40.0), NormOptimalILC(JOINT, PERIOD)])
def test_the_first_command_is_the_desired_motion_and_a_zero_error_changes_nothing(law):
    desired, zero = FAST.position, np.zeros_like(FAST.position)
    np.testing.assert_array_equal(law.initial(desired), desired)
    np.testing.assert_allclose(law.update(2, desired, zero, zero), desired, atol=1e-15)


@given(st.floats(0.05, 1.9), st.floats(0.2, 1.0))
def test_p_type_on_a_static_plant_shrinks_the_error_by_one_minus_the_gain(gain, g):
    errors = norms(errors_of(PTypeILC(gain, math.inf), lambda u: g * u + 0.1, trials=6))
    ratio = abs(1 - gain * g)  # the spectral radius of I − L·P
    np.testing.assert_allclose(errors, errors[0] * ratio ** np.arange(len(errors)), rtol=1e-6, atol=1e-12)


def test_p_type_with_the_published_schedule_leaves_the_product_of_its_factors():
    errors = norms(errors_of(PTypeILC(0.5, 10.0), lambda u: 0.9 * u, trials=40))
    gains = 0.5 * np.exp(-np.arange(2, 41) / 10.0)
    np.testing.assert_allclose(errors[1:] / errors[0], np.cumprod(1 - 0.9 * gains), rtol=1e-9)
    assert errors[-1] > 0.01 * errors[0]  # the fading gain stops short of zero


def test_p_type_on_a_lagging_plant_converges_at_its_spectral_radius(convolve):
    response = 0.4 * 0.5 ** np.arange(60)  # a first-order lag that answers within the sample
    gain, n = 0.8, 30
    motion = sample(MinimumJerk(0.0, 0.8, (n - 1) * PERIOD), PERIOD)
    rate = np.eye(n) - gain * lifted(response, n)
    radius = np.abs(np.linalg.eigvals(rate)).max()
    assert radius == pytest.approx(1 - gain * 0.4)
    errors = errors_of(PTypeILC(gain, math.inf), convolve(response), motion, trials=12)
    for k, error in enumerate(errors):  # the error follows the lifted recursion exactly
        np.testing.assert_allclose(error, np.linalg.matrix_power(rate, k) @ errors[0], atol=1e-12)
    largest = np.linalg.norm(rate, 2)
    assert (norms(errors)[1:] <= largest * norms(errors)[:-1] + 1e-12).all()
    late = errors_of(PTypeILC(gain, math.inf), convolve(response), motion, trials=150)
    assert norms(late)[-1] < 1e-10 * norms(late)[0]


def test_p_type_needs_slow_moves_and_pd_type_does_not(convolve):
    plant = convolve(JOINT)
    slow = sample(MinimumJerk(0.0, 0.8, 20.0), PERIOD)
    p = PTypeILC(0.5, math.inf)
    gentle, brisk = norms(errors_of(p, plant, slow)), norms(errors_of(p, plant, FAST, trials=30))
    assert gentle[-1] < 0.02 * gentle[0]
    assert brisk[-1] > 2.0 * brisk.min()  # past the resonance |1 − gain·P| > 1: the error comes back
    pd = PDTypeILC(PERIOD, STIFFNESS / INERTIA, kp=1.0, kd=DAMPING / STIFFNESS, epsilon=0.0)
    assert norms(errors_of(pd, plant, FAST, trials=6))[-1] < 0.01 * brisk[0]


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 0.9])
def test_pd_type_contracts_by_epsilon_below_the_cutoff(convolve, epsilon):
    scale = 1 + epsilon
    law = PDTypeILC(PERIOD, STIFFNESS / INERTIA, kp=scale, kd=scale * DAMPING / STIFFNESS, epsilon=epsilon)
    motion = sample(MinimumJerk(0.0, 0.8, 10.0), PERIOD)  # far below 2 Hz
    errors = errors_of(law, convolve(JOINT), motion, trials=4)
    middle = slice(400, -400)  # away from the ends, where the low-pass has no data on one side
    sizes = norms([e[middle] for e in errors])
    np.testing.assert_allclose(sizes, sizes[0] * epsilon ** np.arange(4), rtol=0.01, atol=1e-3 * sizes[0])


def test_pd_type_neither_learns_nor_amplifies_what_is_faster_than_the_cutoff(convolve):
    t = FAST.time[:, None]
    law = PDTypeILC(PERIOD, STIFFNESS / INERTIA, kp=1.0, kd=DAMPING / STIFFNESS, epsilon=0.0)
    noise = 0.02 * np.sin(2 * np.pi * 20.0 * t)
    errors = errors_of(law, convolve(JOINT, noise), trials=8)
    phase = np.exp(-2j * np.pi * 20.0 * t[100:-100])
    amplitude = [np.abs(2 * np.mean(e[100:-100] * phase, axis=0)) for e in errors]
    np.testing.assert_allclose(amplitude[-1], 0.02, rtol=0.02)


def test_pd_type_is_the_stated_sum_of_position_velocity_and_acceleration():
    t = np.arange(4000) * PERIOD
    e = 0.1 * np.sin(3.0 * t)[:, None] * [1.0, 2.0]
    de = 0.3 * np.cos(3.0 * t)[:, None] * [1.0, 2.0]
    law = PDTypeILC(PERIOD, [40.0, 20.0], kp=[0.5, 0.6], kd=0.1, kp_online=0.2, kd_online=[0.0, 0.05], epsilon=0.9)
    change = law.update(2, np.zeros_like(e), e, de)
    passed = 1 / (1 + (3.0 / (2 * np.pi * 2.0)) ** 4)  # gain of the zero-phase low-pass at 3 rad/s
    expected = passed * (e * [0.7, 0.8] + de * [0.1, 0.15] - 1.9 / np.array([40.0, 20.0]) * 9.0 * e)
    middle = slice(500, -500)
    np.testing.assert_allclose(change[middle], expected[middle], atol=1e-3 * np.abs(expected).max())


def test_the_input_gain_may_be_given_in_every_form():
    rng = np.random.default_rng(3)
    u, e, de = (rng.normal(size=FAST.position.shape) for _ in range(3))
    forms = (40.0, [40.0, 40.0], np.full_like(e, 40.0), lambda command, error: 40.0 + 0.0 * (command + error))
    updates = [PDTypeILC(PERIOD, form).update(2, u, e, de) for form in forms]
    for update in updates[1:]:
        np.testing.assert_array_equal(update, updates[0])


def test_an_exponential_spring_is_learned_with_its_own_input_gain():
    a, k, preset, inertia = 9.0, 0.0019, 0.45, 0.01

    def spring(u, q):
        return 2 * k * np.cosh(a * preset) * np.sinh(a * np.clip(u - q, -0.8, 0.8))

    def run(command):
        q, dq, rows = np.zeros(1), np.zeros(1), []
        for u in command:
            rows.append(q)
            for _ in range(5):
                dq = dq + PERIOD / 5 * (spring(u, q) - 0.05 * dq - 0.15 * np.sin(q)) / inertia
                q = q + PERIOD / 5 * dq
        return np.array(rows)

    motion = sample(MinimumJerk(0.0, 0.8, 2.0), PERIOD)

    def input_gain(command, error):
        return 2 * a * k * np.cosh(a * preset) * np.cosh(a * (command - motion.position + error)) / inertia

    learning = IterativeLearning(PDTypeILC(PERIOD, input_gain, epsilon=0.5), motion, run, tolerance=0.01)
    errors = [trial.max_error for trial in learning]
    assert learning.result.reason is StopReason.CONVERGED
    assert errors[0] > 0.08


def dense(operator, rows, columns):
    """The matrix of a linear map from (rows, columns) arrays, both sides flattened."""
    units = np.eye(rows * columns).reshape(-1, rows, columns)
    return np.stack([operator(unit).ravel() for unit in units], axis=-1)


@pytest.mark.parametrize("held", [0, 7])
def test_the_lifted_model_is_the_stated_sum_of_convolutions(held):
    random = np.random.default_rng(1)
    response, n = random.normal(size=(3, 5, 2, 2)), 12
    model = LiftedModel(response, n, held)
    u = random.normal(size=(n, 2))
    lasting = np.concatenate([u, np.repeat(u[-1:], held, axis=0)])
    expected = np.zeros((n + held, 2))
    for k, one in enumerate(response):
        near = np.clip(1.0 - np.abs(np.arange(n + held) / ((n - 1) / 2) - k), 0.0, 1.0)
        near[n:] = k == 2  # after the end, what holds at the end
        for to in range(2):
            for of in range(2):
                expected[:, to] += np.convolve(near * lasting[:, of], one[:, to, of])[: n + held]
    np.testing.assert_allclose(model.positions(u), expected, atol=1e-12)
    matrix, transposed = dense(model.positions, n, 2), dense(model.transposed, n + held, 2)
    np.testing.assert_allclose(transposed, matrix.T, atol=1e-12)


@pytest.mark.parametrize(("effort", "cutoff"), [(0.01, math.inf), (0.1, math.inf), (1.0, math.inf), (0.01, 1.0)])
def test_norm_optimal_follows_the_closed_form_and_never_grows(convolve, effort, cutoff):
    n, m = len(FAST.time), len(JOINT)
    held = np.vstack([np.eye(n), np.repeat(np.eye(n)[-1:], m - 1, axis=0)])  # commands and errors beyond the end
    P = lifted(JOINT, n + m - 1) @ held
    bend = np.diff(np.vstack([np.zeros((2, n)), np.eye(n), np.eye(n)[[-1, -1]]]), 2, axis=0)
    weight = effort * (np.eye(n) + bend.T @ bend / (2 * np.pi * cutoff * PERIOD) ** 4)
    rate = np.eye(n) - lifted(JOINT, n) @ np.linalg.solve(P.T @ P + weight, P.T @ held)
    errors = errors_of(NormOptimalILC(JOINT, PERIOD, effort, cutoff), convolve(JOINT), trials=15)
    for before, after in pairwise(errors):
        np.testing.assert_allclose(after, rate @ before, atol=1e-6)
    assert (np.diff(norms(errors)) < 1e-9).all()
    assert norms(errors)[-1] < 0.2 * norms(errors)[0]


@pytest.mark.parametrize(
    "law",
    [
        PTypeILC(0.5),
        PDTypeILC(PERIOD, STIFFNESS / INERTIA, kp=1.9, kd=1.9 * DAMPING / STIFFNESS),
        NormOptimalILC(JOINT, PERIOD, 0.01),
        NormOptimalILC(JOINT, PERIOD),
    ],
)
@pytest.mark.parametrize("duration", [2.0, 10.0])
def test_what_is_held_after_the_motion_is_what_was_reached(law, duration, convolve):
    motion = sample(MinimumJerk([0.0, 0.0], [0.8, -0.5], duration), PERIOD)
    load, plant = 0.1 * motion.position, convolve(0.85 * JOINT)  # a model that is not quite right
    learning = IterativeLearning(law, motion, lambda u: plant(u) - load, tolerance=1e-12, max_iterations=12)
    last = list(learning)[-1]
    steps = np.abs(np.diff(last.command, axis=0)).max(axis=1)
    assert steps[-5:].max() < steps[:-5].max(), "the end is no jump"
    held = np.concatenate([last.command, np.repeat(last.command[-1:], 1000, axis=0)])
    rested = plant(held)[-1] - load[-1]
    assert np.abs(rested - motion.position[-1]).max() < 0.02 + last.max_error


@pytest.mark.parametrize(
    ("gain", "stretch", "converges"),
    [(0.6, 0.7, True), (0.8, 1.2, True), (1.0, 0.8, True), (1.0, 1.2, True), (0.8, 1.5, False), (1.6, 1.5, False)],
)
def test_norm_optimal_forgives_a_wrong_model_within_the_stated_condition(convolve, gain, stretch, converges):
    true = gain * joint_impulse_response(OMEGA * stretch, ZETA, PERIOD, 5.0)
    G, P = np.fft.rfft(true, 4096), np.fft.rfft(JOINT, 4096)
    growth = np.abs(1 - G * P.conj() / (0.1 + np.abs(P) ** 2)).max()  # tends to 1 far above the resonance
    assert (growth <= 1 + 1e-6) == converges
    errors = norms(
        errors_of(NormOptimalILC(JOINT, PERIOD, effort=0.1, cutoff=math.inf), convolve(true), trials=15)
    )
    if converges:
        assert (np.diff(errors) < 1e-3 * errors[0]).all()
        assert errors[-1] < 0.02 * errors[0]
    else:
        assert errors[-1] > 1.5 * errors.min()


def test_norm_optimal_has_a_model_for_each_joint():
    models = np.stack([JOINT, 0.5 * JOINT], axis=-1)
    e = np.random.default_rng(0).normal(size=FAST.position.shape)
    both = NormOptimalILC(models, PERIOD).update(2, 0 * e, e, 0 * e)
    for j in range(2):
        alone = NormOptimalILC(models[:, j], PERIOD).update(2, 0 * e[:, :1], e[:, j : j + 1], 0 * e[:, :1])
        np.testing.assert_allclose(both[:, j : j + 1], alone, atol=1e-8)


def test_norm_optimal_solves_a_joint_without_error_beside_one_with():
    e = np.zeros_like(FAST.position)
    e[:, 0] = FAST.position[:, 0]
    change = NormOptimalILC(JOINT, PERIOD).update(2, 0 * e, e, 0 * e)
    assert (change[:, 1] == 0.0).all()
    assert np.isfinite(change).all()


@pytest.mark.parametrize("zeta", [0.0, 0.2, 1.0 - 1e-14, 1.0, 1.5, 50.0])
def test_the_joint_model_is_the_answer_to_a_held_command(zeta):
    response = joint_impulse_response(OMEGA, zeta, PERIOD, 3.0, gain=0.85)
    assert response[0] == 0.0
    t = np.arange(len(response)) * PERIOD
    u = np.sin(1.3 * t)
    system = lti([0.85 * OMEGA**2], [1.0, 2 * zeta * OMEGA, OMEGA**2])
    _, expected, _ = lsim(system, u, t, interp=False)
    np.testing.assert_allclose(np.convolve(u, response)[: len(u)], expected, atol=1e-8)


def test_a_damped_joint_model_sums_to_its_static_gain():
    assert joint_impulse_response(OMEGA, 0.5, PERIOD, 10.0, gain=0.85).sum() == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: PTypeILC(gain=0.0), OutOfBoundsError, "PTypeILC gain is 0"),
        (lambda: PTypeILC(decay=0.0), OutOfBoundsError, "PTypeILC decay is 0"),
        (lambda: PTypeILC(decay=math.nan), OutOfBoundsError, "PTypeILC decay is nan"),
        (lambda: PDTypeILC(0.0, 40.0), OutOfBoundsError, "PDTypeILC period"),
        (lambda: PDTypeILC(0.01, 0.0), OutOfBoundsError, "input_gain has the entry 0"),
        (lambda: PDTypeILC(0.01, [40.0, math.nan]), OutOfBoundsError, r"input_gain\[1\] is nan"),
        (lambda: PDTypeILC(0.01, "stiff"), ShapeError, "input_gain is not an array"),
        (lambda: PDTypeILC(0.01, 40.0, epsilon=1.5), OutOfBoundsError, "epsilon"),
        (lambda: PDTypeILC(0.01, 40.0, kp=math.inf), OutOfBoundsError, "PDTypeILC kp is inf"),
        (lambda: PDTypeILC(0.3, 40.0), OutOfBoundsError, r"cutoff = 2 Hz must be below .* 1\.66667 Hz"),
        (lambda: NormOptimalILC(JOINT, PERIOD, effort=0.0), OutOfBoundsError, "effort is 0"),
        (lambda: NormOptimalILC(JOINT, PERIOD, cutoff=0.0), OutOfBoundsError, "cutoff is 0"),
        (lambda: NormOptimalILC(JOINT, 0.0), OutOfBoundsError, "NormOptimalILC period is 0"),
        (lambda: NormOptimalILC(np.ones((2, 3, 4)), PERIOD), ShapeError, r"has shape \(2, 3, 4\)"),
        (lambda: NormOptimalILC(np.zeros(5), PERIOD), ShapeError, "not all zero"),
        (lambda: NormOptimalILC(1.0, PERIOD), ShapeError, r"impulse_response has shape \(\)"),
        (lambda: NormOptimalILC([0.0, math.nan], PERIOD), OutOfBoundsError, r"impulse_response\[1\] is nan"),
        (lambda: joint_impulse_response(0.0, 0.1, 0.01, 1.0), OutOfBoundsError, "frequency is 0"),
        (lambda: joint_impulse_response(1.0, -0.1, 0.01, 1.0), OutOfBoundsError, "damping"),
    ],
)
def test_wrong_settings_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (PDTypeILC(PERIOD, [40.0] * 3), "a gain does not fit a motion of shape"),
        (PDTypeILC(PERIOD, 40.0, kp=[1.0, 1.0], kp_online=[0.0] * 3), "a gain does not fit"),
        (NormOptimalILC(np.ones((4, 3)), PERIOD), "the model has 3 joints, the motion 2"),
        (NormOptimalILC(np.ones((2, 4, 3, 3)), PERIOD), "the model couples 3 × 3 joints, the motion has 2"),
    ],
)
def test_settings_for_another_number_of_joints_are_refused(law, message):
    e = FAST.position
    with pytest.raises(ShapeError, match=message):
        law.update(2, e, e, e)


def test_the_identity_tells_laws_apart():
    def gain(command, error):
        return 40.0

    laws = [
        PTypeILC(),
        PTypeILC(gain=0.4),
        PDTypeILC(PERIOD, 40.0),
        PDTypeILC(PERIOD, 41.0),
        PDTypeILC(PERIOD, gain),
        NormOptimalILC(JOINT, PERIOD),
        NormOptimalILC(0.99 * JOINT, PERIOD),
    ]
    identities = [str(law.identity()) for law in laws]
    assert len(set(identities)) == len(laws)
    assert PDTypeILC(PERIOD, gain).identity() == PDTypeILC(PERIOD, gain).identity()


def test_a_law_of_ones_own_needs_only_an_update():
    class Halve(LearningLaw):
        def update(self, iteration, command, error, error_rate):
            return command + 0.5 * error

    errors = norms(errors_of(Halve(), lambda u: u + 1.0, trials=5))
    np.testing.assert_allclose(errors, errors[0] * 0.5 ** np.arange(5))


def test_importing_the_controllers_does_not_import_scipy():
    check = "import sys, pliant.controllers; sys.exit('scipy' in sys.modules or 'mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
