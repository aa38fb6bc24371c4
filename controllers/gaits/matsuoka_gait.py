"""The lab's gait: a Matsuoka network whose outputs move the joints by a few fixed rules."""

import copy
import math
from typing import Any, Final, Self

import numpy as np

from pliant.actuators.compiled import compiled
from pliant.controllers.checks import Array, positive
from pliant.controllers.gaits.gait import Gait, GaitCommand
from pliant.controllers.gaits.legs import SEGMENTS, Legs, hexapod_legs
from pliant.controllers.gaits.matsuoka import MatsuokaNetwork, MatsuokaUnit, Update
from pliant.controllers.gaits.patterns import LEGS
from pliant.errors import check_bounds
from pliant.hardware.limits import MotionLimits
from pliant.hardware.robot import RobotInfo

_FEMUR: Final = 2.1
_FEMUR_DOWN: Final = 0.025
_TIBIA: Final = -0.1
_COXA: Final = 0.005
"""Of the coxa at the stride factor 1, rad a step."""


class MatsuokaGait(Gait):
    """A tripod: y > 0 raises a leg and turns its coxa ahead, y < 0 turns it back.

        femur = 2.1·y·stride_height (y < 0: ×0.025),   tibia = −0.1·y·stride_height
        coxa += c a step while y > 0, −c otherwise; at the upward crossing of y it begins behind the middle again

    c follows from the stride; the deflection of the coxa is centred. Turning, each leg has the c that its foot's
    speed ahead needs. Between two steps of the network the angles are interpolated. Feet slide somewhat, as they
    go in circles about the coxae.

    Args:
        info, ramp, limits: see `Gait`.
        legs: of the robot; None: the hexapod's.
        unit, update, seed: of the network.
        step: from one step of the network to the next when the robot walks slowly, s.
        stride_height: 1: the lab's.
        speed, turn_rate, height, stride: see `GaitCommand`.

    Raises:
        ConfigurationError: the network does not oscillate. Others: as `FootGait`.
    """

    def __init__(
        self,
        info: RobotInfo,
        legs: Legs | None = None,
        *,
        unit: MatsuokaUnit | None = None,
        update: str = Update.PUBLISHED,
        seed: int = 0,
        step: float = 0.019,
        stride_height: float = 1.0,
        speed: float = 0.03,
        turn_rate: float = 0.0,
        height: float = 0.1173,
        stride: float = 0.03,
        ramp: float = 1.0,
        limits: MotionLimits | None = None,
    ) -> None:
        self._start_of_cycle = _Deflections(MatsuokaNetwork(unit, update, seed))
        self._rhythm = copy.deepcopy(self._start_of_cycle)
        self._stride_height = check_bounds("gait: stride_height", stride_height, 0.0, 5.0)
        legs = legs or hexapod_legs()
        feet = legs.forward_kinematics(legs.stand)
        mounts = np.array([mount[1:3] for mount in legs.mounts])
        self._radius = np.hypot(*(feet[:, :2] - mounts).T)
        frequency = 1.0 / (self._rhythm.period * positive("step of the network", step, "s"))
        command = GaitCommand(speed, turn_rate, height, stride)
        super().__init__(info, legs, command, frequency=frequency, ramp=ramp, limits=limits)

    @classmethod
    def published(
        cls,
        info: RobotInfo,
        factor: float = 1.0,
        step: float = 0.019,
        update: str = Update.PUBLISHED,
        stride_height: float = 1.0,
    ) -> Self:
        """Return the gait with the lab's stride factor, at which c = 0.005·factor rad a step.

        Its speed is what the coxae would give if no foot slid.
        """
        plain = cls(info, step=step, update=update, stride_height=stride_height)
        stroke = positive("stride factor", factor) * _COXA * 0.5 * plain.steps
        stride = stroke * float(plain._radius.mean())
        speed = 2.0 * plain.frequency * stride
        return cls(info, step=step, update=update, stride_height=stride_height, speed=speed, stride=stride)

    @property
    def steps(self) -> float:
        """Period of the rhythm, in steps of the network."""
        return self._rhythm.period

    @property
    def stride_height(self) -> float:
        """Of femur and tibia; may be set while it walks."""
        return self._stride_height

    @stride_height.setter
    def stride_height(self, value: float) -> None:
        self._stride_height = check_bounds("gait: stride_height", value, 0.0, 5.0)

    @property
    def output(self) -> Array:
        """Output y of the network, (6,)."""
        return self._rhythm.y.copy()

    @property
    def phase(self) -> Array:
        """See `Gait`: steps since the lift-off."""
        return np.minimum((self._rhythm.since + self._part) / self._rhythm.period, 1.0 - 1e-9)

    @property
    def _duty(self) -> float:
        return 0.5

    def _begin(self) -> None:
        self._rhythm = copy.deepcopy(self._start_of_cycle)
        self._part, self._last = 0.0, np.array([self._rhythm.coxa, self._rhythm.y])

    def _advance(self, dt: float, command: GaitCommand, duty: float, gain: float) -> Array:
        velocities = self._velocities(command)
        frequency = self._cadence(velocities, duty, command.stride)
        self._part += dt * frequency * self._rhythm.period
        for _ in range(int(self._part)):
            self._last[:] = self._rhythm.coxa, self._rhythm.y
            self._rhythm.advance()
        self._part %= 1.0
        last_coxa, last_y = self._last
        coxa = last_coxa + self._part * (self._rhythm.coxa - last_coxa)
        y = last_y + self._part * (self._rhythm.y - last_y)
        strokes = velocities @ self._ahead * (duty / frequency) / self._radius
        return self._pose(command.height, coxa * strokes, y * self._stride_height, gain)

    def _pose(self, height: float, coxa: Array, lifting: Array, gain: float) -> Array:
        """Joint angles, (6, 3), of coxae turned ahead by (6,), rad, and y times the stride height, (6,)."""
        feet, sides = self._feet.copy(), self.legs.sides * gain
        feet[:, 2] = -height
        angles = self.legs.nearest(feet)[0]
        angles[:, 0] += sides * coxa
        angles[:, 1] += sides * _FEMUR * np.where(lifting < 0.0, _FEMUR_DOWN, 1.0) * lifting
        angles[:, 2] += sides * _TIBIA * lifting
        return angles

    def _trouble(self, stride: float, height: float) -> str | None:
        feet = self._feet.copy()
        feet[:, 2] = -height
        misses = self.legs.nearest(feet)[1]
        if misses.max() > 1e-9:
            return f"the {LEGS[int(misses.argmax())]} leg's foot would miss its place by {misses.max():.3g} m"
        highest = self._stride_height * self._rhythm.highest
        for coxa in (-0.5, 0.5):
            for lifting in (-highest, highest):
                angles = self._pose(height, coxa * stride / self._radius, np.full(len(LEGS), lifting), 1.0)
                beyond = np.abs(angles) - self._ranges
                if beyond.max() > 0.0:
                    leg, segment = divmod(int(beyond.argmax()), 3)
                    return (
                        f"{LEGS[leg]}_{SEGMENTS[segment]} would turn {beyond.max():.3g} rad beyond its range of "
                        f"±{self._ranges[segment]:.3g} rad"
                    )
        return None


