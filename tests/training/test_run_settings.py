import pytest
import yaml
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from pliant.envs.description import described
from pliant.errors import ConfigurationError, FileFormatError, MissingFileError, UnknownNameError
from pliant.training.run_settings import (
    bare_word,
    environment_settings,
    inherit,
    learned_in,
    nodes_of_run,
    of_run,
    remember,
    settings,
    value_of,
)

EARLIER = ["robot=rig1", "task=reach", "task.hold=0.5", "+robot.extra=1", "steps=100", "seed=3"]
MODEL = """<mujoco><worldbody><body><joint name="hip"/><geom size="0.1" mass="1"/></body></worldbody>
<actuator><motor joint="hip" ctrlrange="-1 1"/></actuator></mujoco>"""


def composed(words, verb="train"):
    """The configuration of a verb with a command line, Hydra's own words apart."""
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose(verb, overrides=list(words))


@pytest.fixture
def leg(tmp_path):
    (tmp_path / "leg.xml").write_text(MODEL)
    (tmp_path / "my leg.yaml").write_text("model: leg.xml\nperiod: 0.004\n")
    return tmp_path / "my leg.yaml"


def test_earlier_settings_come_before_new_ones_and_give_way_to_them():
    assert inherit(["steps=200", "resume=run"], EARLIER) == [*EARLIER[:4], "seed=3", "steps=200", "resume=run"]


def test_a_new_choice_of_a_group_replaces_what_was_set_within_it():
    assert inherit(["task=track"], EARLIER) == ["robot=rig1", *EARLIER[3:], "task=track"]
    assert inherit(["task.hold=0.1"], EARLIER)[1:] == ["task=reach", *EARLIER[3:], "task.hold=0.1"]
    assert "+robot.extra=1" not in inherit(["robot.extra=2"], EARLIER)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["resume=run/a"], "run/a"),
        (["a=1", "resume=x", "resume='run b'"], "run b"),
        (["resume=null"], None),
        (["resumed=x"], None),
        ([], None),
    ],
)
def test_the_last_value_of_a_key_counts(arguments, value):
    assert value_of(arguments, "resume") == value


def test_a_robot_of_ones_own_is_a_choice_that_the_command_line_changes(leg):
    config = composed(settings([f"robot={leg}", "robot.period=0.006", "robot.timestep=0.001"]))
    description = described(config.robot)
    assert description.model.joints == ("hip",)
    assert description.period == 0.006
    assert description.model.spec.option.timestep == 0.001
    assert described(composed(settings([f"robot='{leg.with_name('leg.xml')}'"])).robot).model.joints == ("hip",)


def test_a_robots_file_that_is_not_there_or_not_one_is_refused(tmp_path):
    with pytest.raises(MissingFileError, match=r"leg\.yaml does not exist"):
        settings([f"robot={tmp_path / 'leg.yaml'}"])
    for text, what in (("a: [", "is no YAML"), ("- 1", "must hold entries"), ("a: 1", "does not say which model")):
        (tmp_path / "leg.yaml").write_text(text)
        with pytest.raises(FileFormatError, match=what):
            settings([f"robot={tmp_path / 'leg.yaml'}"])
    (tmp_path / "leg.yaml").write_text("model: x.xml\ndefaults: [other]\n")
    with pytest.raises(FileFormatError, match="'defaults'"):
        settings([f"robot={tmp_path / 'leg.yaml'}"])
    (tmp_path / "leg.yaml").write_text("model: x.xml\njoint: {}\n")
    with pytest.raises(UnknownNameError, match=r"unknown entry 'joint'.*Did you mean 'joints'"):
        described(composed(settings([f"robot={tmp_path / 'leg.yaml'}"])).robot)


def test_what_a_run_remembers_comes_back_and_can_be_changed(tmp_path, leg):
    run = tmp_path / "run"
    (run / ".hydra").mkdir(parents=True)
    words = [f"robot={leg}", "task=reach", "task.hold=0.3", "period=0.008", "steps=10"]
    config = composed(settings(words))
    (run / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(words))
    OmegaConf.save(config, run / ".hydra" / "config.yaml")
    leg.unlink()  # nothing but the model is needed any more
    nodes, others = of_run(run)
    assert others == ["period=0.008", "steps=10"]
    again = composed(remember(inherit(["seed=5"], others), nodes, "run"))
    assert (again.period, again.steps, again.seed, again.task.hold) == (0.008, 10, 5, 0.3)
    assert described(again.robot).period == 0.004
    changed = composed(remember(["robot.period=0.002", "task=track"], nodes, "run"))
    assert changed.robot.period == 0.002
    assert "trajectory" in changed.task
    assert environment_settings(again).keys() == {"robot", "task", "period"}
    only = learned_in("feedforward", [f"feedforward={run / 'feedforward.npz'}"])
    assert described(composed(only, "deploy").robot).model.joints == ("hip",)


