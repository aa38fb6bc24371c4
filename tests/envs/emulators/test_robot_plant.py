"""A robot behind the bus: servo angles become its commands, its motors' angles the servos' positions."""

import math
from dataclasses import replace

import numpy as np
import pytest

from pliant.envs import describe
from pliant.envs.emulators.dynamixel.bus import Bus, BusSettings
from pliant.envs.emulators.dynamixel.packets import Instruction, InstructionPacket, encode_instruction
from pliant.envs.emulators.dynamixel.plant import Demand
from pliant.envs.emulators.dynamixel.plants import FREE
from pliant.envs.emulators.dynamixel.robot_plant import RobotPlant, RobotServo
from pliant.envs.emulators.dynamixel.servo import ServoSettings
from pliant.envs.models.hexapod import hexapod
from pliant.errors import ConfigurationError, RobotError, UnknownNameError
from pliant.hardware.robot import Channel, Robot, RobotInfo, State, check_command

HALF = 0.5


class AntagonisticJoint(Robot):
    """One joint, two motors; the motors go to equilibrium ± preset with a time constant of 20 ms."""

    def __init__(self) -> None:
        self.motors = np.zeros(2)
        self.connected = False
        self.commands: list[np.ndarray] = []

    @property
    def info(self) -> RobotInfo:
        columns = (
            Channel("elbow/equilibrium", "rad", -1.5, 1.5),
            Channel("elbow/preset", "rad", 0.0, 1.0, rest=0.2),
            Channel("gripper/width", "m", 0.0, 0.1, rest=0.05),
        )
        return RobotInfo("joint", ("elbow",), ("elbow/1", "elbow/2"), columns, 0.01)

    def connect(self) -> None:
        self.connected = True

    def read(self) -> State:
        nothing, unknown = np.zeros(2), np.full(2, np.nan)
        one = np.array([self.motors.mean()])
        empty = np.zeros(3)
        return State(0.0, one, one * 0, one * 0, one, self.motors, nothing, unknown, nothing, empty)

    def send(self, command):
        if not self.connected:
            raise RobotError("not connected")
        sent = np.clip(check_command(command, self.info), self.info.low, self.info.high)
        self.commands.append(sent)
        equilibrium, preset = sent[0], sent[1]
        self.motors = self.motors + 0.4 * (np.array([equilibrium + preset, equilibrium - preset]) - self.motors)
        return sent

    def stop(self) -> None:
        self.stopped = True

    def close(self) -> None:
        self.connected = False


SERVOS = {
    1: RobotServo({"elbow/equilibrium": HALF, "elbow/preset": HALF}, {"elbow/1": 1.0}),
    2: RobotServo({"elbow/equilibrium": HALF, "elbow/preset": -HALF}, {"elbow/2": 1.0}),
}


def at(angle: float) -> Demand:
    return Demand(0.0, math.inf, math.pi + angle)


def test_two_antagonistic_servos_are_equilibrium_and_preset():
    plant = RobotPlant(AntagonisticJoint(), SERVOS)
    plant.drive(1, at(0.8))
    plant.drive(2, at(0.2))
    plant.advance(0.3)
    assert plant.robot.commands[-1] == pytest.approx([0.5, 0.3, 0.05])
    assert plant.read(1).position == pytest.approx(math.pi + 0.8, abs=1e-4)
    assert plant.read(2).position == pytest.approx(math.pi + 0.2, abs=1e-4)


def test_robot_moves_once_a_period_of_its_own():
    plant = RobotPlant(AntagonisticJoint(), SERVOS)
    for _ in range(95):
        plant.advance(0.001)
    assert len(plant.robot.commands) == 9
    plant.advance(0.005)
    assert len(plant.robot.commands) == 10


def test_servo_without_torque_follows_its_motor():
    plant = RobotPlant(AntagonisticJoint(), SERVOS)
    plant.drive(1, at(0.8))
    plant.drive(2, at(0.2))
    plant.advance(0.3)
    still = plant.robot.motors.copy()
    for servo in (1, 2):
        plant.drive(servo, Demand(0.0, 0.0, None))
    plant.advance(0.3)
    assert plant.robot.motors == pytest.approx(still, abs=1e-9)


