from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

from pliant.controllers import MinimumJerk, sample
from pliant.controllers.ilc import joint_impulse_response
from pliant.controllers.paths import Circle, JointViaPoints, Line, ViaPoints, joint_trajectory
from pliant.controllers.two_link import TwoLinkArm
from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError

ARM = TwoLinkArm()
VIA = ViaPoints([0.0, 0.5, 0.8, 2.0], [[0.0, 0.0], [0.4, 0.3], [0.8, 0.1], [1.0, 0.9]])
KINDS = [
    Line([0.1, -0.2], [0.8, 0.5], 2.0),
    Circle([0.5, 0.1], 0.3, 2.0, start=0.4, sweep=-5.0),
    VIA,
    JointViaPoints(VIA.time, VIA.points),
]
kinds = pytest.mark.parametrize("path", KINDS, ids=lambda kind: type(kind).__name__)
finite = st.floats(-10, 10)


@kinds
def test_the_velocity_is_the_derivative_of_the_position(path):
    t, h = np.linspace(0.01, 1.99, 200), 1e-5
    numeric = (path.position(t + h) - path.position(t - h)) / (2 * h)
    np.testing.assert_allclose(path.velocity(t), numeric, atol=1e-8)


@kinds
def test_it_rests_before_the_start_and_after_the_end_and_reaches_both_without_acceleration(path):
    np.testing.assert_array_equal(path.position([-1.0, 9.0]), path.position([0.0, 2.0]))
    np.testing.assert_allclose(path.velocity([-1.0, 0.0, 2.0, 9.0]), 0.0, atol=1e-12)
    np.testing.assert_allclose(path.velocity([1e-4, 2.0 - 1e-4]), 0.0, atol=1e-5)  # grows with the time squared


@kinds
def test_time_may_have_any_shape_and_must_be_finite(path):
    t = np.array([[0.1, 0.2, 0.3], [1.0, 1.5, 1.9]])
    for motion in (path.position, path.velocity):
        assert motion(0.3).shape == (2,)
        assert motion([]).shape == (0, 2)
        np.testing.assert_allclose(motion(t)[1, 2], motion(1.9), rtol=1e-14)
        with pytest.raises(OutOfBoundsError, match=r"time\[1\] is nan"):
            motion([0.0, np.nan])


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=3), st.floats(0.1, 10), st.floats(0, 1))
def test_a_line_stays_between_its_ends_at_the_pace_of_least_jerk(ends, duration, share):
    start, goal = np.transpose(ends)
    line = Line(start, goal, duration)
    s = MinimumJerk(0.0, 1.0, duration).position(share * duration)
    np.testing.assert_allclose(line.position(share * duration), start + s * (goal - start), atol=1e-12)
    np.testing.assert_allclose(line.position([0.0, duration]), [start, goal], atol=1e-12)


