"""How far each joint is from where a task wants it."""

from collections.abc import Mapping

import numpy as np

from pliant.envs.env import PliantEnv
from pliant.hardware.robot import Array


class JointErrors:
    """Errors of joints in an episode, goal minus measured, of the joints whose positions the task's goal names.

    Args:
        env: in which the episode runs.
    """

    def __init__(self, env: PliantEnv) -> None:
        self._env, goal = env, env.task.goal
        wanted = dict(zip(goal.compared, (channel.name for channel in goal.channels), strict=True))
        self._joints = [joint for joint in env.robot.info.joints if f"{joint}/position" in wanted]
        self._moves = goal.table is not None
        column = env.task.column
        self._measured = [column(f"{joint}/position") for joint in self._joints]
        self._wanted = [column(wanted[f"{joint}/position"]) for joint in self._joints]
        self._rows: list[Array] = []

    def see(self) -> None:
        """Note them as they are now."""
        numbers = self._env.numbers
        self._rows.append(numbers[self._wanted] - numbers[self._measured])

    def of_episode(self) -> dict[str, Mapping[str, float]]:
        """Return them by joint, rad or m, since the last call: `max_error` and `rms_error` of a goal that moves.

        Of one that stays, the `final_error`; of a task without goals of joints, nothing.
        """
        rows, self._rows = np.array(self._rows), []
        if not self._joints:
            return {}
        if not self._moves:
            return {"final_error": self._by_joint(np.abs(rows[-1]))}
        rms = np.sqrt(np.mean(rows**2, axis=0))
        return {"max_error": self._by_joint(np.abs(rows).max(axis=0)), "rms_error": self._by_joint(rms)}

    def _by_joint(self, values: Array) -> dict[str, float]:
        return dict(zip(self._joints, values.tolist(), strict=True))
