"""What a robot gives belongs to whoever asked: it stays as it is, and writing to it changes nothing else."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.envs.simulation.robots import ROBOTS

from pliant.controllers.controller import Controller, run
from pliant.controllers.spring_sensing import SpringSensing
from pliant.envs import Sensing, SimulatedRobot
from pliant.envs.models.arm2 import arm2
from pliant.hardware.robot import Array, Robot, State
from pliant.hardware.safety import SafeRobot

SLOW = {"*/position": Sensing(period=0.02, delay=0.02)}
ROBOT: dict[str, Callable[[], Robot]] = {
    **{name: lambda make=make: SimulatedRobot(make()) for name, make in ROBOTS.items()},
    "late": lambda: SimulatedRobot(arm2(), command_delay=0.02, sensor_delay=0.03, position_noise=1e-3, seed=1),
    "slow sensors": lambda: SimulatedRobot(ROBOTS["six_torque"](), sensing=SLOW),
    "behind a safety layer": lambda: SafeRobot(SimulatedRobot(arm2())),
    "with springs that sense": lambda: SpringSensing(SimulatedRobot(arm2()), ()),
}
every = pytest.mark.parametrize("name", ROBOT)


def spoil(state: State) -> None:
    """Write into every array of a state."""
    for field in state[1:]:
        field[...] = 7.0


def commands(robot: Robot, rows: int) -> Array:
    """Commands near the resting one."""
    steps = np.random.default_rng(0).uniform(-0.05, 0.05, (rows, len(robot.info.rest)))
    return np.clip(robot.info.rest + steps, robot.info.low, robot.info.high)


@every
def test_a_state_that_is_kept_stays_as_it_was(name):
    with ROBOT[name]() as robot:
        kept = [robot.read()]
        then = [kept[0].signals.copy()]
        for row in commands(robot, 6):
            robot.send(row)
            kept.append(robot.read())
            then.append(kept[-1].signals.copy())
        after = [state.signals for state in kept]
    assert np.array(after).tobytes() == np.array(then).tobytes()


@every
def test_writing_into_what_was_given_changes_nothing(name):
    motions = []
    for write in (False, True):
        with ROBOT[name]() as robot:
            seen = [robot.read()]
            for row in commands(robot, 6):
                buffer = row.copy()
                sent = robot.send(buffer)
                state = robot.read()
                seen.append(state.copy())
                if write:
                    spoil(state)
                    sent[:] = buffer[:] = 7.0
                    spoil(robot.read())
                seen.append(robot.read())
            motions.append(b"".join(field.tobytes() for state in seen for field in state[1:]))
    assert motions[0] == motions[1]


def test_writing_into_what_a_reset_reads_leaves_open_loop_runs_and_snapshots_alone():
    rows = np.zeros((3, 4))
    robot = SimulatedRobot(arm2())
    robot.connect()
    snapshot, motion = robot.get_state(), robot.rollout(rows)
    spoil(robot.reset())
    spoil(robot.read())
    assert robot.rollout(rows).command.tobytes() == motion.command.tobytes()
    robot.set_state(snapshot)
    spoil(robot.read())
    robot.set_state(snapshot)
    assert robot.read().signals.tobytes() == motion.signals[0].tobytes()


def test_the_safety_layer_takes_a_command_that_is_changed_in_place_as_a_new_one(arm):
    """It knows by the change from one command to the next how fast a target moves."""
    motions = []
    for same in (False, True):
        arm = type(arm)()
        robot = SafeRobot(arm, clock=arm.clock)
        robot.connect()
        buffer = np.zeros(2)
        for k in range(20):
            buffer[:] = 0.002 * k
            robot.send(buffer if same else buffer.copy())
        motions.append(np.array(arm.sent).tobytes())
        robot.close()
    assert motions[0] == motions[1]


def test_what_a_walk_returns_is_the_callers(arm):
    robot = SafeRobot(arm, clock=arm.clock)
    robot.connect()
    robot.walk_to([0.01, 0.0])
    robot.walk_to([0.01, 0.0])[:] = 0.9
    robot.send([0.01, 0.0])
    assert arm.sent[-1].tolist() == [0.01, 0.0]
    robot.close()


class OneBuffer(Controller):
    """Writes every command into the same array."""

    def __init__(self) -> None:
        self.command = np.zeros(4)

    def update(self, state: State, t: float) -> Array:
        self.command[0] = t
        return self.command


def test_a_run_keeps_every_command_of_a_controller_that_has_one_array():
    with SimulatedRobot(arm2()) as robot:
        motion = run(robot, OneBuffer(), 0.05)
    np.testing.assert_allclose(motion.asked[:, 0], 0.01 * np.arange(5))
