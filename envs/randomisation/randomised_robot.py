"""A compiled robot whose parameters are drawn: which numbers vary, and where the model holds them."""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import mujoco
import numpy as np

from pliant.actuators import CompliantJoint, Drive, JointOnModel, Parameter
from pliant.actuators.gear import DRY, VISCOUS
from pliant.actuators.layout import DRIVE_AT, EXPLICIT_STIFFNESS, LARGEST_STEP, LAW_AT
from pliant.actuators.stability import StabilityError, check_stability, explicit_stiffness
from pliant.envs.randomisation.distributions import Distribution, check_support
from pliant.envs.randomisation.randomisation import Randomisation
from pliant.errors import ConfigurationError, check_bounds, unknown_name
from pliant.hardware.robot import Array

Values = tuple[float, ...]
"""What was drawn for one robot: a value for each of its names."""


class Conditions(NamedTuple):
    """What passes between a robot and its controller, and how well."""

    command_delay: float = 0.0
    """s, whole time steps of the model."""
    sensor_delay: float = 0.0
    """s, whole periods of the robot."""
    position_noise: float = 0.0
    """Standard deviation of angles, rad."""
    velocity_noise: float = 0.0
    """Standard deviation of speeds, rad/s."""
    torque_noise: float = 0.0
    """Standard deviation of torques, N·m."""


_DISCRETE = int(mujoco.mjtIntegrator.mjINT_DISCRETE)
_SCALAR = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
Place = tuple[str, tuple[int, ...]]
"""A field of the model and an index into it."""


@dataclass(frozen=True)
class _Number:
    """A number of the model that is drawn, as a factor times what it is."""

    name: str
    factor: Distribution
    base: float
    places: tuple[Place, ...]
    """Where the number stands."""
    scaled: tuple[Place, ...] = ()
    """What grows with it."""


class RandomisedRobot:
    """Robots alike but for the parameters that a `Randomisation` draws."""

    def __init__(
        self,
        model: mujoco.MjModel,
        joints: Sequence[JointOnModel],
        period: float,
        conditions: Conditions,
        randomisation: Randomisation,
    ) -> None:
        """Find what varies; prepares the model for the quickest robot that can be drawn.

        Args:
            model: the robot as it is, compiled; its rows of `actuator_user` get what holds for all of them.
            joints: its compliant joints.
            period: s.
            conditions: of the robot as it is.
            randomisation: what differs.

        Raises:
            UnknownNameError: a law or a drive has no parameter of that name.
            OutOfBoundsError: a parameter could be drawn outside its bounds.
            StabilityError: the model's time step is too long for a robot that could be drawn.
        """
        self._numbers = [
            *_masses(model, randomisation.mass),
            *_passive(model, randomisation),
            *_gears(model, joints, randomisation),
            *_contacts(model, randomisation.contact_friction),
            *_supply(model, joints, randomisation.supply),
            *_drives(model, joints, randomisation),
        ]
        self._step, self._period, self._conditions = float(model.opt.timestep), period, conditions
        self._drawn = {
            name: distribution
            for name in Conditions._fields
            if (distribution := getattr(randomisation, name)) is not None
        }
        self.names = (*(number.name for number in self._numbers), *self._drawn)
        """What varies: `link1/mass` (kg), `elbow/damping` (N·m·s/rad), `knee/gear_friction` (factor), `elbow/k1`,
        `command_delay` (s), …"""
        self.extremes = extremes(conditions, randomisation, self._step, period)
        """The longest delays and the strongest noise that can be drawn."""
        self.noisy = any(self.extremes[2:])
        """Whether there may be noise at all."""
        self.derived = randomisation.mass is not None
        """Whether `mj_setConst` is needed after `apply`."""
        self.fields = tuple(dict.fromkeys(field for n in self._numbers for field, _ in (*n.places, *n.scaled)))
        """Fields of the model that differ."""
        self._scaled = {field: getattr(model, field).copy() for n in self._numbers for field, _ in n.scaled}
        self.longest_delays: Array = model.actuator_delay.copy()
        """Of each actuator's controls, s, (actuators,)."""
        self._own_delay = self.longest_delays - self.extremes.command_delay
        if "command_delay" in self._drawn:
            self.fields += ("actuator_delay",)
        _prepare(model, joints, randomisation)

    def draw(self, random: np.random.Generator) -> Values:
        """Return the values of one robot, in the order of `names`."""
        numbers = [number.base * number.factor.draw(random) for number in self._numbers]
        drawn = (_rounded(name, d.draw(random), self._step, self._period) for name, d in self._drawn.items())
        return (*numbers, *drawn)

    def apply(self, values: Values, model: Mapping[str, Array]) -> None:
        """Write the values of one robot.

        Args:
            values: from `draw`.
            model: arrays of the fields in `fields`, in the model's shapes, written.
        """
        for number, value in zip(self._numbers, values, strict=False):
            for field, index in number.places:
                model[field][index] = value
            for field, index in number.scaled:
                model[field][index] = self._scaled[field][index] * (value / number.base)
        if "command_delay" in self._drawn:
            model["actuator_delay"][:] = self._delays(self.conditions(values).command_delay)

    def conditions(self, values: Values) -> Conditions:
        """Return the delays and the noise of one robot."""
        return self._conditions._replace(**dict(zip(self._drawn, values[len(self._numbers) :], strict=True)))

    def _delays(self, command_delay: float) -> Array:
        """What MuJoCo is told so that controls come late by whole steps, from a buffer for longer delays.

        It looks for the newest sample that is old enough, so half a step less keeps rounding out of it.
        """
        steps = np.ceil((self._own_delay + command_delay) / self._step - 1e-6)
        delays: Array = np.maximum(steps - 0.5, 0.0) * self._step
        return delays


