"""Pictures of a simulated robot: images and a window. Nothing here touches OpenGL before the first picture.

Only positions are computed for a picture, so that a run that is drawn is the run that is not, to the last bit.
`Shape`s may be drawn besides, into any scene of MuJoCo: a window's, an image's, or a browser's.
"""

import os
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.errors import ConfigurationError, OutOfBoundsError, PliantError, unknown_name
from pliant.hardware.robot import Array, Robot

RENDER_MODES = ("human", "rgb_array")

_ADVICE = (
    "Without a display, set the environment variable MUJOCO_GL=egl (a GPU, or Mesa: apt install libegl1 "
    "libgl1) or MUJOCO_GL=osmesa (no GPU: apt install libosmesa6) before Python starts."
)


_without_opengl: list[str] = []
"""Why there is no OpenGL in this process, once MuJoCo has looked for it: looking again would abort the process."""


class RenderingError(PliantError, RuntimeError):
    """No way to draw was found on this machine."""


@runtime_checkable
class Drawable(Protocol):
    """A robot that MuJoCo can draw."""

    @property
    def model(self) -> mujoco.MjModel:
        """Its model."""

    @property
    def data(self) -> mujoco.MjData:
        """Its simulation."""


class Shape(NamedTuple):
    """A geom of a scene."""

    kind: int
    """`mujoco.mjtGeom`"""
    size: Array
    """(3,), m, as MuJoCo understands it for the kind."""
    position: Array
    """(3,), m, of the world."""
    frame: Array
    """(3, 3), axes in columns."""
    colour: tuple[float, float, float, float]
    """Red, green, blue, opacity."""


Draw = Callable[[mujoco.MjvScene], object]
"""Adds something to a scene."""


class OffscreenRenderer:
    """Draws images through the model's first camera or, if it has none, a free one. A context manager.

    Raises:
        OutOfBoundsError: an image without pixels.
    """

    def __init__(
        self, model: mujoco.MjModel, width: int = 640, height: int = 480, *, shadows: bool = True
    ) -> None:
        """Choose the size of the images; without shadows they take a third of the time on a processor."""
        if min(width, height) < 1:
            raise OutOfBoundsError(f"an image of {width}×{height} has no pixels.")
        self._model, self._width, self._height, self._shadows = model, width, height, shadows
        self._renderer: mujoco.Renderer | None = None

    def render(
        self, data: mujoco.MjData, draw: Draw | None = None, *, camera: mujoco.MjvCamera | None = None
    ) -> NDArray[np.uint8]:
        """Return an image of the simulation as it is now, (height, width, 3).

        Args:
            data: the simulation.
            draw: adds what is drawn besides; called once positions are up to date.
            camera: another one than the model's first.

        Raises:
            RenderingError: MuJoCo finds no OpenGL here.
        """
        update_positions(self._model, data)
        eye = camera or (0 if self._model.ncam else -1)
        if self._renderer is None:
            self._renderer = self._open()
            self._renderer.update_scene(data, eye)  # its first scene is a few pixels off those that follow
        self._renderer.update_scene(data, eye)
        self._renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = self._shadows
        if draw is not None:
            draw(self._renderer.scene)
        image: NDArray[np.uint8] = self._renderer.render()
        return image

    def __getstate__(self) -> dict[str, Any]:
        """What copies get: an OpenGL context belongs to one renderer, so that each opens its own."""
        return {**vars(self), "_renderer": None}

    def close(self) -> None:
        """Release the OpenGL context. Safe to call twice."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> mujoco.Renderer:
        buffer = self._model.vis.global_  # must hold the image
        buffer.offwidth, buffer.offheight = (
            max(buffer.offwidth, self._width),
            max(buffer.offheight, self._height),
        )
        if _without_opengl:
            raise RenderingError(_without_opengl[0])
        try:
            return mujoco.Renderer(self._model, self._height, self._width)
        except Exception as error:  # each OpenGL platform fails in its own way
            message = f"MuJoCo cannot draw here: {error}. {_ADVICE}"
            if isinstance(error, mujoco.FatalError):
                _without_opengl.append(message)
            raise RenderingError(message) from error


class Window:
    """Shows a simulation in MuJoCo's viewer, one period of the robot in one period of real time.

    A window that the user closes stays closed; the run goes on.
    """

    def __init__(self, model: mujoco.MjModel, period: float) -> None:
        self._model, self._period = model, period
        self._viewer: Any = None
        self._due = 0.0

    def render(self, data: mujoco.MjData, draw: Draw | None = None) -> None:
        """Show the simulation as it is now, then wait for the rest of the period.

        Args:
            data: the simulation.
            draw: adds what is drawn besides.

        Raises:
            RenderingError: there is no display.
        """
        if self._viewer is None:
            self._viewer = self._open(data)
        if not self._viewer.is_running():
            return
        update_positions(self._model, data)
        if draw is not None:
            with self._viewer.lock():
                self._viewer.user_scn.ngeom = 0
                draw(self._viewer.user_scn)
        self._viewer.sync()
        now = time.monotonic()
        time.sleep(max(self._due - now, 0.0))
        self._due = max(self._due, now) + self._period

    def __getstate__(self) -> dict[str, Any]:
        """What copies get: a window of their own, once they are shown."""
        return {**vars(self), "_viewer": None}

    def close(self) -> None:
        """Close the window. Safe to call twice."""
        if self._viewer is not None:
            self._viewer.close()
            self._viewer = None

    def _open(self, data: mujoco.MjData) -> Any:
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise RenderingError(
                "render_mode 'human' needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set. Use "
                f"'rgb_array' for images. {_ADVICE}"
            )
        import mujoco.viewer

        try:
            return mujoco.viewer.launch_passive(self._model, data, show_left_ui=False, show_right_ui=False)
        except Exception as error:  # GLFW and each platform fail in ways of their own
            raise RenderingError(f"MuJoCo's viewer cannot open: {error}. {_ADVICE}") from error


class RobotView:
    """What an environment draws its robot with, in a render mode. Opens nothing before the first picture.

    Raises:
        UnknownNameError: no such mode.
        ConfigurationError: the robot has no MuJoCo model to draw.
        OutOfBoundsError: an image without pixels.
    """

    def __init__(self, robot: Robot, mode: str, width: int, height: int) -> None:
        if mode not in RENDER_MODES:
            raise unknown_name("render mode", mode, RENDER_MODES)
        if not isinstance(robot, Drawable):
            raise ConfigurationError(
                f"robot {robot.info.name!r} is not simulated by MuJoCo, so render_mode {mode!r} cannot draw it."
            )
        self._robot = robot
        self._renderer: Window | OffscreenRenderer = (
            Window(robot.model, robot.info.period)
            if mode == "human"
            else OffscreenRenderer(robot.model, width, height)
        )

    def render(self, draw: Draw | None = None) -> NDArray[np.uint8] | None:
        """Return an image of the robot and what `draw` adds, or show it in the window. Raises `RenderingError`."""
        return self._renderer.render(self._robot.data, draw)

    def close(self) -> None:
        """Release what drawing needed. Safe to call twice."""
        self._renderer.close()


def update_positions(model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Bring what is drawn (bodies, tendons, cameras, lights) up to the present positions."""
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)
    mujoco.mj_tendon(model, data)


