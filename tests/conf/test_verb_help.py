import subprocess
import sys

import pytest

from pliant.conf.reference import choices, groups_of_verb, verb_settings, verbs
from pliant.conf.verb_help import asks_help, quick_help, verb_help


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("verb", verbs())
@pytest.mark.slow
def test_the_help_of_a_verb_fits_80_columns_but_for_commands(verb):
    text = verb_help(verb)
    for line in text.splitlines():
        assert len(line) <= 80 or line.lstrip().startswith(("pliant ", "PYTHONPATH=")), line
    shown = " ".join(text.split())
    for group in groups_of_verb(verb):
        assert f"{group.name}=… ({group.chosen or 'none'}):" in text
        for choice in choices(group.name):
            assert f"{choice.name} {choice.summary}" in shown
    for one in verb_settings(verb):
        assert " ".join(one.meaning.split()) in shown, one
    assert "--cfg job" in text
    assert not any(line.strip().startswith("_") for line in text.splitlines())


def test_the_chosen_settings_are_shown_with_default_and_meaning():
    text = verb_help("ilc", ["trajectory=sine", "trajectory.frequency=0.5"])
    assert "trajectory=… (sine):" in text
    assert "\ntrajectory.…: A sine." in text
    row = next(line for line in text.splitlines() if line.startswith("  frequency"))
    assert row.split() == ["frequency", "0.5", "angular", "frequency,", "per", "joint,", "rad/s"]
    row = next(line for line in text.splitlines() if line.startswith("  max_iterations"))
    assert row.split() == ["max_iterations", "30", "trials", "at", "most"]


def test_a_wide_terminal_is_used_up_to_100_columns(monkeypatch):
    widths = {}
    for columns in (20, 90, 300):
        monkeypatch.setenv("COLUMNS", str(columns))
        table = verb_help("emulate_net_ft").split("Examples:")[0]
        widths[columns] = max(map(len, table.splitlines()))
    assert widths[20] <= 60 < widths[90] <= 90 < widths[300] <= 100


def test_help_that_needs_nothing_but_conf_is_told_from_the_other():
    assert quick_help("ilc", ["--help"]) == verb_help("ilc")
    assert quick_help("ilc", ["robot=rig1", "-h"]) == verb_help("ilc", ["robot=rig1"])
    assert quick_help("emulate", ["ur", "--help"]) == verb_help("emulate_ur")
    for words in (["robot=./leg.yaml"], ["robot=arm3"], ["runs/train/DATE"], ["robot.preset=0.3"]):
        assert quick_help("train", [*words, "--help"]) is None
    assert quick_help("list", ["--help"]) is None
    assert asks_help(["a=1", "-h"])
    assert not asks_help(["help=1"])


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from pliant.scripts.main import main; main(['train', 'task=walk', '--help']); "
        "heavy = ('numpy', 'mujoco', 'numba', 'torch'); "
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "Usage: pliant train [robot=choice …] [key=value …]" in done.stdout
