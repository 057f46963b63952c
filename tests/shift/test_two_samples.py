"""Two samples with what their rows count."""

import numpy as np
import pytest
from scipy import sparse

from counterpoise.data.two_samples import TwoSamples


@pytest.fixture
def tables():
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 2)), rng.normal(size=(4, 2))


def test_without_weights_rows_count_alike(tables):
    samples = TwoSamples.of(*tables)
    np.testing.assert_allclose(samples.source_share, 1 / 6)
    np.testing.assert_allclose(samples.target_share, 1 / 4)
    assert (samples.source_mass, samples.target_mass) == (6, 4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_of_weight_zero_are_not_among_them(tables, form):
    X, X_target = map(form, tables)
    samples = TwoSamples.of(X, X_target, np.array([1.0, 0, 2, 0, 1, 1]), None)
    assert samples.source.shape == (4, 2)
    np.testing.assert_allclose(samples.source_share, [0.2, 0.4, 0.2, 0.2])
    assert samples.source_mass == 5


def test_some_rows_have_shares_that_sum_to_one_and_keep_their_mass(tables):
    weight = np.array([1.0, 2, 3, 4, 5, 6])
    samples = TwoSamples.of(*tables, weight)
    part = samples.take(np.array([5, 1]), np.arange(4) < 3)
    np.testing.assert_allclose(part.source_share, [0.75, 0.25])
    np.testing.assert_allclose(part.source, tables[0][[5, 1]])
    assert part.source_mass == pytest.approx(8)
    assert part.target_mass == pytest.approx(3)
    assert part.target.shape == (3, 2)


def test_other_columns_keep_the_shares(tables):
    samples = TwoSamples.of(*tables, np.arange(1.0, 7.0))
    other = samples.with_rows(tables[0][:, :1], tables[1][:, :1])
    assert other.source.shape == (6, 1)
    np.testing.assert_array_equal(other.source_share, samples.source_share)
