"""A humanoid under whole-body control, run and recorded: what is done to it, and what came of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import ArrayLike
from omegaconf import OmegaConf

from pliant.conf.build import build
from pliant.controllers.checks import Array
from pliant.controllers.controller import Controller
from pliant.controllers.task_space import TaskSpaceController
from pliant.envs.description import RobotDescription, describe, robot_settings
from pliant.envs.movement import Movement
from pliant.envs.simulation import SimulatedRobot
from pliant.hardware.robot import RobotInfo, State

WALL = "wall"
"""What the robot may press, by its name in the surroundings."""
SOLES = ("left_sole", "right_sole")
_CONTROLLER = "whole_body.yaml"

Act = Callable[[TaskSpaceController, SimulatedRobot, float], None]
"""Called before every period with the time, s: what is asked of the controller, or done to the robot."""


@dataclass(frozen=True)
class Humanoid:
    """Atlas on its feet and its controller, `controller=whole_body`, for one run."""

    period: float = 0.002
    """From one command to the next, s."""
    model: Mapping[str, Any] = field(default_factory=dict)
    """Entries of the robot's model."""
    surroundings: Mapping[str, Any] | None = None
    """Things around it."""
    simulation: Mapping[str, Any] = field(default_factory=dict)
    """Noise and delays."""
    controller: Mapping[str, Any] = field(default_factory=dict)
    """Entries of the controller; those of mappings go beside the usual ones, but for another solver."""

    @property
    def description(self) -> RobotDescription:
        """Of the robot."""
        settings = robot_settings("atlas")
        return describe(
            {
                **settings,
                "period": self.period,
                "model": {**settings["model"], "base": "floating", **self.model},
                "surroundings": self.surroundings,
                "simulation": {**settings["simulation"], **self.simulation},
            }
        )

    def movement(self, duration: float, act: Act | None = None) -> "BodyMovement":
        """Return a run of it, of that many seconds, with what is done meanwhile."""
        description = self.description
        text = (files("pliant.conf") / "controller" / _CONTROLLER).read_text()
        merged = OmegaConf.merge(OmegaConf.create(text), {"robot": None, **self.controller})
        settings: Any = OmegaConf.to_container(merged)
        if "solver" in self.controller:
            settings["solver"] = dict(self.controller["solver"])
        del settings["robot"]
        controller = build({**settings, "_partial_": True}, "controller")(description)
        return BodyMovement(description.simulated(), controller, duration, act)


class BodyRun(NamedTuple):
    """What was recorded at every instant, the leading axis: in the simulation, whatever is sensed."""

    time: Array
    """s"""
    qpos: Array
    """Coordinates of the whole model, for pictures."""
    com: Array
    """Centre of mass of the robot, (…, 3), m."""
    com_error: Array
    """Way from where it is sensed to where it is to be, (…), m."""
    hand: Array
    """The right hand, (…, 3), m."""
    soles: Array
    """Left and right, (…, 2, 3), m."""
    bearing: Array
    """What each foot bears, (…, 2), N."""
    pressing: Array
    """Force on the wall, (…, 3), N."""
    torque: Array
    """Commanded, (…, joints), N·m."""
    effort: Array
    """The largest part of a joint's own torque limit, (…)."""


class BodyMovement(Movement):
    """A run of a humanoid under whole-body control."""

    def __init__(
        self, robot: SimulatedRobot, controller: TaskSpaceController, duration: float, act: Act | None = None
    ) -> None:
        """Keep what is given; nothing moves yet.

        Args:
            robot: what is moved.
            controller: of it.
            duration: s.
            act: what is done.
        """
        super().__init__(robot, _Acting(controller, robot, act), duration)
        self.control = controller
        self._seen = mujoco.MjData(robot.model)

    def record(self) -> BodyRun:
        """Run it until its end, or until the robot falls."""
        rows: list[tuple[Any, ...]] = []
        states = self.states()
        begin = next(states).time
        limits = np.array([channel.high for channel in self.robot.info.command])
        for _ in states:
            rows.append(self._row(float(begin), limits))
            if self.control.ended is not None:
                break
        return BodyRun(*(np.array(column) for column in zip(*rows, strict=True)))

    @property
    def fell(self) -> str:
        """Why the controller gave up; empty if it did not."""
        return "" if self.control.ended is None else self.control.ended.reason

    def _row(self, begin: float, limits: Array) -> tuple[Any, ...]:
        # A copy: after a step the robot's own contacts are those of the next one, whose forces are not known yet
        model, data = self.robot.model, self._seen
        mujoco.mj_copyState(model, self.robot.data, data, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(model, data)
        torque = self.control.stack.torque
        com = data.body("pelvis").subtree_com
        task = self.control.stack.tasks["com"]
        return (
            data.time - begin,
            data.qpos.copy(),
            com.copy(),
            float(np.linalg.norm(task.error)),
            data.site("right_hand").xpos.copy(),
            np.array([data.site(name).xpos for name in SOLES]),
            np.array([force_on(model, data, name)[2] for name in ("l_foot", "r_foot")]),
            force_on(model, data, WALL),
            torque,
            float(np.abs(torque / limits).max()),
        )


class _Acting(Controller):
    """A controller, and what is done before each of its updates."""

    def __init__(self, controller: TaskSpaceController, robot: SimulatedRobot, act: Act | None) -> None:
        self._controller, self._robot, self._act = controller, robot, act

    def check(self, info: RobotInfo) -> None:
        self._controller.check(info)

    def reset(self, state: State) -> None:
        self._controller.reset(state)

    def update(self, state: State, t: float) -> ArrayLike:
        if self._act is not None:
            self._act(self._controller, self._robot, t)
        return self._controller.update(state, t)


def force_on(model: mujoco.MjModel, data: mujoco.MjData, body: str) -> Array:
    """Return what touches a body exerts on it, (3,), N in the world; zeros without such a body."""
    found, wrench = np.zeros(3), np.zeros(6)
    own = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, body)
    for k in range(data.ncon):
        bodies = model.geom_bodyid[data.contact[k].geom].tolist()
        if own >= 0 and own in bodies:
            mujoco.mj_contactForce(model, data, k, wrench)
            force = data.contact[k].frame.reshape(3, 3).T @ wrench[:3]
            found += force if bodies[1] == own else -force
    return found
