"""Emulate a bus of servos or an arm's controller, with a simulated robot behind it, for any program."""

import signal
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from pliant import command_line
from pliant.deployment.machines import machine
from pliant.envs.emulated_robot import EmulatedRobot
from pliant.envs.emulators.child import Emulator as Running
from pliant.envs.emulators.control import control_path
from pliant.envs.emulators.dynamixel.bus import Bus
from pliant.envs.emulators.dynamixel.emulator import Emulator
from pliant.envs.emulators.ur.emulator import SOCKET, UrEmulator
from pliant.envs.emulators.ur.settings import ControllerSettings, Gap
from pliant.errors import ConfigurationError, unknown_name
from pliant.files import ensure_folder
from pliant.training.run_settings import settings


def job(config: DictConfig) -> None:
    """Serve a bus of Dynamixel servos until Ctrl-C or SIGTERM, then take the port away."""
    robot = machine(config)
    if not isinstance(robot, EmulatedRobot):
        raise ConfigurationError(f"{type(robot).__name__} is no emulated machine; hardware=emulated is one.")
    port = Path(robot.config.port)
    emulator = Emulator(Bus(robot.settings, robot.plant()), port)
    servos = ", ".join(f"{servo.id} ({servo.model})" for servo in robot.settings.servos)
    _serve(emulator, f"servos {servos} at {port}, control at {control_path(port)}")


def ur_job(config: DictConfig) -> None:
    """Serve a controller of Universal Robots until Ctrl-C or SIGTERM."""
    given: Any = OmegaConf.to_container(config, resolve=True)
    host, folder = str(given.pop("host")), given.pop("folder")
    if folder is not None and not isinstance(folder, str):
        raise ConfigurationError(f"folder is {folder!r}; the path of a folder is needed.")
    gap, polyscope = Gap(**given.pop("gap")), str(given.pop("polyscope"))
    chosen = ControllerSettings(gap=gap, polyscope=polyscope, **given)
    with tempfile.TemporaryDirectory(prefix="pliant-ur-") as temporary:
        place = Path(temporary) if folder is None else ensure_folder(folder)
        emulator = UrEmulator(chosen, host, place)
        name = emulator.controller.arm.parameters.name
        where = f"{name} with PolyScope {chosen.polyscope} at {host}, control at {control_path(place / SOCKET)}"
        _serve(emulator, where)


def _serve(emulator: Running, what: str) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: emulator.stop())
    print(f"{what}; Ctrl-C ends it", flush=True)
    emulator.run()


class Kind(NamedTuple):
    """What can be emulated."""

    job: Callable[[DictConfig], None]
    configuration: str
    """In conf/."""
    example: str


KINDS: Mapping[str, Kind] = {
    "dynamixel": Kind(job, "emulate", "robot=arm2 port=./bus"),
    "ur": Kind(ur_job, "emulate_ur", "robot=ur10e host=127.0.0.2"),
}


def main() -> None:
    """Run the verb on the command line's arguments; the first one names what is emulated."""
    arguments = sys.argv[1:]
    kind = "dynamixel"
    with command_line.explained_errors():
        if not arguments:
            examples = " or ".join(f"pliant emulate {name} {kind.example}" for name, kind in KINDS.items())
            raise ConfigurationError(f"say what: {examples}")
        if not arguments[0].startswith("-"):
            kind = arguments[0]
            if kind not in KINDS:
                raise unknown_name("machine", kind, KINDS, "pliant emulate")
            sys.argv[1:] = arguments[1:]
    command_line.run(KINDS[kind].job, KINDS[kind].configuration, settings)


if __name__ == "__main__":
    main()
