import json
import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.envs.models.newton_euler import (
    GRAVITY,
    PAYLOAD,
    TOOL,
    Body,
    check_dynamics,
    forward,
    loads,
    states,
    symmetric,
)

from pliant.actuators import compile_model
from pliant.envs import SimulatedRobot, describe
from pliant.envs.models.smartsix import HOME, smartsix
from pliant.errors import ConfigurationError, FileFormatError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware import smartsix as published
from pliant.hardware.smartsix import smartsix_joints

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "robots" / "smartsix.json"
LINKS = tuple(f"link{k}" for k in range(1, 7))
JOINTS = tuple(f"joint{k}" for k in range(1, 7))
START = (-1.319799, 0.532219, -1.534752, 0.0, 1.07, -0.25)

# Modified Denavit–Hartenberg table of DQ Robotics (ComauSmartSixRobot): θ₀, d, a, α
DH = np.array(
    [
        [0.0, -0.45, 0.0, math.pi],
        [-math.pi / 2, 0.0, 0.15, math.pi / 2],
        [math.pi / 2, 0.0, 0.59, math.pi],
        [0.0, -0.64707, 0.13, -math.pi / 2],
        [0.0, 0.0, 0.0, -math.pi / 2],
        [0.0, -0.095, 0.0, math.pi / 2],
    ]
)


