"""What an instant of task-space control takes, from joint positions to torques, beside peers in the same run.

python tests/benchmarks/task_space.py [--updates 2000] [--peers PYTHON]

PYTHON is an interpreter that has `placo` or `mink` installed: the peers are timed there, in turn with ours.
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import mujoco
import numpy as np

from pliant.controllers.task_space import (
    CentreOfMassTask,
    Contact,
    JointLimits,
    Mechanics,
    OrientationTask,
    PointTask,
    PostureTask,
    TaskOperators,
    TaskStack,
)
from pliant.controllers.task_space.hierarchical_qp import HierarchicalQP
from pliant.controllers.task_space.weighted_qp import WeightedQP
from pliant.envs.models.atlas import STANCE, atlas
from pliant.envs.models.ur import ur
from pliant.envs.simulation import SimulatedRobot

SOLE = (0.13, 0.06245)
PEERS = Path(__file__).with_name("task_space_peers.py")


def arm(solver=None, limited: bool = False) -> tuple[Mechanics, TaskStack]:
    """A UR10, its tool to a point, its joints at rest in what is left."""
    robot = ur("ur10", mode="torque", gravity_compensation=False)
    mechanics = Mechanics(robot.spec.compile(), robot.joints)
    limits = JointLimits(mechanics, speed=[2.09, 2.09, 3.14, 3.14, 3.14, 3.14]) if limited else None
    torque = np.outer([330, 330, 150, 56, 56, 56], [-1.0, 1.0])
    tasks = {"tool": PointTask("tcp"), "posture": PostureTask(mechanics=mechanics, stiffness=0.0, damping=20.0)}
    return mechanics, TaskStack(
        mechanics, tasks, torque=torque, limits=limits, **({} if solver is None else {"solver": solver})
    )


def humanoid(base: str, solver=None) -> tuple[Mechanics, TaskStack]:
    """Atlas: a hand to a point, the joints where they were; on its feet also centre of mass and pelvis."""
    robot = atlas(base=base, legs=base == "floating")
    simulated = SimulatedRobot(robot, 0.002)
    info = simulated.info
    mechanics = Mechanics(simulated.model, robot.joints, robot.base)
    tasks = {"hand": PointTask("right_hand", level=2), "posture": PostureTask(mechanics=mechanics, level=3)}
    feet = {}
    if base == "floating":
        tasks["com"] = CentreOfMassTask(level=1)
        tasks["pelvis"] = OrientationTask("pelvis", level=2)
        feet = {name: Contact(f"{name}_sole", size=SOLE) for name in ("left", "right")}
    torque = [(c.low, c.high) for c in info.command if c.quantity == "torque"]
    driven = [c.owner for c in info.command if c.quantity == "torque"]
    stack = TaskStack(
        mechanics, tasks, feet, actuated=driven, torque=torque,
        limits=JointLimits(mechanics, speed=8.0) if solver else None, **({"solver": solver} if solver else {}),
    )  # fmt: skip
    return mechanics, stack


def instants(mechanics: Mechanics, stack: TaskStack, updates: int) -> Callable[[], np.ndarray]:
    """What times updates along a small motion about the stance, s each."""
    middle = np.array([STANCE.get(name, 0.3) for name in mechanics.joints])
    mechanics.base_pose[2] = 0.885
    mechanics.q[:] = middle
    mechanics.refresh()
    stack.hold()

    def measure() -> np.ndarray:
        times = np.empty(updates)
        for k in range(updates):
            mechanics.q[:] = middle + 0.02 * np.sin(0.05 * k + np.arange(len(middle)))
            mechanics.u[:] = 0.02 * np.cos(0.05 * k + np.arange(len(middle)))
            begin = time.perf_counter()
            mechanics.refresh()
            stack.solve(0.002)
            times[k] = time.perf_counter() - begin
        return times

    return measure


def operators(updates: int) -> Callable[[], np.ndarray]:
    """The law of the literature by operators that a user composes."""
    mechanics, _ = arm()
    frame = mechanics.frame("tcp")
    mechanics.q[:] = 0.3

    def measure() -> np.ndarray:
        times = np.empty(updates)
        for k in range(updates):
            begin = time.perf_counter()
            mechanics.refresh()
            jacobian = mechanics.jacobian(frame)[:3]
            tool = TaskOperators(mechanics, jacobian, mechanics.acceleration_drift(frame)[:3])
            wanted = np.array([1.0, 0.0, 0.0])
            rest = mechanics.gravity - 20.0 * mechanics.inertia @ mechanics.velocity
            tool.jacobian.T @ (tool.inertia @ wanted + tool.mu + tool.p) + tool.null_space.T @ rest
            times[k] = time.perf_counter() - begin
        return times

    return measure


def peers(python: str, updates: int) -> dict[str, list[float]]:
    """Times of peers on the same models, s, by what was asked of them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, robot in (("ur10", ur("ur10", mode="torque")), ("atlas", atlas(base="floating"))):
            spec = robot.spec
            for part in (*spec.actuators, *spec.sensors, *spec.numerics, *spec.excludes, *spec.geoms):
                spec.delete(part)
            for joint in spec.joints:
                joint.name = "free" if joint.type == mujoco.mjtJoint.mjJNT_FREE else joint.name
            spec.compile()
            Path(folder, f"{name}.xml").write_text(spec.to_xml())
            Path(folder, f"{name}.json").write_text(json.dumps(dict(STANCE)))
        done = subprocess.run(
            [python, str(PEERS), folder, str(updates)], capture_output=True, text=True, check=False
        )
    if done.returncode:
        print(f"peers: {done.stderr.strip().splitlines()[-1]}")
        return {}
    found: dict[str, list[float]] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--peers", help="an interpreter that has placo or mink")
    given = parser.parse_args()
    weighted = partial(WeightedQP, weights=[1e4, 1e3, 1.0], force_regularisation=1e-4)
    measured: dict[str, Callable[[], np.ndarray]] = {
        "UR10, recursion": instants(*arm(), given.updates),
        "UR10, composed operators": operators(given.updates),
        "UR10, weighted QP, all limits": instants(
            *arm(partial(WeightedQP, weights=[1e3, 1.0]), True), given.updates
        ),
        "UR10, hierarchical QP, all limits": instants(*arm(HierarchicalQP, True), given.updates),
        "Atlas, upper body, recursion": instants(*humanoid("fixed"), given.updates),
        "Atlas on its feet, recursion": instants(*humanoid("floating"), given.updates),
        "Atlas on its feet, weighted QP": instants(*humanoid("floating", weighted), given.updates),
        "Atlas on its feet, hierarchical QP": instants(*humanoid("floating", HierarchicalQP), given.updates),
    }
    rounds: dict[str, list[float]] = {name: [] for name in measured}
    for measure in measured.values():
        measure()  # compiles
    for _ in range(5):
        for name, measure in measured.items():
            rounds[name] += measure().tolist()
        if given.peers:
            for name, times in peers(given.peers, given.updates).items():
                rounds.setdefault(name, []).extend(times)
    print(f"{'':40s} median    p99  µs")
    for name, times in rounds.items():
        if times:
            print(f"{name:40s} {np.median(times) * 1e6:6.1f} {np.quantile(times, 0.99) * 1e6:6.1f}")


if __name__ == "__main__":
    main()
