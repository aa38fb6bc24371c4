"""What is done on a page arrives in the simulation: checks, each in a process of its own, `page_checks.py NAME`.

MuJoCo's web viewer starts once in a process.
"""

import contextlib
import importlib.util
import itertools
import math
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
from mujoco.studio import messages

from pliant.controllers import Controller
from pliant.envs.fronts import robot_env
from pliant.envs.models.arm2 import arm2
from pliant.envs.models.rig1 import rig1
from pliant.envs.models.targets import with_targets
from pliant.envs.movement import Movement
from pliant.envs.rendering import RenderingError
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.tasks import Reach
from pliant.viewing import web_screen
from pliant.viewing.choices import Choices
from pliant.viewing.motions import LoopedEnvironment, LoopedMovement, demonstration_movement
from pliant.viewing.screens import Controls, free_camera, watch

SPEC = importlib.util.spec_from_file_location("browser", Path(__file__).with_name("browser.py"))
browser = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(browser)


def places():
    """Where the page shows each slider and switch from now on: its left end and its right end, by name."""
    imgui, found = web_screen.imgui, {}

    def recording(draw):
        def drawn(name, *arguments):
            answer = draw(name, *arguments)
            low, high = imgui.GetItemRectMin(), imgui.GetItemRectMax()
            middle = (low.y + high.y) / 2
            found[name] = (low.x, middle), (low.x + web_screen._SLIDER, middle)
            return answer

        return drawn

    for name in ("SliderFloat", "Checkbox"):
        setattr(imgui, name, recording(getattr(imgui, name)))
    return found


class Watched:
    """A motion on a page that a browser has open."""

    def __init__(self, motion, controls, profile):
        self.controls, self.robot = controls, motion.robot
        controls.offer(motion)
        self.screen = web_screen.WebScreen(motion, controls)
        self._over = threading.Event()
        self._loop = threading.Thread(target=watch, args=(motion, self, controls, 1.0))
        self._loop.start()
        self.page = browser.Browser(profile, self.screen.url)

    def show(self):
        return not self._over.is_set() and self.screen.show()

    def change(self, motion):
        self.robot = motion.robot
        self.screen.change(motion)

    def hover(self, place):
        """Go to a place with the mouse and wait until the page knows that something of its own is there."""
        self.page.mouse("mouseMoved", place)
        io = web_screen.imgui.GetIO()
        browser.until(lambda: io.WantCaptureMouse, 30.0, f"nothing at {place} takes the mouse")

    def close(self):
        self._over.set()
        self._loop.join(60.0)
        self.page.__exit__()
        self.screen.close()


def motion_of(model):
    return LoopedMovement(demonstration_movement(SimulatedRobot(model(), 0.01)))


