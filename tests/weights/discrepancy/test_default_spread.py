"""The default spread: by the noise of the source's moment."""

import numpy as np
import pytest

from counterpoise import DiscrepancyWeights
from counterpoise.learners import WeightedKernelRidge
from counterpoise.numerics.kernel import Kernel
from counterpoise.samples.two_samples import TwoSamples
from counterpoise.weights.discrepancy.default_spread import default_spread


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


def test_a_number_is_the_spread_and_zero_the_published_objective():
    X, T = two()
    auto = DiscrepancyWeights(tol=1e-2).fit(X, X_target=T)
    same = DiscrepancyWeights(tol=1e-2, spread=auto.spread_).fit(X, X_target=T)
    assert same.weights_.tobytes() == auto.weights_.tobytes()
    published = DiscrepancyWeights(tol=1e-2, spread=0.0).fit(X, X_target=T)
    assert published.spread_ == 0.0
    assert published.discrepancy_ <= 0.01 * published.discrepancy_uniform_
    assert auto.effective_sample_size_ > 1.05 * published.effective_sample_size_


def test_rows_that_count_fractions_have_no_default_spread():
    X, T = two()
    weight = np.linspace(0.5, 1.7, len(X))
    fitted = DiscrepancyWeights(tol=1e-2).fit(X, X_target=T, sample_weight=weight)
    assert fitted.spread_ == 0.0
    plain = DiscrepancyWeights(tol=1e-2, solver="frobenius").fit(X, X_target=T)
    assert plain.spread_ == 0.0
    with pytest.raises(ValueError, match="cap and spread need source rows"):
        DiscrepancyWeights(spread=0.1).fit(X, X_target=T, sample_weight=weight)


def test_the_loss_on_the_target_is_below_that_of_the_published_objective():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 8))
    T = 0.8 * rng.normal(size=(150, 8))
    T[:, 0] += 0.8

    def truth(rows):
        return rows[:, 0] + 0.7 * rows[:, 0] ** 2 + 0.3 * rows[:, 1] * rows[:, 2]

    y = truth(X) + 0.5 * rng.normal(size=150)
    losses = []
    for spread in ("auto", 0.0):
        weights = (
            DiscrepancyWeights(spread=spread, tol=1e-2).fit(X, X_target=T).weights_
        )
        model = WeightedKernelRidge(kernel="linear", alpha=0.01)
        model.fit(X, y, sample_weight=weights)
        losses.append(np.mean((model.predict(T) - truth(T)) ** 2))
    assert losses[0] < 0.95 * losses[1]
