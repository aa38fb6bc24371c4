import inspect
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pliant import errors
from pliant.errors import (
    MissingExtraError,
    OutOfBoundsError,
    PliantError,
    UnknownNameError,
    check_bounds,
    require_extra,
    unknown_name,
)


def test_every_error_is_a_pliant_error_and_a_standard_one():
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, PliantError)]
    assert len(classes) > 5
    for error in classes:
        assert error is PliantError or any(
            base in error.__mro__ for base in (ValueError, OSError, RuntimeError, ImportError, AttributeError)
        )


def test_an_unknown_name_is_told_the_nearest_and_all_valid_ones():
    error = unknown_name("law", "qbmov", ["qbmove", "sea", "awas2"], "the configuration")
    assert isinstance(error, UnknownNameError)
    assert "unknown law 'qbmov' in the configuration" in str(error)
    assert "Did you mean 'qbmove'?" in str(error)
    assert "Valid: qbmove, sea, awas2." in str(error)


def test_an_unknown_name_far_from_all_gets_no_guess():
    message = str(unknown_name("law", "xyz", ["qbmove"]))
    assert "Did you mean" not in message
    assert "Valid: none." in str(unknown_name("law", "xyz", []))


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6), st.floats(0, 1))
def test_a_value_within_its_bounds_passes_unchanged(low, width, fraction):
    value = min(low + fraction * width, low + width)
    assert check_bounds("k", value, low, low + width) == value


@given(st.floats(1e-3, 1e6), st.sampled_from([-1, 1]))
def test_a_value_outside_is_refused_with_its_bounds_and_unit(excess, side):
    with pytest.raises(OutOfBoundsError, match=r"k = .* N·m is outside \[-1, 1\] N·m"):
        check_bounds("k", side * (1.0 + excess), -1.0, 1.0, "N·m")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_out_of_any_bounds(value):
    with pytest.raises(OutOfBoundsError, match="finite"):
        check_bounds("k", value, -math.inf, math.inf)


def test_the_unit_of_a_pure_number_is_left_out():
    with pytest.raises(OutOfBoundsError) as caught:
        check_bounds("ratio", 2.0, 0.0, 1.0, "1")
    assert str(caught.value) == "ratio = 2 is outside [0, 1]."


def test_an_installed_extra_is_imported():
    assert require_extra("math", "report", "the figure") is math


def test_a_missing_extra_names_what_needs_it_and_how_to_install_it():
    with pytest.raises(MissingExtraError, match=r'the report needs no_such_thing.*pip install "pliant\[report\]"'):
        require_extra("no_such_thing.part", "report", "the report")
