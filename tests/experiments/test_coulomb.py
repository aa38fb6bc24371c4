"""The Coulomb arm itself, and simulated dry friction beside it."""

import mujoco
import numpy as np
import pytest

from pliant.actuators import compile_model, compliant_joints
from pliant.envs.models.arm2 import arm2, arm2_joints
from pliant.envs.simulation.resting import put_at_rest
from pliant.errors import ConfigurationError
from pliant.experiments.coulomb import CoulombArm
from pliant.experiments.statics import StaticArm

PRESET = 0.2
PUSH = 0.02
"""N·m, less than the joints' dry friction."""


def lying(**settings):
    return compile_model(arm2(preset=PRESET, vertical=False, **settings).spec, check=False)


def ramp(duration):
    """Equilibrium of both joints at a time: up to 0.4 rad, and held there."""
    return lambda t: 0.4 * min(t / duration, 1.0)


def references(equilibrium):
    return lambda t: equilibrium(t) + PRESET * np.array([1.0, -1.0, 1.0, -1.0])


def simulated(model, equilibrium, duration):
    """Link angles every 10 ms, from where the Coulomb arm starts: motors at their first references."""
    data = mujoco.MjData(model)
    data.ctrl[:] = [equilibrium(0.0), PRESET] * 2
    put_at_rest(model, data, compliant_joints(model))
    step, angles = model.opt.timestep, [data.qpos.copy()]
    for k in range(round(duration / step)):
        data.ctrl[:] = [equilibrium((k + 0.5) * step), PRESET] * 2
        mujoco.mj_step(model, data)
        if (k + 1) % round(0.01 / step) == 0:
            angles.append(data.qpos.copy())
    return np.array(angles)


@pytest.mark.parametrize("duration", [1.0, 2.0])
def test_after_a_ramp_the_arm_stands_where_coulomb_friction_holds_it(duration):
    model, equilibrium = lying(), ramp(duration)
    times = 0.01 * np.arange(round(100 * (duration + 2.0)) + 1)
    expected = CoulombArm(model).run([0.0, duration, times[-1]], references(equilibrium), times)
    found = simulated(model, equilibrium, times[-1])
    np.testing.assert_allclose(found, expected[:, :2], atol=3e-4)
    held = found[-1] - StaticArm(model).rest([0.4, 0.4], [PRESET, PRESET])
    assert (held < [-0.025, -0.018]).all()  # far from the balance, where friction that creeps would end
    assert (expected[-1, 2:] == 0.0).all()


def test_a_push_below_its_friction_moves_no_stuck_joint_of_the_coulomb_arm_and_one_above_it_does():
    arm, still = CoulombArm(lying()), references(lambda t: 0.0)
    times = np.array([2.0, 3.0, 4.0])

    def pushed(torque):
        at = arm.run([0.0, 2.0, 4.0], still, times, lambda t: (0.0, torque if t > 2.0 else 0.0))
        return at[:, 1] - at[0, 1]

    np.testing.assert_array_equal(pushed(PUSH), 0.0)
    assert pushed(0.06)[-1] > 5e-3


def test_without_dry_friction_the_coulomb_arm_ends_in_the_balance_of_its_springs():
    model = lying(friction=0.0)
    end = CoulombArm(model).run([0.0, 4.0], references(lambda t: 0.4), np.array([4.0]))[0]
    balance = StaticArm(model).rest([0.4, 0.4], [PRESET, PRESET])
    np.testing.assert_allclose(end[:2], balance, atol=5e-4)  # but for the motors' own dry friction


@pytest.mark.parametrize("integrator", ["euler", "rk4", "implicit", "implicitfast", "discrete"])
@pytest.mark.parametrize("timestep", [1e-3, 2e-3, 4e-3])
def test_a_stuck_link_stays(integrator, timestep):
    """At any step of any integrator, at rest and under a load that dry friction can carry, at most 0.1 mrad/s."""
    model = lying(timestep=timestep, integrator=integrator)
    data, iterations = mujoco.MjData(model), []
    data.ctrl[1::2] = PRESET
    mujoco.mj_step(model, data, round(3.0 / timestep))
    before = data.qpos.copy()
    data.qfrc_applied[1] = PUSH
    for _ in range(round(1.0 / timestep)):
        mujoco.mj_step(model, data)
        iterations.append(data.solver_niter[0])
    assert np.abs(data.qpos - before).max() < 1e-5
    assert np.mean(iterations) < 1.5  # it costs the solver nothing
    for _ in range(round(2.0 / timestep)):  # and nothing blows up or rings in motion
        data.ctrl[::2] = 0.4 * np.sin(2.0 * np.pi * data.time)
        mujoco.mj_step(model, data)
        iterations.append(data.solver_niter[0])
    assert np.abs(data.qvel).max() < 10.0
    assert np.mean(iterations) < 1.5


@pytest.mark.parametrize("solver", ["PGS", "CG", "NEWTON"])
def test_a_stuck_link_stays_with_every_solver(solver):
    arm = arm2(preset=PRESET, vertical=False)
    arm.spec.option.solver = getattr(mujoco.mjtSolver, f"mjSOL_{solver}")
    model = compile_model(arm.spec)
    data = mujoco.MjData(model)
    data.ctrl[1::2] = PRESET
    mujoco.mj_step(model, data, 3000)
    before = data.qpos.copy()
    data.qfrc_applied[1] = PUSH
    mujoco.mj_step(model, data, 1000)
    assert np.abs(data.qpos - before).max() < 1e-4


def test_an_arm_that_the_reference_does_not_describe_is_refused():
    with pytest.raises(ConfigurationError, match="in mode 6"):
        CoulombArm(compile_model(arm2(arm2_joints(mode=3)).spec))
