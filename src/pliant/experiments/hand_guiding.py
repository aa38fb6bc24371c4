"""A hand leads the tool along a way; the motion is kept and played again by joints and by tool, on two arms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import mujoco
import numpy as np
from scipy.spatial import cKDTree

from pliant.controllers.checks import Array, finite_array, positive
from pliant.controllers.interaction.teaching import Demonstration
from pliant.controllers.paths import ViaPoints
from pliant.controllers.poses import matrix
from pliant.controllers.setpoints import Setpoints
from pliant.envs.arm import arm
from pliant.envs.movement import Movement
from pliant.envs.simulation import SimulatedRobot
from pliant.experiments.experiment import Claim
from pliant.experiments.tool_experiment import ToolExperiment
from pliant.experiments.tool_runs import ToolMovement, ToolRun
from pliant.hardware.robot import State

_WAIT = 1.0
"""Before the hand begins to move, and after it, s."""
_FINE = 1000
"""Times at which the hand's speed is looked at."""
_LIGHT = 5.0
"""Force that a hand should feel at most, N."""


@dataclass(frozen=True)
class Hand:
    """A hand that holds the tool's centre point: a spring and a damper between it and a point that moves.

    Args:
        way: points that it goes through, (n, 3), m, from where the tool is, in the tool's axes there.
        speed: largest, m/s.
        stiffness: N/m.
        damping: N·s/m.
        body: of the tool in the model.
        site: its centre point.
    """

    way: Sequence[Sequence[float]]
    speed: float
    stiffness: float
    damping: float
    body: str = "tool"
    site: str = "tcp"

    def path(self) -> ViaPoints:
        """Return how it moves, in the tool's axes at the start."""
        points = np.concatenate([np.zeros((1, 3)), finite_array("way of the hand", self.way, (None, 3))])
        time = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        rates = ViaPoints(time, points).velocity(np.linspace(0.0, time[-1], _FINE))
        return ViaPoints(time * np.linalg.norm(rates, axis=1).max() / self.speed, points)

    def push(self, start: Array) -> Callable[[SimulatedRobot, State], None]:
        """Return what pulls the tool of a robot before every period.

        Args:
            start: pose of the tool at the beginning, (7,).
        """
        path, axes = self.path(), matrix(start[3:])

        def pull(robot: SimulatedRobot, state: State) -> None:
            t = float(state.time) - _WAIT
            model, data = robot.model, robot.data
            jacobian = np.zeros((3, model.nv))
            mujoco.mj_jacSite(model, data, jacobian, None, model.site(self.site).id)
            at = data.site(self.site).xpos
            there, rate = start[:3] + axes @ path.position(t), axes @ path.velocity(t) * (t > 0.0)
            force = self.stiffness * (there - at) + self.damping * (rate - jacobian @ data.qvel)
            body = data.body(self.body)
            data.xfrc_applied[body.id] = [*force, *np.cross(at - body.xipos, force)]

        return pull


