import numpy as np
import pytest
from scipy import stats

from pliant.envs.description import describe
from pliant.envs.models.robot_model import tool_load
from pliant.envs.models.ur import ur
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.force_torque.tool_load import identify_load
from pliant.hardware.force_torque.wrench import ToolLoad, rotation_matrix

LOAD = ToolLoad(1.7, (0.02, -0.03, 0.11))
BIAS = np.array([4.0, -7.0, 12.0, 0.3, -0.2, 0.5])
GRAVITY = np.array([0.0, 0.0, -9.81])


def readings(rotations, load=LOAD, bias=BIAS):
    return np.array([load.raw(turn.T @ GRAVITY) + bias for turn in rotations])


def poses(rotation, count, seed=0):
    random = np.random.default_rng(seed)
    return np.array([rotation(random) for _ in range(count)])


@pytest.mark.parametrize("count", [3, 4, 12])
def test_exact_readings_give_the_load_exactly(rotation, count):
    turns = poses(rotation, count)
    found = identify_load(turns, readings(turns))
    assert found.load.mass == pytest.approx(LOAD.mass, abs=1e-10)
    assert found.load.com == pytest.approx(LOAD.com, abs=1e-10)
    assert found.bias == pytest.approx(BIAS, abs=1e-10)
    assert np.abs(found.residuals).max() < 1e-10
    assert found.mass_deviation < 1e-10


def test_noise_ends_within_the_stated_deviations(rotation):
    """Errors over their stated deviations are distributed as Student's t with the degrees of freedom left.

    Of the 12 unknowns of 600 identifications the share within t's central 90 % must be 0.9, within 4.5 standard
    deviations of a binomial with as many draws as there are identifications (unknowns of one are correlated).
    """
    turns, runs = poses(rotation, 6, 3), 600
    random = np.random.default_rng(7)
    clean = readings(turns)
    noise = np.repeat([0.4, 0.02], 3)
    inside = []
    for _ in range(runs):
        found = identify_load(turns, clean + noise * random.standard_normal(clean.shape))
        # the first moment's part of the centre's error; the mass is known to 0.05 % here
        errors = [
            (found.load.mass - LOAD.mass) / found.mass_deviation,
            *((np.array(found.load.com) - LOAD.com) / found.com_deviation),
            *((found.bias - BIAS) / found.bias_deviation),
        ]
        freedom = np.array([18 - 4, *[18 - 6] * 3, *[18 - 4] * 3, *[18 - 6] * 3])
        inside.append(np.abs(errors) < stats.t.ppf(0.95, freedom))
    share = np.array(inside).mean(axis=0)
    assert np.abs(share - 0.9).max() < 4.5 * np.sqrt(0.9 * 0.1 / runs), share
    assert found.noise == pytest.approx((0.4, 0.02), rel=0.6)


def test_a_sensor_in_mujoco_tells_a_known_tool():
    model = ur(
        "ur10e",
        tool={"mass": 1.2, "com": [0.01, -0.02, 0.06], "inertia": [2e-3, 2e-3, 1e-3, 0, 0, 0]},
        payload={"mass": 0.5, "com": [0.0, 0.03, 0.15]},
    )
    whole = tool_load(model, "wrist")
    assert whole.mass == pytest.approx(1.7, abs=1e-12)
    assert whole.com == pytest.approx(
        (np.array([0.01, -0.02, 0.06]) * 1.2 + np.array([0.0, 0.03, 0.15]) * 0.5) / 1.7, abs=1e-12
    )
    robot = SimulatedRobot(model, 0.01)
    first = len(robot.info.signals) - len(robot.info.sensors)
    wrist = [robot.info.signal(f"wrist/{kind}_{axis}") - first for kind in ("force", "torque") for axis in "xyz"]
    turns, found = [], []
    robot.connect()
    for wrist_1, wrist_2 in ((-1.57, -1.57), (-0.5, -1.57), (-2.6, -0.4), (-1.57, 0.3), (-1.0, -2.8)):
        angles = [0.0, -1.57, 1.57, wrist_1, wrist_2, 0.4]
        robot.reset(position=angles, command=angles)
        for _ in range(100):  # the loops settle: 5 mrad of sag at the most
            robot.send(angles)
        state = robot.read()
        turns.append(robot.data.site("flange").xmat.reshape(3, 3).copy())
        found.append(state.sensors[wrist])
    told = identify_load(turns, found)
    assert told.load.mass == pytest.approx(whole.mass, abs=1e-6)
    assert told.load.com == pytest.approx(whole.com, abs=1e-6)
    assert np.abs(told.bias).max() < 1e-5


def test_poses_that_cannot_tell_are_named():
    level = np.array([rotation_matrix([0.0, 0.0, angle]) for angle in (0.0, 1.0, 2.0, 3.0)])
    with pytest.raises(ConfigurationError, match="differs by no more than"):
        identify_load(level, readings(level))
    little = np.array([rotation_matrix([angle, -angle, 0.0]) for angle in (0.0, 0.02, 0.04)])
    with pytest.raises(ConfigurationError, match="cannot be told from the bias"):
        identify_load(little, readings(little))
    # gravity along +z and −z of the sensor alone: the centre along z stays unknown
    opposite = np.array([rotation_matrix([angle, 0.0, 0.0]) for angle in (0.0, np.pi, 0.0, np.pi)])
    with pytest.raises(ConfigurationError, match=r"along \[.*1\.? *\] of the sensor alone"):
        identify_load(opposite, readings(opposite))


def test_a_sensor_of_the_opposite_sign_is_seen(rotation):
    turns = poses(rotation, 5)
    with pytest.raises(ConfigurationError, match="reads the opposite"):
        identify_load(turns, -readings(turns))


def test_no_load_is_no_error(rotation):
    turns = poses(rotation, 6)
    random = np.random.default_rng(2)
    noise = np.repeat([0.3, 0.03], 3) * random.standard_normal((6, 6))
    found = identify_load(turns, readings(turns, ToolLoad()) + noise)
    assert abs(found.load.mass) < 4 * found.mass_deviation
    assert np.abs(found.bias - BIAS).max() < 1.0


def test_what_cannot_be_is_refused(rotation):
    turns = poses(rotation, 4)
    good = readings(turns)
    with pytest.raises(ShapeError, match="three"):
        identify_load(turns[:2], good[:2])
    with pytest.raises(ShapeError, match=r"\(poses, 6\)"):
        identify_load(turns, good[:, :3])
    with pytest.raises(OutOfBoundsError, match="readings of pose 2"):
        identify_load(turns, np.where(np.arange(4)[:, None] == 2, np.nan, good))
    with pytest.raises(OutOfBoundsError, match="rotations of pose 1"):
        identify_load(np.where(np.arange(4)[:, None, None] == 1, 2 * turns, turns), good)
    with pytest.raises(OutOfBoundsError, match="gravity is zero"):
        identify_load(turns, good, gravity=(0.0, 0.0, 0.0))
    with pytest.raises(UnknownNameError, match="wrist"):
        tool_load(describe("ur10e").model, "wrsit")
