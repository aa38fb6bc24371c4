from collections.abc import Callable

import numpy as np
import pytest


@pytest.fixture
def convolve() -> Callable[..., Callable[[np.ndarray], np.ndarray]]:
    """Return a maker of linear plants: u (n, joints) -> the causal convolution with an impulse response."""

    def make(response, disturbance=0.0):
        def run(command):
            columns = [np.convolve(column, response)[: len(command)] for column in command.T]
            return np.stack(columns, axis=-1) + disturbance

        return run

    return make
