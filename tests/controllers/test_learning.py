import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.controllers import (
    IterativeLearning,
    LearningLaw,
    MinimumJerk,
    Motion,
    NormOptimalILC,
    PDTypeILC,
    PTypeILC,
    StopReason,
    joint_impulse_response,
    sample,
)
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MismatchError,
    MissingFileError,
    OutOfBoundsError,
    OutputError,
    ShapeError,
)
from pliant.files import read_npz, write_npz

PERIOD = 0.01
MOTION = sample(MinimumJerk([0.0, 0.0], [0.8, 0.6], 2.0), PERIOD)
MODEL = joint_impulse_response(12.0, 0.4, PERIOD, 2.0)


def plant(command):
    """A static joint with a load that bends it."""
    return 0.85 * command - 0.1


class Scripted:
    """A runner whose error in each trial is given beforehand."""

    def __init__(self, errors):
        self.errors = list(errors)

    def __call__(self, command):
        return MOTION.position - self.errors.pop(0)


def learn(runner=plant, law=None, **options):
    return IterativeLearning(law or PTypeILC(), MOTION, runner, **options)


def test_it_learns_until_the_largest_error_of_all_joints_is_below_the_tolerance():
    learning = learn()
    trials = list(learning)
    result = learning.result
    assert result.reason == "converged"
    assert [trial.iteration for trial in trials] == list(range(1, len(trials) + 1))
    assert all(trial.max_error >= 0.08 for trial in trials[:-1])
    assert trials[-1].max_error < 0.08
    assert result.best is trials[-1]
    assert result.history == tuple(trials)
    assert "below 0.08 rad" in result.detail


def test_a_trial_tells_its_errors_consistently():
    for trial in learn(max_iterations=3, tolerance=1e-6):
        np.testing.assert_array_equal(trial.position, plant(trial.command))
        np.testing.assert_array_equal(trial.error, MOTION.position - trial.position)
        assert trial.max_error == np.abs(trial.error).max()
        assert trial.rms == pytest.approx(np.sqrt(np.mean(trial.error**2)))


def test_the_law_gets_the_number_of_the_next_trial_and_the_error_of_the_velocity():
    seen = []

    class Spy(LearningLaw):
        def update(self, iteration, command, error, error_rate):
            seen.append((iteration, error_rate))
            return command

    list(learn(law=Spy(), max_iterations=4, tolerance=1e-6))
    assert [number for number, _ in seen] == [2, 3, 4]
    np.testing.assert_allclose(seen[0][1], 0.15 * MOTION.velocity, atol=1e-2 * np.abs(MOTION.velocity).max())


def test_it_stops_after_the_most_trials_allowed():
    learning = learn(max_iterations=4, tolerance=1e-6)
    assert len(list(learning)) == 4
    assert learning.result.reason is StopReason.ITERATIONS
    assert list(learning) == []


def test_the_best_trial_is_kept_when_later_ones_are_worse():
    learning = learn(Scripted([0.5, 0.2, 0.3, 0.25]), max_iterations=4)
    list(learning)
    assert learning.result.best.iteration == 2
    assert learning.result.reason is StopReason.ITERATIONS


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_motion_that_is_not_finite_is_divergence(bad):
    spoilt = np.zeros_like(MOTION.position)
    spoilt[-1, -1] = bad
    learning = learn(Scripted([0.5, spoilt, 0.1]))
    trials = list(learning)
    assert len(trials) == 2
    assert trials[-1].max_error == trials[-1].rms == math.inf
    assert learning.result.reason is StopReason.DIVERGED
    assert learning.result.detail == "the motion of trial 2 is not finite"
    assert learning.result.best.iteration == 1


def test_without_one_finite_motion_there_is_no_best_trial():
    learning = learn(Scripted([math.nan]))
    list(learning)
    assert learning.result.best is None
    assert learning.result.reason is StopReason.DIVERGED


@pytest.mark.parametrize(
    ("errors", "stops_at"),
    [
        ([0.1, 0.31, 0.32, 0.33, 0.1], 4),
        ([0.5, 0.1, 0.31, 0.32, 0.29, 0.31, 0.4, 0.5, 0.1], 8),
        ([0.1, 0.31, 0.32, 0.3, 0.1, 0.1], None),
        ([0.31, 0.32, 0.33, 0.34, 0.1, 0.1], None),
    ],
)
def test_an_error_beyond_three_times_the_best_three_times_in_a_row_is_divergence(errors, stops_at):
    learning = learn(Scripted(errors), max_iterations=len(errors))
    count = len(list(learning))
    if stops_at is None:
        assert learning.result.reason is StopReason.ITERATIONS
    else:
        assert count == stops_at
        assert learning.result.reason is StopReason.DIVERGED
        assert "times the best error, 0.1 rad" in learning.result.detail


