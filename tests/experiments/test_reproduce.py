import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from omegaconf import OmegaConf
from rich.console import Console

from pliant.conf.build import build
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MissingExtraError,
    OutputError,
    RobotError,
    UnknownNameError,
)
from pliant.experiments.documentation import replaced, write_docs
from pliant.experiments.experiment import Claim, Experiment, Outcome, Source
from pliant.experiments.reproduction import Result, experiment_names, headline, run_experiments
from pliant.experiments.reproduction_report import write_metrics, write_report
from pliant.report import figure
from pliant.scripts.reproduce import overrides, selected, show

FAST = ("step", "steps2")
OURS = ("step", "chirp", "steps2", "sine2", "ilc")
ELSEWHERE = {
    "admittance": "test_tool_runs.py",
    "direct_force": "test_tool_runs.py",
    "hand_guiding": "test_tool_runs.py",
    "hexapod_gait": "test_hexapod.py",
    "hexapod_step": "test_hexapod.py",
    "hexapod_torque": "test_hexapod.py",
    "interaction": "test_interaction.py",
    "task_space_atlas": "test_task_space.py",
    "task_space_ur10": "test_task_space.py",
    "two_link": "test_two_link.py",
    "whole_body": "test_whole_body.py",
}
"""Files with the tests of the other experiments' claims."""


@dataclass(frozen=True)
class Fake(Experiment):
    """Draws a line and claims three things; or cannot be run."""

    title: ClassVar[str] = "A line"
    source: ClassVar[str] = "Nobody 1900, Fig. 1"
    fault: str = ""

    def run(self):
        if self.fault:
            raise RobotError(self.fault)
        claims = (
            Claim("slope", "1 | 2", "1", True, "±1 [unit]", Source.PUBLISHED),
            Claim("height", "3 m", "4 m", np.bool_(False), "±0.5 m"),
            Claim("length", "5 m", "5.1 m", True, "±0.5 m"),
            Claim("end", "it ends", "it does", True, "an end", Source.VERBAL),
            Claim("colour", "–", "blue", None),
        )
        return Outcome(claims, {"slope": 1.0, "none": np.nan}, {"x": np.arange(3.0)}, ("Nothing was assumed.",))

    def movements(self):
        return {}

    def draw(self, outcome, report):
        with figure() as (drawing, axes):
            axes.flat[0].plot(outcome.arrays["x"])
            report.figure(drawing, "A straight line.")
        report.picture(np.zeros((4, 4, 3), np.uint8), "Night.")


@pytest.fixture
def result():
    return Result("fake", Fake(), Fake().run(), {"fault": ""}, 0.1)


