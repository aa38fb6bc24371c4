"""The environments' names in Gymnasium's registry. Nothing else is imported before one of them is made."""

import gymnasium

_HOMES = {"CompliantJoint": "compliant", "CompliantArm2": "compliant", "TwoLinkArm": "two_link_arm"}
"""Modules of the environments, in `pliant.envs` and `pliant.envs.vector`, by name."""


def register() -> None:
    """Register the environments; done by `import pliant.envs`. Safe to call again.

    There is no `max_episode_steps`: the tasks know their own length and report its end as `truncated`. One
    given to `gymnasium.make` shortens the episodes further.
    """
    for name, home in _HOMES.items():
        if (identity := f"pliant/{name}-v0") not in gymnasium.registry:
            gymnasium.register(
                identity,
                entry_point=f"pliant.envs.{home}:{name}Env",
                vector_entry_point=f"pliant.envs.vector.{home}:{name}VectorEnv",
            )
