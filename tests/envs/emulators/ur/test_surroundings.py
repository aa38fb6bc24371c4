"""What stands around an arm is behind its emulated controller too: the arm touches it, and its sensor reads it."""

import mujoco
import numpy as np
import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from tests.envs.emulators.ur.test_controller import SERVO, TORQUE, Bench, servo

from pliant.controllers.ur_kinematics import UrKinematics, pose_of
from pliant.hardware.ur_arms import LINKS

START = (1.3614, -0.7679, 1.9373, 3.549729, -1.5708, -1.7777)
"""Where the paper begins over the plane: the tip 8.2 mm above it."""
ARM = UrKinematics("ur10", tcp=pose_of([0.0, 0.0, 0.195]))


def over(**plane):
    """The UR10 over the plane, which is changed."""
    with initialize_config_module("pliant.conf", version_base=None):
        settings = OmegaConf.to_container(compose(overrides=["+robot=ur10_plane"]), resolve=True)["robot"]
    settings["surroundings"]["plane"].update(plane)
    return settings


def lowered(rig, begin, end, cycles=1000):
    """Lead the tip down from one depth below the start to another, m, and wait as long."""
    q, goal = (
        ARM.nearest(pose_of([0.0, 0.0, -depth]) @ ARM.forward(START), np.array(START)) for depth in (begin, end)
    )
    for n in range(2 * cycles):
        rig.write(SERVO, servo(q + (goal - q) * min(n / cycles, 1.0)))
        rig.advance()


def contact_force(plant):
    """Force of all contacts on the tool, in base axes, N, and how many there are."""
    model, data, total = plant.model, plant.data, np.zeros(3)
    for k in range(data.ncon):
        force = np.zeros(6)
        mujoco.mj_contactForce(model, data, k, force)
        frame = data.contact[k].frame.reshape(3, 3)
        bodies = [model.body(model.geom_bodyid[geom]).name for geom in data.contact[k].geom]
        assert set(bodies) == {"tool", "plane"}
        total += (1.0 if bodies[1] == "tool" else -1.0) * (frame.T @ force[:3])
    return total, data.ncon


@pytest.mark.slow
@pytest.mark.parametrize(("stiffness", "depth"), [(None, 0.0095), (2e4, 0.014)])
def test_the_arm_touches_the_plane_and_its_sensor_reads_it(tmp_path, stiffness, depth):
    rig = Bench(tmp_path, robot=over(stiffness=stiffness), start=START)
    lowered(rig, 0.0, 0.006)
    plant = rig.controller.plant
    assert plant.data.ncon == 0
    np.testing.assert_allclose(rig.vector("actual_TCP_force"), 0.0, atol=0.5)
    lowered(rig, 0.006, depth)
    assert rig.controller.safety.normal, rig.controller.reason
    force, contacts = contact_force(plant)
    assert contacts == 1
    assert force[2] > 20.0, force
    np.testing.assert_allclose(rig.vector("actual_TCP_force")[:3], force, rtol=1e-3, atol=1e-2)
    if stiffness is not None:
        assert plant.data.qpos[6] == pytest.approx(-force[2] / stiffness, rel=0.01)
        assert plant.q.shape == (6,)


def test_what_a_spring_holds_keeps_its_spring_whatever_the_arm_is_told(tmp_path):
    rig = Bench(tmp_path, robot=over(stiffness=2e4, damping=50.0), start=START, polyscope="5.26")
    rig.write(TORQUE, [0.0] * 18)
    rig.advance(50)
    plant = rig.controller.plant
    rig.write(SERVO, servo(plant.q))
    rig.advance(10)
    assert plant.model.joint("plane").damping[0] == 50.0
    assert plant.model.joint("plane").stiffness[0] == 2e4
    assert plant.model.body_gravcomp[plant.model.body("plane").id] == 1.0
    np.testing.assert_array_equal([plant.model.body_gravcomp[plant.model.body(link).id] for link in LINKS], 0.0)
    np.testing.assert_allclose(plant.data.qpos[6:], 0.0, atol=1e-9)