def add_shapes(scene: mujoco.MjvScene, shapes: Sequence[Shape]) -> None:
    """Add shapes to a scene, as many as it has room for."""
    for shape in shapes[: scene.maxgeom - scene.ngeom]:
        _initialise(scene.geoms[scene.ngeom], shape)
        scene.ngeom += 1


def add_ghost(
    scene: mujoco.MjvScene, model: mujoco.MjModel, data: mujoco.MjData, colour: tuple[float, float, float, float]
) -> None:
    """Add what moves of a model, in the positions of `data`, to a scene, in one colour."""
    update_positions(model, data)
    first, option = scene.ngeom, mujoco.MjvOption()
    option.sitegroup[:] = 0
    mujoco.mjv_addGeoms(model, data, option, mujoco.MjvPerturb(), mujoco.mjtCatBit.mjCAT_DYNAMIC, scene)
    for geom in scene.geoms[first : scene.ngeom]:
        geom.rgba[:] = colour
        geom.matid, geom.castshadow, geom.category = -1, 0, mujoco.mjtCatBit.mjCAT_DECOR


def as_geoms(shapes: Sequence[Shape]) -> list[Any]:
    """Shapes as `mujoco.MjvGeom`s of their own."""
    geoms = [mujoco.MjvGeom() for _ in shapes]
    for geom, shape in zip(geoms, shapes, strict=True):
        _initialise(geom, shape)
    return geoms


def _initialise(geom: mujoco.MjvGeom, shape: Shape) -> None:
    mujoco.mjv_initGeom(
        geom, shape.kind, shape.size, shape.position, shape.frame.ravel(), np.array(shape.colour, np.float32)
    )
    geom.category = mujoco.mjtCatBit.mjCAT_DECOR
    geom.castshadow = 0
