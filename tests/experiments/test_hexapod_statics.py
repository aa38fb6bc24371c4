"""Statics of a leg against MuJoCo's kinematics and its inverse dynamics."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model
from pliant.envs.models.hexapod import JOINTS, STANCE, hexapod
from pliant.envs.models.hexapod_body import FOOT_RADIUS, LEGS, LINKS
from pliant.experiments.hexapod_statics import GRAVITY, leg_pose, rotation, three_feet

FEET = ("middle_right", "front_left", "rear_left")


@pytest.fixture(scope="module")
def posed():
    """The model somewhere, leaning, its joints anywhere; one row for the closed form."""
    model = compile_model(hexapod(batteries=2).spec)
    data = mujoco.MjData(model)
    random = np.random.default_rng(3)
    base = np.array([0.1, -0.2, 0.4, 0.9, 0.2, -0.1, 0.15])
    base[3:] /= np.linalg.norm(base[3:])
    data.qpos[:7] = base
    for joint in JOINTS:
        data.joint(joint).qpos[0] = STANCE[joint] + random.uniform(-0.3, 0.3)
    mujoco.mj_forward(model, data)
    angles = {leg: np.array([[data.joint(f"{leg}_{link}").qpos[0] for link in LINKS]]) for leg in LEGS}
    return model, data, angles, base[None]


@pytest.mark.parametrize("leg", LEGS)
def test_a_leg_is_where_the_model_has_it(posed, leg):
    _, data, angles, base = posed
    pose = leg_pose(leg, angles[leg]).seen_from(base[:, :3], base[:, 3:])
    for link in LINKS:
        np.testing.assert_allclose(pose.joints[link][0], data.joint(f"{leg}_{link}").xanchor, atol=1e-12)
        np.testing.assert_allclose(pose.centres[link][0], data.body(f"{leg}_{link}").xipos, atol=1e-12)
    np.testing.assert_allclose(pose.ball[0], data.geom(f"{leg}_foot").xpos, atol=1e-12)
    np.testing.assert_allclose(pose.axis[0], data.joint(f"{leg}_tibia").xaxis, atol=1e-12)


def test_rotations_are_those_of_the_quaternions(posed):
    _, data, _, base = posed
    np.testing.assert_allclose(rotation(base[:, 3:])[0].ravel(), data.body("trunk").xmat, atol=1e-12)


@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_what_the_feet_bear_balances_all_of_it(posed, friction):
    """Inverse dynamics of the model at rest, with these forces on the feet: nothing is left on the trunk.

    But for friction, which one leg alone is given; and the leg's torques are those of femur and tibia.
    """
    model, data, angles, base = posed
    found = three_feet(angles, base, 2, FEET, FEET[0], friction)
    data.qvel[:], data.qacc[:] = 0.0, 0.0
    data.xfrc_applied[:] = 0.0
    pushed = np.zeros(model.nv)
    for k, leg in enumerate(FEET):
        ball = data.geom(f"{leg}_foot").xpos
        force = np.array([0.0, 0.0, found.force[0, k]])
        if leg == FEET[0]:
            away = (ball - data.joint(f"{leg}_femur").xanchor) * [1.0, 1.0, 0.0]
            force -= friction * force[2] * away / np.linalg.norm(away)
        body = model.body(f"{leg}_foot").id
        mujoco.mj_applyFT(model, data, force, np.zeros(3), ball - [0.0, 0.0, FOOT_RADIUS], body, pushed)
    needed = data.qfrc_bias - pushed
    assert found.force.sum() == pytest.approx(3.060 * GRAVITY, rel=1e-9)
    assert needed[2] == pytest.approx(0.0, abs=1e-9)
    if not friction:
        np.testing.assert_allclose(needed[:6], 0.0, atol=1e-9)
    for link, ours in (("femur", found.femur), ("tibia", found.tibia)):
        dof = model.joint(f"{FEET[0]}_{link}").dofadr[0]
        assert -needed[dof] == pytest.approx(ours[0], abs=1e-9)
        assert abs(ours[0]) > 0.01
