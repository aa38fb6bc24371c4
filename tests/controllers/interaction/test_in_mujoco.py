"""A simulated UR10 in the air and on a plane, with the published servos, against closed forms."""

import mujoco
import numpy as np
import pytest
from tests.controllers.interaction.conftest import START, Conditioning

from pliant.controllers import run
from pliant.controllers.interaction import (
    AdmittanceGains,
    Approach,
    CartesianTrajectory,
    DesiredWrench,
    DirectForceGains,
    InteractionController,
    Mode,
    Wait,
)
from pliant.controllers.poses import matrix
from pliant.envs import SimulatedRobot
from pliant.envs.arm import arm, load_behind
from pliant.envs.models.ur import ur

TOOL = {"mass": 2.0, "inertia": (0.0432, 0.0432, 0.08, 0.0, 0.0, 0.0)}
SERVOS = {"shoulder*": {"kp": 1e5}, "elbow": {"kp": 5e4}, "wrist*": {"kp": 1e4}}
ARMATURE = (2.0, 2.0, 1.0, 0.3, 0.3, 0.3)
TCP = (0.0, 0.0, 0.195, 0.0, 0.0, 0.0)


class Weighed(Conditioning):
    """Takes the weight of the tool away, and smooths over 8 ms."""

    def __init__(self, load):
        super().__init__()
        self._mass, self._com, self._seen = load.mass, np.array(load.com), np.zeros(6)

    def update(self, time, raw, rotation, **speeds):
        weight = self._mass * np.array([0.0, 0.0, -9.81]) @ rotation
        found = np.array(raw) + np.concatenate([weight, np.cross(self._com, weight)])
        self._seen += 0.2 * (found - self._seen)
        return self._seen.copy(), self.fault


def built(gap=None, slope=0.0):
    """The arm, tool down, with a smooth plane that far below its tip, which rises towards +x."""
    model = ur("ur10", tcp=TCP, tool=TOOL, joints=SERVOS, armature=ARMATURE)
    tip = arm(model).preview.pose(START)
    if gap is not None:
        model.spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            pos=[tip[0], tip[1], tip[2] - gap],
            quat=[1.0, 0.0, -slope / 2.0, 0.0],
            size=[0.5, 0.5, 0.05],
            condim=1,
            priority=1,
        )
    return model


def controlled(model, gains, period=0.002, **options):
    robot = SimulatedRobot(model, period)
    robot.connect()
    robot.reset(position=START, command=START)
    controller = InteractionController(arm(model), robot.info, gains, Weighed(load_behind(model)), **options)
    return robot, controller


class Watcher:
    """Keeps the feedback of every period."""

    def __init__(self, controller, until=None):
        self.seen, self._controller, self._until = [], controller, until

    def __call__(self, state, sent):
        self.seen.append(self._controller.feedback())
        return self._until is not None and self._until(self.seen[-1])

    def wrench(self, axis=2):
        return np.array([f.wrench[axis] for f in self.seen])


def go(robot, controller, seconds, until=None):
    watcher = Watcher(controller, until)
    run(robot, controller, seconds, [watcher])
    return watcher


def test_in_the_air_it_stays_and_follows():
    robot, controller = controlled(
        built(),
        AdmittanceGains([1.0, 1.0, 1000.0], [900.0, 900.0, 5000.0], [1300.0, 1300.0, 90.0], relative_damping=True),
        goals=[Wait(0.5), CartesianTrajectory([[0.0, 0.08, 0.0]], [2.5], ramp=0.5)],
        start=START.tolist(),
    )
    seen = go(robot, controller, 3.5).seen
    rest = [f for f in seen if f.goal == "Wait"]
    assert np.abs([f.wrench for f in rest]).max() < 0.3, "the weight of the tool is not felt"
    assert max(np.linalg.norm(f.error[:3]) for f in rest) < 2e-4
    way = seen[-1].measured[:3] - seen[0].measured[:3]
    assert np.linalg.norm(way) == pytest.approx(0.08, abs=3e-4)
    assert max(np.linalg.norm(f.error[3:]) for f in seen) < 2e-3
    assert seen[-1].mode is Mode.STATIC
    robot.close()


