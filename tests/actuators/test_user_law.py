"""A law in a file of the user's own runs like ours: both back ends, from Python and from a configuration."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hydra.utils import instantiate

from pliant.actuators import (
    Compliance,
    CompliantJoint,
    JointReader,
    compile_model,
    compliant_joints,
    find_law,
    install,
    stability_margin,
)
from pliant.errors import ConfigurationError

FILE = '''
import math

from pliant.actuators import Parameter, Preset, antagonistic, compliance_law

LIMIT = 0.5


def clamp(d: float, limit: float) -> float:
    """A helper that the laws share."""
    return min(max(d, -limit), limit)


def cube(d: float, limit: float) -> float:
    return clamp(d, limit) * clamp(d, limit) * clamp(d, limit)


@compliance_law(
    parameters=(
        Parameter("k", "N·m/rad³", 3.0, 0.0, 100.0, "cubic stiffness"),
        Parameter("max_deflection", "rad", 0.5, 0.1, 1.0, "deflection at which the spring stops yielding"),
    )
)
def cubic(q: float, theta: float, k: float, max_deflection: float) -> float:
    return -k * cube(q - theta, max_deflection)


def preset(k: float) -> Preset:
    return Preset("cocontraction", "rad", 0.0, 0.4, 0.1)


def tense(equilibrium: float, preset: float) -> tuple[float, float]:
    """A reference map of its own: the second motor works twice as far."""
    return equilibrium + preset, equilibrium - 2.0 * preset


@compliance_law(
    parameters=(Parameter("k", "N·m", 0.05, 0.0, 10.0, "torque scale"),), reference_map=tense, preset=preset
)
def pair(q: float, theta1: float, theta2: float, k: float) -> tuple[float, float]:
    return -k * math.sinh(4.0 * clamp(q - theta1, LIMIT)), -k * math.sinh(4.0 * clamp(q - theta2, LIMIT))


@compliance_law(parameters=(Parameter("k", "N·m/rad", 3.0, 0.0, 100.0, "stiffness"),))
def spelled(q: float, theta: float, k: float) -> float:
    return -float(str(k)) * (q - theta)


@compliance_law()
def listing(q: float, theta: float) -> float:
    return -sum(x.real for x in [q - theta, {}])


def made(k: float):
    @compliance_law()
    def closed(q: float, theta: float) -> float:
        return -k * (q - theta)

    return closed


closed = made(1.0)
other = made(2.0)
'''


@pytest.fixture(scope="module")
def laws(tmp_path_factory):
    """The user's module, imported from the import path."""
    folder = tmp_path_factory.mktemp("theirs")
    (folder / "mylaws.py").write_text(FILE)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield importlib.import_module("mylaws")
    sys.path.remove(str(folder))
    del sys.modules["mylaws"]


def sine(t):
    return (0.5 * np.sin(5 * t), 0.2)


