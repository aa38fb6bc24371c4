"""A saved model runs the same law in another process, or says clearly why it does not."""

import contextlib
import copy
import json
import os
import re
import subprocess
import sys

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.actuators import (
    PID,
    CompliantJoint,
    Motor,
    Pivot,
    add_compliant_joint,
    compile_model,
    compliant_joints,
    find_law,
    layout,
    load_model,
    prepare_model,
    save_model,
)
from pliant.errors import (
    ConfigurationError,
    FileFormatError,
    MissingFileError,
    OutputError,
    PliantError,
)

JOINT = CompliantJoint(
    law=find_law("qbmove")(k1=1 / 300, a1=7.123456789012345, k2=0.00234567891, max_deflection=0.7123456789),
    mode=6, motor=Motor(inertia=0.0123456789, static_friction=1 / 30), pid=PID(kp=100 / 3, ki=1 / 7, kd=1 / 3),
    position_range=(-1 / 3, 1.23456789), preset_range=(0.0, 0.61234567), delay=0.005,
)  # fmt: skip
"""A joint whose numbers do not survive six printed digits."""

STEP_AND_PRINT = """
import sys, mujoco, numpy as np
from pliant.actuators import load_model
model = load_model(sys.argv[1], sys.argv[2])
data = mujoco.MjData(model)
for k in range(300):
    data.ctrl[:] = [np.sin(0.01 * k) * 2, 0.3]
    mujoco.mj_step(model, data)
print(data.qpos.tobytes().hex(), data.act.tobytes().hex())
"""


