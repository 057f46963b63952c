"""What is a number, a weight, a table, the same columns; what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from counterpoise.data.arrays import (
    as_matrix,
    check_same_columns,
    estimator_samples,
    target_pieces,
    two_samples,
)
from counterpoise.data.labels_and_weights import (
    as_classes,
    as_responses,
    as_weights,
    row_counts,
)
from counterpoise.data.parameters import check_choice, check_integer, check_number
from counterpoise.errors import InvalidInputError, NoOverlapError


def test_bounds_are_allowed_where_they_are_closed():
    for closed, low, high in (
        ("both", True, True),
        ("left", True, False),
        ("right", False, True),
        ("neither", False, False),
    ):
        for value, allowed in ((0.0, low), (1.0, high), (0.5, True)):
            if allowed:
                assert check_number("a", value, low=0, high=1, closed=closed) == value
            else:
                with pytest.raises(ValueError, match="a must be in"):
                    check_number("a", value, low=0, high=1, closed=closed)


def test_booleans_and_nan_are_no_numbers_and_infinity_only_where_allowed():
    for wrong in (True, "1", None):
        with pytest.raises(TypeError, match="must be a number"):
            check_number("a", wrong)
    with pytest.raises(ValueError, match="must be finite"):
        check_number("a", math.nan)
    with pytest.raises(ValueError, match="must be"):
        check_number("a", math.inf, low=0)
    assert check_number("a", math.inf, low=0, high=math.inf) == math.inf


def test_an_integer_is_within_its_bounds_and_no_float():
    assert check_integer("n", 3, low=3, high=3) == 3
    for wrong in (2, 4):
        with pytest.raises(ValueError, match="n must be in"):
            check_integer("n", wrong, low=3, high=3)
    for wrong in (3.0, True):
        with pytest.raises(TypeError, match="an integer"):
            check_integer("n", wrong)
    assert check_integer("n", None, low=1, options=[None]) is None


def test_a_word_that_is_nearly_right_is_suggested():
    with pytest.raises(ValueError, match="did you mean 'pairwise'"):
        check_choice("solver", "pairwize", ["away", "pairwise"])
    with pytest.raises(TypeError, match="must be one of"):
        check_choice("solver", 3, ["away"])


def test_weights_are_not_negative_and_not_all_zero():
    assert as_weights(None, 2).tolist() == [1.0, 1.0]
    assert as_weights(2, 2).tolist() == [2.0, 2.0]
    assert as_weights([0.0, 1.0], 2).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match=r"got -1.0 in row 1"):
        as_weights([1.0, -1.0], 2)
    with pytest.raises(ValueError, match="is zero in every row"):
        as_weights([0.0, 0.0], 2)
    with pytest.raises(ValueError, match="has 3 rows, X has 2"):
        as_weights([1.0, 1.0, 1.0], 2)
    assert as_weights(([1.0], [2.0, 3.0]), 3).tolist() == [1.0, 2.0, 3.0]


def test_numbers_up_to_1e140_can_be_squared_and_no_larger_ones():
    assert as_matrix([[1e140], [-1e140]]).shape == (2, 1)
    with pytest.raises(ValueError, match="beyond 1e\\+140"):
        as_matrix([[1.0000001e140]])
    with pytest.raises(ValueError, match="beyond 1e\\+140"):
        as_matrix([[-1.0000001e140]])


def test_strings_are_no_numbers_even_where_they_look_like_one():
    with pytest.raises((TypeError, ValueError), match="column 0 of X"):
        as_matrix([["1"], ["2"]])
    assert as_matrix([[True], [False]]).tolist() == [[1.0], [0.0]]


def frame(*names):
    return pd.DataFrame(np.zeros((2, len(names))), columns=list(names))


def test_columns_of_the_target_are_those_of_the_source_in_their_order():
    check_same_columns(frame("a", "b"), frame("a", "b"))
    with pytest.raises(ValueError, match="in another order"):
        check_same_columns(frame("a", "b"), frame("b", "a"))
    with pytest.raises(ValueError, match=r"lacks 'b' and has 'c'"):
        check_same_columns(frame("a", "b"), frame("a", "c"))
    with pytest.raises(ValueError, match="has 1 columns, X has 2"):
        check_same_columns(np.zeros((2, 2)), np.zeros((2, 1)))


def test_columns_are_matched_by_position_with_a_warning_where_one_has_no_names():
    with pytest.warns(UserWarning, match="X has column names and X_target has none"):
        check_same_columns(frame("a", "b"), np.zeros((2, 2)))
    check_same_columns(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="X_target has column names and X has none"):
        check_same_columns(np.zeros((2, 2)), frame("a", "b"))


def test_a_tuple_of_targets_is_stacked_and_an_empty_one_refused():
    assert list(target_pieces(([[1.0]], [[2.0]]))) == ["X_target[0]", "X_target[1]"]
    _, target = two_samples([[0.0]], ([[1.0]], [[2.0]]))
    assert target.tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="empty tuple"):
        target_pieces(())
    assert two_samples([[0.0]], None)[1] is None


def test_a_refused_fit_leaves_the_estimator_as_it_was():
    estimator = BaseEstimator()
    with pytest.raises(ValueError, match="columns"):
        estimator_samples(estimator, np.zeros((2, 2)), np.zeros((2, 3)), reset=True)
    assert not hasattr(estimator, "n_features_in_")
    estimator_samples(estimator, np.zeros((2, 2)), np.zeros((2, 2)), reset=True)
    assert estimator.n_features_in_ == 2


def test_labels_are_of_one_type_and_none_is_missing():
    assert as_classes(["a", "b"], 2).tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="mixes strings and other labels: row 0"):
        as_classes(np.array(["a", 1], dtype=object), 2)
    with pytest.raises(ValueError, match="contains NaN, the first in row 1"):
        as_classes([0.0, math.nan], 2)
    with pytest.raises(ValueError, match="contains inf"):
        as_classes([0.0, math.inf], 2)


def test_a_matrix_of_responses_is_refused_unless_several_are_allowed():
    several = np.zeros((2, 2))
    assert as_responses(several, 2, multi_output=True).shape == (2, 2)
    with pytest.raises(ValueError, match="1d array"):
        as_responses(several, 2)
    with pytest.warns(UserWarning, match="column-vector"):
        assert as_responses(several[:, :1], 2).shape == (2,)


def test_a_missing_overlap_says_how_it_was_counted():
    assert "only the outermost source rows" in str(
        NoOverlapError(0.9, "uncovered_fraction", 0.99)
    )
    assert "AUC" not in str(NoOverlapError(0.9, "uncovered_fraction"))
    assert "within reach of the kernel" in str(
        NoOverlapError(0.9, "unsupported_fraction")
    )


def test_weights_too_small_beside_the_largest_count_for_nothing():
    assert as_weights([1.0, 1.01e-30], 2).tolist() == [1.0, 1.01e-30]
    assert as_weights([1e15, 0.99e-15], 2).tolist() == [1e15, 0.0]
    assert as_weights([1.0, 1.01e-100], 2).tolist() == [1.0, 0.0]
    told = r"sample_weight spans more than 100 orders .* 1 of 2 rows .* row 1"
    with pytest.warns(UserWarning, match=told):
        assert as_weights([1e15, 0.99e-85], 2).tolist() == [1e15, 0.0]


def test_weights_whose_scale_counts_are_not_above_a_limit():
    assert as_weights([1e20, 1.0], 2).tolist() == [1e20, 1.0]
    told = r"sample_weight has 1\.01e\+20 in row 1 .* divide them by their mean"
    with pytest.raises(InvalidInputError, match=told):
        as_weights([1.0, 1.01e20], 2)
    assert row_counts([1e300, 1e300], 2).tolist() == [1.0, 1.0]
