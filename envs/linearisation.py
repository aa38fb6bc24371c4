"""A robot's joints as learning sees them: impulse responses from commands to positions, along a motion.

At a few poses of the motion the robot is simulated at rest under the command that holds it there; then one
command at a time is moved a little, and what all joints answer is recorded. So the model knows how the joints
are coupled, how far springs and drives yield in each pose, what the weight does, and how late commands and
readings are.

Dry friction of the joints and their stops are left out: on a link that moves, friction pushes alike with and
without the small change, and a command learns nothing from a stop.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pliant.conf.build import build
from pliant.controllers.checks import Array
from pliant.controllers.ilc import LearningLaw
from pliant.controllers.trajectories import Motion
from pliant.envs.description import RobotDescription
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.holding import resting_command
from pliant.errors import ConfigurationError

POSES = 5
"""Poses along a motion of which the model is made."""
_STEP = 0.01
"""By how much a command is moved, in its unit; no more than a hundredth of its range."""
LONGEST = 64.0
"""How long an answer is waited for at most, s, …"""
_FIRST = 2.0
"""… and at first."""
_SETTLED = 0.05
"""An answer is over when the last quarter of it moves by less than this fraction of it."""


def impulse_responses(
    description: RobotDescription,
    position: Array,
    columns: Sequence[int],
    poses: int = POSES,
    longest: float = LONGEST,
    *,
    settled: bool = True,
) -> Array:
    """Return how the joints answer to their commands along a motion, for `NormOptimalILC` and `LiftedModel`.

    Args:
        description: the robot; its noise is left out, its delays are not.
        position: of a motion, (n, joints), rad.
        columns: index of the command column of each joint.
        poses: of the motion, evenly spread over its rows.
        longest: how long an answer is waited for, s.
        settled: whether an answer that is not over by then is refused, or cut off there.

    Returns:
        (poses, m, joints, joints), rad per rad: the position of the first joint axis 0, 1, … m − 1 periods after a
        command of the second that lasts one period.

    Raises:
        OutOfBoundsError: no command holds the robot in a pose of the motion; see `resting_command`.
        ConfigurationError: a command that does not lead to rest, as a speed or the torque of a free joint; the
            robot's base floats, so that what joints answer depends on what it stands on.
    """
    if description.model.base is not None:
        raise ConfigurationError(
            f"the base of robot {description.model.name!r} floats: what its joints answer depends on what it "
            "stands on, so it has no model to learn by. Choose ilc=pd_type or ilc=p_type."
        )
    quiet = {
        "position_noise": 0.0,
        "velocity_noise": 0.0,
        "torque_noise": 0.0,
        "sensing": None,
        "transaction": 0.0,
    }
    spec = description.model.spec.copy()
    for joint in spec.joints:
        joint.frictionloss = 0.0
        joint.limited = False
    robot = replace(description, model=replace(description.model, spec=spec)).simulated(**quiet)
    chosen = position[np.linspace(0, len(position) - 1, poses).round().astype(int)]
    with robot:
        holding = [resting_command(robot.compiled, pose, columns) for pose in chosen]
        duration = _FIRST
        while duration <= longest:
            steps = [
                _step_responses(robot, pose, command, columns, duration)
                for pose, command in zip(chosen, holding, strict=True)
            ]
            answers = np.array(steps)
            if _at_rest(answers):
                return np.diff(answers, axis=1, prepend=0.0)
            duration *= 2.0
    if not settled and np.isfinite(answers).all():
        return np.diff(answers, axis=1, prepend=0.0)
    moved = ", ".join(robot.info.command_names[k] for k in columns)
    raise ConfigurationError(
        f"robot {robot.info.name!r} is not at rest {longest:g} s after a small change of {moved}, so it has no "
        "model to learn by. Learn commands that are positions or equilibria (learning.columns), give the joints "
        "some damping, or choose ilc=p_type."
    )


def built_law(node: Any, description: RobotDescription, motion: Motion, columns: Sequence[int]) -> LearningLaw:
    """Return the learning law that a configuration describes, with a model of the robot where it asks for one.

    Args:
        node: of the group `ilc`; what it leaves open, `impulse_response` and `period`, is filled in by
            `impulse_responses` and the robot.
        description: the robot.
        motion: to be learned.
        columns: index of the command column of each joint.

    Raises:
        PliantError: as `build` and `impulse_responses`.
    """
    known: dict[str, Any] = {}
    if "period" in node and node.period is None:
        known["period"] = description.period
    if "impulse_response" in node and node.impulse_response is None:
        known["impulse_response"] = impulse_responses(description, motion.position, columns)
    law: LearningLaw = build(node, "ilc", **known)
    return law


def _step_responses(
    robot: SimulatedRobot, pose: Array, command: Array, columns: Sequence[int], duration: float
) -> Array:
    """Positions after a step of each command, (m, joints, commands), per unit of it."""
    robot.reset(position=pose, command=command, settled=True)
    rows = np.tile(command, (round(duration / robot.info.period), 1))
    answers = []
    for column in columns:
        channel = robot.info.command[column]
        step = min(_STEP, 0.01 * (channel.high - channel.low))
        if command[column] + step > channel.high:
            step = -step
        moved = rows.copy()
        moved[:, column] += step
        answers.append((robot.rollout(moved).position - pose) / step)
    return np.stack(answers, axis=-1)


def _at_rest(answers: Array) -> bool:
    """Whether step responses, (poses, m, joints, commands), have settled."""
    if not np.isfinite(answers).all():
        return False
    last = answers[:, -(answers.shape[1] // 4) :]
    return bool(np.ptp(last, axis=1).max() < _SETTLED * np.abs(answers).max())