def of_urdf():
    """Bodies of the source's URDF, masses scaled, with right angles where the file has nearly such."""
    if not DATA.is_file():
        pytest.skip(f"{DATA} is not there")
    robot = json.loads(DATA.read_text())
    links = {link["name"]: link for link in robot["links"]}
    bodies = []
    for joint in robot["joints"]:
        if joint["type"] != "revolute":
            continue
        link = links[joint["child"]]
        right = np.round(np.array(joint["rpy"]) / (math.pi / 2), 6)
        turn = np.round(Rotation.from_euler("xyz", right * math.pi / 2).as_matrix())
        scaled = link["recommended_scaled_to_160kg"]
        inertia = symmetric(*(scaled["inertia"][k] for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")))
        bodies.append(Body(turn, joint["xyz"], [(scaled["mass"], np.array(link["com"]), inertia)]))
    return bodies


def by_dh(q):
    """The last frame of the table, (4, 4): Rx(α)·Tx(a)·Rz(θ)·Tz(d) of every row."""
    frame = np.eye(4)
    for (theta, d, a, alpha), angle in zip(DH, q, strict=True):
        step = np.eye(4)
        step[:3, :3] = (
            Rotation.from_euler("x", alpha).as_matrix() @ Rotation.from_euler("z", theta + angle).as_matrix()
        )
        step[:3, 3] = [a, -math.sin(alpha) * d, math.cos(alpha) * d]
        frame = frame @ step
    return frame


def placed(robot, q):
    model = compile_model(robot.spec)
    data = mujoco.MjData(model)
    data.qpos[: len(q)] = q
    mujoco.mj_kinematics(model, data)
    return data


def test_the_chain_is_that_of_the_urdf():
    model = compile_model(smartsix(tcp=[0.02, -0.01, 0.13, 0.1, -0.4, 0.2]).spec)
    data, bodies = mujoco.MjData(model), of_urdf()
    for q in states(200, seed=1)[0]:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        frames = forward(bodies, q)
        for name, (at, turn) in zip(LINKS, frames, strict=True):
            np.testing.assert_allclose(data.body(name).xpos, at, rtol=0, atol=1e-12)
            np.testing.assert_allclose(data.body(name).xmat.reshape(3, 3), turn, rtol=0, atol=1e-12)
        at, turn = frames[-1]
        np.testing.assert_allclose(data.site("flange").xpos, at, rtol=0, atol=1e-12)
        np.testing.assert_allclose(data.site("tcp").xpos, at + turn @ [0.02, -0.01, 0.13], rtol=0, atol=1e-12)


def test_the_published_table_leads_to_the_same_flange_but_its_last_joint_turns_the_other_way():
    robot, sign = smartsix(), np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    beyond = np.linalg.inv(by_dh(np.zeros(6))[:3, :3]) @ placed(robot, np.zeros(6)).site("flange").xmat.reshape(
        3, 3
    )
    for q in states(50, seed=2)[0]:
        flange = placed(robot, q).site("flange")
        ours = flange.xmat.reshape(3, 3)
        np.testing.assert_allclose(flange.xpos, by_dh(q)[:3, 3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours, by_dh(sign * q)[:3, :3] @ beyond, rtol=0, atol=1e-12)
        apart = Rotation.from_matrix(ours.T @ by_dh(q)[:3, :3] @ beyond).magnitude()
        assert apart == pytest.approx(abs((2.0 * q[5] + math.pi) % (2.0 * math.pi) - math.pi), abs=1e-7)


def test_at_the_start_of_the_paper_the_tip_is_where_it_says():
    """The tip (0.269, 1.048, 0.494) m with the base 0.01 m up; the tool points down."""
    tip = placed(smartsix(tool={"probe": {"length": 0.186}}), START).site("tcp")
    np.testing.assert_allclose(tip.xpos + np.array([0.0, 0.0, 0.01]), [0.269, 1.048, 0.494], rtol=0, atol=5e-4)
    np.testing.assert_allclose(tip.xmat.reshape(3, 3)[:, 2], [0.0, 0.0, -1.0], rtol=0, atol=0.01)


def test_masses_forces_and_weights_are_those_of_newton_and_euler(mass_matrix):
    bodies = of_urdf()
    bodies[-1].parts += loads()
    check_dynamics(compile_model(smartsix(tool=TOOL, payload=PAYLOAD).spec), bodies, mass_matrix, 500)


def test_the_masses_are_those_of_the_drawing_scaled_to_the_weight_of_the_data_sheet():
    drawn = np.array([151.44, 49.718, 82.663, 50.29, 3.6523, 0.26849])
    scale = 160.0 / (125.01 + drawn.sum())
    np.testing.assert_allclose([joint.link.mass for joint in smartsix_joints()], scale * drawn, rtol=1e-12)
    assert smartsix_joints()[1].link.inertia[0] == pytest.approx(scale * 1.5405)
    assert "Masses and inertias" in published.read_data(published.FILE)["estimated"]


def test_ranges_speeds_and_torques_are_kept_in_the_model():
    model = compile_model(smartsix().spec)
    low, high = np.rad2deg([joint.range for joint in smartsix_joints()]).T
    np.testing.assert_allclose(low, [-170, -85, -170, -210, -130, -2700])
    np.testing.assert_allclose(high, [170, 155, 0, 210, 130, 2700])
    np.testing.assert_allclose(np.rad2deg(model.jnt_range), np.column_stack([low, high]))
    np.testing.assert_allclose(np.rad2deg(model.numeric("speed_limits").data), [140, 160, 170, 450, 375, 550])
    np.testing.assert_array_equal(model.jnt_actfrcrange[:, 1], [1200, 1200, 1200, 11.7, 11.7, 5.8])
    stronger = compile_model(smartsix(torque=[1200, 1200, 1200, 50, 50, 50]).spec)
    np.testing.assert_array_equal(stronger.jnt_actfrcrange[3:], [[-50, 50]] * 3)
    np.testing.assert_array_equal(stronger.actuator_forcerange[3:], [[-50, 50]] * 3)
    np.testing.assert_allclose(stronger.actuator_gainprm[3:, 0], 50 / 0.005)


def test_the_wrist_feels_the_tool_and_nothing_else():
    robot = smartsix(tool=TOOL, payload=PAYLOAD, pedestal=3.0, torque=2e3)  # as its own would not hold them
    mass = TOOL["mass"] + PAYLOAD["mass"]
    centre = (TOOL["mass"] * np.array(TOOL["com"]) + PAYLOAD["mass"] * np.array(PAYLOAD["com"])) / mass
    random = np.random.default_rng(3)
    low, high = np.array([joint.range for joint in smartsix_joints()]).T
    with SimulatedRobot(robot, 0.002) as simulated:
        force = [simulated.info.signal(f"wrist/force_{axis}") for axis in "xyz"]
        torque = [simulated.info.signal(f"wrist/torque_{axis}") for axis in "xyz"]
        for q in random.uniform(low, high, (30, 6)):
            simulated.reset(position=q, command=q)
            signals = simulated.read().signals
            held = simulated.data.site("flange").xmat.reshape(3, 3).T @ (-mass * GRAVITY)
            np.testing.assert_allclose(signals[force], held, rtol=0, atol=1e-9)
            np.testing.assert_allclose(signals[torque], np.cross(centre, held), rtol=0, atol=1e-9)


def test_by_name_it_holds_its_pose_with_the_torque_there_is():
    with describe("smartsix").simulated() as robot:
        for _ in range(100):
            robot.send(robot.info.rest)
        state = robot.read()
        np.testing.assert_allclose(state.position, HOME, rtol=0, atol=1e-9)
        assert 0.05 < (np.abs(state.torque) / [1200, 1200, 1200, 11.7, 11.7, 5.8]).max() < 0.6


def test_under_torques_of_zero_it_floats():
    q = [0.3, 0.2, -1.2, 0.4, 0.7, 0.0]
    with SimulatedRobot(smartsix(mode="torque"), 0.002) as robot:
        robot.reset(position=q)
        for _ in range(300):
            robot.send(robot.info.rest)
        np.testing.assert_allclose(robot.read().position, q, atol=1e-6)


def test_it_stands_free_and_what_is_drawn_weighs_and_touches_nothing(at_pose):
    model, data = at_pose(smartsix(tool={"probe": {"length": 0.186}}), HOME)
    assert data.ncon == 0
    drawn = np.flatnonzero(model.geom_group == 2)
    assert len(drawn) > 25
    assert not model.geom_contype[drawn].any()
    assert not model.geom_conaffinity[drawn].any()
    assert model.body_mass.sum() == pytest.approx(sum(joint.link.mass for joint in smartsix_joints()))
    for camera in ("front", "side", "tracking"):
        view, half = data.camera(camera), np.tan(np.radians(model.camera(camera).fovy[0] / 2))
        for point in (data.site("base").xpos, data.body("link3").xpos, data.site("tcp").xpos):
            x, y, z = view.xmat.reshape(3, 3).T @ (point - view.xpos)
            assert abs(x) < -z * half * 4 / 3
            assert abs(y) < -z * half


def test_the_cameras_look_where_they_are_told(at_pose):
    _, data = at_pose(smartsix(view={"centre": [1.0, 2.0, 0.5], "azimuth": 90.0, "elevation": 0.0}), HOME)
    front = data.camera("front")
    np.testing.assert_allclose(
        np.cross([1.0, 2.0, 0.5] - front.xpos, front.xmat.reshape(3, 3)[:, 2]), 0.0, atol=1e-9
    )
    np.testing.assert_allclose(front.xmat.reshape(3, 3)[:, 2], [0.0, 1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"mode": "velocity"}, UnknownNameError, "unknown mode 'velocity' in smartsix"),
        ({"meshes": "folder"}, UnknownNameError, "unknown setting 'meshes' in smartsix"),
        ({"joints": {"elbow": {"kp": 1.0}}}, UnknownNameError, "unknown joint 'elbow'"),
        ({"start": [0, 0, 0]}, ShapeError, "smartsix: start has shape"),
        ({"torque": -1.0}, OutOfBoundsError, "torque = -1"),
        ({"view": 3}, ConfigurationError, "smartsix: view is 3; a mapping"),
        ({"view": {"colour": 1}}, UnknownNameError, "unknown entry 'colour' in smartsix: view"),
        ({"view": {"centre": [0, 0]}}, ShapeError, "smartsix: view: centre has shape"),
        ({"view": {"radius": math.nan}}, OutOfBoundsError, "smartsix: view: radius is nan"),
        (
            {"joints": {"joint3": {"law": "sea"}}, "gravity_compensation": True},
            ConfigurationError,
            "springs of joint3",
        ),
    ],
)
def test_what_cannot_be_is_refused(options, error, says):
    with pytest.raises(error, match=says):
        smartsix(**options)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data.pop("weight"), "'weight'"),
        (lambda data: data["joints"].pop(), "5 joints instead of 6"),
        (lambda data: data["joints"][2].update(speed=math.inf), "joint 3: speed is inf"),
        (lambda data: data["joints"][0]["link"].update(com=[0.0]), "damaged"),
        (lambda data: data["joints"][0].update(range=None), "damaged"),
    ],
)
def test_damaged_parameters_are_an_error_of_ours(monkeypatch, change, says):
    data = json.loads(json.dumps(dict(published.read_data(published.FILE))))
    change(data)
    monkeypatch.setattr(published, "read_data", lambda file: data)
    smartsix_joints.cache_clear()
    with pytest.raises(FileFormatError, match=says):
        smartsix_joints()
    smartsix_joints.cache_clear()
