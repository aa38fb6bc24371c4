import html.parser
import os
import subprocess
import sys

import numpy as np
import pytest

from pliant.errors import MissingExtraError, OutputError
from pliant.report import Report, animation, figure, svg


class Balanced(html.parser.HTMLParser):
    """Counts the tags that must be closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "path", "use", "rect", "line", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag


def test_a_page_is_whole_and_self_contained(tmp_path):
    report = Report("Springs & motors", "a <lead>")
    report.heading("Numbers")
    report.table(("quantity", "value"), [("error", 0.012345678), ("trials", 7), ("good", True), ("bad", False)])
    with figure(rows=2) as (drawing, axes):
        axes[0, 0].plot([0, 1], [0, 1])
        report.figure(drawing, "A line")
    report.picture(np.zeros((4, 6, 3), np.uint8), "Black")
    page = report.save(tmp_path / "report.html").read_text()
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert "Springs &amp; motors" in page
    assert "a &lt;lead&gt;" in page
    assert "0.01235" in page
    assert "data:image/png;base64," in page
    for outside in ("src='http", 'src="http', "<link", "<script"):
        assert outside not in page


def test_a_figure_is_the_same_for_the_same_data():
    texts = []
    for _ in range(2):
        with figure() as (drawing, axes):
            axes[0, 0].plot([0, 1, 2], [0, 1, 4], label="q (rad)")
            axes[0, 0].legend()
            texts.append(svg(drawing))
    assert texts[0] == texts[1]


def test_an_animation_plays_every_frame():
    import io

    from PIL import Image

    frames = [np.full((8, 8, 3), value, np.uint8) for value in (0, 120, 240)]
    assert Image.open(io.BytesIO(animation(frames))).n_frames == 3


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r'pip install "pliant\[report\]"'), figure():
        pass


def test_a_report_that_cannot_be_written_is_explained(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        Report("x").save(tmp_path / "file" / "report.html")


def test_the_first_figure_on_a_machine_tells_nothing_of_fonts(tmp_path):
    code = (
        "import logging; logging.basicConfig(level=logging.INFO); from pliant.report import figure, svg\n"
        "with figure() as (drawing, axes): axes[0, 0].set_title('x'); svg(drawing)"
    )
    new = {**os.environ, "MPLCONFIGDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=new)
    assert (done.stdout, done.stderr) == ("", "")
    assert list(tmp_path.glob("fontlist*"))  # it has been made
