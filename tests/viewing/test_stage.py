"""What a screen draws of a robot, beside what is simulated."""

import mujoco
import numpy as np
import pytest

from pliant.envs.description import describe
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.targets import with_targets
from pliant.envs.rendering import OffscreenRenderer, RenderingError
from pliant.envs.simulation import SimulatedRobot
from pliant.viewing.stage import Stage, hidden_bodies, lit_model

ARM = """
<mujoco model="own">
  <worldbody>
    {scene}
    <body name="arm" pos="0 0 {height}">
      {joint}
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
    </body>
  </worldbody>
  {actuator}
</mujoco>
"""
HINGE = '<joint name="hip" axis="0 1 0"/>'
FLOATING = '<freejoint/><geom size="0.05"/></body><body name="other" pos="0 0 1"><joint name="hip" axis="0 1 0"/>'
MOTOR = '<actuator><motor joint="hip" ctrlrange="-1 1"/></actuator>'
PLANE = mujoco.mjtGeom.mjGEOM_PLANE


def own(tmp_path, scene="", height=0.2, joint=HINGE):
    file = tmp_path / "own.xml"
    file.write_text(ARM.format(scene=scene, height=height, joint=joint, actuator=MOTOR))
    robot = describe(str(file)).simulated()
    robot.connect()
    return robot


def planes(model):
    return np.flatnonzero(model.geom_type == PLANE)


def test_a_model_without_light_sky_and_floor_is_shown_with_them_and_simulated_without(tmp_path):
    robot = own(tmp_path)
    shown = Stage(robot).model
    assert (robot.model.nlight, robot.model.ntex, len(planes(robot.model))) == (0, 0, 0)
    assert shown.nlight == 2
    assert mujoco.mjtTexture.mjTEXTURE_SKYBOX in shown.tex_type
    (floor,) = planes(shown)
    assert shown.geom_contype[floor] == shown.geom_conaffinity[floor] == 0
    assert shown.geom_pos[floor, 2] == 0.0


def test_the_motion_through_a_floor_that_is_only_shown_is_the_one_without_a_screen(tmp_path):
    """The arm hangs 0.2 m above the floor that is shown, is 0.3 m long and falls."""
    alone, seen = own(tmp_path), own(tmp_path)
    stage = Stage(seen)
    for _ in range(200):
        for robot in (alone, seen):
            robot.send([0.1])
        stage.follow()
        stage.give_back()
        assert seen.data.ncon == 0
    assert seen.read().position[0] > 0.9, "it has not fallen below the floor"
    np.testing.assert_array_equal(seen.get_state().integration, alone.get_state().integration)


def test_what_a_model_has_is_left_as_it_is(tmp_path):
    scene = '<light pos="0 0 3"/><geom type="plane" size="1 1 0.1"/>'
    robot = own(tmp_path, scene, height=1.0)
    shown = lit_model(robot.compiled)
    assert shown.nlight == 1
    assert len(planes(shown)) == 1
    assert mujoco.mjtTexture.mjTEXTURE_SKYBOX in shown.tex_type
    ours = SimulatedRobot(arm2())
    assert lit_model(ours.compiled) is ours.model


def test_what_floats_is_shown_no_floor_that_it_would_fall_through(tmp_path):
    robot = own(tmp_path, joint=FLOATING, height=1.0)
    assert not len(planes(lit_model(robot.compiled)))


def test_a_robot_that_reaches_below_the_ground_has_its_floor_below_it(tmp_path):
    robot = own(tmp_path, height=0.0)
    shown = lit_model(robot.compiled)
    (floor,) = planes(shown)
    assert shown.geom_pos[floor, 2] < -0.34


def test_the_stage_follows_the_robot_and_gives_back_what_pulls_and_is_dragged():
    robot = SimulatedRobot(with_targets(arm2(), {"tip": [0.1, 0.2, 0.3]}), 0.01)
    robot.connect()
    stage = Stage(robot)
    robot.send([0.5, 0.3, 0.2, 0.3])
    stage.follow()
    np.testing.assert_array_equal(stage.data.qpos, robot.data.qpos)
    np.testing.assert_array_equal(stage.data.mocap_pos, robot.data.mocap_pos)
    link = robot.model.body("link2").id
    stage.data.xfrc_applied[link, 0] = 3.0
    stage.data.mocap_pos[0] = [0.3, 0.0, 0.4]
    stage.give_back()
    np.testing.assert_allclose(robot.targets.pose("tip_target")[:3], [0.3, 0.0, 0.4])
    before = robot.read().position.copy()
    for _ in range(20):
        robot.send([0.5, 0.3, 0.2, 0.3])
    assert np.abs(robot.read().position - before).max() > 0.05
    assert robot.data.xfrc_applied[link, 0] == 3.0


def test_of_a_link_of_which_nothing_would_be_seen_the_collision_geoms_are_shown(tmp_path):
    """Neither beside geoms that are seen, nor of a body that moves as one with such."""
    file = tmp_path / "own.xml"
    file.write_text("""
        <mujoco>
          <worldbody>
            <geom name="plinth" size="0.1" group="3"/>
            <body name="upper"><joint name="hip" axis="0 1 0"/>
              <geom name="look" size="0.1" contype="0" conaffinity="0"/> <geom name="shell" size="0.1" group="3"/>
              <body name="tool"><geom name="probe" size="0.1" group="3"/></body>
              <body name="lower" pos="0 0 0.5"><joint name="knee" axis="0 1 0"/>
                <geom name="glass" size="0.1" rgba="1 1 1 0"/> <geom name="rod" size="0.1" group="4"/></body>
            </body>
          </worldbody>
          <actuator><motor joint="hip" ctrlrange="-1 1"/></actuator>
        </mujoco>""")
    robot = describe(str(file)).simulated()
    shown = lit_model(robot.compiled)
    groups = {name: int(shown.geom(name).group[0]) for name in ("plinth", "look", "shell", "probe", "rod")}
    assert groups == {"plinth": 0, "look": 0, "shell": 3, "probe": 3, "rod": 0}
    assert hidden_bodies(robot.model) == ("world", "lower")
    assert robot.model.geom("rod").group == 4


def test_the_picture_of_a_model_without_light_is_bright(tmp_path):
    robot = own(tmp_path, height=1.0)
    stage = Stage(robot)
    try:
        with OffscreenRenderer(robot.model, 64, 48) as bare, OffscreenRenderer(stage.model, 64, 48) as lit:
            dark, bright = bare.render(robot.data), lit.render(stage.data)
    except RenderingError as error:
        pytest.skip(str(error))
    assert np.median(dark) < 10
    assert np.median(bright) > 150