@contextlib.contextmanager
def watched(motion, controls):
    """A motion on a page, once a browser shows it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        seen = Watched(motion, controls, Path(profile))
        try:
            browser.until(lambda: seen.page.picture()[:-50, 220:].mean() > 60.0, 60.0, "the page stays dark")
            yield seen
        finally:
            seen.close()


class Still(Controller):
    """Commands slack joints at rest, all the time."""

    initial_command = (0.0, 0.1, 0.0, 0.1)

    def update(self, state, t):
        return self.initial_command


def still(robot):
    return LoopedMovement(Movement(robot, Still(), math.inf, before=Still.initial_command))


def slider():
    """A slider of the page moves the stiffness of a joint against the controller; the switch gives it back."""
    robot, shown = SimulatedRobot(arm2(), 0.01), places()
    with watched(still(robot), Controls()) as seen:
        seen.page.press("KeyS", "s", 83)
        begin, end = browser.until(lambda: shown.get("elbow/preset, rad"), 30.0, "S shows no sliders")
        soft = robot.read().stiffness.copy()
        seen.hover(begin)
        seen.page.drag(begin, (end[0] - 10.0, end[1]))
        browser.until(lambda: robot.read().stiffness[1] > 3.0 * soft[1], 60.0, "the elbow stays soft")
        assert robot.read().stiffness[0] < 1.2 * soft[0]
        assert list(robot.by_hand.values) == ["elbow/preset"]
        switch = shown["by hand"][0][0] + 8.0, shown["by hand"][0][1]
        seen.hover(switch)
        seen.page.drag(switch, switch)
        browser.until(lambda: robot.read().stiffness[1] < 1.2 * soft[1], 60.0, "the switch does not give it back")
        assert not robot.by_hand.values


def choice():
    """The page shows another robot when it is chosen."""
    made = {name: partial(motion_of, model) for name, model in (("arm2", arm2), ("rig1", rig1))}
    controls = Controls(gauges=False, choices=Choices(made, "arm2"))
    with watched(made["arm2"](), controls) as seen:
        arm = seen.page.picture()[:-50, 220:]
        controls.choices.slider.want(1)
        browser.until(lambda: seen.robot.info.name == "rig1", 60.0, "the loop goes on with the arm")
        browser.until(lambda: seen.screen._page.viewer.model.njnt == 1, 60.0, "the page keeps the arm's model")

        def changed():
            now = seen.page.picture()[:-50, 220:]
            return now.mean() > 60.0 and (np.abs(now - arm) > 40).any(axis=2).mean() > 0.1

        browser.until(changed, 60.0, "the picture is still of the arm")


def drag():
    """Ctrl and the right button move the target that is selected, in the plane of the picture."""
    robot = SimulatedRobot(with_targets(arm2(), {"tip": [0.1, 0.2, 0.3]}), 0.01)
    with watched(still(robot), Controls(gauges=False)) as seen:
        camera, viewer = free_camera(robot.model), seen.screen._page.viewer
        a, e = np.radians([camera.azimuth, camera.elevation])
        forward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        before = robot.targets.pose("tip_target")[:3]
        viewer.perturb.select = robot.model.body("tip_target").id
        shift = itertools.cycle([0.0, 20.0, 40.0])
        seen.page.mouse("mouseMoved", (320.0, 150.0))
        seen.page.key("keyDown", "ControlLeft", "Control", 17, modifiers=2)
        seen.page.mouse("mousePressed", (320.0, 150.0), "right", modifiers=2)

        def moved():
            seen.page.mouse("mouseMoved", (320.0 + next(shift), 150.0), "right", modifiers=2)
            return np.linalg.norm(robot.targets.pose("tip_target")[:3] - before) > 0.005

        browser.until(moved, 60.0, "the target stays where it is")
        across = robot.targets.pose("tip_target")[:3] - before
        assert abs(across @ forward) < 0.3 * np.linalg.norm(across)


def pull():
    """What the page's viewer says is pulled at and dragged arrives at the robot."""
    robot = SimulatedRobot(with_targets(arm2(), {"tip": [0.1, 0.2, 0.3]}), 0.01)
    screen = web_screen.WebScreen(still(robot), Controls())
    try:
        screen.show()
        told, link = mujoco.MjData(robot.model), robot.model.body("link2").id
        told.xfrc_applied[link, 0] = 2.0
        told.mocap_pos[0] = [0.3, 0.1, 0.2]
        states = mujoco.mjtState
        viewer = browser.until(lambda: screen._page.viewer, 30.0, "the viewer does not start")
        viewer.send_to_sim(message(messages.PerturbSnapshot, robot.model, told, states.mjSTATE_XFRC_APPLIED))
        viewer.send_to_sim(message(messages.StateEvent, robot.model, told, states.mjSTATE_MOCAP_POS))
        browser.until(lambda: screen.show() and robot.data.xfrc_applied[link, 0] == 2.0, 30.0, "nothing pulls")
        np.testing.assert_allclose(robot.targets.pose("tip_target")[:3], [0.3, 0.1, 0.2])
        before = robot.read().position.copy()
        for _ in range(20):
            robot.send(robot.info.rest)
            screen.show()
        assert np.abs(robot.read().position - before).max() > 0.02
    finally:
        screen.close()


def marks():
    """The posture that is a task's goal is on the page, green."""
    motion = LoopedEnvironment(robot_env("arm2", Reach(low=1.0, high=1.2)), None, 0)
    with watched(motion, Controls(gauges=False)) as seen:

        def green():
            red, green, blue = np.moveaxis(seen.page.picture()[:-50, 220:], 2, 0)
            return ((green > red + 20) & (green > blue + 20)).mean() > 0.01

        browser.until(green, 60.0, "nothing green is on the page")


def twice():
    """A second web viewer is refused before it hangs, and the process ends as it should."""
    motion = motion_of(rig1)
    screen = web_screen.WebScreen(motion, Controls())
    screen.show()
    screen.close()
    with contextlib.suppress(RenderingError):
        web_screen.WebScreen(motion, Controls())
        raise AssertionError("a second viewer was started")


def message(kind, model, data, parts):
    state = np.empty(mujoco.mj_stateSize(model, int(parts)))
    mujoco.mj_getState(model, data, state, int(parts))
    return kind(state=state, state_sig=int(parts))


if __name__ == "__main__":
    {"slider": slider, "choice": choice, "drag": drag, "pull": pull, "marks": marks, "twice": twice}[sys.argv[1]]()
