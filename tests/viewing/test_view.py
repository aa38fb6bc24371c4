import importlib.util
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

import pliant.envs
from pliant.conf.build import build
from pliant.envs.models.arm2 import arm2
from pliant.envs.rendering import RenderingError
from pliant.envs.simulation import SimulatedRobot
from pliant.errors import ConfigurationError, PliantError, UnknownNameError
from pliant.experiments.reproduction import experiment_names
from pliant.experiments.step import StepResponse
from pliant.scripts import view
from pliant.scripts.view import chosen_motion, job, named_subject
from pliant.viewing.motions import LoopedMovement, demonstration, demonstration_movement
from pliant.viewing.screens import Controls, free_camera, watch

SPEC = importlib.util.spec_from_file_location("browser", Path(__file__).with_name("browser.py"))
browser = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(browser)

NO_DISPLAY = {"DISPLAY": "", "WAYLAND_DISPLAY": ""}
SCENE = np.s_[:-50, 220:]
"""The part of a picture of the page that shows the arm alone."""


@pytest.fixture
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def page(tmp_path, port):
    """`pliant view viewer=web` at work; the lines it has printed, and its port."""
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "pliant.scripts.main", "view", "viewer=web", f"port={port}"],
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        browser.until(lambda: "open http" in log.read_text() or process.poll(), 300.0, "no page")
        yield port, log
        process.send_signal(signal.SIGINT)
        assert process.wait(120.0) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def listeners(port):
    """Addresses that listen on a port, as the kernel writes them."""
    rows = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()
    ]
    return [row[1].split(":")[0] for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the kernel does not say who listens")
@pytest.mark.slow
def test_the_page_is_for_this_machine_alone(page, pliant):
    port, log = page
    assert f"http://127.0.0.1:{port}/" in log.read_text()
    assert listeners(port) == ["0100007F"]
    second = pliant("view", "viewer=web", f"port={port}")
    assert second.returncode == 2
    assert f"port {port} of 127.0.0.1 is taken" in second.stderr


@pytest.mark.slow
@pytest.mark.skipif(browser.binary() is None, reason="no Chromium is installed")
def test_a_real_browser_shows_the_arm_moving_and_its_keys_work(page, tmp_path):
    port, _ = page

    def changed(before):
        """Part of the picture that looks different from before, beyond what smoothing makes of a still picture."""
        return (np.abs(shown.picture()[SCENE] - before) > 20).any(axis=2).mean()

    def change(wait=1.0):
        before = shown.picture()[SCENE]
        browser.time.sleep(wait)
        return changed(before)

    with browser.Browser(tmp_path / "profile", f"http://127.0.0.1:{port}/") as shown:
        browser.until(lambda: shown.picture()[SCENE].mean() > 60.0, 60.0, "the page stays dark")
        browser.until(lambda: change() > 0.02, 30.0, "the arm stands still")
        picture = shown.picture()[SCENE]
        assert (picture[..., 2] - picture[..., 0] > 60).mean() > 0.01, "no blue flanges in the picture"
        shown.press("Space", " ", 32)
        browser.until(lambda: change() < 0.001, 30.0, "Space does not pause")
        with_gauges = shown.picture()[SCENE]
        shown.press("Enter", "Enter", 13)
        browser.until(lambda: changed(with_gauges) > 0.02, 30.0, "Enter hides no gauges")
        shown.press("Space", " ", 32)
        browser.until(lambda: change() > 0.02, 30.0, "Space does not go on")


@pytest.mark.slow
def test_a_window_without_a_display_names_the_ways_out(pliant):
    done = pliant("view", **NO_DISPLAY)
    assert done.returncode == 2
    assert "viewer=web" in done.stderr
    assert "viewer=offscreen" in done.stderr


def test_a_film_that_is_not_named_takes_the_place_of_no_other(tmp_path, monkeypatch):
    """And leaves nothing behind where it fails."""
    monkeypatch.chdir(tmp_path)
    config = OmegaConf.create({"film": None, "duration": 1.0, "width": 64, "height": 48, "speed": 1.0})
    written = lambda motion, path, controls, **_: path.write_bytes(b"film") and path  # noqa: E731
    monkeypatch.setattr(view, "film_motion", written)
    motion = SimpleNamespace(duration=1.0)
    assert [view.film(motion, config, None).name for _ in range(2)] == ["motion.webp", "motion_2.webp"]

    def failing(*_, **__):
        raise RenderingError("no OpenGL")

    monkeypatch.setattr(view, "film_motion", failing)
    with pytest.raises(RenderingError):
        view.film(motion, config, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["motion.webp", "motion_2.webp"]


@pytest.mark.slow
def test_a_film_is_written_and_its_gauges_are_seen(pliant, tmp_path):
    small = ("viewer=offscreen", "duration=0.4", "width=96", "height=72")
    done = pliant("view", "rig1", *small, **NO_DISPLAY, MUJOCO_GL="egl")
    if "cannot draw here" in done.stderr:
        pytest.skip("MuJoCo finds no EGL here")
    assert done.returncode == 0, done.stderr
    image = pytest.importorskip("PIL.Image")
    pliant("view", "rig1", *small, "gauges=false", "film=bare.webp", **NO_DISPLAY, MUJOCO_GL="egl")
    with image.open(tmp_path / "motion.webp") as film, image.open(tmp_path / "bare.webp") as bare:
        assert film.n_frames == 10
        pictures = [np.asarray(picture.convert("RGB"), float) for picture in (film, bare)]
    assert np.abs(pictures[0] - pictures[1]).mean() > 1.0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["viewer=tv"], "Valid: native, web, offscreen"),
        (["viewer=web", "port=70000"], "port = 70000 is outside"),
        (["feedforward=none.npz"], "none.npz does not exist"),
        (["feedforward=a.npz", "environment=pliant/CompliantArm2-v0"], "give one of them"),
        (["environment=pliant/Nothing-v0"], "unknown environment"),
        (["robot=rig1", "trajectory=sine"], "moves 2 joints"),
        (["viewer=offscreen", "film=a.gif"], "unknown film format"),
        (["speed=nan"], "speed is nan"),
        (["experiment=step", "variant=sea"], "Valid: qbmove_soft, qbmove_stiff, sea_soft"),
        (["experiment=step", "trajectory=sine"], "experiment and trajectory are motions of their own"),
        (["variant=soft"], "variant=soft is for an experiment"),
        (["experiment=step", "experiment.angle=9"], "step: angle = 9 rad is outside"),
        (["+experiment={_target_:pliant.envs.models.two_link.torque_joints}"], "a tuple, not an Experiment"),
    ],
)
def test_mistakes_are_explained(arguments, complaint):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("view", overrides=arguments)
    with pytest.raises(PliantError, match=complaint):
        job(config)


