"""One scale a column, from both samples."""

import numpy as np
import pytest
from scipy import sparse

from counterpoise.data.two_samples import TwoSamples, pooled_scale, scale_columns


@pytest.fixture
def two():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)) * [1.0, 5.0, 0.01, 1.0]
    X_target = 3.0 + rng.normal(size=(30, 4)) * [2.0, 5.0, 0.03, 1.0]
    X[:, 3] *= X[:, 3] > 0
    X_target[:, 3] *= X_target[:, 3] > 2.5
    return X, X_target


def test_the_scale_is_the_root_of_the_mean_variance(two):
    X, X_target = two
    expected = np.sqrt((X.var(axis=0) + X_target.var(axis=0)) / 2)
    np.testing.assert_allclose(pooled_scale(TwoSamples.of(X, X_target)), expected)


def test_sparse_and_dense_columns_have_the_same_scale(two):
    X, X_target = two
    weight = np.random.default_rng(1).uniform(0.5, 2, size=len(X))
    dense = pooled_scale(TwoSamples.of(X, X_target, weight))
    uncovered_fraction = TwoSamples.of(
        sparse.csr_array(X), sparse.csr_array(X_target), weight
    )
    np.testing.assert_allclose(pooled_scale(uncovered_fraction), dense, rtol=1e-12)


def test_a_row_of_weight_two_is_the_row_twice(two):
    X, X_target = two
    weight = np.ones(len(X))
    weight[3] = 2
    np.testing.assert_allclose(
        pooled_scale(TwoSamples.of(X, X_target, weight)),
        pooled_scale(TwoSamples.of(np.vstack([X, X[3]]), X_target)),
        rtol=1e-12,
    )


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [0.0, 7.0, 1e8 / 3])
def test_a_column_that_is_constant_over_both_samples_has_scale_zero(form, value):
    rng = np.random.default_rng(0)
    for n in range(20, 50):
        X = np.column_stack([np.full(n, value), rng.normal(size=n)])
        samples = TwoSamples.of(form(X), form(X[::-1]), rng.uniform(1, 2, size=n))
        assert pooled_scale(samples)[0] == 0.0


def test_a_column_constant_at_two_values_keeps_the_samples_apart():
    X = np.column_stack([np.ones(5), np.arange(5.0)])
    X_target = np.column_stack([np.full(5, 3.0), np.arange(5.0)])
    scale = pooled_scale(TwoSamples.of(X, X_target))
    assert scale[0] == pytest.approx(2e-3)


def test_a_source_column_that_hardly_varies_is_named_at_the_callers_line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2)) * [1.0, 1e-6]
    samples = TwoSamples.of(X, rng.normal(size=(50, 2)))

    def fit():
        return pooled_scale(samples, ("age", "income"))

    with pytest.warns(UserWarning, match="but does in the target: income$") as caught:
        fit()
    assert caught[0].filename == __file__


def test_scaling_divides_columns_and_zeroes_constants(two):
    X, _ = two
    scale = np.array([2.0, 0.0, 0.5, 1.0])
    expected = X / np.where(scale > 0, scale, np.inf)
    np.testing.assert_allclose(scale_columns(X, scale), expected)
    uncovered_fraction = scale_columns(sparse.csr_array(X), scale)
    assert sparse.issparse(uncovered_fraction)
    np.testing.assert_allclose(uncovered_fraction.toarray(), expected)


def test_a_few_rows_far_out_do_not_set_the_scale():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(2, 400, 3))
    plain = pooled_scale(TwoSamples.of(X, X_target))
    X_target[:3, 1] = [1e6, -1e9, 1e100]
    scale = pooled_scale(TwoSamples.of(X, X_target))
    np.testing.assert_array_equal(scale[[0, 2]], plain[[0, 2]])
    assert scale[1] == pytest.approx(plain[1], rel=0.3)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_scale_of_cut_columns_has_the_unit_of_the_column(factor):
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_t(1, size=(2, 300, 2))
    plain = pooled_scale(TwoSamples.of(X, X_target))
    other = pooled_scale(TwoSamples.of(factor * X, factor * X_target))
    np.testing.assert_allclose(other, factor * plain, rtol=1e-12)
    counts = rng.integers(1, 4, 300)
    weighted = pooled_scale(TwoSamples.of(X, X_target, counts.astype(float)))
    repeated = pooled_scale(TwoSamples.of(np.repeat(X, counts, axis=0), X_target))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


def test_rare_ones_and_an_uncovered_cluster_keep_their_variance():
    X = np.zeros((1000, 1))
    X[:5] = 1.0
    cluster = np.where(np.arange(1000) < 150, 20.0, 0.0)[:, None]
    expected = np.sqrt(0.5 * (X.var() + cluster.var()))
    assert pooled_scale(TwoSamples.of(X, cluster)) == pytest.approx(expected)
