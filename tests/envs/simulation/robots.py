"""Robots of every build, by name: what the tests of simulation, environments and files run through."""

from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco

from pliant.actuators import CompliantJoint, Motor, ServoDrive, add_compliant_joint, find_law
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.own_robot import own_robot
from pliant.envs.models.robot_model import RobotModel, Start

OPTION = '<option timestep="0.002" integrator="implicitfast"/>'

AXES = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0")
TOOL_MASS = 1.3


def six_axis_xml(actuators: str) -> str:
    """An arm of six joints with a tool behind a force-torque sensor and a wall to press."""
    bodies, closing = "", ""
    for k, axis in enumerate(AXES, 1):
        bodies += (
            f'<body name="link{k}" pos="0 0 {0.2 if k > 1 else 0.1}"><joint name="axis{k}" axis="{axis}" '
            f'range="-350 350" damping="{2.0 / k}" armature="0.1"/>'
            f'<geom type="capsule" size="0.04" fromto="0 0 0 0 0 0.18" mass="{4.0 / k}"/>'
        )
        closing += "</body>"
    tool = (
        f'<body name="tool" pos="0 0 0.2"><site name="flange"/><site name="tip" pos="0 0 0.1"/>'
        f'<geom name="tool" type="sphere" size="0.03" pos="0 0 0.07" mass="{TOOL_MASS}" contype="1"/>'
        f"</body>"
    )
    return (
        f'<mujoco model="six"><compiler angle="degree" autolimits="true"/>{OPTION}'
        '<default><geom contype="0" conaffinity="0"/></default>'
        f"<worldbody>{bodies}{tool}{closing}</worldbody><actuator>{actuators}</actuator></mujoco>"
    )


def six_axis(mode: str, *, wall: float | None = None) -> RobotModel:
    """The arm in mode "torque" or "position", above a floor at the height `wall` that its tool can press."""
    if mode == "torque":
        actuators = "".join(f'<motor joint="axis{k}" ctrlrange="-150 150"/>' for k in range(1, 7))
    else:
        actuators = "".join(
            f'<position joint="axis{k}" kp="20000" kv="400" ctrlrange="-6.2 6.2"/>' for k in range(1, 7)
        )
    spec = mujoco.MjSpec.from_string(six_axis_xml(actuators))
    if wall is not None:
        spec.worldbody.add_geom(
            name="wall", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1], pos=[0, 0, wall], conaffinity=1
        )
    return RobotModel(
        "six",
        spec,
        tuple(f"axis{k}" for k in range(1, 7)),
        {"tip": "tip"},
        force_torque={"wrist": "flange"},
        signals=("wrist", "tip"),
        start=Start(joints={"axis2": 0.4, "axis3": 1.2, "axis5": 0.9}),
    )


def quadruped() -> RobotModel:
    """A floating base on four legs of two joints, position actuators and sensors of its own file."""
    legs = ""
    for name, x, y in (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("hl", -0.2, 0.1), ("hr", -0.2, -0.1)):
        legs += (
            f'<body name="{name}_thigh" pos="{x} {y} 0"><joint name="{name}_hip" axis="0 1 0" range="-1.5 1.5" '
            'damping="0.4" armature="0.01"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.2" mass="0.4"/>'
            f'<body name="{name}_shank" pos="0 0 -0.2"><joint name="{name}_knee" axis="0 1 0" range="-2.4 0.2" '
            'damping="0.4" armature="0.01"/>'
            '<geom type="capsule" size="0.015" fromto="0 0 0 0 0 -0.18" mass="0.2"/>'
            f'<geom name="{name}_foot" type="sphere" size="0.025" pos="0 0 -0.2" mass="0.05" priority="1"/>'
            f'<site name="{name}_foot" pos="0 0 -0.2" size="0.03"/></body></body>'
        )
    joints = [f"{leg}_{part}" for leg in ("fl", "fr", "hl", "hr") for part in ("hip", "knee")]
    actuators = "".join(f'<position name="{j}_servo" joint="{j}" kp="60" kv="2"/>' for j in joints)
    pose = " ".join(["0.6 -1.2"] * 4)
    xml = f"""<mujoco model="dog"><compiler angle="radian"/>{OPTION}
    <worldbody><geom name="floor" type="plane" size="5 5 0.1"/><body name="trunk" pos="0 0 0.5"><freejoint/>
    <geom type="box" size="0.22 0.08 0.04" mass="4"/><site name="imu"/>{legs}</body></worldbody>
    <actuator>{actuators}</actuator>
    <sensor><gyro name="gyro" site="imu"/><accelerometer name="accelerometer" site="imu"/>
    {"".join(f'<touch name="{leg}_touch" site="{leg}_foot"/>' for leg in ("fl", "fr", "hl", "hr"))}</sensor>
    <keyframe><key name="stand" qpos="0 0 0.5 1 0 0 0 {pose}" ctrl="{pose}"/></keyframe></mujoco>"""
    return RobotModel(
        "dog",
        mujoco.MjSpec.from_string(xml),
        tuple(joints),
        {f"{leg}_foot": f"{leg}_foot" for leg in ("fl", "fr", "hl", "hr")},
        base="trunk",
        signals=("base", "gyro", "accelerometer", "*_touch/touch"),
        start=Start(keyframe="stand", settle=0.6),
    )


