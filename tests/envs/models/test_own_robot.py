"""What the files of users contain, met: defaults, gears, degrees, names left out, what MuJoCo refuses."""

import copy

import numpy as np
import pytest

from pliant.envs import SimulatedRobot, describe
from pliant.envs.models.own_robot import own_robot
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MissingExtraError,
    MissingFileError,
    OutOfBoundsError,
    UnknownNameError,
)

LEG = """<mujoco model="leg"><compiler angle="degree" autolimits="true"/>
<option timestep="0.001" integrator="implicitfast"/>
<default><position kp="50" gear="2"/></default>
<worldbody><body name="thigh" pos="0 0 1"><joint name="hip" axis="0 1 0" range="-90 90" damping="0.1"/>
<geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4" mass="1"/>
<body name="shank" pos="0 0 -.4"><joint name="knee" axis="0 1 0" range="10 120" damping="0.1"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.4" mass=".5"/>
<body name="foot" pos="0 0 -.4"><joint axis="0 1 0" range="-40 40" damping="0.05" ref="5" springref="2"
stiffness="1"/><geom type="capsule" size=".02" fromto="-.05 0 0 .1 0 0" mass=".2"/><site name="toe" pos=".1 0 0"/>
</body></body></body></worldbody>
<actuator><position joint="foot_joint"/></actuator>
<sensor><gyro name="imu_gyro" site="toe"/></sensor></mujoco>"""
LEG = LEG.replace('<actuator><position joint="foot_joint"/></actuator>', "{actuators}")


def write(folder, text=LEG, actuators="", name="leg.xml"):
    (folder / name).write_text(text.replace("{actuators}", actuators))
    return name


def column(robot, name):
    return next(c for c in robot.info.command if c.name == name)


def test_a_glob_of_joints_reaches_over_the_prefixes_of_attached_models(tmp_path):
    text = LEG.replace('name="hip"', 'name="left/hip"')
    model = own_robot(write(tmp_path, text), tmp_path, joints={"*": "passive", "left*": {"law": "sea", "mode": 3}})
    assert [channel.name for channel in SimulatedRobot(model).info.command] == ["left/hip/equilibrium"]


def test_few_lines_make_a_robot_of_a_file(tmp_path):
    model = own_robot(
        write(tmp_path),
        tmp_path,
        joints={"hip": {"law": "sea", "k": 40.0, "mode": 6}, "k*": {"servo": "AX-12A"}},
        end_effectors={"tip": "toe"},
        signals=["imu_gyro", "tip/position_z"],
    )
    with SimulatedRobot(model, 0.01) as robot:
        assert robot.info.name == "leg"
        assert robot.info.joints == ("hip", "knee", "foot_joint")
        assert robot.info.command_names == ("hip/equilibrium", "knee/position")
        assert [c.name for c in robot.info.sensors] == [
            "tip/position_z",
            *(f"imu_gyro/angular_velocity_{a}" for a in "xyz"),
        ]
        robot.send(robot.info.rest)
        assert np.isfinite(robot.read().signals).all()


def test_a_joint_may_be_driven_by_any_drive_by_its_name(tmp_path):
    arm = {"hip": {"drive": "position_loop", "kp": 2e3, "torque_limit": 300.0}, "knee": {"law": "sea", "mode": 5}}
    with SimulatedRobot(own_robot(write(tmp_path), tmp_path, joints=arm), 0.01) as robot:
        hip = robot.compiled.joints[0].description
        assert hip.drive.parameters["kp"] == 2e3
        assert column(robot, "hip/position").high == pytest.approx(np.pi / 2)
        for _ in range(100):
            robot.send([0.3, *robot.info.rest[1:]])
        assert robot.read().position[0] == pytest.approx(0.3, abs=0.01)
    with pytest.raises(UnknownNameError, match=r"drive 'position_lop'.*position_loop"):
        own_robot(write(tmp_path), tmp_path, joints={"hip": {"drive": "position_lop"}})
    with pytest.raises(UnknownNameError, match="kq"):
        own_robot(write(tmp_path), tmp_path, joints={"hip": {"drive": "position_loop", "kq": 1.0}})


def test_the_resting_command_holds_the_robot_where_it_starts(tmp_path):
    soft = {"hip": {"law": "sea", "k": 40.0, "mode": 3}, "knee": {"drive": "position_loop", "kp": 2e3}}
    start = {"joints": {"hip": 0.4, "knee": 0.7}}
    model = own_robot(write(tmp_path), tmp_path, joints=soft, start=start, gravity_compensation=True)
    with SimulatedRobot(model, 0.01) as robot:
        assert robot.info.rest == pytest.approx([0.4, 0.7])
        for _ in range(50):
            robot.send(robot.info.rest)
        assert robot.read().position[:2] == pytest.approx([0.4, 0.7], abs=0.02)


