import math

import pytest
from omegaconf import OmegaConf

from pliant.conf.checks import check_settings, usual_settings
from pliant.errors import ConfigurationError, OutOfBoundsError, PliantError

USUAL = {
    "steps": 250000,
    "seed": 0,
    "period": 0.02,
    "policy": None,
    "window": None,
    "report": {"open": False},
    "logging": {"to": ["csv"]},
    "robot": {
        "preset": 0.2,
        "law": None,
        "joints": {"hip": "native", "knee": {"law": "sea", "k": 40}},
        "model": {"_target_": "pliant.envs.models.arm2.arm2", "length": 1, "gravity": True},
        "machine": {"bus": "dynamixel", "watchdog": 0.1, "servos": {"hip": 1}},
    },
    "task": {"low": None, "goal": {"term": "drawn", "signals": "wrist/*"}},
    "controller": {
        "tasks": {"tool": {"level": 1}},
        "limits": {"speed": None, "margin": 0.0},
        "balance": {"margin": 0.02},
    },
    "safety": {"motion": {"rad": {"low": -math.inf}}},
}


def checked(key, value):
    given, usual = (OmegaConf.create(USUAL) for _ in range(2))
    OmegaConf.update(given, key, value, force_add=True)
    check_settings(given, usual)
    return OmegaConf.select(given, key)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("steps", 300),
        ("period", 1),
        ("period", None),
        ("policy", "runs/a"),
        ("window", True),
        ("logging.to", ["csv", "wandb"]),
        ("robot.preset", None),
        ("robot.preset", [0.1, 0.2]),
        ("robot.law", "sea"),
        ("robot.joints.hip", {"law": "sea"}),
        ("robot.joints.knee.k", 42.5),
        ("robot.model.length", 1.5),
        ("robot.machine.servos.hip", [1, 2]),
        ("robot.machine.servos.hip", {"id": 1}),
        ("robot.machine.watchdog", None),
        ("robot.model.name", "new"),
        ("task.low", [0.0, 1.0]),
        ("task.goal.signals", ["wrist/force_x"]),
        ("safety.motion.rad.low", -math.inf),
        ("controller.limits", None),
        ("controller.balance", None),
    ],
)
def test_what_may_be_is_left_as_it_is(key, value):
    assert checked(key, value) == value


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("steps", "abc", "steps is 'abc'; a whole number is needed."),
        ("steps", 1.5, "steps is 1.5; a whole number is needed."),
        ("steps", True, "steps is True; a whole number is needed."),
        ("robot.machine.watchdog", "text", "robot.machine.watchdog is 'text'; a number is needed."),
        ("robot.machine.servos.hip", "1", "robot.machine.servos.hip is '1'; a number is needed."),
        ("robot.machine.bus", [1.5], "robot.machine.bus is [1.5]; a text is needed."),
        ("robot.machine.bus", 3, "robot.machine.bus is 3; a text is needed."),
        ("steps", None, "steps is null; a whole number is needed."),
        ("steps", [1], "steps is [1]; a whole number is needed."),
        ("steps", 0, "steps = 0 is outside"),
        ("seed", 2**40, "seed = 1.09951e+12 is outside"),
        ("period", math.inf, "period is inf; a finite value is needed."),
        ("policy", 3, "policy is 3; a text is needed."),
        ("policy", {"a": 1}, "policy is {'a': 1}; a single value is needed."),
        ("window", "perhaps", "window is 'perhaps'; true or false is needed."),
        ("report", 3, "report is 3; settings by name (open) is needed."),
        ("report.open", 1, "report.open is 1; true or false is needed."),
        ("logging.to", "csv", "logging.to is 'csv'; a list is needed."),
        ("robot.preset", "soft", "robot.preset is 'soft'; a number is needed."),
        ("robot.preset", [0.1, math.nan], "robot.preset[1] is not a number (nan)."),
        ("robot.law", 3, "robot.law is 3; a text is needed."),
        ("robot.joints.knee.k", math.nan, "robot.joints.knee.k is not a number (nan)."),
        ("robot.joints.knee.k", True, "robot.joints.knee.k is True; a number is needed."),
        ("robot.model.gravity", None, "robot.model.gravity is null; true or false is needed."),
        ("robot.model.name", "???", "robot.model.name must be given: robot.model.name=…"),
        ("task.new", {"deep": [math.nan]}, "task.new.deep[0] is not a number (nan)."),
        (
            "controller.limits",
            False,
            "controller.limits is False; settings by name (speed, margin), or null for none, is needed.",
        ),
        ("controller.tasks", None, "controller.tasks is null; settings by name (tool) is needed."),
        ("safety.motion.rad.low", math.nan, "safety.motion.rad.low is not a number (nan)."),
    ],
)
def test_what_may_not_be_is_refused_by_name(key, value, message):
    with pytest.raises(PliantError) as caught:
        checked(key, value)
    assert isinstance(caught.value, ConfigurationError | OutOfBoundsError)
    assert message in str(caught.value)


def test_what_must_be_given_may_be_of_any_kind_but_for_texts():
    usual = OmegaConf.create({"ilc": {"input_gain": "???"}, "trajectory": {"path": "???"}})
    for gain in (1800, [40.0, 60.0]):
        check_settings(
            OmegaConf.create({"ilc": {"input_gain": gain}, "trajectory": {"path": "motion.csv"}}), usual
        )
    for given, message in (
        ({"ilc": {"input_gain": "???"}}, "ilc.input_gain must be given"),
        ({"ilc": {"input_gain": math.nan}}, "ilc.input_gain is not a number"),
        ({"trajectory": {"path": 3}}, "trajectory.path is 3; a text is needed."),
    ):
        with pytest.raises(PliantError, match=message):
            check_settings(OmegaConf.create(given), usual)


def test_a_whole_number_may_be_written_as_another():
    assert checked("steps", 1e5) == 100000
    assert isinstance(checked("steps", 1e5), int)


def test_usual_settings_are_those_of_the_choices_alone():
    usual = usual_settings("train", ["task=track", "algo=sac", "steps=3", "robot.preset=abc", "+task.new=1"])
    assert (usual.steps, usual.robot.preset, usual.task.name) == (60000, 0.2, "track")
    assert "new" not in usual.task
