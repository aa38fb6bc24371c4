"""Many robots against one: states, commands in force and pictures, beyond what environments show."""

import mujoco
import numpy as np
import pytest
from tests.envs.simulation.robots import six_axis

from pliant.actuators import CallbackOwnershipError, CompliantJoint
from pliant.envs import SimulatedRobot
from pliant.envs.models.rig1 import rig1
from pliant.envs.vector import SimulatedRobots


def run(robots: SimulatedRobots, n: int, seeds, commands) -> tuple[np.ndarray, np.ndarray]:
    """Readings and commands in force at every instant, (instants, n, …)."""
    joints, columns = len(robots.info.joints), len(robots.info.command)
    reading, command = np.zeros((n, len(robots.info.signals))), np.zeros((n, columns))
    everyone = np.arange(n)
    robots.reset(everyone, seeds, np.full((n, joints), 0.1), reading, command)
    readings, in_force = [reading.copy()], [command.copy()]
    for given in commands:
        command[:] = given
        assert robots.send(everyone, command, reading) == {}
        readings.append(reading.copy())
        in_force.append(command.copy())
    return np.array(readings), np.array(in_force)


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.02, 0.045])
@pytest.mark.parametrize("joint_delay", [0.0, 0.007])
def test_what_is_read_under_delays_is_what_one_robot_reads(delay, joint_delay):
    """The torque read at the end of a period is that of the control then in force, old or new."""
    model = rig1(CompliantJoint("qbmove", 3, delay=joint_delay))
    options = {"period": 0.02, "command_delay": delay, "sensor_delay": 0.02, "torque_noise": 0.01}
    commands = np.random.default_rng(1).uniform(-0.8, 0.8, (12, 3, 2))
    robots = SimulatedRobots(SimulatedRobot(model, **options), 3)
    readings, in_force = run(robots, 3, [5, 6, 7], commands)
    for i in range(3):
        with SimulatedRobot(model, **options) as alone:
            alone.reset(seed=5 + i, position=[0.1])
            motion = alone.rollout(commands[:, i])
        assert readings[:, i].tobytes() == motion.signals.tobytes()
        assert in_force[:, i].tobytes() == motion.command.tobytes()


def test_without_their_callbacks_robots_go_no_further():
    robots = SimulatedRobots(SimulatedRobot(rig1(), 0.02), 2)
    run(robots, 2, [0, 0], [])
    mujoco.mj_resetCallbacks()
    with pytest.raises(CallbackOwnershipError, match="joint joint would have no torque"):
        robots.send(np.arange(2), np.full((2, 2), 0.3), np.zeros((2, len(robots.info.signals))))


def test_robots_that_are_not_sent_to_stay_as_they_are():
    robots = SimulatedRobots(SimulatedRobot(rig1(), 0.02), 3)
    run(robots, 3, [0, 0, 0], [])
    before = robots._batch.state.copy()
    robots.send(np.array([1]), np.full((3, 2), 0.3), np.zeros((3, len(robots.info.signals))))
    after = robots._batch.state
    assert [after[i].tobytes() == before[i].tobytes() for i in range(3)] == [True, False, True]


@pytest.mark.parametrize(
    ("reads", "fresh"), [(None, True), (["tip/velocity_x"], True), (["axis1/position", "wrist/force_x"], False)]
)
def test_only_what_is_looked_at_is_computed_anew_at_the_end_of_a_period(reads, fresh):
    """The pose of the tip is, the force in the wrist never: it is found in the last step itself."""
    commands = np.random.default_rng(2).uniform(-0.3, 0.3, (5, 2, 6))
    all_read = SimulatedRobots(SimulatedRobot(six_axis("position"), 0.02), 2)
    some_read = SimulatedRobots(SimulatedRobot(six_axis("position"), 0.02), 2, reads=reads)
    expected, found = (run(robots, 2, [0, 1], commands)[0] for robots in (all_read, some_read))
    names = list(all_read.info.signal_names)
    of_tip = [k for k, name in enumerate(names) if name.startswith("tip/")]
    others = [k for k in range(len(names)) if k not in of_tip]
    np.testing.assert_array_equal(found[..., others], expected[..., others])
    assert np.array_equal(found[..., of_tip], expected[..., of_tip]) == fresh
