"""Motion and forces of a tree of bodies, by Newton and Euler in the world's axes, from a model's numbers alone."""

import math
from typing import NamedTuple

import mujoco
import numpy as np

FREE = mujoco.mjtJoint.mjJNT_FREE


class Body(NamedTuple):
    """Of a body at an instant, in the world's axes."""

    place: np.ndarray
    """Of its origin, m."""
    turn: np.ndarray
    velocity: np.ndarray
    """Of its origin; then of rotation."""
    spin: np.ndarray
    acceleration: np.ndarray
    twist: np.ndarray
    """Of rotation, rad/s²."""


def cross(a, b):
    """Quicker than NumPy's for one pair."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def turned(quaternion):
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def about(axis, angle):
    """Rotation about a unit axis, by Rodrigues."""
    x, y, z = axis
    across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * across + (1 - math.cos(angle)) * across @ across


def moved(body, at):
    """Place, velocity and acceleration of a point of a body, at in its axes."""
    arm = body.turn @ at
    return (
        body.place + arm,
        body.velocity + cross(body.spin, arm),
        body.acceleration + cross(body.twist, arm) + cross(body.spin, cross(body.spin, arm)),
    )


def bodies(model, q, u, du):
    """All bodies of a model whose joints are free ones and hinges."""
    zero = np.zeros(3)
    found = [Body(zero, np.eye(3), zero, zero, zero, zero)]
    for k in range(1, model.nbody):
        parent = found[model.body_parentid[k]]
        place, velocity, acceleration = moved(parent, model.body_pos[k])
        turn = parent.turn @ turned(model.body_quat[k])
        body = Body(place, turn, velocity, parent.spin, acceleration, parent.twist)
        for j in range(model.body_jntadr[k], model.body_jntadr[k] + model.body_jntnum[k]):
            at, dof = model.jnt_qposadr[j], model.jnt_dofadr[j]
            if model.jnt_type[j] == FREE:
                turn = turned(q[at + 3 : at + 7])
                body = Body(
                    q[at : at + 3], turn, u[dof : dof + 3], turn @ u[dof + 3 : dof + 6],
                    du[dof : dof + 3], turn @ du[dof + 3 : dof + 6],
                )  # fmt: skip
                continue
            axis, anchor = body.turn @ model.jnt_axis[j], moved(body, model.jnt_pos[j])
            about_anchor = Body(
                anchor[0], body.turn @ about(model.jnt_axis[j], q[at]),
                anchor[1], body.spin + axis * u[dof],
                anchor[2], body.twist + axis * du[dof] + cross(body.spin, axis * u[dof]),
            )  # fmt: skip
            place, velocity, acceleration = moved(about_anchor, -model.jnt_pos[j])
            body = about_anchor._replace(place=place, velocity=velocity, acceleration=acceleration)
        found.append(body)
    return found


def inertial_forces(model, found, gravity):
    """Force and moment about the centre of mass of all bodies, (bodies, 6), and its velocity and their spin."""
    forces, ways = np.zeros((2, model.nbody, 6))
    for k, body in enumerate(found):
        _, velocity, acceleration = moved(body, model.body_ipos[k])
        axes = body.turn @ turned(model.body_iquat[k])
        inertia = axes @ np.diag(model.body_inertia[k]) @ axes.T
        forces[k, :3] = model.body_mass[k] * (acceleration - gravity)
        forces[k, 3:] = inertia @ body.twist + cross(body.spin, inertia @ body.spin)
        ways[k] = *velocity, *body.spin
    return forces, ways


def generalised_forces(model, q, motions, gravity=(0.0, 0.0, 0.0)):
    """M·du + c + g of every motion (u, du), (nv,): what these forces do along every velocity, by d'Alembert."""
    still = np.zeros(model.nv)
    along = [inertial_forces(model, bodies(model, q, one, still), still[:3])[1] for one in np.eye(model.nv)]
    return [
        np.tensordot(along, inertial_forces(model, bodies(model, q, u, du), gravity)[0], 2) for u, du in motions
    ]
