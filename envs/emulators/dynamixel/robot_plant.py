"""A whole simulated robot behind the bus: every servo is one of its motors.

Any `pliant.hardware.robot.Robot` whose commands are angles of motors will do: the servos' firmware hands it
position references and reads back the angles of its motors. It keeps its own parameters, so it may differ
from the model that a controller was learned on.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pliant.actuators.layout import DRIVE_AT
from pliant.envs.emulators.dynamixel.plant import TICK, Demand, Reading
from pliant.envs.emulators.dynamixel.plants import FREE, ROOM_TEMPERATURE
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.robot import Array, Robot


@dataclass(frozen=True)
class RobotServo:
    """How one servo is part of a robot; with θ the servo's encoder angle less `zero`, both ways linear.

    One servo that turns a joint: `RobotServo({"elbow/position": 1}, {"elbow": 1})`. Two antagonistic servos
    whose mean is the equilibrium and whose half difference the preset: command `{"elbow/equilibrium": 0.5,
    "elbow/preset": ±0.5}`, reading `{"elbow/1": 1}` and `{"elbow/2": 1}`. An encoder on the link: no command,
    reading `{"elbow": 1}`.
    """

    command: Mapping[str, float]
    """What θ adds to each command column it acts on: column's share × θ; empty for a servo that only measures."""
    reading: Mapping[str, float]
    """θ as a sum of angles of motors, or of joints where there is no motor of that name: share × angle."""
    zero: float = math.pi
    """Encoder angle at which θ is 0, rad."""
    torque_constant: float = 1.0
    """Torque per current, N·m/A: only to report a current."""


class RobotPlant:
    """See `Plant`. The robot moves on by whole periods of its own; between them its readings stand still.

    A servo without torque, or in a mode that holds no position, follows its own motor: it asks for the angle
    at which it is. A simulated servo that can switch itself off is off then, and turns freely.

    Args:
        robot: the robot; connected here, closed by `close`.
        servos: its servos by number.
        supply: voltage of the supply, V.
        powering: whether the robot's own servos have that supply from the beginning; otherwise it is what they
            report until it is changed.
    """

    def __init__(
        self, robot: Robot, servos: Mapping[int, RobotServo], supply: float = 12.0, *, powering: bool = False
    ) -> None:
        self.robot = robot
        self._servos = dict(servos)
        self._check()
        self._demands = dict.fromkeys(self._servos, FREE)
        self._temperatures = dict.fromkeys(self._servos, ROOM_TEMPERATURE)
        self._supply = check_bounds("supply", supply, 0.0, 60.0, "V")
        self._left = 0.0
        self._map()
        robot.connect()
        if powering:
            self.set_supply(supply)
        self._measure()

    def drive(self, servo: int, demand: Demand) -> None:
        """See `Plant.drive`."""
        self._demands[servo] = demand

    def advance(self, dt: float) -> None:
        """See `Plant.advance`."""
        self._left += dt
        while self._left > self.robot.info.period - TICK / 2:
            self._left -= self.robot.info.period
            command = self._command()
            if self._off:
                assert isinstance(self.robot, SimulatedRobot)
                for place, number in self._off.items():
                    self.robot.data.act[place] = self._demands[number].position is None
            self.robot.send(command)
            self._measure()

    def read(self, servo: int) -> Reading:
        """See `Plant.read`."""
        position, velocity, current = self._readings[servo]
        return Reading(position, velocity, current, self._supply, self._temperatures[servo])

    def set_supply(self, voltage: float) -> None:
        """See `Plant.set_supply`. Simulated servos that know their supply get it too, at least 0.1 V."""
        self._supply = check_bounds("supply", voltage, 0.0, 60.0, "V")
        if isinstance(self.robot, SimulatedRobot):
            for joint in self.robot.compiled.joints:
                for actuator, drive in zip(joint.actuators, joint.description.drives, strict=False):
                    names = [parameter.name for parameter in drive.kind.parameters]
                    if "voltage" in names:
                        at = DRIVE_AT + names.index("voltage")
                        self.robot.model.actuator_user[actuator, at] = max(voltage, 0.1)

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
            if not servo.reading:
                raise ConfigurationError(f"{where} needs at least one motor or joint as its reading.")
            for name in servo.command:
                if name not in info.command_names:
                    raise unknown_name("command column", name, info.command_names, where)
            for name in servo.reading:
                if name not in info.motors and name not in info.joints:
                    raise unknown_name("motor or joint", name, info.motors + info.joints, where)

    def _map(self) -> None:
        """Lay the servos' shares out as matrices: once a tick is too often to look names up."""
        info, servos = self.robot.info, list(self._servos.values())
        sources = info.motors + info.joints
        self._to_command = np.zeros((len(info.command), len(servos)))
        self._to_reading = np.zeros((len(servos), len(sources)))
        for at, servo in enumerate(servos):
            for name, share in servo.command.items():
                self._to_command[info.command_names.index(name), at] = share
            for name, share in servo.reading.items():
                self._to_reading[at, sources.index(name)] = share
        self._zero = np.array([servo.zero for servo in servos])
        self._constant = np.array([servo.torque_constant for servo in servos])
        self._off = dict(_switches(self.robot, self._servos)) if isinstance(self.robot, SimulatedRobot) else {}
        """Where the simulation holds whether a servo has switched itself off, and the servo's number."""
        driven = {name for servo in servos for name in servo.command}
        self._rest = np.array([0.0 if c.name in driven else c.rest for c in info.command])

    def _command(self) -> Array:
        angles = [
            self._readings[number].position if demand.position is None else demand.position
            for number, demand in self._demands.items()
        ]
        command: Array = self._rest + self._to_command @ (np.array(angles) - self._zero)
        return command

    def _measure(self) -> None:
        """Take what every servo sees; 0 for what the robot cannot measure."""
        state = self.robot.read()
        seen = [
            (state.motor_position, state.motor_velocity, state.motor_torque),
            (state.position, state.velocity, state.torque),
        ]
        values = self._to_reading @ np.nan_to_num(np.hstack(seen)).T
        values[:, 0] += self._zero
        values[:, 2] /= self._constant
        self._readings = {number: _Seen(*row) for number, row in zip(self._servos, values.tolist(), strict=True)}


class _Seen(NamedTuple):
    """What a servo sees of the robot."""

    position: float
    velocity: float
    current: float


def _switches(robot: SimulatedRobot, servos: Mapping[int, RobotServo]) -> Iterator[tuple[int, int]]:
    """Where in `act` each servo that can switch itself off holds whether it has, and its number."""
    for joint in robot.compiled.joints:
        state = joint.description.drives[0].kind.state if joint.description.servo is not None else ()
        for number, servo in servos.items():
            if "shut_down" in state and joint.name in servo.reading:
                yield int(robot.model.actuator_actadr[joint.actuators[0]]) + state.index("shut_down"), number
