"""The wrench of the tool on its surroundings: what it is, whether it is a contact, and what is desired of it."""

import math
from typing import Final

import numpy as np

from pliant.controllers.arm_kinematics import ArmKinematics
from pliant.controllers.checks import Array
from pliant.controllers.interaction.execution import Conditioning, Watch
from pliant.controllers.interaction.frames import along, mounted, tool_wrench
from pliant.errors import MismatchError
from pliant.hardware.robot import State

QUANTITIES: Final = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")


class WrenchSensing:
    """The measured wrench, at the tool's centre point and along the law's axes.

    Args:
        conditioning: of the raw wrench.
        signals: where it stands among the sensors of a state, (6,).
        frame: pose of the sensor in the tool's frame, (7,).
        watch: what is a contact, and what is too much.
        period: s.
    """

    def __init__(
        self, conditioning: Conditioning, signals: tuple[int, ...], frame: Array, watch: Watch, period: float
    ) -> None:
        self.conditioning = conditioning
        self.signals = np.array(signals)
        """Where the raw wrench stands among the sensors of a state, (6,)."""
        self._frame = frame
        self._watch, self._period = watch, period
        self.reset()

    def reset(self) -> None:
        """Begin anew."""
        self.conditioning.reset()
        self.value = np.zeros(6)
        """(6,), N and N·m; while there is a fault of the sensor, the last one before it."""
        self.fault = ""
        """Of the sensor, or that the wrench is too large."""
        self.touching, self.taring = False, False
        self._lost = -1.0

    def take(
        self, state: State, tool: Array, axes: Array, kinematics: ArmKinematics, q: Array, speed: Array
    ) -> None:
        """Take the reading of a state.

        Args:
            state: what was read.
            tool: measured pose, (7,).
            axes: of the law in the world, (3, 3).
            kinematics: of the tool.
            q: joint positions, (joints,), and
            speed: their speeds, for a tare.
        """
        sensor, rotation = mounted(tool, self._frame)
        raw = state.sensors[self.signals]
        if self.taring:
            tip = kinematics.jacobian(q)[:3] @ speed
            contact, fault = self.conditioning.update(
                state.time,
                raw,
                rotation,
                joint_speed=float(np.abs(speed).max()),
                tool_speed=float(np.linalg.norm(tip)),
            )
        else:
            contact, fault = self.conditioning.update(state.time, raw, rotation)
        if fault:
            self.fault = f"wrench: {fault}"
            return
        found = tool_wrench(contact, rotation, sensor, tool, axes)
        fx, fy, fz, *torques = found.tolist()
        force, torque = math.hypot(fx, fy, fz), math.hypot(*torques)
        if not math.isfinite(force + torque):
            self.fault = "wrench: missing: its conditioning gives a NaN"
            return
        self.value = found
        self.touching = force > (0.5 if self.touching else 1.0) * self._watch.contact
        self.fault = ""
        if force > self._watch.force:
            self.fault = f"the tool presses with {force:.4g} N; it stops at {self._watch.force:g} N"
        elif torque > self._watch.torque:
            self.fault = f"the tool turns with {torque:.4g} N·m; it stops at {self._watch.torque:g} N·m"

    def turn(self, rotation: Array) -> None:
        """Go on in other axes: `rotation`, (3, 3), takes vectors from the old ones to them."""
        self.value = along(rotation.T, self.value)

    def lost(self, pressing: bool) -> bool:
        """Return whether, after a contact, there has been none for too long while the tool is to press."""
        limit = self._watch.lost_after
        if not pressing or limit is None:
            self._lost = -1.0
        elif self.touching:
            self._lost = 0.0
        elif self._lost >= 0.0:
            self._lost += self._period
        return limit is not None and self._lost > limit

    def start_tare(self) -> None:
        """Take the sensor's bias from the next readings."""
        self.conditioning.start_tare()
        self.taring = True

    def tare_ended(self) -> str | None:
        """Return, once, that a tare has ended: why it was refused, or nothing said; None while there is none."""
        tare = self.conditioning.tare_state
        if not self.taring or tare.state == "running":
            return None
        self.taring = False
        return str(tare.reason) if tare.state == "refused" else ""


def check_load(conditioning: Conditioning, robot: str, sensor: str) -> None:
    """Raise `MismatchError` if a conditioning takes off a load that was weighed on another robot or sensor."""
    load = getattr(getattr(conditioning, "settings", None), "load", None)
    for what, own in (("robot", robot), ("sensor", sensor)):
        found = getattr(load, what, "")
        if found and found != own:
            raise MismatchError(f"the load was weighed on {what} {found!r}; here it is {own!r}: weigh it anew.")


class WrenchRamp:
    """The desired wrench, which never jumps.

    Args:
        rate: largest, (6,), N/s and N·m/s.
        period: s.
    """

    def __init__(self, rate: Array, period: float) -> None:
        self._rate, self._period = rate, period
        self.reset()

    def reset(self) -> None:
        """Desire nothing, at once."""
        self.value, self._goal, self._pace = np.zeros(6), np.zeros(6), self._rate
        self.moving = False
        """Whether it is on its way."""

    def go_to(self, wrench: Array, over: float = 0.0) -> None:
        """Go to a wrench, (6,), on a straight line over a time, s, or as fast as may be."""
        self._goal, self.moving = wrench, True
        self._pace = np.minimum(np.abs(wrench - self.value) / over, self._rate) if over > 0.0 else self._rate

    def advance(self) -> None:
        """Let a period pass."""
        if self.moving:
            most = self._pace * self._period
            way = self._goal - self.value
            self.value = self.value + np.clip(way, -most, most)
            self.moving = bool((np.abs(way) > most).any())
