import gymnasium
import mujoco
import numpy as np
import pytest

import pliant.envs  # noqa: F401 (registers)
from pliant.envs.fronts import robot_env
from pliant.envs.recorded_episode import RecordedEpisode, RecordedImages, Shot
from pliant.envs.rendering import OffscreenRenderer, RenderingError
from pliant.envs.tasks import Reach, Throw
from pliant.errors import ConfigurationError
from pliant.viewing.episode_film import film, labelled, picture_instants

pytest.importorskip("PIL")
WIDTH, HEIGHT = 96, 72


def resting(task, periods):
    env = robot_env("arm2", task)
    env.reset(seed=5)
    action = np.zeros(env.action_space.shape, dtype=np.float32)
    episode = RecordedEpisode(env)
    episode.see()
    for _ in range(periods):
        env.step(action)
        episode.see()
    episode.go_on(lambda observation: action)
    try:
        with OffscreenRenderer(env.model, 8, 8) as renderer:
            renderer.render(env.data)
    except RenderingError as error:
        pytest.skip(str(error))
    return episode


@pytest.mark.slow
def test_a_film_ends_a_second_after_the_end_and_shows_episodes_side_by_side():
    long, short = resting(Reach(duration=0.4), 20), resting(Reach(duration=0.2), 10)
    shots = [Shot("policy", long, "success"), Shot("untrained", short, "no success")]
    told = []
    images, rate = film(shots, WIDTH, HEIGHT, rate=10.0, note=lambda: told.append(0))
    assert rate == pytest.approx(10.0)
    assert len(images) == len(told) == len(picture_instants(shots, 10.0)) == 15  # 1.4 s
    assert images[0].shape == (HEIGHT, 2 * WIDTH, 3)
    right = [image[20:, WIDTH:] for image in images]
    np.testing.assert_array_equal(right[-1], right[-2])
    assert (images[0][20:, :WIDTH] != images[-1][20:, :WIDTH]).any()


def test_the_goal_is_in_the_picture():
    episode = resting(Reach(low=1.0, high=1.2, duration=0.2), 10)
    shown, _ = film([Shot("", episode)], WIDTH, HEIGHT, rate=2.0)
    episode.markers.clear()
    bare, _ = film([Shot("", episode)], WIDTH, HEIGHT, rate=2.0)
    more = shown[0].astype(int) - bare[0].astype(int)
    changed = np.abs(more).sum(axis=2) > 30
    assert changed.sum() > 50
    greener = more[changed][:, 1] - more[changed][:, 0]
    assert np.median(greener) > 10


def test_the_camera_steps_back_to_show_where_a_ball_should_land(monkeypatch):
    episode = resting(Throw(goal=0.95), 60)
    cameras = []
    render = OffscreenRenderer.render

    def noted(self, data, draw=None, **options):
        cameras.append(options["camera"])
        return render(self, data, draw, **options)

    monkeypatch.setattr(OffscreenRenderer, "render", noted)
    film([Shot("", episode)], WIDTH, HEIGHT, rate=1.0)
    camera, shapes = cameras[-1], episode.marks(len(episode) - 1)
    a, e = np.radians([camera.azimuth, camera.elevation])
    ahead = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    across = np.cross(ahead, [0.0, 0.0, 1.0])
    across /= np.linalg.norm(across)
    upwards = np.tan(np.radians(episode.model.vis.global_.fovy) / 2)
    bars = [shape for shape in shapes if shape.kind == int(mujoco.mjtGeom.mjGEOM_LINE)]
    assert bars
    for bar in bars:
        seen = bar.position - (camera.lookat - camera.distance * ahead)
        depth = seen @ ahead
        assert abs(seen @ across) < depth * upwards * WIDTH / HEIGHT
        assert abs(seen @ np.cross(across, ahead)) < depth * upwards


def test_a_label_is_written_at_the_top_alone():
    grey = np.full((HEIGHT, WIDTH, 3), 120, np.uint8)
    image = labelled(grey, "policy", "1.00 s")
    changed = (image != grey).any(axis=(1, 2))
    assert changed[:10].all()
    assert not changed[20:].any()


class Drawing:
    metadata = {"render_fps": 20, "render_modes": ["rgb_array"]}  # noqa: RUF012
    level = 0

    def render(self):
        self.level += 10
        return np.full((30, 40, 3), self.level, np.uint8)


def test_another_environments_own_images_stand_at_the_end():
    recorded = RecordedImages(Drawing())
    for _ in range(3):
        recorded.see()
    recorded.go_on(None)
    assert len(recorded) == 3 + 20
    images, rate = film([Shot("policy", recorded)], 40, 30, rate=20.0)
    assert rate == pytest.approx(20.0)
    assert [int(image[-1, -1, 0]) for image in images[:5]] == [10, 20, 30, 30, 30]


def test_an_environment_that_draws_nothing_gives_no_film():
    env = gymnasium.make("CartPole-v1")
    env.unwrapped.metadata = {"render_modes": ["ansi"]}
    with pytest.raises(ConfigurationError, match=r"CartPole-v1.*draws no pictures"):
        RecordedImages(env)
