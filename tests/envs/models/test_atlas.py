"""Atlas against the URDF that its data are from, by kinematics and weights of the test's own."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.actuators import compile_model
from pliant.envs import SimulatedRobot, describe
from pliant.envs.models.atlas import STANCE, atlas
from pliant.envs.models.atlas_body import PELVIS_JOINTS
from pliant.envs.simulation.holding import resting_command
from pliant.errors import ConfigurationError, FileFormatError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware import atlas as published
from pliant.hardware.atlas import published_atlas

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "robots" / "atlas.json"
MASS, FEET = 159.854574, 2 * 2.05
G = 9.81
ARMS = 16
"""Joints of trunk and arms."""


@pytest.fixture(scope="module")
def urdf():
    """Links and joints of the source by name."""
    if not DATA.is_file():
        pytest.skip(f"{DATA} is not there")
    data = json.loads(DATA.read_text())
    return {link["name"]: link for link in data["links"]}, {joint["child"]: joint for joint in data["joints"]}


def tensor(values):
    ixx, iyy, izz, ixy, ixz, iyz = (values[k] for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def frames(urdf, angles):
    """Position and orientation of every link in the pelvis, by the joints' angles; the lidar at 0."""
    links, joints = urdf
    found = {"pelvis": (np.zeros(3), np.eye(3))}

    def frame(name):
        if name not in found:
            joint = joints[name]
            at, turn = frame(joint["parent"])
            own = turn @ Rotation.from_euler("xyz", joint["rpy"]).as_matrix()
            angle = angles.get(joint["name"], 0.0)
            spin = Rotation.from_rotvec(angle * np.array(joint.get("axis", [0, 0, 0]), float)).as_matrix()
            found[name] = at + turn @ joint["xyz"], own @ spin
        return found[name]

    return {name: frame(name) for name in links}


def postures(model, count, seed):
    """Angles within the joints' ranges, by name."""
    names = [model.joint(k).name for k in range(model.njnt)]
    for q in np.random.default_rng(seed).uniform(*model.jnt_range.T, (count, model.nq)):
        yield q, dict(zip(names, q.tolist(), strict=True))


def test_the_links_are_where_the_urdf_has_them(urdf):
    model = compile_model(atlas(height=0.5).spec)
    data = mujoco.MjData(model)
    for q, angles in postures(model, 100, seed=1):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        there = frames(urdf, angles)
        for body in range(1, model.nbody):
            at, turn = there[model.body(body).name]
            np.testing.assert_allclose(data.xpos[body], at + np.array([0.0, 0.0, 0.5]), rtol=0, atol=1e-12)
            np.testing.assert_allclose(data.xmat[body].reshape(3, 3), turn, rtol=0, atol=1e-12)


def test_masses_and_inertias_are_those_of_the_urdf_with_all_that_is_fixed_to_each_link(urdf):
    """At any posture the whole robot has the centre of mass and the inertia about it that its 49 links have."""
    links, _ = urdf
    model = compile_model(atlas(height=0.0).spec)
    data = mujoco.MjData(model)
    assert model.body_mass.sum() == pytest.approx(MASS, rel=1e-9)
    assert sum(link["mass"] for link in links.values()) == pytest.approx(MASS, rel=1e-9)
    for q, angles in postures(model, 20, seed=2):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        parts = []
        for name, (at, turn) in frames(urdf, angles).items():
            link = links[name]
            if link["mass"] > 0.0:
                own = Rotation.from_euler("xyz", link.get("inertia_rpy", [0, 0, 0])).as_matrix()
                about = tensor(link["inertia"])
                about = tensor(link["inertia_link_axes"]) if "inertia_link_axes" in link else own @ about @ own.T
                parts.append((link["mass"], at + turn @ link["com"], turn @ about @ turn.T))
        ours = [
            (
                model.body_mass[body],
                data.xipos[body],
                data.ximat[body].reshape(3, 3)
                @ np.diag(model.body_inertia[body])
                @ data.ximat[body].reshape(3, 3).T,
            )
            for body in range(1, model.nbody)
        ]
        for mine, theirs in zip(whole(ours), whole(parts), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=2e-8)


