"""Files from anywhere: what they name is data. None runs code, composes another file or changes a limit."""

import json
import os
import shutil

import pytest
import yaml
from hydra import compose, initialize_config_module

from pliant.envs import describe
from pliant.errors import PliantError
from pliant.files import sealed
from pliant.training.run_settings import deployed_policy, environment_settings, named_policy

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
sb3 = pytest.importorskip("stable_baselines3")

VERBS = {"play": named_policy, "evaluate": named_policy, "deploy": deployed_policy}


def composed(verb, words):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose(verb, overrides=list(words))


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """An untrained policy of one joint, as `pliant train` writes it, and the settings of its environment."""
    from pliant.controllers.policies import SB3Policy, export_onnx
    from pliant.controllers.policy import PolicyInfo
    from pliant.training.environments import make_environment, policy_info

    config = composed("train", ["robot=rig1", "task=reach", "task.duration=0.2"])
    env = make_environment(config)
    model = sb3.PPO("MlpPolicy", env, seed=0, device="cpu", policy_kwargs={"net_arch": [4]})
    environment = environment_settings(config)
    info = PolicyInfo(**vars(policy_info(env)) | {"origin": {"environment": environment}})
    file = tmp_path_factory.mktemp("honest") / "policy.onnx"
    export_onnx(SB3Policy(model, info, None), file)
    return file, environment


@pytest.fixture
def hostile(honest, tmp_path, monkeypatch):
    """Puts another environment into the label of the policy, with a right checksum, beside what it might name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("evil", "my evil"):
        (tmp_path / f"{module}.py").write_text(
            "open('canary', 'w').close()\nclass Thing: ...\ndef run(**_): ...\n"
        )
    (tmp_path / "evil.yaml").write_text(
        "# @package _global_\n"
        "hydra: {callbacks: {evil: {_target_: evil.Thing}}}\n"
        "safety: {hold_time: 0.0, motion: {rad: {speed: 99.0, step: 9.0}}}\n"
    )

    def write(change):
        file, environment = honest
        model = onnx.load(file)
        label = json.loads(next(entry.value for entry in model.metadata_props if entry.key == "pliant"))
        label["info"]["origin"]["environment"] = change({**environment})
        onnx.helper.set_model_props(model, {"pliant": json.dumps(label), "sha256": "0" * 64})
        (tmp_path / "policy.onnx").write_bytes(sealed(model.SerializeToString()))
        return "policy.onnx"

    yield write
    assert not (tmp_path / "canary").exists()


def within(*path, **values):
    """Return a change of an environment: entries put into a node of it."""

    def change(environment):
        node = environment = json.loads(json.dumps(environment))
        for name in path:
            node = node[name]
        node.update(values)
        return environment

    return change


EVIL = {"_target_": "evil.Thing"}
ATTACKS = {
    "a path in place of a task": within(task="../../evil"),
    "the whole path": within(task=os.path.abspath("evil")),  # noqa: PTH100  as in a file
    "a path and a package": within(task="/evil@_global_"),
    "a path in place of a robot": within(robot="../../../evil"),
    "options that are a path": within(env="Pendulum-v1", env_options="../evil"),
    "a module to import": within(env="evil:Env-v0"),
    "a module with a blank": within(env="my evil:Env-v0"),
    "a period with a second line": within(period="0.02 +hydra.callbacks.x._target_=evil.Thing"),
    "an interpolation that runs": within("task", duration="${oc.env:HOME}"),
    "an interpolation for a period": within(period="${oc.env:HOME}"),
    "other files of the group": within("task", defaults=["evil"]),
    "a target": within(task={"_target_": "evil.Thing"}),
    "a target within": within("task", extra=EVIL),
    "a target of ours that writes": within("task", extra={"_target_": "pliant.files.write_bytes"}),
    "a target of the library": within("robot", model={"_target_": "os.system", "command": "touch canary"}),
    "a term": within("task", rewards={"evil": {"term": "evil.run"}}),
    "a term by its path": within("task", rewards={"evil": {"term": "my evil:run"}}),
    "a law": within("robot", law="evil:run"),
    "no settings at all": lambda environment: ["task=../../evil"],
}


OF_NO_MACHINE = ("module", "period", "options")
"""Of what only an environment has; a deployment does not even look at it."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb_name", "attack"),
    [
        *(("play", attack) for attack in ATTACKS),
        *(
            ("deploy", attack)
            for attack in ATTACKS
            if not any(f" {word}" in f" {attack}" for word in OF_NO_MACHINE)
        ),
    ],
)
def test_a_policy_that_names_more_than_data_is_refused(hostile, verb, attack, verb_name):
    file = hostile(ATTACKS[attack])
    status, out, err = verb(verb_name, f"policy={file}", "episodes=1")
    assert status == 2, out
    assert "\npliant: " in f"\n{err}"


