import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from pliant.conf.build import LEARNED, build, check_trusted
from pliant.controllers import MinimumJerk
from pliant.envs import describe
from pliant.errors import ConfigurationError, OutOfBoundsError, UnknownNameError


def test_a_node_becomes_the_object_it_describes():
    node = OmegaConf.create(
        {"_target_": "pliant.controllers.MinimumJerk", "start": [0.0], "goal": [0.8], "duration": 2.0}
    )
    trajectory = build(node, "trajectory")
    assert isinstance(trajectory, MinimumJerk)
    assert trajectory.position(2.0) == pytest.approx([0.8])


def test_what_the_object_says_of_its_arguments_reaches_the_user():
    with pytest.raises(OutOfBoundsError, match="k1"):
        build({"_target_": "pliant.actuators.laws.qbmove.qbmove", "k1": -1.0}, "law")
    with pytest.raises(UnknownNameError, match="unknown parameter 'kk'"):
        build({"_target_": "pliant.actuators.laws.qbmove.qbmove", "kk": 1.0}, "law")


@pytest.mark.parametrize(
    "node",
    [
        {"_target_": "pliant.nowhere.Nothing"},
        {"_target_": "pliant.controllers.PTypeILC", "gian": 1.0},
        {"_target_": "pliant.controllers.PTypeILC", "gain": "${missing}"},
    ],
)
def test_a_node_that_describes_nothing_is_refused_with_its_place(node):
    with pytest.raises(ConfigurationError, match=r"configuration of robot\.model"):
        build(OmegaConf.create(node), "robot.model")


@pytest.mark.parametrize("trajectory", ["minimum_jerk", "step", "sine", "chirp"])
@pytest.mark.parametrize("ilc", ["p_type", "pd_type", "norm_optimal"])
def test_every_choice_of_the_learning_configuration_builds(trajectory, ilc):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("ilc", overrides=[f"trajectory={trajectory}", f"ilc={ilc}"])
    assert build(config.trajectory, "trajectory").joints == 2
    given = {"pd_type": {"input_gain": 40.0}, "norm_optimal": {"impulse_response": [0.0, 1.0]}}
    assert build(config.ilc, "ilc", **given.get(ilc, {})).initial([[0.0, 0.0]]).shape == (1, 2)


@pytest.mark.parametrize(
    "settings",
    [
        {"_target_": "pliant.actuators.CompliantJoint", "law": "evil:spring", "mode": 3},
        {"_target_": "pliant.actuators.laws.find_law", "name": "evil:spring"},
        {"_target_": "pliant.envs.tasks.make", "terms": [{"term": "evil:spring"}]},
    ],
)
def test_what_is_named_by_module_and_name_is_not_even_imported(settings, tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PLIANT_TARGETS", "my_lab")
    with pytest.raises(
        ConfigurationError, match=r"'evil\.spring' is of no trusted package.*PLIANT_TARGETS=my_lab,evil$"
    ):
        build(settings, "robot", LEARNED)


def test_a_module_that_is_nowhere_is_told_once_and_in_our_words(monkeypatch, caplog):
    monkeypatch.setenv("PLIANT_TARGETS", "nowhere")
    task = {"_target_": "pliant.envs.tasks.compose", "name": "mine", "rewards": {"it": {"term": "nowhere.effort"}}}
    parts = {"observations": {}, "ends": {"time": {"term": "time_up", "duration": 1.0}}}
    with pytest.raises(ConfigurationError, match=r"'nowhere\.effort' cannot be imported.*PYTHONPATH=FOLDER"):
        build({**task, **parts}, "task", LEARNED)
    assert not caplog.records


@pytest.mark.parametrize("module", ["evil", "my-evil", "an evil one", "évil", "a:b"])
def test_a_robots_file_runs_no_code(tmp_path, monkeypatch, module):
    """Python imports modules whose names are no names of Python's."""
    (tmp_path / f"{module}.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(tmp_path)
    for entry in (f"{module}:spring", {"law": f"{module}:a/b"}, {"drive": f"{module}:spring"}):
        with pytest.raises(ConfigurationError, match=rf"'{module}\..*' is of no trusted package"):
            describe({"model": "leg.xml", "folder": str(tmp_path), "joints": {"*": entry}})


def test_a_text_with_a_colon_that_names_no_module_is_a_text():
    check_trusted({"names": ["left:hip/position", "left:hip"], "_target_": "pliant.envs.tasks.compose"}, "task")


def test_hydra_builds_only_callbacks_that_are_trusted(verb, tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("open('canary', 'w').close()\nclass Callback: ...")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "mine.yaml").write_text(
        "defaults: [train, _self_]\nhydra: {callbacks: {evil: {_target_: evil.Callback}}}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for words in (
        ["train", "+hydra.callbacks.evil._target_=evil.Callback"],
        ["ilc", "--multirun", "+hydra.callbacks.evil._target_=evil.Callback"],
        ["train", "--config-dir", "conf", "--config-name", "mine"],
    ):
        status, _, err = verb(*words)
        assert status == 2
        assert "configuration of hydra.callbacks: target 'evil.Callback' is of no trusted package" in err
    assert not (tmp_path / "canary").exists()
