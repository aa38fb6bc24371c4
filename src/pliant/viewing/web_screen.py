"""A simulation in the browser, by MuJoCo's web viewer, reachable from this machine alone.

The simulation runs here; the browser gets its state, and draws it. MuJoCo 4.0 has its server listen on every
interface and offers no choice, so that this is corrected here, and checked before anything is served.
"""

import copy
import socket
import threading
from typing import Any, Final

import mujoco
from mujoco.studio import launch_thread, messages, plugin, ux, viewer_protocol, viewer_utils, web_viewer
from mujoco.studio.app import inputs
from mujoco.studio.dear_imgui import dear_imgui as imgui

from pliant.actuators import JointOnModel
from pliant.envs.rendering import RenderingError, as_geoms
from pliant.viewing.legend import LEGEND
from pliant.viewing.motions import LoopedMotion
from pliant.viewing.overlay import Overlay
from pliant.viewing.screens import KEYS, LIST_KEY, Controls, free_camera
from pliant.viewing.sliders import Slider
from pliant.viewing.stage import Stage

LOOPBACK = "127.0.0.1"
_FIRST, _COUNT = 8080, 20
"""Ports to choose from where none is asked for."""
_SLIDERS, _SLIDER = (60.0, 20.0, 330.0, 260.0), 110.0
"""Place and size of the list of sliders, and width of one of them, pixels."""
_LEGEND, _SWATCH = 20.0, 30.0
"""How far the legend is from the upper right corner, and length of a coloured mark in it, pixels."""
_MARKS = 800
"""Geoms of marks on a page, which draws 1024 besides the model."""
_MESHES: Final = (int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_SDF))
_TAKEN = (0.88, 0.38, 0.0, 1.0)
"""Colour of what is held by hand."""


class _LoopbackViewer(web_viewer.WebViewer):  # type: ignore[misc]
    """MuJoCo's web viewer, on loopback."""

    @property
    def _host(self) -> str:
        return LOOPBACK

    @_host.setter
    def _host(self, value: str) -> None:
        """Not to be changed: MuJoCo sets every interface here."""

    def _start_server(self) -> None:
        address = self._http_sock.getsockname()[0]
        if address != LOOPBACK:
            self._http_sock.close()
            raise RenderingError(
                f"the web viewer of MuJoCo {mujoco.__version__} would listen on {address}, where others can reach "
                "it, and Pliant does not know how to prevent that. Use viewer=native or viewer=offscreen."
            )
        super()._start_server()


