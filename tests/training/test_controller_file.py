"""Files of a controller's settings."""

import pytest
from hydra import compose, initialize_config_module

from pliant.errors import FileFormatError, MissingFileError
from pliant.training.controller_file import controller_words, write_controller
from pliant.training.run_settings import settings

SETTINGS = {"stride": 0.1, "update": "synchronous", "unit": {"drive": 0.9}, "limits": None}


def composed(words):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose("view", overrides=[word for word in words if not word.startswith("hydra.")])


def test_what_is_written_is_what_is_composed(tmp_path):
    file = write_controller(
        tmp_path / "best.yaml", "matsuoka", {"stride": 0.1, "unit": {"drive": 0.9}}, "two\nlines"
    )
    assert file.read_text().startswith("# two lines\n")
    node = composed(settings([f"controller={file}", "robot=hexapod"])).controller
    assert (node.stride, node.unit.drive, node.unit.rise) == (0.1, 0.9, 1.7)


def test_the_command_line_goes_before_the_file(tmp_path):
    file = write_controller(tmp_path / "best.yaml", "matsuoka", {"stride": 0.1, "update": "published"}, "")
    for words in (
        ["controller.stride=0.05", f"controller={file}"],
        [f"controller={file}", "controller.stride=0.05"],
    ):
        node = composed(settings(words)).controller
        assert (node.stride, node["update"]) == (0.05, "published")


def test_parts_of_gaits_may_be_named(tmp_path):
    rhythm = {"_target_": "pliant.controllers.gaits.Hopf"}
    file = write_controller(tmp_path / "best.yaml", "gait", {"rhythm": rhythm}, "")
    assert "controller.rhythm._target_='pliant.controllers.gaits.Hopf'" in controller_words(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("controller: [", "is no YAML"),
        ("- 1", "must hold `controller: NAME`"),
        ("settings: {stride: 1}", "must hold `controller: NAME`"),
        ("controller: gait\nrobot: hexapod", "and no more"),
        ("controller: ../gait", "a name as of `pliant list` is needed"),
        ("controller: gait\nsettings: 5", "values by name are needed"),
        ("controller: gait\nsettings: {stride: [1]}", "a number or a text is needed"),
        ("controller: gait\nsettings: {'a=b': 1}", "is no setting"),
        ("controller: gait\nsettings: {pattern: '${oc.env:HOME}'}", "holds an interpolation"),
        ("controller: gait\nsettings: {day: 2020-01-01}", "plain data is needed"),
        ("controller: gait\nsettings: {_target_: os.system}", "only parts of pliant.controllers.gaits"),
        ("controller: gait\nsettings: {rhythm: {_target_: pliant.files.write_bytes}}", "only parts of"),
        ("controller: gait\nsettings: !!python/object/apply:os.system ['true']", "is no YAML"),
    ],
)
def test_what_is_more_than_data_is_refused(tmp_path, text, message):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        controller_words(file)


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(MissingFileError, match=r"controller's file .*none\.yaml does not exist"):
        settings([f"controller={tmp_path / 'none.yaml'}"])
