import re
import shlex

import pytest
from hydra import compose, initialize_config_module
from hydra.core.override_parser.overrides_parser import OverridesParser

from pliant.scripts import sweep
from pliant.scripts.main import verbs
from pliant.training.run_settings import bare_word


def commands(root):
    """Every `pliant …` of the page, split into words."""
    blocks = re.findall(
        r"^```sh\n(.*?)^```", (root / "docs" / "training.md").read_text(), re.DOTALL | re.MULTILINE
    )
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("pliant ")]
    assert len(lines) > 20
    return [shlex.split(line, comments=True)[1:] for line in lines]


def first_of_sweeps(overrides):
    """Overrides with the first value of what is swept over, as a job of the sweep would get them."""
    parsed = OverridesParser.create().parse_overrides(overrides)
    simple = []
    for override in parsed:
        if not override.is_sweep_override():
            simple.append(override.input_line)
        elif override.is_interval_sweep():
            simple.append(f"{override.key_or_group}={override.value().start}")
        else:
            simple.append(f"{override.key_or_group}={next(override.sweep_string_iterator())}")
    return simple


def test_every_command_of_the_page_composes(root):
    for plugin in ("joblib_launcher", "submitit_launcher", "optuna_sweeper", "ray_launcher"):
        pytest.importorskip(f"hydra_plugins.hydra_{plugin}")
    for verb, *words in commands(root):
        assert verb in verbs()
        if verb == "sweep":
            continue
        overrides = first_of_sweeps([word for word in bare_word(words) if word != "--multirun"])
        with initialize_config_module("pliant.conf", version_base="1.3"):
            assert compose(verb, overrides=overrides, return_hydra_config=True)


def test_the_options_of_sweep_are_those_of_the_page(root, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["pliant sweep", "--help"])
    with pytest.raises(SystemExit):
        sweep.main()
    shown = capsys.readouterr().out
    for verb, *words in commands(root):
        if verb == "sweep":
            assert all(word in shown for word in words if word.startswith("--"))


def test_the_tables_name_every_choice(root):
    page = (root / "docs" / "training.md").read_text()
    for group in ("env", "task", "algo", "randomisation"):
        (row,) = re.findall(rf"^\| `{group}` \| (.*) \|$", page, re.MULTILINE)
        there = {path.stem for path in (root / "conf" / group).glob("*.yaml")}
        assert there <= set(re.findall(r"`(\w+)`", row))


def test_the_python_of_the_page_runs(root, tmp_path, monkeypatch, verb):
    pytest.importorskip("onnxruntime")
    options = (
        "task.duration=0.1",
        "task.hold=0.04",
        "n_envs=2",
        "algo.n_steps=8",
        "algo.batch_size=16",
        "steps=16",
    )
    status, _, err = verb("train", *options, "evaluation.episodes=2", "report.write=false", "hydra.run.dir=run")
    assert status == 0, err
    assert verb("export", "run", "to=policy.onnx")[0] == 0
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*?)^```", (root / "docs" / "training.md").read_text(), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == 2
    for block in blocks:
        scope = {}
        exec(block, scope)
        assert abs(scope["action"]).max() <= 1.0