def extremes(conditions: Conditions, randomisation: Randomisation, step: float, period: float) -> Conditions:
    """Return the longest delays and the strongest noise that can be drawn.

    Args:
        conditions: of the robot as it is, for what is not drawn.
        randomisation: what is.
        step: time step of the model, s.
        period: of the robot, s.
    """
    found = {}
    for name in Conditions._fields:
        distribution: Distribution | None = getattr(randomisation, name)
        if distribution is not None:
            found[name] = _rounded(name, distribution.bounds[1], step, period)
    return conditions._replace(**found)


def _rounded(name: str, value: float, step: float, period: float) -> float:
    """A delay as a whole number of time steps or periods; noise as it is."""
    unit = {"command_delay": step, "sensor_delay": period}.get(name)
    return value if unit is None else round(value / unit) * unit


def _masses(model: mujoco.MjModel, factor: Distribution | None) -> Iterator[_Number]:
    """Masses of the bodies that move, with their inertias."""
    for body in range(model.nbody if factor is not None else 0):
        mass = float(model.body_mass[body])
        if model.body_weldid[body] and mass > 0.0:
            assert factor is not None
            name = model.body(body).name or f"body{body}"
            scaled = tuple(("body_inertia", (body, axis)) for axis in range(3))
            yield _Number(f"{name}/mass", factor, mass, (("body_mass", (body,)),), scaled)


def _passive(model: mujoco.MjModel, randomisation: Randomisation) -> Iterator[_Number]:
    """Viscous and dry friction and springs of the hinges and slides that have any, whatever drives them."""
    for joint in np.flatnonzero(np.isin(model.jnt_type, _SCALAR)).tolist():
        name, dof = model.joint(joint).name or f"joint{joint}", int(model.jnt_dofadr[joint])
        for kind, field, place in (
            ("damping", "dof_damping", dof),
            ("friction", "dof_frictionloss", dof),
            ("stiffness", "jnt_stiffness", joint),
        ):
            factor: Distribution | None = getattr(randomisation, kind)
            if factor is not None:
                base = float(getattr(model, field)[place])
                if base != 0.0:  # which no factor changes
                    yield _Number(f"{name}/{kind}", factor, base, ((field, (place,)),))


