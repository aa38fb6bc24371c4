"""Whether a time step is short enough for a model's compliant joints, before anything explodes.

A torque from a callback is explicit in every MuJoCo integrator. With stiffness K and damping D on an inertia I a
single-step integrator carries it only while K·h² + 2·D·h < 4·I, which for D = 0 is h < 2/√(K/I). A motor behind
the spring gets the same impulse as the link (see `motor.motor_step`), so that the pair is bounded as one:
K·(1/I + 1/J)·h² < 4. What MuJoCo takes implicitly helps: the damping b of the link, 4·I + 2·b·h on the right. RK4
carries an undamped spring up to h < 2.83/√(K·(1/I + 1/J)).
"""

import math
from collections.abc import Callable, Sequence
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

_POSES = 16
_SEARCHES, _SEARCH_STEPS = 3, 25
"""From how many of the random poses the worst one is looked for, and for how many steps."""
_TILT = 1e-6
"""By which a pose is changed for the slope of its inertia, rad or m."""

_LONGEST = 1e6
"""A step that nothing bounds, s."""
_SHORTEST = math.log(1e-9)
"""Logarithm of the step, s, below which none is looked for."""
_ROOT, _GRAIN = 1e-8, 1e-6
"""How exactly the longest step is found, and how exactly it is told, of itself."""

_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
_RK4 = int(mujoco.mjtIntegrator.mjINT_RK4)
_DISCRETE = int(mujoco.mjtIntegrator.mjINT_DISCRETE)
_CARRY_DRIVES = (int(mujoco.mjtIntegrator.mjINT_IMPLICIT), int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST))

_RK4_REACH = 2.6
"""RK4 damps every pole λ of the left half-plane with h·|λ| below this."""

Array = NDArray[np.float64]


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


class _Masses:
    """Inertia matrices of a model: in its first pose, in random ones, in those that a search finds worst."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        self._places = [j for j in range(model.njnt) if int(model.jnt_type[j]) in _SCALAR]
        limits = [
            model.jnt_range[j].tolist() if model.jnt_limited[j] else (-math.pi, math.pi) for j in self._places
        ]
        self._low, self._high = np.array(limits, dtype=np.float64).reshape(-1, 2).T
        random = np.random.default_rng(0)
        self.poses = [self._data.qpos[model.jnt_qposadr[self._places]].copy()]
        self.poses += [random.uniform(self._low, self._high) for _ in range(_POSES - 1)]
        self.matrices = np.array([self.of(pose) for pose in self.poses])

    def of(self, pose: Array) -> Array:
        """Inertia matrix in a pose of the scalar joints, (nv, nv)."""
        self._set(pose)
        result = np.zeros((self._model.nv, self._model.nv))
        mujoco.mj_fullM(self._model, self._data, result)
        return result

    def slope(self, pose: Array, motion: Array) -> Array:
        """d(vᵀ·M·v)/dq of each scalar joint, v being fixed velocities, (joints,)."""
        model, data, product = self._model, self._data, np.empty(self._model.nv)

        def twice_the_energy(pose: Array) -> float:
            self._set(pose)
            mujoco.mj_mulM(model, data, product, motion)
            return float(motion @ product)

        here, tilted, found = twice_the_energy(pose), pose.copy(), np.empty(len(pose))
        for k in range(len(pose)):
            tilted[k] += _TILT
            found[k] = (twice_the_energy(tilted) - here) / _TILT
            tilted[k] = pose[k]
        return found

    def with_worst(self, bound: "_Bound") -> Array:
        """The matrices, and those of poses near the worst of them that bound the step most, (n, nv, nv).

        Under a single-step integrator a pose is worse where the largest eigenvalue at the bound so far is above 4.
        It is climbed by dλ = −uᵀ·dM·u, u = M⁻¹·diag(√(K·h² + 2·D·h))·v with the eigenvector v.
        """
        if len(self._places) < 2:
            return self.matrices
        from scipy.optimize import Bounds, minimize

        step, limits = bound.largest_step(self.matrices)[0], Bounds(self._low, self._high)

        def height(pose: Array) -> float:
            if bound.rk4:
                return bound.largest_step(self.of(np.clip(pose, self._low, self._high))[None])[0]
            return -math.log(bound.quickest(self.of(pose), step)[0])

        def height_and_slope(pose: Array) -> tuple[float, Array]:
            largest, motion = bound.quickest(self.of(pose), step)
            return -math.log(largest), self.slope(pose, motion) / largest

        found = list(self.matrices)
        for start in np.argsort([height(pose) for pose in self.poses])[:_SEARCHES].tolist():
            worst = minimize(
                height if bound.rk4 else height_and_slope, self.poses[start], jac=None if bound.rk4 else True,
                method="L-BFGS-B", bounds=limits, options={"maxiter": _SEARCH_STEPS, "eps": 1e-4},
            )  # type: ignore[call-overload]  # fmt: skip
            found.append(self.of(np.asarray(worst.x, dtype=np.float64)))
        return np.array(found)

    def _set(self, pose: Array) -> None:
        """Compute the inertia in a pose of the scalar joints."""
        model, data = self._model, self._data
        data.qpos[model.jnt_qposadr[self._places]] = pose
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)


def free_inertia(model: mujoco.MjModel, joint: int) -> float:
    """Inertia that a torque on a joint meets in the model's first pose, the other joints free, kg·m²."""
    dof = int(model.jnt_dofadr[joint])
    return 1.0 / float(np.linalg.inv(_Masses(model).matrices[0])[dof, dof])


