import numpy as np
import pytest

from pliant.controllers.checks import differences, finite_array, positive
from pliant.errors import OutOfBoundsError, ShapeError


def test_an_array_is_copied_and_cannot_be_changed():
    source = np.zeros((3, 2))
    array = finite_array("x", source, (None, 2))
    source[0, 0] = 1.0
    assert array[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1.0


@pytest.mark.parametrize("value", [np.zeros(2), np.zeros((2, 3)), np.zeros((0, 2)), 1.0])
def test_another_shape_is_refused_with_the_one_needed(value):
    with pytest.raises(ShapeError, match=r"x has shape .*; \(any, 2\) is needed"):
        finite_array("x", value, (None, 2))


@pytest.mark.parametrize("value", [[[1, 2], [3]], ["a", "b"], None, [{}], object()])
def test_what_is_no_array_of_numbers_is_refused(value):
    with pytest.raises(ShapeError, match="x"):
        finite_array("x", value, (None,))


def test_the_first_entry_that_is_not_finite_is_named():
    with pytest.raises(OutOfBoundsError, match=r"x\[1, 0\] is nan"):
        finite_array("x", [[1, 2], [np.nan, np.inf]], (None, 2))


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "fast", None])
def test_what_is_not_a_positive_number_is_refused(value):
    with pytest.raises(OutOfBoundsError, match="period"):
        positive("period", value, "s")


def test_every_differing_leaf_is_listed_by_its_path():
    stored = {"joint": {"k": 1.0, "a": 2.0, "old": 3}, "law": "qbmove"}
    present = {"joint": {"k": 1.5, "a": 2.0}, "law": "qbmove", "mode": 6}
    assert differences("parameters", stored, present) == [
        "parameters.joint.k: 1.0 in the file, 1.5 here",
        "parameters.joint.old: 3 in the file, absent here",
        "parameters.mode: absent in the file, 6 here",
    ]
    assert differences("parameters", stored, stored) == []