@pytest.mark.parametrize(
    ("settings", "error", "expected"),
    [
        ({"joints": ["hip"]}, ConfigurationError, "joints are"),
        ({"ranges": {"hip/torque": 3}}, ConfigurationError, r"range of 'hip/torque' is 3; \[low, high\]"),
        ({"start": {"on_floor": 3}}, ConfigurationError, "on_floor is 3; true or false"),
        ({"start": {"settle": "x"}}, OutOfBoundsError, "settle is 'x'; a number"),
        ({"start": {"joints": {"hip": "a"}}}, OutOfBoundsError, "start of joint 'hip' is 'a'"),
        ({"start": {"joints": 3}}, ConfigurationError, "angles by joint are needed"),
    ],
)
def test_what_has_a_wrong_type_is_explained(tmp_path, settings, error, expected):
    with pytest.raises(error, match=expected):
        describe({"model": write(tmp_path), "folder": str(tmp_path), **settings})


def test_a_file_says_how_fast_its_robot_is_moved(tmp_path):
    write(tmp_path)
    file = tmp_path / "leg.yaml"
    file.write_text("model: leg.xml\nlimits: {rad: {acceleration: 4.0}}\n")
    assert describe(file).limits == {"rad": {"acceleration": 4.0}}


@pytest.mark.parametrize(
    ("limits", "error", "text"),
    [
        ("fast", ConfigurationError, "fast"),
        ({"rad": 4.0}, ConfigurationError, "needed"),
        ({"degree": {"speed": 90.0}}, UnknownNameError, "unit"),
        ({"rad": {"jerk": 1.0}}, UnknownNameError, "jerk"),
        ({"rad": {"speed": -1.0}}, OutOfBoundsError, "rad.speed"),
    ],
)
def test_limits_that_cannot_be_are_refused(tmp_path, limits, error, text):
    with pytest.raises(error, match=text):
        describe({"model": str(tmp_path / write(tmp_path)), "limits": limits})


def test_one_name_is_a_list_of_one(tmp_path):
    model = own_robot(write(tmp_path), tmp_path, end_effectors="toe", signals="imu_gyro")
    assert model.end_effectors == {"toe": "toe"}
    assert model.signals == ("imu_gyro",)


def test_degrees_of_the_file_are_radians_of_the_robot_and_it_starts_within_its_ranges(tmp_path):
    model = own_robot(write(tmp_path), tmp_path, joints={"*": {"law": "sea", "k": 40.0, "mode": 3}})
    robot = SimulatedRobot(model, 0.01)
    knee = column(robot, "knee/equilibrium")
    assert (knee.low, knee.high) == pytest.approx(np.deg2rad([10, 120]))
    start = {c.name: c.rest for c in robot.info.signals}
    assert start["knee/position"] == pytest.approx(np.deg2rad(10))
    assert start["hip/position"] == 0.0
    with robot:
        assert robot.read().position == pytest.approx([0.0, np.deg2rad(10), np.deg2rad(5)])  # ref of the foot


def test_a_gear_is_the_actuators_affair(tmp_path):
    text = LEG.replace('name="foot" pos="0 0 -.4"><joint', 'name="foot" pos="0 0 -.4"><joint name="ankle"')
    actuators = '<actuator><motor joint="hip" gear="150" ctrlrange="-1 1"/><position joint="ankle"/></actuator>'
    with SimulatedRobot(own_robot(write(tmp_path, text, actuators), tmp_path), 0.01) as robot:
        torque, ankle = column(robot, "hip/torque"), column(robot, "ankle/position")
        assert (torque.low, torque.high, torque.unit) == (-150.0, 150.0, "N·m")
        assert (ankle.low, ankle.high) == pytest.approx(np.deg2rad([-40, 40]))
        command = robot.info.rest.copy()
        command[0] = 3.0
        robot.send(command)
        assert robot.read().torque[0] == pytest.approx(3.0, rel=1e-12)
        for _ in range(400):
            robot.send([0.0, 0.2])
        # a position actuator with kp = 50 behind a gear of 2 acts with 50·2² on the joint
        state, load = robot.read(), robot.data.qfrc_bias[2] - robot.data.qfrc_passive[2]
        assert 200.0 * (0.2 - state.position[2]) == pytest.approx(load, abs=1e-3)


