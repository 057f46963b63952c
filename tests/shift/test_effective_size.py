"""Effective size, flattening and clipping of weights."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from counterpoise.data.two_samples import (
    clip_weights,
    effective_sample_size,
    flatten_weights,
)

ordinary = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=12)
with_zeros = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-6, 1e3)), min_size=1, max_size=12
)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_k_equal_weights_among_zeros_are_worth_k_rows(k):
    assert effective_sample_size(np.repeat([2.5, 0.0], [k, 10 - k])) == k


def test_the_effective_size_of_the_largest_floats_does_not_overflow():
    assert effective_sample_size([1e308, 1e308]) == 2.0
    assert effective_sample_size([0.0, 0.0]) == 0.0


@given(ordinary, st.floats(1e-3, 1e3))
def test_the_effective_size_ignores_the_scale_and_lies_between_1_and_n(w, factor):
    size = effective_sample_size(w)
    assert 1 - 1e-9 <= size <= len(w) + 1e-9
    assert size == pytest.approx(effective_sample_size(np.multiply(w, factor)))


@given(ordinary, st.floats(0, 1))
def test_flattening_is_the_power_of_mean_one(w, exponent):
    flat = flatten_weights(w, exponent)
    powered = np.array(w) ** exponent
    np.testing.assert_allclose(flat, powered / powered.mean(), rtol=1e-12)


def test_flattening_the_largest_floats_does_not_overflow():
    np.testing.assert_allclose(
        flatten_weights([1e308, 1e308, 0.0], 1.0), [1.5, 1.5, 0.0]
    )


def clipped_by_root_finding(w, bound):
    w = np.array(w) / np.mean(w)
    if w.max() <= bound:
        return w

    def excess(level):
        cut = np.minimum(w, level)
        return cut.max() / cut.mean() - bound

    level = brentq(excess, w[w > 0].min(), w.max(), xtol=1e-15, rtol=1e-15)
    cut = np.minimum(w, level)
    return cut / cut.mean()


@settings(max_examples=300)
@given(with_zeros, st.floats(1.0, 6.0))
def test_clipping_equals_a_root_search_for_the_level(w, bound):
    positive = np.count_nonzero(w)
    assume(positive and bound * positive > len(w) * (1 + 1e-6))
    expected = clipped_by_root_finding(w, bound)
    np.testing.assert_allclose(clip_weights(w, bound), expected, rtol=1e-6, atol=1e-9)


@settings(max_examples=300)
@given(with_zeros, st.floats(1.0, 6.0))
def test_clipped_weights_keep_mean_bound_and_order(w, bound):
    assume(np.count_nonzero(w))
    out = clip_weights(w, bound)
    assert out.mean() == pytest.approx(1.0, rel=1e-9)
    assert out.max() <= bound * (1 + 1e-12)
    assert (np.diff(out[np.argsort(w)]) >= -1e-12).all()


def test_clipping_where_too_few_weights_are_positive_spreads_the_rest():
    np.testing.assert_allclose(clip_weights([3.0, 0.0, 0.0], 1.5), [1.5, 0.75, 0.75])


def test_clipping_keeps_the_small_weights_beside_a_huge_one():
    out = clip_weights([1e17, 1.0, 2.0, 3.0], 2.0)
    np.testing.assert_allclose(out, [2.0, 1 / 3, 2 / 3, 1.0], rtol=1e-12)


def test_a_bound_of_one_leaves_uniform_weights():
    np.testing.assert_allclose(clip_weights([5.0, 1.0, 0.0], 1.0), np.ones(3))


@pytest.mark.parametrize(
    "function", [lambda w: flatten_weights(w, 1.0), lambda w: clip_weights(w, 2)]
)
def test_weights_that_are_all_zero_are_refused(function):
    with pytest.raises(ValueError, match="all 2 weights are zero"):
        function([0.0, 0.0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], "got -1.0 in row 1"),
        ([1.0, np.nan], "got nan in row 1"),
        ([[1.0]], "non-empty vector"),
        ([], "non-empty vector"),
    ],
)
def test_wrong_weights_are_refused_by_row(weights, message):
    with pytest.raises(ValueError, match=message):
        effective_sample_size(weights)


def test_a_bound_below_one_is_refused():
    with pytest.raises(ValueError, match="max_weight must be at least"):
        clip_weights([1.0, 2.0], 0.5)
