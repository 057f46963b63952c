"""Kernels and products with them against scikit-learn."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import rbf_kernel

from counterpoise.linalg.kernels import (
    Kernel,
    check_definite,
    nearest_row,
    refuse_indefinite,
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
    np.testing.assert_allclose(
        Kernel("rbf", 0.3).matrix(X, C), K, rtol=1e-12, atol=atol
    )
    np.testing.assert_allclose(
        Kernel("rbf", 0.3).pull(v, X, C), v @ K, rtol=1e-12, atol=n * atol
    )
    np.testing.assert_allclose(
        Kernel("rbf", 0.3).push(X, C, u), K @ u, rtol=1e-12, atol=k * atol
    )


def test_sparse_rows_give_the_kernel_of_dense_ones():
    X = sparse.random(60, 400, 0.05, format="csr", random_state=0)
    C = sparse.random(2100, 400, 0.05, format="csr", random_state=1)
    K = rbf_kernel(X.toarray(), C.toarray(), gamma=0.05)
    v = np.random.default_rng(0).random(60)
    np.testing.assert_allclose(Kernel("rbf", 0.05).matrix(X, C), K, rtol=1e-12)
    np.testing.assert_allclose(Kernel("rbf", 0.05).pull(v, X, C), v @ K, rtol=1e-12)


def test_no_entry_of_a_kernel_is_above_one():
    X = 1e6 + np.random.default_rng(0).standard_normal((200, 4))
    assert Kernel("rbf", 1e3).matrix(X, X).max() <= 1.0


def test_the_nearest_row_is_that_of_scikit_learn():
    X, C = rows(100, 900, 6, far=100.0)
    np.testing.assert_array_equal(nearest_row(X, C), pairwise_distances_argmin(X, C))


NAMED = {
    "linear": Kernel("linear"),
    "rbf": Kernel("rbf", 0.3),
    "poly": Kernel("poly", 0.5, 2, 1.0),
    "rbf and a constant": Kernel("rbf", 0.3, constant=0.5),
    "poly and a constant": Kernel("poly", 0.5, 3, 0.0, constant=2.0),
    "callable": Kernel(lambda A, B: A @ B.T),
}


@pytest.mark.parametrize("name", NAMED)
def test_everything_asked_of_a_kernel_agrees_with_its_matrix(name):
    kernel = NAMED[name]
    X, Z = rows(90, 40, 3)
    K, own = kernel.matrix(X, Z), kernel.matrix(X, X)
    v, u = np.random.default_rng(0).random(90), np.random.default_rng(1).random(40)
    near = partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-12)
    near(kernel.pull(v, X, Z), v @ K)
    near(kernel.push(X, Z, u), K @ u)
    near(kernel.diagonal(X), own.diagonal())
    near(kernel.matrix_diagonal(X), own.diagonal())
    some = np.array([3, 70])
    near(kernel.rows_of(X)(some, None), own[some])
    near(kernel.rows_of(X)(some, np.array([1, 5])), own[np.ix_(some, [1, 5])])
    near(kernel.cross(Z, X, some), K.T[:, some])
    if name != "callable":
        near(kernel.entries(X).block(some, slice(None)), own[some])
        near(kernel.entries(X).diagonal(), own.diagonal())
        single = kernel.entries(X).block(some, slice(None), np.float32)
        np.testing.assert_allclose(single, own[some], rtol=1e-4, atol=1e-5)


def test_a_kernel_that_is_not_positive_semidefinite_is_refused():
    with pytest.raises(ValueError, match="negative coef0"):
        refuse_indefinite("poly", -1.0)
    with pytest.raises(ValueError, match="smallest eigenvalue is -1"):
        check_definite(np.diag([1.0, -1.0]), 1e-9)
    check_definite(np.diag([1.0, 0.0]), 1e-9)


def test_the_matrix_of_a_callable_must_have_the_right_shape():
    with pytest.raises(ValueError, match=r"must have shape \(2, 2\), got \(2, 1\)"):
        Kernel(lambda A, B: A[:, :1]).matrix(np.ones((2, 3)), np.ones((2, 3)))
