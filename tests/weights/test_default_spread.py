"""The default spread: by the noise of the source's moment."""

import numpy as np

from counterpoise import DiscrepancyWeights
from counterpoise.models import WeightedKernelRidge


def two(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), 0.8 * rng.normal(size=(n, d)) + 0.3


def test_a_number_is_the_spread_and_zero_the_published_objective():
    X, T = two()
    auto = DiscrepancyWeights(tol=1e-2).fit(X, X_target=T)
    same = DiscrepancyWeights(tol=1e-2, spread=auto.spread_).fit(X, X_target=T)
    assert same.weights_.tobytes() == auto.weights_.tobytes()
    published = DiscrepancyWeights(tol=1e-2, spread=0.0).fit(X, X_target=T)
    assert published.spread_ == 0.0
    assert published.discrepancy_ <= 0.01 * published.discrepancy_uniform_
    assert auto.effective_sample_size_ > 1.05 * published.effective_sample_size_


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
