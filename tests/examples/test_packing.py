import shutil
from dataclasses import replace

import numpy as np
import pytest

from pliant.controllers import FeedForward
from pliant.errors import FileFormatError, MissingFileError
from pliant.examples import packing
from pliant.examples.catalogue import find_example


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """The example `lift` in a folder that may be changed."""
    example = find_example("lift")
    shutil.copytree(example.folder, tmp_path / "lift")
    example = replace(example, folder=tmp_path / "lift")
    monkeypatch.setattr(packing, "find_example", lambda name: example)
    return example


@pytest.fixture
def run(tmp_path):
    """What `pliant ilc` would leave of a motion that is half as large as the example's."""
    learned = FeedForward.load(find_example("lift").file)
    command = np.array(learned.command)
    command[:, ::2] *= 0.5
    folder = tmp_path / "run"
    (folder / ".hydra").mkdir(parents=True)
    replace(learned, command=command, desired=0.5 * learned.desired).save(folder / "feedforward.npz")
    (folder / ".hydra" / "config.yaml").write_text("seed: 3\n")
    (folder / ".hydra" / "overrides.yaml").write_text("[ilc.gain=0.3, 'hydra.run.dir=/somewhere']\n")
    (folder / ".hydra" / "hydra.yaml").write_text("hydra: {job: {config_name: ilc}}\n")
    return folder


def test_a_run_takes_the_place_of_an_example(copied, run):
    about = (copied.folder / "example.yaml").read_text()
    made = packing.pack("lift", run)
    assert made == copied.made
    assert made["command"] == "pliant ilc ilc.gain=0.3"
    assert copied.file.read_bytes() == (run / "feedforward.npz").read_bytes()
    assert (copied.folder / "settings.yaml").read_text() == "seed: 3\n"
    assert (copied.folder / "example.yaml").read_text() == about
    # the springs bend in proportion to neither the command nor the weight, so half of a good command is a bad one
    assert 0.003 < made["score"]["max_error"] < 0.4


def test_a_run_that_lacks_something_is_refused(copied, run):
    before = copied.file.read_bytes()
    (run / ".hydra" / "hydra.yaml").write_text("a: [\n")
    with pytest.raises(FileFormatError, match=r"hydra\.yaml is no YAML"):
        packing.pack("lift", run)
    (run / "feedforward.npz").unlink()
    with pytest.raises(MissingFileError, match=r"feedforward\.npz does not exist"):
        packing.pack("lift", run)
    assert copied.file.read_bytes() == before