@pytest.mark.parametrize("verb_name", VERBS)
def test_nothing_but_the_environment_is_taken_from_a_policy(hostile, honest, verb_name):
    """Other keys than those of an environment are no settings: limits, callbacks and machines stay as they are."""
    others = {
        "safety": {"hold_time": 0.0, "motion": {"rad": {"speed": 99.0}}},
        "hydra": {"callbacks": {"evil": EVIL}},
        "hydra/callbacks": "evil",
        "hardware": "real",
        "port": "/dev/null",
        "policy": "elsewhere",
        "task@_global_": "../evil",
        "+safety.hold_time": 0.0,
    }
    words = [f"policy={hostile(lambda environment: {**environment, **others})}"]
    ours = VERBS[verb_name](words)
    usual = composed(verb_name, [*words, "robot=rig1"])
    found = composed(verb_name, ours)
    assert found.task.duration == honest[1]["task"]["duration"] == 0.2
    for name in found:
        if name not in ("robot", "task", "period"):
            assert found[name] == usual[name], name


def test_a_module_that_the_user_names_too_is_imported(hostile, tmp_path):
    """What the command line says was said by the user; so was what PLIANT_TARGETS trusts."""
    file = hostile(within(env="evil:Env-v0"))
    assert "env='evil:Env-v0'" not in named_policy([f"policy={file}", "env=evil:Env-v0"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLIANT_TARGETS", "evil")
        assert "env='evil:Env-v0'" in named_policy([f"policy={file}"])
    assert not (tmp_path / "canary").exists(), "nothing is imported for that"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.yaml", {"robot": {"model": EVIL}, "task": {"name": "reach"}}),
        ("config.yaml", {"robot": {"law": "${oc.env:HOME}"}}),
        ("config.yaml", {"robot": {"defaults": ["/evil"]}}),
        ("overrides.yaml", ["task=../../../evil"]),
        ("overrides.yaml", ["+hydra.callbacks.evil._target_=evil.Thing"]),
        ("overrides.yaml", ["algo._target_=evil.Thing"]),
        ("overrides.yaml", ["hydra/launcher=evil"]),
    ],
)
def test_the_folder_of_a_run_that_names_more_than_data_is_refused(hostile, verb, tmp_path, name, content):
    run = tmp_path / "run"
    (run / ".hydra").mkdir(parents=True)
    shutil.copy(hostile(lambda environment: environment), run / "feedforward.npz")
    (run / ".hydra" / "overrides.yaml").write_text("[]\n")
    (run / ".hydra" / name).write_text(yaml.safe_dump(content))
    lines = [("train", "resume=run"), ("deploy", "feedforward=run/feedforward.npz"), ("view", "feedforward=run")]
    for verb_name, *words in lines[: 1 if name == "overrides.yaml" else None]:
        status, out, err = verb(verb_name, *words)
        assert status == 2, out
        assert "\npliant: " in f"\n{err}"


@pytest.mark.parametrize(
    "text",
    [
        "model: leg.xml\njoints: {hip: 'evil:run'}\n",
        "model: leg.xml\njoints: {hip: {law: 'my evil:run', mode: 6}}\n",
        "model: {_target_: evil.Thing}\n",
        "model: {_target_: pliant.envs.models.own_robot.Path.touch, self: canary}\n",
        "model: !!python/object/apply:os.system ['touch canary']\n",
        "model: leg.xml\nname: ${oc.env:HOME}\n",
        "model: leg.xml\ndefaults: [/evil]\n",
        "# @package _global_\nmodel: leg.xml\nhydra: {callbacks: {e: {_target_: evil.Thing}}}\n",
    ],
)
@pytest.mark.usefixtures("hostile")
def test_a_robots_file_that_names_more_than_data_is_refused(verb, tmp_path, text):
    (tmp_path / "leg.xml").write_text(
        "<mujoco><worldbody><body><joint name='hip'/><geom size='0.1' mass='1'/></body></worldbody></mujoco>"
    )
    (tmp_path / "leg.yaml").write_text(text)
    for words in (["play", "zero", "robot=./leg.yaml", "episodes=1"], ["ilc", "robot=./leg.yaml"]):
        status, out, err = verb(*words)
        assert status == 2, out
        assert "\npliant: " in f"\n{err}"
    if "oc.env" not in text and "defaults" not in text and "hydra" not in text:  # words of Hydra's
        with pytest.raises(PliantError):
            describe(tmp_path / "leg.yaml")
