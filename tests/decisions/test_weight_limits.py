"""Which weights and target rows are left out, and how far weights may spread."""

import math

import numpy as np
import pytest

from counterpoise import AutoWeights, DiscrepancyWeights
from counterpoise.data.two_samples import TwoSamples
from counterpoise.linalg.kernels import Kernel
from counterpoise.weights.auto import cut_at, spread_to_neighbors, supported_weight
from counterpoise.weights.discrepancy import default_spread
from counterpoise.weights.search import HeldOut

# Ten rows beside one another: each has the nine others and one further off near.
CLUSTER = np.arange(11.0)[:, None] / 10


def pair(n=400, m=400):
    return TwoSamples.of(np.zeros((n, 1)), np.zeros((m, 1)))


def test_the_true_ratio_is_supported():
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.5, 1.0, 2.0):
        source, target = rng.normal(size=400), rng.normal(size=400) + shift
        ratio = [np.exp(shift * x - shift**2 / 2) for x in (target, source)]
        assert supported_weight(HeldOut(*ratio), pair()) == math.inf


def test_rows_that_stand_for_more_of_the_target_than_there_is_are_cut():
    source = np.r_[np.full(10, 30.0), np.full(390, 0.25)]
    # A twentieth of the target has such ratios, and the ten rows 3/4 of the weight.
    target = np.r_[np.full(20, 30.0), np.full(380, 0.25)]
    held_out = HeldOut(target, source)
    limit = supported_weight(held_out, pair())
    mean = source.mean()
    w = 30.0 / mean
    most = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400 + 10 * w**2 / 400**2)
    # That many of the ten rows' shares, in weights of mean one.
    assert limit == pytest.approx(most / (10 / 400))
    cut = cut_at(held_out, limit, pair())
    assert cut.source.max() == cut.target.max() == limit
    assert cut.source.min() == pytest.approx(0.25 / mean)


def test_a_few_huge_weights_are_cut_and_the_others_stay():
    # A third of the weight on nine rows, and no target row like them.
    source = np.r_[np.full(9, 40.0), np.linspace(2.0, 0.5, 391)]
    target = np.linspace(1.9, 0.5, 400)
    held_out = HeldOut(target, source)
    limit = supported_weight(held_out, pair())
    scaled = source / source.mean()
    assert scaled[9] < limit < scaled[0]


def test_no_limit_is_below_one_and_few_rows_have_none():
    source = np.r_[np.full(10, 3.0), np.full(30, 0.5)]
    nothing_there = HeldOut(np.full(40, 0.1), source)
    assert supported_weight(nothing_there, pair(40, 40)) >= 1.0
    assert supported_weight(nothing_there, pair(40, 40)) < 3.0 / source.mean()
    few = HeldOut(np.full(19, 0.1), source[:19])
    assert supported_weight(few, pair(19, 19)) == math.inf


def grown(lost, source, target, rows=None):
    samples = TwoSamples.of(np.asarray(source), np.asarray(target))
    rows = np.arange(len(source)) if rows is None else rows
    return spread_to_neighbors(
        np.array(lost), samples, np.asarray(rows), np.arange(len(target))
    )


def test_a_row_joins_the_lost_with_half_of_its_neighbors_and_none_of_the_source():
    far = 100.0 + np.arange(12.0)[:, None]
    five, four = np.arange(11) < 5, np.arange(11) < 4
    assert grown(five, far, CLUSTER).all()
    assert grown(four, far, CLUSTER).sum() == 4
    # A source row among them speaks for all that have it near.
    beside = np.vstack([far, [[0.55]]])
    assert grown(five, beside, CLUSTER).sum() == 5
    assert grown(five, beside, CLUSTER, np.arange(12)).all()


def test_rows_join_those_that_have_joined():
    far = 1000.0 + np.arange(12.0)[:, None]
    line = np.arange(40.0)[:, None]
    lost = np.arange(40) < 8
    assert grown(lost, far, line).all()
    assert grown(np.ones(40, dtype=bool), far, line).all()
    # Nothing joins nothing.
    assert not grown(np.zeros(40, dtype=bool), far, line).any()


def two(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), 0.8 * rng.normal(size=(n, d)) + 0.3


def test_the_spread_is_the_formula_of_the_moments_noise():
    X, T = two()
    samples = TwoSamples.of(X, T)
    # By explicit features: the columns and a constant.
    features = np.column_stack([X, np.ones(len(X))])
    outer = np.einsum("ni,nj->nij", features, features)
    mean = outer.mean(axis=0)
    variance = np.einsum("nij,njk->ik", outer, outer) / len(X) - mean @ mean
    expected = 0.5 * np.sqrt(np.linalg.eigvalsh(variance)[-1] / len(X)) / 0.7
    kernel = Kernel("linear", constant=1.0)
    assert default_spread(samples, kernel, None, 0.7) == pytest.approx(expected)
    gram = np.vstack([X, T]) @ np.vstack([X, T]).T + 1.0
    assert default_spread(samples, kernel, gram, 0.7) == pytest.approx(expected)
    # Where nothing differs there is nothing to weigh against.
    assert default_spread(samples, kernel, None, 0.0) == 0.0
    assert default_spread(samples, kernel, None, 1e-9) == 10.0


def test_many_rows_are_looked_at_in_part():
    X, T = two(n=3000)
    kernel = Kernel("linear", constant=1.0)
    order = np.lexsort(X.T)
    found = default_spread(TwoSamples.of(X[order], T), kernel, None, 1.0)
    few = [
        default_spread(TwoSamples.of(X[k::8], T), kernel, None, 1.0) for k in range(8)
    ]
    assert found == pytest.approx(np.mean(few) / np.sqrt(8), rel=0.15)


def test_rows_that_count_fractions_have_no_default_spread():
    X, T = two()
    weight = np.linspace(0.5, 1.7, len(X))
    fitted = DiscrepancyWeights(tol=1e-2).fit(X, X_target=T, sample_weight=weight)
    assert fitted.spread_ == 0.0
    plain = DiscrepancyWeights(tol=1e-2, solver="frobenius").fit(X, X_target=T)
    assert plain.spread_ == 0.0
    with pytest.raises(ValueError, match="cap and spread need source rows"):
        DiscrepancyWeights(spread=0.1).fit(X, X_target=T, sample_weight=weight)


def test_weights_are_cut_to_what_held_out_rows_support():
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((2, 300, 2))
    X_target[:, 0] += 0.5
    plain = AutoWeights(random_state=0).fit(X, X_target=X_target)
    # What was reached and not what is supported tells where a ratio is not known.
    plain._supported_ = 1.5
    plain._set_limit(1e9)
    assert plain.predict_weights(X).max() == pytest.approx(1.5)
    assert not plain.is_extrapolation(X_target).any()
