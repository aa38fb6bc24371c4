import numpy as np
import pytest

from pliant.controllers.ur_kinematics import SINGULARITIES, UrKinematics, pose_of
from pliant.errors import OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.ur_arms import ur_names

# the published chain of the UR10e, written out
D = (0.1807, 0.0, 0.0, 0.17415, 0.11985, 0.11655)
A = (0.0, -0.6127, -0.57155, 0.0, 0.0, 0.0)
ALPHA = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)


def rotation(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    matrix = np.eye(4)
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    matrix[[i, j], [i, j]] = c
    matrix[i, j], matrix[j, i] = -s, s
    return matrix


def shift(x, z):
    matrix = np.eye(4)
    matrix[[0, 2], 3] = x, z
    return matrix


def published_chain(q):
    pose = np.eye(4)
    for i in range(6):
        pose = pose @ rotation(2, q[i]) @ shift(A[i], D[i]) @ rotation(0, ALPHA[i])
    return pose


def random_angles(n, seed=0):
    return np.random.default_rng(seed).uniform(-2 * np.pi, 2 * np.pi, (n, 6))


def same_turn(q, other):
    return np.abs((q - other + np.pi) % (2 * np.pi) - np.pi).max()


def test_forward_kinematics_is_the_product_of_the_published_links():
    arm = UrKinematics("ur10e")
    for q in random_angles(200):
        np.testing.assert_allclose(arm.forward(q), published_chain(q), rtol=0, atol=1e-14)


def test_the_tool_is_carried_by_the_flange():
    tcp = pose_of([0.01, -0.02, 0.15], [0.3, 0.0, -0.4])
    q = random_angles(1)[0]
    np.testing.assert_allclose(UrKinematics("ur10e", tcp).forward(q), published_chain(q) @ tcp, atol=1e-14)


def test_the_jacobian_is_how_the_pose_changes():
    arm = UrKinematics("ur10e", pose_of([0.02, 0.0, 0.1]))
    for q in random_angles(20):
        numeric, h = np.empty((6, 6)), 1e-6
        here = arm.forward(q)
        for i in range(6):
            step = h * np.eye(6)[i]
            change = (arm.forward(q + step) - arm.forward(q - step)) / (2 * h)
            spin = change[:3, :3] @ here[:3, :3].T
            numeric[:, i] = [*change[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(arm.jacobian(q), numeric, atol=1e-8)


@pytest.mark.parametrize("name", ur_names())
def test_the_determinant_of_the_jacobian_is_what_the_branches_go_by(name):
    arm = UrKinematics(name)
    a2, a3, d5 = arm.arm.a[1], arm.arm.a[2], arm.arm.d[4]
    for q in random_angles(50, seed=1):
        radius = a2 * np.cos(q[1]) + a3 * np.cos(q[1] + q[2]) + d5 * np.sin(q[1] + q[2] + q[3])
        expected = abs(a2 * a3 * np.sin(q[2]) * np.sin(q[4]) * radius)
        assert abs(np.linalg.det(arm.jacobian(q))) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ur_names())
@pytest.mark.slow
def test_all_branches_reach_the_pose(name):
    arm = UrKinematics(name, pose_of([0.0, 0.01, 0.12], [0.0, 0.3, 0.0]))
    eight = 0
    for q in random_angles(500, seed=2):
        pose = arm.forward(q)
        solutions = arm.inverse(pose, near=q)
        eight += len(solutions) == 8
        branches = [solution.branch for solution in solutions]
        assert len(set(branches)) == len(branches)
        for solution in solutions:
            np.testing.assert_allclose(arm.forward(solution.q), pose, rtol=0, atol=1e-10)
            assert solution.branch == arm.branch(solution.q)
            assert np.abs(solution.q - q).max() <= 2 * np.pi
        np.testing.assert_allclose(solutions[0].q, q, rtol=0, atol=1e-10)
        np.testing.assert_allclose(arm.nearest(pose, q), q, rtol=0, atol=1e-10)
    assert eight > 300


def test_whole_turns_are_those_of_the_reference_within_the_range():
    arm = UrKinematics("ur10e")
    q = np.array([0.3, -1.2, 1.4, -0.5, 1.1, 0.2])
    turned = q + 2 * np.pi * np.array([0, 1, -1, 0, -1, -1])
    np.testing.assert_allclose(arm.nearest(arm.forward(q), turned), turned, atol=1e-12)
    # from 6.2 rad the nearest 0.3 rad is 6.58 rad, past the end of the range, and 0.3 rad is taken
    beyond = q.copy()
    beyond[0] = 6.2
    np.testing.assert_allclose(arm.nearest(arm.forward(q), beyond), q, atol=1e-12)


def test_a_joint_without_end_goes_on_turning():
    arm = UrKinematics("ur3e")
    q = np.array([0.3, -1.2, 1.4, -0.5, 1.1, 7 * np.pi])
    np.testing.assert_allclose(arm.nearest(arm.forward(q), q), q, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("joint", range(6))
def test_a_path_through_half_a_turn_stays_continuous(joint):
    """Joints turn through ±π; the solution goes along, and never changes its branch."""
    arm = UrKinematics("ur5e")
    start = np.array([3.0, -1.2, 1.4, 3.0, 1.1, 3.0])
    sway = np.zeros(6)
    sway[joint] = 1.0
    if joint in (2, 4):  # these would pass a singularity on the way
        start[joint], sway[joint] = 1.5, 1.2
    before = start
    for s in np.linspace(0.0, 1.0, 400):
        q = start + s * sway
        found = arm.nearest(arm.forward(q), before)
        np.testing.assert_allclose(found, q, atol=1e-9)
        assert np.abs(found - before).max() < 0.01
        before = found


def test_a_turn_of_all_joints_is_followed():
    arm = UrKinematics("ur10e")
    before = np.array([-4.0, -1.2, 1.4, -4.5, 1.1, -5.0])
    rate = np.array([1.0, 0.05, 0.05, 1.1, -0.05, 1.2])
    begin = before.copy()
    for s in np.linspace(0.0, 8.0, 4000):
        q = begin + s * rate
        before = arm.nearest(arm.forward(q), before)
        np.testing.assert_allclose(before, q, atol=1e-9)


SINGULAR = {
    "wrist": [0.4, -1.0, 1.2, -0.3, 0.0, 0.7],
    "elbow": [0.4, -1.0, 0.0, -0.3, 1.2, 0.7],
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_singularity_is_named(name):
    arm = UrKinematics("ur10e")
    q = np.array(SINGULAR[name])
    assert arm.singularities(q) == (name,)
    assert np.linalg.cond(arm.jacobian(q)) > 1e10
    solutions = arm.inverse(arm.forward(q), near=q)
    assert any(name in solution.singular for solution in solutions)
    # at the edge of what is reached a rounding error of the pose is one of its root in the elbow
    np.testing.assert_allclose(arm.nearest(arm.forward(q), q), q, atol=1e-7)


def test_above_the_first_axis_the_shoulder_is_singular():
    arm = UrKinematics("ur10e")
    a2, a3, d5 = A[1], A[2], D[4]
    q = np.array([0.3, -1.1, 1.5, 0.0, 1.0, 0.2])
    # the last free angle puts the wrist over the first axis: a₂c₂ + a₃c₂₃ + d₅s₂₃₄ = 0
    q[1] = -np.pi / 2
    q[2] = 0.1
    q[3] = np.arcsin(-(a2 * np.cos(q[1]) + a3 * np.cos(q[1] + q[2])) / d5) - q[1] - q[2]
    assert arm.singularities(q) == ("shoulder",)
    for solution in arm.inverse(arm.forward(q), near=q):
        np.testing.assert_allclose(arm.forward(solution.q), arm.forward(q), atol=1e-7)
        assert "shoulder" in solution.singular


def test_in_a_wrist_singularity_the_last_joint_stays_where_it_was():
    arm = UrKinematics("ur10e")
    q = np.array(SINGULAR["wrist"])
    elsewhere = q + 0.4 * np.eye(6)[5]
    found = arm.nearest(arm.forward(q), elsewhere)
    assert found[5] == pytest.approx(elsewhere[5], abs=1e-14)
    np.testing.assert_allclose(arm.forward(found), arm.forward(q), atol=1e-10)


def test_all_singularities_have_names():
    arm = UrKinematics("ur10e")
    assert set(SINGULARITIES) == {"shoulder", "elbow", "wrist"}
    assert arm.singularities([0.3, -1.2, 1.4, -0.5, 1.1, 0.2]) == ()
    assert set(arm.singularities(np.zeros(6))) == {"elbow", "wrist"}


def test_a_pose_too_far_away_says_by_how_much():
    arm = UrKinematics("ur10e")
    q = np.array(SINGULAR["elbow"])
    pose = arm.forward(q)
    shoulder = np.array([0.0, 0.0, D[0]])
    # along the stretched arm, from the second axis: by as much as is added
    along = pose[:3, 3] - shoulder
    frames = arm.frames(q)
    along = frames[3][:3, 3] - frames[1][:3, 3]
    pose[:3, 3] += 0.25 * along / np.linalg.norm(along)
    with pytest.raises(
        OutOfBoundsError, match=r"ur10e does not reach the pose: .* too far from the shoulder, by 0\.2"
    ):
        arm.inverse(pose)
    with pytest.raises(OutOfBoundsError, match="too far"):
        arm.nearest(pose, q)


def test_a_wrist_within_the_first_axis_is_too_close():
    pose = np.diag([1.0, -1.0, -1.0, 1.0])
    pose[:3, 3] = [0.1, 0.0, 0.4]
    with pytest.raises(OutOfBoundsError, match=r"too close to the first axis, by 0\.07415 m"):
        UrKinematics("ur10e").inverse(pose)


def test_a_branch_that_misses_the_pose_names_those_that_do_not():
    arm = UrKinematics("ur10e")
    for q in random_angles(200, seed=3):
        solutions = arm.inverse(arm.forward(q), near=q)
        if len(solutions) == 8:
            continue
        have = {solution.branch for solution in solutions}
        for other in random_angles(200, seed=4):
            if arm.branch(other) not in have:
                with pytest.raises(OutOfBoundsError, match="Branches that reach it:"):
                    arm.nearest(arm.forward(q), other)
                return
    pytest.fail("no pose was out of reach of a branch")


@pytest.mark.parametrize(
    ("pose", "error", "says"),
    [
        (np.eye(3), ShapeError, "pose has shape"),
        (np.full((4, 4), np.nan), OutOfBoundsError, "finite"),
        (2.0 * np.eye(4), OutOfBoundsError, "pose is no pose"),
        (np.diag([1.0, 1.0, -1.0, 1.0]), OutOfBoundsError, "pose is no pose"),
        ("there", ShapeError, "not an array of numbers"),
    ],
)
def test_what_is_no_pose_is_refused(pose, error, says):
    with pytest.raises(error, match=says):
        UrKinematics("ur10e").inverse(pose)


def test_what_are_no_angles_is_refused():
    arm = UrKinematics("ur10e")
    with pytest.raises(ShapeError, match="q has shape"):
        arm.forward(np.zeros(5))
    with pytest.raises(OutOfBoundsError, match=r"near\[2\] is nan"):
        arm.nearest(np.eye(4), [0, 0, np.nan, 0, 0, 0])


def test_an_unknown_arm_is_named_with_those_that_are_known():
    with pytest.raises(UnknownNameError, match="Did you mean 'ur10e'"):
        UrKinematics("ur10ee")


def test_rotation_vectors_are_those_of_the_controller():
    np.testing.assert_allclose(
        pose_of([1, 2, 3], [0, 0, np.pi / 2]),
        shift(0, 0) @ np.array([[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1.0]]),
        atol=1e-15,
    )
    turn = pose_of([0, 0, 0], [0.3, -0.2, 0.5])[:3, :3]
    np.testing.assert_allclose(turn @ [0.3, -0.2, 0.5], [0.3, -0.2, 0.5], atol=1e-15)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-15)
