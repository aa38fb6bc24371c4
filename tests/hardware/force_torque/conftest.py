from collections.abc import Callable, Iterator

import numpy as np
import pytest

from pliant.envs.emulators.net_ft.box import BoxEmulation
from pliant.envs.emulators.net_ft.emulator import EmulatedNetFT
from pliant.hardware.force_torque.net_ft import NetFT

QUIET = BoxEmulation(rate=500.0, noise=(0.0, 0.0))
PATIENT = 30.0
"""Age of a reading that no busy machine brings about, s."""


@pytest.fixture
def box() -> Iterator[Callable[..., EmulatedNetFT]]:
    """Return a function that starts an emulated box."""
    made: list[EmulatedNetFT] = []

    def make(settings: BoxEmulation = QUIET, **given) -> EmulatedNetFT:
        made.append(EmulatedNetFT(settings, **given))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def sensor() -> Iterator[Callable[..., NetFT]]:
    """Return a function that makes the driver of a box, connected."""
    made: list[NetFT] = []

    def make(box: EmulatedNetFT, connect: bool = True, stale: float = PATIENT) -> NetFT:
        made.append(NetFT(box.host, port=box.port, page_port=box.page_port, stale=stale))
        if connect:
            made[-1].connect()
        return made[-1]

    yield make
    for one in made:
        one.close()


def random_rotation(random: np.random.Generator) -> np.ndarray:
    """Drawn evenly of all rotations."""
    q, r = np.linalg.qr(random.standard_normal((3, 3)))
    q *= np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]


@pytest.fixture
def rotation() -> Callable[[np.random.Generator], np.ndarray]:
    return random_rotation