class _Page(plugin.ViewerPlugin):  # type: ignore[misc]
    """What is on the page beside the model: gauges, sliders, what keys and mouse do, and a word about them."""

    def __init__(self, joints: tuple[JointOnModel, ...], controls: Controls) -> None:
        self.joints = joints
        """Those of the robot that is shown next."""
        self._controls = controls
        self._overlay: Overlay | None = None
        self._mouse = ux.UxState()
        self._marks: tuple[int, list[Any]] = (0, [])

    def mark(self, model: mujoco.MjModel, geoms: list[mujoco.MjvGeom]) -> None:
        """Draw geoms from the next picture on, if that is of this model."""
        self._marks = model.signature, geoms

    @messages.handler  # type: ignore[untyped-decorator]
    def on_model(self, event: messages.PostModelEvent) -> None:
        """Place gauges and camera on the viewer's own copy of the model."""
        self._overlay = Overlay(event.model, event.data, self.joints)
        there = free_camera(event.model)
        camera = self.viewer.camera
        camera.lookat[:] = there.lookat
        camera.distance, camera.azimuth, camera.elevation = there.distance, there.azimuth, there.elevation

    @messages.handler  # type: ignore[untyped-decorator]
    def on_update(self, event: messages.UpdateEvent) -> None:
        """Draw the gauges anew, and take what keys and mouse were used for: the mouse drags targets and links."""
        model, marks = self._marks
        gauges = [] if self._overlay is None or not self._controls.gauges else as_geoms(self._overlay.shapes())
        self.viewer.extra_geoms[:] = [*gauges, *(marks if model == self.viewer.model.signature else ())]
        inputs.handle_mouse_events(
            self.viewer.model,
            self.viewer.data,
            self.viewer.camera,
            self.viewer.vis_options,
            self.viewer.perturb,
            self._mouse,
            move_camera=False,
        )
        viewer_utils.apply_perturb(self.viewer, self.viewer.model, self.viewer.data)
        if not imgui.GetIO().WantCaptureKeyboard:
            for key in self._keys():
                if imgui.IsKeyPressed(getattr(imgui.Key, key), False):
                    self._controls.press(key)

    @messages.handler  # type: ignore[untyped-decorator]
    def on_gui(self, event: messages.BuildGuiEvent) -> None:
        """Say what the keys do, and show the sliders."""
        if imgui.Begin("Pliant"):
            for key, meaning in self._keys().items():
                imgui.TextUnformatted(f"{key}: {meaning}")
            if self._controls.paused:
                imgui.TextUnformatted("paused")
            if self._controls.notice:
                imgui.TextWrapped(self._controls.notice)
        imgui.End()
        if self._controls.sliders and self._controls.listed:
            self._show_sliders()
        if self._controls.legend:
            _show_legend()

    def _keys(self) -> dict[str, str]:
        """What can be pressed."""
        return {**KEYS, **(LIST_KEY if self._controls.sliders else {})}

    def _show_sliders(self) -> None:
        """Show the sliders in a window of their own."""
        imgui.SetNextWindowPos(imgui.Vec2(*_SLIDERS[:2]), imgui.Cond.FirstUseEver)
        imgui.SetNextWindowSize(imgui.Vec2(*_SLIDERS[2:]), imgui.Cond.FirstUseEver)
        if imgui.Begin("Sliders"):
            for slider in self._controls.sliders:
                _show(slider)
        imgui.End()


def _for_page(geom: mujoco.MjvGeom, model: mujoco.MjModel) -> mujoco.MjvGeom:
    """A geom drawn of a model as a page can draw it: boxes for meshes, which it has of its own model alone."""
    drawn = copy.copy(geom)
    if geom.type in _MESHES:
        box = model.geom_aabb[geom.objid]
        drawn.type, drawn.size[:] = int(mujoco.mjtGeom.mjGEOM_BOX), box[3:]
        drawn.pos[:] = geom.pos + geom.mat @ box[:3]
    return drawn


def _show(slider: Slider) -> None:
    """Show a slider, a switch or a choice, and ask for what is made of it."""
    imgui.SetNextItemWidth(_SLIDER)
    taken = slider.taken
    if taken:
        imgui.PushStyleColor(imgui.Col.Text, imgui.Vec4(*_TAKEN))
    if slider.choices:
        changed, value = imgui.Combo(slider.name, round(slider.value), slider.choices)
    elif slider.switch:
        changed, value = imgui.Checkbox(slider.name, slider.value > 0.5)
    else:
        how = imgui.SliderFlags.Logarithmic if slider.fine else imgui.SliderFlags(0)
        changed, value = imgui.SliderFloat(slider.name, slider.value, slider.low, slider.high, "%.4g", how)
    if taken:
        imgui.PopStyleColor()
    if changed:
        slider.want(value)


def _show_legend() -> None:
    """Say what the gauges mean."""
    right = imgui.GetIO().DisplaySize.x - _LEGEND
    imgui.SetNextWindowPos(imgui.Vec2(right, _LEGEND), imgui.Cond.Always, imgui.Vec2(1.0, 0.0))
    if imgui.Begin("Legend", None, imgui.WindowFlags.AlwaysAutoResize):
        for k, entry in enumerate(LEGEND):
            if entry.colour is not None:
                size = imgui.Vec2(_SWATCH, imgui.GetTextLineHeight())
                flags = int(imgui.ColorEditFlags.NoTooltip) | int(imgui.ColorEditFlags.NoPicker)
                imgui.ColorButton(f"##legend{k}", imgui.Vec4(*entry.colour, 1.0), flags, size)
                imgui.SameLine()
            imgui.TextUnformatted(entry.text)
    imgui.End()


