"""Interaction controllers of the configuration, from the command line to the end of their goals."""

import json

import numpy as np
import pytest

pytest.importorskip("mcap", reason="deployments are recorded")
from hydra import compose, initialize_config_module

from pliant.controllers.interaction import AdmittanceGains, DirectForceGains, InteractionController
from pliant.deployment.controller import build_controller
from pliant.envs.description import described
from pliant.errors import OutOfBoundsError
from pliant.hardware.recording import read_recording

START = [1.3644, -0.950874, 1.944186, 3.71903, -1.570797, -1.777184]
ARM = [
    *("robot=ur10", "robot.model.tool.mass=2.0", "robot.model.tcp=[0,0,0.195,0,0,0]"),
    f"controller.start={START}",
]


def built(*overrides):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", overrides=list(overrides))
    robot = described(config.robot).simulated()
    return build_controller(config.controller, robot.info)


@pytest.mark.parametrize(
    ("name", "gains"),
    [
        (
            "admittance",
            AdmittanceGains([1.0, 1.0, 1000.0], [900.0, 900.0, 5000.0], [1300.0, 1300.0, 90.0]),
        ),
        ("direct_force", DirectForceGains(2.5e-9, 6e-5)),
        (
            "hand_guiding",
            DirectForceGains(0.0, [0.01] * 3 + [0.1] * 3, ["x", "y", "z", "rx", "ry", "rz"]),
        ),
    ],
)
@pytest.mark.parametrize("period", [0.002, 0.008])
def test_controllers_of_the_configuration_are_stable_by_their_own_estimates(name, gains, period):
    found = built(f"controller={name}", f"robot.period={period}", *ARM)
    controller = found.controller
    assert isinstance(controller, InteractionController)
    assert controller.gains == gains
    assert controller.arm.load == pytest.approx(2.0)
    np.testing.assert_array_equal(found.initial_command, START)
    assert found.duration is None


@pytest.mark.slow
def test_a_whole_experiment_is_one_command(verb, tmp_path):
    goals = (
        "controller.goals=[{wait: 0.2}, {trajectory: {waypoints: [[0, 0.05, 0]], times: [2], ramp: 0.4}},"
        " {joints: [1.3, -1.0, 1.9, 3.7, -1.6, -1.8]}]"
    )
    words = ["controller=admittance", *ARM, goals, "run.settle=0.1", "hydra.run.dir=out"]
    status, _, err = verb("deploy", *words)
    assert status == 0, err
    numbers = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert (numbers["controller"], numbers["completed"]) == ("InteractionController", True)
    sent = np.array(read_recording(tmp_path / "out" / "recording.mcap").series["/command"]["sent"])
    np.testing.assert_allclose(sent[0], START, atol=1e-3)
    np.testing.assert_allclose(sent[-1], [1.3, -1.0, 1.9, 3.7, -1.6, -1.8], atol=1e-6)
    assert numbers["predicted_limited"] == 0


def test_goals_that_cannot_be_are_told_before_anything_connects():
    far = "controller.goals=[{trajectory: {waypoints: [[0, 0, 1.6]], times: [2]}}]"
    with pytest.raises(OutOfBoundsError, match=r"the path (cannot be followed|comes by a singular posture) at"):
        built("controller=admittance", *ARM, far)
