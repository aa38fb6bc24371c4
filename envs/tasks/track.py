"""Follow a trajectory."""

from pliant.controllers.trajectories import MinimumJerk, Trajectory
from pliant.envs.selection import Names
from pliant.envs.tasks.actions import Spread
from pliant.envs.tasks.ends import followed, goal_ended
from pliant.envs.tasks.goals import JointTrajectory
from pliant.envs.tasks.observations import Commands, Signals, preview
from pliant.envs.tasks.rewards import action_rate, tracking
from pliant.envs.tasks.starts import OnTrajectory
from pliant.envs.tasks.task import Task


class Track(Task):
    """Follow a trajectory with all joints. The episode ends, truncated, with the trajectory.

    | reward term | each period | range |
    |---|---|---|
    | `tracking` | 1/(1 + mean(e²)/width²), e = desired − measured angle of each joint | (0, 1] |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |

    Success: every |e| was below `tolerance` in every period so far.

    Observed: angle, speed and torque of each joint, the commands in force, and the desired angle and speed of each
    joint at the end of the coming period.
    """

    def __init__(
        self,
        *,
        trajectory: Trajectory | None = None,
        width: float = 0.1,
        tolerance: float = 0.08,
        smoothness: float = 0.05,
        spread: float = 0.02,
        commanded: Names | None = None,
        failure_penalty: float = 100.0,
    ) -> None:
        """Compose it.

        Args:
            trajectory: desired motion; one of a single joint is followed by all joints. None: from 0 to 0.8 rad
                in 4 s.
            width: root-mean-square error at which `tracking` falls to 1/2, rad.
            tolerance: largest error that counts as success, rad.
            smoothness: weight of `smoothness`.
            spread: the joints start up to this far from the trajectory's beginning, drawn evenly, rad.
            commanded: columns that the action commands, see `Spread`.
            failure_penalty: see `Task`.
        """
        super().__init__(
            "track",
            action=Spread(commanded),
            start=OnTrajectory(spread),
            goal=JointTrajectory(MinimumJerk(0.0, 0.8, 4.0) if trajectory is None else trajectory),
            observations={"joints": Signals(), "commands": Commands(), "desired": preview()},
            rewards={
                "tracking": tracking(width=width, goals="*/desired_position"),
                "smoothness": action_rate(weight=-smoothness),
            },
            ends={"followed": followed(tolerance=tolerance, goals="*/desired_position"), "time": goal_ended()},
            failure_penalty=failure_penalty,
        )
