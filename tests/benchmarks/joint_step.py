"""Time of a physics step with compliant joints against MuJoCo's own actuators on the same chain.

    python tests/benchmarks/joint_step.py [--repeats 15]

All variants run in one process, in turn, several times; the figures are medians, the claims are their ratios.
Baselines: mode 3 against two position actuators a joint (the two springs of a qbMove); mode 6 against two
`dcmotor` actuators a joint with LuGre friction and on-board PID. One actuator a joint is shown as well.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import mujoco
import numpy as np
from mujoco.batch import Batch

from pliant.actuators import CompliantJoint, ServoDrive, add_compliant_joint, compile_model, find_law, install

JOINTS = (1, 2, 5, 18)
STEPS = 2000


def chain(joints: int) -> mujoco.MjSpec:
    """A chain of equal links in zero gravity."""
    spec = mujoco.MjSpec()
    spec.option.timestep = 1e-3
    spec.option.gravity = [0.0, 0.0, 0.0]
    body = spec.worldbody
    for i in range(joints):
        body = body.add_body(name=f"link{i}", pos=[0.0, 0.0, 0.1 if i else 0.0])
        axis = [0.0, 1.0, 0.0] if i % 2 else [1.0, 0.0, 0.0]
        body.add_joint(name=f"j{i}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis, damping=[0.065, 0.0, 0.0])
        body.add_geom(
            type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=[0, 0, 0, 0, 0, 0.1], size=[0.02, 0, 0], mass=0.5,
            contype=0, conaffinity=0,
        )  # fmt: skip
    return spec


def compliant(joints: int, mode: int, backend: str = "native") -> mujoco.MjModel:
    """The chain with qbMove joints."""
    spec = chain(joints)
    for i in range(joints):
        add_compliant_joint(spec, f"j{i}", CompliantJoint(law=find_law("qbmove")(set="maker_pro"), mode=mode))
    return compile_model(spec, backend)


def servos(joints: int) -> mujoco.MjModel:
    """The chain with XL330 servos and friction M6."""
    spec = chain(joints)
    drive = ServoDrive("XL330/m6", p_gain=400)
    for i in range(joints):
        joint = CompliantJoint("rigid", "link_position", servo=drive)
        add_compliant_joint(spec, f"j{i}", joint, replace=True)  # a gear brings its own damping
    return compile_model(spec)


def built_in(joints: int, kind: str, each: int) -> mujoco.MjModel:
    """The chain with `each` actuators of MuJoCo's own on every joint."""
    spec = chain(joints)
    for i in range(joints):
        for k in range(each):
            actuator = spec.add_actuator(
                name=f"a{i}_{k}",
                target=f"j{i}",
                trntype=mujoco.mjtTrn.mjTRN_JOINT,
                ctrllimited=True,
                ctrlrange=[-3, 3],
            )
            if kind == "position":
                actuator.set_to_position(kp=0.5)
            else:
                # MJCF's dcmotor: pos input, PID, LuGre bristle, torque limit
                actuator.set_to_dcmotor(
                    motorconst=[1.0, 1.0],
                    resistance=1.0,
                    saturation=[6.0, 0.0, 0.0],
                    lugre=[1000.0, 1.0, 0.02, 0.02, 0.1],
                    controller=[125.0, 0.0, 4.5, 0.0, 0.0, 0.0],
                    ctrlspec=int(mujoco.mjtCtrlInput.mjINPUT_POS),
                )
                actuator.armature = 0.0233
    return spec.compile()


def stepper(model: mujoco.MjModel, steps: int = STEPS) -> Callable[[], float]:
    """A function that steps the model once more and returns microseconds a step."""
    data = mujoco.MjData(model)

    def run() -> float:
        data.ctrl[:] = 0.2
        start = time.perf_counter()
        mujoco.mj_step(model, data, nstep=steps)
        return (time.perf_counter() - start) / steps * 1e6

    return run


