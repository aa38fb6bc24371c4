"""Whether a time step is short enough for a model's compliant joints, before anything explodes.

A torque from a callback is explicit in every MuJoCo integrator: with stiffness K and damping D on an inertia I
it is stable only while K·h² + 2·D·h < 4·I, which for D = 0 is h < 2/√(K/I).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators.joint import CompliantJoint
from pliant.actuators.units import JointUnits, joint_units
from pliant.errors import ConfigurationError, PliantError

EXPLICIT_SHARE = 0.25
"""With implicit stiffness, the share κ of K·h²/I left to the explicit torque, where it is more accurate."""

_MOST_SUBSTEPS = 200
"""More motor sub-steps than this in a physics step are refused."""

_POSES = 16

_LONGEST = 1e6
"""A step that nothing bounds, s."""

_CARRY_DAMPING = (int(mujoco.mjtIntegrator.mjINT_IMPLICIT), int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST))

_RK4_REACH = 2.6
"""RK4 damps every pole λ of the left half-plane with h·|λ| below this."""


class StabilityError(PliantError, ValueError):
    """The time step is too long for a joint's stiffest setting."""


@dataclass(frozen=True)
class Margin:
    """The joint of a model that bounds its time step, and the bound."""

    joint: str
    stiffness: float
    """Stiffest reachable K, N·m/rad."""
    damping: float
    """Explicit damping D, N·m·s/rad."""
    inertia: float
    """Inertia I that this joint moves in the quickest vibration, kg·m²."""
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


def free_inertia(model: mujoco.MjModel, joint: int) -> float:
    """Inertia that a torque on a joint meets in the model's first pose, the other joints free, kg·m²."""
    dof = int(model.jnt_dofadr[joint])
    return 1.0 / float(_inverse_inertias(model)[0, dof, dof])


def explicit_stiffness(model: mujoco.MjModel, joint: int) -> float:
    """Stiffness that stays explicit at a joint with implicit stiffness, κ·I/h², N·m/rad."""
    dof = int(model.jnt_dofadr[joint])
    inertia = 1.0 / float(np.max(_inverse_inertias(model)[:, dof, dof]))
    return EXPLICIT_SHARE * inertia / float(model.opt.timestep) ** 2


def stability_margin(model: mujoco.MjModel, joints: Joints) -> Margin | None:
    """The joint that bounds the time step, over sampled poses; None where none does.

    The bound is the step h at which the largest eigenvalue of M⁻¹·diag(K·h² + 2·D·h) reaches 4. Springs are taken
    at their stiffest, all at once; in modes with motors the spring also works against the motor's inertia. Motors
    are stepped beside the link, so that a joint that nothing damps gains energy with the fourth power of the step,
    0.1 % a step at half the bound; the default motor and 9 % of critical damping on the link take more than that.
    The bristle of a servo's friction, κ·I/h² with a damping of 2·K·h, takes 5·κ of the 4 for itself. What MuJoCo's
    integrators take implicitly does not count: the damping of an affine drive (M becomes M + h·D/2) under
    `implicit` and `implicitfast`, and the whole drive under `discrete`.
    """
    known = [_Known.of(model, *joint) for joint in joints]
    known = [joint for joint in known if joint.stiffness > 0.0 or joint.damping > 0.0]
    if not known:
        return None
    dofs = [joint.dof for joint in known]
    stiffness = np.array([joint.stiffness for joint in known])
    damping = np.array([joint.damping for joint in known])
    bristles = 1.0 - 5.0 * EXPLICIT_SHARE / 4.0 * np.array([joint.bristle for joint in known])
    motors = np.diag([1.0 / joint.rotor for joint in known])
    carried = np.zeros(model.nv)
    carried[dofs] = [joint.carried_damping for joint in known]
    still = _inverse_inertias(model)
    masses = np.linalg.inv(still) if carried.any() else still

    def inverse(step: float) -> NDArray[np.float64]:
        """M⁻¹ of the joints over the poses, with the damping that the integrator carries over a step."""
        whole = still
        if carried.any():
            whole = np.asarray(np.linalg.inv(masses + 0.5 * step * np.diag(carried)), dtype=np.float64)
        part: NDArray[np.float64] = whole[:, dofs][:, :, dofs] + motors
        return part

    def vibration(step: float) -> tuple[float, int]:
        """Largest eigenvalue of M⁻¹·diag(K·h² + 2·D·h), and the joint that moves most in it."""
        root = np.sqrt((stiffness * step**2 + 2 * damping * step) / bristles)
        values, vectors = np.linalg.eigh(root[:, None] * inverse(step) * root)
        pose = int(np.argmax(values[:, -1]))
        return float(values[pose, -1]), int(np.argmax(np.abs(vectors[pose, :, -1])))

    low, high = 0.0, 1.0
    while vibration(high)[0] < 4.0 and high < _LONGEST:
        high *= 2.0
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if vibration(middle)[0] < 4.0 else (low, middle)
    index = vibration(low)[1]
    inertia = (stiffness[index] * low**2 + 2 * damping[index] * low) / bristles[index] / 4.0
    return Margin(known[index].name, float(stiffness[index]), float(damping[index]), float(inertia), low)