def test_what_a_robot_cannot_measure_reads_zero():
    assert RobotPlant(AntagonisticJoint(), SERVOS).read(1).current == 0.0


def test_servo_may_be_read_from_a_joint():
    plant = RobotPlant(AntagonisticJoint(), {5: RobotServo({"elbow/equilibrium": 1.0}, {"elbow": 1.0}, zero=2.0)})
    plant.drive(5, Demand(0.0, math.inf, 2.4))
    plant.set_temperature(5, 50.0)
    plant.advance(0.3)
    reading = plant.read(5)
    assert reading.position == pytest.approx(2.4, abs=1e-4)
    assert reading.temperature == 50.0


def test_encoder_measures_the_link_and_drives_nothing():
    encoder = RobotServo({}, {"elbow": -2.0}, zero=3.0)
    plant = RobotPlant(AntagonisticJoint(), {**SERVOS, 5: encoder})
    plant.drive(1, at(0.8))
    plant.drive(2, at(0.2))
    plant.drive(5, at(1.0))
    plant.advance(0.3)
    assert plant.robot.commands[-1] == pytest.approx([0.5, 0.3, 0.05])
    assert plant.read(5).position == pytest.approx(3.0 - 2.0 * 0.5, abs=1e-4)


def test_robot_follows_the_goals_on_the_bus():
    bus = Bus(
        BusSettings(tuple(ServoSettings(i, "XM430-W350") for i in (1, 2)), lock_step=True, cycle=0.01),
        RobotPlant(AntagonisticJoint(), SERVOS),
    )
    counts = {1: 2048 + 521, 2: 2048 + 130}

    def send(servo: int, instruction: int, parameters: bytes):
        return bus.receive(encode_instruction(2, InstructionPacket(servo, instruction, parameters)), 1e6)

    send(254, Instruction.SYNC_WRITE, bytes([64, 0, 1, 0, 1, 1, 2, 1]))
    goals = b"".join(bytes([i]) + count.to_bytes(4, "little") for i, count in counts.items())
    for _ in range(60):
        send(254, Instruction.SYNC_WRITE, bytes([116, 0, 4, 0]) + goals)
    statuses = send(254, Instruction.SYNC_READ, bytes([132, 0, 4, 0, 1, 2]))
    assert [int.from_bytes(s.data[9:13], "little") for s in statuses] == pytest.approx(
        list(counts.values()), abs=1
    )


def test_wrong_maps_are_refused_with_the_choices():
    with pytest.raises(UnknownNameError, match="elbow/preset"):
        RobotPlant(AntagonisticJoint(), {1: RobotServo({"elbow/presett": 1.0}, {"elbow/1": 1.0})})
    with pytest.raises(UnknownNameError, match="elbow/1"):
        RobotPlant(AntagonisticJoint(), {1: RobotServo({"elbow/preset": 1.0}, {"elbow/3": 1.0})})
    with pytest.raises(ConfigurationError, match="at least one"):
        RobotPlant(AntagonisticJoint(), {1: RobotServo({"elbow/preset": 1.0}, {})})


def test_close_stops_and_closes_the_robot():
    plant = RobotPlant(AntagonisticJoint(), SERVOS)
    plant.close()
    assert not plant.robot.connected
    assert plant.robot.stopped


def test_simulated_servos_have_the_supply_and_turn_freely_without_torque():
    """An AX-12A turns as fast as its supply lets it; without torque its motor does not brake it."""
    description = describe("hexapod")
    model = hexapod(gravity=False, settle=0.0)
    speeds = {}
    for supply in (12.0, 9.0):
        plant = RobotPlant(
            replace(description, model=model).simulated(0.001),
            {1: RobotServo({"front_left_coxa/position": 1.0}, {"front_left_coxa": 1.0})},
            supply,
            powering=True,
        )
        number, zero = 1, plant.read(1).position
        plant.drive(number, Demand(1.0, math.inf, zero + 1.2))
        plant.advance(0.1)
        speeds[supply] = plant.read(number).velocity
    assert speeds[9.0] / speeds[12.0] == pytest.approx(9.0 / 12.0, abs=0.05)
    plant.drive(number, FREE)
    before = plant.read(number).velocity
    plant.advance(0.02)
    assert plant.read(number).velocity > 0.9 * before
    plant.close()