def mixed() -> RobotModel:
    """Two SEA joints, two servos, a native motor behind a gear, and a passive joint."""
    bodies, closing = "", ""
    for k in range(1, 7):
        bodies += (
            f'<body name="link{k}" pos="{0.1 if k > 1 else 0} 0 0"><joint name="j{k}" axis="0 1 0" '
            f'range="-1.6 1.6" damping="{0.02 if k in (1, 2, 5, 6) else 0}"/>'
            f'<geom type="capsule" size="0.01" fromto="0 0 0 0.1 0 0" mass="{0.2 / k}"/>'
        )
        closing += "</body>"
    xml = (
        '<mujoco model="mixed"><default><geom contype="0" conaffinity="0"/></default><compiler angle="radian"/>'
        f'<option timestep="0.001" integrator="implicitfast"/>'
        f"<worldbody>{bodies}{closing}</worldbody>"
        '<actuator><motor joint="j5" gear="4" ctrlrange="-0.5 0.5"/></actuator>'
        '<sensor><jointpos name="gauge" joint="j6"/></sensor></mujoco>'
    )
    spec = mujoco.MjSpec.from_string(xml)
    sea = CompliantJoint(find_law("sea")(k=20.0), 6, motor=Motor(torque_limit=8.0), position_range=(-1.5, 1.5))
    servo = CompliantJoint("rigid", 1, servo=ServoDrive("AX-12A"), position_range=(-1.5, 1.5))
    for joint, drive in (("j1", sea), ("j2", sea), ("j3", servo), ("j4", servo)):
        add_compliant_joint(spec, joint, drive)
    return RobotModel("mixed", spec, tuple(f"j{k}" for k in range(1, 7)), signals=("gauge",))


def gripper() -> RobotModel:
    """Two fingers that slide, moved by one tendon, and a lift."""
    xml = f"""<mujoco model="gripper"><compiler autolimits="true"/>{OPTION}<worldbody>
    <body name="palm" pos="0 0 1"><joint name="lift" type="slide" axis="0 0 1" range="-0.5 0.5" damping="20"/>
    <geom type="box" size="0.05 0.02 0.02" mass="0.5" contype="0" conaffinity="0"/>
    <body name="left" pos="-0.04 0 -0.05">
    <joint name="left" type="slide" axis="1 0 0" range="0 0.035" damping="2"/>
    <geom name="left" type="box" size="0.005 0.01 0.03" mass="0.05"/></body>
    <body name="right" pos="0.04 0 -0.05">
    <joint name="right" type="slide" axis="-1 0 0" range="0 0.035" damping="2"/>
    <geom name="right" type="box" size="0.005 0.01 0.03" mass="0.05"/></body></body></worldbody>
    <tendon><fixed name="grasp"><joint joint="left" coef="0.5"/><joint joint="right" coef="0.5"/></fixed></tendon>
    <equality><joint joint1="left" joint2="right"/></equality>
    <actuator><position joint="lift" kp="2000" kv="100"/>
    <general name="grip" tendon="grasp" gainprm="300" biastype="affine" biasprm="0 -300 -5" ctrlrange="0 0.035"/>
    </actuator></mujoco>"""
    return RobotModel("gripper", mujoco.MjSpec.from_string(xml), ("lift", "left", "right"))


URDF = """<robot name="crane">
<link name="base"/>
<link name="boom"><collision><origin xyz="0.15 0 0"/><geometry><box size="0.3 0.04 0.04"/></geometry></collision>
<inertial><origin xyz="0.15 0 0"/><mass value="0.6"/><inertia ixx="0.001" iyy="0.005" izz="0.005" ixy="0" ixz="0"
iyz="0"/></inertial></link>
<link name="hook"><inertial><origin xyz="0 0 -0.1"/><mass value="0.2"/>
<inertia ixx="0.001" iyy="0.001" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="slew" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/>
<limit lower="-1.2" upper="1.2" effort="20" velocity="3"/><dynamics damping="0.1"/></joint>
<joint name="rope" type="prismatic"><parent link="boom"/><child link="hook"/>
<origin xyz="0.3 0 0"/><axis xyz="0 0 -1"/>
<limit lower="0" upper="0.2" effort="40" velocity="1"/><dynamics damping="2"/></joint></robot>"""


def urdf() -> RobotModel:
    """A crane from a URDF file: a spring at its boom, and a slide that pays out the rope."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "crane.urdf").write_text(URDF)
        drives = {
            "slew": {"law": "sea", "k": 60.0, "mode": 6, "torque_limit": 15.0},
            "rope": {"drive": "position_loop", "kp": 800.0, "kd": 40.0, "torque_limit": 30.0},
        }
        return own_robot("crane.urdf", folder, joints=drives)


def two_arms() -> RobotModel:
    """Two soft arms in one scene, attached with prefixes as MJCF does it: names of joints have a `/`."""
    scene, model = mujoco.MjSpec(), arm2()
    scene.option.timestep, scene.option.integrator = model.spec.option.timestep, model.spec.option.integrator
    for side, y in (("left", 0.5), ("right", -0.5)):
        frame = scene.worldbody.add_frame(pos=[0.0, y, 0.0])
        scene.attach(arm2().spec, prefix=f"{side}/", frame=frame)
    sides = ("left", "right")
    joints = tuple(f"{side}/{joint}" for side in sides for joint in model.joints)
    ends = {f"{side}/{name}": f"{side}/{site}" for side in sides for name, site in model.end_effectors.items()}
    return RobotModel("arms", scene, joints, ends, signals=("left/tip",))


ROBOTS = {
    "six_torque": lambda: six_axis("torque"),
    "six_position": lambda: six_axis("position"),
    "quadruped": quadruped,
    "mixed": mixed,
    "gripper": gripper,
    "urdf": urdf,
    "two_arms": two_arms,
}
