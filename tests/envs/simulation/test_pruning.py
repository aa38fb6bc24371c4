"""Nothing is switched off that could matter."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model
from pliant.envs import SimulatedRobot
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.arm5 import arm5
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.two_link import two_link
from pliant.envs.simulation.pruning import contact_possible, prune

CONTACT = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)

PENDULUM = """<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1" pos="0 0 {floor}"/>
    <body pos="0 0 1">
      <joint name="first" axis="0 1 0" {joint}/>
      <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" contype="1" conaffinity="{affinity}"/>
      <body pos="0 0 -.3">
        <joint axis="0 1 0"/>
        <geom type="sphere" size=".05" pos="0 0 -.2" contype="1" conaffinity="{affinity}"/>
        {more}
      </body>
    </body>
    {world}
  </worldbody>
</mujoco>"""


def pendulum(floor: float = 0.0, affinity: int = 0, joint: str = "", more: str = "", world: str = ""):
    text = PENDULUM.format(floor=floor, affinity=affinity, joint=joint, more=more, world=world)
    return mujoco.MjModel.from_xml_string(text)


@pytest.mark.parametrize("build", [rig1, arm2, arm5, two_link])
def test_the_robots_touch_nothing_and_move_the_same_without_contacts(build):
    plain = compile_model(build().spec)
    assert not contact_possible(plain)
    spared = compile_model(build().spec)
    prune(spared)
    states = []
    for model in (plain, spared):
        data = mujoco.MjData(model)
        random = np.random.default_rng(0)
        for _ in range(40):
            data.ctrl[:] = random.uniform(*model.actuator_ctrlrange.T)
            mujoco.mj_step(model, data, 20)
        states.append(np.concatenate([data.qpos, data.qvel, data.act]))
    assert states[0].tobytes() == states[1].tobytes()
    assert SimulatedRobot(build()).model.opt.disableflags & CONTACT


def test_the_floor_counts_from_where_the_chain_stretched_out_can_reach_it():
    """The shoulder is at 1 m, the arm with its ball 0.3 + 0.2 + 0.05 m long."""
    assert not contact_possible(pendulum(floor=0.44))
    assert contact_possible(pendulum(floor=0.46))


def test_what_stands_around_counts_likewise():
    post = '<geom type="box" size=".1 .1 .1" pos="{x} 0 1"/>'
    assert not contact_possible(pendulum(world=post.format(x=0.75)))
    assert contact_possible(pendulum(world=post.format(x=0.6)))
    assert not contact_possible(pendulum(world='<geom type="box" size=".1 .1 .1" contype="0" conaffinity="0"/>'))


@pytest.mark.parametrize(
    "danger",
    [
        {"affinity": 1},
        {"joint": 'type="slide"'},
        {"joint": 'type="ball"'},
        {"joint": 'pos="0 0 .5"'},
        {"more": '<geom type="sphere" size=".01" pos="0 0 -.9" contype="1" conaffinity="0"/>'},
        {"world": '<body mocap="true" pos="9 9 9"><geom size=".01"/></body>'},
        {"world": '<body pos="9 9 9"><freejoint/><geom size=".01"/></body>'},
    ],
)
def test_where_something_might_touch_contacts_stay(danger):
    model = pendulum(**danger)
    assert contact_possible(model)
    prune(model)
    assert not model.opt.disableflags & CONTACT


def test_a_robot_that_falls_on_the_floor_is_stopped_by_it():
    model = pendulum(floor=0.8, joint='range="-90 90" limited="true"')
    prune(model)
    data = mujoco.MjData(model)
    data.qpos[0] = np.pi / 2
    mujoco.mj_step(model, data, 1000)
    assert data.ncon > 0
