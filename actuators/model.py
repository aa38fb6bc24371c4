"""From a spec or a file to a model that runs: laws found and registered, callbacks installed, step checked."""

import json
import math
from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import callbacks, layout
from pliant.actuators.callbacks import Backend
from pliant.actuators.joint import CompliantJoint, Reference, from_description
from pliant.actuators.keyframes import compile_spec
from pliant.actuators.mounting import TEXT_PREFIX, actuator_names, make_room
from pliant.actuators.saving import write_model
from pliant.actuators.stability import check_stability, explicit_stiffness, free_inertia
from pliant.actuators.units import JointUnits, joint_units
from pliant.conf.build import check_module
from pliant.errors import ConfigurationError, FileFormatError, MissingFileError, PliantError


@dataclass(frozen=True)
class JointOnModel:
    """A compliant joint and where it lives in a compiled model."""

    name: str
    description: CompliantJoint
    joint: int
    """Index of the MuJoCo joint."""
    actuators: tuple[int, ...]
    """Indices of its actuators; the first carries torque and state."""
    controls: tuple[int, ...]
    """Where its references are in `ctrl`: other actuators of the model may have several inputs each."""
    units: JointUnits
    """Units of its position, velocity, force, …: those of a hinge or of a slide."""

    @property
    def references(self) -> tuple[Reference, ...]:
        """The references it receives, in the joint's own units."""
        return self.description.references(self.units)


def actuator_of_control(model: mujoco.MjModel) -> NDArray[np.intp]:
    """Return the actuator that each entry of `ctrl` belongs to, (nu,)."""
    return np.repeat(np.arange(model.nactuator), model.actuator_ctrlnum)


def _texts(model: mujoco.MjModel) -> Iterator[tuple[str, str, str]]:
    """Descriptions, each with what attaching its spec to another put before its name, and the rest of the name."""
    raw = bytes(model.text_data)
    for i in range(model.ntext):
        name = mujoco.mj_id2name(model, int(mujoco.mjtObj.mjOBJ_TEXT), i)
        prefix, mark, joint = name.partition(TEXT_PREFIX)
        if mark:
            start = int(model.text_adr[i])
            yield prefix, joint, raw[start : start + int(model.text_size[i])].rstrip(b"\0").decode()


def check_text(model: mujoco.MjModel) -> None:
    """Raise `ValueError` if a name or text of a model is no UTF-8, which MuJoCo itself does not care about."""
    for what in (model.names, model.text_data, model.paths):
        bytes(what).decode()


def compliant_joints(model: mujoco.MjModel) -> tuple[JointOnModel, ...]:
    """The compliant joints of a model, in the order of its actuators, with their laws imported and checked.

    Raises:
        ConfigurationError: a law or drive cannot be imported here, or has changed since the model was written; or
            its module would be imported only because the model names it, see `load_model`.
        FileFormatError: a description is damaged or does not fit the model's actuators.
    """
    found = []
    for prefix, rest, text in _texts(model):
        joint = prefix + rest
        where = f"compliant joint {joint!r}"
        description, names = _described(prefix, rest, text)
        try:
            index, actuators = model.joint(joint).id, tuple(model.actuator(name).id for name in names)
        except KeyError as error:
            raise FileFormatError(f"{where}: the model lacks what belongs to it ({error}).") from error
        controls = tuple(int(model.actuator_ctrladr[actuator]) for actuator in actuators)
        units = joint_units(model.jnt_type[index])
        found.append(JointOnModel(joint, description, index, actuators, controls, units))
        if len(actuators) == 2 and actuators[1] != actuators[0] + 1:
            raise FileFormatError(f"{where}: its two actuators must follow each other in the model.")
        _check_agreement(model, found[-1], where)
    return tuple(sorted(found, key=lambda joint: joint.actuators[0]))


