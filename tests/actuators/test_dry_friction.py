"""The dry friction of a user's joint holds, unless the user chose how its constraint is solved."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, add_compliant_joint, compile_model, load_model, save_model
from pliant.actuators.mounting import HARD_FRICTION


def slider(attributes='frictionloss=".1"', default=""):
    return mujoco.MjSpec.from_string(
        f"<mujoco><default>{default}</default><option gravity='0 0 0'/><worldbody><body>"
        f"<joint name='hinge' axis='0 1 0' {attributes}/><geom size='.02' pos='.1 0 0' mass='.1'/>"
        "</body></worldbody></mujoco>"
    )


def friction_of(model):
    return tuple(model.dof_solref[0]), tuple(model.dof_solimp[0])


@pytest.mark.parametrize("law", ["sea", "qbmove"])
def test_a_link_stuck_by_its_own_dry_friction_does_not_creep(law):
    spec = slider()
    add_compliant_joint(spec, "hinge", CompliantJoint(law=law, mode=3))
    model = compile_model(spec)
    assert friction_of(model) == HARD_FRICTION
    data = mujoco.MjData(model)
    data.qfrc_applied[0] = 0.08
    mujoco.mj_step(model, data, 500)
    before = data.qpos[0]
    mujoco.mj_step(model, data, 500)
    assert abs(data.qpos[0] - before) < 5e-5


@pytest.mark.parametrize(
    ("attributes", "default"),
    [
        ('frictionloss=".1" solreffriction=".01 1"', ""),
        ('frictionloss=".1" solimpfriction=".8 .9 .01"', ""),
        ('frictionloss=".1"', '<joint solreffriction=".05 1"/>'),
    ],
)
def test_solver_parameters_that_the_user_chose_are_left_alone(attributes, default):
    chosen = friction_of(slider(attributes, default).compile())
    spec = slider(attributes, default)
    add_compliant_joint(spec, "hinge", CompliantJoint(law="sea", mode=3))
    assert friction_of(compile_model(spec)) == chosen


def test_a_saved_model_holds_too(tmp_path):
    spec = slider()
    add_compliant_joint(spec, "hinge", CompliantJoint(law="sea", mode=3))
    save_model(spec, tmp_path / "model.xml")
    for found, expected in zip(friction_of(load_model(tmp_path / "model.xml")), HARD_FRICTION, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
