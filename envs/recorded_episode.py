"""An episode of an environment, recorded so that pictures of it can be drawn afterwards, or as it happens."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.envs.models.robot_model import BASE
from pliant.envs.rendering import update_positions
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.tasks.markers import Mark, Marker, draw_marks
from pliant.errors import ConfigurationError, RobotError
from pliant.hardware.robot import Array

if TYPE_CHECKING:
    from pliant.envs.env import PliantEnv

_STATE = (
    mujoco.mjtState.mjSTATE_FULLPHYSICS | mujoco.mjtState.mjSTATE_MOCAP_POS | mujoco.mjtState.mjSTATE_MOCAP_QUAT
)
AFTER = 1.0
"""For how long a recording goes on after the end of an episode, s."""
_BALL = 0.02
"""Radius of a ball that marks something, in sizes of the robot."""

Image = NDArray[np.uint8]
"""(height, width, 3)"""


class _Growing:
    """Arrays of one shape, one after another, as one array that is not copied for each of them."""

    def __init__(self) -> None:
        self._room: Array = np.empty(0)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def array(self) -> Array:
        """All of them, (n, …), to be read."""
        return self._room[: self._count]

    def append(self, row: Array) -> None:
        """Add a copy of one."""
        if self._count == len(self._room):
            more = np.empty((max(self._count, 64), *row.shape))
            self._room = np.concatenate([self._room, more]) if self._count else more
        self._room[self._count] = row
        self._count += 1


class RecordedEpisode:
    """What an episode was, instant by instant: the simulation's state and the numbers of its task.

    `see` is called when an episode has begun and after every period; then `go_on` lets the robot move on past the
    end. What markers ask for comes after that.
    """

    def __init__(self, env: "PliantEnv") -> None:
        """Record an environment; raises `ConfigurationError` if its robot is not a simulated one."""
        robot = env.robot
        if not isinstance(robot, SimulatedRobot):
            raise ConfigurationError(f"robot {robot.info.name!r} is not simulated, so no film can be made of it.")
        self._env, self._robot = env, robot
        self._states: list[Array] = []
        self._rows = _Growing()
        self._poses = _Growing()
        self.model, self.data = robot.model, mujoco.MjData(robot.model)
        self.joints, self.period, self.sites = robot.info.joints, robot.info.period, robot.sites
        self.extent = float(robot.model.stat.extent)
        """Size of the robot, m."""
        self.size = _BALL * self.extent
        """Radius of a ball that marks something, m; the width of lines and arrows goes by it."""
        self.over = 0
        """The instant at which the episode ended."""
        task = env.task
        self.markers: dict[str, Marker] = task.markers
        """What is drawn of it."""
        self._root = robot.compiled.bodies.get(BASE)
        self._places = {name: self.model.site(site).id for name, site in self.sites.items()}

    def __len__(self) -> int:
        return len(self._states)

    def see(self) -> None:
        """Record the instant."""
        state = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self._robot.data, state, _STATE)
        self._states.append(state)
        self._rows.append(self._env.numbers)
        self.over = len(self) - 1

    def go_on(self, decide: Callable[[Any], Any], seconds: float = AFTER) -> None:
        """Let the episode go on past its end; after a failure, of the task or of the robot, it stands still.

        Args:
            decide: the policy.
            seconds: for how long.
        """
        over, periods = self.over, round(seconds / self.period)
        try:
            for _ in range(0 if self._env.failed else periods):
                *_, info = self._env.step(decide(self._env.prolong()))
                if info.get("failure"):
                    break
                self.see()
        except RobotError:
            pass
        self.over = over
        for _ in range(over + periods + 1 - len(self)):
            self._states.append(self._states[-1])
            self._rows.append(self._rows.array[-1])

    def show(self, k: int) -> mujoco.MjData:
        """Return the simulation with the positions of an instant."""
        mujoco.mj_setState(self.model, self.data, self._states[k], _STATE)
        update_positions(self.model, self.data)
        return self.data

    def marks(self, k: int) -> list[Mark]:
        """Return everything that is to be drawn at an instant besides the robot."""
        return [mark for marker in self.markers.values() for mark in marker.draw(self, k)]

    def draw(self, scene: mujoco.MjvScene) -> None:
        """Add everything that is to be drawn now to a scene of the robot's model."""
        draw_marks(scene, self.marks(len(self) - 1), self.model, self.data)

    def has(self, name: str) -> bool:
        """Whether the task knows a number by that name."""
        return name in self._env.task.columns

    def values(self, *names: str) -> Array:
        """Return signals, measures or numbers of the goal at every instant, (n, names).

        Raises:
            UnknownNameError: the task knows no such number.
        """
        columns: Array = self._rows.array[:, [self._env.task.column(name) for name in names]]
        return columns

    def _seen(self, place: str) -> Array:
        """Position and axes of a site or of the floating base at every instant, (n, 12)."""
        for k in range(len(self._poses), len(self)):
            data = self.show(k)
            found = [np.append(data.site_xpos[site], data.site_xmat[site]) for site in self._places.values()]
            if self._root is not None:
                turn = np.empty(9)
                mujoco.mju_quat2Mat(turn, data.qpos[self._root[3:]])
                found.append(np.append(data.qpos[self._root[:3]], turn))
            self._poses.append(np.array(found))
        poses: Array = self._poses.array[:, [*self._places, BASE].index(place)]
        return poses

    def places(self, site: str) -> Array:
        """Return where an end effector, sensor or target (`sites`) is at every instant, (n, 3), m."""
        return self._seen(site)[:, :3]

    def frames(self, site: str) -> Array:
        """Return its axes in columns at every instant, (n, 3, 3)."""
        return self._seen(site)[:, 3:].reshape(-1, 3, 3)

    @property
    def base(self) -> Array | None:
        """Where a floating base is at every instant, (n, 3), m; None for a robot that is fixed."""
        return None if self._root is None else self.places(BASE)

    @property
    def yaw(self) -> Array:
        """Heading of a floating base at every instant, (n,), rad."""
        ahead = self.frames(BASE)[:, :, 0]
        return np.asarray(np.arctan2(ahead[:, 1], ahead[:, 0]))

    def posture(self, k: int, q: Array) -> Array:
        """Return the model's positions, (nq,), at an instant with the joints at other angles, (joints,), rad."""
        qpos: Array = self.show(k).qpos.copy()
        qpos[self._robot.compiled.positions] = q
        return qpos

    def contacts(self, k: int) -> Array:
        """Return where the robot touches what does not move, (contacts, 3), m."""
        data = self.show(k)
        mujoco.mj_fwdPosition(self.model, data)
        fixed = self.model.body_weldid[self.model.geom_bodyid] == 0
        touching = [c.pos for c in data.contact[: data.ncon] if c.dist <= 0.0 and fixed[c.geom].any()]
        return np.array(touching).reshape(-1, 3)


class RecordedImages:
    """An episode of an environment that is not ours, as the images that it draws itself."""

    def __init__(self, env: Any) -> None:
        """Record an environment that renders images; raises `ConfigurationError` for one that does not."""
        if "rgb_array" not in env.metadata.get("render_modes", ()):
            name = env.spec.id if env.spec else type(env).__name__
            raise ConfigurationError(f"environment {name!r} draws no pictures, so there is no film of it.")
        self._env, self.period = env, 1.0 / float(env.metadata.get("render_fps", 50))
        self.images: list[Image] = []
        self.over = 0
        """The instant at which the episode ended."""

    def __len__(self) -> int:
        return len(self.images)

    def see(self) -> None:
        """Record the instant."""
        self.images.append(self._env.render())
        self.over = len(self) - 1

    def go_on(self, decide: Callable[[Any], Any], seconds: float = AFTER) -> None:
        """Let the last image stand: such an environment cannot go on past its end."""
        self.images += [self.images[-1]] * round(seconds / self.period)


class Shot(NamedTuple):
    """A recorded episode, for a film."""

    label: str
    """Who acts."""
    episode: RecordedEpisode | RecordedImages
    verdict: str = ""
    """What came of it."""
