"""Targets: where they are, what is read of them, what they leave alone."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.actuators import compile_model
from pliant.envs import Randomisation, SimulatedRobot, describe
from pliant.envs.description import robot_settings
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.several import Placed, in_one_scene
from pliant.envs.models.targets import with_targets
from pliant.envs.randomisation import Uniform
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError

AT = [0.2, -0.1, 0.3]
TURN = Rotation.from_rotvec([0.3, -0.5, 0.2]).as_quat(scalar_first=True).tolist()


def pose(robot, name):
    """What is read of a target, (7,)."""
    state, quantities = robot.read(), [f"position_{k}" for k in "xyz"] + [f"orientation_{k}" for k in "wxyz"]
    return state.signals[[robot.info.signal(f"{name}/{quantity}") for quantity in quantities]]


def test_a_target_is_read_where_it_stands_and_where_it_is_moved():
    with SimulatedRobot(with_targets(arm2(), {"tip": AT, "other": [*AT, *TURN]}), 0.01) as robot:
        assert robot.targets.names == ("tip_target", "other_target")
        np.testing.assert_allclose(pose(robot, "tip_target"), [*AT, 1, 0, 0, 0], atol=1e-12)
        np.testing.assert_allclose(pose(robot, "other_target"), [*AT, *TURN], atol=1e-12)
        robot.targets.move("tip_target", [0.5, 0.6, 0.7, *TURN])
        robot.send(robot.info.rest)
        np.testing.assert_allclose(pose(robot, "tip_target"), [0.5, 0.6, 0.7, *TURN], atol=1e-12)
        robot.targets.move("tip_target", AT)
        robot.send(robot.info.rest)
        np.testing.assert_allclose(pose(robot, "tip_target"), [*AT, *TURN], atol=1e-12)
        np.testing.assert_allclose(robot.targets.pose("tip_target"), [*AT, *TURN], atol=1e-12)
        robot.targets.move("other_target", np.zeros(3))
        robot.reset()
        np.testing.assert_allclose(pose(robot, "other_target"), [*AT, *TURN], atol=1e-12)


def test_a_target_touches_nothing_and_changes_no_motion():
    bare, aimed = arm2(), with_targets(arm2(), {"tip": [0.2, 0.0, 0.0]})
    assert len(bare.targets) == 0, "the robot that was given is not changed"
    motions = []
    for model in (bare, aimed):
        with SimulatedRobot(model, 0.01) as robot:
            motions.append(robot.rollout(np.tile(robot.info.rest + 0.3, (100, 1))))
            flags, ncon = int(robot.model.opt.disableflags), robot.data.ncon
            assert flags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT), (
                "contacts are looked for where there were none"
            )
            assert ncon == 0
    np.testing.assert_array_equal(motions[0].position, motions[1].position)


def test_what_can_be_put_anywhere_and_touches_is_still_looked_for():
    spec = arm2().spec.copy()
    spec.worldbody.add_body(name="hand", pos=[9, 9, 9], mocap=True).add_geom(size=[0.01, 0, 0])
    model = SimulatedRobot(arm2(), 0.01).model
    assert model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    touching = SimulatedRobot(replace(arm2(), spec=spec), 0.01).model
    assert not touching.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


def test_every_description_may_have_targets_and_several_robots_keep_their_own():
    settings = {**robot_settings("arm2"), "targets": {"tip": AT}}
    described = describe(settings)
    assert described.model.targets == {"tip_target": "tip_target"}
    scene = in_one_scene({"left": Placed(described.model, (0, 1, 0)), "right": Placed(arm2(), (0, -1, 0))})
    with SimulatedRobot(scene, 0.01) as robot:
        assert robot.targets.names == ("left/tip_target",)
        np.testing.assert_allclose(pose(robot, "left/tip_target")[:3], np.add(AT, [0, 1, 0]), atol=1e-12)
    varied = described.simulated(randomisation=Randomisation(mass=Uniform(0.9, 1.1)), seed=0)
    with varied as robot:
        np.testing.assert_allclose(pose(robot, "tip_target")[:3], AT, atol=1e-12)


def test_a_target_is_drawn_translucent_and_can_be_picked():
    model = compile_model(with_targets(arm2(), {"tip": AT}).spec)
    body = model.body("tip_target").id
    geoms = np.flatnonzero(model.geom_bodyid == body)
    assert len(geoms) == 4
    assert 0.0 < model.geom_rgba[geoms[0], 3] < 1.0
    assert (model.geom_group[geoms] < 3).all(), "viewers show and pick groups 0 to 2"
    assert model.body_mass[body] == 0.0


@pytest.mark.parametrize(
    ("targets", "error", "said"),
    [
        ([AT], ConfigurationError, "positions by name are needed"),
        ({"tip": [0.0, 1.0]}, ShapeError, "targets: 'tip' has shape"),
        ({"tip": [0.0, 1.0, float("nan")]}, OutOfBoundsError, "targets: 'tip'"),
        ({"tip": [*AT, 0, 0, 0, 0]}, OutOfBoundsError, "no quaternion"),
        ({"": AT}, ConfigurationError, "is no name"),
    ],
)
def test_what_is_no_target_is_refused(targets, error, said):
    with pytest.raises(error, match=said):
        with_targets(arm2(), targets)


def test_names_that_are_taken_or_unknown_are_refused():
    robot = with_targets(arm2(), {"tip": AT})
    with pytest.raises(ConfigurationError, match="has a 'tip_target' already"):
        with_targets(robot, {"tip": AT})
    with SimulatedRobot(robot, 0.01) as simulated:
        with pytest.raises(UnknownNameError, match="unknown target 'tip'"):
            simulated.targets.move("tip", AT)
        with pytest.raises(ShapeError):
            simulated.targets.move("tip_target", [0.0])
