import contextlib
import os
import subprocess
import sys

import gymnasium
import mujoco
import numpy as np
import pytest

import pliant.envs  # noqa: F401 (registers)
from pliant.envs.fronts import robot_env
from pliant.envs.models.arm2 import arm2
from pliant.envs.recorded_episode import RecordedEpisode
from pliant.envs.rendering import OffscreenRenderer, RenderingError, Window, update_positions
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.tasks import Throw
from pliant.errors import OutOfBoundsError


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code without a display, in a process of its own, because MuJoCo chooses OpenGL when it is imported."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL")}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment | variables, check=False
    )


PICTURES = """
import gymnasium, numpy as np, pliant.envs
from pliant.envs.rendering import RenderingError
runs = []
for mode in (None, "rgb_array"):
    env = gymnasium.make("pliant/CompliantArm2-v0", render_mode=mode, width=160, height=120).unwrapped
    env.reset(seed=0)
    seen, images = [], []
    for k in range(12):
        seen.append(env.step(np.full(4, 0.5))[0])
        if mode:
            try:
                images.append(env.render())
            except RenderingError:
                raise SystemExit(77)
    runs.append(np.array(seen))
    env.close()
    env.close()
assert images[0].shape == (120, 160, 3) and images[0].dtype == np.uint8
assert images[0].std() > 5.0 and (images[0] != images[-1]).any()
assert (runs[0] == runs[1]).all()
"""


@pytest.mark.slow
def test_a_run_that_is_drawn_is_the_run_that_is_not():
    done = run(PICTURES, MUJOCO_GL="egl")
    if done.returncode == 77:
        pytest.skip("MuJoCo finds no EGL here")
    assert done.returncode == 0, done.stderr


def test_without_a_display_the_error_says_what_to_do():
    code = (
        "import gymnasium, pliant.envs\n"
        "env = gymnasium.make('pliant/CompliantJoint-v0', render_mode='rgb_array')\n"
        "env.reset(seed=0)\n"
        "env.render()"
    )
    done = run(code)
    assert done.returncode == 1
    assert "RenderingError" in done.stderr
    assert "MUJOCO_GL=egl" in done.stderr
    assert "apt install libegl1" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("display", [{}, {"DISPLAY": ":99"}])
def test_without_opengl_every_picture_is_refused_by_name(display):
    code = (
        "import gymnasium, pliant.envs\n"
        "from pliant.envs.rendering import RenderingError\n"
        "for env in [gymnasium.make('pliant/CompliantJoint-v0', render_mode='rgb_array') for _ in range(2)]:\n"
        "    env.reset(seed=0)\n"
        "    for _ in range(2):\n"
        "        try:\n"
        "            env.render()\n"
        "        except RenderingError as error:\n"
        "            print('refused' if 'MUJOCO_GL=egl' in str(error) else error)\n"
        "    env.close()\n"
    )
    done = run(code, **display)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["refused"] * 4


@pytest.mark.slow
def test_the_first_image_is_that_of_every_later_look_at_the_same_state():
    code = (
        "import gymnasium, pliant.envs\n"
        "from pliant.envs.rendering import RenderingError\n"
        "env = gymnasium.make('pliant/CompliantArm2-v0', render_mode='rgb_array')\n"
        "many = gymnasium.make_vec('pliant/CompliantArm2-v0', num_envs=2, render_mode='rgb_array')\n"
        "env.reset(seed=0), many.reset(seed=0)\n"
        "try:\n"
        "    first, *later = [env.render() for _ in range(3)]\n"
        "except RenderingError:\n"
        "    raise SystemExit(77)\n"
        "assert all((image == first).all() for image in later)\n"
        "assert all((a == b).all() for a, b in zip(many.render(), many.render()))\n"
        "assert (many.render()[0] == first).all()\n"
    )
    done = run(code, MUJOCO_GL="egl")
    if done.returncode == 77:
        pytest.skip("MuJoCo finds no EGL here")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("variable", ["DISPLAY", "WAYLAND_DISPLAY"])
def test_a_window_needs_a_display(monkeypatch, variable):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    env = gymnasium.make("pliant/CompliantJoint-v0", render_mode="human")
    with pytest.raises(RenderingError, match=variable):
        env.reset(seed=0)


class Viewer:
    """Stands in for MuJoCo's window."""

    def __init__(self) -> None:
        self.open, self.shown = True, 0
        self.user_scn = mujoco.MjvScene(mujoco.MjModel.from_xml_string("<mujoco/>"), 200)
        self.lock = contextlib.nullcontext

    def is_running(self) -> bool:
        return self.open

    def sync(self) -> None:
        self.shown += 1

    def close(self) -> None:
        self.open = False


def test_a_window_shows_every_period_in_real_time_until_it_is_closed(monkeypatch):
    viewer, slept, now = Viewer(), [], [0.0]

    def sleep(duration: float) -> None:
        slept.append(duration)
        now[0] += duration

    monkeypatch.setattr(Window, "_open", lambda self, data: viewer)
    monkeypatch.setattr("pliant.envs.rendering.time.monotonic", lambda: now[0])
    monkeypatch.setattr("pliant.envs.rendering.time.sleep", sleep)
    env = gymnasium.make("pliant/CompliantJoint-v0", render_mode="human").unwrapped
    env.reset(seed=0)
    for _ in range(5):
        now[0] += 0.005  # what the computer needs
        env.step(np.zeros(2))
    assert viewer.shown == 6
    assert sum(slept) == pytest.approx(5 * 0.015)
    viewer.open = False
    env.step(np.zeros(2))
    assert viewer.shown == 6
    env.close()


def test_a_window_shows_what_a_film_of_the_episode_so_far_would(monkeypatch):
    viewer = Viewer()
    monkeypatch.setattr(Window, "_open", lambda self, data: viewer)
    monkeypatch.setattr("pliant.envs.rendering.time.sleep", lambda duration: None)
    env = robot_env("arm2", Throw(goal=0.95), render_mode="human")
    episode = RecordedEpisode(env)
    env.reset(seed=0)
    episode.see()
    for _ in range(20):
        env.step(np.zeros(env.action_space.shape))
        episode.see()
        marks = episode.marks(len(episode) - 1)
        shown = viewer.user_scn.geoms[: viewer.user_scn.ngeom]
        assert [geom.type for geom in shown] == [mark.kind for mark in marks]
        np.testing.assert_allclose([geom.pos for geom in shown], [mark.position for mark in marks], atol=1e-6)
    env.close()


def test_pictures_show_the_present_and_touch_nothing_else():
    robot = SimulatedRobot(arm2())
    with robot:
        robot.send(robot.info.high)
        before = robot.get_state().integration
        tip = robot.data.site("tip").xpos.copy()
        update_positions(robot.model, robot.data)
        np.testing.assert_array_equal(robot.get_state().integration, before)
        assert (robot.data.site("tip").xpos != tip).any()
        expected = mujoco.MjData(robot.model)
        expected.qpos[:] = robot.data.qpos
        mujoco.mj_forward(robot.model, expected)
        np.testing.assert_array_equal(robot.data.site_xpos, expected.site_xpos)


def test_an_image_needs_pixels():
    with pytest.raises(OutOfBoundsError, match="0×5"):
        OffscreenRenderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 0, 5)
