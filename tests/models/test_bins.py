"""Bins hold about as many rows each, and keep order, gaps and names."""

import numpy as np

from counterpoise.models.boosting import MOST_BINS, QuantileBins


def test_bins_hold_about_as_many_rows_each_and_keep_order_and_gaps():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.lognormal(size=51_000), rng.integers(0, 9, 51_000)])
    X[::17, 0] = np.nan
    found = QuantileBins().fit_transform(X)
    there = ~np.isnan(X[:, 0])
    np.testing.assert_array_equal(np.isnan(found), np.isnan(X))
    np.testing.assert_array_equal(found[:, 1], X[:, 1])
    counts = np.bincount(found[there, 0].astype(int))
    assert counts.size == MOST_BINS
    assert counts.max() - counts.min() <= 2
    order = np.argsort(X[there, 0])
    assert (np.diff(found[there, 0][order]) >= 0).all()


def test_names_are_those_of_the_step_before_where_there_is_one():
    bins = QuantileBins().fit([[1.0, 2.0]])
    assert bins.get_feature_names_out().tolist() == ["x0", "x1"]
    assert bins.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
