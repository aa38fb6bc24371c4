import mujoco
import numpy as np

from pliant.actuators import compile_model, compliant_joints
from pliant.envs.models.rig1 import rig1


def test_two_copies_attached_to_one_scene_run_as_each_by_itself():
    alone = compile_model(rig1().spec)
    data = mujoco.MjData(alone)
    data.ctrl[:] = 0.5, 0.3
    mujoco.mj_step(alone, data, nstep=500)

    scene = mujoco.MjSpec()
    scene.option.timestep = alone.opt.timestep
    scene.option.integrator = alone.opt.integrator
    for prefix, y in (("left_", 0.0), ("right_", 1.0)):
        scene.attach(rig1().spec, prefix=prefix, frame=scene.worldbody.add_frame(pos=[0, y, 0]))
    both = compile_model(scene)
    assert [joint.name for joint in compliant_joints(both)] == ["left_joint", "right_joint"]
    together = mujoco.MjData(both)
    for side in ("left_", "right_"):
        together.actuator(f"{side}joint/equilibrium").ctrl = 0.5
        together.actuator(f"{side}joint/preset").ctrl = 0.3
    mujoco.mj_step(both, together, nstep=500)
    np.testing.assert_allclose(together.qpos, data.qpos[0], atol=1e-12)
