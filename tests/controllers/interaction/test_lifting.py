"""Off what a tool touches: against its force, by 8 mm, and only while there is one."""

import numpy as np
import pytest
from tests.controllers.interaction.conftest import START

from pliant.controllers.interaction import DesiredWrench, DirectForceGains
from pliant.controllers.interaction.lifting import DISTANCE, LiftOff
from pliant.controllers.poses import difference

PERIOD = 0.008


def settled(ur10, force, seconds=5.0, q=START):
    lift = LiftOff(ur10.kinematics, PERIOD)
    for _ in range(round(seconds / PERIOD)):
        lift.take(q, None if force is None else np.array(force))
    return lift


@pytest.mark.parametrize("force", [[0.0, 0.0, -20.0], [3.0, -4.0, 0.0], [1.0, 2.0, -2.0]])
def test_the_tool_goes_against_its_force_and_keeps_its_orientation(ur10, force):
    lift = settled(ur10, force)
    way = difference(ur10.preview.pose(START + lift.shift), ur10.preview.pose(START))
    np.testing.assert_allclose(way[:3], -DISTANCE * np.array(force) / np.linalg.norm(force), atol=1e-6)
    np.testing.assert_allclose(way[3:], 0.0, atol=1e-6)


def test_without_a_contact_the_joints_are_where_they_are(ur10):
    lift = settled(ur10, None)
    np.testing.assert_array_equal(lift.shift, np.zeros(6))
    lift = settled(ur10, [0.0, 0.0, -20.0], 1.0)
    assert np.abs(lift.shift).max() > 1e-3
    for _ in range(round(4.0 / PERIOD)):
        lift.take(START, None)
    np.testing.assert_array_equal(lift.shift, np.zeros(6))


def test_it_follows_the_tool_along_its_way(ur10):
    lift, q = LiftOff(ur10.kinematics, PERIOD), START.copy()
    for _ in range(600):
        q = q + np.array([4e-4, -2e-4, 2e-4, 0.0, 0.0, 0.0])
        lift.take(q, np.array([0.0, 0.0, -20.0]))
    way = difference(ur10.preview.pose(q + lift.shift), ur10.preview.pose(q))
    np.testing.assert_allclose(way[:3], [0.0, 0.0, DISTANCE], atol=2e-5)


def test_limits_of_the_joints_are_kept(ur10):
    high = ur10.kinematics.high
    q = START.copy()
    q[1] = ur10.kinematics.low[1] + 1e-4
    lift = settled(ur10, [0.0, 0.0, -20.0], q=q)
    assert (q + lift.shift >= ur10.kinematics.low).all()
    assert (q + lift.shift <= high).all()


def test_a_controller_that_presses_says_how_to_get_clear(rig, ur10):
    height = ur10.preview.pose(START)[2]

    def wrench(time, tip):
        return [0.0, 0.0, -5e3 * max(0.0, height - tip[2]), 0.0, 0.0, 0.0]

    found = rig(DirectForceGains(0.0, 4e-4), wrench=wrench, period=PERIOD)
    assert not found.controller.clearance.any()
    found.controller.submit(DesiredWrench([0.0, 0.0, 15.0]))
    found.run(6.0)
    assert found.now.wrench[2] == pytest.approx(15.0, abs=0.1)
    clear = found.q + found.controller.clearance
    way = difference(ur10.preview.pose(clear), ur10.preview.pose(found.q))
    np.testing.assert_allclose(way[:3], [0.0, 0.0, DISTANCE], atol=1e-4)
