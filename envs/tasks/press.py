"""Press on something with a force."""

from pliant.envs.selection import Names
from pliant.envs.tasks.actions import Spread
from pliant.envs.tasks.ends import beyond, reached, time_up
from pliant.envs.tasks.goals import Drawn
from pliant.envs.tasks.observations import Commands, Goal, Signals
from pliant.envs.tasks.rewards import action_rate, failure, success, tracking
from pliant.envs.tasks.starts import AtAngles, AtHome
from pliant.envs.tasks.task import Task
from pliant.envs.tasks.values import Values


class Press(Task):
    """Bring the force that a sensor measures along one axis to a goal drawn for every episode, and keep it there.

    | reward term | each period | range |
    |---|---|---|
    | `tracking` | 1/(1 + e²/width²), e = goal − measured force, N | (0, 1] |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |
    | `success` | `bonus` in the period of success | 0 or bonus |
    | `overload` | −`overload_penalty` in the period of an overload | −overload_penalty or 0 |

    Success: |e| has been below `tolerance` for the last `hold` seconds; it terminates the episode, as does an
        overload,
    a component of the force beyond ±`limit`. `duration` truncates it.

    Observed: angle, speed and torque of each joint, the commands in force, the sensor's force and torque, the
        goal.
    """

    def __init__(
        self,
        *,
        sensor: str = "wrist",
        axis: str = "z",
        low: float = 2.0,
        high: float = 10.0,
        width: float = 2.0,
        tolerance: float = 0.5,
        hold: float = 0.5,
        duration: float = 4.0,
        limit: float = 50.0,
        bonus: float = 10.0,
        smoothness: float = 0.05,
        overload_penalty: float = 10.0,
        start: Values | None = None,
        spread: float = 0.02,
        commanded: Names | None = None,
        failure_penalty: float = 100.0,
    ) -> None:
        """Compose it.

        Args:
            sensor: the force-torque sensor.
            axis: x, y or z, in the sensor's frame.
            low: lowest goal, N.
            high: highest.
            width: error at which `tracking` falls to 1/2, N.
            tolerance: largest error that counts as reached, N.
            hold: how long it must be kept, s.
            duration: how long the episode may take, s.
            limit: force that ends the episode, N.
            bonus: reward of success.
            smoothness: weight of `smoothness`.
            overload_penalty: what an overload costs.
            start: where the joints start, per joint, rad; None: where the robot itself begins.
            spread: they start up to this far from `start`, drawn evenly, rad.
            commanded: columns that the action commands, see `Spread`.
            failure_penalty: see `Task`.
        """
        super().__init__(
            "press",
            action=Spread(commanded),
            start=AtHome() if start is None else AtAngles(start, spread),
            goal=Drawn((f"{sensor}/force_{axis}",), low, high),
            observations={
                "joints": Signals(),
                "commands": Commands(),
                "wrench": Signals(names=(f"{sensor}/force_*", f"{sensor}/torque_*")),
                "goal": Goal(),
            },
            rewards={
                "tracking": tracking(width=width),
                "smoothness": action_rate(weight=-smoothness),
                "success": success(weight=bonus),
                "overload": failure(weight=-overload_penalty),
            },
            ends={
                "reached": reached(tolerance=tolerance, hold=hold),
                "overload": beyond(signals=f"{sensor}/force_*", limit=limit),
                "time": time_up(duration=duration),
            },
            failure_penalty=failure_penalty,
        )
