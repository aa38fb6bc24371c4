"""Closed-loop inverse kinematics: joint motion that takes a point of an arm along a path, for any MuJoCo model.

For the planar arm of two links the closed form of `two_link` is exact and faster.
"""

from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from pliant.controllers.checks import Array, finite_array, positive
from pliant.errors import ConfigurationError, OutOfBoundsError, check_bounds, require_extra, unknown_name

_SOLVER = "daqp"
_TOLERANCE = 1e-7
"""A point closer than this to where it should be is there, m."""
_STRIDE = 0.05
"""Longest way of the point in one iteration, m: the Jacobian holds only nearby."""
_ITERATIONS = 200
_OUTSIDE = 1e-9
"""An angle past its limit by less than this is at the limit, rad: absorbs rounding."""


class ClosedLoopIK:
    """First-order closed-loop inverse kinematics of a site, its position alone.

        q̇ = argmin ‖J(q)·q̇ − ẋ_d − gain·(x_d − x(q))‖² + damping·‖q̇‖²,   q_min ≤ q + q̇·period ≤ q_max

    J is the site's Jacobian (3, joints). The loop closes over the model, not over measurements: q is the
    reference that it returned before, so that a soft arm which is held back stays soft. The position error of the
    reference decays as exp(−gain·t). Joints beyond the three that a position needs stay still as far as they can
    (least ‖q̇‖); a path traced twice may end in another posture. A straight arm is singular: no q̇ moves its tip
    along itself, and the point stays where it is.

    The quadratic programme is solved by the library mink.
    Source: Siciliano et al. 2009, Robotics, section 3.7.1, with the limits as constraints.
    """

    def __init__(self, model: mujoco.MjModel, site: str, gain: float = 10.0, damping: float = 1e-9) -> None:
        """Make it for an arm.

        Args:
            model: the arm alone, fixed to the world, with hinges and slides only.
            site: name of the site that follows the path.
            gain: 1/s, at most 1/period.
            damping: m²: trades accuracy for slow joints near a singularity.

        Raises:
            MissingExtraError: mink is not installed.
            UnknownNameError: no such site.
            ConfigurationError: the model has a free or ball joint.
            OutOfBoundsError: gain or damping is not positive.
        """
        self._mink: Any = require_extra("mink", "ik", "inverse kinematics of an arm in MuJoCo")
        names = [model.site(i).name for i in range(model.nsite)]
        if site not in names:
            raise unknown_name("site", site, names, "the model")
        if model.nq != model.nv:
            raise ConfigurationError(
                "inverse kinematics is for hinges and slides; the model has a free or ball joint."
            )
        self._gain = positive("inverse kinematics: gain", gain, "1/s")
        self._damping = positive("inverse kinematics: damping", damping)
        self._model, self._site = model, site
        self._configuration = self._mink.Configuration(model)
        self._task = self._mink.FrameTask(site, "site", position_cost=1.0, orientation_cost=0.0)
        self._limits = [self._mink.ConfigurationLimit(model, gain=1.0)]
        free = ~model.jnt_limited.astype(bool)
        self._low, self._high = (
            np.where(free, -np.inf, model.jnt_range[:, 0]),
            np.where(free, np.inf, model.jnt_range[:, 1]),
        )

    def position(self, q: ArrayLike) -> Array:
        """Return where the site is, (3,), m, in the world's frame, at the angles `q`, (joints,), rad.

        Raises:
            ShapeError, OutOfBoundsError: angles of the wrong shape, not finite, or past a joint's limit.
        """
        self._configuration.update(self._inside(q))
        return np.array(self._configuration.data.site(self._site).xpos)

    def step(self, q: ArrayLike, position: ArrayLike, velocity: ArrayLike, period: float) -> Array:
        """Return the reference one period later, (joints,), rad.

        Args:
            q: the present reference, (joints,), rad.
            position: x_d, (3,), m, in the world's frame.
            velocity: ẋ_d, (3,), m/s.
            period: s.

        Raises:
            ShapeError, OutOfBoundsError: values of the wrong shape, not finite, past a limit; gain·period > 1.
        """
        period = positive("inverse kinematics: period", period, "s")
        check_bounds("inverse kinematics: gain·period", self._gain * period, 0.0, 1.0)
        error = finite_array("desired position", position, (3,)) - self.position(q)
        rate = finite_array("desired velocity", velocity, (3,)) + self._gain * error
        return self._moved(rate * period)

    def __call__(self, position: ArrayLike, near: ArrayLike) -> Array:
        """Return angles that put the site at `position` to 1e-7 m, found by going there from `near`.

        Args:
            position: (3,), m, in the world's frame.
            near: (joints,), rad.

        Raises:
            ShapeError, OutOfBoundsError: values of the wrong shape, not finite, past a limit; or the site does not
                get there: out of reach, behind a joint's limit, or behind a singular posture as seen from `near`.
        """
        goal = finite_array("position", position, (3,))
        q = finite_array("near", near, (self._model.nq,))
        for _ in range(_ITERATIONS):
            error = goal - self.position(q)
            distance = float(np.linalg.norm(error))
            if distance < _TOLERANCE:
                return np.array(q)
            q = self._moved(error * min(1.0, _STRIDE / distance))
        raise OutOfBoundsError(
            f"site {self._site!r} does not get to {np.round(goal, 4).tolist()} m from the posture "
            f"{np.round(np.asarray(near), 3).tolist()} rad: it stays {distance:.3g} m away. The position may be "
            "out of reach or behind a joint's limit; or start from a posture that is not straight."
        )

    def _moved(self, way: Array) -> Array:
        """Return the angles after the site has gone `way`, (3,), m, from where the configuration is."""
        pose = self._configuration.get_transform_frame_to_world(self._site, "site")
        self._task.set_target(
            self._mink.SE3.from_rotation_and_translation(pose.rotation(), pose.translation() + way)
        )
        velocity = self._mink.solve_ik(
            self._configuration, [self._task], 1.0, _SOLVER, damping=self._damping, limits=self._limits
        )
        moved: Array = np.clip(self._configuration.q + velocity, self._low, self._high)
        return moved

    def _inside(self, q: ArrayLike) -> Array:
        """Return `q` as angles within the limits; raise if they are not."""
        angles = finite_array("q", q, (self._model.nq,))
        outside = (angles < self._low - _OUTSIDE) | (angles > self._high + _OUTSIDE)
        if outside.any():
            i = int(np.argmax(outside))
            check_bounds(f"joint {self._model.joint(i).name!r}", angles[i], self._low[i], self._high[i], "rad")
        return angles
