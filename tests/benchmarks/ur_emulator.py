"""What the emulated controller of Universal Robots costs and how it keeps its pace, with the real client servoing.

    python tests/benchmarks/ur_emulator.py [--polyscope 5.22] [--seconds 20]

Processor load is the emulator's, without and with a client that reads all it subscribes to and calls servoJ every
2 ms. Gaps are those between cycles, with the packages of each. The lag is that of the arm behind the commands on a
ramp.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from pliant.envs.emulators.ur.process import EmulatedController
from pliant.envs.emulators.ur.settings import ControllerSettings

CLIENT = """
import sys, time
import rtde_control, rtde_receive
host, seconds = sys.argv[1], float(sys.argv[2])
receive, control = rtde_receive.RTDEReceiveInterface(host), rtde_control.RTDEControlInterface(host)
q = receive.getActualQ()
begin, n = time.monotonic(), 0
while n * 0.002 < seconds:
    q[0] += 0.0002 if n % 5000 < 2500 else -0.0002
    control.servoJ(q, 0.0, 0.0, 0.002, 0.03, 300.0)
    n += 1
    time.sleep(max(begin + 0.002 * n - time.monotonic(), 0.0))
control.servoStop()
"""


def processor_time(pid: int) -> float:
    """Return the processor time of a process, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """Return the resident memory of a process, MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def load(machine: EmulatedController, seconds: float) -> float:
    """Return the part of a processor that the emulator uses."""
    assert machine.pid is not None
    begin, used = time.monotonic(), processor_time(machine.pid)
    time.sleep(seconds)
    return (processor_time(machine.pid) - used) / (time.monotonic() - begin)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--polyscope", default="5.22")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    settings = ControllerSettings(polyscope=options.polyscope)
    begin = time.monotonic()
    with EmulatedController(settings, host="127.0.0.123") as machine:
        print(f"start {time.monotonic() - begin:.2f} s, PolyScope {options.polyscope}")
        time.sleep(1.0)
        print(f"alone: {load(machine, 3.0):.0%} of a processor")
        client = subprocess.Popen([sys.executable, "-c", CLIENT, machine.host, str(options.seconds)])
        time.sleep(2.0)
        before = machine.state()
        busy = load(machine, max(options.seconds - 4.0, 1.0))
        after = machine.state()
        assert machine.pid is not None
        client.wait()
        seconds = float(str(after["time"])) - float(str(before["time"]))
        packages = (int(str(after["packages"])) - int(str(before["packages"]))) / seconds
        lost = int(str(after["lost_cycles"])) - int(str(before["lost_cycles"]))
        print(f"servoing: {busy:.0%}, {packages:.0f} packages/s, {memory(machine.pid):.0f} MB, {lost} cycles lost")
        log, commands = machine.log(), machine.commands()
    gaps = np.diff(log["wall"][-int(seconds / 0.002) :]) * 1e3
    print("gap p50 {:.2f}, p99 {:.2f}, max {:.1f} ms".format(*np.percentile(gaps, [50, 99]), gaps.max()))
    sent = commands[commands["command"] == 11]
    used = np.interp(sent["cycle"], log["cycle"], log["wall"])
    p50, p99 = np.percentile(used - sent["wall"], [50, 99]) * 1e3
    print(f"frame read to package sent p50 {p50:.2f}, p99 {p99:.2f} ms")
    ramp = sent[500:2300]
    lag = (ramp["values"][:, 0] - np.interp(ramp["wall"], log["wall"], log["actual_q"][:, 0])) / 0.1
    print(f"servoJ lags {np.median(lag) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
