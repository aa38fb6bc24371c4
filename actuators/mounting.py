"""Putting a compliant joint on a hinge or slide joint of an `MjSpec`, whatever else is in the spec."""

import json
import math
from collections.abc import Sequence

import mujoco
import numpy as np

from pliant.actuators import layout
from pliant.actuators.drive import Affine, DriveKind, find_drive
from pliant.actuators.joint import CompliantJoint
from pliant.actuators.keyframes import Keyframes
from pliant.actuators.law import Law
from pliant.actuators.laws import find_law
from pliant.actuators.units import SLIDE, joint_units
from pliant.errors import ConfigurationError, unknown_name

TEXT_PREFIX = "pliant/"
"""Name prefix of the model's text elements that hold each joint's description as JSON."""

HARD_FRICTION = ((0.002, 1.0), (0.9999, 0.9999, 0.001, 0.5, 2.0))
"""Solver parameters (solreffriction, solimpfriction) with which dry friction holds a joint.

MuJoCo's own let a stuck joint creep at (f/I)·(1 − d)/d·t/2 under a load f, with the impedance d = 0.9 and the
time constant t = 0.02 s. These are the hardest impedance there is, and a time constant that MuJoCo lengthens to
two time steps where they are longer than 1 ms: friction then stops a joint within a step, as Coulomb's does.
"""

_TRN = mujoco.mjtTrn
_ON_JOINT = (int(_TRN.mjTRN_JOINT), int(_TRN.mjTRN_JOINTINPARENT))
_IDENTITY_FIELDS = (
    "classname",
    "compiler",
    "id",
    "info",
    "name",
    "plugin",
    "signature",
    "target",
    "type",
    "userdata",
)


def actuator_names(joint: str, description: CompliantJoint) -> tuple[str, ...]:
    """Names of a joint's actuators, `joint/reference`: also the names of its command columns."""
    return tuple(f"{joint}/{reference.name}" for reference in description.references())


def make_room(spec: mujoco.MjSpec) -> None:
    """Let the actuators of a spec have as many user numbers as a joint needs, where the spec fixes fewer."""
    if 0 <= spec.nuser_actuator < layout.USER_SIZE:
        spec.nuser_actuator = layout.USER_SIZE


def add_compliant_joint(
    spec: mujoco.MjSpec, joint: str, description: CompliantJoint, *, replace: bool = False
) -> tuple[str, ...]:
    """Put a compliant joint on the hinge or slide joint `joint` of `spec`; returns its actuators' names.

    The first actuator carries the torque and the state (`act`), the second only the second reference.
    Everything about the joint is in the compiled model and its data. Default classes of the spec have no effect
    on these actuators. Dry friction of the joint holds (`HARD_FRICTION`), unless the spec gives its solreffriction
    or solimpfriction other numbers than MuJoCo's defaults. In keyframes the motors stand at references that hold
    the joint where the keyframe has it.
    Compile with `pliant.actuators.compile_model`, which also installs the callbacks and checks the time step.

    Args:
        spec: changed in place; not at all where this raises.
        joint: name of a hinge or slide.
        description: law and drive.
        replace: delete the actuators that drive the joint already (on itself, on a tendon, slider-crank or pair of
            sites that moves with it; sensors of one on the joint itself read the new one), and set to zero the
            joint's own armature, damping and friction where the drive brings its own.

    Raises:
        UnknownNameError: the spec has no such joint.
        ConfigurationError: the joint is not a hinge or slide, is already compliant, or follows another joint
            through an equality; its law cannot be imported; something else drives it, or it has an armature,
            damping or friction that its drive brings as well, and they are not to be replaced; a keyframe does
            not fit the actuators.
    """
    target = _target(spec, joint)
    _check_importable(description)
    if description.servo is not None and joint_units(target.type) is SLIDE:
        raise ConfigurationError(
            f"joint {joint!r} slides; a servo turns a hinge, and its numbers are in rad and N·m."
        )
    names = actuator_names(joint, description)
    rivals = _rivals(spec, target)
    if rivals and not replace:
        raise ConfigurationError(_already_driven(joint, rivals))
    removed = [actuator for actuator, _ in rivals]
    _check_names(spec, names, removed)
    sensors = _orphans(spec, joint, rivals)
    counted_twice = _counted_twice(target, description)
    if counted_twice and not replace:
        raise ConfigurationError(
            f"joint {joint!r} has {'; '.join(counted_twice.values())}. Both would act: leave them at 0 in the "
            "model, or give replace=True, which sets them to 0."
        )
    keyframes = Keyframes(spec)
    make_room(spec)
    for field in counted_twice:
        value = getattr(target, field)
        setattr(target, field, np.zeros_like(value) if isinstance(value, np.ndarray) else 0.0)
    _harden_friction(target)
    if description.armature:
        target.armature = description.armature
    for position, control, activation in keyframes.replace(removed, joint):
        control += description.holding(position)
        activation += description.resting_act(position, control)
    for sensor in sensors:
        sensor.objname = names[0]
    _add_actuators(spec, joint, description, names)
    spec.add_text(name=TEXT_PREFIX + joint, data=json.dumps({"joint": joint, **description.describe()}))
    return names


