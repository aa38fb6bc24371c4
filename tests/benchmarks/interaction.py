"""What an update of an interaction controller takes, kinematics included, on a UR10 in contact on a trajectory.

python tests/benchmarks/interaction.py [--updates 20000]
"""

import argparse
import time

import numpy as np

from pliant.controllers.interaction import (
    AdmittanceGains,
    CartesianTrajectory,
    DirectForceGains,
    InteractionController,
)
from pliant.envs.arm import arm
from pliant.envs.models.ur import ur
from pliant.hardware.robot import Channel, RobotInfo, State, joint_signals

PERIOD = 0.002
START = (1.3644, -0.950874, 1.944186, 3.71903, -1.570797, -1.777184)
QUANTITIES = ("force_x", "force_y", "force_z", "torque_x", "torque_y", "torque_z")


class Unconditioned:
    """Lets a wrench pass: what conditioning takes is measured beside."""

    tare_state = None

    def update(self, time, raw, rotation, **speeds):
        """Return it."""
        return raw, ""

    def reset(self):
        """Nothing."""

    def start_tare(self):
        """Nothing."""


def measure(gains, updates: int) -> np.ndarray:
    """Return the time of each update, s."""
    own = arm(ur("ur10", tcp=(0.0, 0.0, 0.195, 0.0, 0.0, 0.0)))
    command = tuple(Channel(f"{j}/position", "rad", -6.3, 6.3) for j in own.kinematics.joints)
    signals = [
        *joint_signals(own.kinematics.joints, ()),
        *(Channel(f"wrist/{q}", "1", -np.inf, np.inf) for q in QUANTITIES),
    ]
    info = RobotInfo("ur10", own.kinematics.joints, (), command, PERIOD, signals=tuple(signals))
    controller = InteractionController(own, info, gains, Unconditioned())
    none, unknown, q = np.empty(0), np.full(6, np.nan), np.array(START)
    times = []
    for k in range(updates):
        raw = np.array([0.5 * np.sin(0.01 * k), 0.0, 5.0, 0.0, 0.1, 0.0])
        state = State(k * PERIOD, q, unknown, unknown, unknown, none, none, none, none, q, raw)
        if k == 0:
            controller.reset(state)
            controller.submit(CartesianTrajectory([[0.0, 0.1, 0.0]], [updates * PERIOD]))
        begin = time.perf_counter()
        q = controller.update(state, k * PERIOD)
        times.append(time.perf_counter() - begin)
    return np.array(times[100:])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=20000)
    options = parser.parse_args()
    for name, gains in (
        ("admittance", AdmittanceGains([1.0, 1.0, 1000.0], [900.0, 900.0, 5000.0], [1300.0, 1300.0, 90.0])),
        ("direct force", DirectForceGains(2.5e-9, 6e-5)),
    ):
        half, most, worst = 1e6 * np.percentile(measure(gains, options.updates), [50, 99, 100])
        print(f"{name:15}{half:8.1f}{most:8.1f}{worst:9.1f}  µs (median, p99, max)")


if __name__ == "__main__":
    main()
