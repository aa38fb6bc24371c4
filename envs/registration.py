"""The environments' names in Gymnasium's registry. Nothing else is imported before one of them is made."""

import gymnasium

_ENTRY_POINTS = {
    "pliant/CompliantJoint-v0": "pliant.envs.compliant:CompliantJointEnv",
    "pliant/CompliantArm2-v0": "pliant.envs.compliant:CompliantArm2Env",
}


def register() -> None:
    """Register the environments; done by `import pliant.envs`. Safe to call again.

    There is no `max_episode_steps`: the tasks know their own length and report its end as `truncated`. One
    given to `gymnasium.make` shortens the episodes further.
    """
    for name, entry_point in _ENTRY_POINTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=entry_point)