def whole(parts):
    """Centre of mass of bodies, and their inertia about it."""
    mass = sum(part[0] for part in parts)
    centre = sum(part[0] * part[1] for part in parts) / mass
    inertia = sum(
        own + m * ((at - centre) @ (at - centre) * np.eye(3) - np.outer(at - centre, at - centre))
        for m, at, own in parts
    )
    return centre, inertia


def test_ranges_torques_speeds_and_damping_are_in_the_model(urdf):
    joints = {joint["name"]: joint for joint in urdf[1].values()}
    model = compile_model(atlas(base="floating").spec)
    assert model.nv == 34
    assert model.nu == 28
    speeds = model.numeric("speed_limits").data
    for k in range(1, 29):
        joint = joints[model.joint(k).name]
        np.testing.assert_allclose(model.jnt_range[k], [joint["lower"], joint["upper"]])
        np.testing.assert_allclose(model.jnt_actfrcrange[k], [-joint["effort"], joint["effort"]])
        assert model.dof_damping[5 + k] == joint["damping"]
        assert speeds[k - 1] == joint["velocity"]
    info = SimulatedRobot(atlas(base="floating"), 0.002).info
    assert info.command_names == tuple(f"{joint}/torque" for joint in info.joints)
    np.testing.assert_allclose(info.high, [joints[joint]["effort"] for joint in info.joints])
    weaker = SimulatedRobot(atlas(torque=20.0, damping=0.0, friction=1.0, armature=0.2), 0.002)
    np.testing.assert_array_equal(weaker.info.high, 20.0)
    np.testing.assert_array_equal(weaker.model.dof_damping, 0.0)
    np.testing.assert_array_equal(weaker.model.dof_armature, 0.2)
    np.testing.assert_array_equal(weaker.model.dof_frictionloss, 1.0)


def test_a_joint_stops_at_its_stop():
    with SimulatedRobot(atlas(gravity=False), 0.002) as robot:
        names = list(robot.info.joints)
        command = robot.info.rest.copy()
        for joint in ("l_arm_elx", "r_arm_shz"):
            command[names.index(joint)] = 20.0
        for _ in range(500):
            robot.send(command)
        position = robot.read().position
    assert position[names.index("l_arm_elx")] == pytest.approx(2.35619, abs=0.05)
    assert position[names.index("r_arm_shz")] == pytest.approx(1.5708, abs=0.05)


@pytest.mark.parametrize(
    ("timestep", "integrator"), [(0.001, "discrete"), (0.002, "discrete"), (0.001, "implicitfast")]
)
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.slow
def test_a_moving_pelvis_goes_where_it_is_commanded_whatever_the_arms_do(timestep, integrator, busy):
    """The report's motion, 0.1 m and rad at 0.5 rad/s; what is commanded for a period is its middle."""
    model = atlas(base="moving", legs=False, timestep=timestep, integrator=integrator)
    with SimulatedRobot(model, 0.002) as robot:
        columns = list(robot.info.command_names)
        position = [columns.index(f"{joint}/position") for joint in PELVIS_JOINTS]
        velocity = [columns.index(f"{joint}/velocity") for joint in PELVIS_JOINTS]
        middle, command = np.array([0.0, 0.0, 0.9, 0.0, 0.0, 0.0]), robot.info.rest.copy()
        np.testing.assert_allclose(robot.read().position[ARMS:], middle)
        random, phase, worst = np.random.default_rng(0), np.arange(6.0), 0.0

        def desired(t):
            grown = 1.0 - np.exp(-0.5 * t * t)
            faster = t * np.exp(-0.5 * t * t)
            swing, turn = np.sin(0.5 * t + phase), 0.5 * np.cos(0.5 * t + phase)
            return middle + 0.1 * grown * swing, 0.1 * (faster * swing + grown * turn)

        for k in range(1500):
            command[position], command[velocity] = desired((k + 0.5) * 0.002)
            if busy:
                command[:ARMS] = random.uniform(-1.0, 1.0, ARMS) * robot.info.high[:ARMS]
            robot.send(command)
            there, speed = desired((k + 1) * 0.002)
            state = robot.read()
            worst = max(worst, float(np.abs(state.position[ARMS:] - there).max()))
            np.testing.assert_allclose(state.velocity[ARMS:], speed, rtol=0, atol=2e-3)
        assert worst < 1e-5
        named = sensed(robot, state)
        read = [named[f"pelvis/position_{axis}"] for axis in "xyz"]
        np.testing.assert_allclose(read, state.position[ARMS : ARMS + 3], rtol=0, atol=1e-9)
        turn = Rotation.from_euler("XYZ", state.position[ARMS + 3 :]).as_quat(scalar_first=True)
        np.testing.assert_allclose([named[f"pelvis/orientation_{axis}"] for axis in "wxyz"], turn, atol=1e-9)