def test_what_a_remembered_robot_refers_to_can_still_be_changed():
    first = environment_settings(composed(["robot=arm2", "robot.mode=6"]))
    again = composed(remember(["robot.mode=5"], first, "policy.onnx"))
    assert again.robot.model.joints.mode == 5


def test_a_folder_that_is_no_run_remembers_nothing(tmp_path):
    assert nodes_of_run(tmp_path) == {}
    assert learned_in("feedforward", [f"feedforward={tmp_path}"]) == [f"feedforward={tmp_path}"]


@pytest.mark.parametrize(
    ("node", "what"),
    [
        ({"a": "${oc.env:HOME}"}, "interpolation"),
        ({"a": {"b": ["x${now:%Y}"]}}, "interpolation"),
        ({"a": "${x.${oc.env:HOME}}"}, "interpolation"),
        ({"defaults": ["x"]}, "'defaults'"),
        ({"a": object()}, "plain data"),
        ({1: 2}, "is no text"),
    ],
)
def test_what_is_remembered_is_data_and_nothing_else(node, what):
    with pytest.raises(FileFormatError, match=what):
        remember([], {"robot": node}, "policy.onnx")


@pytest.mark.parametrize("value", ["${oc.env:HOME}", [1], object()])
def test_a_remembered_value_is_a_number_or_a_text(value):
    with pytest.raises(FileFormatError, match="a number or a text is needed"):
        remember([], {"period": value}, "policy.onnx")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("env=arm2", "robot=arm2"),
        ("env=joint", "robot=rig1"),
        ("env.options.period=0.01", "period=0.01"),
        ("env.options.law=sea", "robot.law=sea"),
        ("env.options.robot.command_delay=0.01", "robot.simulation.command_delay=0.01"),
        ("hardware=dynamixel", "hardware=real"),
    ],
)
def test_an_earlier_spelling_ends_with_the_new_one(old, new):
    with pytest.raises(ConfigurationError, match=f"{old} is written {new} now"):
        settings([old])


def test_a_run_tells_what_it_was_started_with(tmp_path):
    (tmp_path / "run" / ".hydra").mkdir(parents=True)
    record = tmp_path / "run" / ".hydra" / "overrides.yaml"
    record.write_text("- robot=rig1\n- steps=10\n")
    assert of_run(tmp_path / "run") == ({}, ["robot=rig1", "steps=10"])
    record.write_text("{}\n")
    with pytest.raises(FileFormatError, match="list of overrides"):
        of_run(tmp_path / "run")
    record.write_text("a: [")
    with pytest.raises(FileFormatError, match="cannot be read"):
        of_run(tmp_path / "run")


@pytest.mark.parametrize(
    "override",
    [
        "task=../../evil",
        "algo=/tmp/evil",
        "+experiment@_global_=evil",
        "algo@task=ppo",
        "hydra.callbacks.evil._target_=evil.run",
        "+hydra.searchpath=[file:///tmp]",
        "hydra/launcher=evil",
        "seed=${oc.env:HOME}",
        "--config-dir=/tmp",
        "algo/../../evil=x",
    ],
)
def test_what_a_runs_folder_says_of_its_start_is_settings_and_nothing_else(tmp_path, override):
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra" / "overrides.yaml").write_text(yaml.safe_dump(["steps=10", override]))
    with pytest.raises(FileFormatError, match=r"is more than a setting|interpolation"):
        of_run(tmp_path)


def test_options_of_an_environment_of_ones_own_are_remembered():
    words = remember(["env_options.g=8.0"], {"env": "Pendulum-v1", "env_options": {"g": 9.0, "a": [1]}}, "x.onnx")
    config = composed([*words, "policy=x.onnx"], "evaluate")
    assert (config.env, config.env_options) == ("Pendulum-v1", {"g": 8.0, "a": [1]})


def test_a_folder_that_is_no_run_is_refused_with_a_hint(tmp_path):
    with pytest.raises(MissingFileError, match=r"run folder .*nowhere does not exist"):
        of_run(tmp_path / "nowhere")
    with pytest.raises(MissingFileError, match="is not the folder of a run"):
        of_run(tmp_path)
    for name in ("0", "1"):
        (tmp_path / name / ".hydra").mkdir(parents=True)
        (tmp_path / name / ".hydra" / "overrides.yaml").write_text("[]\n")
    with pytest.raises(MissingFileError, match="it holds the runs 0, 1; choose one"):
        of_run(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["runs/a", "seed=1"], ["policy='runs/a'", "seed=1"]),
        (["it's"], ["policy='it\\'s'"]),
        (["policy=a"], ["policy=a"]),
        (["--help"], ["--help"]),
        ([], []),
    ],
)
def test_a_bare_first_word_is_the_policy(arguments, named):
    assert bare_word(arguments) == named
