"""Where a simulation is shown: MuJoCo's window, images for a film, or the browser (see `web_screen`).

A screen is drawn anew by `show`, keeps to nobody's time, and hands what its user presses to the `Controls`.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.envs.rendering import OffscreenRenderer, RenderingError, add_shapes, update_positions
from pliant.viewing.choices import Choices
from pliant.viewing.legend import legend_image, with_legend
from pliant.viewing.motions import LoopedMotion
from pliant.viewing.overlay import Overlay
from pliant.viewing.sliders import Slider, sliders_of
from pliant.viewing.stage import Stage

if TYPE_CHECKING:
    from pliant.viewing.web_screen import WebScreen

KEYS = {
    "Space": "pause and go on",
    "Backspace": "begin again",
    "Enter": "show or hide the gauges",
    "F9": "show or hide their legend",
}
"""What a user can press in a window or a browser, and what it does."""
LIST_KEY = {"S": "show or hide the sliders"}
"""Likewise on a page."""
SLIDER_KEYS = {
    "UpArrow": "choose the slider before",
    "DownArrow": "choose the next slider",
    "LeftArrow": "lower it",
    "RightArrow": "raise it",
}
"""Likewise in a window, which shows sliders as text. Other letters are MuJoCo's own there."""

_REFRESH = 60.0
"""Images on a screen per second, at most."""

_GLFW = {
    **{32: "Space", 259: "Backspace", 257: "Enter", 335: "Enter", 298: "F9"},
    **{265: "UpArrow", 264: "DownArrow", 263: "LeftArrow", 262: "RightArrow"},
}
"""The keys in GLFW's numbers, which MuJoCo's window reports."""


@dataclass
class Controls:
    """What the user has asked for. Screens write it, from threads of their own; the loop reads it."""

    paused: bool = False
    gauges: bool = True
    legend: bool = False
    """Whether it is said what the gauges mean."""
    again: bool = False
    """Whether the motion is to begin again."""
    choices: Choices | None = None
    """What can be shown instead."""
    sliders: Sequence[Slider] = ()
    """What can be changed meanwhile."""
    listed: bool = False
    """Whether a page shows them."""
    chosen: int = 0
    """Which of them keys move."""

    def press(self, key: str) -> None:
        """Do what a key of `KEYS`, `LIST_KEY` or `SLIDER_KEYS` does; others do nothing."""
        match key:
            case "Space":
                self.paused = not self.paused
            case "Backspace":
                self.again = True
            case "Enter":
                self.gauges = not self.gauges
            case "F9":
                self.legend = not self.legend
            case "S":
                self.listed = not self.listed
            case "UpArrow" | "DownArrow" if self.sliders:
                self.chosen = (self.chosen + (1 if key == "DownArrow" else -1)) % len(self.sliders)
            case "LeftArrow" | "RightArrow" if self.sliders:
                self.sliders[self.chosen % len(self.sliders)].step(1 if key == "RightArrow" else -1)

    def offer(self, motion: LoopedMotion) -> None:
        """Offer what can be changed of a motion that is now shown, and what can be shown instead."""
        others = [] if self.choices is None else [self.choices.slider]
        self.sliders = [*others, *sliders_of(motion.robot, motion.controller)]

    def fulfil(self) -> None:
        """Change what was asked for."""
        for slider in self.sliders:
            slider.fulfil()

    def slider_lines(self) -> tuple[str, str]:
        """The sliders as two columns of text: names, the chosen one marked, and values, with a * where by hand."""
        names = [f"{'>' if k == self.chosen else ' '} {slider.name}" for k, slider in enumerate(self.sliders)]
        values = [slider.text + (" *" if slider.taken else "") for slider in self.sliders]
        return "\n".join(names), "\n".join(values)

    @property
    def notice(self) -> str:
        """What there is to say of what was asked to be shown; empty if nothing."""
        return "" if self.choices is None else self.choices.notice


class Screen(Protocol):
    """Something that shows a simulation."""

    def show(self) -> bool:
        """Show the simulation as it is now; returns whether anybody can still see it."""

    def change(self, motion: LoopedMotion) -> None:
        """Show another motion from now on."""

    def close(self) -> None:
        """Close it. Safe to call twice."""


def free_camera(model: mujoco.MjModel) -> mujoco.MjvCamera:
    """A camera that the mouse can move, which begins where the model's first one is, if it has one."""
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    if model.ncam:
        data = mujoco.MjData(model)
        update_positions(model, data)
        forward = -data.cam_xmat[0].reshape(3, 3)[:, 2]
        straight = max(float((model.stat.center - data.cam_xpos[0]) @ forward), 0.1 * model.stat.extent)
        zoom = np.tan(np.radians(model.cam_fovy[0] / 2)) / np.tan(np.radians(model.vis.global_.fovy / 2))
        camera.lookat[:] = data.cam_xpos[0] + straight * forward
        camera.distance = straight * zoom
        camera.azimuth = np.degrees(np.arctan2(forward[1], forward[0]))
        camera.elevation = np.degrees(np.arcsin(np.clip(forward[2], -1.0, 1.0)))
    return camera


