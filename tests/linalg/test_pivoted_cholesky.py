"""Factors of kernel matrices, and what they leave out."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise.linalg.cholesky import (
    POOL_ROWS,
    SOLVED_ROWS,
    nystrom_map,
    pivoted_cholesky,
    small_rank_factor,
)
from counterpoise.linalg.kernels import Kernel, StoredMatrix


def rows(n, d=1, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (300, 1), (300, 2), (40, 10)])
def test_the_factor_reproduces_the_kernel_to_its_tolerance(n, d):
    X = rows(n, d)
    factor, pivots, residual = pivoted_cholesky(X, 0.5, 1e-10, n)
    K = rbf_kernel(X, gamma=0.5)
    assert residual.max() <= 1e-10
    np.testing.assert_allclose(factor.T @ factor, K, atol=2e-10)
    assert len(set(pivots)) == len(pivots) == len(factor)


def test_the_residual_is_what_the_factor_leaves_out_and_positive_semidefinite():
    X = rows(200, 3)
    factor, pivots, residual = pivoted_cholesky(X, 0.5, 1e-12, 30)
    left = rbf_kernel(X, gamma=0.5) - factor.T @ factor
    assert len(pivots) == 30
    assert residual.max() > 1e-3
    np.testing.assert_allclose(np.diag(left), residual, atol=1e-13)
    assert np.linalg.eigvalsh(left)[0] >= -1e-12
    np.testing.assert_allclose(left[pivots], 0.0, atol=1e-13)
    assert (residual[pivots] == 0.0).all()


def test_a_wide_kernel_has_few_pivots_and_a_narrow_one_as_many_as_rows():
    X = rows(100)
    assert len(pivoted_cholesky(X, 0.01, 1e-10, 100)[1]) < 12
    assert len(pivoted_cholesky(X, 1e8, 1e-10, 100)[1]) == 100


def test_rows_outside_the_first_pool_are_seen():
    X = np.zeros((3 * POOL_ROWS, 2))
    hidden = np.arange(1, 200, 9) * 3  # clusters that no interval falls on
    X[hidden] = np.linspace(10.0, 500.0, len(hidden))[:, None]
    factor, pivots, residual = pivoted_cholesky(X, 0.5, 1e-10, 100)
    assert residual.max() <= 1e-10
    assert len(pivots) == len(hidden) + 1
    some = np.concatenate([hidden, [0, 5]])
    np.testing.assert_allclose(
        factor[:, some].T @ factor[:, some],
        rbf_kernel(X[some], gamma=0.5),
        atol=1e-10,
    )


def test_many_rows_in_several_pools_and_blocks_keep_the_tolerance():
    X = rows(2 * SOLVED_ROWS + 17, seed=1)
    factor, _, residual = pivoted_cholesky(X, 5.0, 1e-10, 300)
    assert residual.max() <= 1e-10
    some = np.random.default_rng(2).choice(len(X), 400, replace=False)
    left = rbf_kernel(X[some], gamma=5.0) - factor[:, some].T @ factor[:, some]
    assert np.abs(left).max() <= 1.1e-10
    np.testing.assert_allclose(np.diag(left), residual[some], atol=1e-12)


def test_neither_order_nor_copies_of_rows_change_the_pivots():
    X = rows(150, 2)
    order = np.random.default_rng(3).permutation(150)
    plain = pivoted_cholesky(X, 0.5, 1e-8, 60)[1]
    permuted = pivoted_cholesky(X[order], 0.5, 1e-8, 60)[1]
    doubled = pivoted_cholesky(np.concatenate([X, X[:70]]), 0.5, 1e-8, 60)[1]
    np.testing.assert_array_equal(X[order][permuted], X[plain])
    np.testing.assert_array_equal(np.concatenate([X, X[:70]])[doubled], X[plain])


@pytest.mark.parametrize("gamma", [1e2, 1e6, 1e10])
def test_copies_under_a_narrow_kernel_are_not_pivots_twice(gamma):
    X = np.repeat(rows(40, 3), 3, axis=0)
    factor, pivots, residual = pivoted_cholesky(X, gamma, 1e-12, 120)
    assert len(pivots) == 40
    rounding = 1e-15 * gamma * 20.0
    assert residual.max() <= max(1e-12, rounding)
    blocks = np.kron(np.eye(40), np.ones((3, 3)))
    np.testing.assert_allclose(factor.T @ factor, blocks, atol=max(rounding, 1e-3))


def test_rows_that_are_all_the_same_have_rank_one():
    factor, pivots, residual = pivoted_cholesky(np.full((50, 3), 7.0), 2.0, 1e-10, 50)
    np.testing.assert_array_equal(factor, np.ones((1, 50)))
    assert len(pivots) == 1
    assert not residual.any()


def test_digits_are_kept_far_from_the_origin():
    X = rows(200)
    near = pivoted_cholesky(X, 0.5, 1e-8, 100)[0]
    far = pivoted_cholesky(X + 1e6, 0.5, 1e-8, 100)[0]
    assert abs(len(near) - len(far)) <= 1
    np.testing.assert_allclose(far.T @ far, rbf_kernel(X, gamma=0.5), atol=2e-8)


def test_coordinates_of_other_rows_project_the_kernel_on_the_landmarks():
    X, Y = rows(300, 2), rows(SOLVED_ROWS + 50, 2, seed=4)
    factor, pivots, _ = pivoted_cholesky(X, 0.5, 1e-10, 20)
    landmarks, triangle = X[pivots], factor[:, pivots].T
    coordinates = nystrom_map(Y, landmarks, triangle, 0.5)
    np.testing.assert_allclose(
        nystrom_map(X, landmarks, triangle, 0.5), factor, atol=1e-14
    )
    across = rbf_kernel(Y, landmarks, gamma=0.5)
    middle = np.linalg.solve(rbf_kernel(landmarks, gamma=0.5), across.T)
    expected = np.einsum("ij,ji->i", across, middle)
    np.testing.assert_allclose((coordinates**2).sum(axis=0), expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_factor_gives_the_kernel_back(seed):
    points = np.random.default_rng(seed).normal(size=(300, 2))
    entries = Kernel("rbf", 0.3, constant=1.0).entries(points)
    found = small_rank_factor(entries, 200)
    assert found is not None
    K = entries.block(slice(None), slice(None))
    assert np.abs(found.factor @ found.factor.T - K).max() < 1e-11
    triangle = found.factor[found.pivots]
    assert np.array_equal(triangle, np.tril(triangle))


def test_a_rank_above_the_largest_is_said_to_be():
    points = np.random.default_rng(0).normal(size=(300, 50))
    assert small_rank_factor(Kernel("rbf", 0.02).entries(points), 200) is None


def test_a_kernel_of_full_rank_has_its_factor_where_all_columns_are_allowed():
    points = np.random.default_rng(0).normal(size=(150, 50))
    entries = Kernel("rbf", 0.02).entries(points)
    found = small_rank_factor(entries, 150)
    assert found is not None
    assert found.factor.shape == (150, 150)


def test_rows_of_zeros_are_no_pivots():
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    found = small_rank_factor(StoredMatrix(rows @ rows.T), 3)
    assert found is not None
    assert found.pivots.tolist() == [2]
