"""What is told of a learning before its second trial, against what it then does on plants of that very model."""

import math

import numpy as np
import pytest

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
from pliant.controllers.convergence import forecast
from pliant.controllers.lifted import coupled_response

PERIOD = 0.01
OMEGA, ZETA = 12.0, 0.05
SLOW, QUICK = (sample(MinimumJerk([0.0, 0.0], [0.8, 0.6], duration), PERIOD) for duration in (20.0, 1.0))


def joint(gain=1.0):
    return joint_impulse_response(OMEGA, ZETA, PERIOD, 8.0, gain)


def told(law, response, motion, trials=20, tolerance=0.01):
    """What is foretold after the first trial, and what then comes."""
    full = coupled_response(response, 2)

    def plant(command):
        columns = [
            sum(np.convolve(command[:, j], full[0, :, i, j])[: len(command)] for j in range(2)) for i in range(2)
        ]
        return np.stack(columns, axis=-1) - 0.1 * motion.position

    learning = IterativeLearning(law, motion, plant, tolerance, trials)
    next(iter(learning))
    said = forecast(learning, full, ("hip", "knee"))
    list(learning)
    return said, learning.result


def test_what_converges_is_foretold_to_the_trial():
    said, result = told(PTypeILC(0.5, 30.0), joint(0.9), SLOW)
    assert result.reason is StopReason.CONVERGED
    assert (said.converges, said.trials, said.why) == (True, len(result.history), "")
    assert said.best == pytest.approx(result.best.max_error, rel=1e-6)


@pytest.mark.parametrize(
    ("law", "response", "motion", "words"),
    [
        (
            PTypeILC(0.9, math.inf),
            joint(3.0),
            SLOW,
            ["At rest |1 − L·P| = 1.70", "dq/du of 3.00", "Lower the"],
        ),
        (
            PTypeILC(0.5, math.inf),
            joint(),
            QUICK,
            ["too quick for this law, for joint", "1.9 Hz", "slower"],
        ),
        (PTypeILC(0.1, 3.0), joint(), SLOW, ["Nothing grows", "|1 − L·P| = 0.95", "decay", "max_iterations"]),
        (PDTypeILC(PERIOD, 30.0, epsilon=0.9), joint(), QUICK, ["too quick", "1.9 Hz", "norm_optimal"]),
    ],
)
def test_what_cannot_converge_is_told_why(law, response, motion, words):
    said, result = told(law, response, motion)
    assert result.reason is not StopReason.CONVERGED
    assert not said.converges
    for expected in words:
        assert expected in said.why
    assert "ilc=norm_optimal" in said.why


def test_of_joints_that_differ_the_one_that_fails_is_named():
    said, _ = told(PTypeILC(0.9, math.inf), np.stack([joint(0.9), joint(2.6)], axis=-1), SLOW)
    assert "joint 'knee'" in said.why


def test_joints_that_learn_alone_but_not_together_are_told_so():
    well = joint_impulse_response(OMEGA, 1.0, PERIOD, 8.0)
    response = np.einsum("m,ij->mij", well, [[1.0, 2.4], [2.4, 1.0]])[None]
    said, result = told(PTypeILC(0.5, math.inf), response, SLOW)
    assert result.reason is StopReason.DIVERGED
    assert "At rest |1 − L·P| = 1.70 for all joints together" in said.why


def test_a_law_that_does_not_say_what_it_makes_of_an_error_gets_no_forecast():
    class Own(LearningLaw):
        def update(self, iteration, command, error, error_rate):
            return command + 0.5 * error

    laws = [Own(), NormOptimalILC(joint(), PERIOD), PDTypeILC(PERIOD, lambda command, error: 40.0)]
    for law in laws:
        assert told(law, joint(), SLOW, trials=1)[0] is None


@pytest.mark.parametrize(
    "law", [PTypeILC(0.4, 7.0), PDTypeILC(PERIOD, [30.0, 50.0], kp=0.7, kd=0.1, kd_online=0.02)]
)
def test_the_transfer_function_is_what_the_law_does_to_a_sine(law):
    f, t = 0.8, PERIOD * np.arange(4000)
    e = np.sin(2 * np.pi * f * t)[:, None] * np.ones(2)
    change = law.update(3, 0 * e, e, 2 * np.pi * f * np.cos(2 * np.pi * f * t)[:, None] * np.ones(2))
    middle = slice(1000, 3000)
    wave = np.exp(-2j * np.pi * f * t[middle, None])
    found = (change[middle] * wave).sum(axis=0) / (e[middle] * wave).sum(axis=0)
    np.testing.assert_allclose(found * np.ones(2), law.transfer(3, np.array([f]))[0] * np.ones(2), rtol=0.01)