class NativeScreen:
    """MuJoCo's own window.

    Raises:
        RenderingError: there is no display, or the window cannot open.
    """

    def __init__(self, motion: LoopedMotion, controls: Controls) -> None:
        if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise RenderingError(
                "a window needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set. viewer=web shows the "
                "robot in a browser, viewer=offscreen writes a film."
            )
        self._controls = controls
        self._open(motion)

    def _open(self, motion: LoopedMotion) -> None:
        import mujoco.viewer

        robot = motion.robot
        self._motion, self._robot, self._stage = motion, robot, Stage(robot)
        self._overlay = Overlay(robot.model, robot.data, robot.compiled.joints)
        self._legend = False
        try:
            self._viewer: Any = mujoco.viewer.launch_passive(
                self._stage.model,
                self._stage.data,
                key_callback=lambda key: self._controls.press(_GLFW.get(key, "")),
                show_left_ui=False,
                show_right_ui=False,
            )
        except Exception as error:  # GLFW and each platform fail in ways of their own
            raise RenderingError(
                f"MuJoCo's window cannot open: {error}. viewer=web shows the robot in a browser, "
                "viewer=offscreen writes a film."
            ) from error
        with self._viewer.lock():
            _move_camera(self._viewer.cam, free_camera(robot.model))

    def show(self) -> bool:
        """Show the simulation as it is now; returns whether the window is open."""
        if not self._viewer.is_running():
            return False
        update_positions(self._robot.model, self._robot.data)
        self._stage.follow()
        with self._viewer.lock():
            self._viewer.user_scn.ngeom = 0
            self._motion.draw(self._viewer.user_scn)
            if self._controls.gauges:
                add_shapes(self._viewer.user_scn, self._overlay.shapes())
        if self._controls.sliders:
            self._viewer.set_texts((None, mujoco.mjtGridPos.mjGRID_TOPLEFT, *self._texts()))
        if self._legend != self._controls.legend:
            self._legend = self._controls.legend
            self._show_legend()
        self._viewer.sync()
        self._stage.give_back()
        return True

    def _texts(self) -> tuple[str, str]:
        """Sliders, and what there is to say, in the letters that MuJoCo has: no `·`."""
        names, values = self._controls.slider_lines()
        notice = self._controls.notice
        text = f"{names}\n{notice}" if notice else names
        return text.replace("·", " "), values

    def _show_legend(self) -> None:
        """Put the legend into the lower left corner, or take it away."""
        if not self._legend:
            self._viewer.clear_images()
            return
        picture = legend_image()
        self._viewer.set_images((mujoco.MjrRect(0, 0, picture.shape[1], picture.shape[0]), picture))

    def change(self, motion: LoopedMotion) -> None:
        """Close the window and open another: MuJoCo's keeps to one model."""
        self._viewer.close()
        self._open(motion)

    def close(self) -> None:
        """Close the window."""
        self._viewer.close()


class FilmScreen:
    """Images of a simulation, for a film."""

    def __init__(self, motion: LoopedMotion, controls: Controls, width: int, height: int) -> None:
        self.frames: list[NDArray[np.uint8]] = []
        """The images, each (height, width, 3)."""
        self._controls, self._size = controls, (width, height)
        self._open(motion)

    def _open(self, motion: LoopedMotion) -> None:
        robot = motion.robot
        self._motion, self._robot, self._stage = motion, robot, Stage(robot)
        self._overlay = Overlay(robot.model, robot.data, robot.compiled.joints)
        self._renderer = OffscreenRenderer(self._stage.model, *self._size)

    def show(self) -> bool:
        """Take an image of the simulation as it is now; raises `RenderingError` if MuJoCo finds no OpenGL here."""
        update_positions(self._robot.model, self._robot.data)
        self._stage.follow()
        image = self._renderer.render(self._stage.data, self._draw)
        self.frames.append(with_legend(image) if self._controls.legend else image)
        return True

    def _draw(self, scene: mujoco.MjvScene) -> None:
        self._motion.draw(scene)
        if self._controls.gauges:
            add_shapes(scene, self._overlay.shapes())

    def change(self, motion: LoopedMotion) -> None:
        """Go on with images of another motion."""
        self._renderer.close()
        self._open(motion)

    def close(self) -> None:
        """Release the OpenGL context."""
        self._renderer.close()


def open_web_screen(motion: LoopedMotion, controls: Controls, port: int, *, browse: bool) -> "WebScreen":
    """Open a page; raises `RenderingError` if MuJoCo has no web viewer, or it cannot start.

    Args:
        motion: what is shown.
        controls: what keys change.
        port: where to listen; 0: the first free one.
        browse: whether to open the page in a browser.
    """
    try:
        from pliant.viewing.web_screen import WebScreen
    except ImportError as error:
        raise RenderingError(
            f"the web viewer is not in this MuJoCo ({error}). It comes with: pip install "
            '"mujoco>=4.0" mujoco-studio websockets. Or use viewer=native or viewer=offscreen.'
        ) from error
    return WebScreen(motion, controls, port, browse=browse)


def watch(motion: LoopedMotion, screen: Screen, controls: Controls, speed: float) -> None:
    """Run a motion, or what is chosen instead, at `speed` times real time until its screen is closed."""
    periods = periods_per_image(motion, speed, _REFRESH)
    due = time.monotonic()
    while screen.show():
        controls.fulfil()
        other = None if controls.choices is None else controls.choices.another()
        if other is not None:
            motion, periods = other, periods_per_image(other, speed, _REFRESH)
            controls.offer(motion)
            screen.change(motion)
        elif controls.again:
            controls.again = False
            motion.restart()
        elif not controls.paused:
            for _ in range(periods):
                motion.advance()
        step = periods * motion.robot.info.period / speed
        due = max(due + step, time.monotonic() - step)  # what is late is not caught up with
        time.sleep(max(due - time.monotonic(), 0.0))


def periods_per_image(motion: LoopedMotion, speed: float, rate: float) -> int:
    """How many periods of the robot pass from one image to the next."""
    return max(round(speed / rate / motion.robot.info.period), 1)


def _move_camera(camera: mujoco.MjvCamera, there: mujoco.MjvCamera) -> None:
    camera.lookat[:] = there.lookat
    camera.distance, camera.azimuth, camera.elevation = there.distance, there.azimuth, there.elevation