def test_a_gain_beyond_the_stable_one_is_caught_as_divergence():
    learning = learn(lambda u: 3.0 * u, law=PTypeILC(1.0, math.inf), max_iterations=100)
    list(learning)
    assert learning.result.reason is StopReason.DIVERGED
    assert learning.result.best.iteration == 1
    assert len(learning.history) < 6


def test_a_huge_error_does_not_overflow_its_mean_square():
    trial = next(iter(learn(Scripted([1e200]))))
    assert trial.rms == pytest.approx(1e200)


def test_commands_stay_within_the_bounds_and_do_not_wind_up_behind_them():
    learning = learn(lambda u: u - 0.3, low=0.0, high=[0.7, 2.0], law=PTypeILC(0.5, math.inf), tolerance=1e-3)
    for trial in learning:
        assert (trial.command >= 0.0).all()
        assert (trial.command[:, 0] <= 0.7).all()
    assert learning.history[-1].command[-1, 0] == 0.7
    freed = PTypeILC(0.5, math.inf).update(9, trial.command, -0.1 * np.ones_like(trial.error), trial.error)
    assert freed[-1, 0] == pytest.approx(0.65)  # the very next trial can leave the limit


def test_an_interrupt_during_a_trial_passes_through_and_keeps_the_best():
    calls = []

    def runner(command):
        calls.append(command)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plant(command)

    learning = learn(runner)
    with pytest.raises(KeyboardInterrupt):
        list(learning)
    assert learning.result.reason is StopReason.INTERRUPTED
    assert learning.result.best.iteration == 2
    list(learning)
    assert learning.result.reason is StopReason.CONVERGED
    np.testing.assert_array_equal(calls[2], calls[3])  # the interrupted trial is run again
    undisturbed = learn()
    assert [t.max_error for t in undisturbed] == [t.max_error for t in learning.history]


def test_before_any_trial_there_is_nothing_and_a_reason():
    assert learn().result == (StopReason.INTERRUPTED, "no trial was completed", None, ())


def test_an_error_of_the_robot_passes_through_and_keeps_the_history():
    class LostError(RuntimeError):
        pass

    def runner(command):
        if len(learning.history) == 1:
            raise LostError
        return plant(command)

    learning = learn(runner)
    with pytest.raises(LostError):
        list(learning)
    assert learning.result.best.iteration == 1


def test_a_runner_can_spoil_neither_the_command_nor_the_measured_motion():
    buffer = np.zeros_like(MOTION.position)

    def runner(command):
        with pytest.raises(ValueError, match="read-only"):
            command[0] = 9.0
        buffer[:] = plant(command)
        return buffer

    learning = learn(runner)
    first = next(iter(learning))
    buffer[:] = 9.0
    np.testing.assert_array_equal(first.position, plant(first.command))


