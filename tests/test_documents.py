"""The examples of the documentation do what they say."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def run_python(code, folder, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("number", range(len(blocks("README.md", "python"))))
def test_the_readme_examples_run(number, tmp_path):
    run_python(blocks("README.md", "python")[number], tmp_path)


def test_the_loop_ends_when_an_observer_says_so(tmp_path):
    (example,) = blocks("docs/architecture.md", "python")
    assert run_python(example, tmp_path).startswith("the elbow is high enough [0.")


def test_the_readme_joint_goes_where_it_is_sent(tmp_path):
    # 0.5 rad less what gravity, 0.2 N·m·sin q, bends the springs of stiffness 2.7 N·m/rad
    angle = float(run_python(blocks("README.md", "python")[0], tmp_path).strip(" \n[]"))
    assert 0.4 < angle < 0.5


@pytest.mark.slow
def test_the_page_on_laws_runs_as_it_stands(tmp_path):
    law, use = blocks("docs/own-law.md", "python")
    (tmp_path / "mylaws.py").write_text(law)
    run_python(use + "\nassert 0.3 < data.joint('hinge').qpos[0] < 0.5, data.joint('hinge').qpos", tmp_path)
    (config,) = blocks("docs/own-law.md", "yaml")
    (tmp_path / "joint.yaml").write_text(config)
    build = (
        "from omegaconf import OmegaConf; from pliant.conf.build import build; "
        "joint = build(OmegaConf.load('joint.yaml').joint, 'joint'); assert joint.law.parameters['k'] == 8.0"
    )
    run_python(build, tmp_path, PLIANT_TARGETS="mylaws")


@pytest.mark.slow
def test_the_page_on_tasks_of_ones_own_runs_as_it_stands(tmp_path):
    terms, markers, use = blocks("docs/own-task.md", "python")
    assert len(terms.splitlines()) < 30
    (tmp_path / "mytask.py").write_text(terms)
    (tmp_path / "mymarkers.py").write_text(markers)
    assert 0.0 < float(run_python(use, tmp_path)) <= 0.1
    (config,) = blocks("docs/own-task.md", "yaml")
    (tmp_path / "calm.yaml").write_text(config)
    build = (
        "from omegaconf import OmegaConf; from pliant.conf.build import LEARNED, build\n"
        "import pliant.envs, gymnasium\n"
        "task = build(OmegaConf.load('calm.yaml'), 'task', LEARNED)\n"
        "env = gymnasium.make('pliant/CompliantArm2-v0', task=task); env.reset(seed=0)\n"
        "from pliant.envs.recorded_episode import RecordedEpisode\n"
        "episode = RecordedEpisode(env.unwrapped); episode.see()\n"
        "print(sorted(env.step(env.action_space.sample())[-1]), env.unwrapped.observations[-1].name)\n"
        "episode.see(); (arrow,) = episode.marks(1)\n"
        "torque = episode.values('shoulder/torque')[1, 0]\n"
        "assert abs(arrow.size[2] - 0.2 * abs(torque)) < 1e-9, (arrow, torque)"
    )
    expected = "['reward_slowness', 'reward_smoothness'] speed/largest\n"
    assert run_python(build, tmp_path, PLIANT_TARGETS="mytask,mymarkers") == expected
    with pytest.raises(AssertionError, match=r"'mytask\.largest_speed' is of no trusted package"):
        run_python(build, tmp_path)


@pytest.mark.slow
def test_the_page_on_drives_runs_as_it_stands(tmp_path):
    drive, use, stiff = blocks("docs/own-drive.md", "python")
    (tmp_path / "mydrives.py").write_text(drive)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    # the loop and the back-EMF share the voltage: kp/(kp + kt) of 10 rad/s
    speed = "data.joint('wheel').qvel[0]"
    run_python(f"{use}\nassert abs({speed} - 10 * 3 / 3.5) < 0.01, {speed}", tmp_path, PYTHONPATH=path)
    angle = "data.joint('shoulder').qpos[0]"
    run_python(f"{stiff}\nassert abs({angle} - 10 * 9.81 * 0.3 / 5e4) < 1e-5, {angle}", tmp_path)
    (config,) = blocks("docs/own-drive.md", "yaml")
    (tmp_path / "joint.yaml").write_text(config)
    build = (
        "from omegaconf import OmegaConf; from pliant.conf.build import build; "
        "joint = build(OmegaConf.load('joint.yaml').joint, 'joint'); assert joint.drive.parameters['kp'] == 3.0"
    )
    run_python(build, tmp_path, PLIANT_TARGETS="mydrives", PYTHONPATH=path)


@pytest.mark.slow
def test_the_page_on_servos_runs_as_it_stands(tmp_path):
    (use,) = blocks("docs/servos.md", "python")
    angle = "data.joint('femur').qpos[0]"
    run_python(
        f"{use}\nassert -0.5 < {angle} < -0.42, {angle}\nassert not servo_status(model, data, joint).shut_down",
        tmp_path,
    )


@pytest.mark.slow
def test_the_page_on_force_and_torque_runs_as_it_stands(tmp_path):
    use, identify, emulated = blocks("docs/force-torque.md", "python")
    assert run_python(f"{use}\nassert abs(wrench).max() < 1e-12", tmp_path).endswith(" ''\n")
    assert run_python(identify, tmp_path).startswith("ToolLoad(mass=1.2")
    assert "12." in run_python(emulated, tmp_path)


@pytest.mark.slow
def test_the_page_on_gaits_runs_as_it_stands(tmp_path):
    (use,) = blocks("docs/gaits.md", "python")
    still = "assert np.ptp(targets[-50:], axis=0).max() < 1e-3, 'it stands'"
    walked = "assert np.ptp(targets[950:1200], axis=0).min() > 0.02, np.ptp(targets[950:1200], axis=0)"
    longest, phases = run_python(f"{use}\n{still}\n{walked}", tmp_path).splitlines()
    assert longest.endswith("longest stride 0.212 m")
    apart = json.loads(phases.replace("'", '"'))
    assert [round(phase % 1.0, 2) for phase in apart.values()] == [0.0, 0.33, 0.67, 0.5, 0.83, 0.17]


@pytest.mark.slow
def test_the_page_on_trying_gaits_runs_as_it_stands(tmp_path):
    (use,) = blocks("docs/gait-search.md", "python")
    slow, fast = (float(line.split()[0]) for line in run_python(use, tmp_path).splitlines())
    assert slow == pytest.approx(0.1, rel=0.1)
    assert fast == pytest.approx(0.2, rel=0.1)


@pytest.mark.slow
def test_the_page_on_universal_robots_runs_as_it_stands(tmp_path):
    use, bench, emulated = blocks("docs/universal-robots.md", "python")
    assert "shoulder_pan/velocity" in run_python(bench, tmp_path)
    first, *_, last = run_python(use, tmp_path).splitlines()
    assert "[ 0.  -1.6  1.8 -1.8 -1.6  0.3]" in first
    assert 1.0 < float(last) < 100.0
    elsewhere = emulated.replace("127.0.0.2", f"127.3.{os.getpid() % 250}.1")
    assert run_python(f"{elsewhere}\nassert log['cycle'][0] == 1, log", tmp_path) == "1\n"


@pytest.mark.parametrize("page", ["docs/physics.md", "docs/stability.md", "docs/time.md", "docs/safety.md"])
@pytest.mark.slow
def test_the_pages_that_explain_run_as_they_stand(page, tmp_path):
    for example in blocks(page, "python"):
        assert run_python(example, tmp_path)


@pytest.mark.slow
def test_the_page_on_sensors_runs_as_it_stands(tmp_path):
    driver, use = blocks("docs/own-sensor.md", "python")
    (tmp_path / "mysensor.py").write_text(driver)
    read = run_python(use, tmp_path)
    assert "'wrist/force_z': 12.5" in read
    assert "'wrist/torque_y': 0.1" in read


@pytest.mark.parametrize("page", ["README.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))])
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", (ROOT / page).read_text()):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target
