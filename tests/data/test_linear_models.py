"""Regressions by passes are those of scikit-learn on rows in memory."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from counterpoise.data import Blocks, distribute, memory_budget
from counterpoise.data.linear_out_of_core import (
    RowsToFit,
    logistic_by_passes,
    ridge_by_passes,
)
from counterpoise.errors import InvalidInputError

UNITS = np.array([1.0, 100.0, 0.01])


def drawn(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(2.0, 1.0, size=(n, 3)) * UNITS
    y = X @ (np.array([1.0, -2.0, 0.5]) / UNITS) + rng.normal(size=n)
    return X, y, rng.random(n)


class Read:
    """Gives rows with labels and weights that are kept beside them."""

    def __init__(self, y, w):
        self.y, self.w = y, w

    def __call__(self, rows, first):
        part = slice(first, first + len(rows))
        return RowsToFit(rows, self.y[part], self.w[part])


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 3.0])
def test_ridge_in_two_passes_is_scikit_learns(alpha, intercept):
    X, y, w = drawn()
    found = ridge_by_passes(
        [(Blocks.from_arrays(X, rows=300), Read(y, w))], alpha, intercept=intercept
    )
    known = Ridge(alpha=alpha, fit_intercept=intercept).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(found.coef, known.coef_, rtol=1e-9)
    assert found.intercept == pytest.approx(known.intercept_, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_logistic_regression_by_passes_is_scikit_learns(n_classes, intercept):
    X, y, w = drawn()
    X = X / UNITS
    labels = np.digitize(y, np.quantile(y, np.linspace(0, 1, n_classes + 1)[1:-1]))
    found = logistic_by_passes(
        [(Blocks.from_arrays(X, rows=300), Read(labels, w))],
        n_classes,
        0.5,
        intercept=intercept,
    )
    known = LogisticRegression(
        C=2.0, tol=1e-12, max_iter=10_000, fit_intercept=intercept
    ).fit(X, labels, sample_weight=w)
    np.testing.assert_allclose(found.coef, known.coef_, atol=1e-5)
    np.testing.assert_allclose(found.intercept, known.intercept_, atol=1e-5)
    assert found.residual < 1e-10


def test_two_tables_are_fitted_as_one():
    X, y, w = drawn()
    whole = ridge_by_passes(
        [(Blocks.from_arrays(X, rows=300), Read(y, w))], 1.0, intercept=True
    )
    cut = 700
    parts = [
        (Blocks.from_arrays(X[part], rows=300), Read(y[part], w[part]))
        for part in (slice(None, cut), slice(cut, None))
    ]
    found = ridge_by_passes(parts, 1.0, intercept=True)
    np.testing.assert_allclose(found.coef, whole.coef, rtol=1e-9)


def test_a_column_twice_without_a_ridge_shares_the_coefficient():
    X, y, w = drawn()
    X = np.column_stack([X, X[:, 0]])
    found = ridge_by_passes(
        [(Blocks.from_arrays(X, rows=300), Read(y, w))], 0.0, intercept=True
    )
    assert found.coef[0] == pytest.approx(found.coef[3], rel=1e-6)


def test_separable_classes_end_at_the_penalty():
    X = np.linspace(-1, 1, 400)[:, None]
    labels = (X[:, 0] > 0).astype(int)
    found = logistic_by_passes(
        [(Blocks.from_arrays(X, rows=50), Read(labels, np.ones(400)))],
        2,
        1e-3,
        intercept=True,
    )
    known = LogisticRegression(C=1e3, tol=1e-12, max_iter=10_000).fit(X, labels)
    np.testing.assert_allclose(found.coef, known.coef_, rtol=1e-4)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_whoever_computes_gives_the_same_coefficients(scheduler):
    X, y, w = drawn()
    blocks, read = Blocks.from_arrays(X, rows=99), Read((y > 0).astype(int), w)
    alone = logistic_by_passes([(blocks, read)], 2, 1.0, intercept=True)
    with distribute(scheduler):
        there = logistic_by_passes([(blocks, read)], 2, 1.0, intercept=True)
    assert there.coef.tobytes() == alone.coef.tobytes()


def test_more_coefficients_than_memory_has_room_for_are_refused_with_the_numbers():
    X, y, w = drawn(100)
    parts = [(Blocks.from_arrays(X, rows=50), Read(y, w))]
    with (
        memory_budget(4 * 8 * 3**2 - 1),
        pytest.raises(
            InvalidInputError, match="3 coefficients by passes take 4 matrices"
        ),
    ):
        ridge_by_passes(parts, 1.0, intercept=True)
    with memory_budget(4 * 8 * 3**2):
        ridge_by_passes(parts, 1.0, intercept=True)
