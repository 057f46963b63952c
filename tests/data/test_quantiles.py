"""Quantiles of columns whose rows count more or less."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.data.columns import pooled_middle_and_spread, weighted_quantile


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), min_size=1, max_size=15),
    st.integers(1, 200),
)
def test_the_weighted_quantile_is_that_of_repeated_rows(pairs, per_mille):
    values, counts = map(np.array, zip(*pairs, strict=True))
    level = per_mille / 200
    expected = np.quantile(np.repeat(values, counts), level, method="inverted_cdf")
    found = weighted_quantile(values.astype(float), counts / counts.sum(), level)
    assert found == expected


def test_middle_and_spread_are_median_and_quartiles():
    values = np.arange(101.0)
    found = pooled_middle_and_spread(values, np.full(101, 1 / 101))
    assert found == (50.0, 50.0)


@pytest.mark.parametrize("ones", [1, 30, 60, 99])
def test_zeros_and_ones_have_the_spread_one(ones):
    values = np.repeat([0.0, 1.0], [100 - ones, ones])
    assert pooled_middle_and_spread(values, np.full(100, 0.01))[1] == 1.0


def test_a_constant_has_the_spread_one():
    assert pooled_middle_and_spread(np.full(4, 7.0), np.full(4, 0.25)) == (7.0, 1.0)