@pytest.mark.parametrize("mode", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("name", ["cubic", "pair"])
def test_it_runs_in_every_mode_alike_in_both_back_ends(laws, pendulum, simulate, name, mode):
    joint = CompliantJoint(law=getattr(laws, name), mode=mode)
    model = compile_model(pendulum(joint, damping=0.001))
    native = simulate(model, lambda t: sine(t)[: model.nu], 0.3)
    install("python")
    interpreted = simulate(model, lambda t: sine(t)[: model.nu], 0.3)
    assert native.position.tobytes() == interpreted.position.tobytes()
    assert native.act.tobytes() == interpreted.act.tobytes()
    assert np.ptp(native.position) > 0.005


def test_its_stiffness_is_found_by_differences(laws, pendulum):
    model = compile_model(pendulum(CompliantJoint(law=laws.cubic(k=10.0), mode=3)))
    data = mujoco.MjData(model)
    data.qpos[0] = 0.3
    readings = []
    for backend in ("native", "python"):
        install(backend)
        readings.append(JointReader(model, data, compliant_joints(model)).read().copy())
    assert readings[0].tobytes() == readings[1].tobytes()
    torque, stiffness = readings[0][0, 2:4]
    assert torque == pytest.approx(-10.0 * 0.3**3)
    assert stiffness == pytest.approx(3 * 10.0 * 0.3**2, rel=1e-6)
    assert laws.cubic(k=10.0).stiffness(0.7, 0.0) == 0.0, "past the clamp"


def test_its_own_reference_map_is_used_in_modes_3_and_6(laws, pendulum, simulate):
    model = compile_model(pendulum(CompliantJoint(law="mylaws:pair", mode=3)))
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.3, 0.1
    mujoco.mj_forward(model, data)
    for backend in ("native", "python"):
        install(backend)
        (line,) = JointReader(model, data, compliant_joints(model)).read()
        assert line[4:6].tolist() == pytest.approx([0.4, 0.1])


def test_it_is_built_from_a_configuration(laws):
    law = instantiate({"_target_": "mylaws.cubic", "k": 3})
    assert isinstance(law, Compliance)
    assert law == laws.cubic(k=3)
    joint = instantiate(
        {"_target_": "pliant.actuators.CompliantJoint", "law": {"_target_": "mylaws.cubic", "k": 8.0}, "mode": 3}
    )
    assert joint == CompliantJoint(law=laws.cubic(k=8.0), mode=3)
    assert CompliantJoint(law="mylaws:cubic").law == find_law("mylaws:cubic")()


def test_its_stiffest_setting_bounds_the_time_step(laws, pendulum):
    model = compile_model(pendulum(CompliantJoint(law=laws.cubic(k=100.0), mode=3)))
    (joint,) = compliant_joints(model)
    margin = stability_margin(model, [(joint.name, joint.description, joint.joint)])
    assert margin.stiffness == pytest.approx(3 * 100.0 * 0.5**2, rel=1e-3)
    assert margin.largest_step == pytest.approx(2 / np.sqrt(margin.stiffness / 3.2e-4), rel=1e-3)


@pytest.mark.parametrize("name", ["spelled", "listing"])
def test_one_that_cannot_be_compiled_is_named_and_harms_no_other(laws, pendulum, simulate, name):
    with pytest.raises(ConfigurationError, match=rf"law '{name}' cannot be compiled: .*backend=\"python\""):
        compile_model(pendulum(CompliantJoint(law=getattr(laws, name), mode=3)))
    model = compile_model(pendulum(CompliantJoint(law=laws.cubic, mode=3)))
    assert np.isfinite(simulate(model, 0.5, 0.01).position).all()


@pytest.mark.slow
def test_one_that_cannot_be_compiled_runs_in_python(laws, pendulum):
    """In a process of its own, which then has to stay with Python."""
    script = f"""
import sys, mujoco, mylaws
from pliant.actuators import *
from pliant.errors import ConfigurationError
spec = mujoco.MjSpec.from_string({pendulum().to_xml()!r})
add_compliant_joint(spec, "hinge", CompliantJoint(law=mylaws.spelled, mode=3))
model = compile_model(spec, "python")
data = mujoco.MjData(model)
data.ctrl[0] = 0.5
mujoco.mj_step(model, data)
print(data.qfrc_actuator[0])
try:
    install("native")
except ConfigurationError as error:
    print(error)
print(current_backend())
"""
    folder = str(Path(laws.__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    torque, error, backend = done.stdout.splitlines()
    assert float(torque) == 1.5
    assert "law 'spelled' cannot be compiled" in error
    assert backend == "Backend.PYTHON"


def test_one_that_another_process_could_not_find_is_refused(laws, pendulum):
    compile_model(pendulum(CompliantJoint(law=laws.closed, mode=3)))
    with pytest.raises(ConfigurationError, match=r"'mylaws:closed' is not what its file holds under that name"):
        pendulum(CompliantJoint(law=laws.other, mode=3))
    with pytest.raises(ConfigurationError, match=r"'mylaws:hidden' cannot be imported"):
        pendulum(CompliantJoint(law=_hidden(laws), mode=3))


def _hidden(laws):
    law = laws.made(3.0)
    law.torque.__name__ = "hidden"
    return type(law)("hidden", law.torque, 1, ())