def explicit_stiffness(model: mujoco.MjModel, joint: int) -> float:
    """Stiffness that stays explicit at a joint with implicit stiffness, κ·I/h², N·m/rad."""
    least = _least_inertias(_Masses(model).matrices)[int(model.jnt_dofadr[joint])]
    return EXPLICIT_SHARE * float(least) / float(model.opt.timestep) ** 2


def _least_inertias(matrices: Array) -> Array:
    """Least inertia that a torque on each coordinate meets in some poses, the others free, (nv,), kg·m²."""
    return np.asarray(1.0 / np.linalg.inv(matrices).diagonal(axis1=1, axis2=2).max(0), dtype=np.float64)


def stability_margin(model: mujoco.MjModel, joints: Joints) -> Margin | None:
    """The joint that bounds the time step, in the worst of sampled poses and what a search finds from them.

    Springs are taken at their stiffest, all at once. Under a single-step integrator the bound is the step h at
    which the largest eigenvalue of M⁻¹·diag(K·h² + 2·D·h) reaches 4, M⁻¹ being (M + h·B/2)⁻¹ of the links with
    the damping B that the integrator carries, plus 1/J of the motors behind springs. Those with implicit stiffness
    bound nothing by themselves, but their explicit share, up to κ·I, counts among the K·h² of a chain; so does the
    bristle of a servo's friction, κ·I/h² with a damping of 2·K·h, with 5·κ·I. `discrete` carries a whole affine
    drive, `implicit` and `implicitfast` its damping. Under RK4 it is the step at which the first of the poles
    leaves its region.

    Returns:
        None where nothing bounds the step.
    """
    known = [_Known.of(model, *joint) for joint in joints]
    known = [joint for joint in known if joint.stiffness > 0.0 or joint.damping > 0.0]
    if all(joint.implicit for joint in known):
        return None
    masses = _Masses(model)
    bound = _Bound(model, known, _least_inertias(masses.matrices))
    return bound.margin(masses.with_worst(bound))


