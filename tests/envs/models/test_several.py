"""Several robots in one scene: each moves as it does by itself, under names of its own."""

import mujoco
import numpy as np
import pytest
from tests.envs.simulation.robots import ROBOTS, quadruped

from pliant.envs import SimulatedRobot, describe
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.models.several import Placed, in_one_scene
from pliant.errors import ConfigurationError, FileFormatError, OutOfBoundsError, PliantError, ShapeError

ARM = """<mujoco model="arm"><option timestep="0.001" integrator="implicitfast"/>
<asset><mesh name="tool" file="meshes/tool.obj"/></asset>
<worldbody><geom name="floor" type="plane" size="3 3 .1"/><light pos="0 0 3"/>
<body name="link" pos="0 0 0.5"><joint name="hinge" axis="0 1 0" range="-70 70" damping="0.05"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.1 0 -0.12" mass="0.15"/>
<geom type="mesh" mesh="tool" pos="0.1 0 -0.15" mass="0.05"/><site name="tip" pos="0.1 0 -0.15"/></body>
</worldbody>
<actuator><position joint="hinge" kp="20" kv="1"/></actuator></mujoco>"""
CORNERS = [f"v {x} {y} {z}" for x in (0, 0.02) for y in (0, 0.02) for z in (0, 0.02)]
SIDES = ["1 2 4 3", "5 7 8 6", "1 5 6 2", "3 4 8 7", "1 3 7 5", "2 6 8 4"]
TOOL = "\n".join([*CORNERS, *(f"f {side}" for side in SIDES)])
PAIR = """robots:
  left: {robot: arm/arm.yaml, at: [0, 0.4, 0]}
  right: {robot: arm/arm.yaml, at: [0, -0.4, 0, 0.7071, 0, 0, 0.7071]}
"""


@pytest.fixture
def pair(tmp_path):
    """A folder with an arm, whose mesh is in a folder of its own, and a scene of two."""
    (tmp_path / "arm" / "meshes").mkdir(parents=True)
    (tmp_path / "arm" / "meshes" / "tool.obj").write_text(TOOL)
    (tmp_path / "arm" / "arm.xml").write_text(ARM)
    (tmp_path / "arm" / "arm.yaml").write_text("model: arm.xml\nend_effectors: [tip]\nsignals: [tip]\n")
    (tmp_path / "pair.yaml").write_text(PAIR)
    return tmp_path


def values(robot):
    return dict(zip(robot.info.signal_names, robot.read().signals, strict=True))


def test_each_robot_of_a_scene_moves_as_it_does_by_itself(pair):
    with describe(pair / "pair.yaml").simulated() as both, describe(pair / "arm" / "arm.yaml").simulated() as one:
        assert both.info.command_names == ("left/hinge/position", "right/hinge/position")
        for _ in range(20):
            both.send([0.5, 0.5])
            one.send([0.5])
        together, alone = values(both), values(one)
    assert alone["hinge/position"] > 0.1
    for side in ("left", "right"):
        assert together[f"{side}/hinge/position"] == pytest.approx(alone["hinge/position"], abs=1e-12)
    tip = [alone[f"tip/position_{axis}"] for axis in "xyz"]
    np.testing.assert_allclose(
        [together[f"left/tip/position_{axis}"] for axis in "xyz"], tip + np.array([0, 0.4, 0])
    )
    turned = [-tip[1], tip[0] - 0.4, tip[2]]
    np.testing.assert_allclose([together[f"right/tip/position_{axis}"] for axis in "xyz"], turned, atol=1e-12)


def test_there_is_one_floor_and_one_sun(pair):
    model = describe(pair / "pair.yaml").simulated().model
    assert [model.geom(i).name for i in range(model.ngeom) if model.geom_type[i] == 0] == ["left/floor"]
    assert model.nlight == 1


