"""Trials of a gait a second: on all CPUs, on one, and stepped by Python; and where the time goes.

    python tests/benchmarks/gait_trials.py [--trials 16] [--duration 10] [--repeats 3]

A trial is the hexapod with `MatsuokaGait`, 10 s from a settled stand at physics steps of 1 ms, with its measures.
The Python loop is `pliant.controllers.run`, which reads the robot once a period and sees nothing in between. All
take turns in one process; the figures are medians. On a machine with other work on it the CPU time of a trial
tells more than the time on the clock.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

from pliant.controllers import run
from pliant.controllers.gaits import MatsuokaGait
from pliant.envs import SimulatedRobot
from pliant.envs.gait_trial import try_gaits
from pliant.envs.models.hexapod import REFERENCE_SERVO, hexapod

PERIOD = 0.019


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--duration", type=float, default=10.0)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    with SimulatedRobot(hexapod(servo=REFERENCE_SERVO), PERIOD) as robot:

        def together(count: int) -> None:
            gaits = [MatsuokaGait(robot.info, speed=0.03 + 0.002 * k, stride=0.05) for k in range(count)]
            try_gaits(robot, gaits, options.duration)

        def stepped(count: int) -> None:
            for _ in range(count):
                robot.reset()
                run(robot, MatsuokaGait(robot.info), options.duration)

        def on(which: list[int], work: Callable[[int], None], count: int) -> tuple[float, float]:
            os.sched_setaffinity(0, which)
            start, used = time.perf_counter(), time.process_time()
            work(count)
            result = (time.perf_counter() - start) / count, (time.process_time() - used) / count
            os.sched_setaffinity(0, cpus)
            return result

        ways: dict[str, tuple[list[int], Callable[[int], None], int]] = {
            f"together on {len(cpus)} CPUs": (cpus, together, options.trials),
            "together on 1 CPU": (cpus[:1], together, max(options.trials // 2, 1)),
            "stepped by Python, 1 CPU": (cpus[:1], stepped, max(options.trials // 4, 1)),
        }
        together(1)
        stepped(1)
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
        for _ in range(options.repeats):
            for name, way in ways.items():
                took[name].append(on(*way))
        print(f"trials of {options.duration:g} s; load of the machine {os.getloadavg()[0]:.1f}")
        for name, times in took.items():
            wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"{name:28} {1 / wall:6.2f} trials/s   {cpu:.3f} s of CPU each   200 in {200 * wall:.0f} s")


if __name__ == "__main__":
    main()
