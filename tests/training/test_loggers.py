import csv
import sys
import types

import pytest

from pliant.errors import MissingExtraError, UnknownNameError
from pliant.training.loggers import make_logger


def record(logger):
    logger.record("evaluation/success_rate", 0.5)
    logger.record("time/iterations", 3, exclude="tensorboard")
    logger.record("note", "text")
    logger.dump(step=100)
    logger.close()


def test_files_are_written_into_the_runs_folder(tmp_path):
    record(make_logger(["csv", "tensorboard"], tmp_path, {}, {}))
    with (tmp_path / "progress.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["evaluation/success_rate"]) == 0.5
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = reading.EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    (scalar,) = events.Scalars("evaluation/success_rate")
    assert (scalar.step, scalar.value) == (100, 0.5)
    assert "time/iterations" not in events.Tags()["scalars"]


def test_weights_and_biases_gets_the_numbers_and_the_settings(tmp_path, monkeypatch):
    calls = []

    class Run:
        def log(self, numbers, step):
            calls.append(("log", numbers, step))

        def finish(self):
            calls.append(("finish",))

    module = types.ModuleType("wandb")
    module.init = lambda **options: calls.append(("init", options)) or Run()
    monkeypatch.setitem(sys.modules, "wandb", module)
    record(
        make_logger(["wandb"], tmp_path / "run", {"seed": 3}, {"wandb": {"project": "arms", "mode": "offline"}})
    )
    begin, log, end = calls
    expected = {"dir": str(tmp_path / "run"), "name": "run", "config": {"seed": 3}}
    assert begin[1] == {**expected, "project": "arms", "mode": "offline"}
    assert log == ("log", {"evaluation/success_rate": 0.5, "time/iterations": 3.0}, 100)
    assert end == ("finish",)


def test_weights_and_biases_itself_takes_them(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    record(make_logger(["wandb"], tmp_path, {"seed": 3}, {"wandb": {"project": "arms"}}))
    assert list(tmp_path.rglob("*.wandb"))


def test_mlflow_itself_takes_them(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)  # where it keeps artefacts
    place = f"sqlite:///{tmp_path / 'mlflow.db'}"
    record(
        make_logger(["mlflow"], tmp_path, {"seed": 3}, {"mlflow": {"tracking_uri": place, "experiment": "arms"}})
    )
    (run,) = mlflow.search_runs(experiment_names=["arms"], output_format="list")
    assert run.data.metrics["evaluation/success_rate"] == 0.5
    assert run.info.run_name == tmp_path.name


@pytest.mark.parametrize("name", ["wandb", "mlflow", "tensorboard"])
def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    extra = "train" if name == "tensorboard" else name
    with pytest.raises(MissingExtraError, match=rf'pip install "pliant\[{extra}\]"'):
        make_logger([name], tmp_path, {}, {})


def test_an_unknown_place_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'tensorboard'"):
        make_logger(["tensorbord"], tmp_path, {}, {})
