"""Reports that a person looks at: one self-contained HTML page, and figures in one common style.

Figures are drawn by matplotlib (extra `report`) and put into the page as SVG; the page needs nothing else.
"""

import base64
import html
import io
import logging
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant import __version__
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

_UNITS = {"rad": "rad", "seconds": "s", "m": "m", "N": "N", "kg": "kg", "Nm": "N·m"}
"""How the last word of a number's name says its unit."""

_CSS = """
body{font:16px/1.5 system-ui,sans-serif;color:#222;max-width:1000px;margin:2rem auto;padding:0 1rem;
overflow-wrap:break-word}
h1{font-size:1.6rem;margin-bottom:.2rem} h2{font-size:1.2rem;margin-top:2rem}
table{border-collapse:collapse;margin:1rem 0;display:block;max-width:100%;overflow-x:auto}
td,th{padding:.3rem .9rem;border-bottom:1px solid #ddd;text-align:left}
th{font-weight:600} td.number,th.number{text-align:right;font-variant-numeric:tabular-nums}
.lead{color:#555;margin-top:0} figure{margin:1rem 0} figcaption{color:#555;font-size:.9rem}
svg,img{max-width:100%;height:auto} summary{cursor:pointer;font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:1rem 0;padding:.6rem .9rem;
background:#f4f5f6;font-size:.9rem} dt{color:#555} dd{margin:0;overflow-wrap:anywhere} code{font-size:.85rem}
.good{color:#3a7d44;font-weight:600} .bad{color:#d1495b;font-weight:600}
@media(max-width:600px){body{font-size:15px;margin:1rem auto} td,th{padding:.25rem .5rem}
figure{overflow-x:auto} figure svg{max-width:none;width:640px}}
"""


class Ran(NamedTuple):
    """What a report is of, told in its head."""

    command: str
    """As it was typed, quoted so that it can be copied."""
    robot: str = ""
    """Which one; empty where there is none."""
    kind: str = "simulated"
    """`simulated`, `emulated`, `real`, or what else the numbers are from."""
    begin: float = 0.0
    """When the work began, in the time of `time.monotonic`, s."""

    def rows(self) -> list[tuple[str, str]]:
        """Return what the head says, as of now."""
        software = f"Pliant {__version__}, MuJoCo {version('mujoco')}, Python {platform.python_version()}"
        rows = [("robot", self.robot), ("run", self.kind), ("version", software)]
        rows.append(("date", datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")))
        rows.append(("wall time", f"{time.monotonic() - self.begin:.1f} s"))
        return [(name, value) for name, value in rows if value]


def label(name: str, among: Sequence[str] = ()) -> str:
    """A setting or number as a table or an axis names it: `max_error_rad` is max error (rad).

    A setting goes by the last part of its name, unless another one of `among` ends likewise.
    """
    last = name.rpartition(".")[2]
    short = name if sum(other.rpartition(".")[2] == last for other in among) > 1 else last
    *words, unit = short.split("_")
    return " ".join([*words, f"({_UNITS[unit]})"] if words and unit in _UNITS else [*words, unit])


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
    ran: Ran | None = None
    """What made it; None: no head."""
    _parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]], folded: str = "") -> None:
        """Add a table; floats are shown with four digits.

        Args:
            header: of its columns.
            rows: likewise.
            folded: what is shown of it until it is opened; empty: all of it.
        """
        body = [list(row) for row in rows]
        numeric = [all(_is_number(row[k]) for row in body) for k in range(len(header))]
        kinds = ["<th class='number'>" if number else "<th>" for number in numeric]
        cells = "".join(f"{kind}{html.escape(name)}</th>" for kind, name in zip(kinds, header, strict=True))
        lines = [f"<tr>{cells}</tr>"]
        lines += ["<tr>" + "".join(map(_cell, row, numeric)) + "</tr>" for row in body]
        table = f"<table>{''.join(lines)}</table>"
        summary = html.escape(folded)
        self._parts.append(f"<details><summary>{summary}</summary>{table}</details>" if folded else table)

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
        begin = f"<h1>{title}</h1><p class='lead'>{html.escape(self.lead)}</p>"
        body = f"{begin}{'' if self.ran is None else _head(self.ran)}{''.join(self._parts)}"
        return f"<!doctype html><html lang='en'><head>{head}<style>{_CSS}</style></head><body>{body}</body></html>"

    def save(self, path: Path) -> Path:
        """Write the page; raises `OutputError` where that fails."""
        return write_bytes(path, self.render().encode())


def _head(ran: Ran) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in ran.rows())
    return f"<dl><dt>command</dt><dd><code>{html.escape(ran.command)}</code></dd>{rows}</dl>"


def sentence(text: str) -> str:
    """Return a text with a capital at its beginning and one full stop at its end."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _is_number(value: object) -> bool:
    return value is None or value == "–" or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: object, numeric: bool) -> str:
    if isinstance(value, bool):
        return f"<td class='{'good' if value else 'bad'}'>{'yes' if value else 'no'}</td>"
    text = "–" if value is None else f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))
    return f"<td class='number'>{text}</td>" if numeric else f"<td>{text}</td>"


def _figure(content: str, caption: str) -> str:
    return f"<figure>{content}<figcaption>{html.escape(caption)}</figcaption></figure>"
