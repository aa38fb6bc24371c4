"""Bring an end effector to a place, and if asked for into an orientation, and keep it there."""

import math
from collections.abc import Sequence
from typing import Any

from pliant.envs.selection import Names
from pliant.envs.tasks import ends
from pliant.envs.tasks.actions import Spread
from pliant.envs.tasks.goals import Goal, Pose, Ring, site_signals
from pliant.envs.tasks.observations import Commands, Signals
from pliant.envs.tasks.observations import Goal as SeenGoal
from pliant.envs.tasks.rewards import action_rate, angle, distance, success
from pliant.envs.tasks.starts import AtAngles, AtHome
from pliant.envs.tasks.task import Task
from pliant.envs.tasks.values import Values


class ReachPose(Task):
    """Bring an end effector to a goal drawn anew for every episode, and keep it there.

    | reward term | each period | range |
    |---|---|---|
    | `distance` | −|goal − site|, m | ≤ 0 |
    | `orientation` | −`turning`·angle between goal and site, rad; only if it is `oriented` | [−π·turning, 0] |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |
    | `success` | `bonus` in the period of success | 0 or bonus |

    Success: the site has been nearer than `tolerance` (and turned by less than `angle`) for the last `hold`
        seconds. It
    terminates the episode; `duration` truncates it. Where both fall on one period, the episode is terminated.

    Observed: angle, speed and torque of each joint, the commands in force, the site and the goal.
    """

    def __init__(
        self,
        *,
        site: str = "tip",
        axes: str = "xyz",
        oriented: bool = False,
        low: Sequence[float] | None = None,
        high: Sequence[float] | None = None,
        goal: Goal | None = None,
        tolerance: float = 0.02,
        angle_tolerance: float = 0.1,
        hold: float = 0.2,
        duration: float = 4.0,
        bonus: float = 10.0,
        turning: float = 0.2,
        smoothness: float = 0.05,
        start: Values | None = None,
        spread: float = 0.02,
        commanded: Names | None = None,
        failure_penalty: float = 100.0,
    ) -> None:
        """Compose it.

        Args:
            site: the end effector.
            axes: which of its coordinates matter.
            oriented: whether its orientation matters too.
            low: lowest corner of the box of goals, a number for each of `axes`, m; None: goals are drawn from
                what the robot reaches, by its kinematics.
            high: highest corner.
            goal: instead, how goals are drawn; of the same site, axes and orientation.
            tolerance: largest distance from the goal that counts as reached, m.
            angle_tolerance: largest angle likewise, rad.
            hold: how long it must be kept, s.
            duration: how long the episode may take, s.
            bonus: reward of success.
            turning: weight of `orientation`.
            smoothness: weight of `smoothness`.
            start: where the joints start, per joint, rad; None: where the robot itself begins.
            spread: they start up to this far from `start`, drawn evenly, rad.
            commanded: columns that the action commands, see `Spread`.
            failure_penalty: see `Task`.
        """
        seen = site_signals(site, axes, oriented)
        place, turn = "goal/position_*", "goal/orientation_*"
        reached = (
            ends.posed(tolerance=tolerance, angle=angle_tolerance, hold=hold)
            if oriented
            else ends.arrived(tolerance=tolerance, hold=hold)
        )
        super().__init__(
            "reach_pose",
            action=Spread(commanded),
            start=AtHome() if start is None else AtAngles(start, spread),
            goal=Pose(site, axes, low, high, oriented) if goal is None else goal,
            observations={
                "joints": Signals(),
                "commands": Commands(),
                "site": Signals(names=seen),
                "goal": SeenGoal(),
            },
            rewards={
                "distance": distance(weight=-1.0, goals=place),
                **({"orientation": angle(weight=-turning, goals=turn)} if oriented else {}),
                "smoothness": action_rate(weight=-smoothness),
                "success": success(weight=bonus),
            },
            ends={"reached": reached, "time": ends.time_up(duration=duration)},
            failure_penalty=failure_penalty,
        )


def planar_reach(*, nearest: float = 0.5, farthest: float = 1.8, **settings: Any) -> ReachPose:
    """Return `ReachPose` for the tip: goals are spread evenly over a ring, and the arm starts near hanging down.

    Args:
        nearest: least distance of a goal from the shoulder, m.
        farthest: largest, m.
        settings: of `ReachPose` otherwise.
    """
    usual = {"start": (-math.pi / 2, 0.0), "spread": 0.1, "goal": Ring(nearest=nearest, farthest=farthest)}
    return ReachPose(axes="xz", **{**usual, **settings})
