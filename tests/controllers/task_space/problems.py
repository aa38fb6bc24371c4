"""Problems of task-space control to try solvers on: of any size at random, of a UR10, and of Atlas on its feet."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
from scipy.optimize import nnls

from pliant.controllers.task_space.problem import Problem
from pliant.envs.models.ur import ur

ATLAS = Path(__file__).parents[4] / "shared" / "data" / "robots" / "atlas.json"
UR10_TORQUE = np.array([330.0, 330.0, 150.0, 54.0, 54.0, 54.0])
SOLE = np.array([0.13, 0.0624435])
"""Half length and half width, m."""
SLIDING = 0.7
"""Coefficient of friction."""
STANCE = {
    **{
        f"{side}_leg_{joint}": angle
        for side in "lr"
        for joint, angle in (("hpy", -0.45), ("kny", 0.9), ("aky", -0.45))
    },
    **{f"{side}_arm_{joint}": angle for side in "lr" for joint, angle in (("ely", 1.2), ("wry", 0.5))},
    **{
        f"{side}_arm_{joint}": sign * angle
        for side, sign in (("l", 1), ("r", -1))
        for joint, angle in (("elx", 0.8), ("shx", -0.6))
    },
}
"""Knees and elbows bent, away from their stops; the other joints are at 0."""
ATLAS_LEVELS = (0, 3, 6, 9, 37)
"""Centre of mass, orientation of the pelvis, hand, posture."""
ATLAS_WEIGHTS = (1e4, 1e3, 1e3, 0.1)


def equalities(problem):
    """Return E, e of E·(u̇, λ) = e: constraints, then the rows that no drive moves."""
    nv, forces = len(problem.bias), len(problem.constraint_wanted)
    passive = np.setdiff1d(np.arange(nv), problem.actuated)
    held = np.hstack([problem.constraint, np.zeros((forces, forces))])
    robot = np.hstack([problem.inertia, -problem.constraint.T])[passive]
    return np.vstack([held, robot]), np.concatenate([problem.constraint_wanted, -problem.bias[passive]])


def bounds(problem):
    """Return K, low, high of low ≤ K·(u̇, λ) ≤ high: torques, accelerations, cones."""
    nv, forces, act = len(problem.bias), len(problem.constraint_wanted), problem.actuated
    rows = [
        np.hstack([problem.inertia, -problem.constraint.T])[act],
        np.eye(nv, nv + forces),
        np.hstack([np.zeros((len(problem.cone), nv)), problem.cone]),
    ]
    low = [problem.torque_low - problem.bias[act], problem.acceleration_low, problem.cone_low]
    high = [problem.torque_high - problem.bias[act], problem.acceleration_high, problem.cone_high]
    return np.vstack(rows), np.concatenate(low), np.concatenate(high)


def tasks(problem, level=None):
    """Return the weighted rows A, b of A·(u̇, λ) ≈ b of a level, or of all."""
    rows = slice(None) if level is None else slice(*problem.levels[level : level + 2])
    w = problem.weight[rows]
    return w[:, None] * np.hstack([problem.jacobian, problem.force_map])[rows], w * problem.wanted[rows]


def stationarity(problem, x, rows, right, equal, small=0.0):
    """Return how far x is from the least |rows·x − right|² + small·x² within the problem's bounds, relatively.

    By the multipliers that the conditions of Karush, Kuhn and Tucker ask for: of any sign for rows that are to be
    equal, and none that pulls for the bounds that x is at.
    """
    slope = rows.T @ (rows @ x - right) + small * x
    among, low, high = bounds(problem)
    at, near = among @ x, 1e-6
    pushing = [among[at >= high - near], -among[at <= low + near], equal, -equal]
    columns = np.vstack(pushing).T
    columns = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-12)
    size = 1.0 + np.linalg.norm(rows.T @ right)
    if not columns.shape[1]:
        return np.linalg.norm(slope) / size
    return nnls(columns, -slope / size, maxiter=10000)[1]


def passed(problem, x):
    """Return by how much x passes a bound or misses an equality at most."""
    among, low, high = bounds(problem)
    rows, right = equalities(problem)
    missed = np.abs(rows @ x - right).max(initial=0.0)
    return max((among @ x - high).max(), (low - among @ x).max(), missed)


def motion(solution):
    """Return (u̇, λ)."""
    return np.concatenate([solution.acceleration, solution.force])


def random_problem(
    rng, nv=12, drives=12, constraints=4, cones=6, levels=(0, 3, 6, 14), room=1.0, repeated=0, forces=0
):
    """Return a problem that has a solution: bounds leave 0.1 to 1 times `room` about one motion.

    `repeated` rows of the constraints are multiples of others; the first `forces` rows of tasks want forces too.
    """
    problem = Problem(np.sort(rng.permutation(nv)[:drives]), nv, constraints, cones, levels)
    root = rng.normal(size=(nv, nv))
    problem.inertia[:] = root @ root.T / nv + np.diag(rng.uniform(0.1, 2.0, nv))
    problem.bias[:] = rng.normal(size=nv) * 5.0
    problem.constraint[:] = rng.normal(size=(constraints, nv))
    if repeated:
        problem.constraint[-repeated:] = 2.0 * problem.constraint[:repeated]
    problem.constraint_wanted[:] = problem.constraint @ rng.normal(size=nv)
    problem.jacobian[:] = rng.normal(size=problem.jacobian.shape)
    problem.force_map[:forces] = rng.normal(size=(forces, constraints))
    problem.wanted[:] = rng.normal(size=levels[-1]) * 5.0
    problem.weight[:] = rng.uniform(0.5, 2.0, levels[-1])
    problem.cone[:] = rng.normal(size=problem.cone.shape)
    problem.braking[:] = rng.normal(size=nv)
    possible = np.linalg.lstsq(*equalities(problem))[0]
    among, _, _ = bounds(problem)
    at = among @ possible
    low, high = (at - room * rng.uniform(0.5, 5.0, len(at)), at + room * rng.uniform(0.5, 5.0, len(at)))
    drive, width = problem.bias[problem.actuated], drives + nv
    problem.torque_low[:], problem.torque_high[:] = low[:drives] + drive, high[:drives] + drive
    problem.acceleration_low[:], problem.acceleration_high[:] = low[drives:width], high[drives:width]
    problem.cone_high[:] = high[width:]
    return problem


def with_levels(problem, levels):
    """Return a copy of a problem whose rows of tasks are divided otherwise."""
    other = Problem(problem.actuated, len(problem.bias), *problem.cone.shape[::-1], levels)
    for name, value in vars(problem).items():
        if isinstance(value, np.ndarray):
            getattr(other, name)[:] = value
    return other


class Ur10:
    """A UR10 whose tool and elbow are to move."""

    def __init__(self):
        self.model = ur("ur10", mode="torque").spec.compile()
        self.data = mujoco.MjData(self.model)
        self.joints = np.arange(self.model.nv)[:6]
        self.problem = Problem(np.arange(6), 6, 0, 0, (0, 3, 9))
        self.problem.torque_low[:], self.problem.torque_high[:] = -UR10_TORQUE, UR10_TORQUE
        self.problem.weight[3:] = 1.0
        self.site = self.model.nsite - 1

    def set(self, q, u, goal):
        """Write the instant at which the tool is to go to a goal, m."""
        problem, model, data = self.problem, self.model, self.data
        data.qpos[:6], data.qvel[:6] = q, u
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, problem.inertia)
        problem.bias[:] = data.qfrc_bias - data.qfrc_passive
        jacobian, change = np.zeros((2, 3, 6))
        point, body = data.site_xpos[self.site], self.model.site_bodyid[self.site]
        mujoco.mj_jacSite(model, data, jacobian, None, self.site)
        mujoco.mj_jacDot(model, data, change, None, point, body)
        problem.jacobian[:3], problem.jacobian[3:] = jacobian, problem.inertia
        problem.wanted[:3] = 225.0 * (goal - point) - 30.0 * jacobian @ u - change @ u
        problem.wanted[3:] = -20.0 * problem.inertia @ u
        fastest = np.array([2.16, 2.16, 3.15, 3.2, 3.2, 3.2])
        problem.acceleration_low[:] = (-fastest - u) / 0.02
        problem.acceleration_high[:] = (fastest - u) / 0.02
        problem.braking[:] = -20.0 * u
        return problem


class Atlas:
    """Atlas with a floating base on both feet, and the standing problem of an instant."""

    def __init__(self):
        if not ATLAS.exists():
            pytest.skip(f"{ATLAS} is not here")
        told = json.loads(ATLAS.read_text(encoding="utf-8"))
        self.model = _atlas(told)
        self.data = mujoco.MjData(self.model)
        joints = {joint["name"]: joint for joint in told["joints"]}
        names = [self.model.joint(i).name for i in range(1, self.model.njnt)]
        self.effort = np.array([joints[name]["effort"] for name in names])
        self.speed = np.array([joints[name]["velocity"] for name in names])
        self.feet = [self.model.site(name).id for name in ("l_foot", "r_foot")]
        self.hand, self.pelvis = self.model.site("r_hand").id, self.model.body("pelvis").id
        self.data.qpos[3] = 1.0
        for name, angle in STANCE.items():
            self.data.joint(name).qpos = angle
        mujoco.mj_forward(self.model, self.data)
        self.data.qpos[2] -= self.data.site_xpos[self.feet, 2].mean()
        mujoco.mj_forward(self.model, self.data)
        self.posture = self.data.qpos[7:].copy()
        feet = self.data.site_xpos[self.feet].mean(axis=0)
        self.com = np.array([feet[0], feet[1], self.data.subtree_com[0, 2]])
        self.reach = self.data.site_xpos[self.hand].copy()
        self.problem = Problem(np.arange(6, 34), 34, 12, 32, ATLAS_LEVELS)
        self.problem.torque_low[:], self.problem.torque_high[:] = -self.effort, self.effort
        self.problem.jacobian[9:, 6:] = np.eye(28)
        self.cone = _cone(0.9 * SOLE)

    def set(self):
        """Write the instant of the simulation, whose `mj_forward` is done."""
        problem, model, data = self.problem, self.model, self.data
        u = data.qvel
        mujoco.mj_fullM(model, data, problem.inertia)
        problem.bias[:] = data.qfrc_bias - data.qfrc_passive
        for i, foot in enumerate(self.feet):
            rows, change = problem.constraint[6 * i : 6 * i + 6], np.zeros((6, 34))
            mujoco.mj_jacSite(model, data, rows[:3], rows[3:], foot)
            body = model.site_bodyid[foot]
            mujoco.mj_jacDot(model, data, change[:3], change[3:], data.site_xpos[foot], body)
            problem.constraint_wanted[6 * i : 6 * i + 6] = -change @ u - 40.0 * rows @ u
            turned = np.kron(np.eye(2), data.site_xmat[foot].reshape(3, 3).T)
            problem.cone[16 * i : 16 * i + 16, 6 * i : 6 * i + 6] = self.cone @ turned
        com, change = problem.jacobian[:3], np.zeros((3, 34))
        mujoco.mj_jacSubtreeCom(model, data, com, 0)
        rate = np.zeros(3)
        for body in range(1, model.nbody):
            mujoco.mj_jacDot(model, data, change, None, data.xipos[body], body)
            rate += model.body_mass[body] * (change @ u)
        problem.wanted[:3] = 40.0 * (self.com - data.subtree_com[0]) - 13.0 * com @ u
        problem.wanted[:3] -= rate / model.body_mass.sum()
        turning = problem.jacobian[3:6]
        mujoco.mj_jacBody(model, data, None, turning, self.pelvis)
        mujoco.mj_jacDot(model, data, None, change, data.xpos[self.pelvis], self.pelvis)
        away, back = np.zeros(3), data.xquat[self.pelvis] * [1.0, -1.0, -1.0, -1.0]
        mujoco.mju_quat2Vel(away, back, 1.0)
        problem.wanted[3:6] = 100.0 * away - 20.0 * turning @ u - change @ u
        hand = problem.jacobian[6:9]
        mujoco.mj_jacSite(model, data, hand, None, self.hand)
        mujoco.mj_jacDot(model, data, change, None, data.site_xpos[self.hand], model.site_bodyid[self.hand])
        problem.wanted[6:9] = 100.0 * (self.reach - data.site_xpos[self.hand]) - 20.0 * hand @ u - change @ u
        problem.wanted[9:] = 50.0 * (self.posture - data.qpos[7:]) - 14.0 * u[6:]
        window, q, limit = 0.2, data.qpos[7:], model.jnt_range[1:]
        problem.acceleration_low[6:] = np.maximum(
            (-self.speed - u[6:]) / 0.02, 2.0 * (limit[:, 0] - q - window * u[6:]) / window**2
        )
        problem.acceleration_high[6:] = np.minimum(
            (self.speed - u[6:]) / 0.02, 2.0 * (limit[:, 1] - q - window * u[6:]) / window**2
        )
        problem.braking[:] = -20.0 * u
        return problem


def _cone(sole):
    """Return the 16 rows of a wrench (force, torque) of a sole that neither slips, tilts nor turns.

    Source: Caron, Pham and Nakamura 2015, "Stability of surface contacts for humanoid robots", equation 6.
    """
    x, y = sole
    rows = [[s * e, s * (1 - e), -SLIDING, 0, 0, 0] for e in (1, 0) for s in (1, -1)]
    rows += [[0, 0, -y, s, 0, 0] for s in (1, -1)] + [[0, 0, -x, 0, s, 0] for s in (1, -1)]
    for a in (1, -1):
        for b in (1, -1):
            for turn in (1, -1):
                rows.append([a * y, b * x, -SLIDING * (x + y), turn * a * SLIDING, turn * b * SLIDING, turn])
    return np.array(rows, dtype=float)


def _atlas(told):
    """Compile Atlas from its data; its soles touch a floor at 0."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.001
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 1], friction=[SLIDING, 0.005, 1e-4])
    links = {link["name"]: link for link in told["links"]}
    children = {}
    for joint in told["joints"]:
        children.setdefault(joint["parent"], []).append(joint)

    def quaternion(rpy):
        q = np.zeros(4)
        mujoco.mju_euler2Quat(q, np.asarray(rpy, dtype=float), "XYZ")
        return q

    def add(parent, name, joint):
        link = links[name]
        body = parent.add_body(name=name)
        if joint is None:
            body.add_freejoint()
        else:
            body.pos, body.quat = joint["xyz"], quaternion(joint["rpy"])
            if joint["type"] == "revolute":
                body.add_joint(
                    name=joint["name"],
                    axis=joint["axis"],
                    range=[joint["lower"], joint["upper"]],
                    damping=[joint.get("damping", 0.0), 0.0, 0.0],
                )
        if link.get("mass"):
            inertia = link.get("inertia_link_axes", link["inertia"])
            body.mass, body.ipos, body.explicitinertial = link["mass"], link["com"], True
            body.fullinertia = [inertia[k] for k in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")]
        if name.endswith("_foot"):
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=[*SOLE, 0.025],
                pos=[0.048, 0.0, -0.056119],
                friction=[SLIDING, 0.005, 1e-4],
                condim=4,
            )
            body.add_site(name=name, pos=[0.048, 0.0, -0.081119])
        if name.endswith("_hand"):
            body.add_site(name=name)
        for below in children.get(name, []):
            add(body, below["child"], below)

    spec.compiler.degree = False
    spec.compiler.balanceinertia = False
    add(spec.worldbody, told["root_link"], None)
    return spec.compile()
