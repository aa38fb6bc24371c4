import json
import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.envs.models.newton_euler import GRAVITY, PAYLOAD, TOOL, Body, check_dynamics, loads, states, symmetric

from pliant.actuators import CompliantJoint, compile_model
from pliant.controllers.ur_kinematics import UrKinematics, pose_of
from pliant.envs import SimulatedRobot, describe
from pliant.envs.models.tools import Load
from pliant.envs.models.ur import HOME, ur
from pliant.envs.simulation.holding import resting_command
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MissingFileError,
    OutOfBoundsError,
    ShapeError,
    UnknownNameError,
)
from pliant.hardware import ur_arms
from pliant.hardware.ur_arms import JOINTS, LINKS, ur_arm, ur_names

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "robots" / "ur.json"

# Standard Denavit–Hartenberg chains and bodies as published, written out: d and a, masses, then, of both arms
# alike, centres of mass and inertias (xx, xy, xz, yy, yz, zz) in the frames of the links, and largest torques
ALPHA = (math.pi / 2, 0.0, 0.0, math.pi / 2, -math.pi / 2, 0.0)
CHAINS = {
    "ur10": ((0.1273, 0.0, 0.0, 0.163941, 0.1157, 0.0922), (0.0, -0.612, -0.5723, 0.0, 0.0, 0.0)),
    "ur10e": ((0.1807, 0.0, 0.0, 0.17415, 0.11985, 0.11655), (0.0, -0.6127, -0.57155, 0.0, 0.0, 0.0)),
}
MASSES = {"ur10": (7.1, 12.7, 4.27, 2.0, 2.0, 0.365), "ur10e": (7.369, 13.051, 3.989, 2.1, 1.98, 0.615)}
CENTRES = {
    "ur10": [
        [0.021, 0, 0.027],
        [0.38, 0, 0.158],
        [0.24, 0, 0.068],
        [0, 0.007, 0.018],
        [0, 0.007, 0.018],
        [0, 0, -0.026],
    ],
}
CENTRES["ur10e"] = CENTRES["ur10"]
INERTIAS = [
    [0.03408, 2e-5, -0.00425, 0.03529, 8e-5, 0.02156],
    [0.02814, 5e-5, -0.01561, 0.77068, 2e-5, 0.76943],
    [0.01014, 8e-5, 0.00916, 0.30928, 0.0, 0.30646],
    [0.00296, -1e-5, 0.0, 0.00222, -0.00024, 0.00258],
    [0.00296, -1e-5, 0.0, 0.00222, -0.00024, 0.00258],
    [0.0004, 0.0, 0.0, 0.00041, 0.0, 0.00034],
]
TORQUES = {"ur10": (330, 330, 150, 56, 56, 56), "ur10e": (330, 330, 150, 54, 54, 54)}


def published(name):
    """Bodies of the table above. The frame of a joint is that of the link before; the link lies beyond."""
    d, a = CHAINS[name]
    bodies = []
    before, shift = np.eye(3), np.zeros(3)
    for i in range(6):
        beyond = Rotation.from_euler("x", ALPHA[i]).as_matrix()
        lie = np.array([a[i], 0.0, d[i]])
        inertia = beyond @ symmetric(*INERTIAS[i]) @ beyond.T
        bodies.append(Body(before, shift, [(MASSES[name][i], lie + beyond @ CENTRES[name][i], inertia)]))
        before, shift = beyond, lie
    bodies[-1].parts += [(m, lie + beyond @ c, beyond @ inertia @ beyond.T) for m, c, inertia in loads()]
    return bodies


