"""One environment among many."""

from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from pliant.envs.tasks.task import Observation, TaskOnRobot
from pliant.envs.vector.reports import single
from pliant.errors import ConfigurationError
from pliant.hardware.robot import Channel

if TYPE_CHECKING:
    from pliant.envs.vector.env import PliantVectorEnv


class Member:
    """Environment i of a `PliantVectorEnv`: what can be asked of it, and done to it, by itself.

    What all environments share cannot be set here; attributes of your own can. It answers as a `gymnasium.Env`
    without a wrapper.
    """

    def __init__(self, owner: "PliantVectorEnv", index: int) -> None:
        self._owner, self.index = owner, index

    @property
    def unwrapped(self) -> "Member":
        """Itself."""
        return self

    @property
    def spec(self) -> Any:
        """How the vector environment was made, if by `gymnasium.make_vec`."""
        return self._owner.spec

    @property
    def metadata(self) -> dict[str, Any]:
        """As of the vector environment."""
        return self._owner.metadata

    @property
    def render_mode(self) -> str | None:
        """As of the vector environment."""
        return self._owner.render_mode

    @property
    def action_space(self) -> Box:
        """Of one environment."""
        return self._owner.single_action_space

    @property
    def observation_space(self) -> Box:
        """Of one environment."""
        return self._owner.single_observation_space

    @property
    def task(self) -> TaskOnRobot:
        """The task on the robot."""
        return self._owner.task

    @property
    def actions(self) -> tuple[Channel, ...]:
        """Names, units and bounds of what an action moves."""
        return self._owner.actions

    @property
    def observations(self) -> tuple[Channel, ...]:
        """Names, units and bounds of an observation's entries."""
        return self._owner.observations

    @property
    def np_random(self) -> np.random.Generator:
        """Its generator."""
        return self._owner.generators[self.index]

    @property
    def np_random_seed(self) -> int:
        """What its generator was seeded with."""
        return self._owner.generators.seed_of(self.index)

    @property
    def model(self) -> mujoco.MjModel:
        """A copy of MuJoCo's model of its robot, with what was drawn of it; another one at every look."""
        return self._owner.robots.model(self.index)

    @property
    def data(self) -> mujoco.MjData:
        """A copy of MuJoCo's data of its robot as it is now; another one at every look.

        Writing into it changes nothing. The copy of the model that it belongs to is like `model`, but another.
        """
        return self._owner.robots.data(self.index)

    @property
    def parameters(self) -> dict[str, float]:
        """What was drawn of its robot, by name."""
        return self._owner.robots.parameters(self.index)

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether there is such an attribute."""
        return hasattr(self, name)

    def get_wrapper_attr(self, name: str) -> Any:
        """Return an attribute."""
        return getattr(self, name)

    def set_wrapper_attr(self, name: str, value: Any, *, force: bool = True) -> bool:
        """Set an attribute, one that there is not yet only by `force`; returns whether it is set.

        Raises:
            ConfigurationError: it belongs to all environments together.
        """
        if not (force or hasattr(self, name)):
            return False
        try:
            setattr(self, name, value)
        except AttributeError as error:
            raise ConfigurationError(
                f"{name!r} belongs to all environments together and cannot be set for one of them; make the "
                "vector environment with another value."
            ) from error
        return True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode here alone; the others go on. As `PliantEnv.reset`."""
        mask = np.zeros(self._owner.num_envs, dtype=np.bool_)
        mask[self.index] = True
        seeds = [seed if only else None for only in mask]
        observations, infos = self._owner.reset(seed=seeds, options={**(options or {}), "reset_mask": mask})
        return observations[self.index], single(infos, self.index)

    def render(self) -> NDArray[np.uint8] | None:
        """Return an image of its robot, (height, width, 3), or None without a render mode."""
        return None if self.render_mode is None else self._owner.image(self.index)

    def apply_torque(self, joint: str, torque: float) -> None:
        """Apply an external torque (N·m) to a joint until it is changed or an episode begins."""
        self._owner.robots.apply_torque(self.index, joint, torque)
