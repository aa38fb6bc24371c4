"""What can go wrong while a tool is in contact: each ends safe, is told by name, and loses nothing.

The simulated arm presses on a plane and slides; between it and the controller something fails. The force on the
plane is looked at where no fault reaches, in the simulation itself.
"""

import io
import json

import mujoco
import numpy as np
import pytest
from hydra import compose, initialize_config_module
from rich.console import Console

pytest.importorskip("mcap", reason="deployments are recorded")
from pliant.conf.build import build
from pliant.deployment.controller import prepare_controller
from pliant.deployment.machines import machine
from pliant.errors import RobotError
from pliant.hardware.recording import Recorder, read_recording
from pliant.hardware.safety import SafeRobot
from pliant.hardware.wrapper import RobotWrapper

FORCE, KI = 15.0, 6e-5
WHEN = 2.6
"""Since it began to press, s: while it slides."""
QUIET = Console(file=io.StringIO())


class Failing(RobotWrapper):
    """A simulated arm; some time after the first contact something fails between it and its controller."""

    def __init__(self, robot, fails, when=WHEN):
        super().__init__(robot)
        self._fails, self._when = fails, when
        names = [channel.name for channel in robot.info.sensors]
        self.places = [names.index(f"wrist/{kind}_{axis}") for kind in ("force", "torque") for axis in "xyz"]
        self.touched, self.last, self.forces, self.sent = None, None, [], []

    def read(self):
        state = self.robot.read()
        raw = state.sensors[self.places]
        pressed = self.pressed()
        if self.touched is None and pressed > 1.0:
            self.touched = state.time
        failing = self.touched is not None and state.time - self.touched > self._when
        self.forces.append((state.time, pressed, failing))
        sensors = state.sensors.copy()
        if failing:
            sensors[self.places] = self._fails(self, raw.copy(), state.time - self.touched - self._when)
        else:
            self.last = raw.copy()
        return state._replace(sensors=sensors)

    def send(self, command):
        self.sent.append(np.array(command))
        return self.robot.send(command)

    def pressed(self):
        """Force between the tool and what stands around, N."""
        total, force = np.zeros(3), np.zeros(6)
        for k in range(self.robot.data.ncon):
            mujoco.mj_contactForce(self.robot.model, self.robot.data, k, force)
            total += self.robot.data.contact[k].frame.reshape(3, 3).T @ force[:3]
        return float(np.linalg.norm(total))

    def without_plane(self):
        self.robot.model.geom("plane").contype = self.robot.model.geom("plane").conaffinity = 0


def pressing(start, force=FORCE):
    goals = (
        "controller.goals=[{approach: {direction: [0, 0, 1], speed: 0.002, distance: 0.005, wrench: [0, 0, "
        f"{force}]}}}}, {{wait: 1.5}}, {{trajectory: {{waypoints: [[0, -0.02, 0]], times: [4], ramp: 0.5}}}}]"
    )
    return [
        *("robot=ur10_plane", "controller=direct_force", f"controller.start={start}", goals),
        *("run.settle=0.1", "safety.return_to_rest=false", "safety.hold_time=0"),
        "+controller.conditioning.settings.range=[100,100,100,20,20,20]",
    ]


def deployed(folder, fails, words):
    """Run it; returns the arm, metrics, recording and what was told."""
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("deploy", words)
    arm_ = Failing(machine(config), fails)
    deployment = prepare_controller(config, SafeRobot(arm_, build(config.safety, "safety")), QUIET)
    told = ""
    with Recorder(folder / "r.mcap", deployment.info) as recorder:
        try:
            deployment.run(recorder, QUIET)
        except RobotError as error:
            told = str(error)
        deployment.finish(folder, QUIET)
    numbers = json.loads((folder / "metrics.json").read_text())
    return arm_, numbers, read_recording(folder / "r.mcap"), told


def stuck(robot, raw, since):
    return robot.last


def silent(robot, raw, since):
    return np.full(6, np.nan)


def one_axis(robot, raw, since):
    raw[4] = np.nan
    return raw


def saturated(robot, raw, since):
    raw[2] = 100.0
    return raw


