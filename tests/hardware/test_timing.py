import time

import pytest

from pliant.hardware.timing import Beat, StepClock, SystemClock, Ticker


def test_a_step_clock_moves_only_when_slept_on():
    clock = StepClock()
    assert clock.now() == clock.now() == 0.0
    clock.sleep_until(2.0)
    clock.sleep_until(1.0)
    assert clock.now() == 2.0


@pytest.mark.real_time
def test_the_system_clock_sleeps_and_does_not_for_what_is_past():
    clock = SystemClock()
    start = time.monotonic()
    clock.sleep_until(clock.now() - 5)
    assert time.monotonic() - start < 0.05
    clock.sleep_until(clock.now() + 0.02)
    assert time.monotonic() - start >= 0.02


def test_periods_do_not_drift_however_long_the_work_takes():
    clock = StepClock()
    ticker = Ticker(0.01, clock)
    for step in range(100):
        clock.sleep_until(clock.now() + 0.001 * (step % 9))
        assert ticker.wait() == Beat(0.0, 0)
    assert clock.now() == pytest.approx(1.0)


def test_a_late_turn_is_told_and_what_is_past_is_not_caught_up_with():
    clock = StepClock()
    ticker = Ticker(0.01, clock)
    clock.sleep_until(0.037)
    beat = ticker.wait()
    assert beat.lateness == pytest.approx(0.027)
    assert beat.missed == 2
    assert ticker.wait() == Beat(0.0, 0)
    assert clock.now() == pytest.approx(0.04)


def test_restarting_begins_a_period_now():
    clock = StepClock()
    ticker = Ticker(0.01, clock)
    clock.sleep_until(0.055)
    ticker.restart()
    assert ticker.wait() == Beat(0.0, 0)
    assert clock.now() == pytest.approx(0.065)
