"""Gives a machine the raw wrenches that its simulation reads: `wrist/force_x` … `wrist/torque_z`."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from pliant.errors import check_numbers
from pliant.hardware.force_torque.sensor import ForceTorqueSensor
from pliant.hardware.force_torque.wrench import (
    GRAVITY,
    ToolLoad,
    in_frame,
    moved,
    rotation_matrix,
    turned,
    wrench_channels,
)
from pliant.hardware.robot import Array, Robot, RobotInfo, State
from pliant.hardware.ur.robot import URRobot
from pliant.hardware.ur.rtde import look
from pliant.hardware.wrapper import RobotWrapper

log = logging.getLogger(__name__)

_CB3: Final = 0.005
"""Cycle of a controller above which it is a CB3, s."""


@dataclass(frozen=True)
class Mounting:
    """Where a sensor measures, seen from where its robot's model has it."""

    pose: Sequence[float] = (0.0,) * 6
    """Origin, m, and rotation vector, rad, of the sensor's own axes in those of the model's site."""
    rotation: Array = field(init=False, repr=False, compare=False)
    origin: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pose = check_numbers("mounting of the sensor", self.pose, 6, -7.0, 7.0)
        object.__setattr__(self, "pose", pose)
        object.__setattr__(self, "origin", np.array(pose[:3]))
        object.__setattr__(self, "rotation", rotation_matrix(pose[3:]))

    def at_site(self, wrench: Array) -> Array:
        """Return a wrench, (6,), that the sensor measures, in the axes and about the origin of the site."""
        return in_frame(wrench, self.rotation, self.origin)


class ForceTorqueSensing(RobotWrapper):
    """A robot with force-torque sensors of their own wires.

    Their raw wrenches are added to what the robot reads, NaN while a sensor has a fault. `diagnostics` says which,
    and the log when one begins and ends. Whether the robot stops is up to whoever needs the wrench.

    Args:
        robot: any.
        sensors: by name, each with where it measures.
    """

    def __init__(self, robot: Robot, sensors: Mapping[str, tuple[ForceTorqueSensor, Mounting]]) -> None:
        super().__init__(robot)
        self.sensors = dict(sensors)
        self._faults = dict.fromkeys(self.sensors, "")
        channels = [channel for name in self.sensors for channel in wrench_channels(name)]
        self._info = replace(robot.info, signals=(*robot.info.signals, *channels))

    @property
    def info(self) -> RobotInfo:
        """The robot's, with the signals of the sensors."""
        return self._info

    def connect(self) -> None:
        """Connect the sensors, then the robot."""
        try:
            for sensor, _ in self.sensors.values():
                sensor.connect()
            self.robot.connect()
        except BaseException:
            self._close_sensors()
            raise

    def read(self) -> State:
        """Return the robot's state with the newest wrenches."""
        state = self.robot.read()
        return state._replace(sensors=np.concatenate([state.sensors, *map(self._wrench, self.sensors)]))

    def close(self) -> None:
        """Release the robot, then the sensors."""
        try:
            self.robot.close()
        finally:
            self._close_sensors()

    def diagnostics(self) -> Mapping[str, object]:
        """Return the robot's, and of each sensor `NAME_fault`, `NAME_age_s` and what else it says."""
        found = dict(self.robot.diagnostics())
        for name, (sensor, _) in self.sensors.items():
            reading = sensor.newest()
            found |= {f"{name}_{key}": value for key, value in sensor.diagnostics().items()}
            found |= {f"{name}_fault": reading.fault, f"{name}_age_s": time.monotonic() - reading.time}
        return found

    def _wrench(self, name: str) -> Array:
        sensor, mounting = self.sensors[name]
        reading = sensor.newest()
        kind = reading.fault.partition(":")[0]
        if kind != self._faults[name]:
            self._faults[name] = kind
            log.warning("force-torque sensor %s: %s", name, reading.fault or "it reads again")
        return np.full(6, np.nan) if reading.fault else mounting.at_site(reading.wrench)

    def _close_sensors(self) -> None:
        for sensor, _ in self.sensors.values():
            sensor.close()


class URForceTorque(RobotWrapper):
    """An arm of Universal Robots whose own force sensor reads as a sensor at the flange, raw.

    The controller tells what the surroundings do to the tool, in the axes of its base, without the payload's
    weight: about the flange, a CB3 about the tool's centre point. With F, T and the weight W of the payload, whose
    centre is at c, the sensor between flange and tool reads f = −(F + W), τ = −(T + c × W). Payload and tool
    centre point are those that the controller says it has when it is connected.

    What it zeroes when a program starts is the bias of this reading: tare before the wrench is used.

    Args:
        robot: the arm.
        name: of the sensor.
        payload: in the flange's frame; for a controller that does not tell its own (PolyScope X).
        mounting: of the flange's axes in those of the model's site.
        gravity: in the axes of the controller's base, m/s².
    """

    def __init__(
        self,
        robot: URRobot,
        name: str = "wrist",
        payload: ToolLoad | None = None,
        mounting: Mounting | None = None,
        gravity: Sequence[float] = GRAVITY,
    ) -> None:
        super().__init__(robot)
        self._arm, self._name = robot, name
        self._mounting = mounting or Mounting()
        self._gravity = np.array(check_numbers("gravity", gravity, 3, -100.0, 100.0, "m/s²"))
        self._about_tcp = robot.config.cycle > _CB3
        self._load = payload or ToolLoad()
        self._set_tcp(robot.config.tcp or (0.0,) * 6)
        first = robot.info.signal("tcp/x") - (len(robot.info.signals) - len(robot.info.sensors))
        self._pose, self._felt = slice(first, first + 6), slice(first + 12, first + 18)
        self._info = replace(robot.info, signals=(*robot.info.signals, *wrench_channels(name)))

    @property
    def info(self) -> RobotInfo:
        """The arm's, with the signals of its sensor."""
        return self._info

    def connect(self) -> None:
        """Connect the arm, and ask its controller for payload and tool centre point."""
        self.robot.connect()
        try:
            told = look(self._arm.config.host, ("payload", "payload_cog", "tcp_offset"))
        except BaseException:
            self.robot.close()
            raise
        if "payload" in told and "payload_cog" in told:
            self._load = ToolLoad(told["payload"][0], told["payload_cog"])
        else:
            log.warning(
                "%s does not tell its payload; %g kg are taken for it in %s.",
                self._arm.config.name,
                self._load.mass,
                self._name,
            )
        if "tcp_offset" in told:
            self._set_tcp(told["tcp_offset"])

    def read(self) -> State:
        """Return the arm's state with the raw wrench."""
        state = self.robot.read()
        return state._replace(sensors=np.concatenate([state.sensors, self._raw(state.sensors)]))

    def _raw(self, sensors: Array) -> Array:
        pose, felt = sensors[self._pose], sensors[self._felt]
        flange = rotation_matrix(pose[3:]) @ self._tcp_inverse
        if self._about_tcp:
            felt = moved(felt, flange @ -self._tcp_origin)
        weight = flange.T @ self._gravity
        return self._mounting.at_site(self._load.raw(weight) - turned(felt, flange.T))

    def _set_tcp(self, offset: Sequence[float]) -> None:
        self._tcp_origin = np.array(offset[:3])
        self._tcp_inverse = rotation_matrix(offset[3:]).T