def of_urdf(name):
    """Bodies of the manufacturer's URDF, with right angles and zeros where the file has nearly such."""
    if not DATA.is_file():
        pytest.skip(f"{DATA} is not there")
    robot = json.loads(DATA.read_text())["robots"][name]
    links = {link["name"]: link for link in robot["links"]}
    bodies = []
    for joint in robot["joints"]:
        if joint["type"] != "revolute":
            continue
        link = links[joint["child"]]
        right = np.round(np.array(joint["rpy"]) / (math.pi / 2), 6)
        turn = np.round(Rotation.from_euler("xyz", right * math.pi / 2).as_matrix())
        own = link["inertia"]
        axes = Rotation.from_euler("xyz", link["inertia_rpy"]).as_matrix()
        inertia = axes @ symmetric(*(own[k] for k in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))) @ axes.T
        bodies.append(Body(turn, np.round(joint["xyz"], 9), [(link["mass"], np.array(link["com"]), inertia)]))
    bodies[-1].parts += loads()
    return bodies


def loaded(name):
    return compile_model(ur(name, tool=TOOL, payload=PAYLOAD).spec)


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_masses_forces_and_weights_are_those_of_newton_and_euler(name, mass_matrix):
    check_dynamics(loaded(name), published(name), mass_matrix, 1000)


@pytest.mark.parametrize("name", ["ur10", "ur10e", "ur5e"])
def test_the_urdf_of_the_manufacturer_moves_alike(name, mass_matrix):
    check_dynamics(loaded(name), of_urdf(name), mass_matrix, 200)


