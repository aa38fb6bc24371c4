"""Where in a simulation the numbers are that a robot reads, in which order, and how far off they are measured."""

from collections.abc import Collection, Mapping, Sequence

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.actuators import JointOnModel
from pliant.actuators.layout import SIGNALS
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.simulation.sensing import Sensing
from pliant.envs.simulation.signals import FREE, JOINT, NOTHING, OURS, QPOS, QVEL, SENSOR, Offer
from pliant.hardware.robot import PER_JOINT, PER_MOTOR, Array, Channel, State, joint_signals


class Readings:
    """Which numbers of a simulation make up what a robot reads, and in what order.

    The motors are those that the simulation has: one or two of an elastic joint, none of a rigid one, whose drive
    acts on the link itself.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        robot: RobotModel,
        joints: Sequence[JointOnModel],
        chosen: Sequence[Offer],
        sensing: Mapping[str, Sensing],
        named: Collection[str],
    ) -> None:
        """Find everything in a compiled model.

        Args:
            model: compiled, with the sensors of `add_sensors`.
            robot: its description.
            joints: the compliant ones, in the order that their signals are read in.
            chosen: see `choose`.
            sensing: see `sensing_of` and `in_turn`.
            named: signals whose noise is what their `Sensing` says.
        """
        compliant = {joint.name: k for k, joint in enumerate(joints)}
        count = [0 if joint.description.mode.rigid else joint.description.motors for joint in joints]
        motors = [(j, m) for j in range(len(joints)) for m in range(count[j])]
        self.motors = tuple(f"{joints[j].name}/{m + 1}" for j, m in motors)
        """Motor names, `joint/1` and `joint/2`."""
        places = [
            _joint_place(model, name, quantity, compliant.get(name), sensing)
            for quantity in PER_JOINT
            for name in robot.joints
        ]
        places += [(JOINT, _signal(j, f"{quantity}{m + 1}")) for quantity in PER_MOTOR for j, m in motors]
        places += [_offer_place(model, robot, offer) for offer in chosen]
        self.source: NDArray[np.int64] = np.array([source for source, _ in places], dtype=np.int64)
        """Where each number comes from, (size,)."""
        self.index: NDArray[np.int64] = np.array([index for _, index in places], dtype=np.int64)
        """Which number it is there, (size,)."""
        ends = np.cumsum([len(robot.joints)] * 4 + [len(motors)] * 4 + [len(chosen)]).tolist()
        self._slices = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        self._pivots = np.array([m == 1 and joints[j].description.law.law.pivot for j, m in motors], dtype=bool)
        self.channels = _channels(model, robot, self.motors, chosen)
        """Names, units and bounds of the numbers."""
        names = [channel.name for channel in self.channels]
        told = [sensing.get(name, Sensing()) for name in names]
        self._noise = np.array([how.noise for how in told])
        self._named = np.array([name in named for name in names])
        self.bias = np.array([how.bias for how in told])
        """Constant error of each number, (size,)."""
        self.drift = np.array([how.drift for how in told])
        """Its growth, unit/s, (size,)."""
        self.biased = bool(self.bias.any() or self.drift.any())
        """Whether there is a constant or growing error at all."""
        self.noisy = bool(self._noise.any())
        """Whether a signal has noise of its own."""
        self.uses_sensors = bool((self.source == SENSOR).any())
        """Whether the simulation's sensors are read at all."""
        early = np.repeat(model.sensor_needstage < int(mujoco.mjtStage.mjSTAGE_ACC), model.sensor_dim)
        self._early = np.array(
            [s == SENSOR and bool(early[i]) for s, i in zip(self.source, self.index, strict=True)]
        )
        self.stale = bool(self._early.any())
        """Whether they include such as must be computed anew at the end of a period."""
        self.remembering = bool((model.sensor_history[:, 0] > 0).any())
        """Whether sensors keep older samples in the state of the simulation."""

    def stale_among(self, names: Collection[str]) -> bool:
        """Whether signals of these names must be computed anew at the end of a period."""
        return any(early and c.name in names for early, c in zip(self._early, self.channels, strict=True))

    def measure(self, signals: Array, qpos: Array, qvel: Array, sensordata: Array) -> Array:
        """Return the numbers, (…, size), of a simulation's arrays with the same leading axes."""
        measured = np.zeros((*signals.shape[:-1], len(self.index)))
        for source, array in ((JOINT, signals), (QPOS, qpos), (QVEL, qvel), (SENSOR, sensordata)):
            here = self.source == source
            measured[..., here] = array[..., self.index[here]]
        return measured

    def state(self, time: float | Array, measured: Array, command: Array) -> State:
        """Return the state of what was measured; its arrays are views of `measured`, (…, size)."""
        *parts, sensors = (measured[..., part] for part in self._slices)
        return State._make((time, *parts, command, sensors))

    def deviations(self, position: float, velocity: float, torque: float) -> Array:
        """Standard deviations of the noise on each number, (size,).

        What `Sensing` says of a signal takes the place of the three; without it the stiffness has none, nor has
        the pivot of a lever, which is no motor angle, nor a sensor.
        """
        rotary = np.where(self._pivots, 0.0, 1.0)
        joints = self._slices[0].stop
        links = np.repeat([position, velocity, torque, 0.0], joints)
        motors = np.outer([position, velocity, torque, torque], rotary).ravel()
        sensors = np.zeros(len(self.index) - len(links) - len(motors))
        return np.where(self._named, self._noise, np.concatenate([links, motors, sensors]))


