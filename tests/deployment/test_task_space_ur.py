"""Task-space control by torques on an arm of Universal Robots: the real driver and client, an emulated controller.

The emulated arm differs from the model that predicts it: an unknown payload, heavier links, and what gears add,
friction and the inertia of the rotors. Of the gears the controller knows, as if they had been identified.
"""

import io

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from rich.console import Console

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
from pliant.conf.build import build
from pliant.deployment.controller import prepare_controller
from pliant.deployment.machines import machine
from pliant.envs.description import described
from pliant.envs.task_space import mechanics
from pliant.hardware.recording import NoRecorder
from pliant.hardware.safety import SafeRobot
from pliant.hardware.ur.rtde import look
from pliant.hardware.wrapper import unwrapped

# Each takes its motion's time and more.
pytestmark = [pytest.mark.slow, pytest.mark.real_time]

HOME, GOAL = np.array([-0.6914, -0.17415, 0.67685]), np.array([-0.5, 0.05, 0.75])
ARM = [
    *(
        "robot=ur10e",
        "robot.model.mode=torque",
        "hardware=emulated",
        "controller=task_space",
        "robot.period=0.008",
    ),
    *(
        "controller.tasks.tool.task=pose",
        "controller.tasks.tool.stiffness=900",
        "controller.tasks.tool.damping=60",
    ),
    # A machine with two busy cores keeps no watchdog of 0.1 s.
    *("+robot.machine.stale=0.9", "robot.machine.watchdog=0.9", "+safety.overruns=1000", "+safety.patience=100"),
]
STOPPED = 1
GEARS = [
    "robot.model.friction=[16.5,16.5,7.5,2.7,2.7,2.7]",
    "robot.model.damping=[13.2,13.2,6.0,2.16,2.16,2.16]",
    "robot.model.armature=[1.65,1.65,0.75,0.27,0.27,0.27]",
]
REACH = (
    "controller.tasks.tool.path={_target_: pliant.controllers.Line, duration: 2, "
    f"start: {HOME.tolist()}, goal: {GOAL.tolist()}}}"
)
CIRCLE = (
    "controller.tasks.tool.path={_target_: pliant.controllers.Circle, centre: [-0.6914, -0.27415, 0.67685], "
    "radius: 0.1, plane: yz, duration: 4}"
)


class Done:
    """What came of a deployment: way of the tool, measured and predicted at the same times, (n, 3), m."""

    def __init__(self, *words):
        with initialize_config_module("pliant.conf", version_base="1.3"):
            config = compose("deploy", [*ARM, *words])
        robot = SafeRobot(machine(config), build(config.safety, "safety"))
        driver, deployment = unwrapped(robot.robot), prepare_controller(config, robot, Console(file=io.StringIO()))
        try:
            deployment.run(NoRecorder(), Console(file=io.StringIO()))
            self.log = driver.machine.log()
            names = ["actual_q", "actual_qd", "runtime_state"]
            self.after = {name: np.array(value) for name, value in look(driver.config.host, names).items()}
        finally:
            driver.power_off()
        description = described(config.robot)
        model = mechanics(description)
        tip = model.frame(description.model.end_effectors["tip"])

        def tool(q):
            model.update(q, np.zeros(6))
            return model.pose(tip)[:3]

        ways = [
            np.array([tool(q) for q in trace.position])
            for trace in (deployment.trace, deployment._prediction.trace)
        ]
        times = [
            np.array(trace.time) - trace.time[0] for trace in (deployment.trace, deployment._prediction.trace)
        ]
        self.measured = ways[0]
        self.predicted = np.stack([np.interp(times[0], times[1], ways[1][:, k]) for k in range(3)], axis=1)
        self.robot, self.numbers, self.deployment = robot, deployment.metrics(), deployment

    @property
    def difference(self):
        """Largest, m."""
        return np.linalg.norm(self.measured - self.predicted, axis=1).max()


SENSED = ["robot.machine.end_effector=tip", "controller.tasks.tool.sense=tip"]


@pytest.mark.parametrize(
    "words", [[REACH, *SENSED, "duration=4"], [CIRCLE, "duration=5"]], ids=["reach", "circle"]
)
def test_the_emulated_arm_does_the_task_as_simulated(words):
    done = Done(*GEARS, *words)
    assert done.numbers["completed"]
    assert done.numbers["trips"] == []
    assert np.ptp(done.measured, axis=0).max() > 0.15
    assert done.difference < 3e-3
    assert done.numbers["limited"] < 10
    if REACH in words:
        assert np.linalg.norm(done.measured[-1] - GOAL) < 3e-3


def test_it_begins_where_the_arm_stands_and_leaves_it_held_by_the_controller():
    done = Done(
        *GEARS, "controller.tasks.tool.target=[-0.6,-0.1,0.7]", "controller.tasks.tool.speed=0.3", "duration=1"
    )
    assert np.linalg.norm(done.measured[0] - HOME) < 1e-3
    assert np.abs(done.after["actual_qd"]).max() < 5e-3
    assert done.after["runtime_state"] == STOPPED
    last = done.deployment.trace.position[-1]
    assert np.abs(done.after["actual_q"] - last).max() < 0.05, "it has braked and stands"