def block(text, name):
    """What a run says in a page."""
    found = re.search(rf"<!-- pliant reproduce experiment={name} -->(.*?)<!-- end of {name} -->", text, re.DOTALL)
    assert found is not None, name
    return found[1]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two fast experiments, run as a user would."""
    folder = tmp_path_factory.mktemp("reproduce")
    done = subprocess.run(
        [sys.executable, "-m", "pliant.scripts.main", "reproduce", f"experiment={','.join(FAST)}",
         "hydra.run.dir=out", "docs=docs"],
        cwd=folder, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


@pytest.mark.slow
def test_a_run_writes_data_figures_metrics_and_a_report(run):
    folder, _ = run
    for name in FAST:
        with np.load(folder / "out" / name / "data.npz") as data:
            assert len(data["time"]) > 1000
        assert (folder / "out" / name / f"{name}_1.svg").read_text().startswith("<svg")
        assert (folder / "out" / name / f"{name}_1.png").read_bytes().startswith(b"\x89PNG")
    metrics = json.loads((folder / "out" / "metrics.json").read_text())
    assert list(metrics["experiments"]) == list(FAST)
    assert metrics["published"] == {"agreeing": 0, "judged": 0}
    assert metrics["predicted"] == {"agreeing": 14, "judged": 14}
    assert metrics["verbal"] == {"agreeing": 0, "judged": 0}
    assert metrics["experiments"]["step"]["metrics"]["qbmove_soft_rest_rad"] == pytest.approx(0.5777, abs=1e-3)
    assert metrics["experiments"]["step"]["settings"]["angle"] == 0.8
    page = (folder / "out" / "report.html").read_text()
    assert page.count("<svg") == 3
    assert "No published number to compare with; 14 of 14 predictions" in page


@pytest.mark.slow
def test_it_ends_with_a_table_of_every_claim(run):
    folder, shown = run
    metrics = json.loads((folder / "out" / "metrics.json").read_text())
    for name in FAST:
        for claim in metrics["experiments"][name]["claims"]:
            assert claim["what"] in shown
            assert claim["ours"] in shown
    assert shown.count("agrees") >= 14


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_the_committed_pages_are_true_to_a_fresh_run(run, root, name):
    folder, _ = run
    for page in (f"{name}.md", "index.md"):
        fresh, committed = ((at / page).read_text() for at in (folder / "docs", root / "docs" / "experiments"))
        assert block(fresh, name) == block(committed, name)


def test_every_experiment_is_documented_with_figures_that_exist(root):
    docs = root / "docs" / "experiments"
    index = (docs / "index.md").read_text()
    for name in experiment_names():
        page = (docs / f"{name}.md").read_text()
        assert f"]({name}.md)" in block(index, name)
        figures = re.findall(r"!\[[^\]]+\]\((figures/[^)]+)\)", block(page, name))
        assert figures
        for file in figures:
            assert (docs / file).stat().st_size < 1_000_000
        table = next(part for part in block(index, name).split("\n\n") if part.startswith("| claim"))
        assert table in block(page, name)


@pytest.mark.parametrize("name", OURS)
def test_a_config_file_says_what_the_class_says(root, name):
    experiment = build(OmegaConf.load(root / "conf" / "experiment" / f"{name}.yaml"), name)
    defaults = type(experiment)()
    listed = {key: tuple(v) if isinstance(v, list) else v for key, v in vars(experiment).items()}
    assert listed == vars(defaults)
    written = OmegaConf.load(root / "conf" / "experiment" / f"{name}.yaml")
    assert set(written) == {"_target_", *vars(defaults)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("step", ["step"]),
        ("step,chirp", ["step", "chirp"]),
        ("[ilc, step]", ["ilc", "step"]),
        ("'step,step'", ["step"]),
        ("step,all", None),
        ("all", None),
    ],
)
def test_experiments_are_chosen_by_name_by_list_or_all(text, names):
    assert selected(text) == (list(experiment_names()) if names is None else names)


def test_what_was_chosen_becomes_one_config_each():
    assert overrides(["experiment=step", "docs=x"]) == ["+experiment@experiments.step=step", "docs=x"]
    assert overrides([]) == [f"+experiment@experiments.{name}={name}" for name in experiment_names()]


def test_an_unknown_experiment_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"unknown experiment 'chrip'.*Did you mean 'chirp'.*Valid: all, "):
        selected("step,chrip")
    with pytest.raises(ConfigurationError, match=r"names no experiment\. Valid: all, "):
        selected("[]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["experiment=stepp"], "Did you mean 'step'"),
        (["experiment=step", "experiments.step.angel=1"], "angel"),
        (["experiment=step", "experiments.step.angle=9"], "step: angle = 9 rad is outside"),
        (["experiment=step", "experiments.step._target_=math.hypot"], "experiments.step"),
        (["experiment=step", "docs=file/docs"], "a file stands where a folder is needed"),
        (["experiment=step", "hydra.run.dir=file/out"], "cannot write in the folder"),
    ],
)
def test_a_wrong_setting_is_explained_before_anything_runs(quickly, tmp_path, arguments, message):
    (tmp_path / "file").touch()
    done = quickly("reproduce", "hydra.run.dir=out", *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "agree" not in done.stdout


def test_one_that_cannot_be_run_does_not_stop_the_others(tmp_path, capsys):
    experiments = {"bad": Fake("the arm is lost."), "good": Fake()}
    results, failures = run_experiments(experiments, {"bad": {}, "good": {}}, tmp_path, Console())
    assert [result.name for result in results] == ["good"]
    assert str(failures["bad"]) == "the arm is lost."
    assert "could not be run: the arm is lost." in capsys.readouterr().out
    assert "bad could not be run: the arm is lost." in write_report(tmp_path, results, failures).read_text()
    metrics = json.loads(write_metrics(tmp_path, results, failures).read_text())
    assert metrics["failed"] == {"bad": "the arm is lost."}
    assert metrics["experiments"]["good"]["metrics"] == {"slope": 1.0, "none": None}
    assert metrics["published"] == {"agreeing": 1, "judged": 1}
    assert metrics["predicted"] == {"agreeing": 1, "judged": 2}
    assert metrics["verbal"] == {"agreeing": 1, "judged": 1}


def test_without_matplotlib_there_are_tables_alone(tmp_path, result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = write_report(tmp_path, [result], {}).read_text()
    assert "No figures" in page
    assert "pliant[report]" in page
    assert "Nothing was assumed." in page
    assert "<svg" not in page
    assert result.pictures == []


def test_a_claim_is_shown_with_its_verdict(result, capsys):
    show([result], Console(width=160))
    shown = " ".join(capsys.readouterr().out.split())
    for line in (
        "slope 1 | 2 – 1 ±1 [unit] agrees",
        "height – 3 m 4 m ±0.5 m differs",
        "end it ends (in words) – it does an end agrees",
        "colour – – blue – no verdict",
    ):
        assert line in shown


def test_the_headline_counts_published_numbers_apart_from_predictions_and_words(result, capsys):
    found = "1 of 1 published numbers within their tolerance; 1 of 2 predictions; 1 of 1 verbal claims"
    assert headline([result]) == found
    assert headline([result, result]).startswith("2 of 2 published numbers within their tolerance; 2 of 4 ")
    assert headline([]) == "no published number to compare with"
    show([result], Console(width=160))
    assert found in capsys.readouterr().out


@pytest.mark.parametrize("claim", [("mass", "1 kg", "1 kg", True), ("mass", "–", "1 kg", True, "±1 kg")])
def test_a_verdict_needs_an_expectation_and_a_tolerance(claim):
    with pytest.raises(ConfigurationError, match="claim 'mass' has a verdict, but no expectation or no tolerance"):
        Claim(*claim)


def test_documentation_is_written_around_what_a_person_wrote(tmp_path, result):
    write_report(tmp_path / "out", [result], {})
    write_docs(tmp_path / "docs", [result])
    page = tmp_path / "docs" / "fake.md"
    text = page.read_text()
    assert text.startswith("# A line\n")
    assert "![A straight line.](figures/fake_1.svg)" in text
    assert "| claim | published | predicted | ours | tolerance | verdict |\n|---|---|---|---|---|---|\n" in text
    assert "| slope | 1 \\| 2 | – | 1 | ±1 [unit] | agrees |" in text
    assert "1 of 1 published numbers within their tolerance; 1 of 2 predictions; 1 of 1 verbal claims." in text
    assert {f.name for f in (tmp_path / "docs" / "figures").iterdir()} == {"fake_1.svg", "fake_2.png"}
    page.write_text(
        text.replace("# A line\n", "# A line, by hand\n\nOur words.\n").replace("4 m", "9 m") + "\nEnd.\n"
    )
    write_docs(tmp_path / "docs", [result])
    assert page.read_text() == text.replace("# A line\n", "# A line, by hand\n\nOur words.\n") + "\nEnd.\n"
    once = (tmp_path / "docs" / "index.md").read_text()
    write_docs(tmp_path / "docs", [result])
    assert (tmp_path / "docs" / "index.md").read_text() == once


def test_a_page_without_its_closing_comment_is_refused_and_kept(tmp_path, result):
    (tmp_path / "fake.md").write_text("<!-- pliant reproduce experiment=fake -->\nhalf\n")
    with pytest.raises(FileFormatError, match=r"fake\.md: the comment .* has no '<!-- end of fake -->'"):
        write_docs(tmp_path, [result])
    assert (tmp_path / "fake.md").read_text().endswith("half\n")
    assert replaced("a\n", "n", "b", "").count("b") == 1


def test_results_that_cannot_be_written_are_explained(tmp_path, result):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="a file stands where a folder is needed"):
        write_docs(tmp_path / "file", [result])


def test_a_missing_extra_is_one_experiment_that_cannot_be_run(tmp_path):
    class Heavy(Fake):
        def run(self):
            raise MissingExtraError('needs mink. Install it with: pip install "pliant[kinematics]"')

    results, failures = run_experiments(
        {"heavy": Heavy(), "good": Fake()}, {"heavy": {}, "good": {}}, tmp_path, Console()
    )
    assert len(results) == 1
    assert "pip install" in str(failures["heavy"])


def test_ctrl_c_keeps_what_was_run(tmp_path):
    class Endless(Fake):
        def run(self):
            raise KeyboardInterrupt

    names = ("first", "endless", "last")
    experiments = dict(zip(names, (Fake(), Endless(), Fake()), strict=True))
    results, failures = run_experiments(experiments, {name: {} for name in names}, tmp_path, Console())
    assert [result.name for result in results] == ["first"]
    assert failures == {}
    with pytest.raises(KeyboardInterrupt):  # nothing was
        run_experiments({"endless": Endless()}, {"endless": {}}, tmp_path, Console())


def test_help_shows_examples_and_the_settings_of_what_was_chosen(pliant):
    done = pliant("reproduce", "experiment=step", "--help")
    assert done.returncode == 0
    for expected in ("Examples:", "step.motor_speed", "folder of documentation"):
        assert expected in done.stdout
    assert "wide_f1" not in done.stdout


@pytest.mark.slow
def test_the_arm_of_springs_agrees_with_its_publications(pliant, tmp_path):
    done = pliant("reproduce", f"experiment={','.join(OURS)}", "hydra.run.dir=out", timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert set(metrics["experiments"]) == set(OURS)
    assert metrics["published"] == {"agreeing": 2, "judged": 2}
    assert metrics["predicted"]["agreeing"] == metrics["predicted"]["judged"]
    assert metrics["verbal"] == {"agreeing": 0, "judged": 1}  # see test_ilc.py
    assert metrics["failed"] == {}


def test_the_claims_of_every_other_experiment_are_tried_by_a_test_of_its_own():
    assert {*OURS, *ELSEWHERE} == set(experiment_names())
    for file in ELSEWHERE.values():
        assert re.search(r"claim\.holds", (Path(__file__).parent / file).read_text()), file