class _Deflections:
    """A network at the beginning of a cycle, and how far it has turned the coxae, in whole strokes."""

    def __init__(self, network: MatsuokaNetwork) -> None:
        self._network = network
        self.period = network.settle()
        """In steps."""
        self.y = network.output
        self.since = np.zeros(len(LEGS))
        """Steps since the lift-off."""
        self.coxa = np.zeros(len(LEGS))
        """From -1/2 to 1/2 of a stroke."""
        self.highest = 0.0
        """Largest output."""
        self._swing = np.full(len(LEGS), 0.5 * self.period)
        for _ in range(3 * math.ceil(self.period)):
            self.advance()
            self.highest = max(self.highest, float(np.abs(self.y).max()))
        while self.since[0]:
            self.advance()

    def advance(self) -> None:
        """Make one step."""
        before, self.y = self.y, self._network.advance()
        compiled(_deflect)(before, self.y, self.since, self._swing, self.coxa, self.period)


def _deflect(before: Any, y: Any, since: Any, swing: Any, coxa: Any, period: float) -> None:
    for leg in range(y.shape[0]):
        since[leg] += 1.0
        coxa[leg] += (2.0 if y[leg] > 0.0 else -2.0) / period
        if before[leg] < 0.0 <= y[leg]:
            since[leg] = 0.0
            coxa[leg] = -(swing[leg] - 1.0) / period  # it is at this step, the first of as many, already
        elif y[leg] < 0.0 <= before[leg]:
            swing[leg] = since[leg]
