"""A controller as a policy."""

from collections.abc import Sequence

import numpy as np

from pliant.controllers.checks import Array, finite_array
from pliant.controllers.controller import Controller
from pliant.controllers.policy import Policy, PolicyInfo, to_action
from pliant.errors import MismatchError
from pliant.hardware.robot import State

_MEASURED = ("position", "velocity", "torque")


class ControllerPolicy(Policy):
    """Runs a controller on what an environment observes.

    The controller gets a state with the joints' position, velocity and torque, and the command in force; what is
    not observed is NaN. Its first update is at t = 0. Its command has a number for each column that the
    environment's task commands, in the units of the robot; beyond the bounds it is limited.
    """

    def __init__(self, controller: Controller, info: PolicyInfo) -> None:
        """Find what the controller needs among the observations.

        Args:
            controller: gives a number for each of `info.actions`, in their order.
            info: what the environment offers.

        Raises:
            MismatchError: position, velocity or torque of a joint is not observed.
        """
        super().__init__(info)
        self._controller = controller
        seen = [channel.name for channel in info.observations]
        wanted = [f"{joint}/{quantity}" for quantity in _MEASURED for joint in info.joints]
        if missing := [name for name in wanted if name not in seen]:
            raise MismatchError(
                f"the controller {type(controller).__name__} needs {', '.join(missing)}, which the environment of "
                f"{info.robot!r} does not observe. Observed: {', '.join(seen)}."
            )
        self._measured = [seen.index(name) for name in wanted]
        self._commanded = _positions([f"{channel.name}_command" for channel in info.actions], seen)
        self._period_number = 0

    def reset(self) -> None:
        """Begin an episode; the controller is reset at its first observation."""
        self._period_number = 0

    def act(self, observation: Array) -> Array:
        """Return the action of the controller's command."""
        time = self._period_number * self.info.period
        state = self._state(observation, time)
        if self._period_number == 0:
            self._controller.reset(state)
        self._period_number += 1
        what = f"the command of {type(self._controller).__name__}"
        command = finite_array(what, self._controller.update(state, time), (len(self.info.actions),))
        return to_action(command, self.info.actions)

    def _state(self, observation: Array, time: float) -> State:
        joints = len(self.info.joints)
        position, velocity, torque = observation[self._measured].reshape(len(_MEASURED), joints)
        command = np.array([np.nan if k is None else observation[k] for k in self._commanded])
        unknown = np.full(joints, np.nan)
        none = np.empty(0)
        return State(time, position, velocity, torque, unknown, none, none, none, none, command)


def _positions(names: Sequence[str], among: Sequence[str]) -> list[int | None]:
    """Where each name is, or None."""
    return [among.index(name) if name in among else None for name in names]