def elsewhere(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def here(model: mujoco.MjModel) -> list[str]:
    """What `STEP_AND_PRINT` prints, from this process."""
    data = mujoco.MjData(model)
    for k in range(300):
        data.ctrl[:] = [np.sin(0.01 * k) * 2, 0.3]
        mujoco.mj_step(model, data)
    return [data.qpos.tobytes().hex(), data.act.tobytes().hex()]


@pytest.mark.parametrize(("kind", "backend"), [("xml", "native"), ("xml", "python"), ("mjb", "native")])
@pytest.mark.slow
def test_a_saved_model_runs_alike_to_the_last_bit_in_another_process(pendulum, tmp_path, kind, backend):
    spec = pendulum(JOINT)
    model = compile_model(spec)
    path = tmp_path / f"rig.{kind}"
    if kind == "xml":
        save_model(spec, path)
    else:
        mujoco.mj_saveModel(model, str(path))
    done = elsewhere(STEP_AND_PRINT, path, backend)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == here(model)


@pytest.mark.parametrize(
    "joint",
    [
        JOINT,
        CompliantJoint(law="rigid", mode=1),
        CompliantJoint(law=find_law("sea")("soft"), mode=3, position_range=(-0.5, 0.5)),
        CompliantJoint(law="awas2", mode=5, preset_range=(0.0, 0.01), preset=0.005, pivot=Pivot(0.1, 0.2)),
        CompliantJoint(law="bavs", mode=6, implicit=True),
    ],
)
def test_a_saved_joint_comes_back_with_every_number_exact(pendulum, tmp_path, joint):
    spec = pendulum(joint, integrator="discrete")
    model = compile_model(spec)
    save_model(spec, tmp_path / "rig.xml")
    loaded = load_model(tmp_path / "rig.xml")
    assert compliant_joints(loaded)[0].description == joint
    for field in ("actuator_user", "actuator_ctrlrange", "actuator_delay"):
        assert getattr(loaded, field).tobytes() == getattr(model, field).tobytes()


def test_a_spec_may_be_saved_before_it_is_compiled(pendulum, tmp_path):
    save_model(pendulum(JOINT), tmp_path / "rig.xml")
    assert here(load_model(tmp_path / "rig.xml")) == here(compile_model(pendulum(JOINT)))


def test_parameters_changed_in_the_model_are_kept(pendulum, tmp_path):
    model = compile_model(pendulum(CompliantJoint(law="sea", mode=3)))
    model.actuator_user[0, 24] = 12.5
    model.actuator_ctrlrange[0] = -0.1, 0.1
    mujoco.mj_saveModel(model, str(tmp_path / "rig.mjb"))
    loaded = load_model(tmp_path / "rig.mjb")
    assert loaded.actuator_user[0, 24] == 12.5
    assert loaded.actuator_ctrlrange[0].tolist() == [-0.1, 0.1]


LAW_FILE = """
from pliant.actuators import Parameter, compliance_law

FACTOR = {factor}


def cube(d: float) -> float:
    return {cube}


@compliance_law(parameters=(Parameter("k", "N·m/rad³", 3.0, 0.0, 100.0, "cubic stiffness"),))
def cubic(q: float, theta: float, k: float) -> float:
    return {torque}
"""
LAW = {"factor": "1.0", "cube": "d * d * d", "torque": "-FACTOR * k * cube(q - theta)"}


@pytest.mark.slow
def test_a_law_of_the_users_own_is_found_missing_or_changed(pendulum, tmp_path):
    model_file, law_file = tmp_path / "rig.xml", tmp_path / "their_laws.py"
    save = (
        "import sys; import their_laws; from pliant.actuators import *; import mujoco;"
        "spec = mujoco.MjSpec.from_string(sys.argv[2]);"
        "add_compliant_joint(spec, 'hinge', CompliantJoint(law=their_laws.cubic(k=5), mode=3));"
        "save_model(spec, sys.argv[1])"
    )
    load = "import sys; from pliant.actuators import load_model; load_model(sys.argv[1], 'python')"
    law_file.write_text(LAW_FILE.format(**LAW))
    on_path = {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = elsewhere(save, model_file, pendulum().to_xml(), **on_path)
    assert done.returncode == 0, done.stderr
    refused = elsewhere(load, model_file, **on_path)
    assert "names 'their_laws:cubic', whose module is of no trusted package" in refused.stderr
    assert elsewhere(f"import their_laws; {load}", model_file, **on_path).returncode == 0
    on_path["PLIANT_TARGETS"] = "their_laws"
    assert elsewhere(load, model_file, **on_path).returncode == 0

    missing = elsewhere(load, model_file, PLIANT_TARGETS="their_laws")
    assert "ConfigurationError: law 'their_laws:cubic' cannot be imported" in missing.stderr
    for change in ({"torque": "-FACTOR * k * cube(q - theta) * 2"}, {"cube": "d * abs(d)"}, {"factor": "1.5"}):
        law_file.write_text(LAW_FILE.format(**{**LAW, **change}))
        changed = elsewhere(load, model_file, **on_path)
        assert "law 'their_laws:cubic' has changed since this model was written" in changed.stderr, change


@pytest.mark.parametrize(
    "names",
    [
        {"law": "evil:spring"},
        {"law": "my evil-law:spring"},
        {"drive": {"kind": "evil:spring", "identity": "0", "parameters": {}}},
        {"drives": {"evil:spring": "0"}},
    ],
)
def test_a_model_runs_no_code_that_it_names(pendulum, tmp_path, monkeypatch, names):
    canary = tmp_path / "canary"
    for name in ("evil", "my evil-law"):
        (tmp_path / f"{name}.py").write_text(f"open({str(canary)!r}, 'w').close()")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match=r"joint 'hinge' names '.*:spring', whose module is of no"):
        damaged(pendulum, lambda description: {**description, **names})
    spec = pendulum(CompliantJoint(law="qbmove", mode=6))
    spec.texts[0].data = json.dumps({**json.loads(spec.texts[0].data), **names})
    save_model(spec, tmp_path / "rig.xml")
    with pytest.raises(ConfigurationError, match="of no trusted package"):
        load_model(tmp_path / "rig.xml")
    assert not canary.exists()


def test_a_description_of_a_joint_that_is_not_there_is_refused(pendulum):
    spec = pendulum(CompliantJoint(law="qbmove", mode=6))
    spec.texts[0].name = "pliant/elbow"
    with pytest.raises(FileFormatError, match=r"'elbow': the model lacks what belongs to it"):
        compile_model(spec)


def damaged(pendulum, change) -> mujoco.MjModel:
    """Compile a model whose joint's description was changed; `change` maps its JSON data to other data or text."""
    spec = pendulum(CompliantJoint(law="qbmove", mode=6))
    text = spec.texts[0]
    changed = change(json.loads(text.data))
    text.data = changed if isinstance(changed, str) else json.dumps(changed)
    return compile_model(spec)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: "{", "'hinge': its description is not JSON"),
        (lambda d: "[]", "'hinge': the description of the joint is damaged"),
        (lambda d: "null", "'hinge': the description of the joint is damaged"),
        (lambda d: {k: v for k, v in d.items() if k != "law"}, r"damaged \(KeyError\('law'\)\)"),
        (lambda d: {**d, "mode": "six"}, "the description of the joint is damaged.*six"),
        (lambda d: {**d, "mode": float("inf")}, "the description of the joint is damaged.*infinity"),
        (lambda d: {**d, "drives": [1.0]}, "the description of the joint is damaged"),
        (lambda d: {**d, "pid": {**d["pid"], "kp": "much"}}, "the description of the joint is damaged.*much"),
        (lambda d: {**d, "motor": {"weight": 1.0}}, "the description of the joint is damaged.*weight"),
        (lambda d: {**d, "position_range": [1.0]}, "the description of the joint is damaged"),
        (lambda d: {**d, "mode": 3}, r"its description \(mode 3, 0 activations\) and its actuator disagree"),
        (lambda d: {**d, "implicit": True}, "its description .* and its actuator disagree"),
    ],
)  # fmt: skip
def test_a_damaged_description_is_refused(pendulum, change, message):
    with pytest.raises(FileFormatError, match=message):
        damaged(pendulum, change)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_no_damage_of_a_description_escapes_as_another_error(pendulum, data):
    junk = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=5)
        | st.lists(st.floats(), max_size=3)
    )

    def change(description):
        key = data.draw(st.sampled_from(sorted(description)))
        inner = description[key]
        if isinstance(inner, dict) and data.draw(st.booleans()):
            description[key] = {**inner, data.draw(st.sampled_from(sorted(inner))): data.draw(junk)}
        else:
            description[key] = data.draw(junk)
        return description

    with contextlib.suppress(PliantError):
        damaged(pendulum, change)


