"""The two arms at the ramp, the box and the plane of Storiale, Ferrentino and Chiacchio (2022)."""

import math

import mujoco
import numpy as np
import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from scipy.spatial.transform import Rotation

from pliant.actuators import compile_model
from pliant.envs import describe

# What the paper's files say, in the world of the simulation: centres and edges, m, and where the tip begins
WORLDS = {
    "ur10": (Rotation.from_euler("z", math.pi), np.array([0.0, 0.0, 1.0])),
    "smartsix": (Rotation.identity(), np.array([0.0, 0.0, 0.01])),
}
THINGS = {
    ("ur10", "ramp"): ((-0.0306, 0.8025, 0.8438), (0.41, 0.035, 0.01)),
    ("smartsix", "ramp"): ((0.1092, 1.0534, 0.5162), (0.41, 0.055, 0.01)),
    ("ur10", "box"): ((-0.3351, 0.8985, 0.8355), (0.32, 0.32, 0.17)),
    ("smartsix", "box"): ((-0.2211, 1.1689, 0.5211), (0.32, 0.32, 0.17)),
    ("ur10", "plane"): ((-0.4455, 0.779, 0.7244), (1.0, 0.3, 0.01)),
    ("smartsix", "plane"): ((-0.1685, 0.947, 0.4338), (1.0, 0.3, 0.01)),
}
TIPS = {"ur10_ramp": (0.0, 0.8007, 0.8587), "smartsix_ramp": (0.269, 1.048, 0.494)}
ROBOTS = ("ur10_ramp", "smartsix_ramp", "ur10_plane", "smartsix_plane")


@pytest.fixture(scope="module")
def standing():
    """Models and simulations at the start, by robot."""
    found = {}
    for name in ROBOTS:
        robot = describe(name).model
        model = compile_model(robot.spec)
        data = mujoco.MjData(model)
        data.qpos[:] = list(robot.start.joints.values())
        mujoco.mj_forward(model, data)
        found[name] = model, data
    return found


