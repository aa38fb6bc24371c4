"""Single mistakes of users, and the one message that each is answered with."""

import subprocess
import sys

import pytest

TRAIN = ("robot=rig1", "n_envs=2", "steps=64", "hydra.run.dir=run")


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("ilc", ["learning.max_iterations=nan"], "learning.max_iterations is not a number (nan)"),
        ("ilc", ["report.open=maybe"], "report.open is 'maybe'; true or false is needed"),
        ("ilc", ["ilc.gian=0.3"], "unknown setting 'gian' in ilc. Did you mean 'gain'?"),
        ("ilc", ["ilc=pd_type"], "ilc.input_gain must be given: ilc.input_gain=…"),
        ("ilc", ["robot=rig1", "robot.law=3"], "robot.law is 3; a text is needed"),
        ("ilc", ["robot.law=3"], "robot.law is 3; a text is needed"),
        ("deploy", ["run.settle=nan"], "run.settle is not a number (nan)"),
        ("deploy", ["run.settle=-3"], "run.settle = -3 is outside [0, 3600]"),
        ("deploy", ["learning.trials=1.5"], "learning.trials is 1.5; a whole number is needed"),
        ("evaluate", ["policy=zero", "seed=-5"], "seed = -5 is outside [0, "),
        ("evaluate", ["policy=zero", "episodes=abc"], "episodes is 'abc'; a whole number is needed"),
        ("train", ["steps=abc"], "steps is 'abc'; a whole number is needed"),
        ("train", ["steps=inf"], "steps is inf; a finite value is needed"),
        ("train", ["n_envs=abc"], "n_envs is 'abc'"),
        ("train", ["threads=0"], "threads = 0 is outside [1, "),
        ("train", ["threads=abc"], "threads is 'abc'"),
        ("train", ["evaluation=3"], "evaluation is 3; settings by name (every, episodes) is needed"),
        ("train", ["evaluation.every=nan"], "evaluation.every is not a number"),
        ("train", ["evaluation.episodes=abc"], "evaluation.episodes is 'abc'"),
        ("train", ["checkpoint.every=abc"], "checkpoint.every is 'abc'"),
        ("train", ["algo.gamma=abc"], "algo.gamma is 'abc'; a number is needed"),
        ("train", ["algo.clip_range=nan"], "algo.clip_range is not a number (nan)"),
        ("train", ["algo=sac", "algo.ent_coef=automatic"], "algo.ent_coef is 'automatic'; a number, auto or"),
        ("train", ["normalise.clip=abc"], "normalise.clip is 'abc'"),
        ("train", ["resume=3"], "3"),
        ("train", ["env=two_link", "task=reach"], "env=two_link is written robot=two_link now"),
        ("view", ["duration=abc", "viewer=offscreen"], "duration is 'abc'; a number is needed"),
        ("view", ["trained"], "trained is a run of pliant train; watch its policy with: pliant play trained"),
        ("play", ["zero", "window=perhaps"], "window is 'perhaps'; true or false is needed"),
        ("identify", ["recordings=.", "starts=abc"], "starts is 'abc'"),
        ("gait", ["search.objective=sped"], "unknown objective 'sped' in search. Did you mean 'speed'?"),
        ("train", ["task=reech"], "unknown task 'reech'. Did you mean 'reach'?"),
        ("ilc", ["robot"], "'robot' cannot be read (it has no =): write key=value or group=choice"),
        ("ilc", ["--halp"], "unknown option '--halp'. Did you mean '--help'"),
        ("reproduce", ["experiment=step", "experiments.step.angel=1"], "Did you mean 'angle'?"),
    ],
)
def test_a_mistake_has_its_own_message_and_nothing_else(verb, tmp_path, name, arguments, message):
    if name == "train":
        pytest.importorskip("stable_baselines3")
    (tmp_path / "trained" / "checkpoints").mkdir(parents=True)
    status, _, err = verb(name, *arguments)
    assert status == 2
    assert err.startswith("pliant: ")
    assert message in err
    assert "Error executing job" not in err


