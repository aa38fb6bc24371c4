"""A policy of `task=walk_gait` against plain gaits, and how many steps a second its environments make.

    python tests/benchmarks/hexapod_walk.py runs/train/DATE [--seeds 100] [--gait '{name: foot, stride: 0.14, …}']
    python tests/benchmarks/hexapod_walk.py --environments 64 [--set physics_threads=1]

The robot has the reference servos and stands in its walking pose. Each seed is one trial of 10 s on a robot of
its own (`randomisation=walking`), the same ones for all walkers; once more on the robot as built. Torque is the
motors', looked at every millisecond, from 2 s on, as is everything else.

The environments, walking, take turns with `Batch.step` alone, from the same states with the same controls.
"""

import argparse
import itertools
import time
from typing import Any, NamedTuple

import numpy as np
from mujoco.batch import Batch
from omegaconf import DictConfig, OmegaConf

from pliant.controllers.policies import load_policy
from pliant.controllers.policy import Policy
from pliant.envs.models.hexapod import REFERENCE_SERVO, WALKING
from pliant.envs.vector import PliantVectorEnv
from pliant.training.environments import make_environment, policy_info, vector_environments
from pliant.training.evaluation import HELD_OUT

LIMIT = 0.75 * 1.5
"""Of the torque, N·m."""
DURATION, BEGIN = 10.0, 2.0
"""Of a trial, and from when on it counts, s."""


class Walks(NamedTuple):
    """What came of trials, a number each."""

    speed: np.ndarray
    """Along the way that the robot began to look, m/s."""
    sideways: np.ndarray
    """Largest distance from it, m."""
    leaving: np.ndarray
    """Where it is off it in the end, to the left, m."""
    peak: np.ndarray
    """Largest torque of any motor, N·m."""
    cost: np.ndarray
    """Σ|τ·q̇| over weight and speed."""
    sound: np.ndarray
    """Neither fell nor touched itself."""

    @property
    def within(self) -> np.ndarray:
        """Kept all limits."""
        return self.sound & (self.peak <= LIMIT)


def settings(*more: str) -> DictConfig:
    """Configuration of `pliant train` for this robot and task."""
    from hydra import compose, initialize_config_module

    with initialize_config_module("pliant.conf", version_base=None):
        config = compose("train", [
            "robot=hexapod", "task=walk_gait", "period=0.019", "physics_threads=0",
            f"task.duration={DURATION}", *more,
        ])  # fmt: skip
    OmegaConf.update(config, "robot.model.servo", {**REFERENCE_SERVO, "no_load_speed": 6.173})
    OmegaConf.update(config, "robot.model.start", {k: v for k, v in WALKING.items() if k.endswith("coxa")})
    return config


class _Watch:
    """Steps a vector environment's robots a millisecond at a time and remembers what their motors did."""

    def __init__(self, env: PliantVectorEnv) -> None:
        robots = env.robots
        self.batch, self.substeps = robots._batch, robots.compiled.substeps
        model = robots.compiled.model
        self.force, self.speed = self.batch.bind("actuator_force"), self.batch.bind("qvel")
        self.dofs = [model.joint(name).dofadr[0] for name in robots.info.joints]
        self.peak, self.power, self.counting = np.zeros(env.num_envs), np.zeros(env.num_envs), False
        robots._step = self.step

    def step(self, index: Any) -> dict[int, str]:
        for _ in range(self.substeps):
            self.batch.step(nstep=1)
            if self.counting:
                np.maximum(self.peak, np.abs(self.force).max(axis=1), out=self.peak)
                self.power += np.abs(self.force * self.speed[:, self.dofs]).sum(axis=1)
        return {}


