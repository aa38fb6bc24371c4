import pytest

from pliant.training.reports import write_evaluation_report, write_training_report
from pliant.training.statistics import Episode, summary

pytest.importorskip("matplotlib")


def test_settings_are_written_as_in_their_files_and_are_no_verdicts(tmp_path):
    evaluation = {"steps": 10, **summary([Episode(k, 1.0 + k, 20, k == 0, "") for k in range(4)])}
    metrics = {"robot": "arm2", "task": "reach", "algorithm": "PPO", "reason": "completed", "steps": 20}
    metrics |= {"seconds": 1.0, "best": evaluation, "evaluations": [evaluation]}
    settings = {"report": {"open": False, "write": True}, "resume": None, "steps": 20}
    page = write_training_report(tmp_path, metrics, settings).read_text()
    for row in (
        "<td>report.open</td><td>false</td>",
        "<td>report.write</td><td>true</td>",
        "<td>resume</td><td>null</td>",
        "<td>steps</td><td>20</td>",
    ):
        assert row in page
    assert "class='bad'" not in page


def test_one_episode_has_no_interval_of_its_mean_beside_many_that_have(tmp_path):
    episodes = [Episode(k, float(k), 200, None, "") for k in range(4)]
    conditions = {"as built": episodes[:1], "randomised": episodes}
    found = {name: summary(some) for name, some in conditions.items()}
    page = write_evaluation_report(tmp_path, "zero", conditions, found).read_text()
    assert page.count("95 % confidence interval of the mean reward") == 1
