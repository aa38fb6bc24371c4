"""The PUMA 560 of the examples: a third arm by an MJCF file and a few lines, against the published parameters."""

import math
from dataclasses import replace
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.envs.models.newton_euler import GRAVITY, Body, forward, inverse_dynamics, states, symmetric

from pliant.envs import Press, Randomisation, describe
from pliant.envs.randomisation import Uniform

FILE = Path(__file__).parents[3] / "examples" / "puma560" / "puma560.yaml"

# Armstrong, Khatib and Burdick (1986): modified Denavit–Hartenberg rows α, a, d; masses, centres, principal
# inertias; inertia of motors and gears; largest torques
ROWS = (
    (0.0, 0.0, 0.0),
    (-math.pi / 2, 0.0, 0.2435),
    (0.0, 0.4318, -0.0934),
    (math.pi / 2, -0.0203, 0.4331),
    (-math.pi / 2, 0.0, 0.0),
    (math.pi / 2, 0.0, 0.0),
)
MASSES = (0.0, 17.40, 4.80, 0.82, 0.34, 0.09)
CENTRES = ((0, 0, 0), (0.068, 0.006, -0.016), (0, -0.070, 0.014), (0, 0, -0.019), (0, 0, 0), (0, 0, 0.032))
INERTIAS = (
    (0.0, 0.0, 0.35),
    (0.130, 0.524, 0.539),
    (0.066, 0.0125, 0.066),
    (1.8e-3, 1.8e-3, 1.3e-3),
    (0.3e-3, 0.3e-3, 0.4e-3),
    (0.15e-3, 0.15e-3, 0.04e-3),
)
MOTORS = (1.14, 4.71, 0.827, 0.200, 0.179, 0.193)
TORQUES = (97.6, 186.4, 89.4, 24.2, 20.1, 21.3)
TOOL = (0.5, np.array([0.0, 0.0, 0.05625 + 0.03]), np.diag([3e-4, 3e-4, 2e-4]))


def published():
    bodies = []
    for (alpha, a, d), mass, centre, (xx, yy, zz) in zip(ROWS, MASSES, CENTRES, INERTIAS, strict=True):
        turn = Rotation.from_euler("x", alpha).as_matrix()
        inertia = symmetric(xx, 0.0, 0.0, yy, 0.0, zz)
        bodies.append(
            Body(turn, [a, -math.sin(alpha) * d, math.cos(alpha) * d], [(mass, np.array(centre), inertia)])
        )
    bodies[-1].parts.append(TOOL)
    return bodies


@pytest.fixture
def puma():
    with describe(FILE).simulated() as robot:
        robot.reset()
        yield robot


def test_the_chain_and_its_dynamics_are_the_published_ones(puma, mass_matrix):
    bodies, zero = published(), np.zeros(6)
    model, data = puma.model, mujoco.MjData(puma.model)
    for q, dq in zip(*states(100), strict=True):
        data.qpos[:6], data.qvel[:6] = q, dq
        mujoco.mj_forward(model, data)
        for k, (at, turn) in enumerate(forward(bodies, q)):
            np.testing.assert_allclose(data.body(f"link{k + 1}").xpos, at, rtol=0, atol=1e-12)
            np.testing.assert_allclose(data.body(f"link{k + 1}").xmat.reshape(3, 3), turn, rtol=0, atol=1e-12)
        expected = np.column_stack([inverse_dynamics(bodies, q, zero, one, zero[:3]) for one in np.eye(6)])
        matrix = mass_matrix(model, data)[:6, :6]
        np.testing.assert_allclose(matrix, expected + np.diag(MOTORS), rtol=0, atol=1e-9)
        bias = inverse_dynamics(bodies, q, dq, zero, GRAVITY)
        np.testing.assert_allclose(data.qfrc_bias[:6], bias, rtol=0, atol=1e-9 * np.abs(bias).max())
    np.testing.assert_allclose(model.actuator_forcerange[:, 1], TORQUES)


def test_it_goes_where_it_is_sent_and_its_wrist_carries_the_tool(puma):
    names = puma.info.signal_names
    radius = [names.index(f"tip/position_{axis}") for axis in "xy"]
    before = np.hypot(*puma.read().signals[radius])
    goal = puma.info.rest.copy()
    goal[0] += 0.2
    for k in range(500):
        puma.send(puma.info.rest + (goal - puma.info.rest) * min(k / 250, 1.0))
    state = puma.read()
    np.testing.assert_allclose(state.position, goal, atol=1e-3)
    assert state.signals[names.index("wrist/force_z")] == pytest.approx(-0.5 * 9.81, abs=1e-3)
    assert np.hypot(*state.signals[radius]) == pytest.approx(before, abs=1e-6)


def test_its_ball_presses_on_the_springy_plate(puma):
    """Lowered by its shoulder, the tip meets the plate; the plate yields by F/k, and the wrist reads F."""
    names = puma.info.signal_names
    force = [names.index(f"wrist/force_{axis}") for axis in "xyz"]
    command = puma.info.rest.copy()
    for _ in range(3000):
        if puma.data.qpos[6] < -1e-3:
            break
        command[1] += 1e-4
        puma.send(command)
    else:
        pytest.fail("the plate was not met")
    for _ in range(500):
        puma.send(command)
    yielded = -float(puma.data.qpos[6])
    assert yielded > 5e-4
    turn = puma.data.site("flange").xmat.reshape(3, 3)
    felt = turn @ puma.read().signals[force]  # what the arm exerts on the tool: carries it, and presses
    assert felt[2] == pytest.approx(0.5 * 9.81 - 2e4 * yielded, abs=0.05)


@pytest.mark.slow
def test_robots_on_its_plate_side_by_side_are_single_ones_to_the_last_bit():
    """Episodes that begin pressed into the plate, drawn robots, one by one and together."""
    varied = Randomisation(mass=Uniform(0.8, 1.2), damping=Uniform(0.5, 2.0))
    pressed = {"joint2": -0.785398 + 0.1137}
    robot = describe(FILE)
    model = replace(robot.model, start=replace(robot.model.start, joints=pressed))
    options = {
        "robot": replace(robot, model=model),
        "task": Press(duration=0.2, hold=0.1, limit=500.0),
        "randomisation": varied,
    }
    single = gymnasium.make("pliant/Robot-v0", **options)
    several = gymnasium.make_vec("pliant/Robot-v0", num_envs=2, **options)
    (alone, _), (together, _) = single.reset(seed=3), several.reset(seed=[3, 4])
    np.testing.assert_array_equal(together[0], alone)
    info = single.unwrapped.robot.info
    action = (2.0 * (info.rest - info.low) / (info.high - info.low) - 1.0).astype(np.float32)
    for _ in range(20):
        alone = single.step(action)
        together = several.step(np.stack([action, 0.99 * action]))
        np.testing.assert_array_equal(together[0][0], alone[0])
        if alone[2] or alone[3]:
            break
    data = single.unwrapped.robot.data
    assert data.qpos[6] < -1e-5, "it does press on the plate"
    single.close()
    several.close()
