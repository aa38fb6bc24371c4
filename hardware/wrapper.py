"""A robot seen through something: the seam for what fills in, watches or changes what passes."""

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from pliant.hardware.robot import Array, Robot, RobotInfo, State


class RobotWrapper(Robot):
    """Passes everything on to a robot; to be overridden where something is added.

    Args:
        robot: any robot.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    @property
    def info(self) -> RobotInfo:
        """The robot's."""
        return self.robot.info

    @property
    def unmeasured(self) -> frozenset[str]:
        """The robot's."""
        return self.robot.unmeasured

    @property
    def estimated(self) -> frozenset[str]:
        """The robot's."""
        return self.robot.estimated

    @property
    def held_back(self) -> bool:
        """The robot's."""
        return self.robot.held_back

    def connect(self) -> None:
        """Connect the robot."""
        self.robot.connect()

    def read(self) -> State:
        """Return the robot's state."""
        return self.robot.read()

    def send(self, command: ArrayLike) -> Array:
        """Send a command through the robot."""
        return self.robot.send(command)

    def carry_on(self) -> bool:
        """Let what has not failed of the robot be moved again."""
        return self.robot.carry_on()

    def notices(self) -> Sequence[str]:
        """Return the robot's."""
        return self.robot.notices()

    def stop(self) -> None:
        """Stop the robot."""
        self.robot.stop()

    def close(self) -> None:
        """Release the robot."""
        self.robot.close()

    def abort(self) -> None:
        """End the robot's motion after a failure."""
        self.robot.abort()

    def reset(
        self,
        seed: int | None = None,
        position: ArrayLike | None = None,
        command: ArrayLike | None = None,
        *,
        bodies: Mapping[str, ArrayLike] | None = None,
    ) -> State:
        """Put the robot to its start and return what is read through this."""
        self.robot.reset(seed, position, command, bodies=bodies)
        return self.read()

    def diagnostics(self) -> Mapping[str, object]:
        """Return the robot's."""
        return self.robot.diagnostics()


def unwrapped(robot: Robot) -> Robot:
    """Return the robot behind all wrappers."""
    while isinstance(robot, RobotWrapper):
        robot = robot.robot
    return robot
