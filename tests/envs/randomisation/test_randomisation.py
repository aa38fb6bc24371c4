import pytest
from hydra.utils import instantiate

from pliant.envs.randomisation import Randomisation, Uniform
from pliant.errors import ConfigurationError, OutOfBoundsError


def test_nothing_varies_by_default():
    empty = Randomisation()
    assert not any(vars(empty).values())


def test_what_is_no_distribution_is_refused_by_name():
    with pytest.raises(ConfigurationError, match=r"Randomisation mass is 1.2; a distribution is needed \(Uniform"):
        Randomisation(mass=1.2)
    with pytest.raises(ConfigurationError, match=r"Randomisation law k1 is 0.9"):
        Randomisation(law={"k1": 0.9})


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("mass", Uniform(0.0, 1.0)),
        ("damping", Uniform(-0.1, 1.0)),
        ("friction", Uniform(-1.0, 1.0)),
        ("command_delay", Uniform(0.0, 5.0)),
        ("sensor_delay", Uniform(-0.1, 0.1)),
        ("position_noise", Uniform(-0.1, 0.1)),
    ],
)
def test_what_no_robot_can_be_is_refused(name, distribution):
    with pytest.raises(OutOfBoundsError, match=f"Randomisation {name} = "):
        Randomisation(**{name: distribution})


def test_it_can_be_written_as_configuration():
    uniform = {"_target_": "pliant.envs.randomisation.Uniform", "low": 0.9, "high": 1.1}
    config = {"_target_": "pliant.envs.randomisation.Randomisation", "mass": uniform, "law": {"k1": uniform}}
    expected = Randomisation(mass=Uniform(0.9, 1.1), law={"k1": Uniform(0.9, 1.1)})
    assert instantiate(config, _convert_="all") == expected
