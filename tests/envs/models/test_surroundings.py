"""Things around a robot: where they are, how they touch, how they yield; with every kind of description."""

import mujoco
import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from pliant.actuators import compile_model, load_model, save_model
from pliant.envs import Randomisation, SimulatedRobot, describe
from pliant.envs.explanation import explain
from pliant.envs.models.own_robot import own_robot
from pliant.envs.models.surroundings import Thing, with_surroundings
from pliant.envs.randomisation import Uniform
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError

FINGER = """<mujoco model="finger">
<option timestep="0.001" integrator="discrete" gravity="0 0 0"/>
<default><geom friction="2 0.1 0.1" solref="0.4 1" solimp="0.1 0.2 0.1" margin="0.05" rgba="1 0 0 1"
priority="0" condim="1" contype="1" conaffinity="1" density="7"/><joint stiffness="3" damping="9" armature="4"
frictionloss="5"/></default><worldbody><geom name="floor" type="plane" size="3 3 0.1"/>
<body name="carriage" pos="0 0 0.51"><joint name="x" type="slide" axis="1 0 0" stiffness="0" damping="0"
armature="0" frictionloss="0"/><inertial pos="0 0 0" mass="1e-3" diaginertia="1e-6 1e-6 1e-6"/>
<body name="finger"><joint name="z" type="slide" axis="0 0 1" stiffness="0" damping="20"
armature="0" frictionloss="0"/>
<geom name="ball" size="0.01" mass="2" margin="0"/><site name="tip" pos="0 0 -0.01"/></body></body></worldbody>
</mujoco>"""
STIFF = {"solref": [0.002, 1.0], "solimp": [0.99, 0.999, 1e-4, 0.5, 2.0]}
TABLE = {"box": [0.6, 0.4, 0.02], "position": [0.0, 0.0, 0.49]}
"""Its top is where the finger's ball ends."""


@pytest.fixture
def finger(tmp_path):
    (tmp_path / "finger.xml").write_text(FINGER)
    return own_robot("finger.xml", tmp_path, end_effectors={"tip": "tip"})


def pressed(robot, force, seconds=0.5, along=0.0):
    """A simulation in which the finger was pushed down, and along x, with a force, N."""
    model = compile_model(robot.spec)
    data = mujoco.MjData(model)
    for _ in range(round(seconds / model.opt.timestep)):
        data.qfrc_applied[:2] = along, -force
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    return model, data


def test_things_are_where_they_are_said_to_be_and_as_large(finger):
    turn = [0.3, -0.5, 0.2]
    things = {
        "box": {"box": [0.4, 0.3, 0.2], "position": [1, 2, 3], "rotation": turn},
        "post": {"cylinder": [0.05, 0.6], "position": [0, 1, 0.3]},
        "globe": Thing(sphere=0.07, position=(1.0, 0.0, 0.07)),
    }
    model = compile_model(with_surroundings(finger, things).spec)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.geom("box").xpos, [1, 2, 3], atol=1e-12)
    np.testing.assert_allclose(
        data.geom("box").xmat.reshape(3, 3), Rotation.from_rotvec(turn).as_matrix(), atol=1e-12
    )
    np.testing.assert_allclose(model.geom("box").size, [0.2, 0.15, 0.1])
    np.testing.assert_allclose(model.geom("post").size[:2], [0.05, 0.3])
    np.testing.assert_allclose(model.geom("globe").size[0], 0.07)
    assert model.nv == 2
    assert finger.spec.body("box") is None, "the robot that was given is not changed"


def test_nothing_of_a_models_defaults_leaks_in(finger):
    model = compile_model(with_surroundings(finger, {"plate": {**TABLE, "stiffness": 1e4, "mass": 0.8}}).spec)
    geom, joint = model.geom("plate"), model.joint("plate")
    assert (geom.friction[0], geom.condim[0], geom.margin[0], geom.gap[0]) == (0.5, 3, 0.0, 0.0)
    np.testing.assert_allclose(geom.solref, [0.004, 1.0])
    np.testing.assert_allclose(geom.solimp, [0.9, 0.95, 0.001, 0.5, 2.0])
    assert model.body("plate").mass[0] == pytest.approx(0.8)
    assert joint.stiffness[0] == 1e4
    assert joint.damping[0] == pytest.approx(2.0 * np.sqrt(1e4 * 0.8))
    assert (joint.armature[0], joint.frictionloss[0]) == (0.0, 0.0)


