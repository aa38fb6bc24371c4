import signal
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

from pliant.controllers import FeedForward
from pliant.envs.rendering import OffscreenRenderer, RenderingError
from pliant.training.environments import make_environment


@pytest.fixture
def no_display(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_display")
@pytest.mark.parametrize("policy", ["zero", "random"])
def test_a_first_look_needs_no_policy(verb, policy, recwarn):
    status, out, err = verb("play", policy, "robot=rig1", "task.duration=0.3")
    assert status == 0, err
    lines = [line for line in out.splitlines() if line.strip().startswith("20000")]
    assert [line.split()[0] for line in lines] == ["2000000", "2000001", "2000002"]
    assert "no display here" in out
    assert verb("play", policy, "robot=rig1", "task.duration=0.3")[1] == out
    assert not [told for told in recwarn if "copying the environment" in str(told.message)]


@pytest.mark.usefixtures("no_display")
def test_nothing_is_said_of_success_where_the_task_does_not_tell(verb):
    less = ("~task.ends.reached", "~task.rewards.success", "~task.tolerance", "~task.hold")
    task = ("task.duration=0.1", "episodes=2", *less)
    status, out, err = verb("play", "zero", "robot=rig1", *task)
    assert status == 0, err
    assert "success" not in out


@pytest.mark.slow
@pytest.mark.usefixtures("no_display")
def test_a_policy_plays_in_the_environment_it_was_learned_in(verb, trained):
    status, out, err = verb("play", trained)
    assert status == 0, err
    assert all(int(line.split()[2]) <= 15 for line in out.splitlines() if line.strip().startswith("20000"))
    changed = verb("play", trained, "task.hold=0.1")
    assert changed[0] == 0
    assert changed[1] != out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["task=track"], "observation 'joint/goal' is unknown to the environment"),
        (["robot=arm2"], "joint 'joint' is unknown to the environment"),
        (["period=0.01"], "period: 0.02 s in the file, 0.01 s here"),
        (["robot.mode=5"], "action 'joint/equilibrium' is unknown to the environment"),
        (["task.velocity_limit=3"], "velocity_limit"),
        (["+task.observations.joints.bound=3"], "[-inf, inf] rad/s in the file, [-3, 3] rad/s here"),
        (["task.commanded=equilibrium"], "action 'joint/preset' is unknown to the environment"),
    ],
)
def test_a_policy_that_does_not_fit_is_refused_with_the_differences(verb, trained, overrides, expected):
    status, out, err = verb("play", trained, *overrides)
    assert status == 2, out
    assert expected in err


def test_a_feedforward_plays_as_a_policy(verb, tmp_path, monkeypatch):
    from hydra import compose, initialize_config_module

    with initialize_config_module("pliant.conf", version_base="1.3"):
        config = compose("play", overrides=["robot=rig1", "task=track"])
    info = make_environment(config).unwrapped.robot.info
    desired = 0.8 * np.linspace(0.0, 1.0, 200)
    FeedForward.of_robot(info, np.column_stack([desired, np.full(200, 0.3)])).save(tmp_path / "feedforward.npz")
    status, out, err = verb("play", "feedforward.npz", "robot=rig1", "task=track", "window=false")
    assert status == 0, err
    assert "200" in out
    assert verb("play", "feedforward.npz", "robot=arm2", "task=track")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.zip"], "policy nowhere.zip does not exist"),
        (["zero", "film=film.gif"], "unknown film format '.gif'"),
        (["zero", "episodes=0"], "episodes"),
        (["zero", "window=true"], "needs a display"),
        (["zero", "viewer=offscreen"], "Valid: native, web"),
        (["zero", "viewer=native"], "viewer=web"),
        (["zero", "viewer=web", "film=film.webp"], "writes no film"),
        (["zero", "viewer=web", "port=70000"], "port = 70000 is outside"),
        (["zero", "viewer=web", "speed=0"], "speed = 0 is outside"),
    ],
)
@pytest.mark.usefixtures("no_display")
def test_a_wrong_setting_is_explained(verb, arguments, message):
    status, out, err = verb("play", *arguments, "robot=rig1")
    assert status == 2, out
    assert message in err


def test_a_policy_that_is_none_is_refused(verb, tmp_path):
    (tmp_path / "policy.onnx").write_text("no graph")
    assert "policy.onnx is damaged" in verb("play", "policy.onnx")[2]
    (tmp_path / "policy.onnx").unlink()
    assert "holds nothing learned" in verb("play", tmp_path)[2]


@pytest.mark.slow
def test_a_film_shows_what_was_played(verb, tmp_path):
    pytest.importorskip("PIL")
    from PIL import Image

    try:
        env = make_environment(_play_config(), "rgb_array")
        env.reset(seed=0)
        OffscreenRenderer(env.unwrapped.robot.model, 8, 8).render(env.unwrapped.robot.data)
    except RenderingError as error:
        pytest.skip(str(error))
    options = ("episodes=1", "film=film.webp", "width=64", "height=48", "task.duration=0.4", "task.hold=0.04")
    status, out, err = verb("play", "random", "robot=rig1", *options)
    assert status == 0, err
    film = Image.open(tmp_path / "film.webp")
    assert film.size == (64, 48)
    assert film.n_frames > 10
    assert "film: film.webp" in out


@pytest.mark.slow
def test_a_film_shows_the_policy_beside_itself_untrained(verb, trained, tmp_path):
    pytest.importorskip("PIL")
    from PIL import Image

    assert (trained / "untrained.onnx").read_bytes() != (trained / "policy.onnx").read_bytes()
    for name, options, width in (("a", (), 128), ("b", ("beside=null",), 64), ("c", ("beside=random",), 128)):
        status, _, err = verb(
            "play", trained, "episodes=1", f"film={name}.webp", "width=64", "height=48", *options
        )
        if "cannot draw" in err:
            pytest.skip(err)
        assert status == 0, err
        assert Image.open(tmp_path / f"{name}.webp").size == (width, 48)


def test_an_earlier_spelling_is_told(verb):
    assert "video=a.webp is written film=a.webp now" in verb("play", "zero", "video=a.webp")[2]


def _play_config():
    from hydra import compose, initialize_config_module

    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose("play", overrides=["robot=rig1"])


def test_without_the_package_that_writes_films_the_extra_is_named(verb, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    status, _, err = verb("play", "zero", "film=film.mp4")
    assert status == 2
    assert 'pip install "pliant[video]"' in err


@pytest.mark.slow
def test_a_policy_is_watched_on_a_page_until_that_is_ended(tmp_path):
    """It moves there, and each of its episodes is told, as without a page."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["play", "random", "robot=rig1", "task.duration=0.3", "viewer=web", f"port={port}"]
    log = tmp_path / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "pliant.scripts.main", *words],
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(lambda: log.read_text().count("\n   200000") >= 3 or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
            assert b"<html" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(120.0) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
    told = [line.split()[:3] for line in log.read_text().splitlines() if line.startswith("   200000")]
    assert [line[0] for line in told[:3]] == ["2000000", "2000001", "2000002"]
    assert {line[2] for line in told} == {"15"}


def wait_for(check):
    end = time.monotonic() + 300.0
    while not check():
        assert time.monotonic() < end
        time.sleep(0.2)
