"""Drives describe themselves: a user's own runs like ours, and the kernel knows none of them."""

import copy
import importlib
import inspect
import math
import os
import pickle
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

import pliant.actuators
from pliant.actuators import (
    PID,
    CompliantJoint,
    JointReader,
    Parameter,
    ServoDrive,
    StabilityError,
    add_compliant_joint,
    compile_model,
    compliant_joints,
    find_drive,
    find_law,
    link_drive,
    load_model,
    motor_drive,
    position_loop,
    save_model,
    stability_margin,
)
from pliant.errors import ConfigurationError, FileFormatError, OutOfBoundsError, UnknownNameError

FILE = '''
import math

from pliant.actuators import Parameter, link_drive, motor_drive

FULL = 2.0


def clamp(x: float, limit: float) -> float:
    return min(max(x, -limit), limit)


def slow(target: float, step: float, soft: float, lag: float) -> float:
    return target + (soft - target) * math.exp(-step / lag)


def slow_rate(target: float, soft: float, lag: float) -> float:
    return (target - soft) / lag


def stiffness(kp: float) -> float:
    return kp


@link_drive(
    parameters=(
        Parameter("kp", "N·m/rad", 0.4, 0.0, 10.0, "stiffness"),
        Parameter("lag", "s", 0.05, 1e-3, 1.0, "of the command"),
    ),
    state=("soft",),
    step=slow,
    rates=slow_rate,
    stiffness=stiffness,
)
def filtered(q: float, dq: float, soft: float, kp: float) -> float:
    """A position loop behind a filter."""
    return clamp(kp * (soft - q) - 0.01 * dq, FULL)


def speed(angle: float, target: float, rate: float) -> float:
    return clamp(10.0 * (target - angle), rate)


def effort(load: float) -> float:
    return load


@motor_drive(
    parameters=(Parameter("rate", "rad/s", 2.0, 0.1, 10.0, "largest speed"),),
    state=("angle",),
    rates=speed,
    velocity=speed,
)
def winch(angle: float, target: float, step: float, rate: float) -> float:
    """A motor that nothing drives back, at a limited rate."""
    return angle + step * speed(angle, target, rate)


@link_drive(parameters=(Parameter("kp", "N·m/rad", 1.0, 0.0, 10.0, "stiffness"),))
def spelled(q: float, target: float, kp: float) -> float:
    return float(str(kp)) * (target - q)


@link_drive(command=("velocity", "rad/s"))
def cruise(dq: float, target: float) -> float:
    return 0.1 * (target - dq)


def counted(step: float, first: float, second: float, third: float) -> tuple[float, float, float]:
    return first + step, second + first * step, third + second * step


@link_drive(state=("first", "second", "third"), step=counted, at_end=True)
def late(first: float, second: float, third: float, target: float) -> float:
    return target * (first + second + third)
'''


@pytest.fixture(scope="module")
def drives(tmp_path_factory):
    """The user's module, imported from the import path."""
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "theirdrives.py").write_text(FILE)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield importlib.import_module("theirdrives")
    sys.path.remove(str(folder))
    del sys.modules["theirdrives"]


def sine(columns):
    return lambda t: [0.5 * math.sin(5 * t), 0.2][:columns]


@pytest.mark.parametrize("integrator", ["euler", "implicitfast", "rk4", "discrete"])
@pytest.mark.parametrize("which", ["link", "sea", "qbmove", "awas2"])
def test_both_back_ends_run_it_to_the_same_last_bit(drives, pendulum, simulate, which, integrator):
    options = {"preset_range": (0.0, 0.01)} if which == "awas2" else {}
    joint = (
        CompliantJoint("rigid", 1, drive=drives.filtered(kp=0.3))
        if which == "link"
        else CompliantJoint(which, 6, drive=drives.winch(rate=1.0), **options)
    )
    motions, read = [], []
    for backend in ("native", "python"):
        model = compile_model(pendulum(joint, damping=0.05, integrator=integrator), backend)
        data = mujoco.MjData(model)
        control = sine(model.nu) if which != "awas2" else lambda t: [0.3 * math.sin(5 * t), 0.005]
        motions.append(simulate(model, control, 0.1, data))
        read.append(JointReader(model, data, compliant_joints(model)).read().tobytes())
    assert np.ptp(motions[0].position) > 2e-4
    for one, other in zip(*motions, strict=True):
        assert one.tobytes() == other.tobytes()
    assert read[0] == read[1]


