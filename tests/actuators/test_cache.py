"""Compiled code is kept between processes, per version of everything it depends on, and never in the way."""

import json
import os
import subprocess
import sys

import pytest

from pliant.actuators import cache

COMPILE = """
import json, sys
import mujoco
from pliant.actuators import *
from pliant.actuators import cache, native
spec = mujoco.MjSpec.from_string(sys.argv[1])
add_compliant_joint(spec, "hinge", CompliantJoint(law=sys.argv[2], mode=3))
model = compile_model(spec)
native.readers()
data = mujoco.MjData(model)
data.qpos[0] = 0.1
mujoco.mj_forward(model, data)
hits = [function.cache_hits for function in native._compiled]
print(json.dumps({"hits": sum(hits), "functions": len(hits), "torque": data.qfrc_actuator[0],
                  "folder": str(cache.folder())}))
"""

LAW = """
from pliant.actuators import compliance_law
from their_gain import gain

@compliance_law()
def linear(q: float, theta: float) -> float:
    return -gain() * (q - theta)
"""


@pytest.fixture(scope="module")
def process(pendulum, tmp_path_factory):
    """Return a function that compiles a joint with a law in a new process and tells what the cache did."""
    shared = tmp_path_factory.mktemp("shared") / "cache"

    def run(law="sea", folder=shared, **environment):
        environment = {**os.environ, "PLIANT_CACHE_DIR": str(folder), **environment}
        arguments = [sys.executable, "-c", COMPILE, pendulum().to_xml(), law]
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def first(process):
    """What the first process with an empty cache did."""
    return process()


@pytest.mark.slow
def test_the_second_process_loads_what_the_first_compiled(process, first):
    second = process()
    assert first["hits"] == 0
    assert second["hits"] == second["functions"] == first["functions"] == 7
    assert second["torque"] == first["torque"] == pytest.approx(-1.0)
    assert "shared" in first["folder"]
    another = process("bavs")
    assert another["functions"] - another["hits"] == 3, "only the new law is compiled"


@pytest.mark.slow
def test_a_law_is_compiled_anew_when_a_function_it_calls_elsewhere_has_changed(process, first, tmp_path):
    (tmp_path / "their_law.py").write_text(LAW)
    found = []
    for gain in (2.0, 2.0, 5.0):
        (tmp_path / "their_gain.py").write_text(f"def gain():\n    return {gain}\n")
        told = process(
            "their_law:linear",
            PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
            PYTHONDONTWRITEBYTECODE="1",
        )
        found.append((round(told["torque"], 12), told["functions"] - told["hits"]))
    assert found == [(-0.2, 3), (-0.2, 0), (-0.5, 3)]


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_costs_time_and_nothing_else(process, tmp_path):
    (tmp_path / "file").write_text("in the way")
    found = process(folder=tmp_path / "file" / "cache")
    assert found["folder"] == "None"
    assert found["hits"] == 0
    assert found["torque"] == pytest.approx(-1.0)


class TestFolder:
    @pytest.fixture(autouse=True)
    def anew(self):
        """The folder is looked up anew for the test, and again afterwards."""
        cache.folder.cache_clear()
        yield
        cache.folder.cache_clear()

    def test_it_is_where_the_environment_says(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "own"))
        assert cache.folder().parent == tmp_path / "own"
        cache.folder.cache_clear()
        monkeypatch.delenv("PLIANT_CACHE_DIR")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache.folder().parent == tmp_path / "xdg" / "pliant"

    def test_every_version_of_the_sources_and_libraries_has_its_own(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
        names = {cache.folder().name}
        for module, version in ((cache.mujoco, "9.9.9"), (cache.numba, "9.9.9")):
            cache.folder.cache_clear()
            with monkeypatch.context() as patch:
                patch.setattr(module, "__version__", version)
                names.add(cache.folder().name)
        assert len(names) == 3

    def test_without_one_nothing_is_stored_and_numba_does_not_cache(self, monkeypatch, tmp_path):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path / "file"))
        assert cache.folder() is None
        assert cache.store_source("law.py", "x = 1") is None
        with cache.numba_cache() as caching:
            assert not caching

    def test_a_stored_source_is_written_once(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PLIANT_CACHE_DIR", str(tmp_path))
        path = cache.store_source("law.py", "x = 1\n")
        stamp = path.stat().st_mtime_ns
        assert cache.store_source("law.py", "x = 1\n") == path
        assert path.read_text() == "x = 1\n"
        assert path.stat().st_mtime_ns == stamp
        before = cache.config.CACHE_DIR
        with cache.numba_cache() as caching:
            assert caching
            assert str(path.parent) == cache.config.CACHE_DIR
        assert before == cache.config.CACHE_DIR