def test_its_own_friction_holds_against_the_robots(finger):
    """Pushed with 10 N and pulled with 6, 2 kg accelerate by (6 − 0.3·10)/2.001 m/s²; the ball's own μ is 2."""
    robot = with_surroundings(finger, {"table": {**TABLE, "friction": 0.3}})
    _, still = pressed(robot, 10.0, along=2.5)
    assert abs(still.qvel[0]) < 0.01
    _, before = pressed(robot, 10.0, 0.2, along=6.0)
    _, after = pressed(robot, 10.0, 0.3, along=6.0)
    assert (after.qvel[0] - before.qvel[0]) / 0.1 == pytest.approx(3.0 / 2.001, rel=0.01)


@pytest.mark.parametrize("stiffness", [2e3, 5e4, 1e6, 5e6])
def test_a_spring_in_series_with_the_contact_yields_by_both(finger, stiffness):
    """The thing yields by F/k to rounding; what the tip sees is 1/K = 1/k + 1/K_c, K_c by the contact alone."""
    force = 20.0
    _, held = pressed(with_surroundings(finger, {"plate": {**TABLE, **STIFF, "stiffness": stiffness}}), force, 2.0)
    yielded = -float(held.qpos[2])
    assert yielded == pytest.approx(force / stiffness, rel=1e-6)
    depth = float(0.5 - held.site("tip").xpos[2])
    contact = float(held.contact[0].dist)
    assert depth == pytest.approx(force / stiffness - contact, rel=1e-6)
    _, fixed = pressed(with_surroundings(finger, {"plate": {**TABLE, **STIFF}}), force, 2.0)
    alone = force / float(0.5 - fixed.site("tip").xpos[2])
    assert alone > 5e6
    assert force / depth == pytest.approx(1.0 / (1.0 / stiffness + 1.0 / alone), rel=0.02)


def test_a_thing_that_a_spring_holds_rests_where_it_is_put_though_it_stands_in_others(finger):
    finger.spec.option.gravity = [0.0, 0.0, -9.81]
    finger.spec.body("finger").gravcomp = 1.0
    things = {
        "block": {"box": [0.2, 0.2, 0.2], "position": [1, 0, 0.05], "stiffness": 1e3},
        "second": {"box": [0.2, 0.2, 0.2], "position": [1.1, 0, 0.05], "stiffness": 1e3},
        "third": {"sphere": 0.2, "position": [1.1, 0, 0.05]},
    }
    _, data = pressed(with_surroundings(finger, things), 0.0, 0.3)
    np.testing.assert_allclose(data.qpos[2:], 0.0, atol=1e-12)


def test_ours_users_own_and_scenes_say_it_alike(tmp_path):
    (tmp_path / "finger.xml").write_text(FINGER)
    wall = {"box": [0.1, 0.2, 0.3], "position": [0.4, 0.0, 0.2], "rotation": [0.0, 0.0, 0.5], "stiffness": 5e4}
    own = {"model": "finger.xml", "surroundings": {"wall": wall}, "period": 0.002}
    text = yaml.safe_dump(own)
    assert "50000.0" in text
    (tmp_path / "finger.yaml").write_text(text.replace("50000.0", "5e4"))  # which is text to YAML
    place = {"robot": "finger.yaml", "at": [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]}
    (tmp_path / "pair.yaml").write_text(
        yaml.safe_dump(
            {"robots": {"left": place, "right": {**place, "at": [0, -1, 0]}}, "surroundings": {"wall": wall}}
        )
    )
    ours = describe("arm2")
    arm = {"model": {"_target_": "pliant.envs.models.arm2.arm2"}, "surroundings": {"wall": wall}}
    for description, names in (
        (arm, ["wall"]),
        (tmp_path / "finger.yaml", ["wall"]),
        (tmp_path / "pair.yaml", ["wall", "left/wall", "right/wall"]),
    ):
        described = describe(description)
        with described.simulated() as robot:
            if described.model.joints == ours.model.joints:
                robot.send(robot.info.rest)
            for name in names:
                np.testing.assert_allclose(robot.model.geom(name).size, [0.05, 0.1, 0.15])
                assert robot.model.joint(name).stiffness[0] == 5e4
            assert not any("wall" in name for name in (*robot.info.joints, *robot.info.signal_names))
    turned = robot.data.body("left/wall")
    np.testing.assert_allclose(turned.xpos, [-0.4, 1.0, 0.2], atol=1e-12)
    expected = Rotation.from_rotvec([0, 0, 0.5 + np.pi]).as_matrix()
    np.testing.assert_allclose(turned.xmat.reshape(3, 3), expected, atol=1e-9)


