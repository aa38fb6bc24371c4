"""What is told of a robot before it runs, against closed forms and MuJoCo itself."""

import mujoco
import numpy as np
import pytest

from pliant.envs.description import describe
from pliant.envs.explanation import explain

MASS, LENGTH, RADIUS, STEP = 0.4, 0.3, 0.02, 0.002
INERTIA = MASS * LENGTH**2 + 0.4 * MASS * RADIUS**2
PENDULUM = f"""<mujoco model="pendulum"><option timestep="{STEP}" integrator="Euler"/>
<worldbody><body><joint name="hinge" axis="0 1 0" stiffness="STIFFNESS"/>
<geom size="{RADIUS}" pos="0 0 -{LENGTH}" mass="{MASS}"/></body></worldbody></mujoco>"""


@pytest.fixture
def hinge(tmp_path):
    (tmp_path / "pendulum.xml").write_text(PENDULUM.replace("STIFFNESS", "0"))
    (found,) = explain(describe(tmp_path / "pendulum.xml")).joints
    return found


def test_inertia_and_weight_are_those_of_a_pendulum(hinge):
    assert hinge.inertia == pytest.approx(INERTIA, rel=1e-9)
    weight = MASS * 9.81 * LENGTH
    assert 0.95 * weight < hinge.load <= weight * (1 + 1e-9), "the largest of the poses that are tried"


@pytest.mark.parametrize(("share", "stays"), [(0.98, True), (1.02, False)])
def test_the_stiffness_is_where_the_step_ceases_to_be_stable(hinge, share, stays):
    model = mujoco.MjModel.from_xml_string(PENDULUM.replace("STIFFNESS", str(share * hinge.stiffness)))
    model.opt.gravity[:] = 0.0
    data = mujoco.MjData(model)
    data.qpos[0] = 1e-6
    largest = 0.0
    for _ in range(400):
        mujoco.mj_step(model, data)
        largest = max(largest, abs(float(data.qpos[0])))
    assert (largest < 1e-4) == stays
    assert np.isfinite(largest)