def test_a_bare_word_is_a_robot_an_experiment_an_environment_or_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lift.npz").touch()
    assert named_subject(["arm5", "viewer=web"]) == ["robot=arm5", "viewer=web"]
    assert named_subject(["sine2", "variant=stiff"]) == ["experiment=sine2", "variant=stiff"]
    assert named_subject(["two_link"]) == ["experiment=two_link"]
    assert named_subject(["two_link_soft"]) == ["robot=two_link_soft"]
    assert named_subject(["pliant/CompliantArm2-v0"]) == ["environment=pliant/CompliantArm2-v0"]
    assert named_subject(["lift.npz"]) == ["feedforward='lift.npz'"]
    assert named_subject(["robot=arm5"]) == ["robot=arm5"]
    with pytest.raises(UnknownNameError, match="Did you mean 'arm5' or 'arm2'"):
        named_subject(["arm3"])
    with pytest.raises(UnknownNameError):
        named_subject(["nowhere"])


@pytest.mark.parametrize("words", [["sine2", "robot.preset=0.6"], ["robot=arm5", "experiment=step"]])
def test_a_robot_beside_an_experiment_is_refused_because_it_would_change_nothing(words):
    with pytest.raises(ConfigurationError, match="brings a robot of its own"):
        named_subject(words)


FILMS = """
import numpy as np
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from PIL import Image
from pliant.envs.rendering import RenderingError
from pliant.experiments.reproduction import experiment_names
from pliant.scripts.view import job
SHORT = {"ilc": ["experiment.trials=2"]}  # what is learned in each more is tested where it is learned
names = experiment_names()
for name in names:
    film = f"{name}.webp"
    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("view", [f"experiment={name}", f"film={film}", "viewer=offscreen", "duration=4.0",
                                  "speed=10.0", "width=64", "height=48", *SHORT.get(name, ())])
    try:
        job(config)
    except RenderingError:
        raise SystemExit(77)
    with Image.open(film) as images:
        assert images.n_frames >= 4, (name, images.n_frames)  # a robot that stands still is one image
        assert np.asarray(images.convert("RGB"), float).std() > 10.0, name
print(len(names), "films")
"""


