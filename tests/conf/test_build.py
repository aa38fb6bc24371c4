import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from pliant.conf.build import LEARNED, build
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
    with pytest.raises(ConfigurationError, match=r"'evil\.spring' is of no trusted package"):
        build(settings, "robot", LEARNED)


def test_a_robots_file_runs_no_code(tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    monkeypatch.syspath_prepend(tmp_path)
    for entry in ("evil:spring", {"law": "evil:spring"}, {"drive": "evil:spring"}):
        with pytest.raises(ConfigurationError, match=r"'evil\.spring' is of no trusted package"):
            describe({"model": "leg.xml", "folder": str(tmp_path), "joints": {"*": entry}})
