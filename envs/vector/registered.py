"""The registered vector environments: many like a registered single one."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from pliant.envs.compliant import CompliantArm2Env, CompliantJointEnv
from pliant.envs.env import PliantEnv
from pliant.envs.two_link_arm import TwoLinkArmEnv
from pliant.envs.vector.env import PliantVectorEnv

_OWN = [p.name for p in signature(PliantVectorEnv).parameters.values() if p.kind is p.KEYWORD_ONLY]
"""What is said to the many rather than to each."""


def many(single: Callable[..., PliantEnv]) -> Callable[..., PliantVectorEnv]:
    """Return what makes n environments like a single one, for `gymnasium.make_vec`.

    It takes `num_envs`, `autoreset_mode`, `threads` and what concerns pictures as `PliantVectorEnv` does, and the
    options of the single environment; a `robot` among these must be a simulated one.

    Args:
        single: makes the single environment; its robot and task are those of the many.
    """

    def make(num_envs: int = 1, **options: Any) -> PliantVectorEnv:
        own = {name: options.pop(name) for name in _OWN if name in options}
        one = single(**options)
        return PliantVectorEnv(one.robot, one.task.task, num_envs, one.task.kinematics, **own)

    return make


compliant_joint = many(CompliantJointEnv)
compliant_arm2 = many(CompliantArm2Env)
two_link_arm = many(TwoLinkArmEnv)
