"""Emulate a bus of servos, with a simulated robot behind it, for any program that speaks to servos."""

import signal
import sys
from pathlib import Path

from omegaconf import DictConfig

from pliant import command_line
from pliant.deployment.machines import machine
from pliant.envs.emulated_robot import EmulatedRobot
from pliant.envs.emulators.control import control_path
from pliant.envs.emulators.dynamixel.bus import Bus
from pliant.envs.emulators.dynamixel.emulator import Emulator
from pliant.errors import ConfigurationError, unknown_name
from pliant.training.run_settings import settings

KINDS = ("dynamixel",)


def job(config: DictConfig) -> None:
    """Serve the bus until Ctrl-C or SIGTERM, then take the port away."""
    robot = machine(config)
    if not isinstance(robot, EmulatedRobot):
        raise ConfigurationError(f"{type(robot).__name__} is no emulated machine; hardware=emulated is one.")
    port = Path(robot.config.port)
    emulator = Emulator(Bus(robot.settings, robot.plant()), port)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: emulator.stop())
    servos = ", ".join(f"{servo.id} ({servo.model})" for servo in robot.settings.servos)
    print(f"servos {servos} at {port}, control at {control_path(port)}; Ctrl-C ends it", flush=True)
    emulator.run()


def main() -> None:
    """Run the verb on the command line's arguments; the first one names the kind of bus."""
    arguments = sys.argv[1:]
    if arguments and not arguments[0].startswith("-"):
        with command_line.explained_errors():
            if arguments[0] not in KINDS:
                raise unknown_name("bus", arguments[0], KINDS, "pliant emulate")
        sys.argv[1:] = arguments[1:]
    elif not arguments:
        with command_line.explained_errors():
            raise ConfigurationError(f"say which bus: pliant emulate {KINDS[0]} robot=arm2 port=./bus")
    command_line.run(job, "emulate", settings)


if __name__ == "__main__":
    main()
