"""What can be changed of a motion while it is watched."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant.controllers import Adjustable, Controller
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.targets import with_targets
from pliant.envs.simulation import SimulatedRobot
from pliant.viewing.screens import Controls, watch
from pliant.viewing.sliders import Slider, sliders_of


class Springy(Controller):
    """A controller with a gain and a switch."""

    def __init__(self):
        self.numbers = {"gain": 1.5, "sensing": True}

    @property
    def adjustables(self):
        bounds = {"gain": (0.0, 10.0), "sensing": (0.0, 1.0)}
        return {name: Adjustable(*bounds[name], value) for name, value in self.numbers.items()}

    def _adjust(self, name, value):
        self.numbers[name] = value

    def update(self, state, t):
        return np.zeros(4)


@pytest.fixture
def robot():
    with SimulatedRobot(with_targets(arm2(), {"tip": [0.1, 0.2, 0.3]}), 0.01, signals=["tip"]) as robot:
        yield robot


def by_name(robot, controller=None):
    return {slider.name: slider for slider in sliders_of(robot, controller)}


def test_controller_targets_and_noise_have_sliders(robot):
    names = list(by_name(robot, Springy()))
    assert names == [
        "gain",
        "sensing",
        "tip_target x, m",
        "tip_target y, m",
        "tip_target z, m",
        "noise of positions, rad",
        "noise of speeds, rad/s",
        "noise of tip/position, m",
    ]


def test_a_wish_is_fulfilled_between_periods_and_not_before(robot):
    controller = Springy()
    sliders = by_name(robot, controller)
    sliders["gain"].want(7.0)
    sliders["tip_target y, m"].want(0.5)
    sliders["noise of tip/position, m"].want(0.05)
    assert controller.numbers["gain"] == 1.5
    assert sliders["gain"].value == 7.0, "it shows what was asked for"
    for slider in sliders.values():
        slider.fulfil()
    assert controller.numbers == {"gain": 7.0, "sensing": True}
    np.testing.assert_allclose(robot.target("tip_target")[:3], [0.1, 0.5, 0.3])
    tips = [robot.info.signal(f"tip/position_{axis}") for axis in "xyz"]
    np.testing.assert_array_equal(np.flatnonzero(robot.noise), sorted(tips))


def test_a_slider_follows_what_is_dragged_and_ends_at_its_ends(robot):
    slider = by_name(robot)["tip_target x, m"]
    robot.move_target("tip_target", [0.4, 0.0, 0.0])
    assert slider.value == pytest.approx(0.4)
    slider.want(50.0)
    slider.fulfil()
    assert robot.target("tip_target")[0] == pytest.approx(slider.high) == pytest.approx(1.1)


def test_keys_choose_and_move_sliders_and_text_shows_them():
    values = {"a": 2.0, "b": 0.0}
    controls = Controls(
        sliders=[
            Slider("a, m", 0.0, 5.0, lambda: values["a"], lambda v: values.update(a=v)),
            Slider("b", 0.0, 1.0, lambda: values["b"], lambda v: values.update(b=v), switch=True),
        ]
    )
    controls.press("RightArrow")
    controls.press("RightArrow")
    controls.fulfil()
    assert values == {"a": pytest.approx(2.2), "b": 0.0}
    controls.press("DownArrow")
    controls.press("RightArrow")
    controls.fulfil()
    assert values["b"] == 1.0
    assert controls.slider_lines() == ("  a, m\n> b", "2.2\non")
    controls.press("UpArrow")
    controls.press("UpArrow")
    controls.press("LeftArrow")
    assert controls.slider_lines()[1] == "2.2\noff"
    controls.press("S")
    assert controls.listed
    for key in ("UpArrow", "LeftArrow"):
        Controls().press(key)  # nothing to choose or to move


def test_the_loop_fulfils_wishes_also_while_it_is_paused(robot):
    controls = Controls(paused=True)
    controls.sliders = sliders_of(robot, None)
    motion = SimpleNamespace(robot=robot, advance=pytest.fail, restart=pytest.fail)
    shown = []

    def show():
        shown.append(robot.target("tip_target")[2])
        controls.sliders[2].want(0.6)
        return len(shown) < 3

    watch(motion, SimpleNamespace(show=show), controls, 100.0)
    assert shown[0] == pytest.approx(0.3)
    assert shown[1] == pytest.approx(0.6)
