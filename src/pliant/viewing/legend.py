"""The legend of the gauges, on a screen or in a film."""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.errors import require_extra
from pliant.viewing.overlay import LINK, MOTOR, RIGID, STIFFNESS_SCALE, TORQUE, torque_angle

_WIDTH, _LINE, _MARGIN = 210, 18, 8
"""Of the picture, of one of its lines, and around them, pixels."""
_SWATCH = 30
"""Length of a coloured mark, pixels."""
_PAPER, _INK = (250, 250, 250), (25, 25, 28)


class Entry(NamedTuple):
    """A line of the legend."""

    text: str
    colour: tuple[float, ...] | None = None
    """Red, green and blue, from 0 to 1; None: a heading."""


LEGEND: Final = (
    Entry("disc: stiffness, N·m/rad"),
    *(Entry(f"{value:g}", colour) for value, colour in STIFFNESS_SCALE),
    Entry("rigid", RIGID),
    Entry("needles"),
    Entry("link", LINK[:3]),
    Entry("motors", MOTOR[:3]),
    Entry("arc: torque on the link, N·m"),
    Entry(
        ", ".join(f"{torque:g}: {np.degrees(torque_angle(torque)):.0f}°" for torque in (0.1, 1.0, 10.0)),
        TORQUE[:3],
    ),
)
"""What the gauges of `overlay` mean, line by line."""


def legend_image() -> NDArray[np.uint8]:
    """Return the legend as a picture, (height, width, 3); `MissingExtraError` without Pillow (extra `report`)."""
    require_extra("PIL", "report", "the legend in a picture")
    from PIL import Image, ImageDraw, ImageFont

    font: Any = ImageFont.load_default(12)
    picture = Image.new("RGB", (_WIDTH, len(LEGEND) * _LINE + 2 * _MARGIN), _PAPER)
    draw = ImageDraw.Draw(picture)
    for k, entry in enumerate(LEGEND):
        top, indent = _MARGIN + k * _LINE, _MARGIN
        if entry.colour is not None:
            box = (_MARGIN, top + 3, _MARGIN + _SWATCH, top + _LINE - 4)
            draw.rectangle(box, tuple(round(255 * part) for part in entry.colour), _INK)
            indent += _SWATCH + _MARGIN
        draw.text((indent, top + 1), entry.text, _INK, font)
    return np.asarray(picture)


def with_legend(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a picture, (height, width, 3), with the legend, as far as there is room, in its upper left corner."""
    legend = legend_image()[: image.shape[0], : image.shape[1]]
    found = image.copy()
    found[: legend.shape[0], : legend.shape[1]] = legend
    return found
