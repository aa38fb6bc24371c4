from collections.abc import Callable, Iterator
from typing import NamedTuple

import mujoco
import numpy as np
import pytest

from pliant.actuators import CompliantJoint, add_compliant_joint, uninstall


class Motion(NamedTuple):
    """A recorded motion, one line per step, each taken after its step."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    act: np.ndarray


@pytest.fixture(autouse=True)
def no_callback_outlives_a_test() -> Iterator[None]:
    yield
    uninstall()
    mujoco.set_mjcb_act_dyn(None)
    mujoco.set_mjcb_act_bias(None)


@pytest.fixture(scope="session")
def pendulum() -> Callable[..., mujoco.MjSpec]:
    """Return a maker of the 1-DOF rig of the paper: 0.2 kg at 0.04 m, hanging down at q = 0, mgl = 0.07848 N·m."""

    def make(
        joint: CompliantJoint | None = None,
        *,
        timestep: float = 1e-3,
        integrator: str = "euler",
        damping: float = 0.0,
        mass: float = 0.2,
        gravity: float = 9.81,
        armature: float = 0.0,
    ) -> mujoco.MjSpec:
        spec = mujoco.MjSpec()
        spec.option.timestep = timestep
        spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        spec.option.gravity = [0.0, 0.0, -gravity]
        body = spec.worldbody.add_body(name="link")
        body.explicitinertial = True
        body.mass, body.ipos, body.inertia = mass, [0.0, 0.0, -0.04], [1e-9, 1e-9, 1e-9]
        hinge = body.add_joint(name="hinge", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0.0, 1.0, 0.0])
        hinge.damping[0] = damping
        hinge.armature = armature
        if joint is not None:
            add_compliant_joint(spec, "hinge", joint)
        return spec

    return make


@pytest.fixture(scope="session")
def simulate() -> Callable[..., Motion]:
    """Return a function that steps a model and records it.

    `control` is the controls themselves, or a function of the time in the middle of a step: a control is held
    over its step, so that this choice represents a smooth reference to second order.
    """

    def run(model: mujoco.MjModel, control, duration: float, data: mujoco.MjData | None = None) -> Motion:
        data = mujoco.MjData(model) if data is None else data
        step = model.opt.timestep
        steps = round(duration / step)
        motion = Motion(*(np.zeros((steps, n)) for n in (1, model.nq, model.nv, model.na)))
        for k in range(steps):
            data.ctrl[:] = control(data.time + 0.5 * step) if callable(control) else control
            mujoco.mj_step(model, data)
            for array, now in zip(motion, (data.time, data.qpos, data.qvel, data.act), strict=True):
                array[k] = now
        return motion

    return run