def test_an_approach_and_a_pressing_settle_as_the_loop_says():
    """Ki·K of 9 rad/s: an approach of 2 mm/s, then 10 N and 20 N; the stiffness is measured between the two."""
    ki = 1e-4
    robot, controller = controlled(
        built(gap=0.003),
        DirectForceGains(0.0, ki),
        goals=[
            Approach([0.0, 0.0, 1.0], 0.002, 0.01, wrench=[0.0, 0.0, 10.0]),
            Wait(2.0),
            DesiredWrench([0.0, 0.0, 20.0]),
            Wait(2.0),
            CartesianTrajectory([[0.0, 0.05, 0.0]], [2.5], ramp=0.25),
        ],
        start=START.tolist(),
        wrench_rate=[1e5, 1e5],
    )
    watcher = go(robot, controller, 9.0, until=lambda f: f.goal == "CartesianTrajectory")
    force, seen = watcher.wrench(), watcher.seen
    touched = next(i for i, f in enumerate(seen) if f.contact)
    step = next(i for i, f in enumerate(seen) if f.desired_wrench[2] == 20.0)
    assert force[:touched].max() < 3.0
    assert force[step - 1] == pytest.approx(10.0, abs=0.02)
    assert force[-1] == pytest.approx(20.0, abs=0.02)
    assert force[touched:step].max() < 10.0 + 2.0
    depth = seen[step - 1].commanded[2] - seen[-1].commanded[2]
    stiffness = (force[-1] - force[step - 1]) / depth
    assert 1e4 < stiffness < 1.1e5, "of plane and servo in series"
    settling = 20.0 - force[step:]
    part = (settling < 8.0) & (settling > 0.5)
    time = 0.002 * np.arange(len(settling))
    fitted = -1.0 / np.polyfit(time[part], np.log(settling[part]), 1)[0]
    assert fitted == pytest.approx(1.0 / (ki * stiffness), rel=0.1)
    robot.close()


def test_an_admittance_in_contact_presses_what_the_closed_form_says():
    """Steady state of [1, 1, 1000] kg, z 5000 N·s/m and 90 N/m, 5 mm into the plane with 10 N desired."""
    k_p = 90.0
    robot, controller = controlled(
        built(gap=-0.0005),
        AdmittanceGains([1.0, 1.0, 10.0], [900.0, 900.0, 5000.0], [1300.0, 1300.0, k_p]),
        goals=[DesiredWrench([0.0, 0.0, 10.0]), CartesianTrajectory([[0.0, 0.0, 0.005]], [1.0]), Wait(3.0)],
        start=START.tolist(),
    )
    watcher = go(robot, controller, 4.5)
    last = watcher.seen[-1]
    assert watcher.wrench()[-100:].std() < 1e-3
    inside = last.commanded[2] - last.desired[2]
    assert 10.0 - last.wrench[2] == pytest.approx(-k_p * inside, abs=1e-3)
    # against the direction of the law's z, which points down, by the tilt of the tool at most
    assert matrix(last.desired[3:])[2, 2] == pytest.approx(-1.0, abs=1e-4)
    robot.close()


def test_sliding_on_a_slope_keeps_the_force_within_the_formula():
    """20 N along 60 mm of a plane that rises by 0.02: v·tan θ/Ki too much, without friction."""
    slope, ki, speed = 0.02, 2e-4, 0.06 / 3.5
    robot, controller = controlled(
        built(gap=0.0002, slope=slope),
        DirectForceGains(2.5e-9, ki),
        goals=[
            DesiredWrench([0.0, 0.0, 20.0], over=1.0),
            Wait(2.0),
            CartesianTrajectory([[0.0, 0.06, 0.0]], [4.0], ramp=0.5),
        ],
        start=START.tolist(),
    )
    watcher = go(robot, controller, 6.0)
    sliding = [i for i, f in enumerate(watcher.seen) if f.goal == "CartesianTrajectory"][600:1600]
    force = watcher.wrench()[sliding]
    along = watcher.seen[sliding[-1]].commanded[0] - watcher.seen[sliding[0]].commanded[0]
    assert abs(along) == pytest.approx(speed * 0.002 * 999, rel=1e-3)
    assert force.mean() - 20.0 == pytest.approx(np.sign(along) * speed * slope / ki, rel=0.02)
    assert force.std() < 0.01
    robot.close()