def test_it_moves_as_its_equations_say(drives, pendulum, simulate):
    """A filter of 50 ms in front of a weak loop: the soft command is the exponential, the torque what it says."""
    model = compile_model(pendulum(CompliantJoint("rigid", 1, drive=drives.filtered()), gravity=0.0))
    motion = simulate(model, 0.5, 0.2)
    expected = 0.5 * (1.0 - np.exp(-motion.time[:, 0] / 0.05))
    assert motion.act[:, 0] == pytest.approx(expected, abs=1e-12)


def test_a_winch_holds_the_spring_whatever_pulls(drives, pendulum, simulate):
    joint = CompliantJoint("sea", 6, drive=drives.winch(rate=0.5))
    motion = simulate(compile_model(pendulum(joint, damping=0.02)), 1.0, 1.0)
    assert np.diff(motion.act[:500, 0]) == pytest.approx(0.5e-3, rel=1e-9), "its rate"
    assert motion.act[-1, 0] == pytest.approx(0.5, abs=1e-9)
    assert joint.act_size == 4


@pytest.mark.parametrize(("kind", "units"), [("hinge", "rad/s"), ("slide", "m/s")])
def test_what_it_is_commanded_has_its_own_name_and_unit(drives, kind, units):
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_joint(name="wheel", type=getattr(mujoco.mjtJoint, f"mjJNT_{kind.upper()}"), axis=[0, 0, 1])
    body.add_geom(size=[0.1, 0, 0], mass=0.3)
    key = spec.add_key(name="turned")
    key.qpos = [0.4]
    joint = CompliantJoint("rigid", 1, drive=drives.cruise(), position_range=(-9.0, 9.0))
    assert add_compliant_joint(spec, "wheel", joint) == ("wheel/velocity",)
    model = compile_model(spec)
    (found,) = compliant_joints(model)
    assert [(r.name, r.unit, r.low, r.high) for r in found.references] == [("velocity", units, -9.0, 9.0)]
    assert model.key_ctrl[0, 0] == 0.0, "at rest, and not as fast as it is far"


def test_its_torque_at_the_end_of_a_step_is_of_the_state_after_it(drives, pendulum):
    model = compile_model(pendulum(CompliantJoint("rigid", 1, drive=drives.late()), gravity=0.0))
    data = mujoco.MjData(model)
    data.act[:] = 1.0, 2.0, 3.0
    data.ctrl[0] = 1.0
    mujoco.mj_step(model, data)
    after = (1.0 + 1e-3) + (2.0 + 1.0 * 1e-3) + (3.0 + 2.0 * 1e-3)
    assert data.qfrc_actuator[0] == pytest.approx(after, rel=1e-14)
    assert data.act.sum() == pytest.approx(after, rel=1e-14)


def test_a_saved_model_finds_it_again_or_says_why_not(drives, pendulum, tmp_path):
    joint = CompliantJoint("rigid", 1, drive=drives.filtered(kp=1 / 3))
    save_model(pendulum(joint), tmp_path / "model.xml")
    (found,) = compliant_joints(load_model(tmp_path / "model.xml"))
    assert found.description == joint
    folder = str(Path(drives.__file__).parent)
    script = "import sys; from pliant.actuators import load_model; load_model(sys.argv[1], 'python')"

    def elsewhere(path, trusted="theirdrives"):
        paths = os.pathsep.join([path, os.environ.get("PYTHONPATH", "")])
        return subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / "model.xml")],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": paths, "PLIANT_TARGETS": trusted},
        ).stderr  # fmt: skip

    assert elsewhere(folder) == ""
    assert "names 'theirdrives:filtered', whose module is of no trusted package" in elsewhere(folder, "")
    assert "drive 'theirdrives:filtered' cannot be imported" in elsewhere("")
    changed = tmp_path / "changed"
    changed.mkdir()
    (changed / "theirdrives.py").write_text(FILE.replace("FULL = 2.0", "FULL = 3.0"))
    assert "drive 'theirdrives:filtered' has changed since this model was written" in elsewhere(str(changed))