def test_an_actuator_that_does_not_fit_its_description_is_refused(pendulum):
    model = compile_model(pendulum(CompliantJoint(law="qbmove", mode=6)))
    for change in (
        lambda m: m.actuator_user.__setitem__((0, 4), 5.0),
        lambda m: m.actuator_user.__setitem__((0, 0), 1.0),
        lambda m: m.actuator_trnid.__setitem__((0, 0), -1),
    ):
        twin = copy.deepcopy(model)
        change(twin)
        with pytest.raises(FileFormatError, match="its actuator disagree"):
            prepare_model(twin)


@pytest.mark.parametrize(
    "column", [c for c in range(layout.LAW_AT) if c not in (layout.EXPLICIT_STIFFNESS, layout.LARGEST_STEP)]
)
def test_rows_that_are_not_those_of_the_description_are_refused_before_anything_runs_on_them(
    pendulum, tmp_path, column
):
    """MuJoCo calls the callbacks while it compiles, and compiled ones trust what a row says of memory."""
    spec = pendulum(CompliantJoint(law="qbmove", mode=6))
    compile_model(spec, "native")
    save_model(spec, tmp_path / "rig.xml")
    text = (tmp_path / "rig.xml").read_text()
    row = re.search(r'user="(7412[^"]*)"', text)[1]
    numbers = row.split()
    numbers[column] = "30721"
    (tmp_path / "rig.xml").write_text(text.replace(row, " ".join(numbers)))
    with pytest.raises(FileFormatError, match=r"'hinge': its description .* and its actuator disagree"):
        load_model(tmp_path / "rig.xml")


def test_names_that_are_no_text_are_refused(pendulum, tmp_path):
    save_model(pendulum(CompliantJoint(law="qbmove", mode=6)), tmp_path / "rig.xml")
    content = (tmp_path / "rig.xml").read_bytes()
    for name in (b'name="hinge/preset"', b'text name="pliant/hinge"'):
        (tmp_path / "rig.xml").write_bytes(content.replace(name, name[:-1] + b'\xfa"'))
        with pytest.raises(FileFormatError):
            load_model(tmp_path / "rig.xml")


def test_two_actuators_of_a_joint_must_stay_neighbours(pendulum, tmp_path):
    spec = pendulum(CompliantJoint(law="qbmove", mode=3))
    save_model(spec, tmp_path / "rig.xml")
    lines = (tmp_path / "rig.xml").read_text().splitlines()
    at = next(k for k, line in enumerate(lines) if "hinge/preset" in line)
    lines.insert(at, '<motor name="between" joint="hinge"/>')
    (tmp_path / "rig.xml").write_text("\n".join(lines))
    with pytest.raises(FileFormatError, match="two actuators must follow each other"):
        load_model(tmp_path / "rig.xml")


def test_a_delay_that_the_time_step_no_longer_fits_is_refused(pendulum):
    spec = pendulum(CompliantJoint(law="sea", mode=3, delay=0.01), timestep=2e-3)
    spec.option.timestep = 1e-3
    with pytest.raises(ConfigurationError, match=r"a delay of 0.01 s .* needs 10 samples, but 5 are kept"):
        compile_model(spec)


def test_files_that_are_not_there_or_not_models_are_refused(pendulum, tmp_path):
    with pytest.raises(MissingFileError, match=r"nowhere.xml' does not exist"):
        load_model(tmp_path / "nowhere.xml")
    for name in ("bad.xml", "bad.mjb"):
        (tmp_path / name).write_text("<mujoco><worldbody></mujoco>")
        with pytest.raises(FileFormatError, match="cannot read the model file"):
            load_model(tmp_path / name)
    with pytest.raises(OutputError, match="cannot be written"):
        save_model(pendulum(JOINT), tmp_path / "no" / "such" / "folder.xml")


def test_a_model_without_compliant_joints_is_loaded_too(pendulum, tmp_path):
    save_model(pendulum(), tmp_path / "plain.xml")
    assert compliant_joints(load_model(tmp_path / "plain.xml")) == ()
    spec = pendulum()
    spec.add_text(name="note", data="not ours")
    assert compliant_joints(compile_model(spec)) == ()


def test_joints_are_listed_in_the_order_of_their_actuators():
    spec = mujoco.MjSpec()
    body = spec.worldbody
    for name in ("shoulder", "elbow", "wrist"):
        body = body.add_body(pos=[0, 0, -0.1])
        body.add_joint(name=name, axis=[0, 1, 0])
        body.add_geom(size=[0.03, 0, 0], mass=0.5)
    for name in ("wrist", "shoulder", "elbow"):
        add_compliant_joint(spec, name, CompliantJoint(law="qbmove", mode=3))
    joints = compliant_joints(compile_model(spec))
    assert [(joint.name, joint.actuators) for joint in joints] == [
        ("wrist", (0, 1)), ("shoulder", (2, 3)), ("elbow", (4, 5)),
    ]  # fmt: skip
