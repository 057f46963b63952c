"""Windows that move end where a fit of their rows ends."""

import pickle

import numpy as np
import pytest
from sklearn.svm import SVC

from counterpoise.optim import PathError
from counterpoise.svm import SlidingWindowSVC, WeightedSVC


def stream(n=260, n_classes=2, seed=0):
    """Rows whose classes drift."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    turn = np.linspace(0.0, 2.0, n)
    score = np.cos(turn) * X[:, 0] + np.sin(turn) * X[:, 1]
    score = score + 0.6 * rng.standard_normal(n)
    cuts = [0.0] if n_classes == 2 else [-0.6, 0.6]
    return X, np.digitize(score, cuts)


def refit(model, X, y):
    """The machine of `WeightedSVC` on the window's rows and weights."""
    weights = model.sample_weight_[model.window_]
    n = len(weights)
    other = WeightedSVC(
        C=model.C,
        kernel=model.kernel,
        gamma=model.kernel_.gamma,
        class_weight=model.class_weight,
    )
    return other.fit(X[-n:], y[-n:], weights)


@pytest.mark.parametrize("forgetting", ["logistic", "exponential"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cache_size", [200.0, 0.02])
def test_a_moved_window_is_the_fit_of_its_rows(forgetting, n_classes, cache_size):
    X, y = stream(n_classes=n_classes)
    model = SlidingWindowSVC(
        window=80, forgetting=forgetting, C=5.0, gamma=0.3, cache_size=cache_size
    )
    model.fit(X[:100], y[:100])
    done = 100
    # Rows one by one, more than there are spare places, more than the window holds.
    for k in (1, 1, 7, 40, 3, 100, 8):
        model.partial_fit(X[done : done + k], y[done : done + k])
        done += k
        np.testing.assert_array_equal(model.X_fit_[model.window_], X[done - 80 : done])
        np.testing.assert_allclose(
            model.decision_function(X),
            refit(model, X[:done], y[:done]).decision_function(X),
            atol=1e-8,
        )
        assert model.certify().residual <= 1e-9


def test_it_agrees_with_scikit_learn():
    X, y = stream()
    model = SlidingWindowSVC(window=90, C=2.0, gamma=0.3).fit(X[:200], y[:200])
    model.partial_fit(X[200:], y[200:])
    w = model.sample_weight_[model.window_]
    theirs = SVC(C=2.0, gamma=0.3, tol=1e-10).fit(X[-90:], y[-90:], w)
    np.testing.assert_allclose(
        model.decision_function(X), theirs.decision_function(X), atol=1e-4
    )


def test_weights_are_the_published_ones_and_the_newest_outweighs_the_oldest():
    X, y = stream()
    model = SlidingWindowSVC(window=100, steepness=3.0).fit(X, y)
    i = np.arange(1, 101)
    published = 2.0 / (1.0 + np.exp(3.0 - 2.0 * 3.0 * i / 100))
    np.testing.assert_allclose(model.sample_weight_[model.window_], published)
    model = SlidingWindowSVC(window=100, steepness=3.0, forgetting="exponential")
    w = model.fit(X, y).sample_weight_[model.window_]
    assert w.mean() == pytest.approx(1.0)
    assert w[-1] / w[0] == pytest.approx(np.exp(3.0 * 99 / 100))
    even = SlidingWindowSVC(window=100, steepness=0.0, forgetting="exponential")
    np.testing.assert_allclose(even.fit(X, y).sample_weight_[even.window_], 1.0)


@pytest.mark.parametrize("forgetting", ["logistic", "exponential"])
def test_a_window_that_fills_up_row_by_row_ends_where_a_fit_ends(forgetting):
    X, y = stream(n=150)
    model = SlidingWindowSVC(window=120, forgetting=forgetting, gamma=0.3)
    for first in range(0, 150, 6):
        model.partial_fit(X[first : first + 6], y[first : first + 6], classes=[0, 1])
    other = SlidingWindowSVC(window=120, forgetting=forgetting, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(X), atol=1e-9
    )
    np.testing.assert_allclose(
        model.sample_weight_[model.window_], other.sample_weight_[other.window_]
    )
    # The Gram matrix has room for few more rows than the window's.
    assert len(model.X_fit_) <= 120 + 32


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_may_leave_the_window_and_come_back(n_classes):
    X, y = stream(n_classes=n_classes)
    order = np.argsort(y, kind="stable")
    X, y = np.vstack([X[order], X]), np.concatenate([y[order], y])
    model = SlidingWindowSVC(window=40, gamma=0.3)
    model.partial_fit(X[:20], y[:20], classes=np.unique(y))
    assert (model.predict(X) == y[0]).all()
    for first in range(20, len(X), 10):
        some = slice(first, first + 10)
        model.partial_fit(X[some], y[some])
        seen = np.unique(y[max(0, first - 30) : first + 10])
        assert set(model.predict(X)) <= set(seen)
        assert model.certify().residual <= 1e-9
    np.testing.assert_allclose(
        model.decision_function(X), refit(model, X, y).decision_function(X), atol=1e-8
    )


def test_balanced_classes_are_balanced_in_every_window():
    X, y = stream()
    model = SlidingWindowSVC(window=80, class_weight="balanced", gamma=0.3)
    model.fit(X[:150], y[:150])
    for first in range(150, 250, 20):
        model.partial_fit(X[first : first + 20], y[first : first + 20])
    np.testing.assert_allclose(
        model.decision_function(X),
        refit(model, X[:250], y[:250]).decision_function(X),
        atol=1e-9,
    )


def test_a_loaded_window_moves_on():
    X, y = stream()
    model = SlidingWindowSVC(window=80, gamma=0.3).fit(X[:150], y[:150])
    loaded = pickle.loads(pickle.dumps(model))
    for one in (model, loaded):
        one.partial_fit(X[150:170], y[150:170])
    np.testing.assert_allclose(
        model.decision_function(X), loaded.decision_function(X), atol=1e-10
    )


def test_an_update_that_fails_leaves_the_window_as_it_was():
    X, y = stream()
    model = SlidingWindowSVC(window=80, gamma=0.3, C=10.0).fit(X[:150], y[:150])
    before, window = model.decision_function(X), model.window_.copy()
    model.set_params(max_iter=1)
    del model.machines_
    with pytest.raises(PathError, match="more events than allowed"):
        model.partial_fit(X[150:190], y[150:190])
    np.testing.assert_array_equal(model.window_, window)
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.set_params(max_iter=-1).partial_fit(X[150:190], y[150:190])
    np.testing.assert_allclose(
        model.decision_function(X),
        refit(model, X[:190], y[:190]).decision_function(X),
        atol=1e-8,
    )


def test_a_kernel_that_raises_leaves_the_window_as_it_was():
    X, y = stream()
    works = [True]

    def kernel(A, B):
        if not works[0]:
            raise RuntimeError("out of order")
        return A @ B.T

    model = SlidingWindowSVC(window=80, kernel=kernel).fit(X[:150], y[:150])
    before, window = model.decision_function(X), model.window_.copy()
    # A few rows, and more than the window holds.
    for k in (10, 90):
        works[0] = False
        with pytest.raises(RuntimeError, match="out of order"):
            model.partial_fit(X[150 : 150 + k], y[150 : 150 + k])
        works[0] = True
        np.testing.assert_array_equal(model.window_, window)
        np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.certify().residual <= 1e-9


@pytest.mark.parametrize(
    "new", [{"window": 60}, {"steepness": 1.0}, {"forgetting": "exponential"}]
)
@pytest.mark.parametrize("forgetting", ["logistic", "exponential"])
def test_parameters_may_change_on_the_way(forgetting, new):
    X, y = stream()
    model = SlidingWindowSVC(window=80, gamma=0.3, forgetting=forgetting)
    model.fit(X[:150], y[:150]).set_params(**new)
    for first in range(150, 180, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10])
    other = SlidingWindowSVC(**model.get_params()).fit(X[:180], y[:180])
    np.testing.assert_allclose(
        model.sample_weight_[model.window_], other.sample_weight_[other.window_]
    )
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(X), atol=1e-8
    )


