import pytest
from hydra import compose, initialize_config_module
from hydra.errors import HydraException

from pliant.conf.messages import check_options, in_our_words, unknown_setting
from pliant.errors import ConfigurationError, UnknownNameError


@pytest.mark.parametrize(
    ("verb", "word", "message"),
    [
        ("train", "task=reech", "unknown task 'reech'. Did you mean 'reach'?"),
        ("view", "robot=arm22", "unknown robot 'arm22'. Did you mean 'arm2' or 'arm5'?"),
        ("view", "robot=arm22", "a file of yours: robot=./leg.yaml."),
        ("deploy", "controller=holt", "one of yours: controller=module:Class."),
        ("train", "hydra/launcher=jolib", "unknown hydra/launcher 'jolib'. Did you mean 'joblib'?"),
        ("deploy", "controler=hold", "unknown setting 'controler' in deploy. Did you mean 'controller'?"),
        ("reproduce", "experimnt=step", "Did you mean 'experiment' or 'experiments'?"),
        ("ilc", "task=reach", "unknown group 'task' in pliant ilc. Valid: robot, trajectory, ilc."),
        ("ilc", "ilc.gian=1", "unknown setting 'gian' in ilc. Did you mean 'gain'? Valid: gain, decay."),
        ("train", "algo.gama=1", "Did you mean 'gamma'? Valid: policy, policy_kwargs,"),
        ("ilc", "~robot.prest", "unknown setting 'prest' in robot. Did you mean 'preset'?"),
        ("ilc", "robot", "'robot' cannot be read (it has no =): write key=value or group=choice;"),
        ("ilc", "trajectory.goal=[0.1,0.2", "'trajectory.goal=[0.1,0.2' cannot be read (no viable alternative"),
    ],
)
def test_a_wrong_word_is_told_with_what_would_be_right(verb, word, message):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        with pytest.raises(HydraException) as caught:
            compose(verb, overrides=[word])
        ours = in_our_words(caught.value, verb, [word])
    assert isinstance(ours, ConfigurationError | UnknownNameError)
    assert message in str(ours)
    assert "\n" not in str(ours)


def test_words_of_hydras_that_are_clear_stay():
    with initialize_config_module("pliant.conf", version_base="1.3"):
        with pytest.raises(HydraException) as caught:
            compose("ilc", overrides=["+robot.preset=0.3"])
        assert in_our_words(caught.value, "ilc", ["+robot.preset=0.3"]) is None


def test_an_option_that_is_none():
    check_options(["--multirun", "--cfg", "job", "--config-dir=here", "-m", "a=--b", "--multi"])
    with pytest.raises(UnknownNameError, match=r"unknown option '--halp'\. Did you mean '--help'"):
        check_options(["a=1", "--halp"])


def test_a_setting_that_does_not_exist_is_told_its_neighbours():
    error = unknown_setting("ilc.gian", "ilc", [])
    assert "unknown setting 'gian' in ilc. Did you mean 'gain'? Valid: gain, decay." in str(error)
    assert "unknown setting 'lerning' in ilc. Did you mean 'learning'" in str(
        unknown_setting("lerning.tolerance", "ilc", [])
    )


def test_settings_inside_one_that_is_null_or_a_value_are_told_so():
    inside_null = unknown_setting("robot.model.joints.elbow.kp", "train", ["robot=ur10e"])
    assert "'elbow' in robot.model.joints, which is null" in str(inside_null)
    assert "'robot.model.joints={elbow: …}'" in str(inside_null)
    inside_value = unknown_setting("robot.model.mode.stiff", "train", ["robot=ur10e"])
    assert "robot.model.mode, which is a value (position)" in str(inside_value)


def test_a_new_entry_of_a_machine_is_told_its_plus():
    error = unknown_setting("robot.machine.force_torque", "deploy", ["robot=arm2"])
    assert "'+robot.machine.force_torque=…'" in str(error)


def test_entries_that_a_setting_does_not_have_are_told_how_to_take_its_place():
    error = unknown_setting("trajectory", "ilc", [])
    assert "'~trajectory' '+trajectory={…}'" in str(error)
    assert "Did you mean" not in str(error)
