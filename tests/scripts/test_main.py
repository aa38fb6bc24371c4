import os
import subprocess
import sys

import pytest

from pliant.scripts.main import main, usage, verbs


def test_help_names_every_verb(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert verbs()
    for verb, summary in verbs().items():
        assert verb in shown
        assert summary in shown
    assert shown.strip() == usage()


def test_an_unknown_verb_is_refused_with_the_known_ones(capsys):
    assert main(["ilk"]) == 2
    message = capsys.readouterr().err
    assert "unknown verb 'ilk'" in message
    assert "Did you mean 'ilc'" in message
    assert "Traceback" not in message


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("robots", marks=pytest.mark.slow),
        "laws",
        "modes",
        "servos",
        "motions",
        "configs",
        "environments",
    ],
)
def test_lists_show_what_there_is(pliant, what):
    done = pliant("list", what)
    assert done.returncode == 0, done.stderr
    expected = {
        "robots": "arm2",
        "laws": "qbmove",
        "modes": "equilibrium_preset",
        "servos": "XL330/m6",
        "motions": "minimum_jerk",
        "configs": "arm2",
        "environments": "pliant/Compliant",
    }
    assert expected[what] in done.stdout


def test_a_display_that_is_gone_is_none():
    code = "from pliant.scripts.main import _has_display; print(_has_display())"
    for gone in ({}, {"DISPLAY": ":99"}, {"WAYLAND_DISPLAY": "wayland-99"}):
        there = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")} | gone
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=there)
        assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_an_unknown_list_is_refused(pliant):
    done = pliant("list", "law")
    assert done.returncode == 2
    assert "unknown list 'law'. Did you mean 'laws'" in done.stderr


def test_importing_the_package_brings_nothing_heavy():
    heavy = ("torch", "matplotlib", "mujoco", "numba", "serial", "scipy", "numpy", "socket")
    code = f"import sys, pliant; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