def walk(config: DictConfig, policy: Policy | None, seeds: int, randomised: bool) -> Walks:
    """Walk with a policy, or with the task's gait alone."""
    if not randomised:
        config = OmegaConf.merge(config, {"randomisation": None})
    env = vector_environments(config, seeds).env
    assert isinstance(env, PliantVectorEnv)
    env.reset(seed=HELD_OUT)
    watch, rest = _Watch(env), env.task._action.rest
    pos, touches = (
        watch.batch.bind("qpos"),
        [i for i, n in enumerate(env.robots.info.signal_names) if "_meets_" in n],
    )
    mass = np.array([env.robots.model(i).body_mass.sum() for i in range(seeds)])
    period, sound, side = env.robots.info.period, np.ones(seeds, dtype=bool), np.zeros(seeds)
    first, steps = round(BEGIN / period), round(DURATION / period) - 1
    for k in range(steps):
        if k == first:
            watch.counting, begun = True, pos[:, :2].copy()
        seen = env._episodes.observation
        actions = np.tile(rest, (seeds, 1)) if policy is None else np.array([policy(o) for o in seen])
        _, _, ended, _, _ = env.step(actions)
        sound &= ~ended & ~(env._episodes.signals[:, touches] > 0).any(axis=1)
        if k >= first:
            np.maximum(side, np.abs(pos[:, 1] - begun[:, 1]), out=side)
    speed = (pos[:, 0] - begun[:, 0]) / ((steps - first) * period)
    power = watch.power / ((steps - first) * watch.substeps)
    return Walks(speed, side, pos[:, 1] - begun[:, 1], watch.peak, power / (mass * 9.81 * speed), sound)


def share(n: int, config: DictConfig, repeats: int = 9, periods: int = 20) -> str:
    """Steps a second of n environments, and which share of their time the physics alone takes."""
    env = vector_environments(config, n).env
    env.reset(seed=0)
    random, rest = np.random.default_rng(0), env.task._action.rest
    for _ in range(130):
        env.step(np.tile(rest, (n, 1)))
    bare = Batch(env.robots.compiled.bare, n, int(config.physics_threads))
    turns = []
    for _ in range(repeats):
        actions = np.clip(rest + 0.1 * random.normal(size=(periods, n, len(rest))), -1.0, 1.0)
        start, controls, took, alone = env.robots._batch.state.copy(), [], 0.0, 0.0
        for action in actions:
            begun = time.perf_counter()
            env.step(action)
            took += time.perf_counter() - begun
            controls.append(env.robots._control.copy())
        bare.state[:] = start
        for control in controls:
            begun = time.perf_counter()
            bare.ctrl = control
            bare.step(nstep=env.robots.compiled.substeps)
            alone += time.perf_counter() - begun
        turns.append((took / (periods * n), alone / took))
    step, part = np.median(turns, axis=0)
    return f"{n} environments: {1 / step:.0f} steps/s, of which physics alone {part:.2f}"


def interval(values: np.ndarray) -> str:
    """Mean with its 95 % bootstrap interval."""
    random = np.random.default_rng(0)
    means = values[random.integers(len(values), size=(10_000, len(values)))].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--gait", action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--environments", type=int)
    options = parser.parse_args()
    if options.environments:
        print(share(options.environments, settings(*options.set)))
        return
    walkers: dict[str, tuple[DictConfig, Policy | None]] = {}
    for gait in options.gait:
        config = settings("randomisation=walking", *options.set)
        config.task.action = {"term": "gait", "gait": OmegaConf.create(gait), "residual": 0.1}
        walkers[gait] = (config, None)
    for path in options.policies:
        config = settings("randomisation=walking", *options.set)
        stored = OmegaConf.load(f"{path}/.hydra/config.yaml")
        config.task.action, config.task.observations = stored.task.action, stored.task.observations
        info = policy_info(make_environment(config))
        walkers[path] = (config, load_policy(path, info, parameters=False))
    speeds: dict[str, np.ndarray] = {}
    for name, (config, policy) in walkers.items():
        built = walk(config, policy, 1, randomised=False)
        many = walk(config, policy, options.seeds, randomised=True)
        speeds[name] = many.speed
        print(name)
        print(
            f"  as built: {built.speed[0]:.3f} m/s, {built.peak[0]:.3f} N·m, cost {built.cost[0]:.3f}, "
            f"{'within' if built.within[0] else 'beyond'} the limits, sideways {built.sideways[0]:.2f} m"
        )
        print(
            f"  speed {interval(many.speed)} m/s; peak {interval(many.peak)} N·m; cost {interval(many.cost)}; "
            f"sound {many.sound.sum()}, within {many.within.sum()} of {options.seeds}; "
            f"sideways {interval(many.sideways)} m, {(many.leaving > 0).sum()} to the left"
        )
    names = list(speeds)
    for one, other in itertools.pairwise(names):
        print(f"{other} - {one}: {interval(speeds[other] - speeds[one])} m/s")


if __name__ == "__main__":
    main()