@given(finite, finite, st.floats(0.1, 5), finite, finite)
def test_a_circle_keeps_its_radius_and_turns_by_its_sweep(x, z, radius, start, sweep):
    circle = Circle([x, z], radius, 3.0, start, sweep)
    t = np.linspace(0.0, 3.0, 301)
    spokes = circle.position(t) - [x, z]
    np.testing.assert_allclose(np.linalg.norm(spokes, axis=-1), radius, rtol=1e-9)
    angle = np.unwrap(np.arctan2(spokes[:, 1], spokes[:, 0]))
    assert angle[-1] - angle[0] == pytest.approx(sweep, abs=1e-9)
    np.testing.assert_allclose(spokes[0], radius * np.array([np.cos(start), np.sin(start)]), atol=1e-9)
    length = np.trapezoid(np.linalg.norm(circle.velocity(t), axis=-1), t)
    assert length == pytest.approx(radius * abs(sweep), rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("plane", ["xy", "yz", "zx", "zy"])
def test_a_circle_in_space_is_the_one_of_its_plane(plane):
    flat, t = Circle([0.0, 0.0], 0.3, 2.0, start=0.4, sweep=-5.0), np.linspace(0.0, 2.0, 7)
    circle = Circle([1.0, 2.0, 3.0], 0.3, 2.0, start=0.4, sweep=-5.0, plane=plane)
    axes = ["xyz".index(axis) for axis in plane]
    np.testing.assert_allclose((circle.position(t) - [1.0, 2.0, 3.0])[:, axes], flat.position(t), atol=1e-12)
    np.testing.assert_allclose(circle.velocity(t)[:, axes], flat.velocity(t), atol=1e-12)
    (other,) = {0, 1, 2} - set(axes)
    np.testing.assert_array_equal(circle.velocity(t)[:, other], 0.0)


@given(st.lists(st.tuples(st.floats(0.1, 3), finite, finite), min_size=2, max_size=8))
def test_via_points_are_passed_at_their_times(rows):
    gaps, *coordinates = np.transpose(rows)
    time = np.cumsum(gaps) - gaps[0]
    points = np.transpose(coordinates)
    path = ViaPoints(time, points)
    np.testing.assert_allclose(path.position(time), points, atol=1e-7)
    np.testing.assert_allclose(path.velocity(time[[0, -1]]), 0.0, atol=1e-6)


def test_two_points_make_a_line():
    line, path = Line([0.1, 2.0], [0.7, -1.0], 3.0), ViaPoints([0.0, 3.0], [[0.1, 2.0], [0.7, -1.0]])
    t = np.linspace(-0.5, 3.5, 50)
    np.testing.assert_allclose(path.position(t), line.position(t), atol=1e-13)
    np.testing.assert_allclose(path.velocity(t), line.velocity(t), atol=1e-13)


def test_via_points_have_less_jerk_than_their_neighbours():
    t = [np.linspace(a, b, 41) for a, b in zip(VIA.time[:-1], VIA.time[1:], strict=True)]

    def cost(bump):
        total = 0.0
        for piece in t:
            jerk = Polynomial.fit(piece, VIA.position(piece)[:, 0] + bump(piece), 14).deriv(3)
            area = (jerk**2).integ()
            total += area(piece[-1]) - area(piece[0])
        return total

    a, b, c, d = VIA.time
    for shape in (
        lambda s: s**0,
        lambda s: s,
        lambda s: s**2 - 1.0,
    ):  # vanish at the points, and at rest at the ends

        def bump(s, shape=shape):
            return shape(s) * ((s - a) * (s - d)) ** 3 * (s - b) * (s - c)

        for size in (0.05, -0.05):
            assert cost(lambda s, size=size, bump=bump: size * bump(s)) > cost(lambda s: 0.0 * s)


CIRCLE = Circle([1.0, 0.3], 0.4, 4.0)


@pytest.mark.parametrize("bend", [-1.0, 1.0])
@pytest.mark.parametrize("path", [CIRCLE, Line([1.2, -0.8], [-0.6, 1.1], 2.0)], ids=["circle", "line"])
def test_the_joints_move_the_tip_along_the_path_and_the_elbow_stays_on_its_side(path, bend):
    motion = joint_trajectory(path, ARM.inverse_kinematics, near=[0.0, bend])
    assert motion.joints == 2
    assert motion.duration == path.duration
    t = np.linspace(0.0, path.duration, 777)
    q, dq = motion.position(t), motion.velocity(t)
    np.testing.assert_allclose(ARM.forward_kinematics(q), path.position(t), atol=1e-7)
    tip_velocity = np.einsum("nij,nj->ni", ARM.jacobian(q), dq)
    np.testing.assert_allclose(tip_velocity, path.velocity(t), atol=1e-5)
    assert (np.sign(q[:, 1]) == bend).all()


def test_the_joints_go_on_turning_where_the_path_goes_round_the_shoulder():
    round_trip = Circle([0.0, 0.0], 1.3, 5.0, sweep=4.0 * np.pi)
    motion = joint_trajectory(round_trip, ARM.inverse_kinematics, near=[0.0, 1.0])
    turned = motion.position(5.0) - motion.position(0.0)
    np.testing.assert_allclose(turned, [4.0 * np.pi, 0.0], atol=1e-9)


def test_a_shorter_period_comes_closer_with_its_sixth_power():
    off = []
    for period in (0.1, 0.05):
        motion = joint_trajectory(CIRCLE, ARM.inverse_kinematics, [0.0, 1.0], period, largest_step=1.0)
        t = np.linspace(0.0, 4.0, 1001)
        off.append(np.abs(ARM.forward_kinematics(motion.position(t)) - CIRCLE.position(t)).max())
    assert off[1] < 1e-6
    assert off[0] / off[1] > 2.0**5.5


def test_a_motion_of_more_samples_than_anybody_needs_is_refused():
    for motion in (
        lambda: sample(MinimumJerk(0.0, 1.0, 1e300), 0.01),
        lambda: joint_trajectory(Line([0.5, 0.1], [0.6, 0.1], 1e300), lambda point, near: near, [0.0, 0.0], 0.01),
        lambda: joint_impulse_response(10.0, 0.1, 0.01, 1e300),
    ):
        with pytest.raises(OutOfBoundsError, match=r"of 1e\+300 s has more than 10,000,000 samples of 0.01 s"):
            motion()


def test_the_period_is_evened_out_and_the_result_can_be_sampled():
    motion = joint_trajectory(Line([1.0, 0.2], [1.1, 0.3], 1.0), ARM.inverse_kinematics, [0.0, 1.0], period=0.3)
    np.testing.assert_allclose(motion.time, np.linspace(0.0, 1.0, 5))
    assert sample(motion, 0.01).position.shape == (101, 2)
    assert len(joint_trajectory(Line([1.0, 0.2], [1.1, 0.3], 0.1), ARM.inverse_kinematics, [0, 1], 3.0).time) == 2


def test_a_path_through_the_shoulder_folds_the_arm_and_goes_on():
    line = Line([1.0, 0.0], [-1.0, 0.0], 2.0)
    motion = joint_trajectory(line, ARM.inverse_kinematics, [0.0, 1.0])
    t = np.linspace(0.0, 2.0, 777)
    np.testing.assert_allclose(ARM.forward_kinematics(motion.position(t)), line.position(t), atol=1e-6)
    assert motion.position(0.0)[1] < np.pi < motion.position(2.0)[1]


def test_a_path_just_past_the_shoulder_makes_a_joint_jump_and_is_refused():
    with pytest.raises(ConfigurationError, match=r"joint 0 jumps by .* near \(0, 0\.01\) m: the path comes by"):
        joint_trajectory(Line([1.0, 0.01], [-1.0, 0.01], 2.0), ARM.inverse_kinematics, [0.0, 1.0])


def test_inverse_kinematics_that_changes_its_branch_is_refused():
    def fickle(point, near):
        return ARM.inverse_kinematics(point, near, "up" if point[0] < 1.0 else "down")

    with pytest.raises(ConfigurationError, match="changes its branch"):
        joint_trajectory(Line([0.5, 0.5], [1.5, 0.5], 1.0), fickle, [0.0, 1.0])


def test_a_path_out_of_reach_is_refused_with_the_time_and_the_reach():
    with pytest.raises(OutOfBoundsError, match=r"the path at t = 1\.01 s: .* too far: 2\.0.* m .* from 0 to 2 m"):
        joint_trajectory(Line([1.0, 0.0], [3.0, 0.0], 2.0), ARM.inverse_kinematics, [0.0, 1.0])


def test_a_path_that_starts_moving_is_refused():
    @dataclass
    class Moving:
        duration: float = 1.0

        def position(self, t):
            return np.stack([1.0 + 0.1 * np.asarray(t), 0.0 * np.asarray(t)], axis=-1)

        def velocity(self, t):
            return np.stack([np.full_like(t, 0.1), np.zeros_like(t)], axis=-1)

    with pytest.raises(ConfigurationError, match=r"moves at \(0\.1, 0\) m/s at t = 0 s; it must be at rest"):
        joint_trajectory(Moving(), ARM.inverse_kinematics, [0.0, 1.0])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Line([0, 0], [1, 1, 1], 1), ShapeError, r"Line goal has shape \(3,\); \(2\) is needed"),
        (lambda: Line(0.0, 1.0, 1), ShapeError, r"Line start has shape \(\)"),
        (lambda: Line([0, np.nan], [1, 1], 1), OutOfBoundsError, r"Line start\[1\] is nan"),
        (lambda: Line([0, 0], [1, 1], 0), OutOfBoundsError, "Line duration is 0 s"),
        (lambda: Circle([0, 0, 0, 0], 1, 1), ShapeError, "Circle centre has shape"),
        (lambda: Circle([0, 0, 0], 1, 1, plane="xx"), UnknownNameError, "plane 'xx'.*yz"),
        (lambda: Circle([0, 0], -1, 1), OutOfBoundsError, "Circle radius is -1 m"),
        (lambda: Circle([0, 0], 1, 1, sweep=np.inf), OutOfBoundsError, "Circle sweep is inf"),
        (lambda: ViaPoints([0.0], [[1, 1]]), ShapeError, "at least 2"),
        (lambda: ViaPoints([0, 1], [[0, 1]]), ShapeError, "ViaPoints points has shape"),
        (lambda: ViaPoints([0, 1, 1], np.eye(3)), OutOfBoundsError, r"must begin at 0 s .* got \(0, 1, 1\) s"),
        (lambda: JointViaPoints([1, 2], np.eye(2)), OutOfBoundsError, "JointViaPoints time must begin at 0 s"),
        (
            lambda: joint_trajectory(CIRCLE, ARM.inverse_kinematics, [0, 1], period=0.0),
            OutOfBoundsError,
            "joint_trajectory period is 0 s",
        ),
        (
            lambda: joint_trajectory(CIRCLE, ARM.inverse_kinematics, [0, 1], largest_step=-1.0),
            OutOfBoundsError,
            "largest_step is -1 rad",
        ),
        (lambda: joint_trajectory(CIRCLE, ARM.inverse_kinematics, [0, np.nan]), OutOfBoundsError, "near"),
        (
            lambda: joint_trajectory(CIRCLE, lambda point, near: [0.0], [0, 1]),
            ShapeError,
            r"inverse kinematics at t = 0 s has shape \(1,\)",
        ),
    ],
)
def test_wrong_settings_are_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_paths_are_plain_values_that_cannot_be_changed():
    assert Line([0, 0], [1, 1], 2) == Line((0.0, 0.0), np.array([1.0, 1.0]), 2.0)
    assert hash(Circle([0, 0], 1, 2)) == hash(Circle((0.0, 0.0), 1.0, 2.0))
    for path in KINDS:
        with pytest.raises(FrozenInstanceError):
            path.time = 1.0
