"""The driver and its safety layer on the emulated bus: servos with physics, on a port of their own."""

import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pliant.errors import RobotError
from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.safety import SafeRobot
from pliant.hardware.safety_config import SafetyConfig
from pliant.hardware.timing import StepClock

pytest.importorskip("dynamixel_sdk")
process = pytest.importorskip("pliant.envs.emulators.dynamixel.process")
from pliant.envs.emulators.dynamixel.bus import BusSettings  # noqa: E402
from pliant.envs.emulators.dynamixel.servo import ServoSettings  # noqa: E402

pytestmark = pytest.mark.real_time

XM = "XM430-W350"
COUNT = 2 * math.pi / 4096
PERIOD = 0.02


def settings(*ids, model=XM, **others):
    servos = tuple(ServoSettings(i, model, registers={"return_delay_time": 0}) for i in ids)
    return BusSettings(servos, **others)


def config(port, *ids, model=XM, **others):
    joints = [DynamixelJoint(f"j{i}", [ServoMount(i, model)], -1.0, 1.0) for i in ids]
    others = {"slack": 0.05, "release_pause": 0.0, "period": PERIOD} | others
    return DynamixelConfig(joints, str(port), **others)


@pytest.fixture
def stepped(tmp_path):
    """A bus in lock step, which no other load of the computer disturbs."""
    with process.EmulatedBus(tmp_path / "bus", settings(1, 2, lock_step=True, cycle=PERIOD)) as bus:
        yield bus


@pytest.fixture
def live(tmp_path):
    """A bus in real time."""
    with process.EmulatedBus(tmp_path / "bus", settings(1, 2)) as bus:
        yield bus


def swing(robot, periods):
    """Move both joints to and fro; return what was sent and what was read."""
    sent, read = [], []
    for k in range(periods):
        target = 0.3 * (1 - math.cos(2 * math.pi * k / 100))
        sent.append(robot.send([target, -target]))
        read.append(robot.read().position)
    return np.array(sent), np.array(read)


def test_the_arm_follows_and_ends_released_at_rest(stepped):
    robot = DynamixelRobot(config(stepped.port, 1, 2), StepClock())
    with SafeRobot(robot, SafetyConfig()) as safe:
        sent, read = swing(safe, 150)
        assert safe.report.limited == 0
        assert robot.counters.retries == 0
    assert np.abs(sent - read).max() < 0.06
    servos = stepped.state()["servos"]
    assert [servos[i]["registers"]["torque_enable"] for i in ("1", "2")] == [0, 0]
    assert [servos[i]["registers"]["goal_position"] for i in ("1", "2")] == [2048, 2048]


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param({"drop": 0.002}, marks=pytest.mark.slow),
        pytest.param({"corrupt": 0.002}, marks=pytest.mark.slow),
        pytest.param({"duplicate": 0.002}, marks=pytest.mark.slow),
        pytest.param({"cut_every": 17}, marks=pytest.mark.slow),
        {"drop": 0.001, "corrupt": 0.001, "duplicate": 0.001, "seed": 5},
    ],
    ids=["drop", "corrupt", "duplicate", "cut", "all"],
)
def test_no_fault_of_the_wire_becomes_a_wrong_position(stepped, faults):
    robot = DynamixelRobot(config(stepped.port, 1, 2, slack=0.01, retries=4), StepClock())
    with SafeRobot(robot, SafetyConfig()) as safe:
        safe.send(safe.read().command)
        stepped.faults(**faults)
        sent, read = swing(safe, 100)
        stepped.faults()
        assert robot.counters.retries > 0, "there were faults"
    assert np.abs(sent - read).max() < 0.06


@pytest.mark.slow
def test_goals_lost_on_the_way_to_the_servos_do_no_harm(stepped):
    robot = DynamixelRobot(config(stepped.port, 1, 2, slack=0.01, retries=4), StepClock())
    with SafeRobot(robot, SafetyConfig()) as safe:
        safe.send(safe.read().command)
        stepped.faults(direction="to_servos", corrupt=0.002)
        sent, read = swing(safe, 100)
        stepped.faults(direction="to_servos")
    assert np.abs(sent - read).max() < 0.1


def test_an_overload_stops_the_arm_and_only_recovery_brings_it_back(live):
    robot = DynamixelRobot(config(live.port, 1, 2))
    with SafeRobot(robot, SafetyConfig(hold_time=0.1)) as safe:
        safe.walk_to([0.05, 0.05])
        live.overload(2)
        with pytest.raises(RobotError, match="servo 2 of joint 'j2': overload"):
            swing(safe, 20)
        robot.recover()
        safe.rearm()
        safe.walk_to([0.0, 0.0])


