"""How well learned commands survive a robot that is not quite the one they were learned on."""

from dataclasses import dataclass

import numpy as np

from pliant.controllers.checks import Array
from pliant.envs.models.perturb import check_changes, perturb, perturb_joints
from pliant.envs.models.robot_model import RobotModel
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.holding import TrialStart
from pliant.errors import check_bounds, check_count


@dataclass(frozen=True)
class Perturbation:
    """Robots around a model: masses, friction, springs and motors vary, commands arrive late."""

    robots: int = 20
    mass: float = 0.1
    """Masses and inertias vary uniformly by ± this fraction."""
    friction: float = 0.5
    """Damping and dry friction of the joints likewise."""
    spring: float = 0.1
    """Parameters of the joints' laws likewise, whatever the laws."""
    motor: float = 0.1
    """Parameters of what drives the joints likewise, but for gains; see `perturb_joints`."""
    command_delay: float = 0.01
    """s, a whole multiple of the model's time step."""
    seed: int = 0

    def __post_init__(self) -> None:
        changes = {"mass": self.mass, "friction": self.friction, "spring": self.spring, "motor": self.motor}
        check_changes("robustness", **changes)
        check_bounds("robustness: command_delay", self.command_delay, 0.0, 100.0, "s")
        check_count("robustness: robots", self.robots, 0, 100_000)
        check_count("robustness: seed", self.seed, 0, 2**32 - 1)


def replay(
    model: RobotModel, period: float, command: Array, perturbation: Perturbation, start: TrialStart | None = None
) -> Array:
    """Play commands on perturbed copies of a robot and return the link angles.

    Args:
        model: the robot they were learned on.
        period: from one command to the next, s.
        command: (n, columns).
        perturbation: how the copies differ.
        start: where they all begin; None: the robot's own start.

    Returns:
        (robots, n + 1, joints), rad; NaN from where a copy diverged.
    """
    random = np.random.default_rng(perturbation.seed)
    delay = perturbation.command_delay
    copies = [
        SimulatedRobot(
            perturb(model, random, perturbation.mass, perturbation.friction), period, command_delay=delay
        )
        for _ in range(perturbation.robots)
    ]
    others = random.spawn(1)[0]  # masses and frictions are the same whether springs vary or not
    for copy in copies:
        perturb_joints(copy.model, copy.compiled.joints, others, perturbation.spring, perturbation.motor)
    if not copies:
        return np.empty((0, len(command) + 1, len(model.joints)))
    with copies[0] as robot:
        if start is not None:
            robot.reset(position=start.position, command=start.command, settled=start.settled)
        return robot.rollout(command, models=[copy.model for copy in copies]).position