def test_hundreds_of_updates_do_not_drift():
    X, y = stream(n=900)
    model = SlidingWindowSVC(
        window=100, C=100.0, gamma=0.3, forgetting="exponential"
    ).fit(X[:100], y[:100])
    for first in range(100, 900, 2):
        model.partial_fit(X[first : first + 2], y[first : first + 2])
    assert model.certify().residual <= 1e-9
    np.testing.assert_allclose(
        model.decision_function(X), refit(model, X, y).decision_function(X), atol=1e-7
    )


def test_what_a_window_cannot_hold_is_refused():
    X, y = stream()
    with pytest.raises(ValueError, match="window must be"):
        SlidingWindowSVC(window=0).fit(X, y)
    with pytest.raises(ValueError, match="forgetting must be one of"):
        SlidingWindowSVC(forgetting="slow").fit(X, y)
    with pytest.raises(ValueError, match="steepness must"):
        SlidingWindowSVC(steepness=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="precomputed"):
        SlidingWindowSVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="greater than one"):
        SlidingWindowSVC().fit(X, np.ones(len(X)))
    model = SlidingWindowSVC().fit(X, y)
    with pytest.raises(ValueError, match="unknown label 7"):
        model.partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X[:1], y[:1], classes=[0, 1, 7])
    with pytest.raises(ValueError, match="C must be positive"):
        model.set_params(C=-1.0).partial_fit(X[:1], y[:1])
