from pathlib import Path

import pytest
from hydra import compose, initialize_config_module
from hydra.utils import instantiate

import pliant.conf
from pliant.actuators import compile_model
from pliant.envs.models.robot_model import RobotModel

NAMES = sorted(path.stem for path in (Path(next(iter(pliant.conf.__path__))) / "robot").glob("*.yaml"))


def built(name: str, *overrides: str) -> RobotModel:
    with initialize_config_module("pliant.conf", version_base=None):
        config = compose(overrides=[f"+robot={name}", *overrides])
        assert config.robot.period > 0.0
        return instantiate(config.robot.model)


def test_every_robot_has_a_configuration():
    assert {"rig1", "arm2", "arm5", "two_link", "two_link_soft"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_configured_robot_compiles(name):
    model = compile_model(built(name).spec)
    assert model.opt.timestep == 1e-3


def test_the_preset_of_a_robot_is_set_by_one_word():
    robot = built("arm2", "robot.preset=0.6")
    text = bytes(compile_model(robot.spec).text_data).decode()
    assert text.count('"preset": 0.6') == 2


def test_physical_options_are_set_under_model():
    model = compile_model(built("two_link_soft", "robot.model.joints.stiffness=50", "robot.model.damping=2").spec)
    assert (model.dof_damping == 2.0).all()
    assert '"k": 50' in bytes(model.text_data).decode()
