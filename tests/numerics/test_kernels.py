"""Kernels and products with them against scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise.numerics.kernels import (
    nearest_row,
    rbf,
    rbf_pull,
    rbf_push,
)

SHAPES = [(1, 1, 1), (300, 5, 2), (3, 2500, 10), (520, 2100, 3)]


def rows(n, k, d, far=0.0):
    rng = np.random.default_rng(n)
    return far + rng.standard_normal((n, d)), far + rng.standard_normal((k, d))


@pytest.mark.parametrize(("n", "k", "d"), SHAPES)
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_the_kernel_and_its_products_are_those_of_scikit_learn(n, k, d, far):
    X, C = rows(n, k, d)
    K = rbf_kernel(X, C, gamma=0.3)
    X, C = X + far, C + far
    v, u = np.random.default_rng(0).random(n), np.random.default_rng(1).random(k)
    atol = 1e-15 + 1e-10 * (far > 0.0)
    np.testing.assert_allclose(rbf(X, C, 0.3), K, rtol=1e-12, atol=atol)
    np.testing.assert_allclose(rbf_pull(v, X, C, 0.3), v @ K, rtol=1e-12, atol=n * atol)
    np.testing.assert_allclose(rbf_push(X, C, 0.3, u), K @ u, rtol=1e-12, atol=k * atol)


def test_sparse_rows_give_the_kernel_of_dense_ones():
    X = sparse.random(60, 400, 0.05, format="csr", random_state=0)
    C = sparse.random(2100, 400, 0.05, format="csr", random_state=1)
    K = rbf_kernel(X.toarray(), C.toarray(), gamma=0.05)
    v = np.random.default_rng(0).random(60)
    np.testing.assert_allclose(rbf(X, C, 0.05), K, rtol=1e-12)
    np.testing.assert_allclose(rbf_pull(v, X, C, 0.05), v @ K, rtol=1e-12)


def test_no_entry_of_a_kernel_is_above_one():
    X = 1e6 + np.random.default_rng(0).standard_normal((200, 4))
    assert rbf(X, X, 1e3).max() <= 1.0


def test_the_nearest_row_is_that_of_scikit_learn():
    X, C = rows(100, 900, 6, far=100.0)
    np.testing.assert_array_equal(nearest_row(X, C), pairwise_distances_argmin(X, C))
