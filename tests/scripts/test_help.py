"""`pliant VERB --help` with words of the user's own, which the quick way around the verb does not know."""

import pytest


@pytest.fixture
def leg(tmp_path):
    (tmp_path / "leg.yaml").write_text("model: leg.xml\nperiod: 0.01\njoints: {hip: native}\n")
    (tmp_path / "conf" / "task").mkdir(parents=True)
    (tmp_path / "conf" / "task" / "mine.yaml").write_text("# Stand.\ndefaults: [reach]\nhold: 0.2 # so long, s\n")


def rows(text, name):
    """The rows of a section, by their first words."""
    part = text.partition(f"\n{name}.…:")[2].partition("\n\n")[0]
    return {line.split()[0]: " ".join(line.split()[1:]) for line in part.splitlines()[1:] if line.strip()}


def test_a_robot_of_ones_own_is_explained(verb, leg):
    status, out, _ = verb("train", "robot=./leg.yaml", "--help")
    assert status == 0
    assert "robot=… (leg):" in out
    shown = rows(out, "robot")
    assert shown["model"].startswith("leg.xml an MJCF or URDF file")
    assert shown["period"] == "0.01 time from one command to the next, s"
    assert shown["joints"].startswith("what drives the joints, by name or glob")
    assert shown["joints.hip"] == "native"


def test_a_folder_of_ones_own_is_looked_into(verb, leg):
    status, out, _ = verb("train", "--config-dir", "conf", "task=mine", "--help")
    assert status == 0
    assert "\ntask.…: Stand." in out
    assert rows(out, "task")["hold"] == "0.2 so long, s"
    choices = out.partition("\ntask=… (mine):\n")[2].splitlines()
    assert choices[0].split() == ["mine", "Stand."]
    assert choices[1].split()[0] == "press"


def test_the_values_given_are_shown(verb):
    status, out, _ = verb("ilc", "ilc.gain=0.3", "-h")
    assert (status, rows(out, "ilc")["gain"]) == (0, "0.3 of the first trial, rad per rad")


def test_a_choice_that_does_not_exist_has_no_help(verb):
    status, out, err = verb("ilc", "robot=arm3", "--help")
    assert (status, out) == (2, "")
    assert "unknown robot 'arm3'. Did you mean 'arm5' or 'arm2'" in err


def test_the_settings_as_yaml_are_hydras(verb):
    status, out, _ = verb("ilc", "--cfg", "job")
    assert status == 0
    assert "  gain: 0.5\n" in out
