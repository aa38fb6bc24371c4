"""The environments' names in Gymnasium's registry. Nothing else is imported before one of them is made."""

import gymnasium

_FRONTS = {
    "Robot": "robot_env",
    "CompliantJoint": "compliant_joint_env",
    "CompliantArm2": "compliant_arm2_env",
    "TwoLinkArm": "two_link_arm_env",
}
"""What makes them, in `pliant.envs.fronts`; many at once is called the same with an s."""


def register() -> None:
    """Register the environments; done by `import pliant.envs`. Safe to call again.

    There is no `max_episode_steps`: the tasks know their own length and report its end as `truncated`. One
    given to `gymnasium.make` or `make_vec` shortens the episodes further.
    """
    for name, front in _FRONTS.items():
        if (identity := f"pliant/{name}-v0") not in gymnasium.registry:
            gymnasium.register(
                identity,
                entry_point=f"pliant.envs.fronts:{front}",
                vector_entry_point=f"pliant.envs.fronts:{front}s",
            )
