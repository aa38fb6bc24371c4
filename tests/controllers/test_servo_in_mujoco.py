"""A servo on a MuJoCo joint does what the simulation that identified it does, and what the real one did."""

import json
from importlib import resources
from pathlib import Path

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, ServoDrive, add_compliant_joint, compile_model
from pliant.actuators.bam import IDENTIFIED, find_servo
from pliant.controllers.pendulum_bench import Recording, load_recordings, mean_error, residuals, simulate

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "xl330_pendulum"
FAMILY = [f"XL330/m{n}" for n in range(1, 7)]
MOTIONS = {
    "sine": lambda t: 1.5 * np.sin(2 * t),
    "two sines": lambda t: np.sin(2 * t) * (1 + np.sin(7 * t)),
    "step": lambda t: np.where(t < 0.5, 0.0, 1.2),
}


STEP = 1e-3


def bench(recording: Recording, name: str, rig: dict[str, float]) -> np.ndarray:
    """Position at every time stamp of a recording as the encoder would read it, simulated by MuJoCo."""
    mass, length, offset = recording.mass + rig["arm_mass"], recording.length, rig["position_offset"]
    centre = (recording.mass + rig["arm_mass"] / 2) * length / mass
    inertia = (recording.mass + rig["arm_mass"] / 3) * length**2 - mass * centre**2
    spec = mujoco.MjSpec()
    spec.option.timestep = STEP
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody.add_body()
    body.explicitinertial, body.mass, body.ipos = True, mass, [0, 0, -centre]
    body.inertia = [inertia, inertia, inertia]
    body.add_joint(name="servo", axis=[0, 1, 0])
    drive = ServoDrive(name, recording.p_gain, recording.voltage, recording.temperature)
    delay = round(rig["command_delay"] / STEP) * STEP
    joint = CompliantJoint("rigid", "link_position", servo=drive, position_range=(-4.0, 4.0), delay=delay)
    add_compliant_joint(spec, "servo", joint)
    model = compile_model(spec)
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = recording.position[0] - offset, recording.speed[0]
    time = recording.time - recording.time[0]
    steps = round(time[-1] / STEP) + 1
    motion = np.zeros((steps, 2))
    for k in range(steps):
        motion[k] = data.time, data.qpos[0]
        data.ctrl[0] = np.interp(data.time + STEP / 2, time, recording.goal) - offset
        mujoco.mj_step(model, data)
    return np.interp(time, *motion.T) + offset


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", FAMILY)
def test_mujoco_gives_the_motion_of_the_identified_model(name, motion):
    time = np.arange(0.0, 6.0, 0.002)
    still = np.zeros_like(time)
    recording = Recording(
        "made", "XL330", 200.0, 7.4, 0.49, 0.1, 25.0, time, MOTIONS[motion](time), still, still, np.ones_like(time)
    )  # fmt: skip
    rig = {"arm_mass": 0.05, "position_offset": 0.0, "command_delay": 0.0}
    expected = simulate(recording, find_servo(name), rig, step=1e-4)
    difference = np.abs(bench(recording, name, rig) - expected)
    assert np.ptp(expected) > 0.7
    assert difference.mean() < 2e-3
    assert difference.max() < 6e-3


@pytest.mark.skipif(not DATA.is_dir(), reason="the recordings of the pendulum are not here")
def test_mujoco_gives_the_motion_of_the_real_servo():
    """Mean error over the recordings whose torque is never switched off, in rad; identification missed 0.017."""
    entries = json.loads((resources.files("pliant.actuators") / IDENTIFIED).read_text("utf-8"))["models"]
    (rig,) = (entry["bench"] for entry in entries if entry["servo"]["model"] == "m6")
    recordings = [r for r in load_recordings(DATA) if r.enabled.min() == 1.0]
    assert len(recordings) >= 6
    found = [residuals(r, bench(r, "XL330/m6", rig)) for r in recordings]
    assert mean_error(found) < 0.020
