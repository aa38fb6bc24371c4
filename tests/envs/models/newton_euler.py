"""Torques of a chain of hinges by recursive Newton–Euler, written without MuJoCo, to compare models with."""

import math

import mujoco
import numpy as np

GRAVITY = np.array([0.0, 0.0, -9.81])
TOOL = {"mass": 1.3, "com": [0.01, -0.02, 0.06], "inertia": [0.003, 0.0025, 0.0015, 1e-4, -2e-4, 3e-4]}
PAYLOAD = {"mass": 4.2, "com": [0.03, 0.02, 0.15]}


def symmetric(xx, xy, xz, yy, yz, zz):
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


class Body:
    """A link: its joint's frame in the parent's at 0, and what turns with it (mass, centre, inertia) in its."""

    def __init__(self, turn, offset, parts):
        self.turn, self.offset, self.parts = turn, np.asarray(offset, float), parts


def cross(a, b):
    """Much quicker than NumPy's for one pair."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def about_z(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def forward(bodies, q):
    """Position and axes of every body's frame in the world's."""
    turn, at, found = np.eye(3), np.zeros(3), []
    for body, angle in zip(bodies, q, strict=True):
        at = at + turn @ body.offset
        turn = turn @ body.turn @ about_z(angle)
        found.append((at, turn))
    return found


def inverse_dynamics(bodies, q, dq, ddq, gravity):
    """Joint torques by recursive Newton–Euler in the world's frame; each joint turns about z of its frame."""
    turn, at = np.eye(3), np.zeros(3)
    w, dw, acceleration = np.zeros(3), np.zeros(3), -np.asarray(gravity, float)
    axes, places, wrenches = [], [], []
    for body, angle, speed, rate in zip(bodies, q, dq, ddq, strict=True):
        arm = turn @ body.offset
        acceleration = acceleration + cross(dw, arm) + cross(w, cross(w, arm))
        at = at + arm
        turn = turn @ body.turn
        axis = turn[:, 2]
        turn = turn @ about_z(angle)
        dw = dw + axis * rate + cross(w, axis * speed)
        w = w + axis * speed
        force, moment = np.zeros(3), np.zeros(3)
        for mass, centre, inertia in body.parts:
            r = turn @ centre
            of_world = turn @ inertia @ turn.T
            f = mass * (acceleration + cross(dw, r) + cross(w, cross(w, r)))
            force = force + f
            moment = moment + of_world @ dw + cross(w, of_world @ w) + cross(r, f)
        axes.append(axis)
        places.append(at)
        wrenches.append((force, moment))
    torques, force, moment, behind = np.zeros(len(bodies)), np.zeros(3), np.zeros(3), at
    for i in reversed(range(len(bodies))):
        moment = moment + cross(behind - places[i], force) + wrenches[i][1]
        force, behind = force + wrenches[i][0], places[i]
        torques[i] = axes[i] @ moment
    return torques


def loads():
    """Tool and payload in the frame of the flange."""
    xx, yy, zz, xy, xz, yz = TOOL["inertia"]
    return [
        (TOOL["mass"], np.array(TOOL["com"]), symmetric(xx, xy, xz, yy, yz, zz)),
        (PAYLOAD["mass"], np.array(PAYLOAD["com"]), np.zeros((3, 3))),
    ]


def states(n, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-2 * np.pi, 2 * np.pi, (n, 6)), random.uniform(-3.0, 3.0, (n, 6))


def check_dynamics(model, bodies, mass_matrix, n):
    """Compare a model's mass matrix, bias and compensated weight with those of bodies, in `n` states."""
    data = mujoco.MjData(model)
    zero = np.zeros(6)
    for q, dq in zip(*states(n), strict=True):
        data.qpos[:], data.qvel[:] = q, dq
        mujoco.mj_forward(model, data)
        expected = np.column_stack([inverse_dynamics(bodies, q, zero, one, zero[:3]) for one in np.eye(6)])
        matrix = mass_matrix(model, data)
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-9 * expected.max())
        bias = inverse_dynamics(bodies, q, dq, zero, GRAVITY)
        np.testing.assert_allclose(data.qfrc_bias, bias, rtol=0, atol=1e-9 * np.abs(bias).max())
        weight = inverse_dynamics(bodies, q, zero, zero, GRAVITY)
        np.testing.assert_allclose(data.qfrc_gravcomp, weight, rtol=0, atol=1e-9 * np.abs(weight).max())
