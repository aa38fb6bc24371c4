"""The simulated two-link arm and its kinematics against their closed form."""

from collections.abc import Iterator

import mujoco
import numpy as np

from pliant.actuators import compile_model
from pliant.controllers.checks import Array
from pliant.controllers.two_link import TwoLinkArm
from pliant.envs.models.scene import GRAVITY
from pliant.envs.models.two_link import two_link
from pliant.errors import OutOfBoundsError

_STATES = 50


def closed_form(vertical: bool) -> TwoLinkArm:
    """The arm of the textbooks, standing or lying."""
    return TwoLinkArm(gravity=GRAVITY if vertical else 0.0)


def _states() -> Iterator[tuple[Array, Array]]:
    """Random angles and speeds, (2,) each, the same every time."""
    random = np.random.default_rng(0)
    for _ in range(_STATES):
        yield random.uniform(-np.pi, np.pi, 2), random.uniform(-3.0, 3.0, 2)


def compare_dynamics() -> dict[str, float]:
    """Largest differences of the simulated arm from M, C·q̇ + g, g and the position of the tip."""
    worst = dict.fromkeys(("mass", "bias", "gravity", "tip"), 0.0)
    for vertical in (True, False):
        arm = closed_form(vertical)
        model = compile_model(two_link(vertical=vertical).spec)
        data = mujoco.MjData(model)
        mass = np.empty((2, 2))
        for q, dq in _states():
            for speed, name in ((0.0 * dq, "gravity"), (dq, "bias")):
                data.qpos[:], data.qvel[:] = q, speed
                mujoco.mj_forward(model, data)
                bias = arm.coriolis_matrix(q, speed) @ speed + arm.gravity_torque(q)
                worst[name] = max(worst[name], _gap(data.qfrc_bias, bias))
            mujoco.mj_fullM(model, data, mass)
            worst["mass"] = max(worst["mass"], _gap(mass, arm.mass_matrix(q)))
            tip = data.site("tip").xpos - data.joint("shoulder").xanchor
            worst["tip"] = max(worst["tip"], _gap(tip[[0, 2 if vertical else 1]], arm.forward_kinematics(q)))
    return {f"{name}_difference": value for name, value in worst.items()}


def compare_kinematics() -> dict[str, float]:
    """How far both solutions of the inverse kinematics are off, and how many unreachable points are refused."""
    arm, off, apart, refused = TwoLinkArm(), 0.0, 0.0, 0
    for q, _ in _states():
        point = arm.forward_kinematics(q)
        both = [arm.inverse_kinematics(point, near=q, elbow=elbow) for elbow in ("up", "down")]
        off = max(off, *(_gap(arm.forward_kinematics(solution), point) for solution in both))
        apart = max(apart, min(_gap(solution, q) for solution in both))
        try:
            arm.inverse_kinematics(point / np.linalg.norm(point) * (arm.reach[1] + 1e-3), elbow="up")
        except OutOfBoundsError:
            refused += 1
    return {
        "inverse_position_error_m": off,
        "inverse_angle_error_rad": apart,
        "unreachable_refused": float(refused),
        "unreachable_asked": float(_STATES),
    }


def _gap(a: Array, b: Array) -> float:
    return float(np.abs(np.asarray(a) - b).max())
