import numpy as np
import pytest

from pliant.controllers.gaits import MatsuokaNetwork, MatsuokaUnit, Update
from pliant.controllers.gaits.matsuoka import DISCARDED, squashed
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError


@pytest.mark.parametrize(
    ("update", "period", "tolerance", "largest"),
    [(Update.SYNCHRONOUS, 54.17, 0.01, 0.536), (Update.PUBLISHED, 80.688, 0.01, 0.3498)],
)
def test_period_size_and_swing_are_the_prototypes(update, period, tolerance, largest):
    network = MatsuokaNetwork(update=update)
    assert network.settle() == pytest.approx(period, abs=tolerance)
    outputs = np.array([network.advance() for _ in range(4000)])
    assert np.abs(outputs).max() == pytest.approx(largest, abs=1e-3)
    assert (outputs > 0).mean() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("update", Update)
def test_every_start_leads_to_the_tripod(update):
    for seed in range(40):
        network = MatsuokaNetwork(update=update, seed=seed)
        for _ in range(DISCARDED):
            network.advance()
        outputs = np.array([network.advance() for _ in range(200)])
        together, others = outputs[:, [0, 2, 4]], outputs[:, [1, 3, 5]]
        largest = np.abs(outputs).max()
        assert largest > 0.3
        assert np.ptp(together, axis=1).max() < 0.1 * largest, seed
        assert np.abs(together[:, 0] + others[:, 0]).max() < 0.1 * largest, seed


def test_a_step_is_the_equation():
    rng = np.random.default_rng(1)
    network, u = MatsuokaNetwork(), rng.uniform(-1, 1, (2, 6))
    network.begin(u)
    coupling = np.array([[0.4 * (-1) ** (i + j) * (i != j) for j in range(6)] for i in range(6)])
    v = 0.125 / 1.5 * np.maximum(u, 0)
    inner = -u - 4 * np.maximum(u[::-1], 0) - 7 * v + 0.8 + np.maximum(u, 0) @ coupling
    new = squashed(u + 0.125 / 1.7 * inner)
    np.testing.assert_allclose(network.advance(), squashed(new[1] - new[0]), rtol=1e-12)


def test_numbers_out_of_their_working_ranges_are_refused():
    for name, value in {
        "rise": 2.5,
        "adaptation": 0.0,
        "fatigue": 3.0,
        "inhibition": 1.0,
        "drive": np.nan,
    }.items():
        with pytest.raises(OutOfBoundsError, match=f"Matsuoka unit: {name}"):
            MatsuokaUnit(**{name: value})
    with pytest.raises(UnknownNameError, match="synchronous, published"):
        MatsuokaNetwork(update="both")
    with pytest.raises(ShapeError):
        MatsuokaNetwork().begin(np.zeros(6))


def test_a_network_that_does_not_oscillate_is_refused():
    with pytest.raises(ConfigurationError, match="does not oscillate"):
        MatsuokaNetwork(MatsuokaUnit(inhibition=0.0, coupling=0.0)).settle()
