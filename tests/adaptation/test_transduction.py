"""The unlabeled target takes part as the definition says."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise import NoTargetWarning
from counterpoise.svm import TransductiveSVC, WeightedSVC

GAMMA = 4.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::counterpoise.NoTargetWarning")
@parametrize_with_checks([TransductiveSVC()])
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def moons(seed=0, n=200, n_labeled=3):
    """Two half-moons, of each of which three rows have a label."""
    X, y = make_moons(n, noise=0.08, random_state=seed)
    rng = np.random.default_rng(seed)
    known = np.concatenate(
        [rng.choice(np.flatnonzero(y == k), n_labeled, False) for k in (0, 1)]
    )
    rest = np.setdiff1d(np.arange(n), known)
    return X[known], y[known], X[rest], y[rest]


@pytest.mark.parametrize("cache_size", [200.0, 0.05])
def test_the_model_is_that_of_the_labels_it_found(cache_size):
    X, y, X_target, _ = moons()
    w = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0])
    model = TransductiveSVC(C=10.0, C_target=1.0, gamma=GAMMA, cache_size=cache_size)
    model.fit(X, y, X_target=X_target, sample_weight=w)
    rows = np.vstack([X, X_target])
    labels = np.concatenate([y, model.transduction_])
    c = np.concatenate([10.0 * w, np.ones(len(X_target))])
    f = model.decision_function(rows)
    refit = WeightedSVC(gamma=GAMMA).fit(rows, labels, c)
    np.testing.assert_allclose(f, refit.decision_function(rows), atol=1e-9)
    theirs = SVC(gamma=GAMMA, tol=1e-10).fit(rows, labels, c)
    np.testing.assert_allclose(f, theirs.decision_function(rows), atol=1e-4)
    assert model.certificate_.residual <= 1e-9
    assert model.n_swaps_ > 0


@pytest.mark.parametrize("seed", range(5))
def test_no_two_rows_are_left_to_exchange(seed):
    X, y, X_target, _ = moons(seed)
    model = TransductiveSVC(C=10.0, gamma=GAMMA).fit(X, y, X_target=X_target)
    z = np.where(model.transduction_ == 1, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - z * model.decision_function(X_target))
    worst = [slack[z == side].max(initial=0.0) for side in (1.0, -1.0)]
    assert sum(worst) <= 2.0 + 1e-8 or 0.0 in worst
    # Exchanges leave as many of each label as the labeled rows predict.
    labeled = WeightedSVC(C=10.0, gamma=GAMMA).fit(X, y)
    assert (model.transduction_ == 1).sum() == (labeled.predict(X_target) == 1).sum()


def test_a_gap_between_clusters_is_found_where_few_labels_do_not_show_it():
    gains = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.arange(164) % 2
        X = np.column_stack(
            [2.0 * y - 1.0 + 0.3 * rng.standard_normal(164), rng.normal(0, 2, 164)]
        )
        alone = WeightedSVC(C=10.0, kernel="linear").fit(X[:4], y[:4])
        model = TransductiveSVC(C=10.0, kernel="linear", target_share=0.5)
        model.fit(X[:4], y[:4], X_target=X[4:])
        assert (model.transduction_ == 1).sum() == 80
        gains.append(model.score(X[4:], y[4:]) - alone.score(X[4:], y[4:]))
    assert np.mean(gains) > 0.05


def test_without_a_target_it_is_the_labeled_model_and_says_so():
    X, y, _, _ = moons()
    with pytest.warns(NoTargetWarning, match="labeled rows"):
        model = TransductiveSVC(C=10.0, gamma=GAMMA).fit(X, y)
    alone = WeightedSVC(C=10.0, gamma=GAMMA).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), alone.decision_function(X), atol=1e-12
    )
    assert model.transduction_.size == 0


def test_a_loaded_model_predicts_as_before():
    X, y, X_target, _ = moons()
    model = TransductiveSVC(gamma=GAMMA).fit(X, y, X_target=(X_target,))
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        model.decision_function(X_target), loaded.decision_function(X_target)
    )


def test_what_it_is_not_made_for_is_refused():
    X, y, X_target, _ = moons()
    with pytest.raises(ValueError, match="Only binary"):
        TransductiveSVC().fit(X_target[:9], np.arange(9) % 3, X_target=X_target)
    with pytest.raises(ValueError, match="precomputed"):
        TransductiveSVC(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="C_target must be positive"):
        TransductiveSVC(C_target=0.0).fit(X, y, X_target=X_target)
    with pytest.raises(ValueError, match="target_share must"):
        TransductiveSVC(target_share=1.5).fit(X, y, X_target=X_target)
    with pytest.raises(ValueError, match="n_steps"):
        TransductiveSVC(n_steps=0).fit(X, y, X_target=X_target)
