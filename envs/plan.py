"""What is fixed about a simulated robot: its compiled model, and how commands and measurements pass."""

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import Backend, JointOnModel, compile_model, prepare_model
from pliant.envs.description import delayed, named_joints, robot_info
from pliant.envs.economy import economise
from pliant.envs.measuring import StateLayout
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.randomisation.family import Conditions, RobotFamily, extremes
from pliant.envs.randomisation.randomisation import Randomisation
from pliant.errors import ConfigurationError, check_bounds
from pliant.hardware.robot import RobotInfo

_LARGEST = float(np.finfo(np.float64).max)
_NOISE = {"position_noise": "rad", "velocity_noise": "rad/s", "torque_noise": "N·m"}


class Plan(NamedTuple):
    """How a robot is simulated, by one `SimulatedRobot` or by many together."""

    info: RobotInfo
    model: mujoco.MjModel
    bare: mujoco.MjModel
    """The model without what is only looked at: the same motion, a tenth quicker."""
    joints: tuple[JointOnModel, ...]
    """The compliant joints, in the robot's order."""
    layout: StateLayout
    columns: NDArray[np.intp]
    """Where the command's columns are in `ctrl`."""
    positions: NDArray[np.intp]
    """Where the joints' angles are in `qpos`."""
    substeps: int
    """Physics steps in a period."""
    family: RobotFamily
    """What is drawn anew at every reset."""
    backend: Backend | str | None


def plan_robot(
    robot: RobotModel,
    period: float,
    conditions: Conditions,
    randomisation: Randomisation | None,
    backend: Backend | str | None,
) -> Plan:
    """Compile a robot's model; arguments and errors as of `SimulatedRobot`."""
    step = float(robot.spec.option.timestep)
    substeps = _multiple("period", period, "the model's time step", step, least=1)
    _multiple("command_delay", conditions.command_delay, "the model's time step", step)
    _multiple("sensor_delay", conditions.sensor_delay, "the period", period)
    for name, unit in _NOISE.items():
        check_bounds(name, getattr(conditions, name), 0.0, _LARGEST, unit)
    varied = Randomisation() if randomisation is None else randomisation
    if not isinstance(varied, Randomisation):
        raise ConfigurationError(
            f"randomisation is {varied!r}; a Randomisation is needed (in a configuration, a node with "
            "_target_: pliant.envs.randomisation.Randomisation)."
        )
    spec = delayed(robot.spec, extremes(conditions, varied, step, period).command_delay)
    model = compile_model(spec, backend)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    economise(model)
    joints = named_joints(model, robot.joints, robot.name)
    layout, family = StateLayout(joints), RobotFamily(model, joints, period, conditions, varied)
    return Plan(
        info=robot_info(robot.name, joints, layout.motors, float(period)),
        model=model,
        bare=_bare(spec, model),
        joints=joints,
        layout=layout,
        columns=np.array([control for joint in joints for control in joint.controls]),
        positions=np.array([int(model.jnt_qposadr[joint.joint]) for joint in joints]),
        substeps=substeps,
        family=family,
        backend=backend,
    )


def _bare(spec: mujoco.MjSpec, model: mujoco.MjModel) -> mujoco.MjModel:
    """Compile a spec once more, as it is simulated in `model`, without geoms that are only seen."""
    unseen = spec.copy()
    unseen.compiler.discardvisual = True
    bare = compile_model(unseen, check=False)
    bare.opt.disableflags = model.opt.disableflags
    bare.actuator_user[:] = model.actuator_user  # with the sub-steps of its family
    return bare


def recalled(plan: Plan) -> Plan:
    """Return a plan whose joints were left out on its way to another process, with the joints looked up again.

    Raises:
        ConfigurationError: a joint's law cannot be imported here, or has changed.
    """
    rows = plan.model.actuator_user.copy()
    prepare_model(plan.model, plan.backend)
    plan.model.actuator_user[:] = rows  # with what was drawn
    return plan._replace(joints=named_joints(plan.model, plan.info.joints, plan.info.name))


def _multiple(what: str, value: float, of: str, unit: float, least: int = 0) -> int:
    """How many times `unit` goes into `value`; raise if that is no whole number of at least `least`."""
    number = check_bounds(what, value, 0.0, _LARGEST, "s")
    count = round(number / unit)
    if abs(count * unit - number) > 1e-9 * unit or count < least:
        near = max(count, least) * unit
        raise ConfigurationError(
            f"{what} is {number:g} s; a whole multiple of {of} ({unit:g} s) is needed, such as {near:g} s."
        )
    return count