@pytest.mark.parametrize("name", ur_names())
def test_the_model_is_where_the_closed_form_is(name):
    tcp = [0.02, -0.01, 0.13, 0.1, -0.4, 0.2]
    model = compile_model(ur(name, tcp=tcp).spec)
    data = mujoco.MjData(model)
    arm, tool = UrKinematics(name), pose_of(tcp[:3], tcp[3:])
    for q in states(200, seed=1)[0]:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        frames = arm.frames(q)
        for body, frame in zip(("base", *LINKS), frames, strict=True):
            np.testing.assert_allclose(data.body(body).xpos, frame[:3, 3], rtol=0, atol=1e-12)
            np.testing.assert_allclose(data.body(body).xmat.reshape(3, 3), frame[:3, :3], rtol=0, atol=1e-12)
        for site, frame in (("flange", frames[6]), ("tcp", frames[6] @ tool)):
            np.testing.assert_allclose(data.site(site).xpos, frame[:3, 3], rtol=0, atol=1e-12)
            np.testing.assert_allclose(data.site(site).xmat.reshape(3, 3), frame[:3, :3], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_parameters_are_the_published_ones(name):
    arm = ur_arm(name)
    assert (arm.d, arm.a) == CHAINS[name]
    assert tuple(link.mass for link in arm.links) == MASSES[name]
    np.testing.assert_allclose([link.com for link in arm.links], CENTRES[name], rtol=0, atol=1e-12)
    np.testing.assert_allclose([link.inertia for link in arm.links], INERTIAS, rtol=0, atol=1e-12)
    assert arm.torque == TORQUES[name]
    np.testing.assert_allclose(np.rad2deg(arm.speed), [120, 120, 180, 180, 180, 180], rtol=1e-12)


@pytest.mark.parametrize("name", ur_names())
def test_masses_limits_and_ranges_are_kept_in_the_model(name):
    arm, model = ur_arm(name), compile_model(ur(name).spec)
    np.testing.assert_allclose([model.body(link).mass[0] for link in LINKS], [link.mass for link in arm.links])
    np.testing.assert_array_equal(model.jnt_actfrcrange, [[-t, t] for t in arm.torque])
    assert model.jnt_actfrclimited.all()
    np.testing.assert_allclose(model.numeric("speed_limits").data, arm.speed)
    for joint, bounds in zip(JOINTS, arm.range, strict=True):
        assert bool(model.jnt_limited[model.joint(joint).id]) == (bounds is not None)
        if bounds is not None:
            np.testing.assert_allclose(model.joint(joint).range, bounds)
            np.testing.assert_allclose(np.rad2deg(bounds), [-360, 360])
    np.testing.assert_array_equal(model.dof_armature, 0.0)
    np.testing.assert_array_equal(model.dof_damping, 0.0)


@pytest.mark.parametrize("mode", ["position", "torque"])
def test_no_more_torque_than_the_limits_is_given_or_read(mode):
    with SimulatedRobot(ur("ur5e", mode=mode), 0.002) as robot:
        limit = np.array(ur_arm("ur5e").torque)
        robot.reset()
        for sign in (1.0, -1.0):
            for _ in range(20):
                robot.send(robot.info.rest + sign if mode == "position" else sign * limit)
                assert (np.abs(robot.read().torque) <= limit).all()
            assert np.abs(robot.read().torque).max() == pytest.approx(limit[0])


def test_the_wrist_feels_the_tool_and_nothing_else():
    robot = ur("ur10e", tool=TOOL, payload=PAYLOAD, pedestal=3.0)
    mass = TOOL["mass"] + PAYLOAD["mass"]
    centre = (TOOL["mass"] * np.array(TOOL["com"]) + PAYLOAD["mass"] * np.array(PAYLOAD["com"])) / mass
    with SimulatedRobot(robot, 0.002) as simulated:
        force = [simulated.info.signal(f"wrist/force_{axis}") for axis in "xyz"]
        torque = [simulated.info.signal(f"wrist/torque_{axis}") for axis in "xyz"]
        for q in states(30, seed=2)[0]:
            simulated.reset(position=q, command=q)
            signals = simulated.read().signals
            flange = UrKinematics("ur10e").forward(q)[:3, :3]
            held = flange.T @ (-mass * GRAVITY)  # what carries the tool, along the axes of the flange
            np.testing.assert_allclose(signals[force], held, rtol=0, atol=1e-9)
            np.testing.assert_allclose(signals[torque], np.cross(centre, held), rtol=0, atol=1e-9)


def test_a_payload_adds_its_weight_times_its_arm():
    q = np.array([0.4, -1.1, 1.3, -0.6, 0.8, 0.2])
    weights = []
    for payload in (None, PAYLOAD):
        model = compile_model(ur("ur10e", payload=payload).spec)
        data = mujoco.MjData(model)
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        weights.append(data.qfrc_bias.copy())
    at_payload = UrKinematics("ur10e", pose_of(PAYLOAD["com"]))
    expected = -at_payload.jacobian(q)[:3].T @ (PAYLOAD["mass"] * GRAVITY)
    np.testing.assert_allclose(weights[1] - weights[0], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ur_names())
def test_every_arm_by_name_holds_its_pose(name):
    description = describe(name)
    assert description.period == ur_arm(name).period
    with description.simulated() as robot:
        robot.reset()
        for _ in range(100):
            robot.send(robot.info.rest)
        state = robot.read()
        np.testing.assert_allclose(state.position, HOME, rtol=0, atol=1e-9)
        loads = np.abs(state.torque) / ur_arm(name).torque
        assert 0.05 < loads.max() < 0.6  # the drives carry the arm, and could carry more


def test_without_compensation_an_arm_sags_by_its_weight_over_the_stiffness():
    """The loops give the whole torque of a joint at 5 mrad: with half of it as a load the arm sags by 2.5 mrad."""
    with SimulatedRobot(ur("ur10e", gravity_compensation=False), 0.002) as robot:
        robot.reset()
        for _ in range(1000):
            robot.send(robot.info.rest)
        state = robot.read()
        sag = state.position - HOME
        np.testing.assert_allclose(sag, -0.005 * state.torque / np.array(ur_arm("ur10e").torque), atol=1e-7)
        assert 1e-4 < np.abs(sag).max() < 2.5e-3


def test_a_load_that_the_drives_know_nothing_of_is_carried_by_the_loops():
    """A bag of 5 kg hung on the flange while the arm stands: sags as far as the loops are stiff."""
    spec_robot = ur("ur10e", payload=Load(5.0))
    spec_robot.spec.body("payload").gravcomp = 0.0
    with SimulatedRobot(spec_robot, 0.002) as robot:
        robot.reset()
        for _ in range(1000):
            robot.send(robot.info.rest)
        expected = -UrKinematics("ur10e").jacobian(HOME)[:3].T @ (5.0 * GRAVITY)
        stiffness = np.array(ur_arm("ur10e").torque) / 0.005
        np.testing.assert_allclose(robot.read().position - HOME, -expected / stiffness, atol=2e-6)


def test_under_torques_of_zero_a_compensated_arm_floats():
    with SimulatedRobot(ur("ur3e", mode="torque"), 0.002) as robot:
        robot.reset(position=[0.3, -1.0, 0.8, 0.4, 1.0, 0.0])
        np.testing.assert_array_equal(robot.info.rest, 0.0)
        before = robot.read().position
        for _ in range(500):
            robot.send(robot.info.rest)
        np.testing.assert_allclose(robot.read().position, before, atol=1e-6)
        np.testing.assert_allclose(
            resting_command(robot.compiled, [0.3, -1.0, 0.8, 0.4, 1.0, 0.0], range(6)), 0.0, atol=1e-9
        )


def test_without_compensation_the_weight_is_to_be_commanded():
    robot = SimulatedRobot(ur("ur3e", mode="torque", gravity_compensation=False), 0.002)
    with robot:
        q = [0.3, -1.0, 0.8, 0.4, 1.0, 0.0]
        command = resting_command(robot.compiled, q, range(6))
        assert np.abs(command).max() > 1.0
        robot.reset(position=q)
        for _ in range(20):
            robot.send(command)
        np.testing.assert_allclose(robot.read().position, q, atol=1e-6)


def test_a_rollout_reads_the_same_torques():
    with SimulatedRobot(ur("ur5e", payload=PAYLOAD), 0.002) as robot:
        commands = np.tile(robot.info.rest, (30, 1))
        commands[10:, 2] += 0.01
        motion = robot.rollout(commands[None])
        robot.reset()
        for command in commands:
            robot.send(command)
        np.testing.assert_array_equal(motion.torque[0, -1], robot.read().torque)


def test_a_joint_is_softened_or_stiffened_by_name():
    soft = {"law": "sea", "k": 2e4, "mode": 3}
    robot = ur("ur10e", joints={"wrist_*": {"kp": 2e3}, "elbow": soft, "wrist_3": CompliantJoint("rigid", mode=0)})
    model = compile_model(robot.spec)
    names = [model.actuator(k).name for k in range(model.nu)]
    assert names[2:4] == ["elbow/equilibrium", "wrist_1/position"]
    assert names[-1] == "wrist_3/torque"
    assert model.actuator("wrist_1/position").gainprm[0] == 2e3
    assert model.actuator("wrist_1/position").forcerange[1] == 54.0
    np.testing.assert_array_equal(model.body_gravcomp, 0.0)


def test_with_gear_springs_the_arm_follows_its_motors():
    """Motors behind springs of 2e4 N·m/rad, with rotors of 0.5 kg·m² as the links feel them."""
    gear = {
        "law": "sea",
        "k": 2e4,
        "mode": 6,
        "implicit": True,
        "motor": {"inertia": 0.5, "damping": 0.0},
        "pid": {"kp": 2e5, "kd": 500.0},
    }
    with SimulatedRobot(ur("ur10e", joints={"*": gear}), 0.002) as robot:
        robot.reset()
        for _ in range(1000):
            robot.send(robot.info.rest)
        state = robot.read()
        stiffness = 1.0 / (1.0 / 2e4 + 1.0 / 2e5)
        np.testing.assert_allclose(state.position - HOME, -state.torque / stiffness, atol=2e-5)
        assert 1e-3 < np.abs(state.position - HOME).max() < 1e-2


@pytest.mark.parametrize("name", ur_names())
def test_an_arm_is_seen_by_its_cameras_and_stands_free(name, at_pose):
    model, data = at_pose(ur(name, tcp=[0, 0, 0.1, 0, 0, 0]), HOME)
    assert data.ncon == 0
    for camera in ("front", "side", "tracking"):
        view, half = data.camera(camera), np.tan(np.radians(model.camera(camera).fovy[0] / 2))
        for point in (data.site("base").xpos, data.body("forearm").xpos, data.site("tcp").xpos):
            x, y, z = view.xmat.reshape(3, 3).T @ (point - view.xpos)
            assert abs(x) < -z * half * 4 / 3
            assert abs(y) < -z * half


@pytest.mark.parametrize("name", ur_names())
def test_what_is_drawn_weighs_and_touches_nothing(name):
    model = compile_model(ur(name).spec)
    drawn = np.flatnonzero(model.geom_group == 2)
    assert len(drawn) > 30
    assert not model.geom_contype[drawn].any()
    assert not model.geom_conaffinity[drawn].any()
    assert model.body_mass.sum() == pytest.approx(sum(link.mass for link in ur_arm(name).links))


def test_meshes_of_ones_own_are_drawn(tmp_path):
    vertices = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    for name in ("base", "shoulder", "upperarm", "forearm", "wrist1", "wrist2", "wrist3"):
        (tmp_path / f"{name}.obj").write_text(vertices)
    model = compile_model(ur("ur5e", meshes=tmp_path).spec)
    assert model.body_mass.sum() == pytest.approx(sum(link.mass for link in ur_arm("ur5e").links))
    # the corner at the mesh's origin lies where the ROS description puts it
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    geom = next(g for g in range(model.ngeom) if model.geom_dataid[g] == model.mesh("upper_arm_mesh").id)
    mesh = model.geom_dataid[geom]
    first = model.mesh_vert[model.mesh_vertadr[mesh] : model.mesh_vertadr[mesh] + 4]
    points = data.geom_xpos[geom] + first @ data.geom_xmat[geom].reshape(3, 3).T
    shoulder = data.body("shoulder").xpos - [0.0, ur_arm("ur5e").shoulder_offset, 0.0]
    assert np.linalg.norm(points - shoulder, axis=1).min() < 1e-7
    (tmp_path / "wrist2.obj").unlink()
    with pytest.raises(MissingFileError, match=r"neither wrist2\.obj nor wrist2\.stl"):
        ur("ur5e", meshes=tmp_path)


def test_two_arms_stand_in_one_scene():
    pair = {
        "robots": {"left": {"robot": "ur3e", "at": [0, 0.4, 0]}, "right": {"robot": "ur5e", "at": [0, -0.4, 0]}}
    }
    with describe(pair).simulated() as robot:
        robot.send(robot.info.rest)
        assert "left/wrist/force_z" in [channel.name for channel in robot.info.sensors]


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"arm": "ur11"}, UnknownNameError, "unknown arm of Universal Robots 'ur11'"),
        ({"mode": "velocity"}, UnknownNameError, "unknown mode 'velocity' in ur10e"),
        ({"joints": {"elbo": {"kp": 1.0}}}, UnknownNameError, "Did you mean 'elbow'"),
        ({"joints": {"elbow": {"stiffness": 1.0}}}, UnknownNameError, "unknown entry 'stiffness'"),
        ({"joints": {"elbow": "soft"}}, ConfigurationError, "joint 'elbow' is 'soft'"),
        (
            {"joints": {"elbow": {"law": "sea"}}, "gravity_compensation": True},
            ConfigurationError,
            "through the springs of elbow",
        ),
        ({"tool": {"weight": 1.0}}, UnknownNameError, "unknown entry 'weight' in tool"),
        ({"tool": 1.0}, ConfigurationError, "tool is 1.0; a mapping"),
        ({"payload": {"mass": -1.0}}, OutOfBoundsError, "mass at the flange"),
        ({"payload": {"mass": 1.0, "com": [0.0]}}, ShapeError, "centre of mass at the flange has shape"),
        ({"payload": {"mass": math.nan}}, OutOfBoundsError, "mass at the flange is nan"),
        ({"tool": {"mass": 1.0, "inertia": [1, 1, 3, 0, 0, 0]}}, OutOfBoundsError, "no body has the principal"),
        ({"tcp": [0, 0, 0.1]}, ShapeError, "ur10e: tcp has shape"),
        ({"start": [0, 0, 0]}, ShapeError, "ur10e: start has shape"),
        ({"damping": [1.0, 2.0]}, ShapeError, "damping has shape"),
        ({"friction": -1.0}, OutOfBoundsError, "friction = -1"),
        ({"armature": "heavy"}, ShapeError, "armature is not an array of numbers"),
        ({"integrator": "verlet"}, UnknownNameError, "unknown integrator 'verlet'"),
        ({"pedestal": -1.0}, OutOfBoundsError, "ur10e: pedestal"),
    ],
)
def test_what_cannot_be_is_refused(options, error, says):
    with pytest.raises(error, match=says):
        ur(**{"arm": "ur10e", **options})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda arm: arm.pop("d"), "'d'"),
        (lambda arm: arm["a"].pop(), "damaged"),
        (lambda arm: arm["links"]["forearm"].update(mass=-1.0), "forearm: mass = -1"),
        (lambda arm: arm.update(torque=[math.inf] * 6), "torque is inf"),
        (lambda arm: arm["range"].pop(), "5 ranges instead of 6"),
    ],
)
def test_damaged_parameters_are_an_error_of_ours(monkeypatch, change, says):
    entries = json.loads(json.dumps(ur_arms._entries()))
    change(entries["ur10e"])
    monkeypatch.setattr(ur_arms, "_entries", lambda: entries)
    ur_arm.cache_clear()
    with pytest.raises(FileFormatError, match=says):
        ur_arm("ur10e")
    ur_arm.cache_clear()