def test_one_that_cannot_be_compiled_runs_in_python_and_says_so(drives, pendulum):
    """In a process of its own, which is left with a drive that only Python can run."""
    script = f"""
import mujoco, theirdrives
from pliant.actuators import *
from pliant.errors import ConfigurationError
spec = mujoco.MjSpec.from_string({pendulum().to_xml()!r})
add_compliant_joint(spec, "hinge", CompliantJoint("rigid", 1, drive=theirdrives.spelled()))
model = compile_model(spec, "python")
data = mujoco.MjData(model)
data.ctrl[0] = 0.5
mujoco.mj_step(model, data)
print(data.qfrc_actuator[0])
try:
    install("native")
except ConfigurationError as error:
    print(error)
"""
    folder = str(Path(drives.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    torque, error = done.stdout.splitlines()
    assert float(torque) == 0.5
    assert "drive 'spelled' cannot be compiled" in error
    assert 'backend="python"' in error


def test_a_joint_may_be_copied_and_pickled(drives):
    for joint in (
        CompliantJoint("rigid", 1, drive=drives.filtered()),
        CompliantJoint("rigid", 1, servo=ServoDrive("MX-64", p_gain=32)),
        CompliantJoint("awas2", 6),
    ):
        joint.drives[0].kind.function  # noqa: B018  made once, and not to be pickled
        for twin in (copy.deepcopy(joint), pickle.loads(pickle.dumps(joint))):
            assert twin == joint
            assert twin.law.law is joint.law.law
            assert twin.drives == joint.drives
            assert twin.drives[0].kind is joint.drives[0].kind


def test_without_rates_rk4_is_refused_by_name(drives, pendulum):
    with pytest.raises(
        ConfigurationError, match=r"'late', whose state is found from step to step, not at the stages of RK4"
    ):
        compile_model(pendulum(CompliantJoint("rigid", 1, drive=drives.late()), integrator="rk4"))


def test_its_stiffness_bounds_the_time_step(drives, pendulum):
    with pytest.raises(StabilityError, match=r"K = 10 N·m/rad.*a softer position loop"):
        compile_model(pendulum(CompliantJoint("rigid", 1, drive=drives.filtered(kp=10.0)), timestep=0.02))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: link_drive()(lambda q, torque_of_the_day: 0.0),
            UnknownNameError,
            r"unknown argument 'torque_of_the_day' in torque of drive.*Valid: q, dq, target",
        ),
        (lambda: link_drive(state=("x",))(lambda q: 0.0), ConfigurationError, "a state and a step function go"),
        (lambda: motor_drive(state=("speed", "angle"))(lambda angle: 0.0), ConfigurationError, "its angle first"),
        (
            lambda: link_drive(parameters=(Parameter("q", "1", 0, 0, 1, "x"),))(lambda q: 0.0),
            ConfigurationError,
            "the name 'q' is used twice",
        ),
        (lambda: link_drive(stifness=lambda: 1.0)(lambda q: 0.0), UnknownNameError, "Did you mean 'stiffness'"),
        (
            lambda: link_drive(
                parameters=tuple(Parameter(f"a{k}", "1", 0, 0, 1, "x") for k in range(33)),
            )(lambda q: 0.0),
            ConfigurationError,
            "has 33 parameters; at most 32",
        ),
        (lambda: find_drive("pliant.actuators:PID"), ConfigurationError, "is a type, not a drive"),
        (lambda: find_drive("nowhere"), UnknownNameError, "position_loop"),
        (lambda: find_drive("nowhere:at_all"), ConfigurationError, "cannot be imported"),
        (lambda: position_loop(kq=1.0), UnknownNameError, "Did you mean 'kp' or 'kd'|Valid: kp"),
        (lambda: position_loop(kp=-1.0), OutOfBoundsError, "drive 'position_loop': kp"),
        (
            lambda: CompliantJoint("sea", 6, drive=position_loop()),
            ConfigurationError,
            r"'position_loop' runs in mode 1 \(link_position\), not in mode 6",
        ),
        (
            lambda: CompliantJoint("rigid", 1, drive=position_loop(), pid=PID()),
            ConfigurationError,
            "not both pid and drive",
        ),
        (lambda: CompliantJoint("rigid", 1, drive=position_loop), ConfigurationError, "is no drive with its"),
        (lambda: CompliantJoint("rigid", 1, drive="servo"), ConfigurationError, "'servo' is no drive"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_damaged_description_of_it_is_refused(drives, pendulum):
    spec = pendulum(CompliantJoint("rigid", 1, drive=drives.filtered()))
    text = spec.texts[0]
    text.data = text.data.replace('"kp": 0.4', '"kq": 0.4')
    with pytest.raises((FileFormatError, UnknownNameError), match="kq"):
        compile_model(spec)


@pytest.mark.parametrize("module", ["kernel", "native", "native_access", "python_backend", "layout", "stability"])
def test_no_drive_is_named_where_all_of_them_run(module):
    """The seam: the next drive edits nothing here."""
    source = inspect.getsource(importlib.import_module(f"pliant.actuators.{module}"))
    for word in ("ServoDrive", "servo is", "SERVO", ".pid.", "motor_pid", "bam", "ax12a", "link_pid"):
        assert word not in source, word


def test_every_drive_that_is_there_describes_itself():
    joints = [
        CompliantJoint("rigid", 0),
        CompliantJoint("rigid", 1),
        CompliantJoint("rigid", 1, drive=position_loop()),
        *(CompliantJoint("rigid", 1, servo=servo) for servo in ("AX-12A", ServoDrive("MX-64", p_gain=32))),
        CompliantJoint("qbmove", 3),
        *(CompliantJoint("awas2", mode) for mode in (4, 5, 6)),
    ]
    kinds = [[drive.kind.name for drive in joint.drives] for joint in joints]
    assert kinds == [
        ["torque"], ["link_pid"], ["position_loop"], ["ax12a_servo"], ["bam_servo"], [],
        ["motor_torque", "lever_pivot"], ["motor_pid", "lever_pivot"], ["motor_pid", "lever_pivot"],
    ]  # fmt: skip
    for joint in joints:
        for drive in joint.drives:
            assert find_drive(drive.kind.source) is drive.kind
            assert drive.kind(**drive.parameters) == drive
            assert all(parameter.unit and parameter.meaning for parameter in drive.kind.parameters)
    assert pliant.actuators.position_loop is position_loop


def industrial(kp: float, integrator: str = "implicitfast", timestep: float = 2e-3, **options) -> mujoco.MjSpec:
    """Six joints with links from 15 to 1 kg, rotors of 2 to 0.05 kg·m² after the gears."""
    spec = mujoco.MjSpec()
    spec.option.timestep = timestep
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    body, axes = spec.worldbody, ([0, 0, 1], [0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1])
    sizes = (0.1, 0.6, 0.5, 0.1, 0.1, 0.08)
    masses, rotors = (15.0, 12.0, 6.0, 2.0, 1.5, 1.0), (2.0, 2.0, 1.0, 0.1, 0.1, 0.05)
    before = 0.0
    for k, (axis, size, mass, rotor) in enumerate(zip(axes, sizes, masses, rotors, strict=True)):
        body = body.add_body(pos=[0.0, 0.0, before])
        body.add_joint(name=f"j{k}", axis=axis, armature=rotor)
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[0, 0, 0, 0, 0, size], size=[0.04, 0, 0], mass=mass,
            contype=0, conaffinity=0,
        )  # fmt: skip
        drive = position_loop(kp=kp, **options)
        add_compliant_joint(spec, f"j{k}", CompliantJoint("rigid", "link_position", drive=drive))
        before = size
    return spec


class TestStiffPositionLoop:
    @pytest.mark.parametrize("integrator", ["implicit", "implicitfast", "discrete"])
    @pytest.mark.parametrize("kp", [1e4, 3e4, 1e5])
    def test_an_industrial_arm_at_2_ms_follows_and_comes_to_rest(self, simulate, kp, integrator):
        model = compile_model(industrial(kp, integrator))
        data = mujoco.MjData(model)
        goal = np.array([0.5, 0.6, -0.8, 0.3, 0.7, -0.4])
        motion = simulate(model, lambda t: goal * (1 - math.cos(math.pi * min(t, 1.0))) / 2, 3.0, data)
        assert np.abs(motion.velocity[-50:]).max() < 1e-6
        assert goal - data.qpos == pytest.approx(data.qfrc_bias / kp, abs=1e-6), "its weight bends it"
        smooth = np.abs(np.diff(motion.velocity, axis=0)).max() / 2e-3
        assert smooth < 1.5 * np.abs(goal).max() * math.pi**2 / 2, (
            "no ringing beyond the motion's own acceleration"
        )

    def test_a_step_is_critically_damped(self, pendulum, simulate):
        joint = CompliantJoint("rigid", 1, drive=position_loop(kp=5e4, torque_limit=1e6))
        spec = pendulum(joint, armature=1.0, timestep=2e-3, integrator="implicitfast", gravity=0.0)
        motion = simulate(compile_model(spec), 1e-3, 0.1)
        quickest = math.sqrt(5e4)
        expected = 1e-3 * (1 - (1 + quickest * motion.time) * np.exp(-quickest * motion.time))
        assert motion.position.max() < 1.01e-3
        assert motion.position == pytest.approx(expected, abs=0.12e-3), "of the first order at ωh = 0.45"

    def test_its_damping_is_that_of_the_ratio_and_is_told(self):
        model = compile_model(industrial(1e4))
        joints = compliant_joints(model)
        data, whole = mujoco.MjData(model), np.zeros((6, 6))
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, whole)
        inertia = 1.0 / np.diag(np.linalg.inv(whole))  # the other joints are free to move
        found = -model.actuator_biasprm[:, 2]
        assert found == pytest.approx(2 * np.sqrt(1e4 * inertia))
        data.qvel[:] = 0.01
        data.ctrl[:] = 1e-3
        mujoco.mj_forward(model, data)
        told = JointReader(model, data, joints).read()[:, 2]
        assert told == pytest.approx(data.qfrc_actuator, rel=1e-12)

    def test_its_torque_has_a_limit(self):
        model = compile_model(industrial(1e5, torque_limit=50.0))
        data = mujoco.MjData(model)
        data.ctrl[:] = 1.0
        mujoco.mj_step(model, data)
        assert data.qfrc_actuator == pytest.approx(np.full(6, 50.0))
        mujoco.mj_forward(model, data)
        assert JointReader(model, data, compliant_joints(model)).read()[:, 2].max() == 50.0

    def test_a_saved_model_has_every_number(self, simulate, tmp_path):
        for options in ({}, {"kd": 1234.56789}):
            spec = industrial(1e5 / 3, torque_limit=1000 / 3, **options)
            model = compile_model(spec)
            save_model(spec, tmp_path / "arm.xml")
            loaded = load_model(tmp_path / "arm.xml")
            for field in ("actuator_user", "actuator_gainprm", "actuator_biasprm", "actuator_forcerange"):
                assert getattr(loaded, field) == pytest.approx(getattr(model, field), rel=1e-12), field

    def test_it_is_stable_up_to_the_refused_step_and_not_far_beyond(self, simulate):
        def unrest(spec, **check):
            model = compile_model(spec, **check)
            data = mujoco.MjData(model)
            data.qvel[:] = 1e-3
            return np.abs(simulate(model, 0.0, 400 * model.opt.timestep, data).velocity).max()

        def accepted(step):
            try:
                compile_model(industrial(1e6, timestep=step, torque_limit=1e6))
            except StabilityError:
                return False
            return True

        steps = [step for step in (5e-4, 7e-4, 1e-3, 1.4e-3, 2e-3, 2.8e-3, 4e-3) if accepted(step)]
        assert 5e-4 <= steps[-1] < 4e-3
        for step in steps:
            spec = industrial(1e6, timestep=step, torque_limit=1e6)
            spec.option.gravity = [0, 0, 0]
            assert unrest(spec) < 2e-3
        spec = industrial(1e6, timestep=3 * steps[-1], torque_limit=1e6)
        spec.option.gravity = [0, 0, 0]
        assert not unrest(spec, check=False) < 1.0
        spec = industrial(1e6, "discrete", 4e-3, torque_limit=1e6)
        spec.option.gravity = [0, 0, 0]
        assert unrest(spec) < 2e-3

    def test_under_euler_it_is_explicit_and_so_refused(self):
        with pytest.raises(StabilityError, match="'discrete', which carries any stiffness"):
            compile_model(industrial(1e5, "euler"))

    def test_beside_springs_it_leaves_their_bound_alone(self):
        margins = []
        for spec in (industrial(1e5), mujoco.MjSpec()):
            body = spec.worldbody.add_body(pos=[2, 0, 0])
            body.add_joint(name="soft", axis=[0, 1, 0])
            body.add_geom(size=[0.02, 0, 0], pos=[0, 0, -0.1], mass=0.02, contype=0, conaffinity=0)
            add_compliant_joint(spec, "soft", CompliantJoint(find_law("sea")("stiff"), 5))
            model = compile_model(spec, check=False)
            margins.append(
                stability_margin(model, [(j.name, j.description, j.joint) for j in compliant_joints(model)])
            )
        assert margins[0].joint == margins[1].joint == "soft"
        assert margins[0].largest_step == pytest.approx(margins[1].largest_step, rel=1e-5)
        with pytest.raises(StabilityError, match="joint 'soft'"):
            compile_model(spec)
