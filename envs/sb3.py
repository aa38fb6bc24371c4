"""Vector environments for stable-baselines3, which is imported when one is asked for."""

from typing import TYPE_CHECKING

from pliant.envs.vector import PliantVectorEnv
from pliant.errors import require_extra

if TYPE_CHECKING:
    from pliant.envs.sb3_vec_env import SB3VecEnv


def sb3_vec_env(env: PliantVectorEnv) -> "SB3VecEnv":
    """Return a vector environment as stable-baselines3's `VecEnv`.

    Ready for `learn`::

        env = gymnasium.make_vec(
            "pliant/CompliantArm2-v0",
            num_envs=64,
            vectorization_mode="vector_entry_point",
            autoreset_mode="SameStep",
        )
        PPO("MlpPolicy", sb3_vec_env(env)).learn(100_000)

    Args:
        env: with the autoreset mode "SameStep", which stable-baselines3 expects.

    Raises:
        MissingExtraError: stable-baselines3 is not installed.
        ConfigurationError: another autoreset mode.
    """
    require_extra("stable_baselines3", "train", "a VecEnv")
    from pliant.envs.sb3_vec_env import SB3VecEnv

    return SB3VecEnv(env)
