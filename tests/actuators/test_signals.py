"""What can be read of a joint agrees with its law, its motors and the forces that MuJoCo applied."""

import subprocess
import sys

import mujoco
import numpy as np
import pytest

from pliant.actuators import (
    PID,
    CompliantJoint,
    JointReader,
    Motor,
    add_compliant_joint,
    compile_model,
    compliant_joints,
    find_law,
    save_model,
    trace_joint,
)
from pliant.actuators.layout import SIGNALS
from pliant.errors import ShapeError

CASES = [("rigid", 0), ("rigid", 1)]
CASES += [(law, mode) for law in ("sea", "qbmove", "bavs", "awas2") for mode in range(2, 7)]


def case_joint(law: str, mode: int) -> CompliantJoint:
    return CompliantJoint(
        law=law, mode=mode, motor=Motor(torque_limit=0.5), pid=PID(kp=20.0, ki=5.0, kd=0.2, derivative_filter=0.0),
        preset_range=(0.0, 0.01) if law == "awas2" else None,
    )  # fmt: skip


def sine(t):
    return np.array([0.4 * np.sin(6 * t), 0.05 + 0.1 * np.sin(5 * t)])


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize(("law", "mode"), CASES)
def test_signals_agree_with_law_motors_and_applied_torque(pendulum, simulate, law, mode, backend):
    model = compile_model(pendulum(case_joint(law, mode), damping=0.01, armature=0.01), backend)
    joints = compliant_joints(model)
    data = mujoco.MjData(model)
    reader = JointReader(model, data, joints)
    simulate(model, lambda t: sine(t)[: model.nu], 0.15, data)
    mujoco.mj_forward(model, data)
    read = dict(zip(SIGNALS, reader.read()[0], strict=True))

    assert read["position"] == data.qpos[0]
    assert read["velocity"] == data.qvel[0]
    assert read["torque"] == pytest.approx(data.qfrc_actuator[0], rel=1e-12, abs=1e-15)
    if mode < 2:
        others = set(SIGNALS) - {"position", "velocity", "torque"}
        assert [read[name] for name in others] == [0.0] * len(others)
        return
    compliance = find_law(law)()
    control = np.clip(data.ctrl, *model.actuator_ctrlrange.T)
    motors = (read["motor_position1"], read["motor_position2"])
    if mode == 2:
        assert motors[: model.nu] == tuple(control)
    if mode == 3:
        assert motors == pytest.approx(compliance.references(*control), abs=1e-15)
    springs = (read["spring_torque1"], read["spring_torque2"])
    assert springs == pytest.approx(compliance.torques(data.qpos[0], *motors), rel=1e-12)
    assert read["torque"] == pytest.approx(sum(springs), rel=1e-12)
    assert read["stiffness"] == pytest.approx(compliance.stiffness(data.qpos[0], *motors), rel=1e-12)
    if mode >= 4:
        sizes = joints[0].description.state_sizes
        state = [data.act[sum(sizes[:k]) :][:size] for k, size in enumerate(sizes)]
        assert motors[: len(state)] == tuple(motor[0] for motor in state)
        rotary = 1 if law in ("sea", "awas2") else 2
        targets = compliance.references(*control) if mode == 6 else control
        for k in range(rotary):
            angle, speed, _, integral = state[k][:4]
            speed -= 0.5 * model.opt.timestep * springs[k] / Motor().inertia  # half the push of the spring later
            assert read[f"motor_velocity{k + 1}"] == pytest.approx(speed, rel=1e-12, abs=1e-15)
            drive = targets[k]
            if mode != 4:
                reference, wanted = state[k][4:]
                assert reference == pytest.approx(targets[k], abs=1e-15)
                drive = 20.0 * (targets[k] - angle) + integral + 0.2 * (wanted - speed)
            torque = read[f"motor_torque{k + 1}"]
            assert torque == pytest.approx(np.clip(drive, -0.5, 0.5), rel=1e-9)
    else:
        assert read["motor_velocity1"] == read["motor_torque1"] == 0.0


