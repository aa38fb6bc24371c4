"""What a gait asks of a robot's joints, as a trajectory: to be learned, recorded or played."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.controllers.recorded import Recorded
from pliant.controllers.trial import joint_columns
from pliant.envs.description import describe
from pliant.envs.tasks.gait import build_gait, gait_settings
from pliant.errors import check_bounds


def gait_motion(robot: Any, gait: str | Mapping[str, Any] = "foot", duration: float = 6.0) -> Recorded:
    """Return the joint motion by which a robot walks from where it stands to a stand.

    It begins with the angles at which the robot stands under its load. A gait's targets do not depend on what is
    measured, so this is what the joints would do if servos did not yield.

    Args:
        robot: a name, a file or a description of one with six legs.
        gait: `foot`, `matsuoka`, or a mapping with that as `name` and the gait's settings, as in `GaitAction`.
        duration: of the motion, s; for the gait's last `ramp` strides shrink.

    Raises:
        ConfigurationError, UnknownNameError: no such gait or setting, or the robot lacks a joint of it.
        OutOfBoundsError: a command that no leg can follow, or no time to walk.
    """
    settings = gait_settings(gait, "gait motion")
    with describe(robot).simulated() as simulated:
        info, state = simulated.info, simulated.reset()
    walker = build_gait(info, settings)
    check_bounds("gait motion: duration", duration, 2.0 * walker.ramp, 1e4, "s")
    walker.reset(state)
    time = np.arange(round(duration / info.period) + 1, dtype=np.float64) * info.period
    rows = np.empty((len(time), len(info.command)))
    for row, t in zip(rows, time.tolist(), strict=True):
        walker.walking = t < duration - walker.ramp
        row[:] = walker.update(state, t)
    return Recorded(time, rows[:, list(joint_columns(info))], info.joints)