class _Bound:
    """The longest stable step of joints, for some inertia matrices."""

    def __init__(self, model: mujoco.MjModel, known: Sequence["_Known"], inertias: Array) -> None:
        self._known = known
        self._dofs = [joint.dof for joint in known]
        self._stiffness = np.array([joint.stiffness for joint in known])
        self._damping = np.array([joint.damping for joint in known])
        shares = EXPLICIT_SHARE * inertias[self._dofs]
        self._implicit = np.array([joint.implicit for joint in known])
        self._most = np.where(self._implicit, shares, np.inf)
        self._bristles = 5.0 * shares * [joint.bristle for joint in known]
        self._motors = np.array([1.0 / joint.rotor for joint in known])
        self.rk4 = int(model.opt.integrator) == _RK4
        self._links = np.array(model.dof_damping).reshape(model.nv, -1)[:, 0].copy()
        self._carried = np.zeros(model.nv) if self.rk4 or not _carries_damping(model) else self._links.copy()
        for joint in known:
            self._carried[joint.dof] += joint.carried_damping

    def largest_step(self, matrices: Array) -> tuple[float, int]:
        """The step, s, and which of the joints moves most in the vibration that bounds it."""
        return self._of_rk4(matrices) if self.rk4 else self._of_single_steps(matrices)

    def quickest(self, matrix: Array, step: float) -> tuple[float, Array]:
        """Largest eigenvalue of M⁻¹·diag(K·h² + 2·D·h) in a pose, and the velocities of its vibration, (nv,)."""
        root = np.sqrt(self._loads(step))
        whole = np.linalg.inv(matrix + 0.5 * step * np.diag(self._carried))[:, self._dofs]
        values, vectors = np.linalg.eigh(root[:, None] * (whole[self._dofs] + np.diag(self._motors)) * root)
        return float(values[-1]), whole @ (root * vectors[:, -1])

    def margin(self, matrices: Array) -> Margin:
        """The bound with what makes it."""
        step, index = self.largest_step(matrices)
        stiffness, damping = float(self._stiffness[index]), float(self._damping[index])
        inertia = float(self._loads(step)[index]) / (8.0 if self.rk4 else 4.0)
        return Margin(self._known[index].name, stiffness, damping, inertia, step)

    def _loads(self, step: float) -> Array:
        """K·h² + 2·D·h of each joint, as far as it is explicit, and the same of its bristle, kg·m²."""
        springs = np.minimum(self._stiffness * step**2, self._most)
        return np.asarray(springs + 2 * self._damping * step + self._bristles, dtype=np.float64)

    def _inverses(self, matrices: Array, step: float) -> Array:
        """M⁻¹ of the joints with their motors, with the damping that the integrator carries over a step."""
        whole = np.linalg.inv(matrices + 0.5 * step * np.diag(self._carried))
        return np.asarray(whole[:, self._dofs][:, :, self._dofs] + np.diag(self._motors), dtype=np.float64)

    def _of_single_steps(self, matrices: Array) -> tuple[float, int]:
        fixed = None if self._carried.any() else self._inverses(matrices, 0.0)

        def scaled(step: float) -> Array:
            """M⁻¹·diag(K·h² + 2·D·h), made symmetric."""
            root = np.sqrt(self._loads(step))
            inverse = self._inverses(matrices, step) if fixed is None else fixed
            return np.asarray(root[:, None] * inverse * root)

        def excess(log_step: float) -> float:
            """Logarithm of its largest eigenvalue over 4."""
            return math.log(float(np.linalg.eigvalsh(scaled(math.exp(log_step)))[:, -1].max()) / 4.0)

        # Not a hair too long, and the same of models that differ by a rounding, as a saved one does.
        step = math.exp(_GRAIN * math.floor(_root(excess, math.log(_LONGEST)) / _GRAIN))
        values, vectors = np.linalg.eigh(scaled(step))
        pose = int(np.argmax(values[:, -1]))
        return step, int(np.argmax(np.abs(vectors[pose, :, -1]) * ~self._implicit))

    def _of_rk4(self, matrices: Array) -> tuple[float, int]:
        """From the poles of links on springs, with the damping of joints and drives."""
        count = len(self._dofs)
        inverse = self._inverses(matrices, 0.0)
        damping = np.diag(self._damping + self._links[self._dofs])
        motion = np.zeros((len(matrices), 2 * count, 2 * count))
        motion[:, :count, count:] = np.eye(count)
        motion[:, count:, :count] = -inverse * self._stiffness
        motion[:, count:, count:] = -inverse @ damping
        poles, vectors = np.linalg.eig(motion)
        steps = _rk4_reach(poles) / np.maximum(np.abs(poles), 1.0 / _LONGEST)
        pose, pole = np.unravel_index(int(np.argmin(steps)), steps.shape)
        return float(steps[pose, pole]), int(np.argmax(np.abs(vectors[pose, :count, pole])))


def _root(excess: Callable[[float], float], longest: float) -> float:
    """Where a function that rises, at most twice as fast as its argument, is 0; `longest` if it is less before.

    What is above 0 however small the argument ends at `_SHORTEST`.
    """
    high = 0.0
    while (above := excess(high)) < 0.0:
        if high >= longest:
            return longest
        high = min(high + 1.0, longest)
    while above > _ROOT and high > _SHORTEST:
        high -= 0.5 * above  # there at once where nothing damps, and never beyond it
        below = high - (above := excess(high)) - _ROOT
        if above > _ROOT and excess(below) < 0.0:
            from scipy.optimize import brentq

            return float(brentq(excess, below, high, xtol=_ROOT))
    return high