def _harden_friction(joint: mujoco.MjsJoint) -> None:
    """Let dry friction hold a joint whose solver parameters nobody chose."""
    plain = mujoco.MjSpec().worldbody.add_joint()
    if np.array_equal(joint.solref_friction, plain.solref_friction) and np.array_equal(
        joint.solimp_friction, plain.solimp_friction
    ):
        joint.solref_friction, joint.solimp_friction = HARD_FRICTION


def _add_actuators(spec: mujoco.MjSpec, joint: str, description: CompliantJoint, names: Sequence[str]) -> None:
    for index, (name, reference) in enumerate(zip(names, description.references(), strict=True)):
        actuator = spec.add_actuator(name=name)
        _forget_defaults(actuator)
        actuator.trntype, actuator.target = _TRN.mjTRN_JOINT, joint
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
        actuator.forcelimited = actuator.actlimited = mujoco.mjtLimited.mjLIMITED_FALSE
        actuator.ctrlrange = [reference.low, reference.high]
        actuator.gainprm[0] = 0.0
        if description.delay > 0.0:
            actuator.delay = description.delay
            actuator.nsample = max(math.ceil(description.delay / spec.option.timestep - 1e-9), 1)
        if index == 1:
            continue
        actuator.userdata = description.row()
        if description.affine is not None:
            _make_affine(actuator, description.affine)
            continue
        actuator.biastype = mujoco.mjtBias.mjBIAS_USER
        if description.act_size:
            actuator.dyntype = mujoco.mjtDyn.mjDYN_USER
            actuator.actdim = description.act_size
        if description.implicit:
            # force = (last activation)·(joint angle) + bias, so the integrator sees the stiffness −act
            actuator.gaintype = mujoco.mjtGain.mjGAIN_AFFINE
            actuator.gainprm[1] = 1.0
            actuator.actearly = True


def _make_affine(actuator: mujoco.MjsActuator, drive: Affine) -> None:
    """Let MuJoCo compute the drive's torque itself, so that its integrators know the derivatives."""
    actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
    actuator.gainprm[0] = drive.gain
    actuator.biasprm[1:3] = drive.stiffness, drive.damping
    actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
    actuator.forcerange = [-drive.limit, drive.limit]


def _forget_defaults(actuator: mujoco.MjsActuator) -> None:
    """Give every field MuJoCo's own default, whatever the spec's default classes say."""
    plain = mujoco.MjSpec().add_actuator()
    for field in dir(plain):
        value = getattr(plain, field)
        if field.startswith("_") or field in _IDENTITY_FIELDS or callable(value):
            continue
        setattr(actuator, field, value.copy() if isinstance(value, np.ndarray) else value)


def _check_importable(description: CompliantJoint) -> None:
    """Refuse a law or drive that the compiled model could not find again by its import path."""
    law, kinds = description.law.law, [drive.kind for drive in description.drives]
    own: list[tuple[str, Law | DriveKind, object]] = [
        ("law", law, find_law(law.source)),
        *(("drive", kind, find_drive(kind.source)) for kind in kinds),
    ]
    for what, made, found in own:
        if found is not made:
            raise ConfigurationError(
                f"{what} {made.source!r} is not what its file holds under that name. It must be a function at the "
                "top level of a module, and joints made before its module was reloaded must be made again."
            )


def _target(spec: mujoco.MjSpec, joint: str) -> mujoco.MjsJoint:
    """The joint of that name, if it can become compliant."""
    names = [j.name for j in spec.joints]
    if not joint or joint not in names:
        unnamed = sum(not name for name in names)
        where = f"the model ({unnamed} of its joints have no name and need one)" if unnamed else "the model"
        raise unknown_name("joint", joint, [name for name in names if name], where)
    target = spec.joint(joint)
    if int(target.type) not in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)):
        raise ConfigurationError(
            f"joint {joint!r} is a ball or free joint; a compliant joint is a hinge or slide."
        )
    if any(text.name == TEXT_PREFIX + joint for text in spec.texts):
        raise ConfigurationError(f"joint {joint!r} is already compliant.")
    for equality in spec.equalities:
        if int(equality.type) == int(mujoco.mjtEq.mjEQ_JOINT) and equality.active and equality.name1 == joint:
            held = f"follows joint {equality.name2!r}" if equality.name2 else "is held in place"
            ways = f"Make {equality.name2!r} compliant instead, or" if equality.name2 else "To drive it,"
            raise ConfigurationError(
                f"joint {joint!r} {held} through the equality {equality.name!r}, which a drive would fight. "
                f"{ways} delete the equality (spec.delete) or make it inactive."
            )
    return target