def _described(prefix: str, rest: str, text: str) -> tuple[CompliantJoint, list[str]]:
    """The joint that a text describes, and the names of its actuators; arguments as `_texts` gives them."""
    where = f"compliant joint {prefix + rest!r}"
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileFormatError(f"{where}: its description is not JSON ({error}).") from error
    _check_named(data, where)
    description = from_description(data, where)
    own = str(data.get("joint"))
    own, suffix = (own, rest[len(own) :]) if rest.startswith(own) else (rest, "")
    return description, [f"{prefix}{name}{suffix}" for name in actuator_names(own, description)]


def check_rows(spec: mujoco.MjSpec) -> None:
    """Refuse a spec from a file whose actuators are not as their descriptions say, before it is compiled.

    MuJoCo calls the callbacks while it compiles, and compiled ones trust the rows of the actuators.

    Raises:
        ConfigurationError, FileFormatError: see `compliant_joints` and `prepare_model`.
    """
    ours = {}
    for text in spec.texts:
        prefix, mark, rest = text.name.partition(TEXT_PREFIX)
        if mark:
            description, names = _described(prefix, rest, text.data)
            ours[names[0]] = f"compliant joint {prefix + rest!r}", description
    for actuator in spec.actuators:
        user = (int(actuator.dyntype) == int(mujoco.mjtDyn.mjDYN_USER)) or (
            int(actuator.biastype) == int(mujoco.mjtBias.mjBIAS_USER)
        )
        if actuator.name in ours:
            where, description = ours[actuator.name]
            size = int(actuator.actdim)
            if size < 0:  # not said: one, if the actuator has activations
                size = int(int(actuator.dyntype) != int(mujoco.mjtDyn.mjDYN_NONE))
            if size != description.act_size or not _agrees(np.array(actuator.userdata), description):
                raise _disagreement(where, description)
        elif user:
            raise _foreign(actuator.name)


def _agrees(row: NDArray[np.float64], description: CompliantJoint) -> bool:
    """Whether a row is that of a description, up to the values of parameters and six printed digits."""
    exact = np.array(description.row())
    if len(row) < layout.USER_SIZE or not np.isfinite(row).all():
        return False
    fixed = np.delete(np.arange(layout.LAW_AT), [layout.EXPLICIT_STIFFNESS, layout.LARGEST_STEP])
    return bool(np.allclose(row[fixed], exact[fixed], rtol=1e-5, atol=0.0))


def _disagreement(where: str, description: CompliantJoint) -> FileFormatError:
    return FileFormatError(
        f"{where}: its description (mode {int(description.mode)}, {description.act_size} activations) and its "
        "actuator disagree."
    )


def _foreign(name: str) -> ConfigurationError:
    return ConfigurationError(
        f"actuator {name!r} is of type 'user' but is not a compliant joint. MuJoCo has one callback for all user "
        "actuators, and it belongs to the compliant joints."
    )


def _check_named(description: Any, where: str) -> None:
    """Refuse a law or drive whose module would be imported because a file says so."""
    if isinstance(description, dict):
        drive = description.get("drive")
        drives = description.get("drives")
        named = [description.get("law"), drive.get("kind") if isinstance(drive, dict) else None]
        named += list(drives) if isinstance(drives, dict) else []
        for source in named:
            if isinstance(source, str) and ":" in source:
                check_module(source, where)


def _check_agreement(model: mujoco.MjModel, joint: JointOnModel, where: str) -> None:
    """Refuse an actuator that is not of the description's kind: compiled callbacks trust its row and size."""
    index, description = joint.actuators[0], joint.description
    agree = (
        _agrees(model.actuator_user[index], description)
        and max(int(model.actuator_actnum[index]), 0) == description.act_size
        and int(model.actuator_trnid[index, 0]) == joint.joint
    )
    if not agree:
        raise _disagreement(where, description)
    _check_undistorted(model, index, where, description.affine is not None)
    step, samples = float(model.opt.timestep), int(model.actuator_history[index][0])
    if samples * step < description.delay * (1 - 1e-4):
        raise ConfigurationError(
            f"{where}: a delay of {description.delay:g} s at a time step of {step:g} s needs "
            f"{math.ceil(description.delay / step)} samples, but {samples} are kept. Set the time step before "
            "adding the joint."
        )


