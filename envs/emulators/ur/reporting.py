"""What the controller reports of itself and its arm: the values of the output variables."""

from typing import NamedTuple

from pliant.envs.emulators.ur.forces import ForceSense
from pliant.envs.emulators.ur.nominal import NominalArm
from pliant.envs.emulators.ur.plant import Plant
from pliant.envs.emulators.ur.poses import Array
from pliant.envs.emulators.ur.safety import RobotMode, RuntimeState, Safety
from pliant.envs.emulators.ur.variables import Table

_UPTIME = 100.0
"""What the controller's clock shows at the start, s."""
_GRAVITY = 9.82
_CONSTANTS = {
    "actual_main_voltage": 48.0,
    "actual_robot_voltage": 48.0,
    "actual_robot_current": 1.0,
    "actual_execution_time": 0.3,
}
_ENABLED = 253
"""Mode of a joint that runs."""


class Desired(NamedTuple):
    """What the controller wants of its joints."""

    q: Array
    """rad"""
    qd: Array
    """rad/s"""
    qdd: Array
    """rad/s²"""
    torque: Array
    """N·m"""


class Report:
    """Writes output variables.

    Args:
        outputs: their table.
        arm: as the controller takes it to be: places and speeds of the TCP are computed by it.
        plant: the arm with its sensors.
        force: what is made of the force sensor.
    """

    def __init__(self, outputs: Table, arm: NominalArm, plant: Plant, force: ForceSense) -> None:
        self._outputs, self._arm, self._plant, self._force = outputs, arm, plant, force
        for name, value in _CONSTANTS.items():
            outputs.set(name, value)
        outputs.set_vector("joint_mode", [_ENABLED] * 6)
        outputs.set_vector("joint_temperatures", [30.0] * 6)
        outputs.set_vector("actual_joint_voltage", [48.0] * 6)

    def write_motion(self, desired: Desired, measured: tuple[Array, Array, Array]) -> None:
        """Report targets and what the sensors see: measured angles, rad, speeds, rad/s, and currents, A."""
        arm, plant = self._arm, self._plant
        q, qd, current = measured
        arm.move(desired.q, desired.qd)
        self._vector("target_TCP_pose", arm.pose())
        self._vector("target_TCP_speed", arm.jacobian() @ desired.qd)
        arm.move(q, qd)
        self._vector("actual_TCP_pose", arm.pose())
        self._vector("actual_TCP_speed", arm.jacobian() @ qd)
        self._vector("ft_raw_wrench", self._force.measure(plant))
        self._vector("actual_TCP_force", self._force.wrench)
        self._vector("actual_tool_accelerometer", _GRAVITY * arm.flange()[1][2])
        self._vector("target_q", desired.q)
        self._vector("target_qd", desired.qd)
        self._vector("target_qdd", desired.qdd)
        self._vector("target_moment", desired.torque)
        self._vector("target_current", plant.current_of(desired.torque))
        self._vector("actual_q", q)
        self._vector("actual_qd", qd)
        self._vector("actual_current", current)
        self._vector("joint_control_output", current)
        self._vector("actual_current_as_torque", plant.torque_of(current))

    def write_state(self, time: float, safety: Safety, runtime: RuntimeState, scaling: float) -> None:
        """Report modes and states at a time since the start, s."""
        outputs = self._outputs
        running = runtime == RuntimeState.PLAYING
        outputs.set("timestamp", _UPTIME + time)
        outputs.set("runtime_state", runtime)
        outputs.set("robot_mode", safety.robot_mode)
        outputs.set("safety_mode", safety.mode)
        outputs.set("safety_status", safety.mode)
        outputs.set("robot_status_bits", int(safety.robot_mode >= RobotMode.IDLE) | running << 1)
        outputs.set("safety_status_bits", safety.bits)
        outputs.set("speed_scaling", scaling)
        outputs.set("payload", self._arm.payload)
        self._vector("payload_cog", self._arm.cog)
        self._vector("tcp_offset", self._arm.tcp)

    def _vector(self, name: str, values: Array) -> None:
        self._outputs.set_vector(name, values.tolist())
