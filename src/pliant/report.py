"""Reports that a person looks at: one self-contained HTML page, and figures in one common style.

Figures are drawn by matplotlib (extra `report`) and put into the page as SVG; the page needs nothing else.
"""

import base64
import html
import io
import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import require_extra
from pliant.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0b6e99", "#d1495b", "#3a7d44", "#e09f3e", "#6a4c93", "#5c5c5c")
"""Colours of lines, in order: told apart by people with any kind of colour vision, and in print."""

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "pliant",
}

_CSS = """
body{font:16px/1.5 system-ui,sans-serif;color:#222;max-width:1000px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem} h2{font-size:1.2rem;margin-top:2rem}
table{border-collapse:collapse;margin:1rem 0;display:block;max-width:100%;overflow-x:auto}
td,th{padding:.3rem .9rem;border-bottom:1px solid #ddd;text-align:left}
th{font-weight:600} td.number{text-align:right;font-variant-numeric:tabular-nums}
.lead{color:#555;margin-top:0} figure{margin:1rem 0} figcaption{color:#555;font-size:.9rem}
svg,img{max-width:100%;height:auto} .good{color:#3a7d44;font-weight:600} .bad{color:#d1495b;font-weight:600}
"""


@contextmanager
def figure(
    rows: int = 1, columns: int = 1, width: float = 9.0, height: float = 3.6, **subplots: Any
) -> "Iterator[tuple[Figure, NDArray[Any]]]":
    """A figure in the common style with its axes, (rows, columns); closed afterwards.

    Args:
        rows: of axes.
        columns: of axes.
        width: inches.
        height: inches.
        subplots: further arguments of `matplotlib.figure.Figure.subplots` (sharex, …).

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # on its first use it tells of its list of fonts
    require_extra("matplotlib", "report", "a figure")
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.figure import Figure

    with mpl.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        drawing = Figure(figsize=(width, height))
        yield drawing, np.asarray(drawing.subplots(rows, columns, squeeze=False, **subplots))


def svg(drawing: "Figure") -> str:
    """A figure as SVG text, the same for the same figure."""
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def encode(frames: Sequence[NDArray[np.uint8]], kind: str, **options: Any) -> bytes:
    """Pictures, each (height, width, 3), as an image file that Pillow can write (more than one: animated)."""
    from PIL import Image  # comes with matplotlib

    first, *others = (Image.fromarray(frame) for frame in frames)
    buffer = io.BytesIO()
    first.save(buffer, format=kind, save_all=bool(others), append_images=others, **options)
    return buffer.getvalue()


def animation(frames: Sequence[NDArray[np.uint8]], rate: float = 12.0) -> bytes:
    """Pictures as an animated WebP that plays in a loop at `rate` Hz."""
    return encode(frames, "WEBP", duration=round(1e3 / rate), loop=0, quality=70, method=2)


@dataclass
class Report:
    """A page that is built from top to bottom and then saved."""

    title: str
    lead: str = ""
    _parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Add a table; floats are shown with four digits."""
        cells = "".join(f"<th>{html.escape(name)}</th>" for name in header)
        lines = [f"<tr>{cells}</tr>"]
        lines += ["<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows]
        self._parts.append(f"<table>{''.join(lines)}</table>")

    def figure(self, drawing: "Figure", caption: str) -> None:
        """Add a figure."""
        self._parts.append(_figure(svg(drawing), caption))

    def picture(self, image: NDArray[np.uint8], caption: str) -> None:
        """Add a picture, (height, width, 3)."""
        self.image(encode([image], "PNG", optimize=True), "png", caption)

    def animation(self, frames: Sequence[NDArray[np.uint8]], caption: str, rate: float = 12.0) -> None:
        """Add pictures, each (height, width, 3), that play in a loop at `rate` Hz."""
        self.image(animation(frames, rate), "webp", caption)

    def image(self, data: bytes, kind: str, caption: str) -> None:
        """Add an encoded image of a kind that browsers show (png, webp, …)."""
        text = base64.b64encode(data).decode()
        content = f'<img alt="{html.escape(caption)}" src="data:image/{kind};base64,{text}">'
        self._parts.append(_figure(content, caption))

    def render(self) -> str:
        """The page as HTML text."""
        title = html.escape(self.title)
        head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
        body = f"<h1>{title}</h1><p class='lead'>{html.escape(self.lead)}</p>{''.join(self._parts)}"
        return f"<!doctype html><html lang='en'><head>{head}<style>{_CSS}</style></head><body>{body}</body></html>"

    def save(self, path: Path) -> Path:
        """Write the page; raises `OutputError` where that fails."""
        return write_bytes(path, self.render().encode())


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return f"<td class='{'good' if value else 'bad'}'>{'yes' if value else 'no'}</td>"
    if isinstance(value, int | float):
        return (
            f"<td class='number'>{value:.4g}</td>"
            if isinstance(value, float)
            else f"<td class='number'>{value}</td>"
        )
    return f"<td>{html.escape(str(value))}</td>"


def _figure(content: str, caption: str) -> str:
    return f"<figure>{content}<figcaption>{html.escape(caption)}</figcaption></figure>"
