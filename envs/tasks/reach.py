"""Reach a posture and stay there."""

from pliant.envs.selection import Names
from pliant.envs.tasks.actions import Spread
from pliant.envs.tasks.ends import reached, time_up
from pliant.envs.tasks.goals import Posture
from pliant.envs.tasks.observations import Commands, Goal, Signals
from pliant.envs.tasks.rewards import action_rate, error, success
from pliant.envs.tasks.starts import AtAngles
from pliant.envs.tasks.task import Task
from pliant.envs.tasks.values import Values


class Reach(Task):
    """Bring all joints to angles drawn anew for every episode, and keep them there.

    | reward term | each period | range |
    |---|---|---|
    | `distance` | −√mean(e²), e = goal − measured angle of each joint, rad | ≤ 0 |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |
    | `success` | `bonus` in the period of success | 0 or bonus |

    Success: every |e| has been below `tolerance` for the last `hold` seconds. It terminates the episode;
    `duration` truncates it. Where both fall on one period, the episode is terminated.

    Observed: angle, speed and torque of each joint, the commands in force, the goal of each joint.
    """

    def __init__(
        self,
        *,
        low: Values | None = None,
        high: Values | None = None,
        tolerance: float = 0.05,
        hold: float = 0.2,
        duration: float = 3.0,
        bonus: float = 10.0,
        smoothness: float = 0.05,
        start: Values | None = None,
        spread: float = 0.02,
        commanded: Names | None = None,
        failure_penalty: float = 100.0,
    ) -> None:
        """Compose it.

        Args:
            low: lowest goal, per joint, rad; None: 0.8 rad (m) below where the joint starts, as far as its range
                goes.
            high: highest goal, per joint, rad; None: likewise above.
            tolerance: largest error that counts as reached, rad.
            hold: how long it must be kept, s.
            duration: how long the episode may take, s.
            bonus: reward of success.
            smoothness: weight of `smoothness`.
            start: where the joints start, per joint, rad; None: where the robot itself starts.
            spread: they start up to this far from `start`, drawn evenly, rad.
            commanded: columns that the action commands, see `Spread`.
            failure_penalty: see `Task`.
        """
        super().__init__(
            "reach",
            action=Spread(commanded),
            start=AtAngles(start, spread),
            goal=Posture(low, high),
            observations={"joints": Signals(), "commands": Commands(), "goal": Goal()},
            rewards={
                "distance": error(weight=-1.0),
                "smoothness": action_rate(weight=-smoothness),
                "success": success(weight=bonus),
            },
            ends={"reached": reached(tolerance=tolerance, hold=hold), "time": time_up(duration=duration)},
            failure_penalty=failure_penalty,
        )
