"""Where end effectors are for given joint angles: what a task may be told beside what a robot reads."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pliant.controllers.interaction import Arm
from pliant.controllers.task_space import Mechanics
from pliant.controllers.two_link import TwoLinkArm
from pliant.envs.tasks.measures import planar_tip
from pliant.envs.tasks.term import Term
from pliant.errors import ConfigurationError, unknown_name
from pliant.hardware.force_torque.wrench import ToolLoad
from pliant.hardware.robot import Array


class Kinematics(ABC):
    """The kinematics of a robot, as its maker offers them to tasks."""

    @property
    @abstractmethod
    def sites(self) -> tuple[str, ...]:
        """Names of the end effectors."""

    @abstractmethod
    def pose(self, site: str, q: Array) -> Array:
        """Return where a site is.

        Args:
            site: one of `sites`.
            q: joint angles, (…, joints), rad.

        Returns:
            (…, 7): position x, y, z in m and orientation as a quaternion w, x, y, z, in the world's frame.
        """

    def inverse(self, site: str, position: Array) -> Array:
        """Return joint angles that put a site at positions, (…, 3), m -> (…, joints), rad.

        Raises:
            OutOfBoundsError: it cannot get there.
            ConfigurationError: these kinematics have no inverse.
        """
        raise ConfigurationError(f"{type(self).__name__} has no inverse; say where the joints start.")

    def touching(self, q: Array) -> str:
        """Return what of the robot touches itself, or what stands beside it, where it does not at its start.

        Args:
            q: joint angles, (joints,), rad.

        Returns:
            Two parts in words, `forearm and base`; empty if none touch, or these kinematics know no shapes.
        """
        return ""

    def tool(self, end_effector: str | None, sensor: str) -> tuple[Arm, ToolLoad]:
        """Return the arm as a controller of interaction believes it to be, and what hangs on its sensor.

        Args:
            end_effector: whose site is the tool's centre point; None: the only one.
            sensor: name of its force-torque sensor.

        Raises:
            UnknownNameError: no such end effector or sensor.
            ConfigurationError: these kinematics are of no such arm.
        """
        raise ConfigurationError(f"{type(self).__name__} are not of an arm with a force-torque sensor.")

    def mechanics(self) -> tuple[Mechanics, Mapping[str, str]]:
        """Return the robot's mechanics, for a controller to keep, and the frames of its end effectors by name.

        Raises:
            ConfigurationError: these kinematics know no masses.
        """
        raise ConfigurationError(f"{type(self).__name__} know no masses, which task-space control needs.")

    @property
    def measures(self) -> Mapping[str, Term]:
        """Measures that compute sites' signals of a robot that does not read them; none by default."""
        return {}

    def check(self, site: str) -> str:
        """Return the name of a site; raise `UnknownNameError` if there is none."""
        if site not in self.sites:
            raise unknown_name("site", site, self.sites, "the robot's kinematics")
        return site


@dataclass(frozen=True)
class PlanarKinematics(Kinematics):
    """The planar two-link arm, in the x–z plane with the shoulder at the origin; its site is `tip`."""

    arm: TwoLinkArm = field(default_factory=TwoLinkArm)
    """Its lengths."""
    elbow: Literal["up", "down"] = "up"
    """The solution that `inverse` returns."""

    def __post_init__(self) -> None:
        if not isinstance(self.arm, TwoLinkArm):
            raise ConfigurationError(
                f"arm is {self.arm!r}; a TwoLinkArm is needed (in a configuration, a node with _target_: "
                "pliant.controllers.TwoLinkArm)."
            )
        if self.elbow not in ("up", "down"):
            raise unknown_name("elbow", self.elbow, ("up", "down"), "the planar kinematics")

    @property
    def sites(self) -> tuple[str, ...]:
        """The tip."""
        return ("tip",)

    def pose(self, site: str, q: Array) -> Array:
        """Return where the tip is; see `Kinematics.pose`. It turns about −y."""
        self.check(site)
        point, half = self.arm.forward_kinematics(q), np.sum(q, axis=-1) / 2
        none = np.zeros_like(half)
        return np.stack([point[..., 0], none, point[..., 1], np.cos(half), none, -np.sin(half), none], axis=-1)

    def inverse(self, site: str, position: Array) -> Array:
        """Return the angles that put the tip at positions in the plane; see `Kinematics.inverse`."""
        self.check(site)
        return self.arm.inverse_kinematics(np.asarray(position)[..., [0, 2]], elbow=self.elbow)

    @property
    def measures(self) -> Mapping[str, Term]:
        """The tip's position, computed from the joint angles."""
        return {"tip": planar_tip(l1=self.arm.l1, l2=self.arm.l2)}
