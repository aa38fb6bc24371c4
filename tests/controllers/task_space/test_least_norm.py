"""The smallest step within bounds, against the conditions of Karush, Kuhn and Tucker and linear programmes."""

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from pliant.controllers.task_space import least_norm
from pliant.controllers.task_space.least_norm import INFINITE

SIZE, ROWS = 8, 20


def search(rows, root, low, high, active=None):
    """Return whether there is a step, y = R·step, the rows that count, and which bounds it is at."""
    size = len(root)
    active = np.zeros(len(rows), dtype=np.int8) if active is None else active
    ends = (np.asarray(values, dtype=float) for values in (low, high))
    fits, step, held = least_norm.least_norm(
        np.zeros(size), np.eye(size), root, (rows, np.zeros((0, size)), *ends), active
    )
    return fits, step, held, active


def cost_root(rng, weakest):
    """R of a cost whose directions but three weigh as little as `weakest`."""
    turned = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0]
    return np.linalg.qr(np.diag([1.0] * 3 + [weakest] * (SIZE - 3)) @ turned)[1]


@pytest.mark.parametrize("weakest", [1.0, 1e-3, 1e-6])
def test_the_step_is_the_least_one_within_the_bounds(weakest):
    rng = np.random.default_rng(0)
    met = 0
    for _ in range(50):
        rows, root = rng.normal(size=(ROWS, SIZE)), cost_root(rng, weakest)
        inside = rows @ rng.normal(size=SIZE)
        low, high = inside - rng.uniform(0.0, 1.0, ROWS), inside + rng.uniform(0.0, 1.0, ROWS)
        low[0], high[1] = -INFINITE, INFINITE
        fits, step, held, active = search(rows, root, low, high)
        assert fits
        at = rows @ step
        assert max((at - high).max(), (low - at).max()) < 1e-8
        np.testing.assert_allclose(at[active > 0], high[active > 0], atol=1e-8)
        np.testing.assert_allclose(at[active < 0], low[active < 0], atol=1e-8)
        pushing = np.vstack([rows[active < 0], -rows[active > 0]]).T
        slope = root.T @ (root @ step)
        assert nnls(pushing, slope)[1] < 1e-9 * (1.0 + np.linalg.norm(slope))
        assert len(held) <= np.count_nonzero(active)
        met = max(met, np.count_nonzero(active))
    assert met >= 5


def test_bounds_that_were_met_are_a_guess_whatever_they_are():
    rng = np.random.default_rng(1)
    for _ in range(50):
        rows, root = rng.normal(size=(ROWS, SIZE)), cost_root(rng, 1e-5)
        inside = rows @ rng.normal(size=SIZE)
        low, high = inside - rng.uniform(0.0, 1.0, ROWS), inside + rng.uniform(0.0, 1.0, ROWS)
        _, cold, _, met = search(rows, root, low, high)
        for guess in (met.copy(), rng.integers(-1, 2, ROWS).astype(np.int8), np.ones(ROWS, dtype=np.int8)):
            fits, warm, _, active = search(rows, root, low, high, guess)
            assert fits
            np.testing.assert_allclose(warm, cold, atol=1e-8)
            np.testing.assert_array_equal(active, met)


def test_bounds_that_nothing_keeps_are_told():
    rng, told = np.random.default_rng(2), 0
    for _ in range(100):
        rows, root = rng.normal(size=(ROWS, 3)), np.eye(3)
        middle, room = rng.normal(size=ROWS), rng.uniform(0.5, 3.0, ROWS)
        low, high = middle - room, middle + room
        both = np.vstack([rows, -rows]), np.r_[high, -low]
        possible = linprog(np.zeros(3), *both, bounds=[(None, None)] * 3).status == 0
        assert search(rows, root, low, high)[0] == possible
        told += not possible
    assert 10 < told < 90


def test_rows_that_repeat_or_nearly_repeat_others_are_met_together():
    row = np.array([1.0, 2.0, 0.0])
    rows = np.array([row, row, 2.0 * row, row + np.array([0.0, 0.0, 1e-7])])
    fits, step, _, _ = search(rows, np.eye(3), [5.0, 4.0, 10.0, 5.0], [9.0, 5.0, 10.0, 5.0])
    assert fits
    np.testing.assert_allclose(step, [1.0, 2.0, 0.0], atol=1e-6)
    fits, step, _, _ = search(rows, np.eye(3), [5.0, 4.0, 10.0, 5.0 + 1e-6], [9.0, 5.0, 10.0, 9.0])
    assert fits
    np.testing.assert_allclose(step, [1.0, 2.0, 10.0], atol=1e-5)
    assert not search(rows, np.eye(3), [5.0, 4.0, 10.1, 5.0], [9.0, 5.0, 11.0, 5.0])[0]


def test_what_only_smallness_asks_for_does_not_count():
    """A bound held against the weak direction's smallness is met; one against the task's is one that counts."""
    root = np.diag([1.0, 1e-5])
    _, step, held, active = search(np.eye(2), root, [3.0, 4.0], [9.0, 9.0])
    np.testing.assert_allclose(step, [3.0, 4.0])
    np.testing.assert_array_equal(active, [-1, -1])
    np.testing.assert_array_equal(held, [[1.0, 0.0]])
