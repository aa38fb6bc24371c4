"""Every file that is read: whatever happens to its bytes ends in an error of ours or in the very same numbers.

Files that Pliant writes have a checksum. Those that people write (a robot's YAML, a model, a motion, recordings of
a bench) have none, so a changed digit is another number; there nothing but an error of ours comes.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pliant.actuators import (
    CompliantJoint,
    add_compliant_joint,
    compliant_joints,
    find_law,
    load_model,
    save_model,
)
from pliant.conf.nodes import add_node
from pliant.controllers import FeedForward, IterativeLearning, Motion, PTypeILC
from pliant.controllers.identification import read_report
from pliant.controllers.pendulum_bench import read_recording as read_bench
from pliant.controllers.policies import OnnxPolicy, SB3Policy, export_onnx, load_policy, made_for, period_of
from pliant.controllers.recorded import Recorded
from pliant.envs import describe
from pliant.errors import PliantError
from pliant.files import write_json
from pliant.hardware.recording import DamagedRecordingError, Recorder, read_recording
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals
from pliant.training.run_settings import of_run

QUICK, MANY = 40, 1000
INFO = RobotInfo("rig", ("hip",), ("hip/1",), (Channel("hip/equilibrium", "rad", -1.57, 1.57),), 0.01,
                 signals=joint_signals(("hip",), ("hip/1",)))  # fmt: skip
MODEL = """<mujoco model="leg"><worldbody><body name="leg"><joint name="hip" axis="0 1 0" range="-1.5 1.5"/>
<geom size="0.05" pos="0 0 -0.2" mass="1.5"/><body name="foot" pos="0 0 -0.4"><joint name="ankle" axis="0 1 0"/>
<geom size="0.04" mass="0.3"/><site name="toe"/></body></body></worldbody></mujoco>"""
ROBOT = """# a leg
model: leg.xml
period: 0.01
joints:
  hip: {law: sea, k: 40.0, mode: 6, position_range: [-1.5, 1.5]}
  "ank*": {servo: XL330/m6, p_gain: 400}
