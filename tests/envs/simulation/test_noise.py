import numpy as np

from pliant.envs.simulation.lines import NoiseStreams


def test_streams_are_those_of_generators_asked_period_by_period():
    """Robots restart at different times and not all move every period."""
    choose = np.random.default_rng(0)
    streams, alone = NoiseStreams(5, 3), [np.random.default_rng(i) for i in range(5)]
    streams.restart(np.arange(5), [np.random.default_rng(i) for i in range(5)])
    for period in range(60):
        index = np.flatnonzero(choose.random(5) < 0.7)
        drawn = streams.draw(index)
        assert drawn.tolist() == [alone[i].standard_normal(3).tolist() for i in index]
        if period % 13 == 5:
            i = int(choose.integers(5))
            alone[i] = np.random.default_rng(100 + period)
            streams.restart(np.array([i]), [np.random.default_rng(100 + period)])