def _gears(
    model: mujoco.MjModel, joints: Sequence[JointOnModel], randomisation: Randomisation
) -> Iterator[_Number]:
    """One factor of the viscous friction of each servo's gear, and one of its dry friction."""
    for joint in joints:
        for drive in joint.description.drives[:1]:
            for kind, factor, names in (
                ("damping", randomisation.damping, VISCOUS),
                ("friction", randomisation.friction, DRY),
            ):
                places = []
                for k, parameter in enumerate(drive.kind.parameters if factor is not None else ()):
                    base = float(model.actuator_user[joint.actuators[0], DRIVE_AT + k])
                    if parameter.name in names and parameter.name not in randomisation.drive and base != 0.0:
                        assert factor is not None
                        what = f"{kind} of joint {joint.name!r}: {parameter.name} of its gear"
                        _check_factor(what, factor, base, parameter)
                        places.append(("actuator_user", (joint.actuators[0], DRIVE_AT + k)))
                if places:
                    assert factor is not None
                    yield _Number(f"{joint.name}/gear_{kind}", factor, 1.0, (), tuple(places))


def _contacts(model: mujoco.MjModel, factor: Distribution | None) -> Iterator[_Number]:
    """One factor of the sliding friction of all that touches on bodies that move."""
    if factor is None:
        return
    moving = model.body_weldid[model.geom_bodyid] != 0
    touching = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    places = tuple(("geom_friction", (geom, 0)) for geom in np.flatnonzero(moving & touching).tolist())
    if not places:
        raise ConfigurationError("Randomisation contact_friction: nothing of the robot touches anything.")
    yield _Number("contact_friction", factor, 1.0, (), places)


def _supply(
    model: mujoco.MjModel, joints: Sequence[JointOnModel], factor: Distribution | None
) -> Iterator[_Number]:
    """One factor of the voltage of all servos."""
    if factor is None:
        return
    places = []
    for joint in joints:
        for drive in joint.description.drives[:1]:
            for k, parameter in enumerate(drive.kind.parameters):
                if parameter.name == "voltage":
                    actuator, at = joint.actuators[0], DRIVE_AT + k
                    base = float(model.actuator_user[actuator, at])
                    _check_factor(f"supply of joint {joint.name!r}", factor, base, parameter)
                    places.append(("actuator_user", (actuator, at)))
    if not places:
        raise ConfigurationError(
            "Randomisation supply: no joint of the robot is driven by a servo with a voltage."
        )
    yield _Number("supply", factor, 1.0, (), tuple(places))


def _drives(
    model: mujoco.MjModel, joints: Sequence[JointOnModel], randomisation: Randomisation
) -> Iterator[_Number]:
    """Springs and drives of the joints: numbers in their rows of `actuator_user`."""
    for joint in joints:
        law = joint.description.law.law
        groups = [(f"law {law.name!r}", law.parameters, LAW_AT, randomisation.law, "")]
        kinds = [drive.kind for drive in joint.description.drives[:1]]
        what = f"drive {kinds[0].name!r}" if kinds else "ideal motor"
        own = tuple(p for kind in kinds for p in kind.parameters)
        groups.append((what, own, DRIVE_AT, randomisation.drive, "drive_"))
        fixed = {name for kind in kinds for name in kind.fixed}
        actuator = joint.actuators[0]
        for owner, parameters, at, factors, prefix in groups:
            places = {parameter.name: at + k for k, parameter in enumerate(parameters)}
            known = {parameter.name: parameter for parameter in parameters if parameter.name not in fixed}
            for name, factor in factors.items():
                if name not in known:
                    raise unknown_name("parameter", name, known, f"{owner} of joint {joint.name!r}")
                base = float(model.actuator_user[actuator, places[name]])
                what = f"{owner} of joint {joint.name!r}: {name}"
                if base == 0.0:
                    raise ConfigurationError(f"{what} is 0, which no factor changes; leave it out.")
                _check_factor(what, factor, base, known[name])
                place = ("actuator_user", (actuator, places[name]))
                yield _Number(f"{joint.name}/{prefix}{name}", factor, base, (place,))


def _check_factor(what: str, factor: Distribution, base: float, parameter: Parameter) -> None:
    """Raise `OutOfBoundsError` if base·factor can leave the parameter's bounds."""
    check_support(f"{what}, factor", factor, 0.0, 1e6)
    for bound in factor.bounds:
        check_bounds(what, base * bound, parameter.low, parameter.high, parameter.unit)


