"""Contacts: their cones against forces of points, and forces that come and go."""

import itertools

import numpy as np
import pytest
from tests.controllers.task_space.conftest import SEED, place

from pliant.controllers.task_space import Contact, PostureTask, Prescribed, TaskStack
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError

SIZE, FRICTION = (0.12, 0.06), 0.7


def test_what_corners_can_do_is_within_the_cone_and_nothing_else(walker):
    """A wrench of forces at the corners, each in its pyramid, is allowed; one beyond any of them is not."""
    contact = Contact("left_sole", size=SIZE, friction=FRICTION, share=1.0)
    contact.bind(walker)
    rows, low, high = contact.cone()
    random, side = np.random.default_rng(SEED), FRICTION / np.sqrt(2.0)
    corners = np.array([[a * SIZE[0], b * SIZE[1], 0.0] for a, b in itertools.product((1, -1), (1, -1))])
    for _ in range(500):
        normal = random.uniform(0.0, 100.0, 4) * random.integers(0, 2, 4)
        forces = np.column_stack(
            [normal * random.uniform(-side, side, 4), normal * random.uniform(-side, side, 4), normal]
        )
        wrench = np.concatenate([forces.sum(0), np.cross(corners, forces).sum(0)])
        assert (rows @ wrench <= high + 1e-9).all()
        assert (rows @ wrench >= low - 1e-9).all()
    corner = corners[0]
    twisted = np.concatenate([[0.0, 0.0, 100.0], np.cross(corner, [0.0, 0.0, 100.0])])
    twisted[5] = 1.0  # all on one corner, which cannot resist a turn about itself
    assert (rows @ twisted > high + 1e-3).any()
    pulled = np.array([0.0, 0.0, -1.0, 0, 0, 0])
    assert (rows @ pulled > high).any() or (rows @ pulled < low).any()


def test_a_contact_that_goes_unloads_evenly_and_one_that_comes_is_loaded_so(walker):
    contact = Contact("left_sole", size=SIZE, ramp=0.2, force=1000.0)
    contact.bind(walker)
    force = np.array([0.0, 0.0, 400.0, 0, 0, 0])
    contact.active = False
    bounds = []
    for _ in range(250):
        contact.advance(1e-3, force)
        bounds.append(contact.cone()[2][-1])
        force[2] = min(force[2], bounds[-1])
    assert bounds[0] == pytest.approx(398.0)
    assert np.diff(bounds[:199]) == pytest.approx(-2.0)
    assert not contact.holds
    contact.active = True
    bounds = []
    for _ in range(250):
        assert contact.advance(1e-3, force) or bounds[-1] == 1000.0
        bounds.append(contact.cone()[2][-1])
    assert np.diff(bounds[:199]) == pytest.approx(5.0)
    assert contact.holds


def test_joints_that_something_else_moves_accelerate_as_told(walker):
    moved = Prescribed(["left_hip" if "left_hip" in walker.joints else "left_yaw"], mechanics=walker)
    driven = [name for name in walker.joints if name not in moved.joints]
    stack = TaskStack(walker, {"posture": PostureTask(mechanics=walker)}, {"moved": moved}, actuated=driven)
    place(walker, np.random.default_rng(SEED))
    moved.acceleration[:] = 3.0
    solution = stack.solve()
    assert solution.acceleration[moved.dofs] == pytest.approx(3.0, rel=1e-9)


def test_what_cannot_be_is_refused(walker):
    with pytest.raises(OutOfBoundsError, match="friction"):
        Contact("left_sole", friction=0.0)
    with pytest.raises(OutOfBoundsError, match="size"):
        Contact("left_sole", size=(0.1, -0.1))
    with pytest.raises(UnknownNameError, match="joint"):
        Prescribed(["wheel"], mechanics=walker)
    with pytest.raises(ConfigurationError, match="no joints"):
        Prescribed([], mechanics=walker)
