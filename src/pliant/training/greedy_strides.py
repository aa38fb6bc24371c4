"""The search of the hexapod's lab: the stride grows until a limit is passed (Čížek, Faigl and others)."""

from collections.abc import Callable
from typing import NamedTuple

from pliant.controllers.controller import Controller
from pliant.envs.gait_measures import GaitLimits
from pliant.envs.gait_trial import GaitTrial, try_gaits
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import OutOfBoundsError, check_bounds


class Stride(NamedTuple):
    """A step of a greedy search."""

    factor: float
    trial: GaitTrial

    @property
    def kept(self) -> bool:
        """Whether it keeps all limits."""
        return self.trial.measures.kept


def greedy_strides(
    robot: SimulatedRobot,
    make: Callable[[float], Controller],
    *,
    step: float = 1.0,
    refine: float = 0.0,
    most: float = 10.0,
    duration: float = 10.0,
    limits: GaitLimits | None = None,
) -> list[Stride]:
    """Lengthen the stride until a limit is passed, as the lab of the hexapod does; return all that was tried.

    From 1 on the factor grows by `step`; then, if `refine` is above 0, the gap between the last good factor and
    the first bad one is halved until it is no longer than that.

    Args:
        robot: connected, see `try_gaits`.
        make: of a factor the gait, such as `lambda factor: MatsuokaGait.published(info, factor)`; where it raises
            `OutOfBoundsError`, as legs do not reach, the search ends.
        step: of the factor.
        refine: see above.
        most: largest factor that is tried.
        duration: of a trial, s.
        limits: see `try_gaits`.

    Returns:
        In the order of the factors; the last that keeps all limits is the one that is found.
    """
    check_bounds("greedy search: step", step, 1e-3, 100.0)
    check_bounds("greedy search: refine", refine, 0.0, 100.0)
    found: list[Stride] = []

    def good(factor: float) -> bool:
        try:
            gait = make(factor)
        except OutOfBoundsError:
            if not found:
                raise
            return False
        found.append(Stride(factor, try_gaits(robot, [gait], duration, limits)[0]))
        return found[-1].kept

    last, factor = 0.0, 1.0
    while factor <= most and good(factor):
        last, factor = factor, factor + step
    while last and refine and factor - last > refine and factor <= most + step:
        middle = 0.5 * (last + factor)
        last, factor = (middle, factor) if good(middle) else (last, middle)
    return sorted(found, key=lambda stride: stride.factor)
