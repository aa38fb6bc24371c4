"""What there is to know of a robot before it runs: joints and their drives, limits of its time step, signals.

And a first description of a model file, with every choice in it that its user may want to change.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from pliant.actuators import stability_margin
from pliant.envs.description import RobotDescription
from pliant.envs.models.own_robot import own_robot
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.simulation.parameters import links
from pliant.envs.simulation.signals import offers
from pliant.envs.simulation.simulated_robot import SimulatedRobot
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Array

_POSES = 64
_USUAL_PERIOD = 0.02
_REACH = 0.1
"""Deflection under its weight that a suggested spring has, rad or m."""
_SHARE = 0.1
"""Share of the largest stiffness that a suggested spring takes at most."""


@dataclass(frozen=True)
class JointFacts:
    """What is known of a joint."""

    name: str
    kind: str
    """hinge or slide."""
    low: float
    """Range, rad or m; infinite without limits."""
    high: float
    drive: str
    """What drives it, in words."""
    inertia: float
    """Smallest inertia that it moves in any of the sampled poses, kg·m² (kg of a slide)."""
    load: float
    """Largest torque of gravity in them, N·m (N)."""
    stiffness: float
    """Largest stiffness of a spring at the model's time step, with everything else at rest, N·m/rad (N/m)."""


@dataclass(frozen=True)
class RobotFacts:
    """What is known of a robot."""

    description: RobotDescription
    robot: SimulatedRobot
    joints: tuple[JointFacts, ...]
    mass: float
    """Of all that its joints and base move, kg."""
    timestep: float
    """s."""
    largest_step: float
    """The longest time step that its compliant joints allow, s; infinite without any."""
    slowest_joint: str
    """The joint that limits it; empty without any."""
    groups: tuple[str, ...]
    """What could be read besides joints and motors."""
    keyframes: tuple[str, ...]
    sites: tuple[str, ...]
    missing: tuple[str, ...]
    """What cannot be done with it, and what to add."""


