"""Serve a controller to a robot in another process, or on another machine."""

import signal

from omegaconf import DictConfig

from pliant import command_line
from pliant.deployment.controller import NamedController, build_controller
from pliant.deployment.remote.server import ControlServer
from pliant.deployment.remote.transport import Address
from pliant.envs.description import described
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Robot, RobotInfo, check_command
from pliant.training.run_settings import settings


def job(config: DictConfig) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    if config.get("controller") is None:
        raise ConfigurationError("say which: controller=setpoints, for one, or controller=mymodule:MyController.")
    address, robot = Address.read(config.address), described(config.robot).simulated()

    def make(info: RobotInfo) -> NamedController:
        return build_controller(config.controller, info)

    name = _tried(make(robot.info), robot)
    server = ControlServer(address, make, robot.info, same_parameters=bool(config.same_robot), tell=_tell)
    _tell(f"{name} for robot {robot.info.name!r} at {server.address}; Ctrl-C ends it")
    if not server.address.local:
        _tell("whoever reaches this address can use it: there is no authentication")
    with command_line.interruption(server.stop):
        signal.signal(signal.SIGHUP, lambda *_: server.stop())
        server.run()


def _tried(controller: NamedController, robot: Robot) -> str:
    """Let a controller command once, and return its name: what is wrong or compiled is so before a robot waits."""
    controller.check(robot.info)
    with robot:
        state = robot.reset(command=controller.initial_command)
        controller.reset(state)
        check_command(controller.update(state, 0.0), robot.info)
    return controller.name


def _tell(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    """Run the verb on the command line's arguments."""
    command_line.run(job, "control", settings)


if __name__ == "__main__":
    main()
