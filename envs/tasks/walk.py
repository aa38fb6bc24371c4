"""Walk at a commanded velocity."""

from collections.abc import Sequence
from typing import Final

from pliant.envs.selection import Names
from pliant.envs.tasks.actions import Spread
from pliant.envs.tasks.ends import fallen, followed_on_average, time_up
from pliant.envs.tasks.goals import Drawn
from pliant.envs.tasks.markers import Contacts
from pliant.envs.tasks.measures import local_velocity
from pliant.envs.tasks.observations import Commands, Goal, Signals, gravity
from pliant.envs.tasks.rewards import action_rate, alive, effort, failure, tracking
from pliant.envs.tasks.starts import AtHome
from pliant.envs.tasks.task import Task

_PLANE: Final = ("base/local_velocity_x", "base/local_velocity_y")
_TURN: Final = "base/angular_velocity_z"


class Walk(Task):
    """Move a floating base at a velocity drawn anew for every episode: forward, sideways and about its z axis.

    | reward term | each period | range |
    |---|---|---|
    | `velocity` | 1/(1 + mean(e²)/width²), e of the two velocities in the base's frame, m/s | (0, 1] |
    | `turning` | ½/(1 + e²/turn_width²), e of the yaw rate, rad/s | (0, ½] |
    | `alive` | 0.1 unless it falls | 0 or 0.1 |
    | `smoothness` | −smoothness·mean((a − a₋₁)²) over the actions | [−4·smoothness, 0] |
    | `effort` | −effort·mean(τ²), (N·m)² | ≤ 0 |
    | `fall` | −`fall_penalty` in the period of a fall | −fall_penalty or 0 |

    A fall terminates the episode: the base is lower than `lowest` or leans by more than `tilt`. `duration`
    truncates it. Success: it has not fallen, and the largest of the velocities' errors was below `tolerance` on
    average.

    Observed: angle and speed of each joint, the commands in force, velocity and angular velocity of the base in
        its
    own frame, the direction of gravity in it, and the commanded velocity. The robot needs the signals of a
    floating
    base: `base/orientation_*`, `base/position_z`, `base/velocity_*` and `base/angular_velocity_*`.
    """

    def __init__(
        self,
        *,
        low: Sequence[float] = (-0.3, -0.2, -0.5),
        high: Sequence[float] = (0.6, 0.2, 0.5),
        width: float = 0.2,
        turn_width: float = 0.4,
        tolerance: float = 0.25,
        smoothness: float = 0.02,
        effort_weight: float = 1e-3,
        fall_penalty: float = 10.0,
        lowest: float = 0.1,
        tilt: float = 0.8,
        duration: float = 10.0,
        commanded: Names | None = None,
        failure_penalty: float = 100.0,
    ) -> None:
        """Compose it.

        Args:
            low: lowest commanded velocity: forward and sideways, m/s, about z, rad/s.
            high: highest.
            width: error at which `velocity` falls to 1/2, m/s.
            turn_width: error at which `turning` falls to half, rad/s.
            tolerance: largest mean error that counts as success, m/s and rad/s.
            smoothness: weight of `smoothness`.
            effort_weight: weight of `effort`, (N·m)⁻².
            fall_penalty: what a fall costs.
            lowest: height of the base below which it has fallen, m.
            tilt: lean of the base beyond which it has fallen, rad.
            duration: how long the episode takes, s.
            commanded: columns that the action commands, see `Spread`.
            failure_penalty: see `Task`.
        """
        plane, turn = "base/goal_local_velocity_*", "base/goal_angular_velocity_z"
        super().__init__(
            "walk",
            action=Spread(commanded),
            start=AtHome(),
            goal=Drawn((*_PLANE, _TURN), low, high),
            measures={"local_velocity": local_velocity()},
            observations={
                "joints": Signals(names=("*/position", "*/velocity")),
                "commands": Commands(),
                "base": Signals(names=("base/local_velocity_*", "base/angular_velocity_*")),
                "gravity": gravity(),
                "goal": Goal(),
            },
            rewards={
                "velocity": tracking(width=width, goals=plane),
                "turning": tracking(width=turn_width, goals=turn, weight=0.5),
                "alive": alive(weight=0.1),
                "smoothness": action_rate(weight=-smoothness),
                "effort": effort(weight=-effort_weight),
                "fall": failure(weight=-fall_penalty),
            },
            ends={
                "fallen": fallen(lowest=lowest, tilt=tilt),
                "followed": followed_on_average(tolerance=tolerance),
                "time": time_up(duration=duration),
            },
            failure_penalty=failure_penalty,
            markers={"feet": Contacts()},
        )