@pytest.mark.slow
def test_a_dead_servo_is_named_and_the_other_one_released(live):
    robot = DynamixelRobot(config(live.port, 1, 2, slack=0.01))
    with SafeRobot(robot, SafetyConfig(hold_time=0.1)) as safe:
        safe.walk_to([0.05, 0.05])
        live.kill(2)
        with pytest.raises(RobotError, match=r"servo 2 on .* did not answer"):
            swing(safe, 50)
        assert live.state()["servos"]["1"]["registers"]["torque_enable"] == 0
        assert safe.report.missed_reads == safe.config.patience + 1


@pytest.mark.slow
def test_a_dip_of_the_supply_that_restarts_a_servo_is_noticed(live):
    robot = DynamixelRobot(config(live.port, 1, 2))
    with robot:
        robot.send(robot.read().command)
        live.kill(2)
        live.revive(2)
        with pytest.raises(RobotError, match=r"servo 2, joint 'j2', has lost its torque"):
            _hold(robot, 40)


def _hold(robot, periods):
    command = robot.read().command
    for _ in range(periods):
        robot.send(command)
        try:
            robot.read()
        except RobotError as error:
            if "did not answer" not in str(error):
                raise


@pytest.mark.slow
def test_unplugging_and_replugging_under_way(live):
    robot = DynamixelRobot(config(live.port, 1, 2))
    with SafeRobot(robot, SafetyConfig(hold_time=0.0)) as safe:
        safe.walk_to([0.1, 0.1])
        live.unplug()
        with pytest.raises(RobotError, match="was stopped"):
            swing(safe, 20)
        live.replug()
        safe.rearm()
        assert safe.read().position == pytest.approx([0.1, 0.1], abs=0.05)
        safe.walk_to([0.0, 0.0])


DEPLOYED = """
import sys
sys.path.insert(0, sys.argv[2])
from test_on_emulator import DynamixelRobot, SafeRobot, SafetyConfig, config
with SafeRobot(DynamixelRobot(config(sys.argv[1], 1, 2)), SafetyConfig(hold_time=0.1)) as safe:
    safe.walk_to([0.02, 0.02])
    print("moving", flush=True)
    while True:
        safe.walk_to([0.9, 0.9])
        safe.walk_to([-0.9, -0.9])
"""


@pytest.fixture
def deployed(live):
    here = os.path.dirname(__file__)  # noqa: PTH120
    child = subprocess.Popen(
        [sys.executable, "-c", DEPLOYED, str(live.port), here],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "moving\n", child.stderr.read()
    time.sleep(0.3)
    yield child
    child.kill()
    child.communicate()


def registers(live, name):
    servos = live.state()["servos"]
    return [servos[i]["registers"][name] for i in ("1", "2")]


def test_after_kill_9_the_servos_stop_by_their_watchdog_in_the_set_time(live, deployed):
    assert registers(live, "bus_watchdog") == [10, 10]
    deployed.kill()
    start = time.monotonic()
    while registers(live, "bus_watchdog") != [-1, -1]:
        assert time.monotonic() - start < 2.0, "the watchdog does not trip"
        time.sleep(0.005)
    tripped = time.monotonic() - start
    time.sleep(0.3)
    before = registers(live, "present_position")
    time.sleep(0.2)
    assert registers(live, "present_position") == pytest.approx(before, abs=2)
    assert tripped < 0.2 + 0.1
    # and the next program can take over
    deployed.communicate()
    with DynamixelRobot(config(live.port, 1, 2)) as robot:
        robot.send(robot.read().command)


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, -signal.SIGINT), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_signal_brings_the_arm_home_and_releases_it(live, deployed, number, status):
    deployed.send_signal(number)
    _, errors = deployed.communicate(timeout=900)
    assert deployed.returncode == status, errors
    assert registers(live, "torque_enable") == [0, 0]
    assert registers(live, "goal_position") == [2048, 2048]


@pytest.mark.slow
def test_two_signals_release_the_arm_where_it_is(live, deployed):
    deployed.send_signal(signal.SIGINT)
    time.sleep(0.2)
    deployed.send_signal(signal.SIGINT)
    start = time.monotonic()
    deployed.communicate(timeout=900)
    assert time.monotonic() - start < 2.0
    assert registers(live, "torque_enable") == [0, 0]