def _check_undistorted(model: mujoco.MjModel, index: int, where: str, limited: bool) -> None:
    """Refuse an actuator whose torque MuJoCo would change on its way to the joint."""
    gear = float(model.actuator_gear[index, 0])
    if gear != 1.0:
        raise ConfigurationError(
            f"{where}: its actuator has a gear of {gear:g}, but the torque of a law or drive is that on the "
            "joint. Leave the gear at 1 and put the transmission into the drive's numbers."
        )
    for field, way in (
        ("actuator_forcelimited", "Limit the joint instead (actuatorfrcrange), or the drive's torque."),
        ("actuator_actlimited", "Its activations are the state of its motors; leave them free."),
    ):
        if getattr(model, field)[index] and not (limited and field == "actuator_forcelimited"):
            raise ConfigurationError(f"{where}: its actuator has {field.removeprefix('actuator_')} set. {way}")


def _settle_affine(
    model: mujoco.MjModel, index: int, description: CompliantJoint, row: MutableSequence[float]
) -> None:
    """Give MuJoCo's own actuator its exact numbers, and the joint's row the damping that follows from a ratio."""
    affine, parameters = description.affine, description.drives[0].kind.parameters
    assert affine is not None
    gain, bias = model.actuator_gainprm[index], model.actuator_biasprm[index]
    _restore_digits(gain[:1], (affine.gain,))
    _restore_digits(bias[1:2], (affine.stiffness,))
    ratio = affine.damping if affine.damping > 0.0 else 0.0
    found = -2.0 * ratio * math.sqrt(affine.gain * free_inertia(model, int(model.actuator_trnid[index, 0])))
    _restore_digits(bias[2:3], (found if ratio else affine.damping,))
    _restore_digits(model.actuator_forcerange[index], (-affine.limit, affine.limit))
    for k, parameter in enumerate(parameters):
        if parameter.name == "kd":
            row[layout.DRIVE_AT + k] = -float(bias[2])


def _restore_digits(array: NDArray[np.float64], exact: Sequence[float]) -> None:
    """Replace numbers that went through six printed digits by the exact ones, unless someone changed them."""
    if np.allclose(array, exact, rtol=1e-5, atol=1e-12):
        array[:] = exact


def _check_foreign_actuators(model: mujoco.MjModel, joints: tuple[JointOnModel, ...]) -> None:
    ours = {joint.actuators[0] for joint in joints}
    user = np.flatnonzero(
        (model.actuator_dyntype == int(mujoco.mjtDyn.mjDYN_USER))
        | (model.actuator_biastype == int(mujoco.mjtBias.mjBIAS_USER))
    )
    for index in user:
        if int(index) not in ours:
            raise _foreign(model.actuator(int(index)).name)


