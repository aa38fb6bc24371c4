"""Choosing another motion while one is watched."""

from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pytest
from omegaconf import OmegaConf

from pliant.conf.checks import composed
from pliant.controllers.gaits import Gait
from pliant.envs.description import robot_names
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.rig1 import rig1
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError
from pliant.scripts.view import AS_STARTED, GAITS, other_motions, policy_motion
from pliant.viewing.choices import Choices
from pliant.viewing.motions import LoopedMovement, demonstration_movement
from pliant.viewing.screens import Controls, watch


def motion_of(model):
    return LoopedMovement(demonstration_movement(SimulatedRobot(model, 0.01)))


class Screen:
    """Shows nothing, and at each look does the next of what is to be done."""

    def __init__(self, *deeds):
        self.deeds, self.robots = list(deeds), []

    def show(self):
        if not self.deeds:
            return False
        self.deeds.pop(0)()
        return True

    def change(self, motion):
        self.robots.append(motion.robot)


def test_the_loop_goes_on_with_what_is_chosen_and_offers_its_sliders():
    choices = Choices({"arm": lambda: motion_of(arm2()), "rig": lambda: motion_of(rig1())}, "arm")
    controls = Controls(choices=choices)
    motion = motion_of(arm2())
    controls.offer(motion)
    names = [slider.name for slider in controls.sliders]
    assert names[:3] == ["show", "by hand", "shoulder/equilibrium, rad"]
    assert choices.slider.text == "arm"
    screen = Screen(lambda: controls.sliders[0].step(1), lambda: None, lambda: None, lambda: None)
    watch(motion, screen, controls, 100.0)
    (robot,) = screen.robots
    assert robot.info.name == "rig1"
    assert robot.data.time > 0.0
    assert choices.slider.text == "rig"
    assert [slider.name for slider in controls.sliders][2] == "joint/equilibrium, rad"


def test_one_that_cannot_be_made_is_told_and_what_is_shown_goes_on():
    def fail():
        assert choices.notice == "bad is being made"
        raise ConfigurationError("it is broken.")

    choices = Choices({"arm": lambda: motion_of(arm2()), "bad": fail}, "arm")
    controls, motion = Controls(choices=choices), motion_of(arm2())
    controls.offer(motion)
    screen = Screen(lambda: choices.slider.want(1), lambda: None, lambda: None)
    watch(motion, screen, controls, 100.0)
    assert not screen.robots
    assert controls.notice == "bad cannot be shown: it is broken."
    assert choices.slider.text == "arm"
    assert motion.robot.data.time > 0.0


def test_our_robots_and_every_gait_of_the_group_are_offered():
    offered = other_motions()
    assert {f"robot {name}" for name in robot_names()} <= set(offered)
    group = files("pliant.conf") / "controller"
    walking = set()
    for file in group.iterdir():
        if file.name.endswith(".yaml"):
            target = OmegaConf.create(file.read_text()).get("_target_", "")
            module, _, name = target.rpartition(".")
            made = getattr(__import__(module, fromlist=[name]), name) if module else None
            if isinstance(made, type) and issubclass(made, Gait):
                walking.add(file.name.removesuffix(".yaml"))
    assert {words[0].removeprefix("controller=") for words in GAITS.values()} == walking
    assert {f"gait {name}" for name in GAITS} <= set(offered)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "joints"), [("robot rig1", 1), ("gait wave", 18), ("gait matsuoka", 18)])
def test_a_robot_and_a_gait_are_made_when_they_are_chosen(name, joints):
    motion = other_motions()[name]()
    motion.advance()
    assert len(motion.robot.info.joints) == joints
    assert ("walking" in motion.controller.adjustables) == name.startswith("gait")


def test_a_policy_plays_one_episode_after_another_and_each_is_told():
    told = []
    config = composed("play", ["robot=rig1", "policy=zero", "task.duration=0.1", "task.hold=0.04", "seed=7"])
    motion = policy_motion(config, told.append)
    starts = [motion.robot.read().position.copy()]
    for _ in range(10):
        motion.advance()
        if motion.robot.data.time == 0.0:
            starts.append(motion.robot.read().position.copy())
    assert [(episode.seed, episode.length) for episode in told] == [(7, 5), (8, 5)]
    assert len(starts) == 3
    motion.restart()
    np.testing.assert_array_equal(motion.robot.read().position, starts[0])
    assert np.isfinite([episode.reward for episode in told]).all()


@pytest.mark.slow
def test_the_policies_of_runs_are_found_newest_first_and_play(tmp_path, monkeypatch):
    pytest.importorskip("stable_baselines3")
    runs = tmp_path / "runs" / "train"
    for name in ("2026-01-01", "2026-01-02"):
        (runs / name).mkdir(parents=True)
        (runs / name / "policy.onnx").touch()
    monkeypatch.chdir(tmp_path)
    found = [name for name in other_motions() if name.startswith("policy")]
    assert found == ["policy runs/train/2026-01-02", "policy runs/train/2026-01-01"]
    choices = Choices({AS_STARTED: SimpleNamespace, **other_motions()}, AS_STARTED)
    choices.slider.want(len(choices.slider.choices) - 1)
    choices.slider.fulfil()
    assert choices.another() is None
    assert "policy.onnx is damaged" in choices.notice