end_effectors: {foot: toe}
gravity_compensation: false
start: {settle: false}
"""


class Kind(NamedTuple):
    """A kind of file, and how it is read."""

    file: Path
    read: Callable[[], Any]
    """Returns plain numbers."""
    exact: bool = True
    """Whether other numbers cannot come of it."""


def learner() -> IterativeLearning:
    time = 0.01 * np.arange(50.0)
    motion = Motion(time, np.sin(time)[:, None], np.cos(time)[:, None])
    return IterativeLearning(PTypeILC(0.5), motion, lambda command: 0.9 * command, 1e-6, 4, -2.0, 2.0)


def feedforward(folder: Path) -> Kind:
    file = folder / "feedforward.npz"
    command = np.random.default_rng(0).uniform(-1.0, 1.0, (80, 1))
    FeedForward.of_robot(INFO, command, desired=command, expected=command).save(file)

    def read() -> Any:
        found = FeedForward.load(file)
        return found.command.tolist(), found.expected, found.columns, found.units, found.joints, found.period

    return Kind(file, read)


def resume_state(folder: Path) -> Kind:
    file = folder / "learner.npz"
    learning = learner()
    list(learning)
    learning.save(file)

    def read() -> Any:
        again = learner()
        again.load(file)
        return [(trial.command.tolist(), trial.position.tolist()) for trial in again.history]

    return Kind(file, read)


def network(folder: Path) -> Path:
    sb3 = pytest.importorskip("stable_baselines3")
    pytest.importorskip("onnxruntime")
    import gymnasium

    import pliant.envs
    from pliant.training.environments import policy_info

    pliant.envs.register()
    env = gymnasium.make("pliant/CompliantJoint-v0", task="reach")
    model = sb3.PPO("MlpPolicy", env, seed=3, device="cpu", policy_kwargs={"net_arch": [8]})
    file = folder / "policy.onnx"
    export_onnx(SB3Policy(model, policy_info(env), None), file)
    return file


def policy(folder: Path) -> Kind:
    file = network(folder)
    seen = np.linspace(-1.0, 1.0, len(OnnxPolicy.load(file).info.observations))

    def read() -> Any:
        found = OnnxPolicy.load(file)
        return found(seen).tolist(), found.info.to_json()

    return Kind(file, read)


def policy_folder(folder: Path) -> Kind:
    """As `play RUN` reads it."""
    file = network(folder)
    info = OnnxPolicy.load(file).info
    seen = np.linspace(-1.0, 1.0, len(info.observations))
    return Kind(file, lambda: (made_for(folder), period_of(folder), load_policy(folder, info)(seen).tolist()))


def checkpoint(folder: Path) -> Kind:
    pytest.importorskip("stable_baselines3")
    from pliant.training.checkpoints import Checkpoint, Checkpoints, read_checkpoint

    random = np.random.default_rng(0)
    buffer = {"rewards": random.normal(size=200)}
    settings = {"robot": {"k": 40.0}, "seed": 0}
    written = Checkpoint(
        100, settings, random.bytes(3000), {"normaliser": random.normal(size=20)}, buffer, b"best"
    )
    file = Checkpoints(folder, 1).write(written)

    def read() -> Any:
        found = read_checkpoint(folder)
        arrays = found.state["normaliser"].tolist(), found.buffer["rewards"].tolist()
        return found.steps, found.settings, found.model, found.best, arrays

    return Kind(file, read)


def servo(folder: Path) -> Kind:
    from pliant.actuators import bam

    file = folder / "servo.json"
    whole = json.loads((Path(bam.__file__).parent / bam.IDENTIFIED).read_text("utf-8"))
    write_json(file, whole | {"models": whole["models"][:1]}, checksum=True)
    return Kind(file, lambda: read_report(file))


def recording(folder: Path) -> Kind:
    pytest.importorskip("mcap")
    file = folder / "recording.mcap"
    one = np.zeros(1)
    with Recorder(file, INFO, {"policy": "test"}) as recorder:
        for k in range(60):
            angle = np.array([np.sin(0.1 * k)])
            state = State(0.01 * k, angle, one, one, one, angle, one, one, one, one)
            recorder.record(state, angle, angle, angle)
    whole = read_recording(file).series

    def read() -> Any:
        """The numbers of a damaged file are those before the damage, or none."""
        try:
            found = read_recording(file)
        except DamagedRecordingError as error:
            found = error.recording
            assert not found.complete
        if found.complete:
            return found
        for topic, fields in found.series.items():
            for name in fields:
                if name != "name":
                    np.testing.assert_array_equal(fields[name], whole[topic][name][: len(fields[name])])
        raise PliantError("damaged")

    return Kind(file, lambda: plain(read()))


def plain(found: Any) -> Any:
    return found.metadata, {
        topic: {name: np.asarray(values).tolist() for name, values in fields.items()}
        for topic, fields in found.series.items()
    }


def robot(folder: Path) -> Kind:
    (folder / "leg.xml").write_text(MODEL)
    file = folder / "leg.yaml"
    file.write_text(ROBOT)
    return Kind(file, lambda: describe(file).simulated().info.command_names, exact=False)


def motion(folder: Path) -> Kind:
    file = folder / "motion.csv"
    rows = "\n".join(f"{0.1 * k:.1f},{np.sin(0.1 * k):.6f},{np.cos(0.1 * k):.6f}" for k in range(50))
    file.write_text(f"time,hip,ankle\n{rows}\n")
    return Kind(file, lambda: Recorded.load(file).position(1.0).tolist(), exact=False)


def bench(folder: Path) -> Kind:
    file = folder / "swing.json"
    columns = ["timestamp", "goal_position", "position", "speed", "temp", "torque_enable"]
    rows = [[0.01 * k, 0.5, 0.4, 0.1, 25.0, 1.0] for k in range(60)]
    data = {"motor": "XL330", "kp": 400, "vin": 5.0, "mass": 0.2, "length": 0.1, "columns": columns, "rows": rows}
    file.write_text(json.dumps(data))
    return Kind(file, lambda: read_bench(file).position.tolist(), exact=False)


def saved_model(folder: Path) -> Kind:
    import mujoco

    file = folder / "saved.xml"
    spec = mujoco.MjSpec.from_string(MODEL)
    add_compliant_joint(spec, "hip", CompliantJoint(law=find_law("qbmove")(), mode=6))
    save_model(spec, file)
    return Kind(file, lambda: [joint.name for joint in compliant_joints(load_model(file))], exact=False)


def run_record(folder: Path) -> Kind:
    """What Hydra writes beside the results of a run, and a run of its robot reads again."""
    (folder / ".hydra").mkdir()
    (folder / ".hydra" / "overrides.yaml").write_text("- robot=leg\n- steps=10\n- algo=ppo\n")
    (folder / "leg.xml").write_text(MODEL)
    file = folder / ".hydra" / "config.yaml"
    settings = "".join(f"  {line}\n" for line in ROBOT.splitlines()[1:])
    file.write_text(f"steps: 10\nrobot:\n  folder: {folder}\n{settings}task:\n  name: reach\n")

    def read() -> Any:
        nodes, others = of_run(folder)
        add_node([], "robot", "remembered", nodes["robot"], str(file)) if "robot" in nodes else None
        return others, describe(nodes.get("robot", "arm2")).model.joints

    return Kind(file, read, exact=False)


KINDS = (
    recording, feedforward, policy, policy_folder, checkpoint, resume_state, servo, robot, motion, bench,
    saved_model, run_record,
)  # fmt: skip


def mutations(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Contents with bits flipped, the end cut off, bytes put in or taken out, or blocks that changed places."""
    random, made = np.random.default_rng(seed), 0
    while made < count:
        changed = bytearray(content)
        at, other = sorted(int(place) for place in random.integers(0, len(content), 2))
        length = int(random.integers(1, 65))
        match int(random.integers(0, 6)):
            case 0:
                for place in random.integers(0, len(content), int(random.integers(1, 4))):
                    changed[place] ^= 1 << int(random.integers(0, 8))
            case 1:
                del changed[other:]
            case 2:
                changed[at:at] = random.bytes(length)
            case 3:
                del changed[at : at + length]
            case 4:
                one, two = changed[at : at + length], changed[other : other + length]
                changed[other : other + length], changed[at : at + length] = one, two
            case 5:  # as a person would
                word = random.choice(list(b"0123456789.-+eE:,[]{}#&*!|> \n\t\"'<>/=nulltruefals_"), length % 4 + 1)
                changed[at : at + length % 3] = bytes(word.tolist())
        if changed != content:
            made += 1
            yield bytes(changed)


def attack(kind: Kind, count: int, seed: int) -> None:
    content, whole = kind.file.read_bytes(), repr(kind.read())
    refused = 0
    for changed in mutations(content, count, seed):
        kind.file.write_bytes(changed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = kind.read()
        except PliantError as error:
            refused += bool(str(error).strip())
        else:
            assert not kind.exact or repr(found) == whole
    assert refused > count // 5
    kind.file.write_bytes(content)
    assert repr(kind.read()) == whole


@pytest.mark.parametrize("make", KINDS)
def test_some_damage(make, tmp_path):
    attack(make(tmp_path), QUICK, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("make", KINDS)
def test_a_thousand_kinds_of_damage(make, tmp_path):
    attack(make(tmp_path), MANY, seed=2)
