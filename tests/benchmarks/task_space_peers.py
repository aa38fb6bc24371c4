"""Times of peers on the models that task_space.py writes: a program of its own, for an interpreter that has them.

python task_space_peers.py FOLDER UPDATES prints, as JSON, seconds by what was asked.
"""

import contextlib
import json
import sys
import time
from pathlib import Path

import numpy as np

SOLE = (0.13, 0.06245)


def placo_solver(file, floating):
    """What solves accelerations and torques at an instant with placo."""
    import placo

    robot = placo.RobotWrapper(str(file), placo.Flags.mjcf | placo.Flags.ignore_collisions)
    names = [name for name in robot.joint_names() if name not in ("root_joint", "universe")]
    stance = json.loads(file.with_suffix(".json").read_text())
    for name in names:
        robot.set_joint(name, stance.get(name, 0.3))
    robot.update_kinematics()
    solver = placo.DynamicsSolver(robot)
    tip = "right_hand" if floating else "tcp"
    point = solver.add_position_task(tip, robot.get_T_world_frame(tip)[:3, 3])
    point.configure("point", "soft", 1e3)
    posture = solver.add_joints_task()
    posture.set_joints({name: stance.get(name, 0.3) for name in names})
    posture.configure("posture", "soft", 1.0)
    if floating:
        com = solver.add_com_task(robot.com_world())
        com.configure("com", "soft", 1e4)
        turn = solver.add_orientation_task("imu", robot.get_T_world_frame("imu")[:3, :3])
        turn.configure("turn", "soft", 1e3)
        for side in ("left", "right"):
            frame = solver.add_frame_task(f"{side}_sole", robot.get_T_world_frame(f"{side}_sole"))
            frame.configure(side, "hard", 1.0, 1.0)
            contact = solver.add_planar_contact(frame)
            contact.length, contact.width, contact.mu = 2 * SOLE[0], 2 * SOLE[1], 0.7
    else:
        solver.mask_fbase(True)
    solver.dt = 0.002

    def solve(k):
        for i, name in enumerate(names):
            robot.set_joint(name, stance.get(name, 0.3) + 0.02 * np.sin(0.05 * k + i))
            robot.set_joint_velocity(name, 0.02 * np.cos(0.05 * k + i))
        begin = time.perf_counter()
        robot.update_kinematics()
        found = solver.solve()
        took = time.perf_counter() - begin
        if not found.success:
            raise RuntimeError("placo found no solution")
        return took

    return solve


def mink_solver(file, floating):
    """What solves velocities at an instant with mink."""
    import mink
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(file))
    configuration = mink.Configuration(model)
    tip = mink.FrameTask("right_hand" if floating else "tcp", "site", position_cost=1.0, orientation_cost=0.0)
    posture = mink.PostureTask(model, cost=1e-2)
    q = configuration.q.copy()
    configuration.update(q)
    tip.set_target_from_configuration(configuration)
    posture.set_target_from_configuration(configuration)
    joints = np.arange(7 if floating else 0, len(q))
    limits = [mink.ConfigurationLimit(model)]

    def solve(k):
        q[joints] = 0.02 * np.sin(0.05 * k + joints)
        begin = time.perf_counter()
        configuration.update(q)
        mink.solve_ik(configuration, [tip, posture], 0.002, "daqp", limits=limits)
        return time.perf_counter() - begin

    return solve


def main():
    folder, updates = Path(sys.argv[1]), int(sys.argv[2])
    found = {}
    for peer, make, what in (
        ("placo", placo_solver, "accelerations and torques, no limits"),
        ("mink", mink_solver, "velocities, position limits"),
    ):
        for name, robot in (("ur10", "UR10"), ("atlas", "Atlas on its feet")):
            with contextlib.suppress(ImportError), contextlib.redirect_stdout(sys.stderr):
                solve = make(folder / f"{name}.xml", name == "atlas")
                for k in range(20):
                    solve(k)
                found[f"{robot}, {peer}: {what}"] = [solve(k) for k in range(updates)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
