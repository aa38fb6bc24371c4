"""Whether a time step is short enough for a model's compliant joints, before anything explodes.

A torque from a callback is explicit in every MuJoCo integrator: with stiffness K and damping D on an inertia I
it is stable only while K·h² + 2·D·h < 4·I, which for D = 0 is h < 2/√(K/I).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators.joint import CompliantJoint
from pliant.actuators.modes import Mode
from pliant.errors import ConfigurationError, PliantError

EXPLICIT_SHARE = 0.25
"""With implicit stiffness, the share κ of K·h²/I left to the explicit torque, where it is more accurate."""

_MOST_SUBSTEPS = 200
"""More motor sub-steps than this in a physics step are refused."""

_POSES = 16


class StabilityError(PliantError, ValueError):
    """The time step is too long for a joint's stiffest setting."""


@dataclass(frozen=True)
class Margin:
    """The joint of a model that bounds its time step, and the bound."""

    joint: str
    stiffness: float
    """Stiffest reachable K, N·m/rad."""
    inertia: float
    """Inertia I that this stiffness moves in the stiffest vibration, kg·m²."""
    largest_step: float
    """s"""


Joints = Sequence[tuple[str, CompliantJoint, int]]
"""Name, description and MuJoCo index of joints."""


def _inverse_inertias(model: mujoco.MjModel) -> NDArray[np.float64]:
    """M⁻¹ in the rest pose and in poses sampled from the joint ranges, (poses, nv, nv)."""
    data = mujoco.MjData(model)
    random = np.random.default_rng(0)
    scalar = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    result = np.zeros((_POSES, model.nv, model.nv))
    for pose in range(_POSES):
        for j in range(model.njnt) if pose else ():
            if int(model.jnt_type[j]) in scalar:
                low, high = model.jnt_range[j] if model.jnt_limited[j] else (-math.pi, math.pi)
                data.qpos[model.jnt_qposadr[j]] = random.uniform(low, high)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_fullM(model, data, result[pose])
    return np.linalg.inv(result)


def explicit_stiffness(model: mujoco.MjModel, joint: int) -> float:
    """Stiffness that stays explicit at a joint with implicit stiffness, κ·I/h², N·m/rad."""
    dof = int(model.jnt_dofadr[joint])
    inertia = 1.0 / float(np.max(_inverse_inertias(model)[:, dof, dof]))
    return EXPLICIT_SHARE * inertia / float(model.opt.timestep) ** 2


def stability_margin(model: mujoco.MjModel, joints: Joints) -> Margin | None:
    """The joint that bounds the time step, over sampled poses; None where none does.

    Springs are taken at their stiffest, all at once (the largest eigenvalue λ of M⁻¹·diag(K)); in modes with
    motors the spring also works against the motor's inertia.
    """
    explicit = [(n, d, int(model.jnt_dofadr[j])) for n, d, j in joints if not d.implicit and d.stiffest > 0.0]
    if not explicit:
        return None
    dofs = [dof for _, _, dof in explicit]
    stiffness = np.array([description.stiffest for _, description, _ in explicit])
    inverse = _inverse_inertias(model)[:, dofs][:, :, dofs]
    motors = [1.0 / d.motor.inertia if d.mode.has_motors else 0.0 for _, d, _ in explicit]
    root = np.sqrt(stiffness)
    values, vectors = np.linalg.eigh(root[:, None] * (inverse + np.diag(motors)) * root)
    pose = int(np.argmax(values[:, -1]))
    index = int(np.argmax(np.abs(vectors[pose, :, -1])))
    name, description, _ = explicit[index]
    inertia = float(stiffness[index] / values[pose, -1])
    damping = description.pid.kd if description.mode is Mode.LINK_POSITION and description.pid else 0.0
    largest = (math.sqrt(damping**2 + 4 * stiffness[index] * inertia) - damping) / stiffness[index]
    return Margin(name, float(stiffness[index]), inertia, float(largest))


def check_stability(model: mujoco.MjModel, joints: Joints) -> None:
    """Raise where the model's time step is too long for one of its compliant joints.

    Raises:
        StabilityError: names the joint, K, I, the largest safe step and the ways out.
        ConfigurationError: implicit stiffness without the `discrete` integrator.
    """
    step = float(model.opt.timestep)
    discrete = int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_DISCRETE)
    for name, description, _ in joints:
        if description.implicit and not discrete:
            raise ConfigurationError(
                f"joint {name!r} has implicit stiffness, which only MuJoCo's integrator 'discrete' carries: set "
                "spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE."
            )
        if step > _MOST_SUBSTEPS * description.substep:
            raise StabilityError(
                f"joint {name!r}: a motor of {description.motor.inertia:g} kg·m² on a spring of up to "
                f"{description.stiffest:g} N·m/rad needs sub-steps of {description.substep:.2g} s, more than "
                f"{_MOST_SUBSTEPS} in a time step of {step:g} s. Use a shorter time step or a heavier motor."
            )
    margin = stability_margin(model, joints)
    if margin is not None and step >= margin.largest_step:
        description = next(d for n, d, _ in joints if n == margin.joint)
        raise StabilityError(
            f"joint {margin.joint!r} (law {description.law.law.name!r}, mode {int(description.mode)}): the time "
            f"step {step:g} s is unstable at its stiffest setting. K = {margin.stiffness:.4g} N·m/rad on "
            f"I = {margin.inertia:.3g} kg·m² needs a step below {margin.largest_step:.3g} s (2/√(K/I)). "
            f"Ways out: a time step of at most {0.8 * margin.largest_step:.2g} s; implicit=True with the "
            "integrator 'discrete'; a narrower preset_range; armature on the joint."
        )
