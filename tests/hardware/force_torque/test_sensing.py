import math
import sys
import time
import types

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.envs.description import RobotDescription, describe
from pliant.envs.emulators.net_ft.box import BoxEmulation
from pliant.envs.emulators.net_ft.emulator import FeedingRobot
from pliant.envs.models.robot_model import tool_load
from pliant.envs.models.ur import ur
from pliant.errors import ConfigurationError, RobotError, ShapeError, UnknownNameError
from pliant.hardware.force_torque.conditioning import WrenchConditioning, WrenchSettings
from pliant.hardware.force_torque.sensing import ForceTorqueSensing, Mounting
from pliant.hardware.force_torque.sensor import ForceTorqueSensor, Reading, make_sensor
from pliant.hardware.force_torque.wrench import rotation_matrix

AXES = [f"{kind}_{axis}" for kind in ("force", "torque") for axis in "xyz"]


class Still(ForceTorqueSensor):
    """A sensor of one's own that reads what it is told."""

    def __init__(self, wrench=(0.0,) * 6, broken=False):
        self.reading = Reading(0.0, np.array(wrench))
        self.broken, self.open = broken, 0

    def connect(self):
        if self.broken:
            raise RobotError("the plug is out.")
        self.open += 1

    def newest(self):
        return self.reading

    def close(self):
        self.open = 0


def values(robot, sensor="wrist"):
    info = robot.info
    first = len(info.signals) - len(info.sensors)
    return robot.read().sensors[[info.signal(f"{sensor}/{axis}") - first for axis in AXES]]


@pytest.fixture
def arm():
    """An arm that reads no force."""
    description = describe("two_link")
    return description.simulated()


def test_a_machine_gets_the_signals_of_its_sensors(arm, caplog):
    one, two = Still([1, 2, 3, 4, 5, 6]), Still([0, 0, 7, 0, 0, 0])
    with ForceTorqueSensing(arm, {"wrist": (one, Mounting()), "foot": (two, Mounting())}) as robot:
        assert robot.info.signal_names[-12:] == tuple(f"{s}/{axis}" for s in ("wrist", "foot") for axis in AXES)
        assert robot.info.signals[-1].unit == "N·m"
        assert values(robot).tolist() == [1, 2, 3, 4, 5, 6]
        assert values(robot, "foot")[2] == 7
        one.reading = one.reading._replace(fault="silent: no record for 0.2 s")
        assert np.isnan(values(robot)).all()
        assert values(robot, "foot")[2] == 7
        assert robot.diagnostics()["wrist_fault"] == "silent: no record for 0.2 s"
        values(robot)
        one.reading = one.reading._replace(fault="")
        assert values(robot)[0] == 1
        assert [r.getMessage() for r in caplog.records if "wrist" in r.getMessage()] == [
            "force-torque sensor wrist: silent: no record for 0.2 s",
            "force-torque sensor wrist: it reads again",
        ]
        assert one.open == 1
    assert one.open == two.open == 0


def test_sensors_are_released_if_one_does_not_connect(arm):
    one, two = Still(), Still(broken=True)
    with pytest.raises(RobotError, match="plug"):
        ForceTorqueSensing(arm, {"a": (one, Mounting()), "b": (two, Mounting())}).connect()
    assert one.open == 0
    with pytest.raises(RobotError, match="not connected"):
        arm.read()


def test_a_sensor_that_is_mounted_otherwise_reads_the_same():
    """A sensor turned and moved against the model's site measures the wrench in its axes about its own origin."""
    turn, origin = Rotation.from_rotvec([0.3, -0.2, 0.785]), np.array([0.01, 0.02, -0.03])
    force, torque = np.array([10.0, -4.0, 25.0]), np.array([0.4, 1.0, -0.3])  # at the site
    measured = np.concatenate([turn.inv().apply(force), turn.inv().apply(torque - np.cross(origin, force))])
    mounting = Mounting((*origin, *turn.as_rotvec()))
    assert mounting.at_site(measured) == pytest.approx([*force, *torque], abs=1e-12)
    with pytest.raises(ShapeError, match="6 numbers"):
        Mounting((0.0, 0.0, 0.0))


