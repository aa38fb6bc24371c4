"""Throughput of the vector environment against `Batch.step` alone and against SB3's `SubprocVecEnv`; memory.

    python tests/benchmarks/vector_env.py [--environments 64 256 1024] [--processes 8] [--repeats 9]

The environment is `pliant/CompliantArm2-v0` with the task `reach`: 20 physics steps of 1 ms an action. Baselines:
the same `Batch.step` with the same controls and nothing else; `SubprocVecEnv` of the same environment, each in a
process of its own. All take turns in one process, many times; the figures are medians of times and of the ratios
within a turn, so that other work on the machine strikes all alike. CPU time is that of all processes together. A
process takes seconds to start and 0.25 GB of memory.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from mujoco.batch import Batch
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

import pliant.envs
from pliant.envs.sb3 import sb3_vec_env
from pliant.envs.vector import PliantVectorEnv

ENVIRONMENT = "pliant/CompliantArm2-v0"
ACTIONS = 32
"""Different rows of actions that all get in turn."""


class Turn(NamedTuple):
    """What one turn took for an environment step, s."""

    wall: float
    cpu: float


def single() -> gymnasium.Env:
    """One environment."""
    pliant.envs.register()
    return gymnasium.make(ENVIRONMENT, task="reach")


def vector(n: int) -> PliantVectorEnv:
    """N environments."""
    mode = AutoresetMode.SAME_STEP
    env = gymnasium.make_vec(ENVIRONMENT, n, "vector_entry_point", task="reach", autoreset_mode=mode)
    assert isinstance(env, PliantVectorEnv)
    env.reset(seed=0)
    return env


def actions(n: int, size: int) -> list[np.ndarray]:
    """Actions for n environments."""
    return list(np.random.default_rng(0).uniform(-1.0, 1.0, (ACTIONS, n, size)).astype(np.float32))


def stepper(step: Callable[[int], object], n: int, cpu: Callable[[], float]) -> Callable[[], Turn]:
    """A function that takes some 0.3 s worth of steps of n environments and returns what one step took."""
    step(0)
    start = time.perf_counter()
    step(1)
    count = max(int(0.3 / (time.perf_counter() - start)), 1)

    def turn() -> Turn:
        begun, used = time.perf_counter(), cpu()
        for k in range(count):
            step(k % ACTIONS)
        return Turn((time.perf_counter() - begun) / (count * n), (cpu() - used) / (count * n))

    return turn


def own_cpu() -> float:
    """CPU time of this process, s."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_of(processes: list[int]) -> float:
    """CPU time of other processes, s (Linux)."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def bare(n: int, env: PliantVectorEnv) -> Callable[[int], object]:
    """`Batch.step` with the controls that the environments would give."""
    robot = env.robots
    batch = Batch(robot.compiled.bare, n)
    batch.state[:] = robot.start
    low, high = robot.info.low, robot.info.high
    controls = [low + (high - low) * (a + 1.0) / 2.0 for a in actions(n, len(low))]

    def step(k: int) -> None:
        batch.ctrl = controls[k]
        batch.step(nstep=robot.compiled.substeps)

    return step


def take_turns(runs: dict[str, Callable[[], Turn]], repeats: int) -> dict[str, list[Turn]]:
    """Run all in turn, many times."""
    turns: dict[str, list[Turn]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            turns[name].append(run())
    return turns


def median(turns: list[Turn], field: str = "wall") -> float:
    """Median of a field."""
    return statistics.median(getattr(turn, field) for turn in turns)


def ratio(turns: dict[str, list[Turn]], a: str, b: str, field: str = "wall") -> float:
    """Median of a/b within a turn."""
    pairs = zip(turns[a], turns[b], strict=True)
    return statistics.median(getattr(x, field) / getattr(y, field) for x, y in pairs)


def against_batch(sizes: list[int], repeats: int) -> None:
    """The vector environment against `Batch.step` of the same model."""
    print("environments   steps/s   of which physics alone")
    for n in sizes:
        env = vector(n)
        rows = actions(n, env.single_action_space.shape[0])
        runs = {
            "env": stepper(lambda k, env=env, rows=rows: env.step(rows[k]), n, own_cpu),
            "bare": stepper(bare(n, env), n, own_cpu),
        }
        turns = take_turns(runs, repeats)
        print(f"{n:12} {1 / median(turns['env']):9.0f} {ratio(turns, 'bare', 'env'):23.2f}")


def against_processes(sizes: list[int], processes: int, repeats: int) -> None:
    """The vector environment, as a `VecEnv`, against `SubprocVecEnv`."""
    others = SubprocVecEnv([single] * processes)
    others.reset()
    workers = [process.pid for process in others.processes]
    everyone = lambda: own_cpu() + cpu_of(workers)  # noqa: E731
    size = others.action_space.shape[0]
    runs = {"processes": _sb3_stepper(others, processes, size, everyone)}
    for n in sizes:
        runs[str(n)] = _sb3_stepper(sb3_vec_env(vector(n)), n, size, own_cpu)
    turns = take_turns(runs, repeats)
    print(f"SubprocVecEnv, {processes} processes: {1 / median(turns['processes']):.0f} steps/s, ", end="")
    cpu = 1e6 * median(turns["processes"], "cpu")
    print(f"{cpu:.0f} µs of CPU a step, {_memory_of(workers):.0f} MB a process")
    print("environments   steps/s   times as many   CPU a step, µs   times less CPU")
    for n in sizes:
        name = str(n)
        print(
            f"{n:12} {1 / median(turns[name]):9.0f} {ratio(turns, 'processes', name):15.1f} "
            f"{1e6 * median(turns[name], 'cpu'):16.0f} {ratio(turns, 'processes', name, 'cpu'):16.1f}"
        )
    others.close()


def _sb3_stepper(env: VecEnv, n: int, size: int, cpu: Callable[[], float]) -> Callable[[], Turn]:
    rows = actions(n, size)
    env.reset()
    return stepper(lambda k: env.step(rows[k]), n, cpu)


def _memory_of(processes: list[int]) -> float:
    """Mean memory of processes, shared pages divided among those who share them, MB."""
    total = 0
    for process in processes:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / len(processes) / 1e3


def memory(sizes: list[int]) -> None:
    """Memory of an environment: what a process grows by when it has n of them instead of one."""
    grown = {}
    for n in [1, *sizes]:
        command = [sys.executable, __file__, "--resident", str(n)]
        grown[n] = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for n in sizes:
        each = (grown[n] - grown[1]) / (n - 1)
        print(f"{n:12} environments: {each / 1e3:.1f} kB each, {grown[n] / 1e6:.0f} MB in all")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--processes", type=int, nargs="+", default=[8])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--resident", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.resident is not None:
        env = vector(options.resident)
        for row in actions(options.resident, env.single_action_space.shape[0]):
            env.step(row)
        print(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
        return
    against_batch(options.environments, options.repeats)
    for processes in options.processes:
        print()
        against_processes(options.environments, processes, options.repeats)
    print()
    memory(options.environments)


if __name__ == "__main__":
    main()
