"""What a spring must do: agree with its stiffness and energy, and hold a weight where the torques balance."""

import math

import mujoco
import pytest
from my_law import my_law

from pliant.actuators import CompliantJoint, add_compliant_joint, compile_model


@pytest.mark.parametrize("q", [-0.4, 0.0, 0.3])
def test_torque_stiffness_and_energy_agree(q):
    law, theta, step = my_law(k=8.0), 0.1, 1e-5
    slope = (law.torque(q + step, theta) - law.torque(q - step, theta)) / (2.0 * step)
    assert law.stiffness(q, theta) == pytest.approx(-slope, rel=1e-6)
    slope = (law.energy(q + step, theta) - law.energy(q - step, theta)) / (2.0 * step)
    assert law.torque(q, theta) == pytest.approx(-slope, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("backend", ["python", "native"])
def test_a_weight_hangs_where_spring_and_gravity_balance(backend):
    law, target = my_law(k=8.0), 0.5
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    body.add_joint(name="hinge", axis=[0, 1, 0], damping=[0.2, 0, 0])
    body.add_geom(size=[0.02, 0, 0], pos=[0, 0, -0.1], mass=0.3)
    (name,) = add_compliant_joint(spec, "hinge", CompliantJoint(law=law, mode=3, position_range=(-1, 1)))
    model = compile_model(spec, backend=backend)
    data = mujoco.MjData(model)
    data.actuator(name).ctrl = target
    mujoco.mj_step(model, data, nstep=2000)
    angle = data.joint("hinge").qpos[0]
    assert law.torque(angle, target) == pytest.approx(0.3 * 9.81 * 0.1 * math.sin(angle), abs=1e-3)
