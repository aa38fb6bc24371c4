"""The registered vector environments: many like a registered single one."""

from collections.abc import Callable
from typing import Any

from gymnasium.vector import AutoresetMode

from pliant.envs.compliant import CompliantArm2Env, CompliantJointEnv
from pliant.envs.env import PliantEnv
from pliant.envs.two_link_arm import TwoLinkArmEnv
from pliant.envs.vector.env import PliantVectorEnv


def many(single: Callable[..., PliantEnv]) -> Callable[..., PliantVectorEnv]:
    """Return what makes n environments like a single one, for `gymnasium.make_vec`.

    It takes `num_envs`, `autoreset_mode`, `threads` and what concerns pictures as `PliantVectorEnv` does, and the
    options of the single environment; a `robot` among these must be a simulated one.

    Args:
        single: makes the single environment; its robot and task are those of the many.
    """

    def make(
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int = 0,
        render_mode: str | None = None,
        width: int = 640,
        height: int = 480,
        **options: Any,
    ) -> PliantVectorEnv:
        one = single(**options)
        return PliantVectorEnv(
            one.robot,
            one.task.task,
            num_envs,
            autoreset_mode=autoreset_mode,
            threads=threads,
            render_mode=render_mode,
            width=width,
            height=height,
        )

    return make


compliant_joint = many(CompliantJointEnv)
compliant_arm2 = many(CompliantArm2Env)
two_link_arm = many(TwoLinkArmEnv)
