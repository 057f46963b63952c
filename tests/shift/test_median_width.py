"""The median distance of two rows, with weights."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist

from counterpoise.shift.two_sample_tests import ROWS_MEASURED, median_gamma


@pytest.mark.parametrize("n", [3, 8, 9, 50])
def test_the_width_is_the_median_distance(n):
    rows = np.random.default_rng(n).normal(size=(n, 3))
    median = np.median(pdist(rows, "sqeuclidean"))
    assert median_gamma(rows) == pytest.approx(0.5 / median, rel=1e-12)
    assert median_gamma(sparse.csr_array(rows)) == pytest.approx(0.5 / median)


@pytest.mark.parametrize("n", [40, 700, 1300])
def test_a_row_of_weight_two_is_the_row_twice(n):
    rng = np.random.default_rng(0)
    rows, counts = np.sort(rng.normal(size=(n, 1)), axis=0), rng.integers(1, 4, n)
    repeated = median_gamma(np.repeat(rows, counts, axis=0))
    weighted = median_gamma(rows, counts / counts.sum())
    # Up to a thousand rows alike to rounding; beyond, two samples of a thousand rows.
    both_small = counts.sum() <= ROWS_MEASURED or n > ROWS_MEASURED
    assert weighted == pytest.approx(repeated, rel=1e-9 if both_small else 0.02)
    assert abs(median_gamma(rows) - repeated) > 1e-9


def test_copies_of_rows_are_no_pairs_and_equal_rows_have_the_width_one():
    rows = np.array([[0.0], [0.0], [0.0], [0.0], [2.0]]) + 1e6
    assert median_gamma(rows) == pytest.approx(0.5 / 4.0)
    assert median_gamma(rows[:4]) == 1.0