def test_the_pivots_speed_is_read_and_limited(pendulum, simulate):
    joint = CompliantJoint(law="awas2", mode=6, preset_range=(0.0, 0.01))
    model = compile_model(pendulum(joint, damping=0.01))
    data = mujoco.MjData(model)
    reader = JointReader(model, data, compliant_joints(model))
    simulate(model, (0.0, 0.01), 1e-3, data)
    before = reader.read()[0, SIGNALS.index("motor_position2")]
    assert reader.values[0, SIGNALS.index("motor_velocity2")] == 0.1
    simulate(model, (0.0, 0.01), 1e-3, data)
    assert reader.read()[0, SIGNALS.index("motor_position2")] == pytest.approx(before + 1e-4)


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize(("law", "mode"), [("rigid", 1), ("sea", 3), ("qbmove", 6), ("awas2", 5)])
def test_a_trace_is_what_was_read_live(pendulum, law, mode, backend):
    model = compile_model(pendulum(case_joint(law, mode), damping=0.01, armature=0.01), backend)
    (joint,) = compliant_joints(model)
    data = mujoco.MjData(model)
    reader = JointReader(model, data, [joint])
    steps = 40
    live, controls = np.zeros((steps, len(SIGNALS))), np.zeros((steps, model.nu))
    states = [np.zeros((steps, n)) for n in (1, 1, model.na)]
    for k in range(steps):
        controls[k] = data.ctrl[:] = np.clip(sine(0.01 * k)[: model.nu], *model.actuator_ctrlrange.T)
        live[k] = reader.read()[0]
        for array, now in zip(states, (data.qpos, data.qvel, data.act), strict=True):
            array[k] = now
        mujoco.mj_step(model, data)
    trace = trace_joint(model, joint, states[0][:, 0], states[1][:, 0], controls, states[2])
    assert tuple(trace) == SIGNALS
    assert np.column_stack(list(trace.values())).tobytes() == live.tobytes()


def test_arrays_of_the_wrong_shape_are_refused(pendulum):
    model = compile_model(pendulum(CompliantJoint(law="qbmove", mode=6)))
    (joint,) = compliant_joints(model)
    good = {
        "position": np.zeros(5),
        "velocity": np.zeros(5),
        "control": np.zeros((5, 2)),
        "act": np.zeros((5, 12)),
    }
    assert trace_joint(model, joint, **good)["torque"].shape == (5,)
    for name, wrong in (("velocity", np.zeros(4)), ("control", np.zeros((5, 1))), ("act", np.zeros((5, 4)))):
        with pytest.raises(ShapeError, match=rf"joint 'hinge': {name} has shape .*expected"):
            trace_joint(model, joint, **{**good, name: wrong})


def test_a_reader_of_many_joints_keeps_their_order(simulate):
    spec = mujoco.MjSpec()
    body = spec.worldbody
    for name, law in (("shoulder", "qbmove"), ("elbow", "bavs"), ("wrist", "sea")):
        body = body.add_body(pos=[0, 0, -0.1])
        body.add_joint(name=name, axis=[0, 1, 0], damping=[0.02, 0, 0])
        body.add_geom(size=[0.03, 0, 0], pos=[0, 0, -0.05], mass=0.5, contype=0, conaffinity=0)
        add_compliant_joint(spec, name, CompliantJoint(law=law, mode=6))
    spec.option.timestep = 1e-3
    model = compile_model(spec)
    joints = compliant_joints(model)
    data = mujoco.MjData(model)
    simulate(model, [0.3, 0.1, -0.2, 0.01, 0.4], 0.1, data)
    both = JointReader(model, data, joints[::-1]).read()
    assert both[:, 0].tolist() == data.qpos[::-1].tolist()
    assert both[0].tolist() == JointReader(model, data, joints[2:]).read()[0].tolist()


@pytest.mark.parametrize("backend", ["native", "python"])
def test_a_model_that_was_never_prepared_is_read_all_the_same(pendulum, tmp_path, backend):
    """In a process of its own, where nobody has used the law before."""
    save_model(pendulum(CompliantJoint(law="bavs", mode=3)), tmp_path / "rig.xml")
    script = f"""
import sys, mujoco, numpy as np
from pliant.actuators import *
model = mujoco.MjModel.from_xml_path(sys.argv[1])
(joint,) = compliant_joints(model)
install({backend!r})
data = mujoco.MjData(model)
data.qpos[0] = 0.1
print(JointReader(model, data, [joint]).read()[0, 2])
zeros = np.zeros(1)
print(trace_joint(model, joint, data.qpos, zeros, np.zeros((1, 2)), np.zeros((1, 0)))["torque"][0])
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "rig.xml")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    live, traced = map(float, done.stdout.split())
    assert live == traced == pytest.approx(find_law("bavs")().torque(0.1, 0.0, 0.0))
