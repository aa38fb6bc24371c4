"""A robot of a newcomer's own, from its model file to servos, by commands alone."""

import json
import re

import pytest
import yaml

MODEL = """<mujoco model="leg"><compiler angle="degree"/>
<option timestep="0.001" integrator="implicitfast"/>
<worldbody><body name="thigh" pos="0 0 1"><joint name="hip" axis="0 1 0" range="-90 90" damping="0.1"/>
<geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4" mass="1"/>
<body name="shank" pos="0 0 -.4"><joint name="knee" axis="0 1 0" range="10 120" damping="0.1"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.4" mass=".5"/><site name="toe" pos="0 0 -.4"/>
</body></body></worldbody>
<actuator><motor joint="hip" gear="50" ctrlrange="-1 1"/></actuator>
<sensor><gyro name="imu" site="toe"/></sensor></mujoco>"""


@pytest.fixture
def model(tmp_path):
    (tmp_path / "leg.xml").write_text(MODEL)


@pytest.fixture
def springs(model, tmp_path):
    """The leg with two servos behind springs at each joint."""
    servos = {"hip": [1, 2], "knee": [3, 4]}
    machine = {"bus": "dynamixel", "model": "XL330-M288", "servos": servos, "encoders": {"hip": 5, "knee": 6}}
    joints = {"*": {"law": "qbmove", "mode": 6}}
    told = {"model": "leg.xml", "joints": joints, "end_effectors": {"tip": "toe"}, "gravity_compensation": True}
    (tmp_path / "leg.yaml").write_text(yaml.safe_dump({**told, "machine": machine}))


def test_a_model_is_explained(model, verb):
    status, out, err = verb("robot", "leg.xml")
    assert (status, err) == (0, "")
    for expected in (
        "leg: 2 joints, 1.5 kg",
        "hip/torque  -50   50",
        "could be read: imu",
        "sites: toe",
        "missing: no end effector",
        "missing: no machine",
    ):
        assert expected in out


def test_a_joint_that_carries_nothing_is_told_so_and_one_joint_is_one(verb):
    status, out, _ = verb("robot", "smartsix")  # its drives carry the weight
    assert status == 0
    assert len(re.findall(r"^joint\d .*e[+-]\d\d +0 +", out, re.MULTILINE)) == 6
    _, out, _ = verb("robot", "rig1")
    assert "rig1: 1 joint, " in out


@pytest.mark.parametrize("robot", ["hexapod", "ur10e", "arm2", "slide"])
def test_a_table_fits_80_columns_with_a_line_for_each_joint(verb, tmp_path, monkeypatch, robot):
    monkeypatch.setenv("COLUMNS", "80")
    slide = MODEL.replace('joint name="knee"', 'joint type="slide" name="knee"').replace('"10 120"', '"0 .3"')
    (tmp_path / "slide.xml").write_text(slide)
    status, out, err = verb("robot", "slide.xml" if robot == "slide" else robot)
    assert status == 0, err
    table, count = out.partition("read: ")[0].splitlines()[1:], {"hexapod": 18, "ur10e": 6}.get(robot, 2)
    assert max(map(len, table)) <= 80
    assert "…" not in re.sub(r"\d … -?\d", "", "".join(table))
    heads = [line.split() for line in table if line.startswith("joint ")]
    rows = [line for line in table if re.match(r"\w+ +-?[\d.]+ … ", line)]
    assert (len(heads), len(rows)) == (2 if robot == "slide" else 1, count)
    assert ("m" in out.split() and "N/m" in out.split()) == (robot == "slide")


def test_a_first_description_is_written_that_can_be_explained_and_trained_on(model, verb, tmp_path):
    status, out, _ = verb("robot", "leg.xml", "out=leg.yaml")
    assert status == 0
    assert "next: pliant robot ./leg.yaml; pliant train robot=./leg.yaml task=reach" in out
    written = yaml.safe_load((tmp_path / "leg.yaml").read_text())
    assert written["joints"] == {"hip": "native", "knee": "passive"}
    assert written["end_effectors"] == {"tip": "toe"}
    assert written["signals"] == ["imu"]
    status, out, _ = verb("robot", "./leg.yaml")
    assert status == 0
    assert "imu/angular_velocity_x" in out
    pytest.importorskip("stable_baselines3")
    tiny = ("n_envs=2", "algo.n_steps=32", "algo.batch_size=32", "steps=64", "evaluation.episodes=1")
    status, out, _ = verb(
        "train", "robot=./leg.yaml", "task=reach", *tiny, "report.write=false", "hydra.run.dir=run"
    )
    assert status == 0, out
    assert "next: pliant play" in out
    status, out, _ = verb("evaluate", "run", "episodes=2", "robots=2")
    assert status == 0, "the run brings its robot, whatever became of the file"


