"""What would leave the limits is found in simulation, before anything is connected."""

import io
import re

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from rich.console import Console

pytest.importorskip("dynamixel_sdk")
from pliant.conf.build import build
from pliant.controllers import Controller, FeedForward, MinimumJerk
from pliant.controllers.policies import ControllerPolicy
from pliant.deployment.episodes import EpisodeRunner
from pliant.deployment.machines import machine
from pliant.deployment.policy import predict
from pliant.deployment.rehearsal import Rehearsing, rehearsal
from pliant.envs import describe
from pliant.envs.tasks import Reach
from pliant.errors import RobotError
from pliant.hardware.limits import MotionLimits
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig
from pliant.scripts.deploy import prepared
from pliant.training.run_settings import settings

RUNAWAY = """
import numpy as np
from pliant.controllers import Controller

class Runaway(Controller):
    \"\"\"Driven away from where it stands, the faster the further.\"\"\"

    def __init__(self, info):
        self.rest = info.rest

    def update(self, state, t):
        return self.rest + [0.001 * np.exp(8.0 * t), 0.0, 0.0, 0.0]
"""


def prepare(*words):
    """What `pliant deploy` prepares, and the machine."""
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", settings(["run.settle=0", *words]))
    safe = SafeRobot(machine(config), build(config.safety, "safety"))
    return safe, lambda: prepared(config, safe, Console(file=io.StringIO()))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        # asked for e^8t mrad: beyond 1.57 rad + 2 % of 3.14 rad from ln(1633)/8 s = 0.925 s on, seen at the third
        (
            ("controller=runaway:Runaway", "hardware=real", "port=x"),
            r"shoulder/equilibrium commanded to be at .*, beyond its range \[-1.57, 1.57\] rad; at 0.9[5-7]0 s",
        ),
        (
            ("controller=setpoint_pid", "controller.ki=200", "controller.limit=50", "hardware=emulated"),
            r"shoulder/equilibrium commanded to be at .* beyond its range",
        ),
    ],
)
def test_a_controller_that_leaves_its_range_is_not_let_at_a_machine(tmp_path, monkeypatch, words, said):
    (tmp_path / "runaway.py").write_text(RUNAWAY)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PLIANT_TARGETS", "runaway")
    safe, deployed = prepare(*words)
    with pytest.raises(
        RobotError, match=rf"so nothing was connected: {said}.*Change what commands .*safety\.motion"
    ):
        deployed()
    with pytest.raises(RobotError, match=r"not connected|not open"):
        safe.robot.read()


class Full(Controller):
    """The largest torques."""

    def reset(self, state):
        pass

    def update(self, state, t):
        return [60.0, 60.0]


def driven(speed):
    """The largest speeds of a pendulum under its largest torque, rad/s, and why that ended, if it did."""
    robot = describe("two_link").simulated()
    machine = SafeRobot(robot, SafetyConfig(motion={"rad": MotionLimits(speed, 15.0)}))
    seen = []
    with Rehearsing(machine, robot) as twin:
        try:
            for _ in range(100):
                twin.send([60.0, 0.0])
                seen.append(np.abs(twin.read().velocity).max())
        except RobotError as error:
            return np.array(seen), str(error)
    return np.array(seen), ""


def test_a_joint_under_torque_may_swing_to_four_times_its_speed():
    seen, why = driven(1.5)
    assert re.match(r"joint \w+ beyond its limits: velocity .* rad/s, limit -?6 rad/s; at 0\.\d+ s", why)
    beyond = np.flatnonzero(seen > 6.0)
    assert len(beyond) == 2, "the third in a row ends it"
    assert beyond.tolist() == [len(seen) - 2, len(seen) - 1]
    seen, why = driven(1e3)
    assert (len(seen), why) == (100, "")
    assert seen.max() > 6.0


def test_a_policy_that_would_run_away_is_refused():
    description = describe("two_link")
    robot, model = description.simulated(0.02), description.simulated(0.02)

    def predicted():
        with rehearsal(SafeRobot(robot), robot) as safe:
            runner = EpisodeRunner(safe, Reach(duration=2.0), model, 0.0)
            predict(ControllerPolicy(Full(), runner.policy_info), runner, (0,), robot.info.joints)

    with pytest.raises(RobotError, match=r"was connected: joint .* velocity .*, limit -?6 rad/s; at .* s\. Cha"):
        predicted()


def test_a_feed_forward_within_its_range_may_still_bring_a_joint_beyond_its_limits(tmp_path):
    info = describe("arm2").simulated().info
    way = MinimumJerk([0.0], [-1.0], 2.0).position(0.01 * np.arange(250))
    rows = way * [1.0, 0.0, 0.0, 0.0]
    FeedForward.of_robot(info, rows, desired=np.zeros((len(rows), 2))).save(tmp_path / "down.npz")
    words = (f"feedforward={tmp_path / 'down.npz'}", "hardware=emulated")
    _, deployed = prepare(*words, "+safety.joints.shoulder.low=-0.5")
    with pytest.raises(RobotError, match=r"connected: joint shoulder .* position -0.5\d+ rad, limit -0.5 rad; at"):
        deployed()
    _, deployed = prepare(*words)
    assert not deployed().complete