def test_a_saved_model_and_robots_that_are_drawn_have_it_too(tmp_path):
    plate = {"box": [0.3, 0.3, 0.02], "position": [0.0, 0.0, 0.05], "stiffness": 3e4, "damping": 7.0}
    robot = with_surroundings(describe("arm2").model, {"plate": plate})
    assert explain(describe(robot)).mass == pytest.approx(explain(describe("arm2")).mass)
    save_model(robot.spec, tmp_path / "arm.xml")
    model = load_model(tmp_path / "arm.xml")
    assert (model.joint("plate").stiffness[0], model.joint("plate").damping[0]) == (3e4, 7.0)
    varied = Randomisation(mass=Uniform(0.5, 2.0), damping=Uniform(0.5, 2.0))
    with SimulatedRobot(robot, 0.01, randomisation=varied) as drawn, SimulatedRobot(robot, 0.01) as plain:
        commands = np.tile(plain.info.rest, (20, 1))
        several = drawn.rollout(commands, seeds=range(3))
        assert np.isfinite(several.position).all()
        one = plain.rollout(commands[None])
        plain.reset()
        for command in commands:
            plain.send(command)
        np.testing.assert_array_equal(one.position[0, -1], plain.read().position)


@pytest.mark.parametrize(
    ("things", "error", "says"),
    [
        ({"wall": {}}, ConfigurationError, "'wall': no shape is given; one of box, cylinder, sphere"),
        ({"wall": {"box": [1, 1, 1], "sphere": 1}}, ConfigurationError, "'wall': box and sphere is given"),
        ({"wall": {"box": [1, 1]}}, ShapeError, "'wall': box has shape"),
        ({"wall": {"box": [1, 1, -1]}}, OutOfBoundsError, "'wall': box = -1 m"),
        ({"wall": {"sphere": float("nan")}}, OutOfBoundsError, "'wall': sphere: radius is nan"),
        (
            {"wall": {"sphere": 1, "colour": "red"}},
            UnknownNameError,
            "unknown entry 'colour' in surroundings: 'wall'",
        ),
        ({"wall": {"sphere": 1, "rotation": [0, 0, 0, 1]}}, ShapeError, "'wall': rotation has shape"),
        ({"wall": {"sphere": 1, "friction": -0.1}}, OutOfBoundsError, "'wall': friction = -0.1"),
        ({"wall": {"sphere": 1, "solref": [0.02, -1]}}, OutOfBoundsError, "'wall': solref is .* both above 0"),
        (
            {"wall": {"sphere": 1, "solimp": [0.9, 1.5, 0.001, 0.5, 2]}},
            OutOfBoundsError,
            "highest impedance = 1.5",
        ),
        ({"wall": {"sphere": 1, "damping": 3}}, ConfigurationError, "damping is of a spring"),
        ({"wall": {"sphere": 1, "stiffness": 0}}, OutOfBoundsError, "'wall': stiffness = 0"),
        ({"finger": {"sphere": 1}}, ConfigurationError, "has something called 'finger' already"),
        ({"floor": {"sphere": 1}}, ConfigurationError, "has something called 'floor' already"),
        ({"wall": 3}, ConfigurationError, "'wall' is 3; a mapping"),
        (["wall"], ConfigurationError, r"surroundings are \['wall'\]"),
        ({3: {"sphere": 1}}, ConfigurationError, "3 is no name"),
    ],
)
def test_what_cannot_stand_there_is_refused_by_name(finger, things, error, says):
    with pytest.raises(error, match=says):
        with_surroundings(finger, things)


@pytest.mark.parametrize("integrator", ["EULER", "IMPLICITFAST", "DISCRETE"])
def test_a_spring_that_the_time_step_does_not_carry_is_refused(finger, integrator):
    """Without damping h = 1 ms carries k < 4·m/h²: 2 MN/m with 0.5 kg. `discrete` carries any."""
    finger.spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    bounded = integrator != "DISCRETE"
    for stiffness in (1.9e6, 2.1e6):
        plate = {**TABLE, "stiffness": stiffness, "damping": 0.0}
        if bounded and stiffness > 2e6:
            with pytest.raises(ConfigurationError, match=r"need a time step below 0\.000976 s"):
                with_surroundings(finger, {"plate": plate})
            continue
        model = compile_model(with_surroundings(finger, {"plate": plate}).spec)
        data = mujoco.MjData(model)
        data.qpos[0], data.qpos[2] = 5.0, 1e-3  # the finger elsewhere, the plate plucked
        mujoco.mj_step(model, data, 2000)
        assert abs(data.qpos[2]) < 0.1


def test_settings_on_the_command_line_are_checked_too(verb):
    wall = "robot.surroundings={wall: {box: [1, 1], position: [1, 0, 0]}}"
    status, _, err = verb("play", "random", "task=reach", "episodes=1", wall)
    assert status == 2
    assert "surroundings: 'wall': box has shape (2,)" in err