def test_what_is_said_of_a_joint_takes_the_place_of_its_actuator(tmp_path):
    name = write(tmp_path, actuators='<actuator><motor name="m" joint="hip" ctrlrange="-1 1"/></actuator>')
    kept = SimulatedRobot(own_robot(name, tmp_path), 0.01)
    assert kept.info.command_names == ("hip/torque",)
    replaced = SimulatedRobot(own_robot(name, tmp_path, joints={"hip": "sea"}), 0.01)
    assert replaced.info.command_names == ("hip/equilibrium",)
    passive = SimulatedRobot(own_robot(name, tmp_path, joints={"hip": "passive"}), 0.01)
    assert passive.info.command_names == ()
    assert passive.info.joints == ("hip", "knee", "foot_joint")
    ignored = SimulatedRobot(own_robot(name, tmp_path, joints={"foot*": "ignore"}), 0.01)
    assert ignored.info.joints == ("hip", "knee")


def test_free_and_ball_joints_tendons_mimics_and_unnamed_actuators_are_no_obstacle(tmp_path):
    text = """<mujoco model="zoo"><option timestep="0.001"/><worldbody>
    <body name="ball" pos="1 0 0.1"><freejoint/><geom size="0.05"/></body>
    <body name="arm" pos="0 0 1"><joint name="a" axis="0 1 0" range="-1 1"/><geom size="0.05" mass="1"/>
    <body pos="0 0 0.2"><joint type="ball" name="wrist"/><geom size="0.04" mass="0.3"/>
    <body pos="0 0 0.2"><joint name="b" axis="0 1 0" range="-1 1"/><geom size="0.04" mass="0.2"/>
    <body pos="0 0 0.1"><joint name="c" axis="0 1 0" range="-1 1"/><geom size="0.03" mass="0.1"/></body>
    </body></body></body></worldbody>
    <tendon><fixed name="rope"><joint joint="b" coef="1"/><joint joint="c" coef="-1"/></fixed></tendon>
    <equality><joint joint1="c" joint2="b"/></equality>
    <actuator><motor joint="a" ctrlrange="-2 2"/><motor tendon="rope" ctrlrange="-1 1"/>
    <general joint="b" gainprm="3" ctrlrange="-1 1"/></actuator>
    <sensor><ballquat joint="wrist" name="wrist_turn"/></sensor>
    <keyframe><key name="up" qpos="1 0 0.1 1 0 0 0 0.3 1 0 0 0 0.2 0.2" ctrl="1.5 0 0"/></keyframe></mujoco>"""
    (tmp_path / "zoo.xml").write_text(text)
    model = own_robot("zoo.xml", tmp_path, start="up", signals=["wrist_turn"], gravity_compensation=["arm"])
    with SimulatedRobot(model, 0.01) as robot:
        assert robot.info.joints == ("a", "b", "c")
        assert [(c.name, c.low, c.high, c.rest) for c in robot.info.command] == [
            ("a/torque", -2.0, 2.0, 1.5),
            ("b/torque", -3.0, 3.0, 0.0),
            ("actuator1/torque", -1.0, 1.0, 0.0),
        ]
        assert robot.read().position == pytest.approx([0.3, 0.2, 0.2])
        assert robot.read().sensors == pytest.approx([1.0, 0.0, 0.0, 0.0])
        robot.send(robot.info.rest)


def test_a_keyframe_loses_the_numbers_of_a_joint_that_becomes_passive(tmp_path):
    text = """<mujoco><worldbody><body><joint name="a" axis="0 1 0" range="-1 1"/><geom size="0.05" mass="0.3"/>
    <body pos="0 0 0.2"><joint name="b" axis="0 1 0" range="-1 1"/><geom size="0.04" mass="0.2"/></body></body>
    </worldbody><actuator><position joint="a" kp="9" ctrlrange="-1 1"/>
    <position joint="b" kp="9" ctrlrange="-1 1"/></actuator>
    <keyframe><key name="home" qpos="0.1 0.2" ctrl="0.1 0.2"/></keyframe></mujoco>"""
    (tmp_path / "arm.xml").write_text(text)
    model = own_robot("arm.xml", tmp_path, joints={"a": "passive"}, start="home")
    twin = copy.deepcopy(model)
    twin.spec.joint("a").damping[0] = 1.0
    assert model.spec.joint("a").damping[0] == 0.0
    with SimulatedRobot(model, 0.01) as robot:
        assert robot.info.command_names == ("b/position",)
        assert robot.info.rest == pytest.approx([0.2])
        assert robot.read().position == pytest.approx([0.1, 0.2])


def test_a_urdf_is_a_robot(tmp_path):
    link = '<link name="{0}"><inertial><origin xyz="0 0 0.1"/><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" '
    link += 'izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    text = f"""<robot name="urdf"><link name="base"/>{link.format("upper")}{link.format("lower")}
    <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="20" velocity="3"/></joint>
    <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.2"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="20" velocity="3"/></joint></robot>"""
    (tmp_path / "arm.urdf").write_text(text)
    model = own_robot("arm.urdf", tmp_path, joints={"*": {"law": "sea", "k": 60.0, "mode": 6}})
    with SimulatedRobot(model, 0.01) as robot:
        for _ in range(20):
            robot.send([0.3, -0.2])
        assert robot.info.joints == ("shoulder", "elbow")
        assert np.abs(robot.read().position).max() > 0.05


