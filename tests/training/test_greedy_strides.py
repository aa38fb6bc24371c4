"""The greedy search of a stride."""

import pytest

from pliant.controllers.gaits import MatsuokaGait
from pliant.envs import SimulatedRobot
from pliant.envs.gait_measures import GaitLimits
from pliant.envs.models.hexapod import REFERENCE_SERVO, hexapod
from pliant.errors import OutOfBoundsError
from pliant.training.greedy_strides import greedy_strides


@pytest.fixture(scope="module")
def robot():
    with SimulatedRobot(hexapod(servo=REFERENCE_SERVO, settle=0.3), 0.019) as robot:
        yield robot


@pytest.mark.slow
def test_the_greedy_search_ends_where_a_limit_is_passed(robot):
    def make(factor):
        return MatsuokaGait.published(robot.info, factor)

    found = greedy_strides(robot, make, step=2.0, refine=0.5, duration=3.5, limits=GaitLimits(torque=1.0))
    kept = [stride.factor for stride in found if stride.kept]
    beyond = [stride.factor for stride in found if not stride.kept]
    assert kept
    assert max(kept) < min(beyond) <= max(kept) + 0.5
    assert [stride.factor for stride in found] == sorted(kept + beyond)


def test_the_greedy_search_ends_where_no_leg_reaches(robot):
    def make(factor):
        if factor > 2.0:
            raise OutOfBoundsError("no leg can be asked for it")
        return MatsuokaGait.published(robot.info, factor)

    found = greedy_strides(robot, make, duration=3.5)
    assert [stride.factor for stride in found] == [1.0, 2.0]
    with pytest.raises(OutOfBoundsError, match="no leg"):
        greedy_strides(robot, lambda factor: make(3.0), duration=3.5)
