"""Where the end effectors of a simulated robot are for given joint positions, by MuJoCo."""

from collections.abc import Mapping

import mujoco
import numpy as np

from pliant.controllers.checks import finite_array
from pliant.controllers.interaction import Arm
from pliant.controllers.inverse_kinematics import ClosedLoopIK
from pliant.controllers.task_space import Mechanics
from pliant.envs.models.robot_model import BASE, load_at
from pliant.envs.simulation.arms import arm_of
from pliant.envs.simulation.compiled_robot import CompiledRobot
from pliant.envs.tasks.kinematics import Kinematics
from pliant.errors import ConfigurationError, OutOfBoundsError
from pliant.hardware.force_torque.wrench import ToolLoad
from pliant.hardware.robot import Array

_TRIES = 24


class ModelKinematics(Kinematics):
    """The kinematics of a robot's model. A floating base stands where the robot starts."""

    def __init__(self, robot: CompiledRobot, sites: Mapping[str, str], sensors: Mapping[str, str]) -> None:
        """Make them.

        Args:
            robot: which.
            sites: of the end effectors, by name.
            sensors: sites of the force-torque sensors, by name.
        """
        self._robot, self._places, self._sensors = robot, dict(sites), dict(sensors)
        self._data = mujoco.MjData(robot.model)
        model = robot.model
        roots = np.unique(model.body_rootid[model.jnt_bodyid[np.isin(model.jnt_qposadr, robot.positions)]])
        self._own = np.isin(model.body_rootid[model.geom_bodyid], roots)
        """Of each shape, whether it is the robot's own …"""
        fixed = (model.body_weldid[model.geom_bodyid] == 0) & (BASE not in robot.bodies)
        self._avoided = self._own | fixed
        """… and whether the robot's own should not touch it: a robot on legs stands on what is fixed."""
        self._usual = self._contacts(robot.qpos[robot.positions])

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the end effectors."""
        return tuple(self._places)

    def pose(self, site: str, q: Array) -> Array:
        """Return where a site is; see `Kinematics.pose`."""
        place = self._robot.model.site(self._places[self.check(site)]).id
        angles = np.asarray(q, dtype=np.float64)
        rows = angles.reshape(-1, angles.shape[-1])
        poses = np.empty((len(rows), 7))
        for row, pose in zip(rows, poses, strict=True):
            self._data.qpos[:] = self._robot.qpos
            self._data.qpos[self._robot.positions] = row
            mujoco.mj_kinematics(self._robot.model, self._data)
            pose[:3] = self._data.site_xpos[place]
            mujoco.mju_mat2Quat(pose[3:], self._data.site_xmat[place])
        return poses.reshape(*angles.shape[:-1], 7)

    def touching(self, q: Array) -> str:
        """Return what touches; see `Kinematics.touching`."""
        pairs = self._contacts(q) - self._usual
        return " and ".join(self._part(shape) for shape in min(pairs)) if pairs else ""

    def _contacts(self, q: Array) -> set[tuple[int, int]]:
        """Pairs of shapes that penetrate each other and should not."""
        model, data = self._robot.model, self._data
        data.qpos[:] = self._robot.qpos
        data.qpos[self._robot.positions] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        if not data.ncon:
            return set()
        pairs = data.contact.geom[data.contact.dist < 0.0]
        wrong = self._own[pairs].any(axis=1) & self._avoided[pairs].all(axis=1)
        return {(int(one), int(other)) for one, other in pairs[wrong]}

    def _part(self, shape: int) -> str:
        model = self._robot.model
        return str(model.geom(shape).name or model.body(int(model.geom_bodyid[shape])).name)

    def tool(self, end_effector: str | None, sensor: str) -> tuple[Arm, ToolLoad]:
        """Return the arm and what hangs on its sensor; see `Kinematics.tool`."""
        arm = arm_of(self._robot, self._places, self._sensors, end_effector, sensor)
        return arm, load_at(self._robot.model, self._sensors[sensor])

    def mechanics(self) -> tuple[Mechanics, Mapping[str, str]]:
        """Return those of the robot's model; see `Kinematics.mechanics`."""
        if BASE in self._robot.bodies:
            raise ConfigurationError(
                f"robot {self._robot.info.name!r} is not fixed: its joints alone do not say where it is."
            )
        return Mechanics(self._robot.model, self._robot.info.joints), self._places

    def inverse(self, site: str, position: Array) -> Array:
        """Return joint positions that put a site at positions, the orientation as it comes.

        The first position is looked for from the robot's start and from postures drawn from the joints' ranges,
        each further one from that before it.

        Args:
            site: one of `sites`.
            position: (…, 3), m.

        Returns:
            (…, joints).

        Raises:
            MissingExtraError: mink is not installed.
            OutOfBoundsError: it cannot get there.
            ConfigurationError: the model has a free or ball joint.
        """
        goals = finite_array("positions", np.asarray(position).reshape(-1, 3), (None, 3))
        solver = ClosedLoopIK(self._robot.model, self._places[self.check(site)])
        q, found = self._first(solver, goals[0]), []
        for goal in goals:
            q = solver(goal, q)
            found.append(q[self._robot.positions])
        return np.array(found).reshape(*np.shape(position)[:-1], len(self._robot.positions))

    def _first(self, solver: ClosedLoopIK, goal: Array) -> Array:
        """A posture of the whole model that puts the site at the goal."""
        model, random = self._robot.model, np.random.default_rng(0)
        limited = model.jnt_limited.astype(bool)
        low = np.where(limited, model.jnt_range[:, 0], -np.pi)
        high = np.where(limited, model.jnt_range[:, 1], np.pi)
        tries = [np.clip(self._robot.qpos, low, high)] if model.nq == model.njnt else [self._robot.qpos]
        for _ in range(_TRIES):
            try:
                return solver(goal, tries[-1])
            except OutOfBoundsError as error:
                last = error
                tries.append(random.uniform(low, high))
        raise last
