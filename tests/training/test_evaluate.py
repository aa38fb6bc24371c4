import io
import json

import numpy as np
import pytest
from rich.console import Console

from pliant.scripts.evaluate import show
from pliant.training.statistics import Episode, summary


def test_it_says_how_good_a_policy_is_on_seeds_and_on_robots_that_differ(verb, trained, tmp_path):
    status, out, err = verb("evaluate", trained, "episodes=12", "robots=8", "hydra.run.dir=out")
    assert status == 0, err
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    each = {name: [Episode(**e) for e in episodes] for name, episodes in metrics["each"].items()}
    assert [e.seed for e in each["as built"]] == list(range(2_000_000, 2_000_012))
    for suffix, episodes in (("", each["as built"]), ("_randomised", each["randomised"])):
        for name, value in summary(episodes).items():
            assert metrics[f"{name}{suffix}"] == pytest.approx(value)
    assert metrics["success_rate_low"] < metrics["success_rate"] < metrics["success_rate_high"]
    assert [e.reward for e in each["as built"][:8]] != [e.reward for e in each["randomised"]]
    assert "95 % confidence" in out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<svg" in page
    assert "hardest" in page


def test_what_was_found_fits_a_terminal_and_failures_are_told_where_there_are_some():
    episodes = [Episode(k, -1000.5 * (k + 1), 200, None, "") for k in range(20)]
    found, told = summary(episodes), io.StringIO()
    show("as built", found, Console(file=told, soft_wrap=True))
    first, reward, spread = told.getvalue().splitlines()
    assert max(map(len, (first, reward, spread))) <= 80
    assert spread.strip().endswith("-20010.00 to -1000.50; 200 periods")
    assert "of joints" not in told.getvalue()
    told = io.StringIO()
    show("as built", {**found, "failures": 3}, Console(file=told, soft_wrap=True))
    assert told.getvalue().endswith("200 periods, 3 failures of the robot\n")


def test_it_says_which_joint_misses(verb, tmp_path):
    """Nobody moves the arm, so of a motion to 0.8 rad the largest error is near that, but for its weight."""
    task = ("task=track", "task.trajectory.duration=0.4")
    status, out, err = verb("evaluate", "zero", *task, "episodes=2", "robots=0", "hydra.run.dir=out")
    assert status == 0, err
    found = json.loads((tmp_path / "out" / "metrics.json").read_text())
    largest, rms = found["max_error_per_joint"], found["rms_error_per_joint"]
    assert list(largest) == ["shoulder", "elbow"]
    for joint in largest:
        each = [episode["errors"] for episode in found["each"]["as built"]]
        assert largest[joint] == max(errors["max_error"][joint] for errors in each)
        squares = [errors["rms_error"][joint] ** 2 for errors in each]
        assert rms[joint] == pytest.approx(np.sqrt(np.mean(squares)))
        assert 0.6 < largest[joint] < 1.0
        assert f"{joint:8} {largest[joint]:8.4f} {rms[joint]:8.4f}" in out
    assert "error of joints, rad (slides m): largest, root mean square" in out
    assert "largest error of shoulder" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.slow
def test_it_repeats_itself(verb, trained, tmp_path):
    for out in ("one", "two"):
        assert verb("evaluate", trained, "episodes=3", "robots=3", f"hydra.run.dir={out}")[0] == 0
    one, two = ((tmp_path / f / "metrics.json").read_text() for f in ("one", "two"))
    assert one == two


@pytest.mark.slow
def test_robots_can_be_left_out_and_differ_as_much_as_one_likes(verb, trained, tmp_path):
    verb("evaluate", trained, "episodes=2", "robots=0", "hydra.run.dir=none")
    assert list(json.loads((tmp_path / "none" / "metrics.json").read_text())["each"]) == ["as built"]
    rewards = []
    for width in (0.0, 0.5):
        same = [f"randomisation.{name}.{end}=1" for name in ("damping", "friction") for end in ("low", "high")]
        same += ["~randomisation.command_delay", "~randomisation.position_noise"]
        mass = (f"randomisation.mass.low={1 - width}", f"randomisation.mass.high={1 + width}")
        status, _, err = verb(
            "evaluate", trained, "episodes=4", "robots=4", *same, *mass, f"hydra.run.dir=m{width}"
        )
        assert status == 0, err
        each = json.loads((tmp_path / f"m{width}" / "metrics.json").read_text())["each"]
        rewards.append([e["reward"] for e in each["randomised"]])
    assert rewards[0] != rewards[1]


def test_a_sanity_policy_is_judged_too(verb, tmp_path):
    options = (
        "robot=rig1",
        "episodes=2",
        "robots=0",
        "task.duration=0.3",
        "report.write=false",
        "hydra.run.dir=out",
    )
    status, _, err = verb("evaluate", "zero", *options)
    assert status == 0, err
    assert not (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "policy nowhere does not exist"),
        (["zero", "episodes=0"], "episodes"),
        (["zero", "randomisation.mass.low=-1"], "mass"),
        (["zero", "randomisation=wild"], "wild"),
    ],
)
def test_a_wrong_setting_is_explained(verb, arguments, message):
    status, out, err = verb("evaluate", *arguments, "robot=rig1", "hydra.run.dir=out")
    assert status == 2, out
    assert message in err


def test_policies_of_one_environment_are_swept_and_others_run_by_themselves(trained, monkeypatch):
    from pliant.errors import ConfigurationError
    from pliant.training import run_settings

    single = run_settings.named_policy([f"policy={trained}"])
    swept = run_settings.named_policy(["--multirun", f"policy={trained},{trained}"])
    assert [word for word in swept if word not in ("--multirun", f"policy={trained},{trained}")] == [
        word for word in single if word != f"policy={trained}"
    ]
    made = iter([{"environment": {"period": 0.01}}, {"environment": {"period": 0.02}}])
    monkeypatch.setattr(run_settings, "made_for", lambda policy: next(made))
    with pytest.raises(ConfigurationError, match="different environments"):
        run_settings.named_policy(["-m", "policy=a,b"])


def test_a_policy_learned_with_its_robots_own_period_keeps_it(monkeypatch):
    from pliant.training import run_settings

    monkeypatch.setattr(run_settings, "made_for", lambda policy: {"environment": {"task": {"name": "reach"}}})
    monkeypatch.setattr(run_settings, "period_of", lambda policy: 0.019)
    assert "period=0.019" in run_settings.named_policy(["policy=a"])
    assert "period=0.019" not in run_settings.deployed_policy(["policy=a"])  # that of the machine is the robot's


def test_ctrl_c_is_no_traceback(verb, monkeypatch):
    from pliant.training import evaluation

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(evaluation, "run_episode", interrupted)
    status, _, err = verb("evaluate", "policy=zero")
    assert status == 130
    assert "interrupted" in err
