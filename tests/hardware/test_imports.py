import pkgutil
import subprocess
import sys

import pytest

import pliant.hardware
from pliant.errors import MissingExtraError
from pliant.hardware.dynamixel.bus import Bus
from pliant.hardware.recording import Recorder
from pliant.hardware.ur.supervisor import Supervisor

MODULES = [m.name for m in pkgutil.walk_packages(pliant.hardware.__path__, "pliant.hardware.")]


def test_importing_the_drivers_brings_in_nothing_heavy_and_no_simulator():
    code = f"import sys, importlib\nfor name in {MODULES!r}: importlib.import_module(name)\nprint(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert {"pliant.hardware.dynamixel.robot", "pliant.hardware.ur.client"} <= set(loaded)
    heavy = {
        "mujoco",
        "serial",
        "dynamixel_sdk",
        "rtde_control",
        "rtde_receive",
        "mcap",
        "torch",
        "matplotlib",
        "numba",
        "pliant.envs",
    }
    assert not heavy & set(loaded)


@pytest.mark.parametrize(
    ("module", "use", "extra"),
    [
        ("dynamixel_sdk", lambda: Bus("/dev/null").open(), "dynamixel"),
        ("rtde_control", lambda: Supervisor({"host": "127.0.0.1"}, 0.05, 1.0).start(), "ur"),
        ("mcap.writer", lambda: Recorder("/dev/null", None), "recording"),
    ],
)
def test_a_missing_extra_is_named_with_its_cure(monkeypatch, module, use, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "pliant\[{extra}\]"'):
        use()