def _rivals(spec: mujoco.MjSpec, joint: mujoco.MjsJoint) -> list[tuple[mujoco.MjsActuator, str]]:
    """Actuators that drive a joint, each with how it does."""
    inside = {
        (kind, element.name)
        for kind in ("site", "geom")
        for element in joint.parent.find_all(kind)
        if element.name
    }
    return [(actuator, how) for actuator in spec.actuators if (how := _hold(spec, actuator, joint.name, inside))]


def _hold(spec: mujoco.MjSpec, actuator: mujoco.MjsActuator, joint: str, inside: set[tuple[str, str]]) -> str:
    """How an actuator drives a joint; empty if it does not.

    Args:
        spec: of both.
        actuator: which.
        joint: name of the joint.
        inside: sites and geoms that move with the joint.
    """
    kind = int(actuator.trntype)
    if kind in _ON_JOINT:
        return "on the joint itself" if actuator.target == joint else ""
    if kind == int(_TRN.mjTRN_TENDON):
        return f"on tendon {actuator.target!r}" if _pulls(spec, actuator.target, joint, inside) else ""
    if kind == int(_TRN.mjTRN_SLIDERCRANK):
        return "a slider-crank" if _across({actuator.target, actuator.slidersite}, inside) else ""
    if kind == int(_TRN.mjTRN_SITE) and actuator.refsite:
        across = _across({actuator.target, actuator.refsite}, inside)
        return f"between the sites {actuator.target!r} and {actuator.refsite!r}" if across else ""
    return ""  # a thrust at a site, or adhesion, is a force from outside


def _pulls(spec: mujoco.MjSpec, tendon: str, joint: str, inside: set[tuple[str, str]]) -> bool:
    """Whether the length of a tendon changes with a joint."""
    sites = set()
    for step in spec.tendon(tendon).path:
        if int(step.type) == int(mujoco.mjtWrap.mjWRAP_JOINT) and step.target.name == joint:
            return True
        if int(step.type) == int(mujoco.mjtWrap.mjWRAP_SITE):
            sites.add(step.target.name)
    return _across(sites, inside)


def _across(sites: set[str], inside: set[tuple[str, str]]) -> bool:
    """Whether some sites move with a joint and others do not."""
    return len({("site", site) in inside for site in sites}) == 2


def _name(actuator: mujoco.MjsActuator) -> str:
    return f"actuator {actuator.name!r}" if actuator.name else f"actuator number {actuator.id} (without a name)"


def _already_driven(joint: str, rivals: Sequence[tuple[mujoco.MjsActuator, str]]) -> str:
    listed = "; ".join(f"{_name(actuator)}, {how}" for actuator, how in rivals)
    return (
        f"joint {joint!r} is driven already by {listed}. Both would act: give replace=True to take the model's "
        "own away, or delete it from the model (spec.delete)."
    )


def _check_names(spec: mujoco.MjSpec, names: Sequence[str], removed: Sequence[mujoco.MjsActuator]) -> None:
    """Refuse a name that another actuator of the spec has."""
    gone = {actuator.id for actuator in removed}
    taken = {actuator.name for actuator in spec.actuators if actuator.id not in gone}
    for name in names:
        if name in taken:
            raise ConfigurationError(
                f"the model has an actuator {name!r}, which is the name of a compliant joint's; rename the "
                "model's."
            )


def _orphans(
    spec: mujoco.MjSpec, joint: str, rivals: Sequence[tuple[mujoco.MjsActuator, str]]
) -> list[mujoco.MjsSensor]:
    """Sensors of actuators that go, which the joint's own actuator can take over."""
    found = []
    going = {actuator.name: int(actuator.trntype) in _ON_JOINT for actuator, _ in rivals if actuator.name}
    for sensor in spec.sensors:
        if int(sensor.objtype) != int(mujoco.mjtObj.mjOBJ_ACTUATOR) or sensor.objname not in going:
            continue
        if not going[sensor.objname]:
            raise ConfigurationError(
                f"sensor {sensor.name!r} reads actuator {sensor.objname!r}, which joint {joint!r} replaces but "
                "does not stand for. Delete the sensor from the model, or let it read something else."
            )
        found.append(sensor)
    return found


def _counted_twice(joint: mujoco.MjsJoint, description: CompliantJoint) -> dict[str, str]:
    """Fields of a joint for what its drive brings as well, each with its wording."""
    units = joint_units(joint.type)
    found = {}
    if joint.armature != 0.0 and description.armature != 0.0:
        found["armature"] = (
            f"an armature of {joint.armature:g} {units.inertia} of its own, and its servo brings "
            f"{description.armature:g} {units.inertia}"
        )
    viscous, dry = description.drives[0].rubs if description.drives else (False, False)
    if viscous and (np.any(joint.damping) or np.any(joint.springdamper)):
        found["damping"] = f"a damping of {joint.damping[0]:g} {units.damping} beside that of its servo's gear"
        if np.any(joint.springdamper):
            found["springdamper"] = "a springdamper, which becomes damping"
    if dry and joint.frictionloss != 0.0:
        found["frictionloss"] = (
            f"a frictionloss of {joint.frictionloss:g} {units.force} beside that of its servo's gear"
        )
    return found
