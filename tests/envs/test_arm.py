"""What an interaction controller is told of an arm."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.envs import SimulatedRobot, describe
from pliant.envs.arm import arm, load_behind
from pliant.envs.models.ur import ur
from pliant.errors import ConfigurationError, UnknownNameError
from pliant.hardware.ur_arms import JOINTS

TCP = (0.01, -0.02, 0.195, 0.0, 0.3, 0.4)


def test_the_frames_of_an_arm_are_those_of_its_model():
    model = ur("ur10", tcp=TCP)
    found = arm(model)
    rotation = Rotation.from_rotvec(TCP[3:])
    np.testing.assert_allclose(found.frames.sensor[:3], rotation.inv().apply(np.negative(TCP[:3])), atol=1e-12)
    turned = Rotation.from_quat(found.frames.sensor[3:], scalar_first=True)
    assert (turned * rotation).magnitude() < 1e-12
    np.testing.assert_allclose(found.frames.base, [0, 0, 0, 1, 0, 0, 0], atol=1e-12)
    assert found.kinematics.joints == JOINTS
    np.testing.assert_allclose(found.speed, np.radians([120, 120, 180, 180, 180, 180]), rtol=1e-6)
    q = np.array([0.3, -1.2, 1.4, -1.0, -1.5, 0.2])
    np.testing.assert_array_equal(found.kinematics.pose(q), found.preview.pose(q))


def test_the_load_behind_the_sensor_is_what_it_reads_at_rest():
    tool = {"mass": 1.3, "com": [0.01, -0.02, 0.06]}
    model = ur("ur10", tcp=TCP, tool=tool, payload={"mass": 2.0, "com": [0.0, 0.03, 0.2]})
    load = load_behind(model)
    assert load.mass == pytest.approx(3.3)
    np.testing.assert_allclose(
        load.com, (1.3 * np.array(tool["com"]) + 2.0 * np.array([0.0, 0.03, 0.2])) / 3.3, atol=1e-9
    )
    with SimulatedRobot(model, 0.002) as robot:
        posture = [0.3, -1.2, 1.4, -1.0, -1.2, 0.2]
        robot.reset(position=posture, command=posture)
        robot.send(posture)
        wrist = [robot.info.signal(f"wrist/{q}_{a}") for q in ("force", "torque") for a in "xyz"]
        raw = robot.read().signals[wrist]
        site = robot.data.site("flange")
        weight = load.mass * np.array([0.0, 0.0, -9.81]) @ site.xmat.reshape(3, 3)
    np.testing.assert_allclose(raw[:3], -weight, atol=0.3)
    np.testing.assert_allclose(raw[3:], -np.cross(load.com, weight), atol=0.1)


def test_any_robot_of_ours_or_of_a_user_is_described(tmp_path):
    (tmp_path / "arm.xml").write_text(
        """<mujoco><worldbody><body name="a" pos="1 2 3"><body name="b">
        <joint name="j1" axis="0 0 1" range="-1 1"/><geom size=".1"/><body name="c" pos=".5 0 0">
        <joint name="j2" axis="0 1 0" range="-1 1"/><geom size=".1"/>
        <site name="flange" pos=".1 0 0"/><site name="tip" pos=".3 0 0"/></body></body></body></worldbody>
        <actuator><position joint="j1" kp="100"/><position joint="j2" kp="100"/></actuator></mujoco>"""
    )
    (tmp_path / "arm.yaml").write_text(
        "model: arm.xml\njoints: {j1: native, j2: native}\n"
        "end_effectors: {tip: tip}\nforce_torque: {wrist: flange}\n"
    )
    found = arm(str(tmp_path / "arm.yaml"), speed=2.0)
    np.testing.assert_allclose(found.frames.base[:3], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found.frames.flange[:3], [-0.2, 0.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(found.speed, [2.0, 2.0])
    with pytest.raises(ConfigurationError, match="does not say how fast its joints may be"):
        arm(str(tmp_path / "arm.yaml"))
    with pytest.raises(UnknownNameError, match=r"unknown force-torque sensor 'hand'.*Valid: wrist"):
        arm(str(tmp_path / "arm.yaml"), sensor="hand")
    with pytest.raises(UnknownNameError, match=r"unknown site 'flang'.*Did you mean 'flange'"):
        arm(str(tmp_path / "arm.yaml"), flange="flang", speed=2.0)
    with pytest.raises(ConfigurationError, match="speeds of 2 joints"):
        arm(str(tmp_path / "arm.yaml"), speed=[1.0, 2.0, 3.0])


def test_a_sensor_before_a_joint_of_the_tool_is_refused():
    model = ur("ur10")
    body = next(b for b in model.spec.bodies if b.name == "forearm")
    body.add_site(name="elsewhere")
    with pytest.raises(ConfigurationError, match="site 'elsewhere' moves against the tool's 'tcp'"):
        arm(model, flange="elsewhere")
    assert isinstance(model.spec, mujoco.MjSpec)
    assert describe(model).model is model
