"""Interaction controllers on an arm of Universal Robots: the real driver and client, an emulated controller.

The emulated arm differs from the model that predicts it: an unknown payload, heavier links, friction, soft gears,
a force sensor with noise and a drift of 0.5 N/min; what it reports comes 4 ms late.
"""

import io
import json

import numpy as np
import pytest
from hydra import compose, initialize_config_module
from rich.console import Console

pytest.importorskip("rtde_control", reason="ur-rtde is the other end of the wire")
pytest.importorskip("mcap", reason="deployments are recorded")
from pliant.conf.build import build
from pliant.deployment.controller import prepare_controller
from pliant.deployment.machines import machine
from pliant.envs.arm import arm
from pliant.envs.emulators.net_ft.box import BoxEmulation
from pliant.envs.emulators.net_ft.emulator import EmulatedNetFT
from pliant.errors import RobotError
from pliant.hardware.recording import Recorder, read_recording
from pliant.hardware.safety import SafeRobot
from pliant.hardware.wrapper import unwrapped

# Each takes its motion's time and more.
pytestmark = [pytest.mark.slow, pytest.mark.real_time]

EMULATED = [
    *("hardware=emulated", "+hardware.controller.gap.force_drift=2.5"),
    # A machine with two busy cores keeps no period of 8 ms and no watchdog of 0.1 s.
    *("+robot.machine.stale=0.9", "robot.machine.watchdog=0.9", "+safety.overruns=1000", "+safety.patience=100"),
    "run.settle=0.2",
]
QUIET = Console(file=io.StringIO())
SLIDE = "{trajectory: {waypoints: [[0, -0.03, 0]], times: [8], ramp: 0.5, wrench: [[0, 0, 25]]}}"
PRESS = (
    "{tare: {}}, {approach: {direction: [0, 0, 1], speed: 0.002, distance: 0.005, wrench: [0, 0, 10]}}, {wait: 2}"
)


class Happening(Recorder):
    """A recorder that, once the tool is at work, lets something happen at each of some periods."""

    def __init__(self, path, deployment, happens):
        super().__init__(path, deployment.info)
        self.arm, self.happens, self.period = unwrapped(deployment.robot.robot), dict(happens), 0

    def tool(self, time_, quantities):
        super().tool(time_, quantities)
        if self.period == 0:
            self.arm.machine.fault("late", delay=0.004)
        if self.period in self.happens:
            self.happens[self.period](self.arm.machine)
        self.period += 1


class Done:
    """What came of a deployment."""

    def __init__(self, folder, words, happens=()):
        with initialize_config_module("pliant.conf", version_base="1.3"):
            config = compose("deploy", [*words, *EMULATED])
        robot = SafeRobot(machine(config), build(config.safety, "safety"))
        self.deployment, self.told = prepare_controller(config, robot, QUIET), ""
        self.emulated = unwrapped(robot.robot).machine
        try:
            with Happening(folder / "r.mcap", self.deployment, happens) as recorder:
                try:
                    self.deployment.run(recorder, QUIET)
                except RobotError as error:
                    self.told = str(error)
                self.numbers, self.report = self.deployment.finish(folder, QUIET)
        finally:
            self.log = self.emulated.log()
            unwrapped(robot.robot).power_off()
        json.loads((folder / "metrics.json").read_text())
        self.recording = read_recording(folder / "r.mcap")
        self.tool = self.recording.series["/tool"]
        self.sent = self.recording.series["/command"]["sent"]
        self.said = self.recording.series["/events"]["message"]
        self.measured, self.predicted = self.deployment._run.tool, self.deployment._prediction.tool

    def forces(self, begin, end):
        """Mean force over a time by the controller's clock, of the machine and of its prediction, each (3,)."""
        found = []
        for trace in (self.measured, self.predicted):
            time = trace.array("time")
            found.append(trace.array("wrench")[(time > begin) & (time <= end), :3].mean(axis=0))
        return found

    def way_home(self):
        """Where the arm was after its last goal, (n, 6), rad; the force on it then, (n,), N, and before, (m,)."""
        force, time = np.linalg.norm(self.log["wrench"][:, :3], axis=1), self.log["time"]
        begin, end = self.tool["time"][[0, -1]]
        return self.log["actual_q"][time > end], force[time > end], force[(time > begin) & (time <= end)]


def off(places, way):
    """Largest distance of the tip at places, (n, 6), from where it is on a way, (m, 6), m."""
    kinematics = arm("ur10_ramp").kinematics
    tips = np.array([kinematics.pose(q)[:3] for q in way[::10]])
    return max(np.linalg.norm(tips - kinematics.pose(q)[:3], axis=1).min() for q in places[::20])