@pytest.mark.slow
def test_every_experiment_can_be_filmed(tmp_path):
    pytest.importorskip("mink")
    pytest.importorskip("PIL.Image")
    environment = {**os.environ, **NO_DISPLAY, "MUJOCO_GL": "egl"}
    done = subprocess.run(
        [sys.executable, "-c", FILMS], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode == 77:
        pytest.skip("MuJoCo finds no EGL here")
    assert done.returncode == 0, done.stderr
    assert f"{len(experiment_names())} films" in done.stdout


def test_what_is_shown_is_the_motion_of_its_experiment_and_begins_again_after_it():
    experiment = StepResponse(duration=0.3)
    expected = [state.position[0] for state in experiment.movement("sea_soft").states()]
    motion, shown = LoopedMovement(experiment.movement("sea_soft")), []
    for _ in range(2 * len(expected)):
        shown.append(float(motion.robot.data.qpos[0]))
        motion.advance()
    np.testing.assert_array_equal(shown, 2 * expected)


def commands_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "view.md").read_text()
    lines = [shlex.split(line.split("  ")[0]) for line in page.splitlines() if line.startswith("pliant view ")]
    return [line[2:] for line in lines if not {"runs/ilc/DATE", "./arm.yaml"} & set(line)]


@pytest.mark.parametrize("words", commands_of_the_page(), ids=" ".join)
def test_the_pages_commands_show_a_robot(words):
    if "interaction" in words:
        pytest.importorskip("mink")
    pliant.envs.register()
    with initialize_config_module("pliant.conf", version_base="1.3"):
        motion = chosen_motion(compose("view", overrides=named_subject(words)))
    motion.advance()
    assert motion.robot.data.time > 0.0


@pytest.mark.parametrize("name", experiment_names())
def test_the_page_names_the_variants(name):
    page = (Path(__file__).parents[2] / "docs" / "view.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    with initialize_config_module("pliant.conf", version_base="1.3"):
        experiment = build(compose("view", overrides=[f"experiment={name}"]).experiment, "experiment")
    for part in {part for variant in experiment.movements() for part in variant.split("_")}:
        assert part in row


def test_the_demonstration_swings_and_sweeps_within_the_bounds():
    info = SimulatedRobot(arm2()).info
    rows = np.array([demonstration(info.command, t) for t in np.linspace(0.0, 18.0, 200)])
    assert (rows >= info.low).all()
    assert (rows <= info.high).all()
    assert np.ptp(rows[:, 0]) > 1.3
    assert np.ptp(rows[:, 1]) == pytest.approx(info.high[1], rel=1e-3)


class Screen:
    """Shows nothing for a while and presses keys."""

    def __init__(self, presses, controls, robot):
        self.presses, self.controls, self.robot, self.times = presses, controls, robot, []

    def show(self):
        self.times.append(self.robot.data.time)
        if key := self.presses.pop(0):
            self.controls.press(key)
        return bool(self.presses)

    def close(self):
        pass


def test_space_pauses_and_backspace_begins_again():
    robot, controls = SimulatedRobot(arm2()), Controls()
    motion = LoopedMovement(demonstration_movement(robot))
    screen = Screen(["", "", "Space", "", "Space", "", "Backspace", "", ""], controls, robot)
    watch(motion, screen, controls, 0.6)
    np.testing.assert_allclose(screen.times, [0.0, 0.01, 0.02, 0.02, 0.02, 0.03, 0.04, 0.0, 0.01])


def test_a_quick_robot_is_not_drawn_after_every_period():
    controls, movement = Controls(), StepResponse().movement()
    screen = Screen([""] * 4, controls, movement.robot)
    watch(LoopedMovement(movement), screen, controls, 1.0)
    np.testing.assert_allclose(screen.times, [0.0, 0.017, 0.034, 0.051])


def test_the_mouses_camera_begins_where_the_models_first_one_looks():
    model = SimulatedRobot(arm2()).model
    camera, data = free_camera(model), mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    a, e = np.radians([camera.azimuth, camera.elevation])
    forward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    np.testing.assert_allclose(forward, -data.cam_xmat[0].reshape(3, 3)[:, 2], atol=1e-6)
    assert np.linalg.norm(camera.lookat - model.stat.center) < model.stat.extent
