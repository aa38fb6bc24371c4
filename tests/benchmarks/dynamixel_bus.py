"""Cycle time and processor load of 18 servos at 1 Mbit/s: the driver, the vendor's SDK alone, and the bus itself.

A cycle reads current, velocity and position of every servo (10 bytes each) and commands every position. The far
end is the emulated bus in real time, in a process of its own: no byte arrives before the wire would bring it.

    python tests/benchmarks/dynamixel_bus.py [--servos 18] [--cycles 200] [--rounds 5]

Processor load is this process's, so the SDK's waiting shows in it. The methods take turns within a round; the
table gives the medians over the rounds, and the cycles in which not every servo was read.
"""

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dynamixel_sdk

from pliant.envs.emulators.dynamixel.bus import BusSettings
from pliant.envs.emulators.dynamixel.process import EmulatedBus
from pliant.envs.emulators.dynamixel.servo import ServoSettings
from pliant.errors import RobotError
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.dynamixel.config import DynamixelConfig, DynamixelJoint, ServoMount
from pliant.hardware.dynamixel.robot import DynamixelRobot
from pliant.hardware.timing import StepClock

MODEL, RATE = "XM430-W350", 1_000_000
FEEDBACK, LENGTH, GOAL = 126, 10, 116

Cycle = Callable[[], bool]
"""Reads and commands every servo; returns whether all were read."""


def wire_limit(servos: int, fast: bool) -> float:
    """Return the time that the bytes of a cycle take on the wire, s."""
    request = 14 + servos
    answers = 8 + servos * (LENGTH + 4) if fast else servos * (11 + LENGTH)
    return (request + answers + 14 + servos * 5) * 10 / RATE


@contextlib.contextmanager
def driver_bus(port: str, ids: list[int], fast: bool) -> Iterator[Cycle]:
    """Yield a cycle of the driver's bus."""
    goals = {servo: (2048).to_bytes(4, "little") for servo in ids}
    with Bus(port, RATE) as bus:

        def cycle() -> bool:
            found = bus.sync_read(ids, FEEDBACK, LENGTH, fast)
            bus.sync_write(GOAL, goals)
            return len(found) == len(ids)

        yield cycle


@contextlib.contextmanager
def driver_robot(port: str, ids: list[int], fast: bool) -> Iterator[Cycle]:
    """Yield a cycle of the whole robot: units, state, checks, audit of one servo."""
    joints = [DynamixelJoint(f"j{i}", [ServoMount(i, MODEL)], -1.0, 1.0) for i in ids]
    config = DynamixelConfig(joints, port, RATE, fast_read=fast, release_pause=0.0)
    with DynamixelRobot(config, StepClock()) as robot:
        command = robot.read().command
        robot.send(command)

        def cycle() -> bool:
            try:
                robot.read()
            except RobotError:
                return False
            robot.send(command)
            return True

        yield cycle


@contextlib.contextmanager
def sdk_alone(port: str, ids: list[int], fast: bool) -> Iterator[Cycle]:
    """Yield a cycle of the SDK's own group classes, decoded with its `getData`."""
    handler, packets = dynamixel_sdk.PortHandler(port), dynamixel_sdk.PacketHandler(2.0)
    handler.setBaudRate(RATE)
    reader = dynamixel_sdk.GroupSyncRead(handler, packets, FEEDBACK, LENGTH)
    writer = dynamixel_sdk.GroupSyncWrite(handler, packets, GOAL, 4)
    for servo in ids:
        reader.addParam(servo)
        writer.addParam(servo, (2048).to_bytes(4, "little"))
    read = reader.fastSyncRead if fast else reader.txRxPacket

    def cycle() -> bool:
        try:
            whole = read() == dynamixel_sdk.COMM_SUCCESS
        except IndexError:  # what the SDK makes of a short fast answer
            whole = False
        for servo in ids if whole else ():
            for address, size in ((126, 2), (128, 4), (132, 4)):
                reader.getData(servo, address, size)
        writer.txPacket()
        return whole

    yield cycle
    handler.closePort()


METHODS = {
    "SDK alone": (sdk_alone, False),
    "SDK alone, fast read": (sdk_alone, True),
    "driver, Bus": (driver_bus, False),
    "driver, Bus, fast read": (driver_bus, True),
    "driver, DynamixelRobot": (driver_robot, False),
    "driver, DynamixelRobot, fast read": (driver_robot, True),
}


def measure(cycle: Cycle, cycles: int) -> tuple[float, float, int]:
    """Return the median time of a cycle, s, the processor's share, and how many cycles missed a servo."""
    times, missed, load, start = [], 0, time.process_time(), time.perf_counter()
    for _ in range(cycles):
        began = time.perf_counter()
        missed += not cycle()
        times.append(time.perf_counter() - began)
    return statistics.median(times), (time.process_time() - load) / (time.perf_counter() - start), missed


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servos", type=int, default=18)
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ids = list(range(1, options.servos + 1))
    servos = tuple(ServoSettings(i, MODEL, registers={"return_delay_time": 0}) for i in ids)
    results: dict[str, list[tuple[float, float, int]]] = {name: [] for name in METHODS}
    with tempfile.TemporaryDirectory() as folder, EmulatedBus(Path(folder) / "bus", BusSettings(servos)) as bus:
        for _ in range(options.rounds):
            for name, (method, fast) in METHODS.items():
                with method(str(bus.port), ids, fast) as cycle:
                    results[name].append(measure(cycle, options.cycles))
    print(f"{options.servos} servos, {RATE} bit/s, {options.rounds} × {options.cycles} cycles")
    print(f"{'':36}{'cycle':>10}{'wire':>10}{'processor':>11}{'missed':>8}")
    for name, rounds in results.items():
        cycle_time = statistics.median(row[0] for row in rounds)
        load = statistics.median(row[1] for row in rounds)
        limit = wire_limit(options.servos, METHODS[name][1])
        missed = sum(row[2] for row in rounds)
        print(f"{name:36}{1e3 * cycle_time:7.2f} ms{1e3 * limit:7.2f} ms{100 * load:9.0f} %{missed:8}")


if __name__ == "__main__":
    main()
