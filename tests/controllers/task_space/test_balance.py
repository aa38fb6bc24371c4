"""The centre of mass over the support: polygons, leaning, and contacts that come and go."""

import numpy as np
import pytest

from pliant.controllers.task_space import Balance, CentreOfMassTask, Contact, ForceTask, PostureTask, TaskStack
from pliant.controllers.task_space.balance import convex_hull, nearest_inside
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

SIZE = (0.12, 0.06)


def standing(walker, **settings):
    walker.update(np.zeros(20), np.zeros(20), [0.0, 0, 1.1, 1, 0, 0, 0], np.zeros(6))
    stack = TaskStack(
        walker,
        {"com": CentreOfMassTask(), "posture": PostureTask(mechanics=walker)},
        {side: Contact(f"{side}_sole", size=SIZE, ramp=0.2) for side in ("left", "right")},
        forces={"push": ForceTask("left_hand", [0.0, 0.0, 0.0], rate=1e6)},
    )
    stack.hold()
    return stack, Balance(stack, **settings)


def test_the_hull_of_points_is_their_outermost_ones():
    random = np.random.default_rng(3)
    inner = random.uniform(-0.9, 0.9, (200, 2))
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    hull = convex_hull(np.concatenate([inner, corners, [[0.0, 1.0]]]))
    assert {tuple(point) for point in hull} == {tuple(point) for point in corners}
    ends = np.roll(hull, -1, axis=0)
    assert 0.5 * np.sum(hull[:, 0] * ends[:, 1] - ends[:, 0] * hull[:, 1]) == pytest.approx(4.0)  # anticlockwise


@pytest.mark.parametrize(
    ("point", "nearest"),
    [((0.2, 0.3), (0.2, 0.3)), ((3.0, 0.5), (1.0, 0.5)), ((2.0, 2.0), (1.0, 1.0)), ((-5.0, -0.1), (0.0, 0.0))],
)
def test_the_nearest_point_of_a_square(point, nearest):
    square = convex_hull(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(nearest_inside(square, np.array(point)), nearest)


def test_hulls_without_an_area():
    np.testing.assert_allclose(nearest_inside(convex_hull(np.array([[1.0, 2.0]])), np.zeros(2)), [1.0, 2.0])
    edge = convex_hull(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]]))
    np.testing.assert_allclose(nearest_inside(edge, np.array([1.5, 3.0])), [1.5, 0.0])


def test_the_support_is_the_hull_of_both_soles(walker):
    _, balance = standing(walker)
    half = 0.1 + SIZE[1]  # feet stand 0.1 m to each side
    hull = balance.support()
    np.testing.assert_allclose([*hull.min(axis=0), *hull.max(axis=0)], [0.03 - 0.12, -half, 0.03 + 0.12, half])
    small = balance.support(0.02)
    np.testing.assert_allclose(small.max(axis=0), [0.03 + 0.10, half - 0.02])


def test_a_target_outside_goes_to_the_edge(walker):
    stack, balance = standing(walker, margin=0.02)
    aim = balance.aim(np.array([0.5, 0.0]))
    np.testing.assert_allclose(aim.target, [0.13, 0.0], atol=1e-12)
    assert aim.moved == pytest.approx(0.37)
    stack.constraints["left"].active = False
    aim = balance.aim(np.array([0.03, 0.0]))
    np.testing.assert_allclose(aim.target, [0.03, -0.1 + SIZE[1] - 0.02], atol=1e-12)
    stack.constraints["right"].active = False
    np.testing.assert_array_equal(balance.aim(np.array([9.0, 9.0])).target, [9.0, 9.0])  # nothing to stand on


def test_it_leans_against_a_force_by_its_height_and_the_weight(walker):
    stack, balance = standing(walker)
    force, mass = stack.forces["push"], float(walker.model.body_subtreemass[walker.root])
    sole = walker.pose(walker.frame("left_sole"))
    hand = walker.pose(walker.frame("left_hand"))
    asked = np.array([0.03, 0.0])
    force.target[:] = [15.0, -8.0, 0.0]
    force.advance(1.0)
    expected = asked + np.array([15.0, -8.0]) * (hand[2] - sole[2]) / (mass * 9.81)
    np.testing.assert_allclose(balance.aim(asked).target, expected, atol=1e-9)
    force.target[:] = [0.0, 0.0, 20.0]  # lifting something: it leans away from it
    force.advance(1.0)
    expected = asked - 20.0 * (hand[:2] - asked) / (mass * 9.81)
    np.testing.assert_allclose(balance.aim(asked).target, expected, atol=1e-9)
    upright = Balance(stack, lean=False)
    np.testing.assert_allclose(upright.aim(asked).target, asked)


def test_moments_about_the_carrying_point_vanish(walker):
    """Weight, reaction of the surroundings and the floor's force at the point that carries: no moment left."""
    stack, balance = standing(walker)
    force, asked = stack.forces["push"], np.array([0.02, 0.01])
    force.target[:] = [9.0, 6.0, -5.0]
    force.advance(1.0)
    mass = float(walker.model.body_subtreemass[walker.root])
    point = np.array([*asked, walker.pose(walker.frame("left_sole"))[2]])
    com = np.array([*balance.aim(asked).target, 0.7])
    hand = walker.pose(walker.frame("left_hand"))[:3]
    moment = np.cross(com - point, [0.0, 0.0, -mass * 9.81]) + np.cross(hand - point, [-9.0, -6.0, 5.0])
    np.testing.assert_allclose(moment[:2], 0.0, atol=1e-9)


def test_a_fall_is_the_centre_of_mass_outside(walker):
    _, balance = standing(walker)
    assert balance.outside() == 0.0
    walker.update(np.zeros(20), np.zeros(20), [0.0, 0, 1.1, np.cos(0.3), 0, np.sin(0.3), 0], np.zeros(6))
    com, hull = walker.data.subtree_com[walker.root], balance.support()
    assert balance.outside() == pytest.approx(com[0] - hull[:, 0].max(), abs=1e-3)
    assert balance.outside() > 0.1


def test_a_foot_that_is_put_down_is_held_where_it_is(walker):
    stack, _ = standing(walker)
    contact = stack.constraints["left"]
    before = contact.target.copy()
    contact.active = False
    for _ in range(3):
        stack.solve(0.2)
    assert not contact.holds
    walker.update(np.zeros(20), np.zeros(20), [0.2, 0, 1.1, 1, 0, 0, 0], np.zeros(6))
    contact.active = True
    stack.solve(0.01)
    assert contact.holds
    assert contact.target[0] == pytest.approx(before[0] + 0.2)


def test_balance_that_cannot_be_is_refused(walker):
    stack, _ = standing(walker)
    with pytest.raises(UnknownNameError, match="cmo"):
        Balance(stack, "cmo")
    with pytest.raises(ConfigurationError, match="PostureTask"):
        Balance(stack, "posture")
    with pytest.raises(OutOfBoundsError, match="margin"):
        Balance(stack, margin=-1.0)
    with pytest.raises(ConfigurationError, match="no contacts"):
        Balance(TaskStack(walker, {"com": CentreOfMassTask()}))
