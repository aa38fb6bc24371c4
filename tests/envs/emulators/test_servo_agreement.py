"""A servo on a MuJoCo joint moves as the emulated servo on its bus does, from the same goals and registers."""

import math
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, ServoDrive, add_compliant_joint, compile_model
from pliant.actuators.ax12a import AX12A
from pliant.actuators.bam import SERVOS
from pliant.envs.emulators.dynamixel.plant import TICK
from pliant.envs.emulators.dynamixel.plants import MOTORS, Shaft
from pliant.hardware.dynamixel.tables import servo_model

LOAD, PERIOD = 0.003, 0.02
AX_REGISTERS = {"cw_margin": 1, "ccw_margin": 2, "cw_slope": 16, "ccw_slope": 64, "punch": 40}
XL = replace(SERVOS["XL330"], error_gain=4096 / math.tau / (128 * 885))
"""The e-manual has P gain/128; the published fits of this servo have half of that, in their own kt."""
CASES = {
    "AX-12A": (ServoDrive(AX12A(**AX_REGISTERS)), 12.0, 0.3),
    "XL330-M288": (ServoDrive(XL, p_gain=400, voltage=5.0), 5.0, 0.1),
    "MX-64(2.0)": (
        ServoDrive(replace(SERVOS["MX-64"], error_gain=XL.error_gain, max_duty=1.0), p_gain=850), 12.0, 0.8,
    ),
}  # fmt: skip


def goals() -> np.ndarray:
    """Counts from the middle, one a period: steps to either side, then a slow wave."""
    time = np.arange(250) * PERIOD
    wave = 60.0 * np.sin(4.0 * (time - 3.0))
    return np.round(np.select([time < 0.2, time < 1.0, time < 2.0, time < 3.0], [0, 150, -80, 0], wave)).astype(
        int
    )


@pytest.mark.parametrize("name", CASES)
def test_it_moves_as_the_emulated_one(make_line, name):
    drive, supply, weight = CASES[name]
    kind = servo_model(name)
    count = kind.radians_per_count
    middle = kind.zero_count * count
    shaft = Shaft(MOTORS[name], LOAD, weight, hanging=middle, start=middle)
    line = make_line({1: name}, {1: shaft})
    line.plant.set_supply(supply)
    if name == "AX-12A":
        for register in ("margin", "slope"):
            for side in ("cw", "ccw"):
                line.write(1, f"{side}_compliance_{register}", AX_REGISTERS[f"{side}_{register}"])
        line.write(1, "punch", AX_REGISTERS["punch"])
    else:
        line.write(1, "position_p_gain", int(drive.p_gain))
    line.write(1, "torque_enable", 1)

    spec = mujoco.MjSpec()
    spec.option.timestep = TICK
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    body = spec.worldbody.add_body()
    distance = 0.01
    body.explicitinertial, body.mass, body.ipos = True, weight / 9.81 / distance, [0, 0, -distance]
    inertia = LOAD - body.mass * distance**2
    body.inertia = [inertia, inertia, inertia]
    body.add_joint(name="servo", axis=[0, 1, 0])
    add_compliant_joint(spec, "servo", CompliantJoint("rigid", "link_position", servo=drive))
    model = compile_model(spec)
    data = mujoco.MjData(model)

    counts = goals()
    emulated, simulated = np.zeros((2, len(counts)))
    start = line.bus.now
    for k, goal in enumerate(counts):
        line.write(1, "goal_position", kind.zero_count + int(goal))
        line.bus.advance(start + (k + 1) * PERIOD)
        emulated[k] = line.plant[1].position - middle
        data.ctrl[0] = goal * count
        mujoco.mj_step(model, data, round(PERIOD / TICK))
        simulated[k] = data.qpos[0]
    difference = np.abs(simulated - emulated)
    assert np.ptp(emulated) > 200 * count
    assert difference.mean() < count / 2
    fastest = np.abs(np.diff(emulated)).max() / PERIOD
    assert difference.max() < max(3 * TICK * fastest, 3 * count), "some ticks, as goals arrive between two of them"