def test_a_gpu_that_is_not_there_is_missed_before_anything_begins(verb, monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("stable_baselines3")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    status, _, err = verb("train", *TRAIN, "device=cuda")
    assert (status, "torch finds no GPU here" in err) == (2, True), err


def test_hydras_options_may_stand_anywhere(verb, tmp_path):
    (tmp_path / "conf" / "task").mkdir(parents=True)
    (tmp_path / "conf" / "task" / "mine.yaml").write_text("defaults: [reach]\nduration: 0.1\nhold: 0.02\n")
    options = ("robot=rig1", "episodes=1", "window=false")
    for arguments in (
        ["--config-dir", "conf", "policy=zero", "task=mine", *options],
        ["zero", "--config-dir=conf", "task=mine", *options],
        ["--config-dir=conf", "zero", "task=mine", *options],
    ):
        status, out, err = verb("play", *arguments)
        assert status == 0, (arguments, err)
        assert "        5  " in out, "periods"


def test_a_builder_of_ones_own_that_gives_something_else_is_told(verb, tmp_path, monkeypatch):
    code = "import mujoco\ndef build():\n    return mujoco.MjModel.from_xml_string('<mujoco/>')\n"
    (tmp_path / "strange_builder.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PLIANT_TARGETS", "strange_builder")
    status, _, err = verb("ilc", "~robot.model", "+robot.model={_target_: strange_builder.build}")
    assert status == 2
    assert "the robot's model is a MjModel" in err


@pytest.mark.slow
def test_a_job_of_a_sweep_that_cannot_be_done_says_why_and_leaves_the_others_theirs(verb, tmp_path):
    quick = ("trajectory.duration=1.0", "robustness.robots=0", "report.pictures=false", "hydra.sweep.dir=sweep")
    status, out, err = verb("ilc", "--multirun", *quick, "learning.max_iterations=0,1")
    assert status == 1
    assert "pliant: learning.max_iterations = 0 is outside [1, " in err
    assert "pliant: job 0 failed" in err
    assert "failed" in out
    assert (tmp_path / "sweep" / "1" / "metrics.json").is_file()
    assert (tmp_path / "sweep" / "summary.csv").is_file()


def test_a_simulated_deployment_needs_no_package_for_recordings(verb, tmp_path, monkeypatch):
    from pliant.controllers import FeedForward
    from pliant.envs.description import describe

    info = describe("arm2").simulated().info
    rows = [[column.rest for column in info.command]] * 20
    still = [[0.0, 0.0]] * 20
    FeedForward.of_robot(info, rows, desired=still, expected=still).save(tmp_path / "still.npz")
    monkeypatch.setitem(sys.modules, "mcap.writer", None)
    status, out, err = verb("deploy", "feedforward=still.npz", "run.settle=0.0", "hydra.run.dir=out")
    assert status == 0, err
    assert "not recorded: Recording a run needs mcap" in out
    assert (tmp_path / "out" / "metrics.json").is_file()
    assert not (tmp_path / "out" / "recording.mcap").exists()


def test_an_experiment_without_its_package_says_so_and_shows_no_empty_table(verb, monkeypatch):
    monkeypatch.setitem(sys.modules, "mink", None)
    status, out, err = verb("reproduce", "experiment=interaction", "hydra.run.dir=out")
    assert status == 2
    assert 'pip install "pliant[ik]"' in err
    assert "Reproduced" not in out


def test_an_opengl_that_is_not_there_is_named_where_it_is_needed_and_nowhere_else(pliant):
    done = pliant("list", "modes", MUJOCO_GL="nonsense")
    assert done.returncode == 0, done.stderr
    done = pliant("ilc", MUJOCO_GL="nonsense")
    assert done.returncode == 2
    assert done.stderr.startswith("pliant: MuJoCo cannot be loaded with MUJOCO_GL=nonsense: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", ["--help", "list", "bus --help"])
@pytest.mark.slow
def test_output_that_nobody_reads_is_no_error(tmp_path, arguments):
    """As `pliant … | head -c 1`: the pipe is closed before anything is written."""
    code = "import sys; from pliant.scripts.main import main; sys.stdin.readline(); sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments.split()],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    process.stdin.write("\n")
    process.stdin.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() in (1, 141)
    assert errors == ""


@pytest.mark.slow
def test_mujocos_warnings_leave_no_file(pliant, tmp_path):
    """Learning that diverges makes MuJoCo warn of it."""
    done = pliant(
        "ilc", "robot=two_link", "ilc.gain=1e4", "trajectory.duration=2", "report.pictures=false",
        "robustness.robots=0", "learning.max_iterations=5", "hydra.run.dir=out",
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
