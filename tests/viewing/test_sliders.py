"""What can be changed of a motion while it is watched."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant.controllers import Adjustable, Controller
from pliant.envs.description import describe
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


def test_commands_controller_targets_and_noise_have_sliders(robot):
    names = list(by_name(robot, Springy()))
    assert names == [
        "by hand",
        "shoulder/equilibrium, rad",
        "shoulder/preset, rad",
        "elbow/equilibrium, rad",
        "elbow/preset, rad",
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
    np.testing.assert_allclose(robot.targets.pose("tip_target")[:3], [0.1, 0.5, 0.3])
    tips = [robot.info.signal(f"tip/position_{axis}") for axis in "xyz"]
    np.testing.assert_array_equal(np.flatnonzero(robot.sensor_errors.noise), sorted(tips))


def test_a_slider_of_the_command_shows_it_live_within_the_robots_bounds(robot):
    sliders = by_name(robot)
    for command in ([0.2, 0.3, -0.4, 0.1], [0.1, 0.5, 0.3, 0.2]):
        robot.send(command)
        assert [slider.value for slider in list(sliders.values())[1:5]] == pytest.approx(command)
    bounds = [(slider.low, slider.high) for slider in list(sliders.values())[1:5]]
    assert bounds == [(channel.low, channel.high) for channel in robot.info.command]


def test_a_slider_takes_its_channel_over_and_the_switch_gives_it_back(robot):
    sliders = by_name(robot)
    preset, switch = sliders["elbow/preset, rad"], sliders["by hand"]
    assert not switch.value
    preset.want(0.5)
    preset.fulfil()
    assert switch.value
    assert [name for name, slider in sliders.items() if slider.taken] == ["elbow/preset, rad"]
    np.testing.assert_allclose(robot.send([0.2, 0.3, -0.4, 0.1]), [0.2, 0.3, -0.4, 0.5])
    np.testing.assert_allclose(robot.read().command, [0.2, 0.3, -0.4, 0.5])
    switch.want(0.0)
    switch.fulfil()
    assert not preset.taken
    np.testing.assert_allclose(robot.send([0.2, 0.3, -0.4, 0.1]), [0.2, 0.3, -0.4, 0.1])


def test_the_switch_takes_the_whole_command_over_as_it_is(robot):
    switch = by_name(robot)["by hand"]
    robot.send([0.2, 0.3, -0.4, 0.1])
    switch.want(1.0)
    switch.fulfil()
    np.testing.assert_allclose(robot.send(np.zeros(4)), [0.2, 0.3, -0.4, 0.1])


def test_a_slider_stiffens_its_joint_against_what_the_motion_commands(robot):
    """The law says what the preset makes of the stiffness; the motion commands a slack joint all the time."""
    preset = by_name(robot)["elbow/preset, rad"]

    def settled():
        for _ in range(200):
            robot.send([0.0, 0.1, 0.0, 0.1])
        return robot.read().stiffness

    soft = settled()
    preset.want(0.5)
    preset.fulfil()
    shoulder, elbow = settled() / soft
    assert elbow > 2.0
    assert shoulder == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("name", ["atlas", "hexapod"])
def test_commands_of_other_robots_have_sliders_with_their_units(name):
    robot = describe(name).simulated()
    robot.connect()
    sliders = by_name(robot)
    unit = {"atlas": "l_arm_elx/torque, N·m", "hexapod": "front_left_coxa/position, rad"}[name]
    assert unit in sliders
    assert sum(slider.name.partition(",")[0] in robot.info.command_names for slider in sliders.values()) == len(
        robot.info.command
    )


def test_a_slider_follows_what_is_dragged_and_ends_at_its_ends(robot):
    slider = by_name(robot)["tip_target x, m"]
    robot.targets.move("tip_target", [0.4, 0.0, 0.0])
    assert slider.value == pytest.approx(0.4)
    slider.want(50.0)
    slider.fulfil()
    assert robot.targets.pose("tip_target")[0] == pytest.approx(slider.high) == pytest.approx(1.1)


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


def test_text_marks_what_is_by_hand_and_names_choices(robot):
    sliders = by_name(robot)
    sliders["shoulder/preset, rad"].want(0.25)
    sliders["shoulder/preset, rad"].fulfil()
    chosen = [1]
    choice = Slider("show", 0.0, 1.0, lambda: chosen[0], lambda v: None, choices=("first", "second"))
    controls = Controls(sliders=[choice, sliders["by hand"], sliders["shoulder/preset, rad"]])
    assert controls.slider_lines()[1] == "second\non\n0.25 *"
    choice.step(-1)
    assert choice.text == "first"
    choice.step(-1)
    assert choice.text == "first"


def test_the_loop_fulfils_wishes_also_while_it_is_paused(robot):
    controls = Controls(paused=True)
    controls.sliders = sliders_of(robot, None)
    target = next(slider for slider in controls.sliders if slider.name == "tip_target z, m")
    motion = SimpleNamespace(robot=robot, advance=pytest.fail, restart=pytest.fail)
    shown = []

    def show():
        shown.append(robot.targets.pose("tip_target")[2])
        target.want(0.6)
        return len(shown) < 3

    watch(motion, SimpleNamespace(show=show), controls, 100.0)
    assert shown[0] == pytest.approx(0.3)
    assert shown[1] == pytest.approx(0.6)