def test_admittance_up_the_ramp_presses_as_predicted_and_comes_home_by_its_way(tmp_path):
    goals = "{tare: {}}, {trajectory: {waypoints: [[0, -0.1, 0]], times: [18], ramp: 0.5}}"
    done = Done(tmp_path, ["robot=ur10_ramp", "controller=admittance", f"controller.goals=[{goals}]"])
    assert (done.told, done.numbers["ended"]) == ("", "all goals are done")
    measured, predicted = done.forces(14.0, 18.5)
    assert predicted[2] > 10.0, "it is on the ramp"
    np.testing.assert_allclose(measured, predicted, atol=1.5)
    # the slope and the friction alone say how the forces are to each other
    assert -measured[1] / measured[2] == pytest.approx(np.tan(0.507891 + np.arctan(0.1)), rel=0.1)
    q, force, before = done.way_home()
    rest = done.deployment.info.rest
    assert np.abs(q[-1] - rest).max() < 0.01
    assert off(q, done.sent) < 8e-3 + 2e-3, "no farther than it is lifted"
    assert force.max() < 1.1 * before.max() + 2.0, "it lifts off first"
    assert "predicted by simulation" in done.report.read_text()
    assert done.said[-1] == "completed"


def test_direct_force_on_the_plane_presses_as_asked_and_as_predicted(above_plane, tmp_path):
    goals = f"controller.goals=[{PRESS}, {SLIDE}]"
    words = ["robot=ur10_plane", "controller=direct_force", f"controller.start={above_plane}", goals]
    done = Done(tmp_path, words)
    assert done.told == ""
    begin = next(event.time for event in done.measured.events if "Trajectory" in event.text)
    own, wanted = done.measured.array("wrench")[:, 2], done.measured.array("desired_wrench")[:, 2]
    time = done.measured.array("time")
    sliding = (time > begin + 2.0) & (time < begin + 7.5)
    assert abs((own - wanted)[sliding].mean()) < 0.5
    assert np.abs(own - wanted)[sliding].max() < 3.0
    theirs = next(event.time for event in done.predicted.events if "Trajectory" in event.text)
    predicted = done.predicted.array("wrench")[:, 2][(done.predicted.array("time") > theirs + 2.0)]
    n = min(np.count_nonzero(sliding), len(predicted))
    assert np.abs(own[sliding][:n].mean() - predicted[:n].mean()) < 0.7


def test_a_hand_leads_the_tool_at_the_speed_of_its_force(tmp_path):
    """v = K_i·f, for a hand at the tool's centre point."""
    force, lever = 6.0, 0.195
    push = [-force, 0.0, 0.0, 0.0, force * lever, 0.0]  # away from the ramp
    happens = {150: lambda m: m.push(push), 500: lambda m: m.push([0.0] * 6)}
    words = ["robot=ur10_ramp", "controller=hand_guiding", "controller.goals=[{tare: {}}, {wait: 4.5}]"]
    done = Done(tmp_path, words, happens)
    assert done.told == ""
    x = done.tool["measured"][:, 0]
    assert (x[250] - x[480]) / (230 * 0.008) == pytest.approx(0.01 * force, rel=0.08)
    assert abs(x[-1] - x[600]) < 0.01, "it stays where it was led"
    q, *_ = done.way_home()
    assert np.abs(q[-1] - done.deployment.info.rest).max() < 0.01


def test_a_protective_stop_in_contact_ends_it_with_everything_kept(above_plane, tmp_path):
    goals = f"controller.goals=[{PRESS}, {SLIDE}]"
    words = ["robot=ur10_plane", "controller=direct_force", f"controller.start={above_plane}", goals]
    done = Done(tmp_path, words, {700: lambda m: m.fault("protective_stop")})
    assert "protective stop" in done.told
    assert (done.numbers["completed"], done.numbers["reason"], len(done.numbers["trips"])) == (False, done.told, 1)
    assert {"begins Tare", "begins Approach", "touches"} <= set(done.said)
    assert done.recording.complete
    stopped = done.log["safety_mode"] == 3
    assert np.ptp(done.log["actual_q"][stopped][100:], axis=0).max() < 1e-3, "it stands"
    force = np.linalg.norm(done.log["wrench"][:, :3], axis=1)
    before = force[~stopped & (done.log["time"] > done.tool["time"][300])]
    assert force[stopped].max() < 1.2 * before.max() + 2.0


def test_a_sensor_with_a_wire_of_its_own_is_unplugged_in_motion(tmp_path):
    with EmulatedNetFT(BoxEmulation()) as box:
        sensor = f"{{sensor: net_ft, host: {box.host}, port: {box.port}, page_port: {box.page_port}}}"
        words = [
            *("robot=ur10", "controller=admittance", f"robot.machine.force_torque={{wrist: {sensor}}}"),
            "controller.goals=[{wait: 0.5}, {trajectory: {waypoints: [[0, 0, -0.1]], times: [8]}}]",
        ]
        box.push([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        done = Done(tmp_path, words, {400: lambda m: box.unplug()})
    assert "gave up: wrench: missing" in done.told
    assert any(text.startswith("held: wrench: missing") for text in done.said)
    np.testing.assert_array_equal(done.sent[-1], done.sent[-2])
    assert np.abs(np.diff(done.sent, axis=0)).max() < 0.02
