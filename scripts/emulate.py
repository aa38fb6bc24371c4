"""Emulate a bus of servos, an arm's controller or a force-torque sensor for any program."""

import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
from pliant.envs.emulators.net_ft.box import BoxEmulation
from pliant.envs.emulators.net_ft.emulator import SOCKET, NetFTEmulator
from pliant.envs.emulators.ur.emulator import SOCKET as UR_SOCKET
from pliant.envs.emulators.ur.emulator import UrEmulator
from pliant.envs.emulators.ur.settings import ControllerSettings, Gap
from pliant.errors import ConfigurationError, unknown_name
from pliant.files import ensure_folder
from pliant.hardware.force_torque.net_ft_page import PAGE
from pliant.hardware.wrapper import unwrapped
from pliant.training.run_settings import settings


def job(config: DictConfig) -> None:
    """Serve a bus of Dynamixel servos until Ctrl-C or SIGTERM, then take the port away."""
    robot = unwrapped(machine(config))
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
    gap, polyscope = Gap(**given.pop("gap")), str(given.pop("polyscope"))
    chosen = ControllerSettings(gap=gap, polyscope=polyscope, **given)
    with _folder(folder) as place:
        emulator = UrEmulator(chosen, host, place)
        name = emulator.controller.arm.parameters.name
        where = f"{name} with PolyScope {chosen.polyscope} at {host}, control at {control_path(place / UR_SOCKET)}"
        _serve(emulator, where)


def net_ft_job(config: DictConfig) -> None:
    """Serve a Net F/T box until Ctrl-C or SIGTERM."""
    given: Any = OmegaConf.to_container(config, resolve=True)
    host, port, page_port = (given.pop(name) for name in ("host", "port", "page_port"))
    wrench = given.pop("wrench")
    with _folder(given.pop("folder")) as place:
        emulator = NetFTEmulator(BoxEmulation(**given), None, str(host), port, page_port, place)
        emulator.push(wrench)
        page = f"page at http://{host}:{emulator.page_port}{PAGE}"
        _serve(emulator, f"Net F/T at {host}:{emulator.port}, {page}, control at {control_path(place / SOCKET)}")


@contextmanager
def _folder(given: Any) -> Iterator[Path]:
    """The folder that is given, made if needed, or a temporary one."""
    if given is not None and not isinstance(given, str):
        raise ConfigurationError(f"folder is {given!r}; the path of a folder is needed.")
    with tempfile.TemporaryDirectory(prefix="pliant-") as temporary:
        yield Path(temporary) if given is None else ensure_folder(given)


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
    "net_ft": Kind(net_ft_job, "emulate_net_ft", "host=127.0.0.5"),
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
