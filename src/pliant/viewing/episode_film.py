"""Films of episodes: the robot with what its task marks, several side by side, each under a label.

They run in real time, from the beginning of an episode to some time after its end.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol

import mujoco
import numpy as np

from pliant.envs.recorded_episode import Image, RecordedEpisode, Shot
from pliant.envs.rendering import OffscreenRenderer, Shape
from pliant.envs.tasks.markers import draw_marks
from pliant.errors import require_extra
from pliant.hardware.robot import Array
from pliant.viewing.screens import free_camera

RATE = 25.0
"""Images per second, at most."""
_FARTHEST = 3.0
"""How far the camera steps back at most to show all marks, in its first distances."""
_CLOSE = 0.75
"""Part of the first picture that the robot itself needs."""
_FULL = 0.94
"""Part of a picture that marks may fill."""
_FOLLOWING = 1.0
"""Time over which a camera that follows a floating base levels out its way, s."""


class _Drawn(Protocol):
    """What draws the instants of an episode."""

    def __call__(self, k: int) -> Image:
        """Return the image of an instant."""


def film(
    shots: Sequence[Shot],
    width: int,
    height: int,
    *,
    rate: float = RATE,
    note: Callable[[], None] = lambda: None,
) -> tuple[list[Image], float]:
    """Draw episodes side by side; one that is shorter stands still at its end.

    Args:
        shots: the episodes, from left to right, of one period.
        width: of each, pixels.
        height: likewise.
        rate: images per second, at most.
        note: called after every image.

    Returns:
        The images, each (height, shots·width, 3), and their rate, Hz.

    Raises:
        RenderingError: MuJoCo finds no OpenGL here.
        MissingExtraError: Pillow, which writes the labels, is not installed.
    """
    require_extra("PIL", "video", "a film")
    step = stride(shots, rate)
    instants = picture_instants(shots, rate)
    frames: list[Image] = []
    with ExitStack() as stack:
        drawn = _drawn_by(shots, step, width, height, stack)
        for k in instants:
            images = [
                _told(draw(min(k, len(shot.episode) - 1)), shot, k)
                for draw, shot in zip(drawn, shots, strict=True)
            ]
            frames.append(np.concatenate(images, axis=1))
            note()
    return frames, 1.0 / (step * shots[0].episode.period)


def stride(shots: Sequence[Shot], rate: float) -> int:
    """Return how many periods pass from one image to the next."""
    return max(math.ceil(1.0 / (rate * shots[0].episode.period) - 1e-9), 1)


def picture_instants(shots: Sequence[Shot], rate: float = RATE) -> range:
    """Return the instants that a film of episodes shows."""
    return range(0, max(len(shot.episode) for shot in shots), stride(shots, rate))


def _drawn_by(shots: Sequence[Shot], step: int, width: int, height: int, stack: ExitStack) -> list[_Drawn]:
    """What draws each of the shots; robots that stand in one place are seen from one place."""
    robots = [_Scene(s.episode, step) for s in shots if isinstance(s.episode, RecordedEpisode)]
    box = np.array([scene.box(width / height) for scene in robots]).reshape(-1, 2, 2)
    together = np.array([box[:, 0].min(axis=0), box[:, 1].max(axis=0)]) if len(box) else box
    found: list[_Drawn] = []
    scenes = iter(robots)
    for shot in shots:
        if isinstance(shot.episode, RecordedEpisode):
            scene = next(scenes)
            scene.stand_back(together, width / height)
            found.append(scene.drawn(stack.enter_context(scene.renderer(width, height))))
        else:
            found.append(_resized(shot.episode.images, width, height))
    return found


class _Scene:
    """A robot, its marks at every instant that is shown, and the camera."""

    def __init__(self, episode: RecordedEpisode, step: int) -> None:
        self.episode, self.camera = episode, free_camera(episode.model)
        shown = range(0, len(episode), step)
        self._marks = {k: episode.marks(k) for k in shown}
        self._shift = np.zeros((len(episode), 3))
        if episode.base is not None:
            self._shift[:, :2] = _levelled(episode.base[:, :2], _FOLLOWING / episode.period)
        self._ghost = mujoco.MjData(episode.model)
        self._lookat = self.camera.lookat.copy()

    def box(self, aspect: float) -> Array:
        """What must be seen, across and up, in the plane of the point looked at: lowest and highest, (2, 2), m.

        The robot as its own camera shows it, and all marks of one that is fixed.
        """
        half = _CLOSE * self.camera.distance * self._tangents(aspect)
        low, high = -half, half
        if self.episode.base is None:
            across, up, ahead = self._axes()
            shapes = (mark for marks in self._marks.values() for mark in marks if isinstance(mark, Shape))
            points = np.array([shape.position for shape in shapes]).reshape(-1, 3) - self._lookat
            depth = np.maximum(self.camera.distance + points @ ahead, 0.1 * self.camera.distance)
            seen = np.column_stack([points @ across, points @ up]) * (self.camera.distance / depth)[:, None]
            if len(seen):
                low, high = np.minimum(low, seen.min(axis=0)), np.maximum(high, seen.max(axis=0))
        return np.array([low, high])

    def stand_back(self, box: Array, aspect: float) -> None:
        """Move the camera so that it sees a box, as `box` returns it, as far as it may step back."""
        low, high = box
        across, up, _ = self._axes()
        tangents = self._tangents(aspect)
        needed = float(np.max((high - low) / (2.0 * _FULL * tangents)))
        first = self.camera.distance
        if needed > first:
            self.camera.distance = min(needed, _FARTHEST * first)
            middle = (low + high) / 2.0
            self._lookat += middle[0] * across + middle[1] * up

    def _tangents(self, aspect: float) -> Array:
        upwards = math.tan(math.radians(float(self.episode.model.vis.global_.fovy)) / 2.0)
        return np.array([aspect * upwards, upwards])

    def _axes(self) -> tuple[Array, Array, Array]:
        """Across, up and ahead, as the camera looks."""
        a, e = math.radians(self.camera.azimuth), math.radians(self.camera.elevation)
        ahead = np.array([math.cos(e) * math.cos(a), math.cos(e) * math.sin(a), math.sin(e)])
        across = np.array([math.sin(a), -math.cos(a), 0.0])
        return across, np.cross(across, ahead), ahead

    def renderer(self, width: int, height: int) -> OffscreenRenderer:
        """Return what it is drawn with; shadows would double the time."""
        return OffscreenRenderer(self.episode.model, width, height, shadows=False)

    def drawn(self, renderer: OffscreenRenderer) -> _Drawn:
        """Return what draws its instants."""

        def draw(k: int) -> Image:
            marks = self._marks[k] if k in self._marks else self.episode.marks(k)
            self.camera.lookat[:] = self._lookat + self._shift[k]
            return renderer.render(
                self.episode.show(k),
                lambda scene: draw_marks(scene, marks, self.episode.model, self._ghost),
                camera=self.camera,
            )

        return draw


def _levelled(way: Array, width: float) -> Array:
    """A way, (n, 2), averaged over `width` instants, from its beginning on."""
    reach = max(round(width / 2), 1)
    kernel = np.full(2 * reach + 1, 1.0 / (2 * reach + 1))
    padded = np.pad(way, ((reach, reach), (0, 0)), mode="edge")
    mean = np.column_stack([np.convolve(column, kernel, mode="valid") for column in padded.T])
    return np.asarray(mean - way[0])


def _resized(images: Sequence[Image], width: int, height: int) -> _Drawn:
    from PIL import Image as Pictures

    return lambda k: np.array(Pictures.fromarray(images[k]).resize((width, height)))


def _told(image: Image, shot: Shot, k: int) -> Image:
    """Write who acts, the time, and what came of it once the episode is over, into an image."""
    time = f"{min(k, shot.episode.over) * shot.episode.period:.2f} s"
    return labelled(image, shot.label, f"{shot.verdict}  {time}" if k >= shot.episode.over else time)


def labelled(image: Image, left: str, right: str = "") -> Image:
    """Return an image with a bar at the top that says something at either end."""
    from PIL import Image as Pictures
    from PIL import ImageDraw, ImageFont

    picture = Pictures.fromarray(image)
    height, width = image.shape[:2]
    size = max(height // 24, 9)
    bar, font = round(1.7 * size), ImageFont.load_default(size)
    draw = ImageDraw.Draw(picture, "RGBA")
    draw.rectangle((0, 0, width, bar), fill=(255, 255, 255, 205))
    for x, text, anchor in ((size // 2, left, "lm"), (width - size // 2, right, "rm")):
        draw.text((x, bar / 2), text, fill=(20, 20, 20, 255), font=font, anchor=anchor)
    return np.array(picture)