class WebScreen:
    """The simulation on a page that browsers on this machine can open; one in the life of a process.

    MuJoCo 4.0 keeps what the first one leaves behind: a second one never draws, cannot be closed, and ends the
    process by a segmentation fault when Python exits.

    Raises:
        RenderingError: the port is taken, the web viewer cannot start, or this process has had one.
    """

    _started = False

    def __init__(self, motion: LoopedMotion, controls: Controls, port: int = 0, *, browse: bool = False) -> None:
        """Start the server.

        Args:
            motion: what is shown.
            controls: what keys change.
            port: where to listen; 0: the first free one from 8080 on.
            browse: whether to open the page in a browser.
        """
        if WebScreen._started:
            raise RenderingError(
                f"MuJoCo {mujoco.__version__} can start its web viewer once in a process, and this one "
                "has had it. Show another motion on the page that is open, or start a new process."
            )
        self._page = _Page(motion.robot.compiled.joints, controls)
        self.change(motion)
        self.port = free_port(port)
        """Where it listens."""
        config = viewer_protocol.ViewerConfig(
            title=f"Pliant: {motion.robot.info.name}", gfx="web", http_port=self.port, open_browser=browse
        )
        made, ready = list[Any](), threading.Event()
        WebScreen._started = True

        def live(endpoint: Any) -> None:
            try:
                made.append(_LoopbackViewer(config, endpoint, plugins=[self._page]))
            finally:
                ready.set()
            viewer_protocol.run_viewer_loop(made[0])

        self._handle = launch_thread.launch_thread(live)
        ready.wait()
        if not made:
            self._explain()
        self.url = f"http://{LOOPBACK}:{self.port}/"

    def show(self) -> bool:
        """Send the simulation as it is now; returns whether the server runs."""
        if not self._handle.is_running():
            return False
        self._stage.follow()
        self._handle.sync(self._stage.model, self._stage.data)
        self._scene.ngeom = 0
        self._motion.draw(self._scene)
        own, geoms = self._motion.robot.model, self._scene.geoms[: self._scene.ngeom]
        self._page.mark(self._stage.model, [_for_page(geom, own) for geom in geoms])
        self._stage.give_back()
        return True

    def change(self, motion: LoopedMotion) -> None:
        """Show another motion from now on; pages that are open load its model."""
        self._page.joints = motion.robot.compiled.joints
        self._motion, self._stage = motion, Stage(motion.robot)
        self._scene = mujoco.MjvScene(self._stage.model, _MARKS)

    def close(self) -> None:
        """Stop the server."""
        self._handle.close()

    def _explain(self) -> None:
        """Raise what ended the viewer's thread at its start."""
        try:
            self._handle.close()
        except RenderingError:
            raise
        except Exception as error:  # whatever MuJoCo's server and user interface may run into
            raise RenderingError(
                f"MuJoCo's web viewer cannot start: {error} Use viewer=native or viewer=offscreen."
            ) from error


def free_port(port: int) -> int:
    """Return `port` if nobody listens there, or for 0 the first such port from 8080 on; raise if there is none."""
    choices = [port] if port else range(_FIRST, _FIRST + _COUNT)
    for choice in choices:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, choice))
            except PermissionError as error:
                raise RenderingError(f"you may not listen on port {choice}; choose one from 1024 on.") from error
            except OSError:
                continue
        return choice
    taken = (
        f"port {port} of {LOOPBACK} is" if port else f"ports {_FIRST} to {_FIRST + _COUNT - 1} of {LOOPBACK} are"
    )
    raise RenderingError(f"{taken} taken by another program. Choose another: port=9000, or port=0 for a free one.")
