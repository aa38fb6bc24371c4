import pytest

from pliant.training.reports import write_training_report

pytest.importorskip("matplotlib")


def test_settings_are_written_as_in_their_files_and_are_no_verdicts(tmp_path):
    evaluation = {"steps": 10, "success_rate": 0.5, "success_rate_low": 0.2, "success_rate_high": 0.8}
    evaluation |= {"reward_mean": 1.0, "reward_deviation": 0.1, "episodes": 4}
    metrics = {"robot": "arm2", "task": "reach", "algorithm": "PPO", "reason": "completed", "steps": 20}
    metrics |= {"seconds": 1.0, "best": evaluation, "evaluations": [evaluation]}
    settings = {"report": {"open": False, "write": True}, "resume": None, "steps": 20}
    page = write_training_report(tmp_path, metrics, settings).read_text()
    for row in (
        "<td>report.open</td><td>false</td>",
        "<td>report.write</td><td>true</td>",
        "<td>resume</td><td>null</td>",
        "<td>steps</td><td class='number'>20</td>",
    ):
        assert row in page
    assert "class='bad'" not in page