class _Known(NamedTuple):
    """What of a joint bounds an explicit step."""

    name: str
    dof: int
    stiffness: float
    damping: float
    rotor: float
    """Inertia of the motor behind the spring; infinite where there is none."""
    bristle: bool
    carried_damping: float
    """Damping that the integrator takes implicitly."""

    @classmethod
    def of(cls, model: mujoco.MjModel, name: str, description: CompliantJoint, joint: int) -> "_Known":
        dof = int(model.jnt_dofadr[joint])
        stiffness = 0.0 if description.implicit else description.stiffest
        damping, carried = description.link_damping, 0.0
        if description.affine is not None:
            damping = _affine_damping(model, joint)
            if int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_DISCRETE):
                stiffness, damping = 0.0, 0.0
            elif int(model.opt.integrator) in _CARRY_DAMPING:
                damping, carried = 0.0, damping
        rotor = description.drives[0].inertia if description.mode.has_motors else math.inf
        bristle = description.mode.rigid and description.explicit_share
        return cls(name, dof, stiffness, damping, rotor, bristle, carried)


def _affine_damping(model: mujoco.MjModel, joint: int) -> float:
    """Damping of the affine drive on a joint as MuJoCo has it, N·m·s/rad."""
    on_joint = (model.actuator_trntype == int(mujoco.mjtTrn.mjTRN_JOINT)) & (model.actuator_trnid[:, 0] == joint)
    return -float(model.actuator_biasprm[np.flatnonzero(on_joint)[0], 2])


def _check_motor_loop(name: str, joint: CompliantJoint, step: float, units: JointUnits) -> None:
    """Refuse RK4 for a motor too quick for it: RK4 evaluates the motor's loop explicitly, once a stage."""
    poles = [drive.pole(joint.stiffest) for drive in joint.drives]
    largest = min((_RK4_REACH / pole for pole in poles if pole > 0.0), default=math.inf)
    if step >= largest:
        raise StabilityError(
            f"joint {name!r} (mode {int(joint.mode)}): its drive {joint.drives[0].kind.name!r} (J = "
            f"{joint.drives[0].inertia:g} {units.inertia}) settles at up to {max(poles):.3g}/s and needs a time "
            f"step below {largest:.3g} s under RK4, not {step:g} s. Ways out: that time step; another integrator, "
            "which gives motors their own sub-steps; a heavier motor; lower gains."
        )


def _ways_out(joint: CompliantJoint) -> str:
    """What may help besides a shorter step and armature."""
    if joint.affine is not None:
        return "the integrator 'discrete', which carries any stiffness of this drive; a softer position loop; "
    if joint.mode.rigid:
        return "lower gains; " if joint.pid is not None else "a softer position loop; "
    ways = "implicit=True with the integrator 'discrete'; "
    ways += "a narrower preset_range; " if joint.law.preset is not None else "a softer spring; "
    return ways + ("a heavier motor; " if joint.mode.has_motors else "")


def check_stability(model: mujoco.MjModel, joints: Joints) -> None:
    """Raise where the model's time step is too long for one of its compliant joints.

    Raises:
        StabilityError: names the joint, K, I, the largest safe step and the ways out.
        ConfigurationError: implicit stiffness without the `discrete` integrator.
    """
    step = float(model.opt.timestep)
    integrator = int(model.opt.integrator)
    discrete = integrator == int(mujoco.mjtIntegrator.mjINT_DISCRETE)
    for name, description, joint in joints:
        units = joint_units(model.jnt_type[joint])
        if description.implicit and not discrete:
            raise ConfigurationError(
                f"joint {name!r} has implicit stiffness, which only MuJoCo's integrator 'discrete' carries: set "
                "spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE."
            )
        if step > _MOST_SUBSTEPS * description.substep:
            raise StabilityError(
                f"joint {name!r}: a motor of {description.drives[0].inertia:g} {units.inertia} on a spring of up "
                f"to {description.stiffest:g} {units.stiffness} needs sub-steps of {description.substep:.2g} s, "
                f"more than {_MOST_SUBSTEPS} in a time step of {step:g} s. Use a shorter step or a heavier motor."
            )
        if integrator == int(mujoco.mjtIntegrator.mjINT_RK4):
            for drive in description.drives:
                if drive.kind.state and drive.kind.rates is None:
                    raise ConfigurationError(
                        f"joint {name!r} has the drive {drive.kind.name!r}, whose state is found from step to "
                        "step, not at the stages of RK4. Use another integrator, such as implicitfast."
                    )
            if description.mode.has_motors:
                _check_motor_loop(name, description, step, units)
    margin = stability_margin(model, joints)
    if margin is not None and step >= margin.largest_step:
        description, joint = next((d, j) for n, d, j in joints if n == margin.joint)
        units = joint_units(model.jnt_type[joint])
        raise StabilityError(
            f"joint {margin.joint!r} (law {description.law.law.name!r}, mode {int(description.mode)}): the time "
            f"step {step:g} s is unstable at its stiffest setting. K = {margin.stiffness:.4g} {units.stiffness} "
            f"and D = {margin.damping:.4g} {units.damping} on I = {margin.inertia:.3g} {units.inertia} need a "
            f"step below {margin.largest_step:.3g} s (K·h² + 2·D·h < 4·I, which is 2/√(K/I) without damping). "
            f"Ways out: a step of at most {0.8 * margin.largest_step:.2g} s; {_ways_out(description)}armature on "
            "the joint."
        )
