"""Films of a simulation, in the format that the file's name asks for."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from pliant.errors import require_extra, unknown_name
from pliant.files import ensure_folder, write_bytes
from pliant.progress import progress
from pliant.report import animation
from pliant.viewing.motions import LoopedMotion
from pliant.viewing.screens import Controls, FilmScreen, periods_per_image

Frames = Sequence[NDArray[np.uint8]]

_RATE = 25.0
"""Images of a film of a motion per second."""


def save_film(path: Path, frames: Frames, rate: float) -> Path:
    """Write frames, each (height, width, 3), as a film of `rate` frames a second.

    Args:
        path: `.mp4` (extra `video`) or `.webp` (extra `report`).
        frames: at least one.
        rate: Hz.

    Raises:
        UnknownNameError: another format.
        MissingExtraError: the package that writes it is not installed.
        OutputError: it cannot be written.
    """
    return film_format(path)(path, frames, rate)


def film_format(path: Path) -> Callable[[Path, Frames, float], Path]:
    """Return what writes a format; raises as `save_film` before there is anything to write."""
    if path.suffix not in _FORMATS:
        raise unknown_name("film format", path.suffix, _FORMATS, str(path))
    module, extra, write = _FORMATS[path.suffix]
    require_extra(module, extra, f"a film in {path.suffix}")
    return write


def film_motion(
    motion: LoopedMotion,
    path: Path,
    controls: Controls,
    *,
    duration: float,
    speed: float,
    width: int,
    height: int,
) -> Path:
    """Write a motion as a film; returns its file.

    Args:
        motion: what is filmed.
        path: as for `save_film`.
        controls: whether gauges are drawn.
        duration: of the motion, s.
        speed: of the film, in times real time.
        width: of the images, pixels.
        height: of the images, pixels.

    Raises:
        RenderingError: MuJoCo finds no OpenGL here.
        PliantError: as `save_film`.
    """
    film_format(path)
    period = motion.robot.info.period
    screen = FilmScreen(motion, controls, width, height)
    periods = periods_per_image(motion, speed, _RATE)
    count = round(duration / period)
    try:
        with progress(Console(), "film", count) as steps:
            for k in range(count):
                if k % periods == 0:
                    screen.show()
                    steps.reach(k)
                motion.advance()
    finally:
        screen.close()
    return save_film(path, screen.frames, speed / (periods * period))


def _mp4(path: Path, frames: Frames, rate: float) -> Path:
    """H.264 in colours that every player shows; sizes must be even."""
    ffmpeg = require_extra("imageio_ffmpeg", "video", "a film in .mp4")
    ensure_folder(path.parent)
    height, width = (size - size % 2 for size in frames[0].shape[:2])
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        temporary = Path(folder) / path.name
        writer: Any = ffmpeg.write_frames(
            str(temporary), (width, height), fps=rate, codec="libx264", macro_block_size=2
        )
        writer.send(None)
        for frame in frames:
            writer.send(np.ascontiguousarray(frame[:height, :width]))
        writer.close()
        temporary.replace(path)
    return path


def _webp(path: Path, frames: Frames, rate: float) -> Path:
    return write_bytes(path, animation(frames, rate))


_FORMATS = {".mp4": ("imageio_ffmpeg", "video", _mp4), ".webp": ("PIL", "report", _webp)}