def test_the_torques_that_statics_give_hold_it_where_it_hangs():
    with SimulatedRobot(atlas(), 0.002) as robot:
        start = robot.read().position
        command = resting_command(robot.compiled, start, range(28))
        robot.reset(position=start, command=command)
        for _ in range(50):
            robot.send(command)
        assert robot.data.ncon == 0
        np.testing.assert_allclose(robot.read().position, start, rtol=0, atol=1e-6)


def stands(robot, periods, torque):
    """Let a robot stand; returns how its pelvis has moved, and what it reads by name."""
    state = robot.read()
    start, where = state.position.copy(), state.sensors[:3].copy()
    for _ in range(periods):
        robot.send(torque(start, state))
        state = robot.read()
    return state.sensors[:3] - where, sensed(robot, state)


def sensed(robot, state):
    """What is read beside the joints, by name."""
    names = (channel.name for channel in robot.info.signals[-len(state.sensors) :])
    return dict(zip(names, state.sensors.tolist(), strict=True))


def test_it_stands_under_a_stiff_pd_of_joint_torques():
    with SimulatedRobot(atlas(base="floating"), 0.001) as robot:
        kp, kd = 10.0 * robot.info.high, 30.0 / 400.0 * robot.info.high
        moved, read = stands(robot, 1500, lambda start, s: kp * (start - s.position) - kd * s.velocity)
        assert robot.data.ncon >= 8
    assert np.abs(moved).max() < 0.03
    weight = read["left_foot/force_z"] + read["right_foot/force_z"]
    assert weight == pytest.approx(-(MASS - FEET) * G, rel=0.01)


def test_in_position_mode_it_stands_still_and_its_sensors_say_so():
    with SimulatedRobot(atlas(base="floating", mode="position"), 0.002) as robot:
        assert robot.read().sensors[2] == pytest.approx(0.8856, abs=1e-4)
        moved, read = stands(robot, 500, lambda *_: robot.info.rest)
    assert np.abs(moved).max() < 2e-3
    assert read["left_foot/force_z"] == pytest.approx(-(MASS - FEET) / 2 * G, rel=2e-3)
    np.testing.assert_allclose([read[f"imu_accelerometer/acceleration_{k}"] for k in "xyz"], [0, 0, G], atol=0.05)
    np.testing.assert_allclose([read[f"imu_gyro/angular_velocity_{k}"] for k in "xyz"], 0.0, atol=0.01)
    assert abs(read["imu_orientation/orientation_w"]) == pytest.approx(1.0, abs=1e-4)
    assert read["left_hand/position_y"] == pytest.approx(-read["right_hand/position_y"], abs=1e-3)


def test_stiff_legs_are_the_same_legs_without_joints():
    free, stiff = SimulatedRobot(atlas(), 0.002), SimulatedRobot(atlas(legs=False), 0.002)
    assert stiff.model.nv == ARMS
    assert stiff.info.joints == free.info.joints[:ARMS]
    assert stiff.model.body_mass.sum() == pytest.approx(MASS)
    with free, stiff:
        for place in ("left_sole", "right_sole", "left_hand"):
            np.testing.assert_allclose(stiff.data.site(place).xpos, free.data.site(place).xpos, atol=1e-12)
        assert stiff.data.ncon == 0


