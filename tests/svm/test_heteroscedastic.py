"""Regression re-weighted by its residuals is what its definition says."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

from counterpoise.svm import HeteroscedasticSVR, WeightedSVR


def noisy(n=120, seed=0):
    """A curve whose noise grows to the right."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0.0, 3.0, n))[:, None]
    spread = 0.05 + 0.5 * (X[:, 0] > 1.5)
    return X, np.sin(2.0 * X[:, 0]) + spread * rng.standard_normal(n), rng


def by_hand(X, y, w, C, epsilon, gamma, sweeps):
    """The sweeps as printed, each a refit, with the floor for residuals of zero."""
    v = np.ones(len(y))
    share = w / w.sum()
    for _ in range(sweeps):
        fitted = WeightedSVR(C=C, epsilon=epsilon, gamma=gamma).fit(X, y, w * v)
        e = y - fitted.predict(X)
        sigma = np.sqrt(share @ e**2)
        v = sigma / np.maximum(np.abs(e), min(0.01, epsilon / sigma) * sigma)
    return WeightedSVR(C=C, epsilon=epsilon, gamma=gamma).fit(X, y, w * v), v


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("sweeps", [1, 5])
def test_sweeps_along_paths_are_refits(C, sweeps):
    X, y, rng = noisy()
    w = rng.random(len(y)) + 0.1
    model = HeteroscedasticSVR(C=C, epsilon=0.05, gamma=1.0, max_iter=sweeps)
    with pytest.warns(ConvergenceWarning, match=f"after {sweeps} sweeps"):
        model.fit(X, y, w)
    other, v = by_hand(X, y, w, C, 0.05, 1.0, sweeps)
    np.testing.assert_allclose(model.noise_weights_, v, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-7)
    assert model.n_iter_ == sweeps
    assert not model.converged_
    assert model.certify().residual <= 1e-9


def test_the_last_sweep_agrees_with_scikit_learn():
    X, y, _ = noisy()
    model = HeteroscedasticSVR(epsilon=0.05, gamma=1.0, max_iter=100).fit(X, y)
    assert model.converged_
    assert model.change_ <= model.tol
    theirs = SVR(C=1.0, epsilon=0.05, gamma=1.0, tol=1e-9)
    theirs.fit(X, y, model.noise_weights_)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X), atol=1e-5)


def test_rows_with_more_noise_count_less():
    X, y, _ = noisy()
    model = HeteroscedasticSVR(epsilon=0.05, gamma=1.0, max_iter=100).fit(X, y)
    loud = X[:, 0] > 1.5
    v = model.noise_weights_
    assert np.median(v[~loud]) > 2.0 * np.median(v[loud])


def test_weight_two_is_the_row_twice():
    X, y, rng = noisy(60)
    counts = rng.integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), counts)
    chosen = {"epsilon": 0.05, "max_iter": 100, "gamma": 1.0}
    ours = HeteroscedasticSVR(**chosen).fit(X, y, counts)
    copies = HeteroscedasticSVR(**chosen).fit(X[twice], y[twice])
    np.testing.assert_allclose(ours.predict(X), copies.predict(X), atol=1e-8)
    assert ours.n_iter_ == copies.n_iter_


def test_residuals_of_zero_do_no_harm():
    X = np.arange(12.0)[:, None]
    for y in (np.ones(12), 2.0 * X[:, 0]):
        model = HeteroscedasticSVR(C=100.0, epsilon=0.0, kernel="linear")
        model.fit(X, y)
        assert np.isfinite(model.noise_weights_).all()
        np.testing.assert_allclose(model.predict(X), y, atol=1e-7)


def test_a_larger_floor_bounds_the_weights():
    X, y, _ = noisy()
    chosen = {"epsilon": 0.05, "gamma": 1.0, "max_iter": 100}
    free = HeteroscedasticSVR(**chosen).fit(X, y)
    bound = HeteroscedasticSVR(**chosen, floor=0.5).fit(X, y)
    assert free.noise_weights_.max() > 2.0
    assert bound.noise_weights_.max() == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"max_iter": 0}, "max_iter must be"),
        ({"floor": 0.0}, "floor must be positive"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"epsilon": -1.0}, "epsilon must"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(chosen, message):
    X, y, _ = noisy(20)
    with pytest.raises(ValueError, match=message):
        HeteroscedasticSVR(**chosen).fit(X, y)
