"""Postures for weighing a tool: within limits and box on all ways, and telling."""

import numpy as np
import pytest

from pliant.controllers.poses import matrix
from pliant.controllers.weighing import weighing_tour
from pliant.envs.arm import arm
from pliant.envs.models.ur import ur
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError
from pliant.hardware.force_torque.tool_load import identify_load
from pliant.hardware.force_torque.wrench import ToolLoad

START = np.array([1.36, -1.2, 1.94, 3.55, -1.57, -1.78])
LOAD = ToolLoad(1.7, (0.02, -0.03, 0.11))
BIAS = np.array([4.0, -7.0, 12.0, 0.3, -0.2, 0.5])
BOX = [[-0.2, -0.25, -0.02], [0.2, 0.25, 0.3]]


@pytest.fixture(scope="module")
def ur10():
    return arm(ur("ur10", tcp=(0.0, 0.0, 0.195, 0.0, 0.0, 0.0)))


@pytest.fixture(scope="module")
def tour(ur10):
    return weighing_tour(ur10, START, 8, reach=0.9, box=BOX)


def test_joints_keep_their_limits_and_their_reach(ur10, tour):
    assert tour.postures.shape == (8, 6)
    assert (tour.postures >= ur10.kinematics.low).all()
    assert (tour.postures <= ur10.kinematics.high).all()
    assert np.abs(tour.postures - START).max() <= 0.9
    edge = np.array([*START[:5], ur10.kinematics.high[5] - 0.01])
    assert weighing_tour(ur10, edge, 3, reach=0.9).postures[:, 5].max() <= edge[5]


def test_the_tool_keeps_to_the_box_on_all_ways(ur10, tour):
    begin, here = ur10.kinematics.pose(START)[:3], START
    legs = []
    for q, by_start in zip(*tour, strict=True):
        legs += [(here, START), (START, q)] if by_start else [(here, q)]
        here = q
    legs.append((here, START))
    for first, last in legs:
        for share in np.linspace(0.0, 1.0, 40):
            moved = ur10.kinematics.pose(first + share * (last - first))[:3] - begin
            assert (moved >= np.array(BOX[0]) - 0.01).all()  # between the places that were looked at
            assert (moved <= np.array(BOX[1]) + 0.01).all()


def test_they_tell_more_than_others_within_the_same_bounds(ur10, tour):
    """By the standard deviations that the fit states for the same noise."""

    def deviation(postures):
        turns = np.array([matrix(ur10.kinematics.pose(q)[3:]) for q in postures])
        noise = 0.3 * np.random.default_rng(1).standard_normal((len(turns), 6))
        clean = np.array([LOAD.raw(turn.T @ [0.0, 0.0, -9.81]) + BIAS for turn in turns])
        found = identify_load(turns, clean + noise)
        assert found.load.mass == pytest.approx(LOAD.mass, abs=5.0 * found.mass_deviation)
        return found.mass_deviation / found.noise[0], np.linalg.norm(found.com_deviation) / found.noise[1]

    random = np.random.default_rng(0)
    begin = ur10.kinematics.pose(START)[:3]
    drawn = START + random.uniform(-0.9, 0.9, (4000, 6))
    moved = np.array([ur10.kinematics.pose(q)[:3] - begin for q in drawn])
    inside = drawn[((moved >= BOX[0]) & (moved <= BOX[1])).all(axis=1)]
    others = [deviation(inside[random.choice(len(inside), 8, replace=False)]) for _ in range(40)]
    assert (np.array(deviation(tour.postures)) < np.quantile(others, 0.1, axis=0)).all()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"count": 2}, OutOfBoundsError, "poses"),
        ({"reach": -1.0}, OutOfBoundsError, "reach"),
        ({"box": [[0, 0, 0], [1, 1, -1]]}, OutOfBoundsError, "is not below"),
        ({"box": [0, 1]}, ShapeError, "box"),
        ({"box": [[0.29, 0.29, 0.29], [0.3, 0.3, 0.3]]}, ConfigurationError, "0 of 3000 postures"),
        ({"start": [0.0] * 5}, ShapeError, "start"),
        ({"start": [np.nan] * 6}, OutOfBoundsError, "start"),
    ],
)
def test_what_cannot_be_is_refused(ur10, settings, error, message):
    with pytest.raises(error, match=message):
        weighing_tour(ur10, **{"start": START, "count": 4, **settings})
