"""`pliant gait`: a trial, a search, what it leaves behind, and what it refuses."""

import json

import pytest
from omegaconf import OmegaConf

from pliant.deployment.controller import build_controller
from pliant.envs.gait_trial import try_gaits
from pliant.errors import OutOfBoundsError, UnknownNameError
from pliant.hardware.robot import Channel, RobotInfo

QUICK = ("robot.model.settle=0.2", "duration=3.5")
SEARCH = (*QUICK, "controller=matsuoka", "search.parameters={controller.speed: [0.02, 0.1]}", "search.batch=2")


def numbers(folder):
    return json.loads((folder / "metrics.json").read_text())


def test_a_trial_is_told_and_reported(verb, tmp_path):
    pytest.importorskip("matplotlib")
    status, out, err = verb("gait", *QUICK, "hydra.run.dir=out")
    assert status == 0, err
    found = numbers(tmp_path / "out")
    assert found["kept"] is True
    assert found["speed"] == pytest.approx(0.05, rel=0.2)
    assert f"{found['speed']:.4f} m/s" in out
    assert found["hardest_joint"] in out
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == 5
    assert "No leg touched another one" in page


def test_a_limit_that_is_passed_is_said_and_is_the_status(verb, tmp_path):
    status, out, _ = verb("gait", *QUICK, "limits.torque=0.2", "report.write=false", "hydra.run.dir=out")
    assert status == 1
    assert "not kept" in out
    assert numbers(tmp_path / "out")["violations"][0].endswith("0.2 are allowed")


@pytest.mark.slow
def test_what_a_search_finds_walks_as_it_says(verb, tmp_path):
    pytest.importorskip("optuna")
    pytest.importorskip("matplotlib")
    status, out, err = verb("gait", *SEARCH, "search.trials=4", "hydra.run.dir=found")
    assert status == 0, err
    assert "4 of 4 gaits tried" in out
    best = numbers(tmp_path / "found")["best"]
    assert (tmp_path / "found" / "report.html").read_text().count("<svg") == 2
    status, out, err = verb(
        "gait", *QUICK, "controller=found/best.yaml", "report.write=false", "hydra.run.dir=again"
    )
    assert status == 0, err
    assert numbers(tmp_path / "again")["speed"] == best["speed"]


@pytest.mark.slow
def test_a_search_that_is_interrupted_goes_on(verb, tmp_path, monkeypatch, snapshot):
    pytest.importorskip("optuna")
    calls = []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return try_gaits(*arguments, **options)

    monkeypatch.setattr("pliant.training.gait_search.try_gaits", interrupted)
    status, _, err = verb("gait", *SEARCH, "search.trials=6", "hydra.run.dir=first")
    assert status == 130
    assert "2 of 6 gaits tried; go on with: pliant gait resume=" in err
    first = json.loads((tmp_path / "first" / "trials.json").read_text())["trials"]
    assert len(first) == 2
    assert (tmp_path / "first" / "best.yaml").is_file()
    before = snapshot(tmp_path / "first")
    status, _, err = verb("gait", "resume=first", "controller.speed=0.04", "hydra.run.dir=other")
    assert status == 2
    assert "search.usual.controller.speed: 0.03 in the file, 0.04 here" in err
    status, out, err = verb(
        "gait", "resume=first", "search.trials=3", "report.write=false", "hydra.run.dir=second"
    )
    assert status == 0, err
    assert "going on after 2 trials" in out
    second = json.loads((tmp_path / "second" / "trials.json").read_text())["trials"]
    assert second[:2] == first
    assert len(second) == 3
    assert snapshot(tmp_path / "first") == before


@pytest.mark.slow
def test_a_search_without_a_gait_that_keeps_the_limits_loses_nothing(verb, tmp_path):
    pytest.importorskip("optuna")
    status, out, _ = verb("gait", *SEARCH, "search.trials=2", "limits.torque=0.1", "hydra.run.dir=out")
    assert status == 1
    assert "none of the 2 gaits keeps the limits: 2 × torque beyond the limit." in out
    assert len(json.loads((tmp_path / "out" / "trials.json").read_text())["trials"]) == 2
    assert numbers(tmp_path / "out")["kept"] is False
    assert not (tmp_path / "out" / "best.yaml").exists()


@pytest.mark.slow
def test_a_sweep_is_summed_up(verb, tmp_path):
    swept = ("controller.pattern=tripod,wave", "report.write=false", "hydra.sweep.dir=sweep")
    status, out, err = verb("gait", "--multirun", *QUICK, *swept)
    assert status == 0, err
    speeds = [job["metrics"]["speed"] for job in json.loads((tmp_path / "sweep" / "summary.json").read_text())]
    assert len(speeds) == 2
    assert all(f"{speed:.4g}" in out for speed in speeds)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["search.parameters={controller.strde: [0.1, 0.2]}"], "Did you mean 'controller.stride'"),
        (["search.parameters={controller.stride: [0.2, 0.1]}"], "the second number must be the larger one"),
        (["search.parameters={}"], "a search needs parameters"),
        (["search.sampler=grid", "search.parameters={controller.stride: [0.1, 0.2]}"], "unknown sampler 'grid'"),
        (["objective=sped"], "Did you mean 'speed'"),
        (["limits.torque=-1"], "gait: limit of torque = -1 N·m"),
        (["resume=none"], "run folder none does not exist"),
        (["controller=none.yaml"], "controller's file none.yaml does not exist"),
        (["controller=hopf"], "hopf"),
        (["controller.strde=0.1"], "Did you mean 'stride'"),
        (["robot=arm2"], "no robot whose gait can be tried"),
        (["robot.model.start={front_lef_coxa: 0.1}"], "Did you mean 'front_left_coxa'"),
        ([*QUICK[:1], "controller.stride=0.4"], "gait: no leg can be asked for a stride of 0.4 m"),
        ([*QUICK[:1], "film=film.gif"], "film format"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(verb, tmp_path, words, message):
    status, _, err = verb("gait", *words, "hydra.run.dir=out")
    assert status == 2
    assert message in err
    assert not (tmp_path / "out" / "metrics.json").exists()


SIX_LEGS = tuple(
    f"{end}_{side}_{link}"
    for side in ("left", "right")
    for end in ("front", "middle", "rear")
    for link in ("coxa", "femur", "tibia")
)


@pytest.mark.parametrize(
    ("settings", "joints", "error", "message"),
    [
        (
            {"_target_": "pliant.controllers.gaits.FootGait", "pattern": "tripd"},
            SIX_LEGS,
            UnknownNameError,
            "tripod",
        ),
        (
            {"_target_": "pliant.controllers.gaits.FootGait"},
            SIX_LEGS[3:],
            UnknownNameError,
            "front_left_coxa.*which the gait needs",
        ),
        (
            {
                "_target_": "pliant.controllers.gaits.MatsuokaGait",
                "unit": {"_target_": "pliant.controllers.gaits.MatsuokaUnit", "rise": 2.5},
            },
            SIX_LEGS,
            OutOfBoundsError,
            "rise",
        ),
    ],
)
def test_an_unknown_gait_or_leg_and_a_parameter_out_of_its_working_range_are_named(
    settings, joints, error, message
):
    columns = tuple(Channel(f"{joint}/position", "rad", -2.6, 2.6) for joint in joints)
    info = RobotInfo("six legs", joints, (), columns, period=0.019)
    with pytest.raises(error, match=message):
        build_controller(OmegaConf.create(settings), info)
