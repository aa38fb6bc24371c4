import json
import shlex

import pytest
from tests.test_documents import blocks

from pliant.controllers import FeedForward
from pliant.controllers.policies import load_policy
from pliant.deployment.controller import build_controller
from pliant.envs.description import described
from pliant.errors import ConfigurationError, UnknownNameError
from pliant.examples.catalogue import FILES, MADE, SETTINGS, example_names, find_example, named_example
from pliant.examples.scores import example_config
from pliant.training.environments import make_environment, policy_info

NAMES = example_names()


def test_there_is_one_of_each_kind_and_all_of_them_are_small():
    examples = [find_example(name) for name in NAMES]
    assert {"reach", "throw", "lift", "hexapod_gait", "hexapod_walk"} <= set(NAMES)
    assert {example.kind for example in examples} == set(FILES)
    files = [file for example in examples for file in example.folder.iterdir()]
    assert sum(file.stat().st_size for file in files) < 5e6
    assert {file.name for file in files} <= {*FILES.values(), MADE, SETTINGS, "example.yaml"}


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_made_it(name):
    made = find_example(name).made
    assert made["command"].startswith("pliant ")
    assert {"pliant", "mujoco", "numpy"} <= made["versions"].keys()
    assert {"seed", "date", "score"} <= made.keys()
    assert "/tmp" not in json.dumps(made)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_fits_the_robot_and_the_environment_of_today(name):
    example = find_example(name)
    if example.kind == "policy":
        pytest.importorskip("onnxruntime")
        env = make_environment(example_config(example, "play"))
        load_policy(example.file, policy_info(env))  # raises where anything differs
        env.close()
    elif example.kind == "feedforward":
        FeedForward.load(example.file).check(described(example_config(example, "deploy").robot).simulated().info)
    else:
        config = example_config(example, "gait")
        info = described(config.robot).simulated().info
        build_controller(config.controller, info).check(info)


def test_the_name_becomes_the_file_and_what_is_given_wins():
    words = named_example("gait", ["example=hexapod_gait", "robot=mine", "duration=2"])
    assert words[-3].startswith("controller='")
    assert words[-3].endswith("hexapod_gait/best.yaml'")
    assert words[-2:] == ["robot=mine", "duration=2"]
    assert not [word for word in words if word.startswith("robot.")]
    assert named_example("play", ["example=lift"])[-1].startswith("policy='")
    assert named_example("deploy", ["example=lift"])[-1].startswith("feedforward='")
    assert named_example("play", ["zero", "task=reach"]) == ["zero", "task=reach"]


def test_what_cannot_be_run_is_explained():
    with pytest.raises(UnknownNameError, match=r"unknown example 'thow'\. Did you mean 'throw'"):
        named_example("play", ["example=thow"])
    with pytest.raises(ConfigurationError, match="is a gait, which play does not take: pliant gait example=hexa"):
        named_example("play", ["example=hexapod_gait"])
    with pytest.raises(ConfigurationError, match=r"example=throw and policy=x\.onnx both say what runs"):
        named_example("play", ["example=throw", "policy=x.onnx"])


def test_an_example_widens_no_safety_layer_but_says_what_to_add():
    with pytest.raises(
        ConfigurationError, match=r"add: safety\.motion\.rad\.speed=30 \S+=1e4 \S+\.step=10$"
    ) as refused:
        named_example("deploy", ["example=throw"])
    words = str(refused.value).rpartition("add: ")[2].split()
    assert named_example("deploy", ["example=throw", *words])[-3:] == words
    given = ["example=throw", "safety.motion.rad.speed=5", *words[1:]]
    assert named_example("deploy", given)[-3:] == given[1:], "whoever says less gets less"
    (shown,) = [line for line in shown_commands() if "deploy example=throw" in line]
    assert shown.split()[3:] == words
    assert not any(word.startswith("safety") for word in named_example("play", ["example=throw"]))


@pytest.mark.slow
def test_the_throw_hits_behind_the_layer_that_the_page_allows(verb):
    pytest.importorskip("onnxruntime")
    (shown,) = [line for line in shown_commands() if "deploy example=throw" in line]
    status, out, err = verb(*shlex.split(shown)[1:], "episodes=1", "run.settle=0.1")
    assert status == 0, err
    assert "predicted by simulation: 1 of 1 episodes succeed" in out


def shown_commands():
    """Lines of the page's blocks."""
    return [line for block in blocks("docs/examples.md", "sh") for line in block.splitlines()]


def test_an_example_plays_at_once(verb):
    pytest.importorskip("onnxruntime")
    status, out, err = verb("play", "example=throw", "episodes=1", "window=false")
    assert status == 0, err
    assert "success" in out


def test_a_feedforward_plays_at_its_own_period(verb):
    status, out, err = verb("play", "example=lift", "episodes=1", "window=false")
    assert status == 0, err
    assert "2000  success" in out  # 20 s at 10 ms


@pytest.mark.parametrize(
    ("name", "words"),
    [("reach", ("episodes=1",)), ("lift", ()), ("hexapod_gait", ("duration=1",))],
)
@pytest.mark.slow
def test_an_example_deploys_at_once(verb, name, words):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("mcap")
    status, _, err = verb("deploy", f"example={name}", *words, "hydra.run.dir=run")
    assert status == 0, err


def test_the_list_names_every_example(verb):
    status, out, _ = verb("list", "examples")
    assert status == 0
    assert all(name in out for name in NAMES)
    assert "100% success" in out
    assert "limits kept: True" in out
    assert find_example("lift").score == f"error {find_example('lift').made['score']['max_error']:.4f} rad at most"
