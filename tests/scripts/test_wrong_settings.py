"""Every setting of every verb, given values that it may not have: our own message, before any work has begun.

What a verb does after its settings are accepted is cut off, so that a case takes milliseconds: an accepted value
has to be one that is possible.
"""

import importlib
import math
import random
import socket
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf, open_dict

from pliant.command_line import explanation
from pliant.conf.checks import check_settings
from pliant.controllers import FeedForward

VALUES = (math.nan, math.inf, -1, 0, "text", [1.5, "text"], None, 1e300, True, {"a": 1})
VERBS = {
    "ilc": [
        [],
        ["trajectory=step", "ilc=norm_optimal"],
        ["trajectory=sine", "robot=two_link_soft"],
        ["trajectory=chirp", "ilc=pd_type", "ilc.input_gain=[100.0, 100.0]"],
        ["robot=rig1", "trajectory.start=0.0", "trajectory.goal=0.5"],
        ["robot=arm5", f"trajectory.start={5 * [0.0]}", f"trajectory.goal={5 * [0.0]}"],
    ],
    "train": [
        [],
        ["algo=sac", "task=track", "randomisation=usual"],
        ["algo=td3", "task=throw"],
        ["algo=tqc", "task=reach_pose"],
        ["robot=two_link", "task=track_path"],
    ],
    "evaluate": [["policy=zero"], ["policy=random", "robot=rig1", "task=track"]],
    "play": [["policy=zero"]],
    "deploy": [
        ["hardware=simulated"],
        ["hardware=emulated"],
        ["hardware=simulated", "controller=setpoint_pid", "trajectory=sine"],
        ["hardware=simulated", "robot=ur10_plane", "controller=admittance"],
        ["hardware=simulated", "robot=ur10", "robot.model.mode=torque", "controller=task_space", "duration=0.05"],
    ],
    "control": [["controller=setpoint_pid"], ["robot=ur10_plane", "controller=admittance"]],
    "weigh": [["robot=ur10_plane"]],
    "gait": [
        ["robot.model.settle=0.0"],
        ["robot.model.settle=0.0", "controller=matsuoka", "search.parameters={controller.stride: [0.02, 0.05]}"],
    ],
    "emulate": [[]],
    "emulate_ur": [[]],
    "emulate_net_ft": [[]],
    "identify": [["recordings=here"]],
    "export": [["policy=here.onnx"]],
    "view": [["viewer=offscreen"], ["viewer=web", "experiment=step"], ["viewer=offscreen", "trajectory=sine"]],
    "reproduce": [
        [f"+experiment@experiments.{name}={name}"]
        for name in (
            *("admittance", "chirp", "direct_force", "hand_guiding", "ilc", "interaction"),
            *("hexapod_gait", "hexapod_step", "hexapod_torque"),
            *("sine2", "step", "steps2", "task_space_atlas", "task_space_ur10", "two_link", "whole_body"),
        )
    ],
}
NEEDS = {
    "train": "stable_baselines3",
    "deploy": "mcap",
    "weigh": "mcap",
    "emulate": "dynamixel_sdk",
    "view": "PIL.Image",
}
HEAVY = {
    "ilc": ("pliant.controllers.learning.IterativeLearning.__iter__",),
    "train": ("pliant.training.loop.Training.run",),
    "evaluate": ("pliant.training.evaluation.run_episode",),
    "play": ("pliant.scripts.play.run_episode",),
    "deploy": ("pliant.deployment.deployment.Deployment.run",),
    "control": ("pliant.scripts.control.ControlServer",),
    "weigh": ("pliant.deployment.weighing.WeighingRun",),
    "gait": ("pliant.scripts.gait.try_gait", "pliant.scripts.gait.GaitSearch.run"),
    "emulate": ("pliant.scripts.emulate.Emulator",),
    "emulate_ur": ("pliant.scripts.emulate._serve",),
    "emulate_net_ft": ("pliant.scripts.emulate._serve",),
    "identify": ("pliant.scripts.identify.identify",),
    "export": ("pliant.scripts.export.OnnxPolicy.load",),
    "view": ("pliant.scripts.view.film_motion", "pliant.scripts.view.open_web_screen"),
    "reproduce": ("pliant.scripts.reproduce.run_experiments",),
}
"""What begins the work of each verb."""


_SHARE = 0.006
"""Of all cases, in the sample."""


class Begun(BaseException):
    """The settings were accepted."""


def leaves(node, key=""):
    """Names and values of all settings."""
    if OmegaConf.is_dict(node):
        for name in node:
            inner = f"{key}.{name}" if key else name
            yield from leaves(node._get_node(name), inner)
    elif key.rpartition(".")[2] != "_target_":
        yield key, node._value() if not OmegaConf.is_list(node) else node


def composed(verb, choices):
    with initialize_config_module("pliant.conf", version_base="1.3"):
        return compose(verb, overrides=choices)