@pytest.mark.parametrize(("arm", "thing"), THINGS)
def test_everything_stands_where_the_paper_has_it(standing, arm, thing):
    model, data = standing[f"{arm}_{'plane' if thing == 'plane' else 'ramp'}"]
    turn, shift = WORLDS[arm]
    centre, edges = THINGS[arm, thing]
    np.testing.assert_allclose(turn.apply(data.geom(thing).xpos) + shift, centre, rtol=0, atol=1e-9)
    np.testing.assert_allclose(2.0 * model.geom(thing).size, edges)
    axes = turn.as_matrix() @ data.geom(thing).xmat.reshape(3, 3)
    slope = math.radians(29.1) if thing == "ramp" else 0.0
    along = axes[:, 0] * -np.sign(axes[0, 0])  # towards -x
    np.testing.assert_allclose(along, [-math.cos(slope), 0.0, math.sin(slope)], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", TIPS)
def test_the_tip_begins_where_the_paper_says_and_the_way_to_the_ramp_is_as_long(standing, name):
    """44.7 mm along -x for the UR10, 106.1 mm for the Smart-Six, until the ball touches."""
    model, data = standing[name]
    turn, shift = WORLDS[name.partition("_")[0]]
    tip = turn.apply(data.site("tcp").xpos) + shift
    np.testing.assert_allclose(tip, TIPS[name], rtol=0, atol=5e-4)
    assert data.ncon == 0
    slope = math.radians(29.1)
    normal = turn.inv().apply([math.sin(slope), 0.0, math.cos(slope)])
    height = float(normal @ (data.geom("tool").xpos - data.geom("ramp").xpos)) - model.geom("ramp").size[2]
    way = (height - model.geom("tool").size[0]) / math.sin(slope)
    assert way == pytest.approx(0.0447 if name == "ur10_ramp" else 0.1061, abs=5e-4)


@pytest.mark.parametrize("name", ["ur10_plane", "smartsix_plane"])
def test_the_tip_begins_8_millimetres_above_the_plane_and_points_down(standing, name):
    model, data = standing[name]
    top = data.geom("plane").xpos[2] + model.geom("plane").size[2]
    assert data.site("tcp").xpos[2] - top == pytest.approx(0.0082, abs=1e-4)
    tilt = math.degrees(math.acos(-data.site("tcp").xmat.reshape(3, 3)[2, 2]))
    assert tilt == pytest.approx(0.39 if name == "ur10_plane" else 0.0, abs=0.01)
    assert data.ncon == 0


@pytest.mark.parametrize(
    ("name", "stiffness", "mass"), [("ur10_plane", 1.04e5, 12.0), ("smartsix_ramp", 6.0e5, None)]
)
def test_the_loops_are_as_stiff_as_those_of_the_reference(standing, name, stiffness, mass):
    """1/K = Σ Jᵢ²/kpᵢ along z at the tip; for the Smart-Six the reference's masses were not scaled."""
    model, data = standing[name]
    jacobian, full = np.zeros((3, model.nv)), np.zeros((model.nv, model.nv))
    mujoco.mj_jacSite(model, data, jacobian, None, model.site("tcp").id)
    mujoco.mj_fullM(model, data, full)
    gains = [model.actuator_gainprm[k, 0] for k in range(model.nu)]
    assert 1.0 / (jacobian[2] ** 2 / gains).sum() == pytest.approx(stiffness, rel=0.01)
    if mass is not None:
        assert 1.0 / (jacobian[2] @ np.linalg.inv(full) @ jacobian[2]) == pytest.approx(mass, rel=0.03)


def led(robot, q, steps):
    """Lead the tip by steps, m, its axes kept, by the Jacobian of where it is sent; returns the angles."""
    model, data, site = robot.model, mujoco.MjData(robot.model), robot.model.site("tcp").id
    jacobian = np.zeros((6, model.nv))
    for step in steps:
        data.qpos[:6] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], site)
        q = q + np.linalg.solve(jacobian[:, :6], np.concatenate([step, np.zeros(3)]))
        robot.send(q)
    return q


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("arm", ["ur10", "smartsix"])
def test_up_the_ramp_the_wrist_reads_the_slope_and_the_friction(arm, friction):
    """Fx/Fz = tan(p + atan μ) of what holds the ball back, p = 29.1°."""
    with initialize_config_module("pliant.conf", version_base=None):
        settings = OmegaConf.to_container(compose(overrides=[f"+robot={arm}_ramp"]), resolve=True)["robot"]
    settings["surroundings"]["ramp"]["friction"] = friction
    with describe(settings).simulated(0.001) as robot:
        robot.reset()
        names, slope = robot.info.signal_names, math.radians(29.1)
        force = [names.index(f"wrist/force_{axis}") for axis in "xyz"]
        held = robot.read().signals[force]
        ahead = WORLDS[arm][0].inv().apply([-1.0, 0.0, 0.0])
        up = np.array([0.0, 0.0, 1.0])
        along, into = (
            math.cos(slope) * ahead + math.sin(slope) * up,
            math.sin(slope) * ahead - math.cos(slope) * up,
        )
        data, model = robot.data, robot.model
        gap = -into @ (data.geom("tool").xpos - data.geom("ramp").xpos)
        gap -= model.geom("ramp").size[2] + model.geom("tool").size[0]
        q = led(robot, robot.info.rest, np.tile(0.15 * along / 300, (300, 1)) if arm == "smartsix" else [])
        q = led(robot, q, np.tile((gap + 3e-4) * into / 300, (300, 1)))
        led(robot, q, np.tile(1e-5 * along, (800, 1)))
        assert data.ncon == 1
        turn = data.site("flange").xmat.reshape(3, 3)
        pushed = turn @ (robot.read().signals[force] - held)  # what the arm exerts on the ramp
        assert pushed @ ahead > 3.0
        ratio = (pushed @ ahead) / -(pushed @ up)
        assert ratio == pytest.approx(math.tan(slope + math.atan(friction)), rel=5e-3)
