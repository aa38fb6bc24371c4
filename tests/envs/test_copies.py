"""A copied or pickled environment goes on as the original, to the last bit, or is refused."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.envs.simulation.robots import ROBOTS

import pliant.envs
from pliant.controllers import Controller
from pliant.envs import PliantEnv, Reach, ReachPose, Sensing
from pliant.envs.fronts import robot_env, robot_envs
from pliant.envs.randomisation import Choice, Randomisation, Uniform
from pliant.envs.tasks import Task
from pliant.envs.tasks.actions import Residual
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import ConfigurationError, RobotError
from pliant.hardware.wrapper import RobotWrapper

VARIED = Randomisation(mass=Uniform(0.9, 1.1), command_delay=Choice([0.0, 0.02]), sensor_delay=Choice([0.0, 0.04]))


class Sway(Controller):
    """A controller with a memory: a command of its own that grows with every period."""

    def __init__(self, columns: int) -> None:
        self.columns, self.periods = columns, 0

    def reset(self, state: Any) -> None:
        self.periods = 0

    def update(self, state: Any, t: float) -> np.ndarray:
        self.periods += 1
        return np.full(self.columns, 0.01 * self.periods)


def reach(**settings) -> Task:
    return Reach(duration=0.2, hold=0.04, **settings)


CASES: dict[str, dict[str, Any]] = {
    "arm, noisy": {"robot": "arm2", "task": reach(), "velocity_noise": 1e-2, "command_delay": 0.01},
    "arm, drawn": {"robot": "arm2", "task": reach(), "randomisation": VARIED, "position_noise": 1e-3},
    "arm, controlled": {"robot": "arm2", "task": reach().but(action=Residual(Sway(4)))},
    "quadruped, drawn": {"robot": ROBOTS["quadruped"](), "task": reach(), "randomisation": VARIED},
    "mixed": {"robot": ROBOTS["mixed"](), "task": reach()},
    "sampled sensors": {
        "robot": ROBOTS["six_torque"](),
        "task": reach(),
        "sensing": {"*/position": Sensing(period=0.01, delay=0.03)},
    },
    "pose": {"robot": ROBOTS["six_position"](), "task": ReachPose(duration=0.2), "randomisation": VARIED},
}
every = pytest.mark.parametrize("case", CASES)
again = pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])


def actions(env: PliantEnv | PliantVectorEnv, steps: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (steps, *env.action_space.shape))


def played(env: Any, rows: np.ndarray) -> list[Any]:
    """What steps give; a single environment is reset where its episode ends."""
    happened = []
    for row in rows:
        happened.append(env.step(row))
        if isinstance(happened[-1][2], bool) and (happened[-1][2] or happened[-1][3]):
            happened.append(env.reset())
    return happened


@again
@every
@pytest.mark.parametrize("n", [None, pytest.param(3, marks=pytest.mark.slow)])
def test_a_copy_goes_on_as_the_original_from_the_midst_of_an_episode(case, n, again, identical):
    env = robot_env(**CASES[case]) if n is None else robot_envs(n, **CASES[case])
    rows = actions(env, 34)
    env.action_space.seed(2)
    env.reset(seed=1)
    played(env, rows[:4])
    twin = again(env)
    expected = played(env, rows[4:])
    identical(played(twin, rows[4:]), expected)
    identical(played(again(twin), rows[:3]), played(env, rows[:3]))
    identical(twin.action_space.sample(), env.action_space.sample())
    identical(twin.reset(seed=7), env.reset(seed=7))


@pytest.mark.slow
@again
@pytest.mark.parametrize("n", [None, 2])
def test_a_copy_leaves_the_original_alone(n, again, identical):
    make = (lambda: robot_env("arm2", reach())) if n is None else (lambda: robot_envs(n, task=reach()))
    env, reference = make(), make()
    rows = actions(env, 8)
    env.reset(seed=1), reference.reset(seed=1)
    played(again(env), rows)
    identical(played(env, rows), played(reference, rows))


@again
def test_a_copy_before_the_first_reset_and_after_the_end_is_as_the_original(again, identical):
    env = robot_env("arm2", reach())
    twin = again(env)
    identical(twin.reset(seed=3), env.reset(seed=3))
    env.close()
    closed = again(env)
    for one in (env, closed):
        with pytest.raises(RobotError, match=r"call reset\(\) first"):
            one.step(actions(env, 1)[0])
    identical(closed.reset(seed=4), env.reset(seed=4))
    identical(played(closed, actions(env, 5)), played(env, actions(env, 5)))


@again
def test_vector_environments_copy_before_the_first_reset_and_when_closed(again, identical):
    env = robot_envs(2, task=reach(), randomisation=VARIED)
    twin = again(env)
    identical(twin.reset(seed=3), env.reset(seed=3))
    env.close()
    identical(again(env).reset(seed=4), twin.reset(seed=4))


@again
def test_some_episodes_of_many_may_have_begun_and_ended(again, identical):
    env = robot_envs(3, task=reach(), randomisation=VARIED, autoreset_mode="Disabled")
    env.reset(seed=3, options={"reset_mask": np.array([True, False, True])})
    options = {"reset_mask": np.array([False, True, False])}
    twin = again(env)
    identical(twin.reset(seed=5, options=options), env.reset(seed=5, options=options))
    rows = actions(env, 10)
    identical(played(twin, rows), played(env, rows))
    identical(again(env).reset(options=options), twin.reset(options=options))


@again
def test_through_gymnasiums_wrappers(again, identical):
    pliant.envs.register()
    env = gymnasium.make("pliant/CompliantArm2-v0", task=reach())
    env.reset(seed=1)
    played(env, actions(env, 3))
    rows = actions(env, 8, seed=1)
    identical(played(again(env), rows), played(env, rows))


@pytest.mark.slow
@again
def test_a_copy_draws_pictures_of_its_own(again):
    for env in (
        robot_env("arm2", reach(), render_mode="rgb_array", width=64, height=48),
        robot_envs(2, task=reach(), render_mode="rgb_array", width=64, height=48),
    ):
        env.reset(seed=1)
        before = np.array(env.render())
        twin = again(env)
        assert (np.array(twin.render()) == before).all()
        env.step(actions(env, 1)[0])
        env.close()
        assert (np.array(twin.render()) == before).all()
        twin.close()


@pytest.mark.slow
def test_a_pickle_goes_on_in_another_process(tmp_path):
    options = {"robot": "arm2", "task": reach(), "randomisation": VARIED, "velocity_noise": 1e-2}
    both = (robot_env(**options), robot_envs(2, **options))
    rows = [actions(env, 6) for env in both]
    for env in both:
        env.reset(seed=1)
        played(env, actions(env, 3, seed=1))
    file = tmp_path / "envs.pickle"
    file.write_bytes(pickle.dumps((both, rows)))
    code = (
        "import pickle, sys; from pathlib import Path\n"
        "both, rows = pickle.loads(Path(sys.argv[1]).read_bytes())\n"
        "print([[env.step(row)[0].tobytes().hex() for row in some] for env, some in zip(both, rows)])"
    )
    printed = subprocess.run([sys.executable, "-c", code, file], check=True, capture_output=True, text=True)
    here = [[env.step(row)[0].tobytes().hex() for row in some] for env, some in zip(both, rows, strict=True)]
    assert printed.stdout.strip() == str(here)


@again
def test_an_environment_of_a_machine_is_refused(again):
    machine = RobotWrapper(robot_env("arm2", reach()).robot)
    with pytest.raises(ConfigurationError, match="robot 'arm2' is not simulated, so its environment cannot be"):
        again(PliantEnv(machine, reach()))