def _prepare(model: mujoco.MjModel, joints: Sequence[JointOnModel], randomisation: Randomisation) -> None:
    """Check the time step for the quickest robot that can be drawn, and give the joints' rows what it needs."""
    if randomisation.stiffness is not None:
        _check_springs(model, randomisation.stiffness.bounds[1])
    if not (
        randomisation.mass
        or randomisation.damping
        or randomisation.law
        or randomisation.drive
        or randomisation.supply
    ):
        return  # the model's own check stands
    quickest = copy.copy(model)
    if randomisation.mass is not None:
        lowest = randomisation.mass.bounds[0]
        quickest.body_mass[:] *= lowest
        quickest.body_inertia[:] *= lowest
        mujoco.mj_setConst(quickest, mujoco.MjData(quickest))
    if randomisation.damping is not None:  # the integrator carries it, so that more of it is slower
        quickest.dof_damping[:] *= randomisation.damping.bounds[0]
    step = float(model.opt.timestep)
    descriptions = [_quickest(joint.description, randomisation, step) for joint in joints]
    largest = check_stability(quickest, [(j.name, d, j.joint) for j, d in zip(joints, descriptions, strict=True)])
    for joint, description in zip(joints, descriptions, strict=True):
        row = model.actuator_user[joint.actuators[0]]
        row[LARGEST_STEP] = largest if math.isfinite(largest) else 0.0
        if description.explicit_share:
            row[EXPLICIT_STIFFNESS] = explicit_stiffness(quickest, joint.joint)


def _check_springs(model: mujoco.MjModel, factor: float) -> None:
    """Raise where the integrator would not carry a passive spring so many times as stiff: h < 2·√(m/k)."""
    step = float(model.opt.timestep)
    for joint in np.flatnonzero(np.isin(model.jnt_type, _SCALAR)).tolist():
        stiffness = factor * float(model.jnt_stiffness[joint])
        if not stiffness or int(model.opt.integrator) == _DISCRETE:
            continue
        longest = 2.0 / math.sqrt(stiffness * float(model.dof_invweight0[model.jnt_dofadr[joint]]))
        if step >= longest:
            raise StabilityError(
                f"a factor of {factor:g} makes the spring of joint {model.joint(joint).name!r} too quick: it "
                f"needs a time step below {longest:.3g} s, the model's is {step:g} s. Draw less, or give it more "
                "mass."
            )


def _quickest(joint: CompliantJoint, randomisation: Randomisation, step: float) -> CompliantJoint:
    """The joint that asks for the shortest step, its preset's range as it is.

    A parameter at a time is set to the bound that makes the spring stiffer or the drive quicker.

    Raises:
        OutOfBoundsError: a parameter that could be drawn does not allow the range of the preset.
    """
    if joint.law.preset is not None:
        joint = replace(joint, preset_range=joint.preset_bounds)
    for name, factor in randomisation.law.items():
        values = joint.law.parameters
        bounds = [joint.law.law("default", **{**values, name: values[name] * bound}) for bound in factor.bounds]
        joint = max((replace(joint, law=law) for law in bounds), key=lambda candidate: candidate.stiffest)
    drawn = dict(randomisation.drive)
    if randomisation.supply is not None and joint.drives and "voltage" in joint.drives[0].parameters:
        drawn["voltage"] = randomisation.supply
    if randomisation.damping is not None and joint.drives:
        drawn |= {n: randomisation.damping for n in VISCOUS if n in joint.drives[0].parameters and n not in drawn}
    for name, factor in drawn.items():
        drive = joint.drives[0]
        drives = [drive.varied(**{name: drive.parameters[name] * bound}) for bound in factor.bounds]
        joint = max((_driven(joint, drive) for drive in drives), key=lambda candidate: _haste(candidate, step))
    return joint


def _driven(joint: CompliantJoint, drive: Drive) -> CompliantJoint:
    return replace(joint, drive=drive, pid=None, servo=None)


def _haste(joint: CompliantJoint, step: float) -> tuple[float, float, float]:
    """What orders joints by how short a time step they ask for: loop on the link, rotor, motor's own loop."""
    drive = joint.drives[0]
    on_link = drive.stiffness * step**2 + 2.0 * drive.damping * step
    return on_link, 1.0 / drive.inertia, drive.pole(joint.stiffest)