@pytest.mark.parametrize("period", [0.001, 0.002])
@pytest.mark.parametrize("timestep", [0.0005, 0.001])
def test_damping_by_the_inertia_is_stable_when_it_is_sampled_and_uniform_damping_spins_the_last_joint(
    period, timestep
):
    """c·T/I < 2 is needed: wrist 3 of the UR10 has I = 3.4e-4 kg·m² by its published inertias, so that c·T/I = 2.9
    at 0.5 N·m·s/rad and 2 ms, and 1.5 at 1 ms; 20 1/s times the inertia is 0.04."""
    robot = SimulatedRobot(ur("ur10", mode="torque", gravity_compensation=False, timestep=timestep), period)
    speeds = {}
    with robot:
        for damping in ("inertia", "uniform"):
            robot.reset()
            model, data = robot.model, mujoco.MjData(robot.model)
            robot.apply_torque("wrist_3", 1e-3)
            inertia = np.zeros((6, 6))
            for k in range(500):
                if k == 5:
                    robot.apply_torque("wrist_3", 0.0)
                state = robot.read()
                data.qpos[:], data.qvel[:] = state.position, state.velocity
                mujoco.mj_forward(model, data)
                mujoco.mj_fullM(model, data, inertia)
                resisting = inertia @ (20.0 * state.velocity) if damping == "inertia" else 0.5 * state.velocity
                robot.send(data.qfrc_bias - resisting)
            speeds[damping] = abs(robot.read().velocity[5])
    assert inertia[5, 5] == pytest.approx(3.4e-4, rel=0.02)
    assert speeds["inertia"] < 1e-3
    assert (speeds["uniform"] > 1.0) == (period == 0.002)
