"""Terms of a task: what it observes, rewards and ends on. conf/task/my_task.yaml puts them together.

The decorator says which signals an argument gets. `action`, `previous`, `goal`, `period`, `memory` and the like
are given to any function that has such an argument; all others are parameters, which the configuration gives.
Only floats, arrays, `math` and loops: Python calls these functions when you debug, Numba compiles them to run.
"""

import math

from pliant.envs.tasks import end, observation, reward
from pliant.hardware.robot import Array, Channel


@reward(velocity="*/velocity", positive="scale")
def slowness(velocity: Array, scale: float = 1.0) -> float:
    """Return 1 at rest, 1/2 where the root of the summed squares of the speeds is `scale`, rad/s."""
    square = 0.0
    for value in velocity:
        square += value * value
    return 1.0 / (1.0 + square / (scale * scale))


@observation(Channel("speed/largest", "rad/s", 0.0, math.inf), velocity="*/velocity")
def largest_speed(velocity: Array) -> float:
    """Return the largest speed of any joint, rad/s."""
    largest = 0.0
    for value in velocity:
        largest = max(largest, abs(value))
    return largest


@end("failure", memory=1, velocity="*/velocity")
def restless(velocity: Array, limit: float, memory: Array) -> bool:
    """Return whether the first joint was faster than `limit`, rad/s, for five periods in a row."""
    memory[0] = memory[0] + 1.0 if abs(velocity[0]) > limit else 0.0
    return bool(memory[0] >= 5.0)