def test_what_is_next_finds_a_description_in_another_folder(model, verb, tmp_path):
    (tmp_path / "leg").mkdir()
    (tmp_path / "leg.xml").rename(tmp_path / "leg" / "leg.xml")
    status, out, _ = verb("robot", "leg/leg.xml", "out=leg/first.yaml")
    assert status == 0
    assert "next: pliant robot leg/first.yaml; pliant train robot=leg/first.yaml task=reach" in out


@pytest.mark.parametrize(("servo", "told"), [("XL430-W250", True), ("XM430-W350", False)])
def test_servos_that_tell_no_torque_are_named_before_anything_is_learned(model, verb, tmp_path, servo, told):
    lines = ("model: leg.xml", "joints: {knee: {drive: position_loop, kp: 20.0, torque_limit: 2.0}}")
    machine = f"machine: {{bus: dynamixel, model: {servo}, servos: {{knee: 1}}}}"
    (tmp_path / "leg.yaml").write_text("\n".join((*lines, machine)))
    status, out, err = verb("robot", "./leg.yaml")
    assert status == 0, err
    assert ("no servo tells the torque of knee: " in out) == told


def test_a_machine_that_does_not_fit_is_told_of_and_the_robot_is_explained(model, verb, tmp_path):
    joint = "joints: {knee: {drive: position_loop, kp: 20.0, torque_limit: 2.0}}"
    machine = "machine: {bus: dynamixel, model: AX-12A, servos: {knee: 1}}"  # it has no watchdog
    (tmp_path / "leg.yaml").write_text("\n".join(("model: leg.xml", joint, machine)))
    status, out, _ = verb("robot", "./leg.yaml")
    assert status == 0
    assert "missing: a machine that fits, for hardware=emulated and hardware=real: " in out
    assert "no servo tells" not in verb("robot", "hexapod")[1], "an AX-12A's torque is estimated"


def test_a_description_is_never_overwritten(model, verb, tmp_path):
    (tmp_path / "leg.yaml").write_text("mine")
    status, _, err = verb("robot", "leg.xml", "out=leg.yaml")
    assert status == 2
    assert "leg.yaml exists and is not overwritten" in err
    assert (tmp_path / "leg.yaml").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nothere"], "unknown robot 'nothere'. Valid: arm2"),
        (["./leg.yml"], "robot file leg.yml does not exist"),
        (["arm2", "out=x.yaml"], "a description is written of a model file"),
        (["leg.xml", "out=../x.yaml"], "belongs beside its model"),
        (["leg.xml", "arm2"], "say which robot"),
        (["leg.xml", "to=x.yaml"], "knows no setting 'to', only out=FILE"),
    ],
)
def test_what_makes_no_sense_is_explained(model, verb, arguments, expected):
    status, _, err = verb("robot", *arguments)
    assert status == 2
    assert expected in err


@pytest.mark.slow
def test_what_was_learned_for_a_file_runs_on_its_servos(springs, verb, tmp_path):
    learned = ("trajectory.start=[0,0.2]", "trajectory.goal=[0.1,0.3]", "trajectory.duration=2.0", "ilc=p_type")
    quick = ("robustness.robots=2", "report.pictures=false")
    status, out, _ = verb("ilc", "robot=./leg.yaml", *learned, *quick, "hydra.run.dir=ilc")
    assert status == 0, out
    deploy = ("hardware=emulated", "run.settle=0.1", "hydra.run.dir=out")
    status, out, err = verb("deploy", "feedforward=ilc/feedforward.npz", *deploy)
    assert status == 0, err
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["completed"]
    assert metrics["max_error_rad"] < 0.15


def test_a_joint_that_nothing_drives_is_not_learned_on(model, verb, tmp_path):
    (tmp_path / "leg.yaml").write_text("model: leg.xml\njoints: {hip: {law: sea, mode: 6}, knee: passive}\n")
    status, _, err = verb("ilc", "robot=./leg.yaml", "trajectory.start=[0,0.2]", "trajectory.goal=[0.1,0.3]")
    assert status == 2
    assert "joint 'knee' of robot 'leg' has no command column" in err
