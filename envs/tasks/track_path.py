"""Lead an end effector along a path."""

import math
from collections.abc import Sequence

from pliant.controllers.paths import Circle, Path
from pliant.envs.selection import Names
from pliant.envs.tasks.actions import Spread
from pliant.envs.tasks.ends import goal_ended, stayed_aligned, stayed_near
from pliant.envs.tasks.goals import SitePath, site_signals
from pliant.envs.tasks.observations import Commands, Signals, preview
from pliant.envs.tasks.rewards import action_rate, angle, nearness
from pliant.envs.tasks.starts import AtAngles, OnTrajectory
from pliant.envs.tasks.task import Task
from pliant.envs.tasks.values import Values


class TrackPath(Task):
    """Lead an end effector along a path. The episode ends, truncated, with the path.

    | reward term | each period | range |
    |---|---|---|
    | `tracking` | 1/(1 + |e|²/width²), e = desired − measured position of the site, m | (0, 1] |
    | `orientation` | −`turning`·angle between desired and site, rad; with `orientation` | [−π·turning, 0] |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |

    Success: |e| was below `tolerance` (and the angle below `angle_tolerance`) in every period so far.

    Observed: angle, speed and torque of each joint, the commands in force, the site, and where it should be and
        how
    fast at the end of the coming period.
    """

    def __init__(
        self,
        *,
        path: Path | None = None,
        site: str = "tip",
        axes: str = "xz",
        orientation: Sequence[float] | None = None,
        width: float = 0.05,
        tolerance: float = 0.05,
        angle_tolerance: float = 0.1,
        turning: float = 0.2,
        smoothness: float = 0.05,
        start: Values | None = None,
        spread: float = 0.02,
        commanded: Names | None = None,
        failure_penalty: float = 100.0,
    ) -> None:
        """Compose it.

        Args:
            path: desired motion of the site, of as many coordinates as `axes`; None: a circle of radius 0.4 m
                about (1, 0.2) m in 5 s.
            site: the end effector.
            axes: the path's coordinates.
            orientation: that it keeps, a unit quaternion w, x, y, z in the world's frame; None: any.
            width: error at which `tracking` falls to 1/2, m.
            tolerance: largest error that counts as success, m.
            angle_tolerance: largest angle likewise, rad.
            turning: weight of `orientation`.
            smoothness: weight of `smoothness`.
            start: where the joints start, per joint, rad; None: at the path's beginning, by the robot's
                kinematics.
            spread: they start up to this far from there, drawn evenly, rad.
            commanded: columns that the action commands, see `Spread`.
            failure_penalty: see `Task`.
        """
        oriented = orientation is not None
        place, turn = "desired/position_*", "desired/orientation_*"
        super().__init__(
            "track_path",
            action=Spread(commanded),
            start=OnTrajectory(spread) if start is None else AtAngles(start, spread),
            goal=SitePath(
                Circle((1.0, 0.2), 0.4, 5.0, start=math.pi) if path is None else path, site, axes, orientation
            ),
            observations={
                "joints": Signals(),
                "commands": Commands(),
                "site": Signals(names=site_signals(site, axes, oriented)),
                "desired": preview(),
            },
            rewards={
                "tracking": nearness(width=width, goals=place),
                **({"orientation": angle(weight=-turning, goals=turn)} if oriented else {}),
                "smoothness": action_rate(weight=-smoothness),
            },
            ends={
                "followed": stayed_near(tolerance=tolerance, goals=place),
                **({"aligned": stayed_aligned(tolerance=angle_tolerance, goals=turn)} if oriented else {}),
                "time": goal_ended(),
            },
            failure_penalty=failure_penalty,
        )
