"""The seam to the client of an arm of Universal Robots: command → `servoJ` returned, beside a direct call.

The far end is the emulated controller in real time. "direct" calls `servoJ` of ur-rtde in this process; "driver"
is `URRobot.send` with the client in a process of its own, from the moment the command is written to the return
of `servoJ` there. "next state" is the time from the command until the package that ends its period is here,
"period" the time from one command to the next. A period is late that began more than half a period after its time,
and lost if the controller's clock went on by two or more meanwhile. Load and memory are those of each process.

    python tests/benchmarks/ur_seam.py [--seconds 10] [--period 0.002]
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from pliant.envs.emulated_ur import free_host
from pliant.envs.emulators.ur.process import EmulatedController
from pliant.envs.emulators.ur.settings import ControllerSettings
from pliant.hardware.robot import Array
from pliant.hardware.ur.config import URConfig
from pliant.hardware.ur.robot import URRobot


def processor_time(process: int) -> float:
    """Return the processor time that a process has used, s."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def direct(host: str, seconds: float) -> Array:
    """Return how long `servoJ` takes in this process, s."""
    import rtde_control
    import rtde_receive

    receive = rtde_receive.RTDEReceiveInterface(host)
    control = rtde_control.RTDEControlInterface(host)
    target, times = receive.getTargetQ(), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        control.servoJ(target, 0.0, 0.0, 0.002, 0.05, 300.0)
        times.append(time.monotonic() - began)
        time.sleep(0.002)
    control.servoStop(10.0)
    control.stopScript()
    return np.array(times)


def memory(process: int) -> float:
    """Return the resident memory of a process, MB."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def driver(controller: EmulatedController, seconds: float, period: float) -> None:
    """Measure the driver, and print its rows."""
    robot = URRobot(URConfig(controller.host, period=period, stale=0.5, watchdog=0.5))
    with robot:
        rest = robot.read().command
        robot.send(rest)
        count = round(seconds / period)
        rows, clock = np.empty((count, 3)), np.empty(count)
        assert controller.pid is not None
        processes = {"program": os.getpid(), "client": robot.supervisor.pid, "emulator": controller.pid}
        load = _of_all(processor_time, processes)
        began = issued = time.monotonic()
        for k in range(count):
            if k == count // 10:
                held = _of_all(memory, processes)
            goal = rest.copy()
            goal[0] += 0.2 * (1 - np.cos(2 * k * period)) / 2
            robot.send(goal)
            before, issued = issued, robot.supervisor.issued
            rows[k] = robot.supervisor.answer()[2] - issued, time.monotonic() - issued, issued - before
            clock[k] = robot.read().time
        wall = time.monotonic() - began
        used = _of_all(processor_time, processes) - load
        for column, name in enumerate(("driver", "driver, next state", "driver, period")):
            _row(name, rows[1:, column])
        lost = np.round(np.diff(clock) / period).astype(int) - 1
        print(
            f"{count} commands, {count / wall:.1f}/s, {robot.overruns} late, {lost[lost > 0].sum()} periods lost "
            f"in {(lost > 0).sum()} places"
        )
        for name, part, first, last in zip(processes, used / wall, held, _of_all(memory, processes), strict=True):
            print(
                f"{name}: {100 * part:.0f} % of a core; memory {first:.1f} MB after a tenth, {last:.1f} at the end"
            )
        robot.stop()
        load = processor_time(robot.supervisor.pid)
        time.sleep(3.0)
        print(f"idle: client {100 * (processor_time(robot.supervisor.pid) - load) / 3.0:.1f} % of a core")


def _of_all(measure: Callable[[int], float], processes: Mapping[str, int]) -> Array:
    return np.array([measure(process) for process in processes.values()])


def _row(name: str, times: Array) -> None:
    half, most, worst = 1e3 * np.percentile(times, [50, 99, 100])
    print(f"{name:24}{half:10.3f}{most:10.3f}{worst:10.3f}  ms (p50, p99, max)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--period", type=float, default=0.002)
    options = parser.parse_args()
    with EmulatedController(ControllerSettings(), free_host()) as controller:
        driver(controller, options.seconds, options.period)
    with EmulatedController(ControllerSettings(), free_host()) as controller:
        _row("direct", direct(controller.host, options.seconds))
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
