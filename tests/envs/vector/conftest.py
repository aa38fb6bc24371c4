from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import pliant.envs
from pliant.envs.vector import PliantVectorEnv


def _identical(a: Any, b: Any, path: str = "") -> None:
    if isinstance(a, Mapping):
        assert set(a) == set(b), f"{path}: {set(a) ^ set(b)}"
        for key in a:
            _identical(a[key], b[key], f"{path}/{key}")
    elif isinstance(a, tuple | list):
        assert len(a) == len(b), path
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            _identical(x, y, f"{path}/{i}")
    elif isinstance(a, np.ndarray) and a.dtype == object:
        _identical(a.tolist(), b.tolist(), path)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), f"{path}: {a} is not {b}"
    else:
        assert a == b, f"{path}: {a} is not {b}"


@pytest.fixture
def identical() -> Callable[..., None]:
    """Return a function that fails unless two results are the same to the last bit, in type and layout."""
    return _identical


Maker = Callable[..., tuple[PliantVectorEnv, SyncVectorEnv]]


@pytest.fixture
def together() -> Iterator[Maker]:
    """Return a maker of a vector environment, and of as many single ones in Gymnasium's own loop."""
    pliant.envs.register()
    made: list[gymnasium.vector.VectorEnv] = []

    def make(name: str, n: int, autoreset: AutoresetMode = AutoresetMode.NEXT_STEP, **options):
        many = gymnasium.make_vec(
            f"pliant/{name}-v0", n, vectorization_mode="vector_entry_point", autoreset_mode=autoreset, **options
        )
        single = SyncVectorEnv(
            [lambda: gymnasium.make(f"pliant/{name}-v0", **options).unwrapped] * n, autoreset_mode=autoreset
        )
        made.extend((many, single))
        return many, single

    yield make
    for env in made:
        env.close()