def explain(description: RobotDescription) -> RobotFacts:
    """Return what there is to know of a robot. Raises what compiling it raises."""
    robot = description.simulated()
    model, compliant = robot.model, robot.compiled.joints
    inertia, load = _inertias_and_loads(model)
    drives = {joint.name: joint.description for joint in compliant}
    step, facts = float(model.opt.timestep), []
    for name in robot.info.joints:
        joint = model.joint(name)
        dof, slide = int(joint.dofadr[0]), int(joint.type[0]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
        low, high = (float(b) for b in joint.range) if joint.limited[0] else (-math.inf, math.inf)
        columns = [c.quantity for c in robot.info.command if c.owner == name]
        drive = _drive(drives[name]) if name in drives else _native(columns)
        kind = "slide" if slide else "hinge"
        stiffest = 4.0 * float(inertia[dof]) / step**2
        facts.append(JointFacts(name, kind, low, high, drive, float(inertia[dof]), float(load[dof]), stiffest))
    margin = stability_margin(model, [(j.name, j.description, j.joint) for j in compliant])
    return RobotFacts(
        description=description,
        robot=robot,
        joints=tuple(facts),
        mass=float(model.body_mass[links(model, description.model)].sum()),
        timestep=step,
        largest_step=math.inf if margin is None else margin.largest_step,
        slowest_joint="" if margin is None else margin.joint,
        groups=tuple(dict.fromkeys(offer.group for offer in offers(description.model))),
        keyframes=tuple(filter(None, (model.key(k).name for k in range(model.nkey)))),
        sites=tuple(filter(None, (model.site(k).name for k in range(model.nsite)))),
        missing=tuple(_missing(description, robot)),
    )


def _drive(joint: Any) -> str:
    if joint.servo is not None:
        return f"servo {joint.servo.motor.name}"
    if joint.drive is not None:
        return str(joint.drive.kind.name)
    return f"{joint.law.law.name}, mode {int(joint.mode)}"


def _native(columns: Sequence[str]) -> str:
    return f"the model's own: {', '.join(columns)}" if columns else "nothing: read only"


def _missing(description: RobotDescription, robot: SimulatedRobot) -> Iterator[str]:
    model = description.model
    if not robot.info.command:
        yield "nothing drives it, so that nothing can be learned: say under `joints` what drives which joint"
    if not model.end_effectors:
        yield "no end effector, for reach_pose, track_path, throw and press: end_effectors: {tip: SITE}"
    if model.base is None:
        yield "no floating base, for walk"
    if not model.force_torque and not any("force" in offer.channel.name for offer in offers(model)):
        yield "no force-torque sensor, for press: force_torque: {wrist: SITE}"
    if description.machine is None:
        yield "no machine, for hardware=emulated and hardware=real: machine: {bus: dynamixel, servos: …}"
        return
    encoders = description.machine.get("encoders") or {}
    soft = (name.removesuffix("/equilibrium") for name in robot.info.command_names if "/equilibrium" in name)
    if blind := [joint for joint in soft if joint not in encoders]:
        yield (
            f"no encoder on the link of {', '.join(blind)}, which stands elsewhere than its servos, for "
            f"hardware=emulated and hardware=real: machine: {{encoders: {{{blind[0]}: ID}}}}"
        )


def _inertias_and_loads(model: mujoco.MjModel) -> tuple[Array, Array]:
    """Smallest inertia, (nv,), and largest torque of gravity, (nv,), over poses from the joints' ranges."""
    data, random = mujoco.MjData(model), np.random.default_rng(0)
    scalar = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    inertia, load = np.full(model.nv, np.inf), np.zeros(model.nv)
    full = np.zeros((model.nv, model.nv))
    for pose in range(_POSES):
        for j in range(model.njnt) if pose else ():
            if int(model.jnt_type[j]) in scalar:
                low, high = model.jnt_range[j] if model.jnt_limited[j] else (-math.pi, math.pi)
                data.qpos[model.jnt_qposadr[j]] = random.uniform(low, high)
        data.qvel[:] = 0.0
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        mujoco.mj_fullM(model, data, full)
        inertia = np.minimum(inertia, 1.0 / np.diag(np.linalg.inv(full)))
        load = np.maximum(load, np.abs(data.qfrc_bias - data.qfrc_gravcomp))
    return inertia, load


def first_description(file: Path) -> str:
    """Return the text of a first description of a model file, which trains as it is.

    Joints that nothing moves get a spring that gives 0.1 rad (m) under the robot's weight, or what the time step
    allows; commands that nothing bounds get three times the torque of gravity.

    Raises:
        ConfigurationError, …: what reading the model raises.
    """
    bare = own_robot(file.name, file.parent)
    drives, ranges = _suggestions(bare, file)
    robot = SimulatedRobot(own_robot(file.name, file.parent, joints=drives, ranges=ranges), _period(bare))
    model = bare.spec
    lines = [
        f"# A first description of {file.name}: change what does not fit.",
        f"model: {file.name} # MJCF or URDF, relative to this file",
        f"period: {_period(bare):g} # from one command to the next, s",
        "joints: # native (the model's actuator), passive, ignore, {law: sea, k: 40, mode: 6}, {servo: AX-12A}, …",
    ]
    for name in bare.joints:
        columns = [c for c in robot.info.command if c.owner == name]
        driven = _flow(drives[name]) if name in drives else ("native" if columns else "passive")
        lines.append(
            f"  {_key(name)}: {driven}{'  # suggested: nothing in the model moves it' * (name in drives)}"
        )
    if ranges:
        lines.append("ranges: # of commands that the model does not bound; suggested: thrice gravity's torque")
        lines += [f"  {_key(column)}: [{low:.4g}, {high:.4g}]" for column, (low, high) in ranges.items()]
    sites = [site.name for site in model.sites if site.name]
    if sites:
        lines.append(f"end_effectors: {{tip: {_key(sites[-1])}}} # name: site; sites: {', '.join(sites)}")
    else:
        lines.append("# end_effectors: {tip: SITE} # the model has no sites")
    sensors = [offer.group for offer in offers(bare)]
    read = [name for name in dict.fromkeys(sensors) if name not in bare.end_effectors]
    if read:
        lines.append(f"signals: [{', '.join(map(_key, read))}] # what is read besides joints and motors")
    keys = [key.name for key in model.keys if key.name]
    if keys:
        lines.append(f"start: {_key(keys[0])} # a keyframe; keyframes: {', '.join(keys)}")
    lines.append("# gravity_compensation: true")
    lines.append(
        "# machine: {bus: dynamixel, model: XM430-W350, servos: {JOINT: 1}} # what drives it on the bench"
    )
    return "\n".join(lines) + "\n"


def _period(model: RobotModel) -> float:
    step = float(model.spec.option.timestep)
    return max(round(_USUAL_PERIOD / step), 1) * step


def _suggestions(bare: RobotModel, file: Path) -> tuple[dict[str, dict[str, Any]], dict[str, tuple[float, float]]]:
    """Springs for joints that nothing moves where nothing moves any, and bounds for commands that have none."""
    passive = own_robot(file.name, file.parent, joints=dict.fromkeys(bare.joints, "passive"))
    model = SimulatedRobot(passive, _period(bare)).model
    inertia, load = _inertias_and_loads(model)
    step = float(model.opt.timestep)
    dofs = {name: int(model.joint(name).dofadr[0]) for name in bare.joints}
    drives: dict[str, dict[str, Any]] = {}
    if not list(bare.spec.actuators):
        for name, dof in dofs.items():
            stiff = max(float(load[dof]) / _REACH, 1e-3)
            allowed = _SHARE * 4.0 * float(inertia[dof]) / step**2 / len(dofs)
            drives[name] = {"law": "sea", "k": float(f"{min(stiff, allowed):.2g}"), "mode": 3}
    ranges: dict[str, tuple[float, float]] = {}
    for _ in range(4 * len(dofs) + 4):
        try:
            SimulatedRobot(own_robot(file.name, file.parent, joints=drives, ranges=ranges), _period(bare))
        except ConfigurationError as error:
            column = str(error).partition("nothing bounds the command '")[2].partition("'")[0]
            if not column:
                raise
            joint = column.rpartition("/")[0]
            torque = 3.0 * float(load[dofs[joint]]) if joint in dofs else 1.0
            limit = float(f"{max(torque, 1e-2):.2g}") if column.endswith("/torque") else 1.0
            ranges[column] = (-limit, limit)
        else:
            break
    return drives, ranges


def _flow(entry: dict[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in entry.items()) + "}"


def _key(name: str) -> str:
    """A name as YAML has it."""
    plain = name.replace("_", "").replace("-", "").replace("/", "").replace(".", "")
    return name if plain.isalnum() and not plain[0].isdigit() and name.lower() not in _WORDS else f'"{name}"'


_WORDS = ("yes", "no", "on", "off", "true", "false", "null", "y", "n")