def test_links_touch_each_other_unless_they_are_near_or_told_not_to():
    crossed = {"l_arm_shz": -1.2, "l_arm_shx": 1.5, "l_arm_elx": 2.1}
    touching = {}
    for wanted in (True, False):
        model = compile_model(atlas(self_collision=wanted, start=crossed).spec)
        data = mujoco.MjData(model)
        for joint, angle in {**STANCE, **crossed}.items():
            data.qpos[model.joint(joint).qposadr] = angle
        mujoco.mj_forward(model, data)
        bodies = {tuple(model.body(model.geom_bodyid[geom]).name for geom in pair) for pair in data.contact.geom}
        touching[wanted] = {pair for pair in bodies if "world" not in pair}
    assert touching[True] == {("utorso", "l_larm")}
    assert not touching[False]
    zero = compile_model(atlas().spec)
    data = mujoco.MjData(zero)
    mujoco.mj_forward(zero, data)
    assert all(zero.geom_bodyid[pair].min() == 0 for pair in data.contact.geom), "stretched out it touches itself"


def test_what_is_drawn_weighs_nothing_and_touches_nothing():
    model = compile_model(atlas().spec)
    drawn = model.geom_group == 2
    assert drawn.sum() > 100
    assert not (model.geom_contype[drawn] | model.geom_conaffinity[drawn]).any()
    assert {model.body(model.geom_bodyid[k]).name for k in np.flatnonzero(drawn)} == {
        model.body(k).name for k in range(1, model.nbody)
    }


def test_its_joints_may_be_soft():
    soft = describe({"model": {"_target_": "pliant.envs.models.atlas.atlas", "legs": False, "joints": {
        "l_arm_elx": {"law": "sea", "k": 500.0, "mode": 6, "torque_limit": 100.0}}}})  # fmt: skip
    assert len(soft.simulated(0.002).info.motors) == 1


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"base": "flying"}, UnknownNameError, "unknown base 'flying' in atlas"),
        ({"base": "floating", "legs": False}, ConfigurationError, "stands on its legs"),
        ({"legs": 1}, ConfigurationError, "legs is 1; true or false"),
        ({"mode": "speed"}, UnknownNameError, "unknown mode 'speed' in atlas"),
        ({"start": {"l_arm": 0.0}}, UnknownNameError, "unknown joint 'l_arm'"),
        ({"start": {"l_leg_kny": -0.5}}, OutOfBoundsError, "start of joint 'l_leg_kny'"),
        ({"start": [0.0]}, ConfigurationError, "angles by joint are needed"),
        ({"torque": [1.0, 2.0]}, ShapeError, "torque"),
        ({"damping": -1.0}, OutOfBoundsError, "damping"),
        ({"height": float("nan")}, OutOfBoundsError, "height"),
        ({"joints": {"knee": {}}}, UnknownNameError, "unknown joint 'knee'"),
        ({"view": {"zoom": 1}}, UnknownNameError, "unknown entry 'zoom'"),
    ],
)
def test_what_cannot_be_is_refused(settings, error, said):
    with pytest.raises(error, match=said):
        atlas(**settings)


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: data["joints"].pop(),
        lambda data: data["joints"][3].update(parent="nothing"),
        lambda data: data["joints"][3]["link"].update(mass=float("nan")),
        lambda data: data["pelvis"]["shapes"][0].update(cylinder=[0.1]),
        lambda data: data.pop("imu"),
    ],
)
def test_damaged_parameters_are_found(monkeypatch, harm):
    data = dict(published.read_data(published.FILE))
    harm(data)
    monkeypatch.setattr(published, "read_data", lambda file: data)
    with pytest.raises(FileFormatError, match=r"atlas\.json is damaged"):
        published_atlas.__wrapped__()
