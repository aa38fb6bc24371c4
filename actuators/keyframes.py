"""Keyframes of an `MjSpec` while actuators come and go: each keeps its pose and the controls that stay."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import mujoco

from pliant.actuators.callbacks import suspended
from pliant.errors import ConfigurationError

_ARRAYS = ("qpos", "qvel", "act", "ctrl", "mpos", "mquat")
_COORDINATES = {int(mujoco.mjtJoint.mjJNT_FREE): 7, int(mujoco.mjtJoint.mjJNT_BALL): 4}
_PLAIN_GAINS = {
    int(gain) for gain in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE, mujoco.mjtGain.mjGAIN_MUSCLE)
}
_NO_STATE, _USER_STATE = int(mujoco.mjtDyn.mjDYN_NONE), int(mujoco.mjtDyn.mjDYN_USER)


class Width(NamedTuple):
    """How many numbers of a keyframe belong to an actuator."""

    controls: int
    activations: int


class _Key(NamedTuple):
    """What a keyframe holds; empty arrays are MuJoCo's own values."""

    key: mujoco.MjsKey
    held: dict[str, list[float]]


def compile_spec(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compile a spec; what MuJoCo cannot compile is a `ConfigurationError` with its reason."""
    try:
        with suspended():
            return spec.compile()
    except ValueError as error:
        raise ConfigurationError(f"MuJoCo cannot compile the model: {error}") from error


class Keyframes:
    """The keyframes of a spec and which of their numbers belong to which actuator.

    A keyframe that was attached to the spec, or an actuator with several inputs, makes it compile a copy.
    """

    def __init__(self, spec: mujoco.MjSpec) -> None:
        """Read them; raises `ConfigurationError` if their sizes are not those of the spec's actuators."""
        self._spec = spec
        self._widths: list[Width] = []
        self._keys: list[_Key] = []
        if not spec.keys:
            return
        self._keys = [_read(key) for key in spec.keys]
        plain = [_plain_width(actuator) for actuator in spec.actuators]
        if None not in plain:
            self._widths = [width for width in plain if width is not None]
            self._check()
        if None in plain or any(not any(held.values()) for _, held in self._keys):
            copy = (
                spec.copy()
            )  # the spec itself, compiled, would hold its keyframes back when something is deleted
            model = compile_spec(copy)
            sizes = zip(model.actuator_ctrlnum.tolist(), model.actuator_actnum.tolist(), strict=True)
            self._widths = [Width(*size) for size in sizes]
            held = [_read(key).held for key in copy.keys]
            self._keys = [_Key(key, values) for key, values in zip(spec.keys, held, strict=True)]
            self._check()

    def replace(
        self, removed: Sequence[mujoco.MjsActuator], joint: str
    ) -> Iterator[tuple[float, list[float], list[float]]]:
        """Delete actuators, and for each keyframe yield the joint's position and what to append to it.

        Args:
            removed: actuators of the spec, deleted from it.
            joint: the joint that gets others.

        Yields:
            Position (rad, m), and two lists to be filled with the new controls and activations.
        """
        gone = {actuator.id for actuator in removed}
        ids = [actuator.id for actuator in self._spec.actuators]
        for actuator in removed:
            self._spec.delete(actuator)
        for key, held in self._keys:
            stay = {
                "ctrl": self._staying(held["ctrl"], 0, ids, gone),
                "act": self._staying(held["act"], 1, ids, gone),
            }
            control: list[float] = []
            activation: list[float] = []
            yield self._position(held["qpos"], joint), control, activation
            for name, values in {**held, "ctrl": stay["ctrl"] + control, "act": stay["act"] + activation}.items():
                setattr(key, name, values)

    def _staying(self, values: list[float], part: int, ids: Sequence[int], gone: set[int]) -> list[float]:
        """Numbers of the actuators that stay; zeros where the keyframe holds none."""
        widths = [width[part] for width in self._widths]
        rest = iter(values or [0.0] * sum(widths))
        slices = [[next(rest) for _ in range(width)] for width in widths]
        return [number for id_, own in zip(ids, slices, strict=True) if id_ not in gone for number in own]

    def _position(self, qpos: list[float], joint: str) -> float:
        """Where a joint stands in a keyframe."""
        at = 0
        for other in self._spec.worldbody.find_all("joint"):
            if other.name == joint:
                return qpos[at] if at < len(qpos) else float(other.ref)
            at += _COORDINATES.get(int(other.type), 1)
        raise AssertionError(joint)

    def _check(self) -> None:
        parts = (("ctrl", 0, "controls"), ("act", 1, "activations"))
        for (key, held), (name, part, what) in itertools.product(self._keys, parts):
            found, expected = len(held[name]), sum(width[part] for width in self._widths)
            if found not in (0, expected):
                raise ConfigurationError(
                    f"keyframe {key.name!r} holds {found} {what}, and the model's actuators have {expected}: "
                    "actuators were added or deleted without it. Let add_compliant_joint(…, replace=True) take "
                    "them away, or correct or delete the keyframe."
                )


def _read(key: mujoco.MjsKey) -> _Key:
    return _Key(key, {name: list(getattr(key, name)) for name in _ARRAYS})


def _plain_width(actuator: mujoco.MjsActuator) -> Width | None:
    """The width of an actuator with one input; None for one that only MuJoCo's compiler knows."""
    state = int(actuator.dyntype)
    if int(actuator.gaintype) not in _PLAIN_GAINS:
        return None
    if state == _USER_STATE:
        return Width(1, max(int(actuator.actdim), 0)) if actuator.actdim >= 0 else None
    return Width(1, 0 if state == _NO_STATE else 1)
