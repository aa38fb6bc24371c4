import pytest


@pytest.fixture
def quick():
    """Overrides that make `pliant ilc` a matter of a second."""
    return ("trajectory.duration=2.0", "robustness.robots=2", "report.pictures=false", "hydra.run.dir=out")
