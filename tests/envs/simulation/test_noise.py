import numpy as np
import pytest

from pliant.envs.models.arm2 import arm2
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.lines import NoiseStreams
from pliant.errors import OutOfBoundsError, UnknownNameError


def test_streams_are_those_of_generators_asked_period_by_period():
    """Robots restart at different times and not all move every period."""
    choose = np.random.default_rng(0)
    streams, alone = NoiseStreams(5, 3), [np.random.default_rng(i) for i in range(5)]
    streams.restart(np.arange(5), [np.random.default_rng(i) for i in range(5)])
    for period in range(60):
        index = np.flatnonzero(choose.random(5) < 0.7)
        drawn = streams.draw(index)
        assert drawn.tolist() == [alone[i].standard_normal(3).tolist() for i in index]
        if period % 13 == 5:
            i = int(choose.integers(5))
            alone[i] = np.random.default_rng(100 + period)
            streams.restart(np.array([i]), [np.random.default_rng(100 + period)])


def test_noise_changes_while_the_robot_runs_and_stays_over_resets():
    """Beside a robot without noise, which moves alike."""
    with SimulatedRobot(arm2(), 0.01, seed=3) as robot, SimulatedRobot(arm2(), 0.01) as exact:

        def errors(periods):
            found = []
            for _ in range(periods):
                for each in (robot, exact):
                    each.send(each.info.rest)
                found.append(robot.read().signals - exact.read().signals)
            return np.array(found)

        shoulder, elbow = (robot.info.signal(f"{joint}/position") for joint in ("shoulder", "elbow"))
        assert not errors(3).any()
        robot.sensor_errors.set_noise("*/position", 0.2)
        for again in (False, True):
            if again:
                robot.reset()
                exact.reset()
            deviation = errors(2000).std(axis=0)
            np.testing.assert_allclose(deviation[[shoulder, elbow]], 0.2, rtol=0.06)
            assert np.flatnonzero(deviation).tolist() == [shoulder, elbow]
        assert robot.sensor_errors.noise[elbow] == 0.2
        robot.sensor_errors.set_noise("shoulder/position", 0.0)
        assert np.flatnonzero(errors(100).any(axis=0)).tolist() == [elbow]


def test_a_rollout_has_the_noise_that_was_set_to_the_last_bit():
    with SimulatedRobot(arm2(), 0.01, seed=5) as robot:
        robot.sensor_errors.set_noise("elbow/*", 0.1)
        robot.reset()
        rows = np.tile(robot.info.rest, (20, 1))
        motion = robot.rollout(rows)
        for k, row in enumerate(rows):
            np.testing.assert_array_equal(motion.position[k], robot.read().position)
            robot.send(row)


def test_noise_that_cannot_be_is_refused():
    robot = SimulatedRobot(arm2(), 0.01)
    with pytest.raises(UnknownNameError, match="unknown signal 'knee/position'"):
        robot.sensor_errors.set_noise("knee/position", 0.1)
    for wrong in (-0.1, float("nan")):
        with pytest.raises(OutOfBoundsError, match="noise of"):
            robot.sensor_errors.set_noise("*/position", wrong)
