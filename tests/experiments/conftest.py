from collections.abc import Iterator

import pytest

from pliant.actuators import uninstall


@pytest.fixture(autouse=True)
def no_callback_outlives_a_test() -> Iterator[None]:
    yield
    uninstall()
