from collections.abc import Callable, Iterator

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import pliant.envs
from pliant.envs.vector import PliantVectorEnv

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
