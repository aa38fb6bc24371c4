import contextlib
import errno
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import FileFormatError, MissingFileError, OutputError
from pliant.files import (
    check_seal,
    ensure_folder,
    existing_file,
    new_file,
    new_folder,
    plain,
    read_npz,
    write_atomically,
    write_json,
    write_npz,
)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


@contextlib.contextmanager
def folder_without_permission():
    """A folder that this process may read and not write, also when the tests run as root."""
    with tempfile.TemporaryDirectory() as outer:
        locked = Path(outer) / "locked"
        locked.mkdir(mode=0o555)
        Path(outer).chmod(0o755)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield locked
        finally:
            if root:
                os.seteuid(0)


def test_a_file_is_written_whole_and_nothing_else_is_left(tmp_path):
    path = write_atomically(tmp_path / "deep" / "er" / "a.bin", lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    assert names(path.parent) == ["a.bin"]


@pytest.mark.parametrize("error", [RuntimeError("halfway"), KeyboardInterrupt()])
def test_an_error_halfway_leaves_the_old_file_and_passes_through(tmp_path, error):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def write(file):
        file.write(b"half of the new con")
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, write)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "choose another place"),
    ],
)
def test_a_failing_disk_leaves_the_old_file_and_says_what_to_do(tmp_path, monkeypatch, call, number, advice):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(*((os, "fsync") if call == "fsync" else (Path, "replace")), fail)
    with pytest.raises(OutputError, match=advice):
        write_atomically(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_running_out_of_room_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, {"x": np.arange(3)})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OutputError, match="exceed the size allowed"):
            write_npz(path, {"x": np.random.default_rng(0).random(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    np.testing.assert_array_equal(read_npz(path, "data", ["x"], must_be_sealed=False)["x"], np.arange(3))
    assert names(tmp_path) == ["a.npz"]


def test_a_process_killed_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    script = (
        "import os, signal, sys; from pliant.files import write_atomically\n"
        "def write(file):\n"
        "    file.write(b'n' * 100_000); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_atomically(sys.argv[1], write)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_a_link_is_followed_and_kept(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, lambda file: file.write(b"new"))
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_file_gets_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "usual").touch()
    written = write_atomically(tmp_path / "a", lambda file: file.write(b""))
    assert written.stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_folder_is_made_and_may_exist_already(tmp_path):
    for _ in range(2):
        assert ensure_folder(tmp_path / "a" / "b").is_dir()
    assert names(tmp_path / "a" / "b") == []


def test_a_folder_without_permission_is_refused():
    with folder_without_permission() as locked:
        for folder in (locked, locked / "new"):
            with pytest.raises(OutputError, match=r"locked.*may not write there"):
                ensure_folder(folder)
        with pytest.raises(OutputError, match="may not write there"):
            write_json(locked / "metrics.json", {})


def test_a_file_where_a_folder_is_needed_is_refused(tmp_path):
    (tmp_path / "run").write_text("")
    for folder in (tmp_path / "run", tmp_path / "run" / "inner"):
        with pytest.raises(OutputError, match="a file stands where a folder is needed"):
            ensure_folder(folder)


def test_a_folder_where_a_file_is_needed_is_refused(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="a folder of that name exists"):
        write_json(tmp_path / "out", {})
    assert names(tmp_path) == ["out"]


def test_a_name_too_long_is_refused(tmp_path):
    with pytest.raises(OutputError, match="choose a shorter one"):
        write_json(tmp_path / ("x" * 300), {})


def test_a_new_folder_or_file_gets_a_number_where_the_name_is_taken(tmp_path):
    made = [new_folder(tmp_path / "a" / "run.1").name for _ in range(3)]
    assert made == ["run.1", "run.1_2", "run.1_3"]
    (tmp_path / "film.webp").write_bytes(b"old")
    assert [new_file(tmp_path / "film.webp").name for _ in range(2)] == ["film_2.webp", "film_3.webp"]
    assert (tmp_path / "film.webp").read_bytes() == b"old"
    with pytest.raises(OutputError, match="cannot make"):
        new_folder(tmp_path / "film.webp" / "run")


def test_processes_that_ask_at_the_same_instant_get_folders_of_their_own(tmp_path):
    """Each makes twenty of the same name, all released at once."""
    script = (
        "import sys; from pliant.files import new_folder\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "for _ in range(20): print(new_folder(sys.argv[1]).name)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    made = [name for process in processes for name in process.communicate()[0].split()]
    assert len(made) == len(set(made)) == 80
    assert set(made) == set(names(tmp_path))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=40)
@given(json_values)
def test_json_comes_back_as_it_was_written(data):
    with tempfile.TemporaryDirectory() as folder:
        assert json.loads(write_json(Path(folder) / "a.json", data).read_text()) == data


def test_numpy_paths_and_numbers_that_are_not_finite_become_plain():
    data = {
        "array": np.array([[1.5, np.nan], [np.inf, -np.inf]]),
        "number": np.float64(0.1),
        "flag": np.bool_(True),
        "count": np.int64(3),
        "path": PurePosixPath("a/b"),
        "tuple": (1, math.nan),
        "set": {"b", "a"},
        4: range(2),
    }
    assert plain(data) == {
        "array": [[1.5, None], [None, None]],
        "number": 0.1,
        "flag": True,
        "count": 3,
        "path": "a/b",
        "tuple": [1, None],
        "set": ["a", "b"],
        "4": [0, 1],
    }


def test_what_json_cannot_hold_is_refused_before_the_old_file_is_touched(tmp_path):
    path = write_json(tmp_path / "a.json", {"old": 1})
    with pytest.raises(TypeError, match="object"):
        write_json(path, {"new": object()})
    assert json.loads(path.read_text()) == {"old": 1}


@pytest.mark.parametrize("compressed", [True, False])
def test_arrays_come_back_bit_for_bit(tmp_path, compressed):
    arrays = {"x": np.random.default_rng(1).normal(size=(50, 2)), "text": np.array("δ = 0.1")}
    path = tmp_path / "a.npz"
    write_npz(path, arrays, compressed=compressed)
    back = read_npz(path, "data", ["x", "text"], must_be_sealed=False)
    assert back["x"].tobytes() == arrays["x"].tobytes()
    assert str(back["text"]) == "δ = 0.1"


def test_a_missing_file_names_the_files_that_are_there(tmp_path):
    write_npz(tmp_path / "wave.npz", {})
    with pytest.raises(MissingFileError, match=r"trajectory .*wav\.npz does not exist; in .* wave\.npz"):
        existing_file(tmp_path / "wav.npz", "trajectory")
    with pytest.raises(MissingFileError, match="looked from"):
        existing_file(tmp_path / "nowhere" / "a.npz", "trajectory")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(FileFormatError, match="is a folder"):
        existing_file(tmp_path, "trajectory")


def test_what_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, {"x": np.random.default_rng(0).random(1000)})
    whole = path.read_bytes()
    for content in (b"", b"hello", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="not a NumPy archive"):
            read_npz(path, "data", ["x"], must_be_sealed=False)


def test_a_damaged_archive_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, {"x": np.zeros(1000)}, compressed=False)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="is damaged: its checksum"):
        read_npz(path, "data", ["x"], must_be_sealed=False)


@pytest.mark.parametrize("compressed", [True, False])
def test_a_sealed_archive_is_as_it_was_written_to_the_last_bit(tmp_path, compressed):
    path = write_npz(tmp_path / "a.npz", {"x": np.arange(10.0), "text": np.array("a")}, compressed=compressed)
    whole = path.read_bytes()
    check_seal(whole, "data")
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError):
            read_npz(path, "data", ["x"], must_be_sealed=True)
    np.savez(path, x=np.zeros(1))
    with pytest.raises(FileFormatError, match="its checksum is not that of its content"):
        read_npz(path, "data", ["x"], must_be_sealed=True)
    assert read_npz(path, "data", ["x"], must_be_sealed=False)["x"].tolist() == [0.0]


def test_pickled_objects_are_never_loaded(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{}], dtype=object))
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_npz(tmp_path / "a.npz", "data", ["x"], must_be_sealed=False)


def test_a_missing_array_is_named_with_those_that_are_there(tmp_path):
    write_npz(tmp_path / "a.npz", {"x": np.zeros(1)})
    with pytest.raises(FileFormatError, match="lacks the array 'y', 'z'; it holds 'x'"):
        read_npz(tmp_path / "a.npz", "data", ["x", "y", "z"], must_be_sealed=False)