def changed(config, key, value):
    """A configuration with one setting changed, as the command line would; names may have dots in them."""
    given = config.copy()
    with open_dict(given):
        node, rest = given, key
        while name := next((name for name in node if rest.startswith(f"{name}.")), None):
            node, rest = node[name], rest.removeprefix(f"{name}.")
        node[rest] = value
    return given


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with what the verbs need to begin."""
    from pliant.controllers import MinimumJerk, sample
    from pliant.envs.description import describe

    folder = tmp_path_factory.mktemp("files")
    (folder / "here.onnx").write_bytes(b"")
    info = describe("arm2").simulated().info
    motion = sample(MinimumJerk([0.0, 0.0], [0.1, 0.1], 1.0), info.period)
    rows = [[*position, 0.2, 0.2] for position in motion.position]
    names = [f"{joint}/equilibrium" for joint in info.joints] + [f"{joint}/preset" for joint in info.joints]
    order = [names.index(name) for name in info.command_names]
    command = [[row[k] for k in order] for row in rows]
    FeedForward.of_robot(info, command, desired=motion.position, expected=motion.position).save(
        folder / "feedforward.npz"
    )
    return folder


@pytest.fixture
def attempt(files, tmp_path, monkeypatch):
    """Runs a verb on a configuration up to its work; returns the message of a refusal, or None."""
    monkeypatch.chdir(files)
    monkeypatch.setattr("pliant.command_line.run_folder", lambda *_: tmp_path)

    def begin(*arguments, **options):
        raise Begun

    def run(verb, config, usual):
        for place in HEAVY[verb]:
            monkeypatch.setattr(place, begin)
        module = importlib.import_module(f"pliant.scripts.{verb.partition('_')[0]}")
        jobs = {"emulate_ur": "ur_job", "emulate_net_ft": "net_ft_job"}
        job = getattr(module, jobs.get(verb, "job"))
        if verb == "identify":
            made = [SimpleNamespace(servo="XL330", p_gain=float(k)) for k in range(2)]
            monkeypatch.setattr(module, "load_recordings", lambda folder: made)
        try:
            check_settings(config, usual)
            job(config)
        except Begun:
            return None
        except Exception as error:
            message = explanation(error)
            if message is None:
                raise
            return message
        raise AssertionError("it neither began nor refused")

    return run


def usual_of(verb, choices):
    usual = composed(verb, [*choices, *SMALL.get(verb, ())])
    return changed(usual, "feedforward", "feedforward.npz") if verb == "deploy" and len(choices) == 1 else usual


def possible(value, usual):
    """Whether a value is of the kind of the usual one, or the usual one tells nothing."""
    if isinstance(value, float) and not math.isfinite(value):
        return isinstance(usual, float) and math.isinf(usual) and not math.isnan(value)
    if isinstance(usual, bool):
        return isinstance(value, bool)
    return not (isinstance(usual, int | float) and isinstance(value, str | bool))


def check(verb, choices, attempt, chosen):
    """Try the chosen cases; returns how many were tried."""
    pytest.importorskip(NEEDS.get(verb, "numpy"))
    usual = usual_of(verb, choices)
    assert attempt(verb, usual.copy(), usual) is None, "the settings themselves are accepted"
    faults, tried = [], 0
    for k, (key, own) in enumerate(leaves(usual)):
        for j, value in enumerate(VALUES):
            if not chosen(k, j):
                continue
            tried += 1
            try:
                message = attempt(verb, changed(usual, key, value), usual)
            except Exception as error:
                faults.append(f"{key}={value!r}: {type(error).__name__}: {str(error)[:200]}")
                continue
            resolved = OmegaConf.select(usual, key) if isinstance(own, str) else own
            if message is None and not possible(value, resolved):
                faults.append(f"{key}={value!r} is accepted")
            elif message is not None and not message:
                faults.append(f"{key}={value!r}: no message")
    assert not faults, f"{len(faults)} of {tried}:\n" + "\n".join(faults)
    return tried


CASES = [pytest.param(verb, choices, id=" ".join([verb, *choices])) for verb in VERBS for choices in VERBS[verb]]


def free_ports(*keys):
    """Settings with ports that nobody uses."""
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in keys]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [f"{key}={one.getsockname()[1]}" for key, one in zip(keys, found, strict=True)]


SMALL = {
    "train": ["physics_threads=1", "n_envs=2", "evaluation.episodes=2"],
    "emulate_net_ft": free_ports("port", "page_port"),
}
"""What makes an attempt quick, and free of what else runs on this machine."""


@pytest.mark.parametrize(("verb", "choices"), CASES)
@pytest.mark.slow
def test_no_setting_takes_what_it_may_not_be(verb, choices, attempt):
    """A part of the cases, another one for each setting."""
    assert check(verb, choices, attempt, lambda k, j: (3 * k + j) % 240 == 0)


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "choices"), CASES)
def test_no_setting_takes_what_it_may_not_be_in_a_sample_of_cases(verb, choices, attempt):
    """The same draws every time; a share of 1 tries everything and takes half an hour."""
    draw = random.Random(f"{verb} {choices}").random
    check(verb, choices, attempt, lambda k, j: draw() < _SHARE)
