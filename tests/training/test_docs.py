import re
import shlex

import pytest

from pliant.scripts import sweep


def commands(root):
    """Every `pliant …` of the page on sweeps, split into words."""
    page = (root / "docs" / "sweeps.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("pliant ")]
    assert len(lines) > 8
    return [shlex.split(line, comments=True)[1:] for line in lines]


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
    for group in ("robot", "task", "algo", "randomisation"):
        (row,) = re.findall(rf"^\| `{group}` \| (.*) \|$", page, re.MULTILINE)
        there = {path.stem for path in (root / "conf" / group).glob("*.yaml")}
        assert there
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
