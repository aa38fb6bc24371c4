"""The environments' names in Gymnasium's registry. Nothing else is imported before one of them is made."""

import gymnasium

_HOMES = {
    "CompliantJoint": ("compliant", "compliant_joint"),
    "CompliantArm2": ("compliant", "compliant_arm2"),
    "TwoLinkArm": ("two_link_arm", "two_link_arm"),
}
"""By name: the module in `pliant.envs` of the single environment, and what makes many of them."""


def register() -> None:
    """Register the environments; done by `import pliant.envs`. Safe to call again.

    There is no `max_episode_steps`: the tasks know their own length and report its end as `truncated`. One
    given to `gymnasium.make` shortens the episodes further.
    """
    for name, (home, many) in _HOMES.items():
        if (identity := f"pliant/{name}-v0") not in gymnasium.registry:
            gymnasium.register(
                identity,
                entry_point=f"pliant.envs.{home}:{name}Env",
                vector_entry_point=f"pliant.envs.vector.registered:{many}",
            )