def batch_stepper(model: mujoco.MjModel, threads: int, simulations: int = 256) -> Callable[[], float]:
    """A function that steps a batch and returns microseconds a physics step of one simulation."""
    batch = Batch(model, simulations, threads)
    batch.ctrl = np.full((simulations, model.nu), 0.2)

    def run() -> float:
        start = time.perf_counter()
        batch.step(nstep=20)
        return (time.perf_counter() - start) / (20 * simulations) * 1e6

    return run


def paired(runs: dict[str, Callable[[], float]], repeats: int) -> dict[str, list[float]]:
    """Run all in turn, `repeats` times after one warm-up, and return each one's figures."""
    for run in runs.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(run())
    return times


def ratio(times: dict[str, list[float]], a: str, b: str) -> float:
    """Median over the repeats of the ratio a/b taken within one repeat."""
    return statistics.median(x / y for x, y in zip(times[a], times[b], strict=True))


def step_table(repeats: int) -> None:
    """Steps of native joints against MuJoCo's own actuators."""
    print("joints mode   native  built-in x2  ratio  built-in x1  ratio")
    for joints in JOINTS:
        for mode, kind in ((3, "position"), (6, "dcmotor")):
            times = paired(
                {
                    "native": stepper(compliant(joints, mode)),
                    "two": stepper(built_in(joints, kind, 2)),
                    "one": stepper(built_in(joints, kind, 1)),
                },
                repeats,
            )
            native, two, one = (statistics.median(times[name]) for name in ("native", "two", "one"))
            two_ratio, one_ratio = ratio(times, "native", "two"), ratio(times, "native", "one")
            print(f"{joints:6} {mode:4} {native:8.2f} {two:12.2f} {two_ratio:6.2f} {one:12.2f} {one_ratio:6.2f}")


def servo_table(repeats: int) -> None:
    """Servos against MuJoCo's own motors."""
    for joints in JOINTS:
        times = paired({"servo": stepper(servos(joints)), "own": stepper(built_in(joints, "dcmotor", 1))}, repeats)
        servo, own = (statistics.median(times[name]) for name in ("servo", "own"))
        print(f"{joints:6} joints: servo {servo:.2f}, dcmotor {own:.2f}, ratio {ratio(times, 'servo', 'own'):.2f}")


def backend_table(repeats: int) -> None:
    """Native against Python callbacks, two joints."""
    for mode in (3, 6):
        native, python = [], []
        for _ in range(repeats):
            native.append(stepper(compliant(2, mode, "native"))())
            python.append(stepper(compliant(2, mode, "python"), 200)())
        install("native")
        gain = statistics.median(p / n for p, n in zip(python, native, strict=True))
        fast, slow = statistics.median(native), statistics.median(python)
        print(f"mode {mode}: native {fast:.2f}, Python {slow:.1f}: {gain:.1f}x")


def batch_table(repeats: int) -> None:
    """`Batch` with native joints: threads, and against MuJoCo's own actuators."""
    for mode, kind in ((3, "position"), (6, "dcmotor")):
        times = paired(
            {
                "one": batch_stepper(compliant(2, mode), 1),
                "two": batch_stepper(compliant(2, mode), 2),
                "own": batch_stepper(built_in(2, kind, 2), 2),
            },
            repeats,
        )
        two = statistics.median(times["two"])
        print(
            f"mode {mode}: {1 / two:.2f} M physics steps/s on two threads; two threads against one "
            f"{ratio(times, 'one', 'two'):.2f}x; against built-in actuators {ratio(times, 'own', 'two'):.2f}x"
        )


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    print("microseconds a step")
    step_table(repeats)
    print("\nservos with friction M6 against one dcmotor a joint, microseconds a step")
    servo_table(repeats)
    print("\nback ends, microseconds a step of two joints")
    backend_table(max(repeats // 3, 3))
    print("\nBatch, two joints, 256 simulations")
    batch_table(repeats)


if __name__ == "__main__":
    main()