LAWS = [
    PTypeILC(0.4, 10.0),
    PDTypeILC(PERIOD, 144.0, kp=0.7, epsilon=0.1, cutoff=5.0),
    NormOptimalILC(MODEL, PERIOD, effort=0.5),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("stop", [0, 1, 3])
def test_a_resumed_learning_gives_the_same_bits_as_an_uninterrupted_one(law, stop, convolve, tmp_path):
    options = {"tolerance": 1e-9, "low": -0.1, "high": 0.83}
    whole = learn(convolve(MODEL), law, max_iterations=7, **options)
    list(whole)
    part = learn(convolve(MODEL), law, max_iterations=7, **options)
    for trial in part if stop else ():
        if trial.iteration == stop:
            break
    part.save(tmp_path / "learner.npz")

    resumed = learn(convolve(MODEL), law, max_iterations=7, **options)
    resumed.load(tmp_path / "learner.npz")
    assert len(resumed.history) == stop
    assert [trial.iteration for trial in resumed] == list(range(stop + 1, 8))
    assert resumed.result.detail == whole.result.detail
    for mine, theirs in zip(resumed.history, whole.history, strict=True):
        assert mine.command.tobytes() == theirs.command.tobytes()
        assert mine.position.tobytes() == theirs.position.tobytes()
        assert (mine.iteration, mine.max_error, mine.rms) == (theirs.iteration, theirs.max_error, theirs.rms)


@settings(max_examples=20)
@given(st.lists(st.floats(0.0, 1e3) | st.just(math.nan), max_size=6))
def test_any_history_comes_back_from_its_file(errors):
    learning = learn(Scripted(errors), max_iterations=max(1, len(errors)), tolerance=1e-12)
    for _ in errors:
        next(iter(learning), None)
    with tempfile.TemporaryDirectory() as folder:
        learning.save(Path(folder) / "learner.npz")
        back = learn(max_iterations=max(1, len(errors)), tolerance=1e-12)
        back.load(Path(folder) / "learner.npz")
    assert back.result[:2] == learning.result[:2]
    assert [t.max_error for t in back.history] == [t.max_error for t in learning.history]


def test_a_finished_learning_goes_on_when_more_is_asked_of_it(tmp_path):
    first = learn(max_iterations=3)
    list(first)
    first.save(tmp_path / "learner.npz")
    more = learn(max_iterations=20, tolerance=0.05)
    more.load(tmp_path / "learner.npz")
    list(more)
    assert more.result.reason is StopReason.CONVERGED
    assert len(more.history) > 3


def test_the_state_of_another_learning_is_refused_with_every_difference(tmp_path):
    path = tmp_path / "learner.npz"
    learn(low=-1.0).save(path)
    other = sample(MinimumJerk([0.0, 0.0], [0.8, 0.7], 2.0), PERIOD)
    with pytest.raises(MismatchError) as caught:
        IterativeLearning(PTypeILC(0.3), other, plant, low=-2.0).load(path)
    message = str(caught.value)
    assert "law.gain: 0.5 in the file, 0.3 here" in message
    assert "desired: shape (201, 2) in [0, 0.8] in the file" in message
    assert "low: [-1.0, -1.0] in the file, [-2.0, -2.0] here" in message
    assert "high" not in message
    with pytest.raises(MismatchError, match=r"law\.law: 'PTypeILC' in the file, 'NormOptimalILC' here"):
        learn(law=NormOptimalILC(MODEL, PERIOD), low=-1.0).load(path)


def test_files_that_hold_no_learning_are_refused(tmp_path):
    path = tmp_path / "learner.npz"
    with pytest.raises(MissingFileError, match="learner state"):
        learn().load(path)
    path.write_text("no")
    with pytest.raises(FileFormatError, match="not a NumPy archive"):
        learn().load(path)
    learn().save(path)
    contents = read_npz(path, "learner state", [], must_be_sealed=True)
    write_npz(path, contents | {"law": np.array("{")})
    with pytest.raises(FileFormatError, match="its law is not JSON"):
        learn().load(path)
    write_npz(path, contents | {"position": np.zeros((1, 3, 2))})
    with pytest.raises(FileFormatError, match="do not fit"):
        learn().load(path)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        learn().save(tmp_path / "file" / "learner.npz")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tolerance": 0.0}, OutOfBoundsError, "tolerance is 0"),
        ({"max_iterations": 0}, OutOfBoundsError, "max_iterations is 0"),
        ({"max_iterations": 2.5}, OutOfBoundsError, "max_iterations is 2.5"),
        ({"low": [0.0, 0.0, 0.0]}, ShapeError, r"low bound of the command has shape \(3,\)"),
        ({"low": 1.0, "high": 0.0}, ConfigurationError, "low .* must not exceed high"),
        ({"high": math.nan}, ConfigurationError, "nan"),
    ],
)
def test_wrong_settings_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        learn(**options)


@pytest.mark.parametrize(
    ("motion", "error", "message"),
    [
        (Motion(MOTION.time[:1], MOTION.position[:1], MOTION.velocity[:1]), ShapeError, "one sample"),
        (MOTION._replace(time=MOTION.time[:-1]), ShapeError, "motion time"),
        (MOTION._replace(velocity=MOTION.velocity[:, :1]), ShapeError, "motion velocity"),
        (MOTION._replace(position=MOTION.position * math.nan), OutOfBoundsError, "motion position"),
    ],
)
def test_a_wrong_motion_is_refused(motion, error, message):
    with pytest.raises(error, match=message):
        IterativeLearning(PTypeILC(), motion, plant)


def test_a_runner_or_law_that_returns_something_else_is_refused():
    with pytest.raises(ShapeError, match=r"the runner returned positions of shape \(3, 2\), not \(201, 2\)"):
        list(learn(lambda u: u[:3]))
    with pytest.raises(ShapeError, match="measured position is not an array of numbers"):
        list(learn(lambda u: {}))

    class Broken(LearningLaw):
        def update(self, iteration, command, error, error_rate):
            return command * math.nan

    with pytest.raises(OutOfBoundsError, match=r"Broken command\[0, 0\] is nan"):
        list(learn(law=Broken()))
