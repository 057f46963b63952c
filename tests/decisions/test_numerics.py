"""What arrays decide: quantiles at equality, ranks, ties of distances."""

import numpy as np
import pytest

from counterpoise.linalg.arrays import finite_array, quantiles_below_infinity
from counterpoise.linalg.cholesky import pivoted_cholesky, small_rank_factor
from counterpoise.linalg.kernels import (
    StoredMatrix,
    median_distance,
    nearest_distance,
    nearest_row,
)
from counterpoise.optim.likelihoods import log_line
from counterpoise.optim.sets import (
    project_capped_simplex,
    project_simplex,
    row_threshold,
    soft_threshold,
)


def test_a_quantile_is_reached_at_equality_and_infinite_beyond_all_values():
    values, ones = np.array([1.0, 2.0, 3.0]), np.ones(3)

    def at(atom, level):
        return quantiles_below_infinity(values, ones, np.array([atom]), level)[0]

    assert at(1.0, 0.5) == 2.0
    assert at(1.0, 0.75) == 3.0
    assert at(1.0, 0.7501) == np.inf
    assert at(np.inf, 0.1) == np.inf
    # Three tenths make nine tenths but for rounding.
    tenths = np.full(3, 0.3)
    found = quantiles_below_infinity(values, tenths, np.array([0.1]), 0.9)
    assert found[0] == 3.0


def test_a_factor_is_of_the_largest_rank_allowed_or_none():
    rows = np.arange(12.0).reshape(6, 2)
    kernel = StoredMatrix(rows @ rows.T)
    assert small_rank_factor(kernel, 2).factor.shape == (6, 2)
    assert small_rank_factor(kernel, 1) is None
    assert small_rank_factor(StoredMatrix(np.eye(4)), 4).factor.shape == (4, 4)


def test_the_row_that_is_left_longest_is_the_next_pivot():
    kernel = StoredMatrix(np.diag([1.0, 9.0, 4.0]))
    assert small_rank_factor(kernel, 3).pivots.tolist() == [1, 2, 0]


def test_the_nearest_row_is_the_first_of_equal_ones():
    C = np.array([[1.0], [1.0], [3.0]])
    assert nearest_row(np.array([[0.0], [1.0]]), C).tolist() == [0, 0]


def test_a_row_is_passed_over_once_among_its_own():
    X = np.array([[0.0], [0.0], [5.0]])
    assert nearest_distance(X, X, own=True).tolist() == [0.0, 0.0, 5.0]
    assert nearest_distance(X, X).tolist() == [0.0, 0.0, 0.0]


def test_the_median_distance_of_one_row_is_zero():
    assert median_distance(np.ones((1, 2))) == 0.0
    assert median_distance(np.array([[0.0], [1.0], [3.0]])) == 2.0


def test_thresholds_leave_zero_at_their_level():
    assert soft_threshold(np.array([1.0, 1.5, -3.0]), 1.0).tolist() == [0.0, 0.5, -2.0]
    assert row_threshold(np.array([[3.0, 4.0]]), 5.0).tolist() == [[0.0, 0.0]]
    assert row_threshold(np.array([[0.0, 0.0]]), 1.0).tolist() == [[0.0, 0.0]]


def test_a_capped_simplex_without_room_is_its_upper_end():
    upper = np.array([0.25, 0.75])
    assert project_capped_simplex(np.array([9.0, 0.0]), upper).tolist() == [0.25, 0.75]
    assert project_simplex(np.array([0.5, 1.5, -1.0])).tolist() == [0.0, 1.0, 0.0]


def test_a_line_search_goes_to_its_limit_while_the_value_rises():
    one = np.ones(1)
    assert log_line(one, one, one, 3.0) == 3.0
    # log(1 + t) + log(1 - t / 2) is largest at one half.
    z, q = np.ones(2), np.array([1.0, -0.5])
    assert log_line(z, q, np.ones(2), 1.5) == pytest.approx(0.5)


def test_pivots_end_at_the_tolerance_or_at_the_largest_rank():
    rows = np.linspace(0.0, 4.0, 30)[:, None]
    _, pivots, residual = pivoted_cholesky(rows, 1.0, 1e-6, 30)
    assert residual.max() <= 1e-6
    assert len(pivots) < 30
    _, few, residual = pivoted_cholesky(rows, 1.0, 1e-6, 3)
    assert len(few) == 3
    assert residual.max() > 1e-6


def test_an_array_that_is_empty_sparse_or_not_finite_is_refused():
    assert finite_array("b", [1, 2], 1).tolist() == [1.0, 2.0]
    for wrong in ([], [[1.0]], 3.0):
        with pytest.raises(ValueError, match="b must be a non-empty vector"):
            finite_array("b", wrong, 1)
    with pytest.raises(ValueError, match="got nan at entry 1"):
        finite_array("b", [1.0, np.nan], 1)
