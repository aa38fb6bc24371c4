"""A whole simulated robot behind the bus: every servo is one of its motors.

Any `pliant.hardware.robot.Robot` whose commands are angles of motors will do: the servos' firmware hands it
position references and reads back the angles of its motors. It keeps its own parameters, so it may differ
from the model that a controller was learned on.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pliant.envs.emulators.dynamixel.plant import TICK, Demand, Reading
from pliant.envs.emulators.dynamixel.plants import FREE, ROOM_TEMPERATURE
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.robot import Robot, State


@dataclass(frozen=True)
class RobotServo:
    """How one servo is part of a robot; with θ the servo's encoder angle less `zero`, both ways linear.

    One servo that turns a joint: `RobotServo({"elbow/position": 1}, {"elbow": 1})`. Two antagonistic servos
    whose mean is the equilibrium and whose half difference the preset: command `{"elbow/equilibrium": 0.5,
    "elbow/preset": ±0.5}`, reading `{"elbow/1": 1}` and `{"elbow/2": 1}`.
    """

    command: Mapping[str, float]
    """What θ adds to each command column it acts on: column's share × θ."""
    reading: Mapping[str, float]
    """θ as a sum of angles of motors, or of joints where there is no motor of that name: share × angle."""
    zero: float = math.pi
    """Encoder angle at which θ is 0, rad."""
    torque_constant: float = 1.0
    """Torque per current, N·m/A: only to report a current."""


class RobotPlant:
    """See `Plant`. The robot moves on by whole periods of its own; between them its readings stand still.

    A servo without torque, or in a mode that holds no position, follows its own motor: it asks for the angle
    at which it is.

    Args:
        robot: the robot; connected here, closed by `close`.
        servos: its servos by number.
        supply: voltage of the supply, V: only reported.
    """

    def __init__(self, robot: Robot, servos: Mapping[int, RobotServo], supply: float = 12.0) -> None:
        self.robot = robot
        self._servos = dict(servos)
        self._check()
        self._demands = dict.fromkeys(self._servos, FREE)
        self._temperatures = dict.fromkeys(self._servos, ROOM_TEMPERATURE)
        self.set_supply(supply)
        self._left = 0.0
        robot.connect()
        self._state = robot.read()

    def drive(self, servo: int, demand: Demand) -> None:
        """See `Plant.drive`."""
        self._demands[servo] = demand

    def advance(self, dt: float) -> None:
        """See `Plant.advance`."""
        self._left += dt
        while self._left > self.robot.info.period - TICK / 2:
            self._left -= self.robot.info.period
            self.robot.send(self._command())
            self._state = self.robot.read()

    def read(self, servo: int) -> Reading:
        """See `Plant.read`."""
        part = self._servos[servo]
        position, velocity, torque = self._sum(part, self._state)
        current = torque / part.torque_constant
        return Reading(part.zero + position, velocity, current, self._supply, self._temperatures[servo])

    def set_supply(self, voltage: float) -> None:
        """See `Plant.set_supply`."""
        self._supply = check_bounds("supply", voltage, 0.0, 60.0, "V")

    def set_temperature(self, servo: int, temperature: float) -> None:
        """See `Plant.set_temperature`."""
        self._temperatures[servo] = check_bounds("temperature", temperature, -40.0, 250.0, "°C")

    def close(self) -> None:
        """See `Plant.close`: close the robot."""
        self.robot.stop()
        self.robot.close()

    def _check(self) -> None:
        info = self.robot.info
        for number, servo in self._servos.items():
            where = f"servo {number} of robot {info.name!r}"
            if not servo.command or not servo.reading:
                raise ConfigurationError(f"{where} needs at least one command column and one reading.")
            for name in servo.command:
                if name not in info.command_names:
                    raise unknown_name("command column", name, info.command_names, where)
            for name in servo.reading:
                if name not in info.motors and name not in info.joints:
                    raise unknown_name("motor or joint", name, info.motors + info.joints, where)

    def _command(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        info = self.robot.info
        command = info.rest
        for servo in self._servos.values():
            for name in servo.command:
                command[info.command_names.index(name)] = 0.0
        for number, servo in self._servos.items():
            reference = self._demands[number].position
            angle = self.read(number).position if reference is None else reference
            for name, share in servo.command.items():
                command[info.command_names.index(name)] += share * (angle - servo.zero)
        return command

    def _sum(self, servo: RobotServo, state: State) -> tuple[float, float, float]:
        """Return θ, its speed and its torque; 0 for what the robot cannot measure."""
        info = self.robot.info
        total = np.zeros(3)
        for name, share in servo.reading.items():
            if name in info.motors:
                i = info.motors.index(name)
                values = (state.motor_position[i], state.motor_velocity[i], state.motor_torque[i])
            else:
                i = info.joints.index(name)
                values = (state.position[i], state.velocity[i], state.torque[i])
            total += share * np.nan_to_num(np.array(values))
        return float(total[0]), float(total[1]), float(total[2])
