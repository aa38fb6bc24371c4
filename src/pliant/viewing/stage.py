"""What a screen draws: a likeness of a simulated robot, with the light, sky and floor that its model lacks.

Of a link without geoms in the groups that MuJoCo shows (0 to 2) it shows those of the others: in many files of
robots the geoms for collisions, in group 3, are all that some links have.

The likeness is a model of its own, compiled from the spec of the robot. The robot has none of it: nothing touches
the floor, and the motion is what it is without a screen.
"""

import mujoco
import numpy as np
from numpy.typing import NDArray

from pliant.envs.models.scene import View, add_floor, add_lights, add_sky
from pliant.envs.rendering import update_positions
from pliant.envs.simulation import SimulatedRobot
from pliant.envs.simulation.compiled_robot import CompiledRobot, compile_likeness
from pliant.hardware.robot import Array

_PREFIX = "pliant stage "
_STATE = int(mujoco.mjtState.mjSTATE_INTEGRATION)
_SHOWN_GROUPS = 3
_GROUND = 1e-3
"""How far below 0 a robot that stands on the ground may reach, m."""


class Stage:
    """A likeness of a robot. It follows the robot, and gives back what a mouse has done to it."""

    def __init__(self, robot: SimulatedRobot) -> None:
        self.model = lit_model(robot.compiled)
        """Its model; the robot's own where that lacks nothing."""
        self.data = mujoco.MjData(self.model)
        self._robot = robot
        self._state = np.empty(mujoco.mj_stateSize(robot.model, _STATE))
        self.follow()

    def follow(self) -> None:
        """Take on the robot's state as it is now."""
        mujoco.mj_getState(self._robot.model, self._robot.data, self._state, _STATE)
        mujoco.mj_setState(self.model, self.data, self._state, _STATE)
        update_positions(self.model, self.data)

    def give_back(self) -> None:
        """Let what pulls at the likeness pull at the robot, and put its targets where they were dragged."""
        for name in ("xfrc_applied", "mocap_pos", "mocap_quat"):
            getattr(self._robot.data, name)[:] = getattr(self.data, name)


def lit_model(compiled: CompiledRobot) -> mujoco.MjModel:
    """Return a robot's model with what it lacks to be seen: light, sky, floor, geoms in groups that are shown.

    Where it lacks nothing it is the model itself.

    What floats gets no floor, as it would fall through it. A robot that reaches below 0 gets one far below.
    """
    model, spec = compiled.model, compiled.spec
    dark = model.nlight == 0
    bare = mujoco.mjtTexture.mjTEXTURE_SKYBOX not in model.tex_type
    grounded = {mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD} & set(model.geom_type.tolist())
    hovering = not grounded and mujoco.mjtJoint.mjJNT_FREE not in model.jnt_type
    hidden = _hidden(model)
    if spec is None or not (dark or bare or hovering or hidden.size):
        return model
    shown = spec.copy()
    geoms = shown.geoms
    for geom in hidden.tolist():
        geoms[geom].group = 0
    centre, extent = model.stat.center.copy(), float(model.stat.extent)
    shown.stat.center, shown.stat.extent = centre, extent
    if dark:
        add_lights(shown, View((centre[0], centre[1], centre[2]), extent, ""), _PREFIX)
    if bare:
        add_sky(shown, _PREFIX)
    if hovering:
        floor = add_floor(shown, 5 if extent < 1.2 else 1, _PREFIX)
        lowest = _lowest(model, compiled.qpos)
        floor.pos = [0.0, 0.0, 0.0 if lowest >= -_GROUND else lowest - extent]
        floor.contype = floor.conaffinity = 0
    return compile_likeness(shown, model)


def hidden_bodies(model: mujoco.MjModel) -> tuple[str, ...]:
    """Return the names of bodies of which MuJoCo would show nothing, neither of what moves with them as one."""
    bodies = dict.fromkeys(model.geom_bodyid[_hidden(model)].tolist())
    return tuple(model.body(body).name or f"body {body}" for body in bodies)


def _hidden(model: mujoco.MjModel) -> NDArray[np.intp]:
    """Their geoms."""
    link = np.where(model.body_weldid == 0, np.arange(model.nbody), model.body_weldid)[model.geom_bodyid]
    seen = (model.geom_group < _SHOWN_GROUPS) & (model.geom_rgba[:, 3] > 0.0)
    return np.flatnonzero(~np.isin(link, link[seen]))


def _lowest(model: mujoco.MjModel, qpos: Array) -> float:
    """Height of the lowest point of a robot where it starts, m: of the boxes about its geoms."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    up = data.geom_xmat.reshape(-1, 3, 3)[:, 2]
    centre, half = model.geom_aabb[:, :3], model.geom_aabb[:, 3:]
    lowest = data.geom_xpos[:, 2] + (up * centre).sum(axis=1) - (np.abs(up) * half).sum(axis=1)
    return float(lowest.min(initial=0.0))