def test_a_scene_holds_what_is_there_besides(pair):
    (pair / "table.xml").write_text(
        '<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody><geom type="plane" size="1 1 1" '
        'name="table"/><body name="ball" pos="1 0 0.1"><freejoint/><geom size="0.1" mass="1"/></body>'
        '<body pos="2 0 0.3"><joint name="door" damping="1"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    (pair / "pair.yaml").write_text(
        f"model: table.xml\nsignals: [ball, right/tip/position_z]\n{PAIR}"
        "start: {joints: {left/hinge: 0.3}, bodies: {ball: [0.7, 0, 0.1]}}\n"
    )
    with describe(pair / "pair.yaml").simulated() as robot:
        assert robot.info.joints == ("door", "left/hinge", "right/hinge")
        assert robot.info.rest.tolist() == [0.3, 0.0]
        read = values(robot)
        assert (read["left/hinge/position"], read["ball/position_x"]) == (0.3, 0.7)
        assert read["right/tip/position_z"] == pytest.approx(0.35)
        model = robot.model
        assert [model.geom(i).name for i in range(model.ngeom) if model.geom_type[i] == 0] == ["table"]
        assert model.opt.timestep == 0.002


def test_a_robot_that_floats_starts_where_it_is_put_on_its_own_feet():
    scene = in_one_scene({"dog": Placed(quadruped(), [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 1.0]), "arm": Placed(arm2())})
    with SimulatedRobot(quadruped(), 0.02) as alone, SimulatedRobot(scene, 0.02) as robot:
        read, own = values(robot), values(alone)
        turned = (1.0 - own["base/position_x"], 2.0 - own["base/position_y"])
        assert (read["dog/base/position_x"], read["dog/base/position_y"]) == pytest.approx(turned, abs=1e-3)
        assert read["dog/base/position_z"] == pytest.approx(own["base/position_z"], abs=1e-3)
        assert abs(read["dog/base/orientation_z"]) == pytest.approx(own["base/orientation_w"], abs=1e-3)
        assert read["dog/fl_hip/position"] == pytest.approx(own["fl_hip/position"], abs=1e-2)
        assert robot.info.rest[:2] == pytest.approx([0.6, -1.2])


def test_a_scene_of_every_build_is_simulated():
    """Springs, servos, tendons, sensors and files of every kind beside each other."""
    names = ("mixed", "gripper", "six_position", "urdf")
    robots = {name: Placed(ROBOTS[name](), [k, 0, 0]) for k, name in enumerate(names)}
    integrators = {robot.spec.option.integrator for robot, _ in robots.values()}
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.integrator = 0.001, max(integrators)
    scene = in_one_scene(robots, RobotModel("scene", spec, ()))
    with SimulatedRobot(scene, 0.02) as robot:
        robot.send(robot.info.rest)
        assert np.isfinite(robot.read().signals).all()
        assert "gripper/grip/position" in robot.info.command_names
        assert "mixed/gauge/position" in robot.info.signal_names


def test_robots_that_differ_in_gravity_need_a_scene_that_says_which_holds():
    robots = {"down": Placed(arm2()), "none": Placed(arm2(gravity=False))}
    with pytest.raises(ConfigurationError, match=r"differ in gravity .*give them a scene"):
        in_one_scene(robots)


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("robots: [arm/arm.yaml]", ConfigurationError, r"`NAME: \{robot: ./arm.yaml, at: .*` is needed"),
        ("robots: {left: arm/arm.yaml}", ConfigurationError, "is none; `NAME: {robot:"),
        ("robots: {left: {robot: arm2, where: 1}}", ConfigurationError, "is none; `NAME: {robot:"),
        ("robots: {left: {robot: arm2, at: [0, 1]}}", ShapeError, "robot 'left': at has shape"),
        ("robots: {left: {robot: arm2, at: [0, 0, 0, 0, 0, 0, 0]}}", OutOfBoundsError, "is no quaternion"),
        ("robots: {l/r: {robot: arm2}}", ConfigurationError, "robot 'l/r' of a scene: letters, digits"),
        ("robots: {left: {robot: pair.yaml}}", FileFormatError, "is a robot of its own scene"),
        ("robots: {left: {robot: arm3}}", PliantError, "unknown robot 'arm3'"),
        ("robots: {}", ConfigurationError, "model is a NoneType|needs a model"),
        ("model: arm/arm.xml\nstart: {bodies: {box: [0, 0, 0]}}", PliantError, "unknown free body 'box'"),
    ],
)
def test_what_is_no_scene_is_refused_by_name(pair, text, error, says):
    (pair / "pair.yaml").write_text(text)
    with pytest.raises(error, match=says):
        describe(pair / "pair.yaml").simulated()
