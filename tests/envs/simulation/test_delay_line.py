import numpy as np
import pytest

from pliant.envs.simulation.lines import DelayLine


@pytest.mark.parametrize("longest", [0, 1, 3])
def test_every_number_comes_out_its_own_lag_later(longest):
    random = np.random.default_rng(0)
    line = DelayLine(4, 5, longest)
    line.lag[:] = random.integers(0, longest + 1, (4, 5))
    start, rows = random.normal(size=(4, 5)), random.normal(size=(9, 4, 5))
    line.fill(np.arange(4), start)
    history = [start] * longest + [start]
    for row in rows:
        line.push(row)
        history.append(row)
        late = line.late()
        for i, j in np.ndindex(4, 5):
            assert late[i, j] == history[-1 - line.lag[i, j]][i, j]


def test_a_robot_that_begins_anew_forgets_what_was_on_its_way():
    line = DelayLine(2, 1, 2)
    line.lag[:] = 2
    line.fill(np.arange(2), np.zeros((2, 1)))
    line.push(np.ones((2, 1)))
    line.fill(np.array([1]), np.array([[7.0]]))
    line.push(np.full((2, 1), 2.0))
    assert line.late().ravel().tolist() == [0.0, 7.0]
    line.push(np.full((2, 1), 3.0))
    assert line.late().ravel().tolist() == [1.0, 7.0]
    line.push(np.full((2, 1), 4.0))
    assert line.late().ravel().tolist() == [2.0, 2.0]
