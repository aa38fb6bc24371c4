import io
import pickle
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pliant.errors import FileFormatError, MismatchError, MissingFileError
from pliant.files import sealed_archive
from pliant.training.checkpoints import Checkpoint, Checkpoints, check_settings, read_checkpoint

MODEL = np.random.default_rng(0).bytes(20000)
SETTINGS = {"env": {"id": "arm", "options": {"period": 0.02}}, "seed": 0}


def checkpoint(steps=100):
    buffer = {"rewards": np.arange(4.0), "_place": np.array([4, 0])}
    return Checkpoint(steps, SETTINGS, MODEL, {"generators": {"torch": np.arange(5)}}, buffer, b"best")


@pytest.fixture
def run(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for steps in (100, 200, 300):
        checkpoints.write(checkpoint(steps))
    return tmp_path


def newest(run):
    return run / "checkpoints" / "000000000300.zip"


def test_it_comes_back_whole(run):
    back = read_checkpoint(newest(run))
    assert (back.steps, back.settings, back.model, back.best) == (300, SETTINGS, MODEL, b"best")
    np.testing.assert_array_equal(back.state["generators"]["torch"], np.arange(5))
    np.testing.assert_array_equal(back.buffer["rewards"], np.arange(4.0))


def test_a_folder_stands_for_its_newest_and_older_ones_go(run):
    assert read_checkpoint(run).steps == 300
    assert [path.name for path in sorted((run / "checkpoints").iterdir())] == [
        "000000000200.zip",
        "000000000300.zip",
    ]


def test_those_of_another_training_are_left_alone(run):
    for steps in (1, 2, 3):
        Checkpoints(run, keep=1).write(checkpoint(steps))
    other = Checkpoints(run, keep=1)
    for steps in (10, 20):
        other.write(checkpoint(steps))
    names = [int(path.stem) for path in sorted((run / "checkpoints").iterdir())]
    assert names == [1, 2, 3, 20, 200, 300]


def test_many_write_into_one_folder_at_once(tmp_path):
    """None fails because another one wrote or removed a checkpoint meanwhile; every one that stays is whole."""
    barrier = threading.Barrier(4)

    def train(first):
        checkpoints = Checkpoints(tmp_path, keep=2)
        barrier.wait()
        for steps in range(first, 40):
            checkpoints.write(checkpoint(steps))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(train, (1, 1, 2, 3)))
    left = sorted((tmp_path / "checkpoints").iterdir())
    assert [int(path.stem) for path in left] == [38, 39]
    for path in left:
        assert read_checkpoint(path).steps == int(path.stem)


def test_what_a_killed_run_left_half_written_is_passed_over(run):
    (run / "checkpoints" / ".000000000400.zip.ab12.tmp").write_bytes(newest(run).read_bytes()[:50])
    assert read_checkpoint(run).steps == 300


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_one_that_was_cut_short_is_refused_with_the_one_before_it(run, share):
    content = newest(run).read_bytes()
    newest(run).write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError) as caught:
        read_checkpoint(run)
    assert f"checkpoint {newest(run)} is damaged" in str(caught.value)
    assert f"resume={run / 'checkpoints' / '000000000200.zip'}" in str(caught.value)
    assert read_checkpoint(run / "checkpoints" / "000000000200.zip").steps == 200


@pytest.mark.parametrize("place", [0.05, 0.3, 0.6, 0.9])
def test_a_changed_byte_is_noticed(run, place):
    content = bytearray(newest(run).read_bytes())
    content[int(place * len(content))] ^= 0xFF
    newest(run).write_bytes(content)
    with pytest.raises(FileFormatError, match=r"is damaged: its checksum.*resume=.*000000000200\.zip"):
        read_checkpoint(run)


def rewrite(path, members):
    """Write an archive of other members, with a checksum that is right."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    path.write_bytes(sealed_archive(archive))


@pytest.mark.parametrize("lost", ["checkpoint.json", "model.zip", "state.pickle"])
def test_one_without_a_part_is_refused(run, lost):
    with zipfile.ZipFile(newest(run)) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != lost}
    rewrite(newest(run), members)
    with pytest.raises(FileFormatError, match=f"it lacks .*{lost}"):
        read_checkpoint(run)


def test_one_of_a_later_format_is_refused(run):
    label = '{"format": 3, "steps": 1, "settings": {}}'
    rewrite(newest(run), {"checkpoint.json": label, "model.zip": b"", "state.pickle": pickle.dumps({})})
    with pytest.raises(FileFormatError, match="of format 3; this Pliant reads format 2"):
        read_checkpoint(run)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(MissingFileError, match="has no checkpoint to go on from"):
        read_checkpoint(tmp_path)
    with pytest.raises(MissingFileError, match="does not exist"):
        read_checkpoint(tmp_path / "000000000100.zip")


def test_other_settings_are_refused_each_by_name():
    check_settings(checkpoint(), SETTINGS)
    with pytest.raises(MismatchError) as caught:
        check_settings(checkpoint(), {"env": {"id": "arm", "options": {"period": 0.01}}, "seed": 1})
    assert "settings.env.options.period: 0.02 in the file, 0.01 here" in str(caught.value)
    assert "settings.seed: 0 in the file, 1 here" in str(caught.value)
