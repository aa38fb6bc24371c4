import html.parser
import os
import subprocess
import sys
import time
from datetime import datetime

import numpy as np
import pytest

from pliant import __version__
from pliant.errors import MissingExtraError, OutputError
from pliant.report import Ran, Report, animation, figure, label, sentence, svg


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


def test_the_head_says_what_ran():
    ran = Ran("pliant ilc 'ilc.gain=[0.3,0.5]'", "arm<2>", "emulated", time.monotonic() - 75.0)
    page = Report("x", ran=ran).render()
    assert "<code>pliant ilc &#x27;ilc.gain=[0.3,0.5]&#x27;</code>" in page
    for said in ("arm&lt;2&gt;", "emulated", f"Pliant {__version__}, MuJoCo", f"{datetime.now():%Y-%m-%d}", "75."):
        assert said in page
    assert "<dl>" not in Report("x").render()
    assert "<dt>robot</dt>" not in Report("x", ran=Ran("pliant sweep runs/a")).render()


def test_a_folded_table_is_opened_by_hand():
    report = Report("x")
    report.table(("a",), [(1,)], folded="all <settings>")
    assert "<details><summary>all &lt;settings&gt;</summary><table>" in report.render()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("max_error_rad", "max error (rad)"),
        ("wall_seconds", "wall (s)"),
        ("reward_mean", "reward mean"),
        ("algo.gamma", "gamma"),
        ("m", "m"),
    ],
)
def test_a_number_is_named_with_its_unit(name, told):
    assert label(name) == told


def test_only_a_column_of_numbers_is_set_as_numbers():
    report = Report("x")
    report.table(("name", "value", "mixed"), [("a", 1.5, 2), ("b", None, "two"), ("c", "–", True)])
    page = report.render()
    assert "<th>name</th><th class='number'>value</th><th>mixed</th>" in page
    assert "<td>a</td><td class='number'>1.5</td><td>2</td>" in page
    assert page.count("<td class='number'>–</td>") == 2


def test_a_message_becomes_one_sentence():
    assert sentence("arm2 was stopped: the Bus is lost.") == "Arm2 was stopped: the Bus is lost."
    assert sentence("completed") == "Completed."


def test_the_first_figure_on_a_machine_tells_nothing_of_fonts(tmp_path):
    code = (
        "import logging; logging.basicConfig(level=logging.INFO); from pliant.report import figure, svg\n"
        "with figure() as (drawing, axes): axes[0, 0].set_title('x'); svg(drawing)"
    )
    new = {**os.environ, "MPLCONFIGDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=new)
    assert (done.stdout, done.stderr) == ("", "")
    assert list(tmp_path.glob("fontlist*"))  # it has been made
