"""Factors of kernels whose numerical rank is small."""

import numpy as np
import pytest

from counterpoise.numerics.kernel import Kernel
from counterpoise.numerics.kernel_matrices import StoredMatrix
from counterpoise.numerics.kernel_pivots import small_rank_factor


@pytest.mark.parametrize("seed", range(3))
def test_the_factor_gives_the_kernel_back(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(300, 2))
    entries = Kernel("rbf", 0.3, constant=1.0).entries(points)
    found = small_rank_factor(entries, 200)
    assert found is not None
    K = entries.block(slice(None), slice(None))
    assert np.abs(found.factor @ found.factor.T - K).max() < 1e-11
    triangle = found.factor[found.places]
    assert np.array_equal(triangle, np.tril(triangle))


def test_a_rank_above_the_largest_is_said_to_be() -> None:
    points = np.random.default_rng(0).normal(size=(300, 50))
    assert small_rank_factor(Kernel("rbf", 0.02).entries(points), 200) is None


def test_a_kernel_of_full_rank_has_its_factor_where_all_columns_are_allowed() -> None:
    points = np.random.default_rng(0).normal(size=(150, 50))
    entries = Kernel("rbf", 0.02).entries(points)
    found = small_rank_factor(entries, 150)
    assert found is not None
    assert found.factor.shape == (150, 150)


def test_rows_of_zeros_are_no_pivots() -> None:
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    found = small_rank_factor(StoredMatrix(rows @ rows.T), 3)
    assert found is not None
    assert found.places.tolist() == [2]
