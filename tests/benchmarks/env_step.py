"""What an environment's `step` costs on top of the physics it computes.

    python tests/benchmarks/env_step.py [--rounds 40]

Every period is timed by itself: `env.step`, then a bare `mj_step` of as many physics steps from the same state on
a second `MjData`. The overhead of a round is the difference of the medians over its periods; shown are the median
and the lowest tenth of all rounds. The environments take turns, so that they share what the computer is doing
besides; Gymnasium's own ones (pip install "gymnasium[mujoco]") are measured the same way. "made" is with the
wrappers that `gymnasium.make` puts around an environment.
"""

import argparse
import statistics
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, NamedTuple

import gymnasium
import mujoco
import numpy as np

import pliant.envs  # noqa: F401 (registers)

PERIODS = 100
"""In a round."""


class Case(NamedTuple):
    """An environment to be measured."""

    name: str
    env: gymnasium.Env
    model: mujoco.MjModel
    data: mujoco.MjData
    substeps: int


def own(name: str, physics_steps: int, **options: Any) -> Case:
    """One of ours, with its usual time step of 1 ms."""
    env = gymnasium.make(name, period=physics_steps * 1e-3, **options)
    robot = env.unwrapped.robot
    label = f"{name.removeprefix('pliant/')} {options.get('task', 'track')}"
    return Case(label, env, robot.model, robot.data, physics_steps)


def gymnasiums(name: str, **options: Any) -> Case:
    """One of Gymnasium's."""
    env = gymnasium.make(name, **options)
    base = env.unwrapped
    return Case(name, env, base.model, base.data, base.frame_skip)


def cases() -> list[Case]:
    """All environments that can be made here."""
    made = []
    for make, name, options in (
        (own, "pliant/CompliantJoint-v0", {"physics_steps": 2}),
        (own, "pliant/CompliantJoint-v0", {"physics_steps": 20}),
        (own, "pliant/CompliantArm2-v0", {"physics_steps": 2}),
        (own, "pliant/CompliantArm2-v0", {"physics_steps": 20}),
        (own, "pliant/CompliantArm2-v0", {"physics_steps": 20, "task": "reach"}),
        (gymnasiums, "InvertedPendulum-v5", {}),
        (gymnasiums, "InvertedPendulum-v5", {"frame_skip": 20}),
        (gymnasiums, "Reacher-v5", {}),
        (gymnasiums, "Reacher-v5", {"frame_skip": 20}),
    ):
        try:
            made.append(make(name, **options))
        except (ImportError, gymnasium.error.Error) as error:
            print(f"{name} is left out: {error}")
    return made


def measure(case: Case, step: Callable[[Any], tuple], reset: Callable[[], object]) -> tuple[float, float]:
    """Median times of a step and of its bare physics over a round, µs."""
    model, data, bare = case.model, case.data, mujoco.MjData(case.model)
    size = mujoco.mj_stateSize(model, int(mujoco.mjtState.mjSTATE_INTEGRATION))
    state = np.empty(size)
    actions = [0.05 * case.env.action_space.sample() for _ in range(16)]
    steps, physics = [], []
    reset()
    for k in range(PERIODS):
        mujoco.mj_getState(model, data, state, int(mujoco.mjtState.mjSTATE_INTEGRATION))
        start = perf_counter_ns()
        _, _, terminated, truncated, _ = step(actions[k % 16])
        steps.append(perf_counter_ns() - start)
        mujoco.mj_setState(model, bare, state, int(mujoco.mjtState.mjSTATE_INTEGRATION))
        start = perf_counter_ns()
        mujoco.mj_step(model, bare, case.substeps)
        physics.append(perf_counter_ns() - start)
        if terminated or truncated:
            reset()
    return statistics.median(steps) / 1e3, statistics.median(physics) / 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    found = cases()
    results: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for i, case in enumerate(found):
            for kind, env in (("bare", case.env.unwrapped), ("made", case.env)):
                results.setdefault((i, kind), []).append(measure(case, env.step, env.reset))
    for heads in (
        ("µs", "physics", "physics", "step", "overhead", "lowest", "share", "overhead"),
        ("", "steps", "time", "", "", "tenth", "of step", "as made"),
    ):
        print(f"{heads[0]:26}" + "".join(f"{head:>10}" for head in heads[1:]))
    for i, case in enumerate(found):
        (steps, physics), (made, bare) = (np.array(results[i, kind]).T for kind in ("bare", "made"))
        overhead = steps - physics
        step = np.median(steps)
        values = (np.median(physics), step, np.median(overhead), np.percentile(overhead, 10))
        print(
            f"{case.name:26}{case.substeps:10}"
            + "".join(f"{value:10.1f}" for value in values)
            + f"{np.median(overhead) / step:10.0%}{np.median(made - bare):10.1f}"
        )


if __name__ == "__main__":
    main()
