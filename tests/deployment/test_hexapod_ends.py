"""The hexapod on its bus, in virtual time: gets up, walks, and at every end lies down before its torque is off."""

import atexit
import logging
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("dynamixel_sdk")
from tests.deployment.hexapod_bench import CONFIG, HEXAPOD, LYING, QUICK, HexapodBench
from tests.hardware.dynamixel.virtual_bus import Killed

from pliant.controllers import run
from pliant.controllers.gaits import LEGS, FootGait
from pliant.controllers.setpoints import hold
from pliant.errors import RobotError
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.safety import SafeRobot

SERVOS = {joint.name: joint.servos[0].servo for joint in CONFIG.joints}
FASTEST = 0.2
"""At which the trunk may come down, QUICK as it is and with a leg missing, m/s; falling, it would reach 1.3."""


@pytest.fixture
def machine(monkeypatch):
    """Return `machine(…)`, a bench at every port."""
    made = []

    def make(**options):
        made.append(HexapodBench(**options))
        made[-1].plug(monkeypatch)
        return made[-1]

    yield make
    for bench in made:
        for guard in (bench.safe, *bench.guards):
            atexit.unregister(guard._close_at_exit)
            guard._interrupts.uninstall()


class Fault:
    """Does something to a walking machine in the middle of a step: three feet in the air, after 1.2 s."""

    def __init__(self, bench, what):
        self.bench, self.what, self.at = bench, what, None
        self.pressed = False

    def walk(self, observer=None):
        """Stand, walk, and let it happen; the gait goes on. The observer is told of the walk to rest."""
        self.gait = FootGait(self.bench.safe.info, speed=0.08, ramp=0.3)
        self.bench.safe.walk_to(self.gait.initial_command)
        assert self.bench.height > 0.1, "it stands"
        self.bench.safe.observer = observer
        self.begin = self.bench.safe.read().time
        run(self.bench.safe, self.gait, 3.0, [self])

    def stance(self):
        """The first leg that carries."""
        return LEGS[int(np.flatnonzero(~self.gait.swinging)[0])]

    def __call__(self, state, sent):
        feet = self.gait.swinging.sum()
        if self.at is None and state.time > self.begin + 1.2 and feet == 3:
            self.at = self.bench.now()
            self.what(self)


def shut_down(fault):
    """The femur of a leg that carries is overloaded."""
    fault.bench.bus.axis(SERVOS[f"{fault.stance()}_femur"])[1].overload()


def lose_power(fault):
    fault.bench.bus.axis(SERVOS[f"{fault.stance()}_tibia"])[1].alive = False


def restart(fault):
    """A dip of the supply at one servo: it comes back without torque."""
    axis, servo = fault.bench.bus.axis(SERVOS[f"{fault.stance()}_coxa"])
    servo.power_on(fault.bench.plant.read(axis))


def press(fault):
    fault.pressed = True


def heat(fault):
    fault.bench.plant.set_temperature(SERVOS["front_right_femur"], 69.0)


def discharge(fault):
    fault.bench.plant.set_supply(9.2)


def dawdle(fault):
    """Every period is late from now on."""
    sending = fault.bench.sending

    def late(packet):
        if fault.bench.safe.report.trips:
            fault.bench.sending = sending
        elif packet[4] == 0x83:
            fault.bench.sleep(0.03)

    fault.bench.sending = late


def fail(fault):
    raise ZeroDivisionError("the gait")


def stop(fault):
    fault.bench.safe.stop()


def terminate(fault):
    os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize(
    ("what", "error", "says"),
    [
        pytest.param(shut_down, RobotError, r"servo \d+ of joint '\w+_femur': overload", marks=pytest.mark.slow),
        pytest.param(lose_power, RobotError, r"servo \d+ on bench did not answer", marks=pytest.mark.slow),
        pytest.param(
            restart, RobotError, r"joint '\w+_coxa', has (lost its torque|shut down)", marks=pytest.mark.slow
        ),
        (press, RobotError, "the stop key"),
        pytest.param(
            heat, RobotError, "joint 'front_right_femur', is beyond its limits: at 69 °C", marks=pytest.mark.slow
        ),
        pytest.param(discharge, RobotError, r"is beyond its limits: at 9.2 V", marks=pytest.mark.slow),
        pytest.param(dawdle, RobotError, "periods in a row took too long", marks=pytest.mark.slow),
        pytest.param(fail, ZeroDivisionError, "gait", marks=pytest.mark.slow),
        pytest.param(stop, RobotError, "may not move: stopped", marks=pytest.mark.slow),
        (terminate, SystemExit, "143"),
    ],
)
def test_it_lies_down_before_its_torque_goes_off(machine, what, error, says):
    bench = machine(standing=True, safety=QUICK, stop_key=lambda: fault.pressed)
    fault = Fault(bench, what)
    with pytest.raises(error, match=says), bench.safe:
        fault.walk()
    assert fault.at is not None, "nothing happened"
    off = {servo: time for servo, time in bench.torque_off().items() if time > fault.at}
    assert len(off) == (17 if what is lose_power else 18)
    limp = what is lose_power  # a tibia without torque may prop its corner of the trunk
    assert bench.height_at(min(off.values())) < LYING + (0.02 if limp else 2e-3)
    assert bench.sinking(fault.at) < FASTEST
    assert bench.tilt < (0.25 if limp else 0.02)
    assert not any(servo.torque for servo in bench.bus.servos if servo.alive)


