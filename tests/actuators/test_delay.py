"""Delayed references, in MuJoCo's control history."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, JointReader, add_compliant_joint, compile_model, compliant_joints

SAMPLES = 20


def joint_and_motor(backend: str) -> mujoco.MjModel:
    """Two wheels, a rigid joint's and that of MuJoCo's own motor; both keep twenty samples of control."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 1e-3
    for name in ("ours", "theirs"):
        body = spec.worldbody.add_body(name=name)
        body.add_joint(name=name, axis=[0, 1, 0], damping=[0.1, 0, 0])
        body.add_geom(size=[0.1, 0, 0], contype=0, conaffinity=0)
    add_compliant_joint(spec, "ours", CompliantJoint(law="rigid", mode=0, delay=SAMPLES * 1e-3))
    motor = spec.add_actuator(name="theirs", target="theirs", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.delay, motor.nsample = SAMPLES * 1e-3, SAMPLES
    return compile_model(spec, backend)


@pytest.mark.parametrize("backend", ["native", "python"])
@pytest.mark.parametrize("steps", [0.5, 1.5, 7.5, 19.5, 20.0])
def test_a_delay_shorter_than_its_buffer_is_that_of_mujocos_own_actuators(backend, steps):
    model = joint_and_motor(backend)
    model.actuator_delay[:] = steps * 1e-3
    data = mujoco.MjData(model)
    reader = JointReader(model, data, compliant_joints(model))
    torques = np.random.default_rng(0).uniform(-1.0, 1.0, 60)
    late = []
    for torque in torques:
        data.ctrl[:] = torque
        mujoco.mj_step(model, data)
        late.append(data.qfrc_actuator.copy())
        mujoco.mj_forward(model, data)
        assert reader.read()[0, 2] == data.qfrc_actuator[0]
    ours, theirs = np.array(late).T
    assert ours.tobytes() == theirs.tobytes()
    lag = int(np.ceil(steps))
    assert ours[lag:].tobytes() == torques[:-lag].tobytes()


@pytest.mark.parametrize("backend", ["native", "python"])
def test_a_delay_under_rk4_is_that_of_mujocos_own_actuators(backend):
    """RK4's later stages look half a step on in the history, so this is no plain shift by whole steps."""
    model = joint_and_motor(backend)
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    speeds = []
    for torque in np.random.default_rng(0).uniform(-1.0, 1.0, 60):
        data.ctrl[:] = torque
        mujoco.mj_step(model, data)
        speeds.append(data.qvel.copy())
    ours, theirs = np.array(speeds).T
    assert np.abs(ours[SAMPLES + 1 :]).min() > 0.0
    assert ours.tobytes() == theirs.tobytes()
