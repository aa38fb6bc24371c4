import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant.errors import ConfigurationError, OutOfBoundsError, ShapeError, UnknownNameError
from pliant.hardware.force_torque.wrench import (
    ToolLoad,
    in_frame,
    moved,
    rotation_matrix,
    turned,
    wrench_channels,
)


def test_a_wrench_does_the_same_work_wherever_it_is_told():
    """Power is that of the twist: F·v + T·ω is the same in every frame and about every point."""
    random = np.random.default_rng(1)
    for _ in range(20):
        turn, origin = Rotation.random(random_state=int(random.integers(1000))).as_matrix(), random.normal(size=3)
        wrench, velocity, spin = random.normal(size=6), random.normal(size=3), random.normal(size=3)
        # the twist is of A's axes at A's origin; that of B's origin, in B's axes
        there = np.concatenate([turn.T @ (velocity + np.cross(spin, origin)), turn.T @ spin])
        here = in_frame(wrench, turn, origin)
        assert here @ np.concatenate([velocity, spin]) == pytest.approx(wrench @ there, abs=1e-12)
        about = moved(wrench, origin)
        assert about[3:] == pytest.approx(wrench[3:] - np.cross(origin, wrench[:3]), abs=1e-14)
        assert turned(turned(wrench, turn), turn.T) == pytest.approx(wrench, abs=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-10, 1e-4, 1.0, np.pi, 5.0])
def test_rotation_vectors_are_those_of_scipy(angle):
    vector = angle * np.array([2.0, -1.0, 3.0]) / np.sqrt(14.0)
    assert rotation_matrix(vector) == pytest.approx(Rotation.from_rotvec(vector).as_matrix(), abs=1e-14)


def test_a_hanging_tool_reads_up():
    assert ToolLoad(2.0, (0.0, 0.0, 0.1)).raw(np.array([0.0, 0.0, -9.81])) == pytest.approx([0, 0, 19.62, 0, 0, 0])
    # lying along x, it bends about y: held by a torque that turns z towards x, against its fall
    assert ToolLoad(2.0, (0.1, 0.0, 0.0)).raw(np.array([0.0, 0.0, -9.81])) == pytest.approx(
        [0, 0, 19.62, 0, -1.962, 0]
    )


def test_what_cannot_be_is_refused():
    assert ToolLoad.of(None) == ToolLoad()
    assert ToolLoad.of({"mass": 1.0}) == ToolLoad(1.0)
    for given, error, words in (
        ({"mass": -1.0}, OutOfBoundsError, "mass"),
        ({"mass": float("nan")}, OutOfBoundsError, "finite"),
        ({"mass": 1.0, "com": [0.0, 0.0]}, ShapeError, "3 numbers"),
        ({"mass": 1.0, "com": [0.0, 0.0, float("inf")]}, OutOfBoundsError, r"com\[2\]"),
        ({"mas": 1.0}, UnknownNameError, "Did you mean 'mass'"),
        (1.2, ConfigurationError, "in kg and m"),
    ):
        with pytest.raises(error, match=words):
            ToolLoad.of(given)


def test_the_signals_are_named_and_have_units():
    channels = wrench_channels("wrist")
    assert [channel.name for channel in channels][::5] == ["wrist/force_x", "wrist/torque_z"]
    assert [channel.unit for channel in channels] == ["N"] * 3 + ["N·m"] * 3
