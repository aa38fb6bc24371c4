"""Every setting of every verb and of every choice says what it means."""

import math
import re

import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from pliant.conf import reference
from pliant.conf.reference import (
    choice_settings,
    choices,
    groups,
    groups_of_verb,
    is_unit,
    sections,
    verb_settings,
    verbs,
)
from pliant.errors import UnknownNameError
from pliant.scripts import main


def unexplained(settings):
    """Keys that say nothing, or their unit before anything else."""
    return [
        (one.origin, one.key, one.meaning)
        for one in settings
        if not one.named and (not one.meaning or is_unit(re.split(r"[,;:]| \(", one.meaning)[0]))
    ]


@pytest.mark.parametrize("verb", verbs())
def test_every_setting_of_a_verb_has_a_meaning(verb):
    settings = verb_settings(verb)
    assert settings
    assert not unexplained(settings)


@pytest.mark.parametrize("group", groups())
@pytest.mark.slow
def test_every_setting_of_a_choice_has_a_meaning_and_every_choice_a_summary(group):
    for choice in choices(group):
        assert choice.summary, choice
        assert not unexplained(choice_settings(group, choice.name))


def test_a_setting_without_a_meaning_is_seen(tmp_path):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "mine.yaml").write_text(
        "defaults: [reach]\nnovel: 3\nother: 4 # rad\nhold: 1.0 # so long, s\n"
    )
    settings = verb_settings("train", [f"hydra.searchpath=[file://{tmp_path}]", "task=mine"])
    assert [key for _, key, _ in unexplained(settings)] == ["task.novel", "task.other"]
    (hold,) = [one for one in settings if one.key == "task.hold"]
    assert hold == ("task.hold", "1.0", "so long, s", str(tmp_path / "task" / "mine.yaml"), False)


@pytest.mark.parametrize("verb", ["train", "deploy", "gait", "emulate_ur"])
def test_the_defaults_are_those_that_hydra_composes(verb):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose(verb)
    shown = {one.key: one.default for one in verb_settings(verb)}
    for key, text in shown.items():
        value = OmegaConf.select(config, key)
        if isinstance(value, bool | None.__class__):
            assert text.startswith("= ") or text == {True: "true", False: "false", None: "null"}[value], key
        elif isinstance(value, int | float) and not text.startswith("= "):
            assert float(text) == value or math.isnan(value), key
    assert shown["robot.model" if verb != "emulate_ur" else "gap"] == ""


def test_what_a_later_file_says_goes_before_but_for_a_unit_alone():
    settings = {one.key: one for one in choice_settings("controller", "hand_guiding")}
    assert settings["controller.contact.stiffness"].meaning.startswith("of a hand")
    assert settings["controller.limits.distance"].meaning == "from the desired motion, m"
    assert settings["controller.limits.distance"].default == "2.0"
    assert settings["controller.limits.distance"].origin == "controller/hand_guiding.yaml"


def test_what_a_docstring_says_gets_the_unit_of_the_comment():
    settings = {one.key: one for one in choice_settings("trajectory", "minimum_jerk")}
    assert settings["trajectory.goal"].meaning == "angle at `duration`, per joint, rad"


def test_references_are_shown_as_what_they_follow():
    settings = {one.key: one.default for one in verb_settings("ilc")}
    assert settings["robot.model.joints.mode"] == "= robot.mode"
    assert settings["robot.model.preset"] == "= robot.preset"  # ${..preset} in the file
    assert {one.key: one.default for one in verb_settings("deploy", ["robot=hexapod"])}[
        "safety.motion.rad.speed"
    ] == "8.0"


def test_the_experiments_chosen_come_under_their_names():
    keys = {one.key for one in verb_settings("reproduce", ["experiment=step,chirp"])}
    assert {"experiments.step.motor_speed", "experiments.chirp.wide_f1"} <= keys
    assert not any(key.startswith("experiments.sine2") for key in keys)
    (group,) = groups_of_verb("reproduce", ["experiment=step"])
    assert (group.name, group.chosen) == ("experiment", "step")


def test_choices_of_a_verb_are_those_made():
    made = {group.name: group.chosen for group in groups_of_verb("train", ["task=track"])}
    assert made == {"robot": "arm2", "task": "track", "randomisation": "none", "algo": "ppo", "recipe": ""}


def test_sections_are_single_settings_then_nodes_then_groups():
    found = dict(sections(verb_settings("train"), groups_of_verb("train")))
    names = list(found)
    assert names[0] == ""
    assert {"evaluation", "algo"} < set(names)
    assert names.index("evaluation") < names.index("robot") < names.index("task")
    assert sum(map(len, found.values())) == len(verb_settings("train"))


def test_verbs_and_groups_are_those_of_the_command_line():
    assert {verb.partition("_")[0] for verb in verbs()} <= set(main.verbs())
    assert "common" not in groups()
    with pytest.raises(UnknownNameError, match="Did you mean 'train'"):
        verb_settings("trian")
    with pytest.raises(UnknownNameError, match="Did you mean 'robot'"):
        choices("robots")
    with pytest.raises(UnknownNameError, match="unknown choice 'arm3' in robot"):
        choice_settings("robot", "arm3")


@pytest.mark.parametrize("text", ["rad", "N·m·s/rad", "m and rad", "1/s²", "kg·m²", "m/N and rad/(N·m)"])
def test_units(text):
    assert is_unit(text)
    assert not is_unit(f"largest, {text}")
    assert reference._meaning([text], ["Longest way."]) == f"longest way, {text}"
