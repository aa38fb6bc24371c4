from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pliant.controllers.gaits import FootGait, MatsuokaGait
from pliant.deployment.controller import build_controller

CONF = Path(__file__).parents[3] / "conf" / "controller"


@pytest.mark.parametrize(("name", "kind"), [("gait", FootGait), ("matsuoka", MatsuokaGait)])
def test_configurations_are_the_constructors_defaults(name, kind, info):
    built = build_controller(OmegaConf.load(CONF / f"{name}.yaml"), info).controller
    plain = kind(info)
    assert type(built) is kind
    for number in ("speed", "turn_rate", "height", "stride", "longest_stride", "frequency", "ramp"):
        assert getattr(built, number) == pytest.approx(getattr(plain, number)), number