FAULTS = {
    "unplugged": (silent, "wrench: missing"),
    "frozen": (stuck, "wrench: frozen"),
    "saturated": (saturated, "wrench: saturated"),
    "a NaN": (one_axis, "wrench: missing"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_sensor_that_fails_in_contact_stops_the_arm_where_it_is(fault, above_plane, tmp_path):
    fails, part = FAULTS[fault]
    robot, numbers, recording, told = deployed(tmp_path, fails, pressing(above_plane))
    assert f"gave up: {part}" in told
    assert (numbers["completed"], numbers["reason"]) == (False, told)
    assert part in numbers["ended"]
    assert recording.complete
    assert any(text.startswith(f"held: {part}") for text in recording.series["/events"]["message"])
    assert recording.series["/events"]["message"][-1] == told
    held_safely(robot)


def held_safely(robot, growth=1.15):
    """The arm stands, its commands did not jump, and it pressed no harder than before."""
    time, force, failing = np.array(robot.forces).T
    before = force[(failing == 0) & (time > time[failing == 1][0] - 1.0)]
    assert force[failing == 1].max() < growth * before.max()
    sent = np.array(robot.sent)
    np.testing.assert_array_equal(sent[-1], sent[-2])
    steps = np.abs(np.diff(sent, axis=0)).max(axis=1)
    begin = np.count_nonzero(failing == 0)
    assert steps[begin - 1 :].max() < 1.5 * steps[begin - 100 : begin - 1].max() + 1e-6


@pytest.mark.slow
def test_what_a_sensor_drifts_by_is_pressed_and_no_more(above_plane, tmp_path):
    """In contact a drift cannot be told from a force: the tool gives way by as much as the sensor has drifted."""
    rate = 1.0

    def drifts(robot, raw, since):
        raw[2] += rate * since
        return raw

    robot, numbers, _, told = deployed(tmp_path, drifts, pressing(above_plane))
    assert (told, numbers["ended"]) == ("", "all goals are done")
    time, force, failing = np.array(robot.forces).T
    since = time - time[failing == 1][0]
    sliding = (failing == 1) & (since > 1.0)
    off = force[sliding] - FORCE
    np.testing.assert_allclose(off, -rate * since[sliding], atol=1.0)


@pytest.mark.slow
def test_a_contact_that_is_lost_at_50_newtons_stops_the_tool_within_millimetres(above_plane, tmp_path):
    def gives_way(robot, raw, since):
        robot.without_plane()
        return raw

    robot, numbers, recording, told = deployed(tmp_path, gives_way, pressing(above_plane, 50.0))
    assert "gave up: the contact is lost for 0.5 s while it is to press with 50 N" in told
    assert "contact is lost" in numbers["ended"]
    tool = recording.series["/tool"]
    down = (tool["commanded"][:, :3] - tool["commanded"][0, :3]) @ [0.0, 0.0, -1.0]
    lost = np.argmax(np.array(robot.forces)[:, 2])
    # the law moves by Ki·F while nothing resists, then brakes within 0.3 s
    assert down[-1] - down[lost] < KI * 50.0 * (0.5 + 0.3) + 1e-4
    assert down[-1] - down[lost] > 0.5 * KI * 50.0 * 0.5
    np.testing.assert_array_equal(robot.sent[-1], robot.sent[-2])


@pytest.mark.parametrize(
    ("goal", "part"),
    [
        ("{trajectory: {waypoints: [[2.0, 0, 0]], times: [5]}}", "the path c"),
        ("{trajectory: {waypoints: [[0.5, 0, -0.2]], times: [5]}}", "comes by a singular posture"),
    ],
)
def test_a_way_that_the_arm_cannot_go_is_refused_before_anything_connects(goal, part, verb, tmp_path):
    words = ("robot=ur10_plane", "controller=admittance", f"controller.goals=[{{wait: 1}}, {goal}]")
    status, _, err = verb("deploy", *words, "hardware=emulated", "hydra.run.dir=out")
    assert status == 2
    assert part in err
    assert "goal 2 (CartesianTrajectory)" in err
    assert not (tmp_path / "out" / "recording.mcap").exists()


def test_what_fails_in_simulation_is_not_tried_on_the_machine(verb, tmp_path):
    goal = "{approach: {direction: [0, 0, -1], speed: 0.002, distance: 0.002}}"
    words = ("robot=ur10_plane", "controller=direct_force", f"controller.goals=[{goal}]")
    status, _, err = verb("deploy", *words, "hardware=emulated", "hydra.run.dir=out")
    assert status == 2
    assert "predicted by simulation, so nothing was connected" in err
    assert "nothing was touched within 0.002 m" in err