def _rk4_reach(poles: Array) -> Array:
    """How far h·|λ| may go in the direction of each pole before RK4 lets it grow."""
    direction = poles / np.maximum(np.abs(poles), 1e-300)
    reach = np.linspace(0.0, 3.0, 1501)
    z = direction[..., None] * reach
    grows = np.abs(1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24) > 1 + 1e-9
    found: Array = np.where(grows.any(-1), reach[np.argmax(grows, axis=-1)], reach[-1])
    return found


def _carries_damping(model: mujoco.MjModel) -> bool:
    """Whether the (single-step) integrator takes the damping of joints implicitly."""
    if int(model.opt.integrator) != int(mujoco.mjtIntegrator.mjINT_EULER):
        return True
    return not model.opt.disableflags & (
        int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP) | int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
    )


class _Known(NamedTuple):
    """What of a joint bounds an explicit step."""

    name: str
    dof: int
    stiffness: float
    damping: float
    rotor: float
    """Inertia of the motor behind the spring; infinite where there is none."""
    implicit: bool
    bristle: bool
    carried_damping: float
    """Damping of its drive that the integrator takes implicitly."""

    @classmethod
    def of(cls, model: mujoco.MjModel, name: str, description: CompliantJoint, joint: int) -> "_Known":
        dof = int(model.jnt_dofadr[joint])
        stiffness, damping, carried = description.stiffest, description.link_damping, 0.0
        if description.affine is not None:
            damping = _affine_damping(model, joint)
            if int(model.opt.integrator) == _DISCRETE:
                stiffness, damping = 0.0, 0.0
            elif int(model.opt.integrator) in _CARRY_DRIVES:
                damping, carried = 0.0, damping
        explicit_rotor = description.mode.has_motors and not description.implicit
        rotor = description.drives[0].inertia if explicit_rotor else math.inf
        bristle = description.mode.rigid and description.explicit_share
        return cls(name, dof, stiffness, damping, rotor, description.implicit, bristle, carried)


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
            "which takes the loops of motors implicitly; a heavier motor; lower gains."
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


def check_stability(model: mujoco.MjModel, joints: Joints) -> float:
    """Return the longest time step that the joints allow, s; raise where the model's is as long.

    Raises:
        StabilityError: names the joint, K, I, the largest safe step and the ways out.
        ConfigurationError: implicit stiffness without the `discrete` integrator.
    """
    step = float(model.opt.timestep)
    integrator = int(model.opt.integrator)
    for name, description, joint in joints:
        if description.implicit and integrator != _DISCRETE:
            raise ConfigurationError(
                f"joint {name!r} has implicit stiffness, which only MuJoCo's integrator 'discrete' carries: set "
                "spec.option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE."
            )
        if integrator == _RK4:
            for drive in description.drives:
                if drive.kind.state and drive.kind.rates is None:
                    raise ConfigurationError(
                        f"joint {name!r} has the drive {drive.kind.name!r}, whose state is found from step to "
                        "step, not at the stages of RK4. Use another integrator, such as implicitfast."
                    )
            if description.mode.has_motors:
                _check_motor_loop(name, description, step, joint_units(model.jnt_type[joint]))
    margin = stability_margin(model, joints)
    if margin is None:
        return math.inf
    if step >= margin.largest_step:
        description, joint = next((d, j) for n, d, j in joints if n == margin.joint)
        units = joint_units(model.jnt_type[joint])
        rule = (
            "h·√(K/I) < 2.83 without damping" if integrator == _RK4
            else "K·h² + 2·D·h < 4·I, which is 2/√(K/I) without damping"
        )  # fmt: skip
        raise StabilityError(
            f"joint {margin.joint!r} (law {description.law.law.name!r}, mode {int(description.mode)}): the time "
            f"step {step:g} s is unstable at its stiffest setting. K = {margin.stiffness:.4g} {units.stiffness} "
            f"and D = {margin.damping:.4g} {units.damping} on I = {margin.inertia:.3g} {units.inertia} need a "
            f"step below {margin.largest_step:.3g} s ({rule}). "
            f"Ways out: a step of at most {0.8 * margin.largest_step:.2g} s; {_ways_out(description)}armature on "
            "the joint."
        )
    return margin.largest_step