def prepare_model(
    model: mujoco.MjModel, backend: Backend | str | None = None, *, check: bool = True
) -> tuple[JointOnModel, ...]:
    """Make a compiled model run here: import and register its laws, install the callbacks, check the step.

    MuJoCo writes six digits into XML; the joints' numbers are restored here to full precision from their
    descriptions where they agree, so that the joints of a reloaded model run bit for bit the same.

    Args:
        model: changed in place.
        backend: see `callbacks.install`.
        check: refuse a time step at which a joint would be unstable, now and when `opt.timestep` is changed later
            (the torque is then NaN, on which MuJoCo stops with its warning).

    Returns:
        The model's compliant joints.

    Raises:
        StabilityError: the time step is too long for a joint.
        ConfigurationError, FileFormatError: see `compliant_joints`.
        CallbackOwnershipError: someone else's callback is installed.
    """
    joints = compliant_joints(model)
    _check_foreign_actuators(model, joints)
    callbacks.install(backend)
    for joint in joints:
        if joint.description.armature:
            dof = model.jnt_dofadr[joint.joint]
            _restore_digits(model.dof_armature[dof : dof + 1], (joint.description.armature,))
    for joint in joints:
        index = joint.actuators[0]
        budget = explicit_stiffness(model, joint.joint) if joint.description.explicit_share else 0.0
        row = model.actuator_user[index][: layout.USER_SIZE]
        row[layout.EXPLICIT_STIFFNESS], row[layout.LARGEST_STEP] = budget, 0.0
        exact = joint.description.row(budget)
        if joint.description.affine is not None:
            _settle_affine(model, index, joint.description, exact)
            row[:] = exact
        _restore_digits(row, exact)
        for actuator, control, reference in zip(joint.actuators, joint.controls, joint.references, strict=True):
            _restore_digits(model.actuator_ctrlrange[control], (reference.low, reference.high))
            _restore_digits(model.actuator_delay[actuator : actuator + 1], (joint.description.delay,))
        callbacks.register(joint.description)
    if check:
        largest = check_stability(model, [(j.name, j.description, j.joint) for j in joints])
        for joint in joints:
            model.actuator_user[joint.actuators[0], layout.LARGEST_STEP] = (
                largest if math.isfinite(largest) else 0.0
            )
    return joints


def compile_model(
    spec: mujoco.MjSpec, backend: Backend | str | None = None, *, check: bool = True
) -> mujoco.MjModel:
    """Compile a spec with compliant joints into a model that runs; arguments and errors of `prepare_model`.

    What MuJoCo cannot compile is a `ConfigurationError` with its reason.
    """
    if any(TEXT_PREFIX in text.name for text in spec.texts):
        make_room(spec)
    model = compile_spec(spec)
    prepare_model(model, backend, check=check)
    return model


def load_model(path: str | Path, backend: Backend | str | None = None, *, check: bool = True) -> mujoco.MjModel:
    """Load a saved model (MJCF XML or MJB) whose compliant joints run here as where it was saved.

    A file imports no code: a law or drive of your own must be imported before, or its package named by the
    environment variable PLIANT_TARGETS.

    Raises:
        MissingFileError: there is no such file.
        FileFormatError: MuJoCo cannot read it.
        ConfigurationError: a law or drive is not available in this process, or has changed.
    """
    file = Path(path)
    if not file.is_file():
        raise MissingFileError(f"model file {str(file)!r} does not exist.")
    try:
        with callbacks.suspended():
            if file.suffix == ".mjb":
                model = mujoco.MjModel.from_binary_path(str(file))
            else:
                spec = mujoco.MjSpec.from_file(str(file))
                check_rows(spec)
                model = spec.compile()
        check_text(model)
    except PliantError:
        raise
    except (ValueError, mujoco.FatalError) as error:
        raise FileFormatError(f"MuJoCo cannot read the model file {str(file)!r}: {error}") from error
    prepare_model(model, backend, check=check)
    return model


def save_model(spec: mujoco.MjSpec, path: str | Path) -> None:
    """Write a spec with its compliant joints as MJCF XML, for `load_model` in this or another process.

    Loaded in another way (`MjModel.from_xml_path`), its joints have no torque in a process that has not installed
    the callbacks, and torques that are NaN in one that does not know their laws: call `prepare_model` on it.

    Meshes, textures, height fields and skins from files or from memory are copied into a folder beside it,
    `NAME_assets`, so that both can be moved together and are found from anywhere.

    Raises:
        OutputError: a file cannot be written.
        ConfigurationError: MuJoCo cannot compile the spec.
        MissingFileError: a file that the spec needs is gone.
    """
    if any(TEXT_PREFIX in text.name for text in spec.texts):
        make_room(spec)
    write_model(spec, Path(path))
