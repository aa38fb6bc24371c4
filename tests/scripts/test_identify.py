import json

import pytest

from pliant.controllers.identification import read_report


@pytest.fixture
def recordings(root):
    folder = root.parent / "shared" / "data" / "xl330_pendulum"
    if not folder.is_dir():
        pytest.skip("the recordings of a real XL330 pendulum are not here")
    return folder


@pytest.mark.slow
def test_the_recordings_are_explained_better_than_asked(pliant, recordings, tmp_path):
    done = pliant(
        "identify",
        f"recordings={recordings}",
        "leave_one_gain_out=false",
        "starts=4",
        "hydra.run.dir=out",
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert len(metrics["mae_per_recording_rad"]) == 12
    assert metrics["mae_rad"] < 0.030
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
    ((servo, bench),) = read_report(tmp_path / "out" / "servo.json").values()
    assert servo.values["kt"] > 0
    assert bench["command_delay"] >= 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["recordings=nowhere"], "nowhere"),
        (["recordings=.", "model=m9"], "m9"),
        (["recordings=."], "leave_one_gain_out=false"),
        ([], "recordings"),
    ],
)
def test_wrong_settings_are_explained(pliant, recordings, tmp_path, overrides, message):
    for file in recordings.glob("kp100_sin*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    done = pliant("identify", *overrides, "hydra.run.dir=out")
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