@dataclass(frozen=True)
class HandGuiding(ToolExperiment):
    """Direct force control with nothing desired on every axis: the tool goes at the speed v = K_i·f.

    The hand feels v/K_i. What it did is replayed as it is, by the joints' positions, and by the tool's poses.
    """

    title: ClassVar[str] = "Hand guiding of two arms, and its replay"
    source: ClassVar[str] = "Storiale, Ferrentino & Chiacchio 2022, Fig. 10"

    way: Sequence[Sequence[float]] = ((0.0, 0.0, -0.1), (0.2, 0.0, -0.1), (0.2, 0.15, -0.2), (0.0, 0.0, -0.1))
    """Points that the hand goes through, from the start, in the axes of the tool there, (n, 3), m."""
    speed: float = 0.1
    """Largest of the hand, m/s."""
    stiffness: float = 500.0
    """Of the hand, N/m."""
    damping: float = 20.0
    """Of the hand, N·s/m."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("speed", "stiffness", "damping"):
            positive(f"hand guiding: {name}", getattr(self, name))
        finite_array("hand guiding: way", self.way, (None, 3))

    @property
    def _hand(self) -> Hand:
        return Hand(self.way, self.speed, self.stiffness, self.damping)

    def _movement(self, name: str) -> ToolMovement:
        one = self._arm(name)
        movement = one.movement([], self._hand.path().duration + 2.0 * _WAIT)
        start = movement.controller.arm.preview.pose(movement.begin().position)
        return movement.pushed(self._hand.push(start))

    def _replayed(self, name: str, shown: Demonstration) -> tuple[Array, Array]:
        """Positions of the tool, (n, 3), m, at the demonstration's times: by its joints, and by its poses."""
        one, found = self._arm(name), []
        time, period = shown.recorded.time, one.period
        times, poses = shown.waypoints(0.2)
        follow = {"waypoints": poses[1:].tolist(), "times": times[1:].tolist(), "frame": "world", "through": True}
        robot = one.description.simulated(period)
        start = shown.recorded.samples[0]
        led = replace(one, gains={"kp": 0.0, "ki": 0.0, "axes": []}, start=start.tolist())
        moved = led.movement([{"trajectory": follow}], float(time[-1]) + _WAIT)
        for movement in (
            Movement(robot, Setpoints(shown.recorded, robot.info), float(time[-1]), position=start),
            moved,
        ):
            states = list(movement.states())
            kinematics = moved.controller.arm.preview
            tool = np.array([kinematics.pose(state.position)[:3] for state in states])
            own = np.array([float(state.time) for state in states]) - float(states[0].time)
            found.append(np.array([np.interp(time, own, axis) for axis in tool.T]).T)
        return found[0], found[1]

    def _numbers(self, name: str, run: ToolRun) -> dict[str, float]:
        one = self._arm(name)
        shown = Demonstration.of(run.time, run.joints, arm(one.description).preview).moving()
        by_joints, by_tool = self._replayed(name, shown)
        ki = np.atleast_1d(np.asarray(one.gains["ki"], np.float64))[:3]
        speed = np.gradient(run.commanded, one.period, axis=0)
        force = -run.wrench[:, :3]
        steady = np.linalg.norm(speed, axis=1) > 0.5 * self.speed
        felt = np.linalg.norm(force, axis=1)
        return {
            "force_N": float(felt.max()),
            "speed_m_per_s": float(np.linalg.norm(speed, axis=1).max()),
            "force_per_speed": float((felt[steady] / np.linalg.norm(speed[steady], axis=1)).mean()),
            "force_per_speed_expected": float(1.0 / ki.mean()),
            "behind_hand_m": float(np.linalg.norm(run.measured[-1] - np.asarray(self.way[-1]))),
            "joint_replay_m": _off(by_joints, shown),
            "tool_replay_m": _off(by_tool, shown),
            "late_m": float(np.linalg.norm(by_joints - shown.poses[:, :3], axis=1).max()),
        }

    def _claims(self, name: str, numbers: Mapping[str, float]) -> list[Claim]:
        felt, expected = numbers["force_per_speed"], numbers["force_per_speed_expected"]
        return [
            Claim(
                f"{name}: largest force that the hand feels",
                f"{_LIGHT:g} N at most at {self.speed:g} m/s",
                f"{numbers['force_N']:.2f} N at up to {numbers['speed_m_per_s']:.3f} m/s",
                numbers["force_N"] < _LIGHT,
                f"below {_LIGHT:g} N",
            ),
            Claim(
                f"{name}: force over speed",
                f"{expected:.1f} N·s/m (1/K_i)",
                f"{felt:.1f} N·s/m",
                abs(felt / expected - 1.0) < 0.02,
                "±2 %",
            ),
            Claim(
                f"{name}: replay of the joints, off the way shown",
                "the same motion",
                f"{1e3 * numbers['joint_replay_m']:.2f} mm",
                numbers["joint_replay_m"] < 1e-3,
                "below 1 mm",
            ),
            Claim(
                f"{name}: replay of the tool, off the way shown",
                "the same motion",
                f"{1e3 * numbers['tool_replay_m']:.2f} mm",
                numbers["tool_replay_m"] < 1e-3,
                "below 1 mm",
            ),
        ]

    def _notes(self) -> tuple[str, ...]:
        return (
            "A replay lags, as the position loops do, by some 20 ms: 2 mm at 0.1 m/s. What is compared is the "
            "way.",
            "The hand is a spring with a damper between the tool's centre point and a point that moves; the "
            "paper's is a person's.",
            "The wrench is low-passed: without that, the loop of the tool's inertia and the sensor would swing "
            "with such gains.",
        )


def _off(tool: Array, shown: Demonstration) -> float:
    """Largest distance of positions, (n, 3), from the way shown, wherever on it the tool is at a time, m."""
    distances, _ = cKDTree(shown.poses[:, :3]).query(tool)
    return float(np.max(distances))