def test_includes_and_meshes_beside_the_file_are_found(tmp_path):
    (tmp_path / "parts").mkdir()
    corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    faces = [(1, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces]
    (tmp_path / "parts" / "wedge.obj").write_text("\n".join(lines))
    (tmp_path / "assets.xml").write_text('<mujoco><asset><mesh name="wedge" file="wedge.obj"/></asset></mujoco>')
    (tmp_path / "arm.xml").write_text(
        '<mujoco><compiler meshdir="parts"/><include file="assets.xml"/><worldbody><body><joint name="a"/>'
        '<geom type="mesh" mesh="wedge"/></body></worldbody></mujoco>'
    )
    assert own_robot("arm.xml", tmp_path).joints == ("a",)
    (tmp_path / "parts" / "wedge.obj").unlink()
    with pytest.raises(MissingFileError, match=r"'wedge\.obj'.*missing; looked in"):
        own_robot("arm.xml", tmp_path)


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"model": "legg.xml"}, MissingFileError, r"'legg\.xml' does not exist; in .* there is leg\.xml"),
        ({"model": "ur10e_mj_description"}, (MissingExtraError, MissingFileError), "ur10e_mj_description"),
        ({"joints": {"hipp": "sea"}}, UnknownNameError, "unknown joint 'hipp'.*Did you mean 'hip'"),
        ({"joints": {"hip": "see"}}, UnknownNameError, "'see'.*Did you mean 'sea'"),
        ({"joints": {"hip": {"law": "sea", "kk": 3}}}, UnknownNameError, "unknown entry 'kk' in joint 'hip'"),
        ({"joints": {"hip": {"law": "sea", "k": -3}}}, OutOfBoundsError, "k = -3"),
        ({"joints": {"hip": {"servo": "AX12"}}}, UnknownNameError, "unknown servo 'AX12'.*AX-12A"),
        ({"joints": {"hip": 3}}, ConfigurationError, "joint 'hip': 3 does not say what drives it"),
        ({"joints": {"hip": "native"}}, ConfigurationError, "no actuator of the model acts on it"),
        ({"joints": {"*": "ignore"}}, ConfigurationError, "no hinge or slide that is read"),
        ({"end_effectors": ["heel"]}, UnknownNameError, "unknown site 'heel'.*toe"),
        ({"signals": ["imu"]}, UnknownNameError, "unknown signal 'imu'.*imu_gyro"),
        ({"force_torque": {"hip": "toe"}}, ConfigurationError, "calls two things 'hip'"),
        ({"start": "stand"}, UnknownNameError, "unknown keyframe 'stand'"),
        ({"start": {"joints": {"hip": 2.0}}}, OutOfBoundsError, "start of joint 'hip' = 2"),
        ({"start": {"pose": [0]}}, UnknownNameError, "unknown entry 'pose'"),
        ({"ranges": {"hip/torque": [-1, 1]}}, UnknownNameError, "unknown command column 'hip/torque'"),
        ({"base": "thigh"}, ConfigurationError, "has no free joint"),
        ({"gravity_compensation": ["leg"]}, UnknownNameError, "unknown body 'leg'"),
        ({"integrator": "rk5"}, UnknownNameError, "'rk5'.*rk4"),
        ({"timestep": -1}, OutOfBoundsError, "timestep"),
    ],
)
def test_what_is_wrong_is_refused_by_name(tmp_path, options, error, what):
    options = {"model": write(tmp_path), "folder": tmp_path} | options
    with pytest.raises(error, match=what):
        SimulatedRobot(own_robot(**options), 0.01)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "neither inertia nor geometry"),
        ("<mujoco><worldbody><body><jont/></body></worldbody></mujoco>", "MuJoCo cannot read the model"),
        ("leg: 3", "MuJoCo cannot read the model"),
    ],
)
def test_what_mujoco_refuses_is_explained(tmp_path, text, what):
    (tmp_path / "bad.xml").write_text(text)
    with pytest.raises(FileFormatError, match=what):
        own_robot("bad.xml", tmp_path)


def test_a_command_that_nothing_bounds_is_refused_and_can_be_given_bounds(tmp_path):
    name = write(tmp_path, actuators='<actuator><motor joint="hip"/></actuator>')
    with pytest.raises(ConfigurationError, match=r"nothing bounds the command 'hip/torque'.*ranges"):
        SimulatedRobot(own_robot(name, tmp_path), 0.01)
    robot = SimulatedRobot(own_robot(name, tmp_path, ranges={"hip/torque": [-5, 5]}), 0.01)
    assert column(robot, "hip/torque").high == 5.0
