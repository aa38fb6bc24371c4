"""Robots of every build as environments: Gymnasium's own check, seeds, many at once, learning."""

from collections.abc import Callable

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from tests.envs.simulation.robots import ROBOTS, six_axis

from pliant.controllers.trajectories import MinimumJerk
from pliant.envs import PliantEnv, Press, Reach, ReachPose, SimulatedRobot, Track, Walk
from pliant.envs.fronts import measurable, robot_env, robot_envs
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.tasks import Task
from pliant.envs.tasks.actions import Spread
from pliant.envs.tasks.ends import beyond, fallen, stayed_within
from pliant.envs.tasks.goals import Drawn
from pliant.envs.tasks.measures import local_velocity
from pliant.envs.tasks.observations import Goal, Signals
from pliant.envs.tasks.rewards import ahead, effort, value
from pliant.envs.vector import PliantVectorEnv
from pliant.errors import UnknownNameError

SHORT = 0.1
"""Duration of an episode, s: five periods, so that the next ones begin within a test."""
NOISE = {"position_noise": 1e-4, "velocity_noise": 1e-3}


def reach() -> Task:
    return Reach(duration=SHORT, hold=0.04)


def track() -> Task:
    return Track(trajectory=MinimumJerk(0.0, 0.02, SHORT))


def reach_pose(oriented: bool = False) -> Task:
    return ReachPose(duration=SHORT, hold=0.04, oriented=oriented)


def one_arm() -> Task:
    """The left arm's posture, whatever the right one does."""
    goal = Drawn([f"left/{joint}/position" for joint in ("shoulder", "elbow")], -0.3, 0.3)
    left = {name: Signals(names=f"left/*/{name}") for name in ("position", "velocity")}
    rewards = {**reach().rewards, "effort": effort(torque="left/*/motor_torque*", weight=-0.01)}
    return reach().but(
        goal=goal, observations={**left, "goal": Goal()}, rewards=rewards, action=Spread("left/*/*")
    )


CASES: dict[str, tuple[Callable[[], RobotModel], Callable[[], Task]]] = {
    **{f"{name}, reach": (ROBOTS[name], reach) for name in ROBOTS},
    **{f"{name}, track": (ROBOTS[name], track) for name in ("six_torque", "mixed", "gripper", "two_arms")},
    "two_arms, one reaches": (ROBOTS["two_arms"], one_arm),
    "quadruped, walk": (ROBOTS["quadruped"], lambda: Walk(duration=SHORT)),
    "six_torque, press": (lambda: six_axis("torque", wall=0.3), lambda: Press(duration=SHORT, hold=0.04)),
    "six_position, reach_pose": (ROBOTS["six_position"], reach_pose),
    "six_position, oriented": (ROBOTS["six_position"], lambda: reach_pose(oriented=True)),
}

every = pytest.mark.parametrize("case", CASES)


def single(case: str) -> PliantEnv:
    """An environment of a case, with noisy sensors."""
    robot, task = CASES[case]
    return robot_env(robot(), task(), **NOISE)


def many(case: str, n: int, autoreset: AutoresetMode) -> PliantVectorEnv:
    """As many environments of a case."""
    robot, task = CASES[case]
    return robot_envs(n, robot=robot(), task=task(), autoreset_mode=autoreset, **NOISE)


def episode(env: PliantEnv, seed: int, steps: int) -> list[tuple]:
    """What happens in so many steps of random actions, through ends of episodes."""
    random = np.random.default_rng(0)
    happened: list[tuple] = [env.reset(seed=seed)]
    for _ in range(steps):
        happened.append(env.step(random.uniform(-1.0, 1.0, env.action_space.shape)))
        if happened[-1][2] or happened[-1][3]:
            happened.append(env.reset())
    return happened


@pytest.mark.slow
@every
@pytest.mark.filterwarnings("ignore:.*Box observation space m.*imum value is.*infinity.*:UserWarning")
def test_gymnasiums_own_check_passes(case):
    check_env(single(case), skip_render_check=True)


@every
def test_100_random_steps_are_finite_and_the_same_for_the_same_seed(case, identical):
    env = single(case)
    happened = episode(env, 3, 100)
    for observation, *rest in happened:
        assert np.isfinite(observation).all()
        assert env.observation_space.contains(observation)
        assert len(rest) == 1 or np.isfinite(rest[0])
        assert "failure" not in rest[-1]
    assert sum(len(one) == 2 for one in happened) > 10
    identical(happened, episode(env, 3, 100))
    identical(happened, episode(single(case), 3, 100))
    assert episode(env, 4, 1)[0][0].tobytes() != happened[0][0].tobytes()


@every
@pytest.mark.parametrize(
    "autoreset", [pytest.param(AutoresetMode.NEXT_STEP, marks=pytest.mark.slow), AutoresetMode.SAME_STEP]
)
def test_each_of_many_is_the_single_one_of_its_seed_through_resets(case, autoreset, identical):
    ours = many(case, 3, autoreset)
    theirs = SyncVectorEnv([lambda: single(case)] * 3, autoreset_mode=autoreset)
    identical(ours.reset(seed=5), theirs.reset(seed=5))
    ends, random = 0, np.random.default_rng(1)
    for k in range(18):
        action = random.uniform(-1.2, 1.2, ours.action_space.shape)
        result = ours.step(action)
        identical(result, theirs.step(action), f"step {k}")
        ends += int((result[2] | result[3]).sum())
    assert ends >= 6
    ours.close()
    theirs.close()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["quadruped, walk", "six_torque, press"])
def test_ppo_learns_on_them(case):
    ppo = pytest.importorskip("stable_baselines3").PPO
    model = ppo("MlpPolicy", single(case), n_steps=128, batch_size=64, n_epochs=1, device="cpu", seed=0)
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(256)
    assert model.num_timesteps == 256
    after = list(model.policy.parameters())
    assert all(bool(p.isfinite().all()) for p in after)
    assert any(bool((p != q).any()) for p, q in zip(before, after, strict=True))


def test_what_is_only_estimated_decides_nothing():
    """Ends that say success are left out; rewards, and ends that say failure, are not."""
    reach = Reach(duration=1.0)
    told = reach.but(
        rewards={**reach.rewards, "effort": effort()},
        ends={**reach.ends, "gentle": stayed_within(limit=1.0), "hard": beyond(signals="*/torque", limit=9.0)},
    )
    info = SimulatedRobot(rig1()).info
    torques = {f"{joint}/torque" for joint in info.joints}
    assert measurable(told, info) == (told, ())
    kept, lost = measurable(told, info, estimated=torques)
    assert lost == ("end 'gentle'",)
    assert kept == told.but(ends={name: end for name, end in told.ends.items() if name != "gentle"})


def test_what_looks_at_signals_that_a_robot_lacks_is_left_out_and_named():
    still = Reach(duration=1.0)
    walking = still.but(
        measures={"local": local_velocity()},
        rewards={**still.rewards, "ahead": ahead(), "local": value(signals="base/local_velocity_x")},
        ends={**still.ends, "fallen": fallen(lowest=0.1)},
    )
    robot = SimulatedRobot(rig1())
    kept, lost = measurable(walking, robot.info)
    assert kept == still
    assert lost == ("measure 'local'", "reward 'ahead'", "reward 'local'", "end 'fallen'")
    assert measurable(still, robot.info) == (still, ())
    blind = still.but(observations={**still.observations, "base": Signals(names="base/velocity_*")})
    with pytest.raises(UnknownNameError, match="base/velocity"):
        measurable(blind, robot.info)[0].on(robot.info)