def _signal(joint: int, name: str) -> int:
    return joint * len(SIGNALS) + SIGNALS.index(name)


def _joint_place(
    model: mujoco.MjModel, joint: str, quantity: str, compliant: int | None, sensing: Mapping[str, Sensing]
) -> tuple[int, int]:
    """Source and index of a joint's number."""
    sampled = sensing.get(f"{joint}/{quantity}", Sensing()).sampled
    told = compliant is not None and not model.jnt_actgravcomp[model.joint(joint).id]
    if sampled or (quantity == "torque" and not told):
        return SENSOR, int(model.sensor(f"{OURS}{joint}/{quantity}").adr[0])
    if compliant is not None:
        return JOINT, _signal(compliant, quantity)
    if quantity == "position":
        return QPOS, int(model.joint(joint).qposadr[0])
    if quantity == "velocity":
        return QVEL, int(model.joint(joint).dofadr[0])
    return NOTHING, 0


def _offer_place(model: mujoco.MjModel, robot: RobotModel, offer: Offer) -> tuple[int, int]:
    if offer.sensor:
        return SENSOR, int(model.sensor(offer.sensor).adr[0]) + offer.place
    joint = int(model.body(robot.floating[offer.group]).jntadr[0])
    _, _, source, place = FREE[offer.place]
    first = model.jnt_qposadr[joint] if source == QPOS else model.jnt_dofadr[joint]
    return source, int(first) + place


def _channels(
    model: mujoco.MjModel, robot: RobotModel, motors: Sequence[str], chosen: Sequence[Offer]
) -> tuple[Channel, ...]:
    """Names, units and bounds of everything that is read; a joint's range bounds its position."""
    slide = int(mujoco.mjtJoint.mjJNT_SLIDE)
    slides = {name: ("m", "N") for name in robot.joints if int(model.joint(name).type[0]) == slide}
    found = []
    for channel in joint_signals(robot.joints, motors, slides):
        joint = channel.owner
        if channel.quantity == "position" and model.joint(joint).limited[0]:
            low, high = (float(bound) for bound in model.joint(joint).range)
            found.append(Channel(channel.name, channel.unit, low, high, min(max(0.0, low), high)))
        else:
            found.append(channel)
    return (*found, *(offer.channel for offer in chosen))
