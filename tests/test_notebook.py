"""The notebook of the first tutorial: small, whole, and what it shows is what its cells print today."""

import json
import re

import pytest
from tests.test_documents import ROOT

FILE = ROOT / "docs" / "first-joint.ipynb"


def printed(cells):
    """What the cells print, joined."""
    streams = [output for cell in cells for output in cell.get("outputs", []) if output["output_type"] == "stream"]
    return "".join("".join(output["text"]) for output in streams)


def numbers(text):
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def stored():
    return json.loads(FILE.read_text())["cells"]


def test_it_is_small_and_every_figure_is_there():
    assert FILE.stat().st_size < 200_000
    for cell in stored():
        figures = sum("image/png" in output.get("data", {}) for output in cell.get("outputs", []))
        assert figures == "".join(cell["source"]).count("plt.show()")
        assert all(output["output_type"] != "error" for output in cell.get("outputs", []))


def test_the_springs_carry_the_weight_and_learning_ends_within_its_tolerance():
    text = printed(stored())
    balances = re.findall(r"springs (\S+) N·m, weight (\S+) N·m", text)
    assert len(balances) == 2
    assert all(float(spring) == pytest.approx(float(weight), abs=0.002) for spring, weight in balances)
    assert "converged" in text
    assert numbers(text)[-2] < 0.05


@pytest.mark.slow
def test_it_runs_and_prints_what_it_shows(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    notebook = nbformat.read(FILE, 4)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=str(tmp_path))
    shown, now = printed(stored()), printed(notebook.cells)
    assert re.sub(r"\d+\.\d+", "_", now) == re.sub(r"\d+\.\d+", "_", shown)
    assert numbers(now) == pytest.approx(numbers(shown), abs=0.002)