@pytest.mark.slow
def test_it_gets_up_walks_and_lies_down_at_the_speeds_of_its_file(machine):
    bench = machine()
    assert abs(bench.height - LYING) < 1e-3
    with bench.safe as robot:
        gait = FootGait(robot.info, speed=0.05)
        robot.walk_to(gait.initial_command)
        assert bench.height > 0.1
        assert max(abs(z) for z in np.diff([h for _, h in bench.heights[::50]])) / 0.05 < 0.06
        begin = bench.data.qpos[:2].copy()
        run(robot, gait, 5.0)
        way = bench.data.qpos[:2] - begin
        assert 0.8 * 0.05 * 4.0 < way[0] < 0.05 * 5.0
        assert abs(way[1]) < 0.05
        end = bench.now()
    off = [time for time in bench.torque_off().values() if time > end]
    assert len(off) == 18
    assert bench.height_at(min(off)) < LYING + 1e-3
    assert bench.sinking(end) < 0.06, "m/s"
    assert (bench.driver.overruns, bench.safe.report.trips) == (0, [])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_it_gets_up_from_wherever_its_legs_lie(machine, seed):
    """Knees and feet anywhere beside it that legs reach, none of them below it."""
    legs, random = FootGait(HEXAPOD.simulated().info).legs, np.random.default_rng(seed)
    angles = np.zeros((6, 3))
    for leg in range(6):
        while True:
            angles[leg] = random.uniform(-1, 1, 3) * np.deg2rad([25.0, 100.0, 149.0])
            foot = legs.forward_kinematics(angles)[leg]
            mount, turn = legs.mounts[leg], legs.headings[leg] + angles[leg, 0]
            out = (foot[:2] - mount[1:3]) @ [np.cos(turn), np.sin(turn)]
            knee = legs.femur * np.sin(legs.femur_zero + legs.sides[leg] * angles[leg, 1])
            if foot[2] > -LYING and knee > -LYING and out > 0.06:
                break
    start = replace(HEXAPOD.model.start, joints=dict(zip(legs.joints, angles.ravel().tolist(), strict=True)))
    bench = machine(description=replace(HEXAPOD, model=replace(HEXAPOD.model, start=start)), safety=QUICK)
    bench.sleep(1.0)
    assert abs(bench.height - LYING) < 5e-3
    with bench.safe as robot:
        robot.walk_to(FootGait(robot.info).initial_command)
        assert bench.height > 0.1
        assert bench.tilt < 0.05
    assert abs(bench.height - LYING) < 1e-3


def test_without_its_bus_it_stays_as_it_stands(machine, caplog):
    """Nothing can be told to it any more: the servos hold what they were told last."""

    def unplug(fault):
        fault.bench.unplugged = True

    bench = machine(standing=True, safety=QUICK)
    fault = Fault(bench, unplug)
    with pytest.raises(RobotError, match=r"lost the port.* It did not come to rest"), bench.safe:
        fault.walk()
    assert "nothing of it can be moved any more" in caplog.text
    bench.sleep(1.0)
    assert bench.height > 0.09
    assert all(servo.torque for servo in bench.bus.servos)


def test_a_signal_while_it_lies_down_lets_it_go_at_once(machine, caplog):
    bench = machine(standing=True, safety=QUICK)
    fault = Fault(bench, terminate)

    def again(state, asked, sent):
        signals.append(1)
        if len(signals) in (10, 20):
            os.kill(os.getpid(), signal.SIGTERM)

    signals = []
    with pytest.raises(SystemExit, match="143"), bench.safe:
        fault.walk(again)
    assert "the walk back to rest is cut short by a signal" in caplog.text
    assert "going to rest is cut short by a signal" in caplog.text
    assert 20 <= len(signals) <= 22
    assert not any(servo.torque for servo in bench.bus.servos)


@pytest.mark.slow
def test_killed_it_stands_and_the_next_program_lays_it_down(machine):
    """kill -9 in the middle of a step. AX-12A have no watchdog."""
    bench = machine(standing=True, safety=QUICK)
    fault = Fault(bench, lambda fault: fault.bench.kill())
    bench.safe.connect()
    with pytest.raises(Killed):
        fault.walk()
    bench.dead = False
    bench.sleep(5.0)
    assert bench.height > 0.08
    assert all(servo.torque for servo in bench.bus.servos)
    driver = DynamixelRobot(CONFIG, bench)
    with SafeRobot(driver, QUICK, clock=bench) as robot:
        bench.guards.append(robot)
        begin = bench.now()
        run(robot, hold(robot.info), 0.1)
    assert bench.height_at(min(time for time in bench.torque_off().values() if time > begin)) < LYING + 2e-3
    assert bench.sinking(begin) < FASTEST


def test_a_warning_comes_before_the_end(machine, caplog):
    told = []
    bench = machine(standing=True, safety=QUICK)
    bench.safe.listener = told.append
    fault = Fault(bench, lambda fault: bench.plant.set_supply(10.0))
    with caplog.at_level(logging.WARNING), bench.safe:
        fault.walk()
    assert len(told) == 1
    assert "at 10.0 V; the limit is 9.3" in told[0]
    assert told[0] in caplog.text