def test_a_simulated_wrist_goes_over_the_wire_and_comes_back(box, sensor, until):
    """Robot → emulated box → sockets → driver: the same wrench, and without a contact nothing is left."""
    description = _arm_with_tool()
    simulated = description.simulated()
    emulated = box()
    driver = sensor(emulated)
    robot = FeedingRobot(simulated, "wrist", emulated.push)
    with robot:
        rest = robot.info.rest
        for _ in range(20):
            robot.send(rest)
            state = robot.read()
        first = len(robot.info.signals) - len(robot.info.sensors)
        raw = state.sensors[[robot.info.signal(f"wrist/{axis}") - first for axis in AXES]]
        until(lambda: np.abs(driver.newest().wrench - raw).max() < 2e-6)
        turn = simulated.data.site("flange").xmat.reshape(3, 3)
        load = tool_load(description.model, "wrist")
        conditioning = WrenchConditioning(WrenchSettings(load=load))
        wrench, fault = conditioning.update(state.time, driver.newest().wrench, turn)
    assert raw[:3] @ turn[2] == pytest.approx(1.5 * 9.81, abs=1e-3)
    assert np.abs(wrench).max() < 2e-3
    assert fault == ""


def _arm_with_tool():
    return RobotDescription(ur("ur10e", tool={"mass": 1.5, "com": [0.0, 0.01, 0.08]}), 0.01)


def test_sensors_are_made_from_configuration(monkeypatch):
    made = make_sensor("wrist", {"sensor": "net_ft", "host": "192.168.1.1", "stale": 0.2})
    assert made.host == "192.168.1.1"
    module = types.ModuleType("my_lab_sensors")
    module.Still, module.Other = Still, dict
    monkeypatch.setitem(sys.modules, "my_lab_sensors", module)
    own = make_sensor("wrist", {"sensor": "my_lab_sensors:Still", "wrench": [0, 0, 1, 0, 0, 0]})
    assert own.newest().wrench[2] == 1
    assert math.isnan(make_sensor("wrist", {"sensor": "net_ft", "host": "a"}).newest().wrench[0])
    for settings, error, words in (
        ({"sensor": "netft"}, UnknownNameError, "Did you mean 'net_ft'"),
        ({}, UnknownNameError, "module:Class"),
        ({"sensor": "net_ft"}, ConfigurationError, "host"),
        ({"sensor": "net_ft", "host": "a", "prt": 3}, ConfigurationError, "prt"),
        (
            {"sensor": "my_lab_sensors:Other"},
            ConfigurationError,
            "is derived from no pliant.hardware.force_torque",
        ),
        ({"sensor": "my_lab_sensors:Missing"}, ConfigurationError, "cannot be imported"),
        ({"sensor": "some_stranger:Sensor"}, ConfigurationError, "PLIANT_TARGETS"),
    ):
        with pytest.raises(error, match=words):
            make_sensor("wrist", settings)


def test_what_goes_wrong_on_the_wire_is_named_by_the_conditioning(box, sensor):
    """From the box to the fault: gauges that stick, a spike, a drift, a cable."""
    emulated = box(BoxEmulation(rate=200.0))
    driver = sensor(emulated, stale=1.0)
    settings = WrenchSettings(stale=0.4, spike=(20.0, 2.0), cutoff=None, drift=(5.0, 0.5), drift_time=0.3)
    conditioning = WrenchConditioning(settings)
    begin = time.monotonic()

    def until(condition, free=False):
        """Update as a controller does, in a robot that turns, until a condition holds."""
        while True:
            now = time.monotonic() - begin
            assert now < 60.0
            reading = driver.newest()
            raw = np.full(6, math.nan) if reading.fault else reading.wrench
            found = conditioning.update(now, raw, rotation_matrix([1e-3 * now, 0, 0]), free=free)
            if condition(found):
                return found
            time.sleep(0.001)

    until(lambda found: found.fault == "")
    emulated.stick()
    until(lambda found: found.fault.startswith("frozen"))
    assert not emulated.box.status  # the box itself says nothing
    emulated.stick(False)
    until(lambda found: found.fault == "")
    largest = 0.0
    while not conditioning.spikes:
        before = emulated.state()["sample"]
        emulated.spike([0, 0, 150.0, 0, 0, 0])

        def passed(found, before=before):
            nonlocal largest
            largest = max(largest, abs(found.wrench[2]))
            return emulated.state()["sample"] > before + 5

        until(passed)
    assert largest < 1.0
    emulated.drift([0, 0, 20.0, 0, 0, 0])
    until(lambda found: found.fault.startswith("drifted: a free tool reads -"), free=True)
    emulated.unplug()
    until(lambda found: found.fault.startswith("missing"), free=True)
