"""Pliant: robots with soft joints, simulated, taught and run with one interface.

The folders of the project are its sub-packages: `pliant.actuators` (joint physics and the MuJoCo
callbacks that run it), `pliant.hardware` (the robot interface and its drivers), `pliant.controllers`,
`pliant.envs` (models, simulated robots, Gymnasium environments), `pliant.conf` and `pliant.scripts`.
The applications are `pliant.training`, `pliant.deployment`, `pliant.experiments` and `pliant.viewing`.

Importing `pliant` imports none of them.
"""

from pliant.errors import PliantError

__all__ = ["PliantError", "__version__"]

__version__ = "0.1.0"
