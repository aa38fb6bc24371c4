"""A tool that is weighed: in simulation with noise and bias, and what is refused."""

import io
import json

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from rich.console import Console

from pliant.conf.build import build
from pliant.controllers.interaction import DirectForceGains, InteractionController
from pliant.deployment.machines import machine
from pliant.deployment.weighing import prepare_weighing
from pliant.envs.arm import arm
from pliant.envs.description import described
from pliant.errors import FileFormatError, MismatchError, MissingFileError, RobotError
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings
from pliant.hardware.force_torque.tool_load import identify_load, read_load
from pliant.hardware.force_torque.wrench import QUANTITIES, ToolLoad, rotation_matrix
from pliant.hardware.recording import NoRecorder
from pliant.hardware.safety import SafeRobot
from pliant.hardware.wrapper import RobotWrapper

QUIET = Console(file=io.StringIO())
LOAD = ToolLoad(1.4, (0.01, -0.02, 0.06))
BIAS = np.array([4.0, -7.0, 12.0, 0.3, -0.2, 0.5])
WORDS = [
    "robot=ur10e",
    "robot.model.tool={mass: 1.4, com: [0.01, -0.02, 0.06], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}",
    "poses=6",
    "run={settle: 0.1, average: 0.2}",
    "safety.motion.rad.walk_speed=1.5",
]


def configured(*words):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose("weigh", [*WORDS, *words])


class Biased(RobotWrapper):
    """A robot whose wrist reads a bias and noise of 0.4 N and 0.03 N·m."""

    def __init__(self, robot):
        super().__init__(robot)
        self.random = np.random.default_rng(0)

    def read(self):
        state = self.robot.read()
        first = len(self.info.signals) - len(self.info.sensors)
        sensors = state.sensors.copy()
        sensors[[self.info.signal(f"wrist/{quantity}") - first for quantity in QUANTITIES]] += BIAS + np.repeat(
            [0.4, 0.03], 3
        ) * self.random.standard_normal(6)
        return state._replace(sensors=sensors)


def weighed(config, robot, folder):
    safe = SafeRobot(robot, build(config.safety, "safety"))
    weighing = prepare_weighing(config, safe, QUIET)
    weighing.run(NoRecorder(), QUIET)
    return weighing, weighing.finish(folder, QUIET)[0]


@pytest.mark.slow
def test_load_and_bias_are_found_within_the_stated_errors(tmp_path):
    config = configured()
    robot = machine(config)
    weighing, numbers = weighed(config, Biased(robot), tmp_path)
    found = weighing.found
    assert abs(found.load.mass - LOAD.mass) < 5.0 * found.mass_deviation < 0.05
    assert (np.abs(np.subtract(found.load.com, LOAD.com)) < 5.0 * found.com_deviation).all()
    assert (np.abs(found.bias - BIAS) < 5.0 * found.bias_deviation).all()
    # 25 readings of 0.4 N each
    assert found.noise[0] == pytest.approx(0.4 / 5.0, rel=0.6)
    assert numbers["completed"]
    assert numbers["readings"] == 6
    np.testing.assert_allclose(robot.data.qpos, robot.info.rest, atol=0.01)


@pytest.mark.slow
def test_its_file_is_taken_by_the_conditioning_of_the_same_robot(tmp_path):
    turns = [rotation_matrix(v) for v in ([0, 0, 0], [1.5, 0, 0], [0, 1.5, 0], [3.0, 0, 0])]
    readings = [LOAD.raw(turn.T @ [0.0, 0.0, -9.81]) + BIAS for turn in turns]
    path = identify_load(turns, readings).save(tmp_path / "load.json", "ur10e", "wrist")
    conditioning = WrenchConditioning(WrenchSettings(load=str(path)))
    read = conditioning.settings.load
    assert (read.mass, read.robot, read.sensor) == (pytest.approx(1.4), "ur10e", "wrist")
    description = described(configured().robot)
    info = description.simulated().info
    controller = InteractionController(arm(description), info, DirectForceGains(0.0, 1e-5), conditioning)
    controller.check(info)
    other = identify_load(turns, readings).save(tmp_path / "other.json", "smartsix", "wrist")
    controller = InteractionController(
        arm(description), info, DirectForceGains(0.0, 1e-5), WrenchConditioning(WrenchSettings(load=other))
    )
    with pytest.raises(MismatchError, match="weighed on robot 'smartsix'; here it is 'ur10e'"):
        controller.check(info)


def test_a_file_that_is_none_is_refused(tmp_path):
    turns = [rotation_matrix(v) for v in ([0, 0, 0], [1.5, 0, 0], [0, 1.5, 0])]
    path = identify_load(turns, [LOAD.raw(t.T @ [0.0, 0.0, -9.81]) for t in turns]).save(tmp_path / "a", "r", "s")
    good = json.loads(path.read_text())
    with pytest.raises(MissingFileError, match="tool load"):
        read_load(tmp_path / "b")
    for change, message in (
        ({"mass": 2.0}, "damaged"),
        ({"kind": "gait"}, "damaged"),
        ({"sha256": None}, "damaged"),
    ):
        path.write_text(json.dumps({**good, **change}))
        with pytest.raises(FileFormatError, match=message):
            read_load(path)
    del good["sha256"]
    for change, message in (
        ({"kind": "gait"}, "is none"),
        ({"robot": 3}, "of which robot"),
        ({"mass": -1.0}, "mass"),
        ({"com": [0, 0]}, "com"),
        ({"mass": "heavy"}, "mass"),
    ):
        path.write_text(json.dumps({**good, **change}))
        with pytest.raises(FileFormatError, match=message):
            read_load(path)
    path.write_text("{")
    with pytest.raises(FileFormatError, match="no JSON"):
        read_load(path)


def test_what_would_be_touched_is_found_before_anything_is_connected():
    wall = "robot.surroundings={wall: {box: [4, 4, 0.02], position: [0, 0, 0.95]}}"
    config = configured(wall)
    robot = machine(config)
    with pytest.raises(RobotError, match=r"nothing was connected: on the way (to posture \d|home).* touches "):
        prepare_weighing(config, SafeRobot(robot, build(config.safety, "safety")), QUIET)
    with pytest.raises(RobotError, match="not connected"):
        robot.read()
