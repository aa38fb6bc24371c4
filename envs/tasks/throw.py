"""Throw a ball as far as possible."""

from collections.abc import Sequence

from pliant.envs.models.arm2 import LENGTHS
from pliant.envs.selection import Names
from pliant.envs.tasks.actions import Spread
from pliant.envs.tasks.ends import at_least, time_up
from pliant.envs.tasks.markers import Ball
from pliant.envs.tasks.measures import thrown_by_chain, thrown_by_tip
from pliant.envs.tasks.observations import Commands, Signals, time_left
from pliant.envs.tasks.rewards import action_rate, value
from pliant.envs.tasks.starts import AtAngles
from pliant.envs.tasks.task import Task
from pliant.envs.tasks.values import Values


class Throw(Task):
    """Throw a ball with an arm: wind up, release the springs, let go at the best instant.

    A ball that is let go at the tip flies freely, xₗ = x + ẋ·(ż + √(ż² + 2·g·z))/g, and lands on the floor. The
    hand opens by itself, at the end of the period from which the ball flies farthest in the direction of x. The
    ball's own mass is neglected.

    | reward term | each period | range |
    |---|---|---|
    | `distance` | by how much a ball let go now would fly farther than from any period before, m | ≥ 0 |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |

    So the sum of `distance` over an episode is the throw's distance.

    Success: it is at least `goal`. The episode ends after `duration`, truncated.

    Observed: angle, speed and torque of each joint, the commands in force, how far a ball let go now would fly,
    `throw/now`, the farthest so far, `throw/best` (both m), and the time left, `time/left` (s).

    A motor gives the link no more than its own limited speed, and a spring gives back in an instant what the motor
    put into it before. The same arm with rigid joints throws less far.
    """

    def __init__(
        self,
        *,
        goal: float = 0.95,
        duration: float = 1.2,
        lengths: Sequence[float] | None = LENGTHS,
        height: float = 0.42,
        gravity: float = 9.81,
        smoothness: float = 0.0,
        start: Values | None = None,
        spread: float = 0.02,
        commanded: Names | None = None,
        failure_penalty: float = 100.0,
    ) -> None:
        """Compose it.

        Args:
            goal: distance that counts as success, m.
            duration: how long the episode takes, s.
            lengths: of a hanging planar chain, from each joint to the next and from the last one to the tip, m;
                None: the arm has signals of its tip instead (`tip/position_x|z`, `tip/velocity_x|z`).
            height: of the first joint above the floor, m; with signals of the tip, of the world's origin.
            gravity: m/s².
            smoothness: weight of `smoothness`.
            start: where the joints start, per joint, rad; None: where the robot itself starts.
            spread: they start up to this far from `start`, drawn evenly, rad.
            commanded: columns that the action commands, see `Spread`.
            failure_penalty: see `Task`.
        """
        flight = (
            thrown_by_tip(height=height, gravity=gravity)
            if lengths is None
            else thrown_by_chain(lengths=lengths, height=height, gravity=gravity)
        )
        super().__init__(
            "throw",
            action=Spread(commanded),
            start=AtAngles(start, spread),
            measures={"flight": flight},
            observations={
                "joints": Signals(),
                "commands": Commands(),
                "throw": Signals(names=("throw/now", "throw/best")),
                "time": time_left(duration=duration),
            },
            rewards={"distance": value(signals="throw/gain"), "smoothness": action_rate(weight=-smoothness)},
            ends={"far": at_least(signals="throw/best", limit=goal), "time": time_up(duration=duration)},
            failure_penalty=failure_penalty,
            markers={"ball": Ball(limit=goal, gravity=gravity)},
        )
