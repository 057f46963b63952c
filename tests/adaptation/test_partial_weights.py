"""Classes of the target are found, those that are absent weigh nothing."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from deep.partial_samples import make_partial
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from counterpoise import (
    InvalidInputError,
    InvalidTypeError,
    NoTargetWarning,
    PartialWeights,
    WeakClassifierWarning,
)
from counterpoise.adaptation.partial import prior_by_em
from counterpoise.selection import select_classes


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::counterpoise.NoTargetWarning")
@parametrize_with_checks([PartialWeights()])
def test_scikit_learn_is_content(estimator, check):
    check(estimator)


def fitted(**parameters):
    X, y, X_target, _ = make_partial()
    return PartialWeights(random_state=0, **parameters).fit(X, y, X_target=X_target)


def test_absent_classes_weigh_nothing_and_the_others_alike():
    X, y, X_target, y_target = make_partial()
    found = fitted()
    assert found.absent_classes_.tolist() == [3, 4, 5]
    assert found.n_live_ == 3
    np.testing.assert_allclose(found.class_weight_, [2, 2, 2, 0, 0, 0])
    np.testing.assert_allclose(found.weights_, found.class_weight_[y])
    assert found.weights_.mean() == pytest.approx(1.0)
    assert found.class_prior_.sum() == pytest.approx(1.0)
    assert np.mean(found.labels_ == y_target) > 0.95
    assert found.assignment_.shape == (6, len(X_target))
    np.testing.assert_allclose(found.assignment_.sum(axis=0), 1.0)
    assert found.confusion_.sum() == len(X_target)
    assert found.guard_.chosen == 1
    assert found.solution_.converged
    assert found.effective_sample_size_ == pytest.approx(len(X) / 2)


def test_the_classes_are_those_of_the_selection():
    X, y, X_target, _ = make_partial()
    chosen = select_classes(X, y, X_target, tol=1e-4, random_state=0)
    found = fitted()
    np.testing.assert_allclose(found.class_prior_, chosen.shares, atol=1e-6)
    assert np.array_equal(found.labels_, chosen.labels)
    assert found.sparsity_ == pytest.approx(chosen.sparsity, rel=1e-3)


def test_full_weights_are_shares_of_target_over_source():
    X, y, X_target, _ = make_partial(present=(0, 0, 0, 1, 2))
    found = PartialWeights(exponent=1.0, random_state=0).fit(X, y, X_target=X_target)
    ratio = found.class_prior_ / (1 / 6)
    ratio[3:] = 0.0
    np.testing.assert_allclose(found.class_weight_, ratio / ratio.mean(), rtol=1e-9)
    assert found.class_weight_[0] > 2 * found.class_weight_[1]


def test_a_row_that_counts_nothing_is_not_there():
    X, y, X_target, _ = make_partial()
    weight = np.where(np.arange(len(X)) < 180, 1.0, 0.0)
    some = PartialWeights(random_state=0).fit(
        X, y, X_target=X_target, sample_weight=weight
    )
    other = PartialWeights(random_state=0).fit(X[:180], y[:180], X_target=X_target)
    assert np.array_equal(some.class_prior_, other.class_prior_)
    assert np.average(some.weights_, weights=weight) == pytest.approx(1.0)


def test_labels_are_weighed_and_rows_are_not():
    X, y, _, _ = make_partial()
    found = fitted()
    assert found.predict_weights([0, 5]).tolist() == pytest.approx([2.0, 0.0])
    with pytest.raises(InvalidInputError, match="weigh needs labels"):
        found.predict_weights(X)
    with pytest.raises(InvalidInputError, match="a class that fit had not: 9"):
        found.predict_weights([9])
    with pytest.raises(InvalidInputError, match="PartialWeights has no score"):
        found.score(X, y)


def test_without_a_target_all_weights_are_one():
    X, y, _, _ = make_partial()
    with pytest.warns(NoTargetWarning, match="no class is absent"):
        found = PartialWeights().fit(X, y)
    assert (found.weights_ == 1.0).all()
    assert found.absent_classes_.size == 0
    assert found.score(X, y) == 0.0


def test_few_target_rows_have_no_graph():
    X, y, X_target, _ = make_partial(n=98)
    with pytest.warns(UserWarning, match="49 rows, fewer than 50"):
        found = PartialWeights(random_state=0).fit(X, y, X_target=X_target)
    assert set(found.absent_classes_) <= {3, 4, 5}


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GaussianNB(),
        RandomForestClassifier(n_estimators=20, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_any_classifier_with_probabilities_may_be_asked(classifier):
    assert fitted(classifier=classifier).absent_classes_.tolist() == [3, 4, 5]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_and_labels_that_are_words(kind):
    X, y, X_target, _ = make_partial()
    names = [f"c{k}" for k in range(X.shape[1])]
    frame = pd.DataFrame if kind == "pandas" else pl.DataFrame
    words = np.array(list("abcdef"))[y]
    found = PartialWeights(random_state=0).fit(
        frame(dict(zip(names, X.T, strict=True))),
        words,
        X_target=frame(dict(zip(names, X_target.T, strict=True))),
    )
    assert found.absent_classes_.tolist() == list("def")
    assert found.feature_names_in_.tolist() == names


def test_classes_and_rows_may_be_permuted():
    X, y, X_target, _ = make_partial()
    rng = np.random.default_rng(0)
    names = rng.permutation(6)
    one = PartialWeights(classifier=GaussianNB(), n_neighbors=0)
    first = one.fit(X, y, X_target=X_target).class_prior_
    order = rng.permutation(len(X_target))
    second = one.fit(X, names[y], X_target=X_target[order])
    np.testing.assert_allclose(second.class_prior_[names], first, atol=1e-3)
    assert np.array_equal(second.labels_, names[fitted_labels(X, y, X_target)][order])


def fitted_labels(X, y, X_target):
    one = PartialWeights(classifier=GaussianNB(), n_neighbors=0)
    return one.fit(X, y, X_target=X_target).labels_


def test_a_classifier_that_tells_next_to_nothing_is_followed_without_the_guard():
    X, y, X_target, _ = make_partial()
    blind = LogisticRegression(C=1e-12)
    found = PartialWeights(classifier=blind, guard=False).fit(X, y, X_target=X_target)
    assert np.isfinite(found.weights_).all()
    assert found.class_prior_.sum() == pytest.approx(1.0)


def test_one_seed_gives_the_same_bits():
    assert np.array_equal(fitted().assignment_, fitted().assignment_)


def test_em_finds_the_shares_that_make_the_target_likeliest():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=60)
    source = np.array([0.4, 0.3, 0.2, 0.1])
    found = prior_by_em(p, source, 1e-9, 200_000)

    def loss(z):
        q = np.exp(z - z.max())
        return -np.log((p / source) @ (q / q.sum())).mean()

    best = min(
        minimize(loss, rng.normal(size=4), options={"gtol": 1e-9}).fun for _ in range(3)
    )
    assert found.solution.certificate.objective == pytest.approx(best, abs=1e-7)
    assert found.solution.certificate.bound <= best + 1e-12
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1.0)


def test_em_is_there_on_request():
    X, y, X_target, y_target = make_partial(moved=0.0)
    found = PartialWeights(
        "em", classifier=LogisticRegression(C=0.1), exponent=1.0, max_iter=20_000
    )
    found.fit(X, y, X_target=X_target)
    assert found.absent_classes_.tolist() == [3, 4, 5]
    np.testing.assert_allclose(found.class_prior_[:3], 1 / 3, atol=0.05)
    assert found.sparsity_ is None
    assert np.mean(found.labels_ == y_target) > 0.95


def test_a_classifier_that_knows_nothing_changes_nothing():
    X, y, X_target, _ = make_partial()
    blind = LogisticRegression(C=1e-9)
    with pytest.warns(WeakClassifierWarning, match="too weak .* rows stay unweighted"):
        found = PartialWeights(classifier=blind).fit(X, y, X_target=X_target)
    assert found.guard_.chosen == 0
    assert (found.weights_ == 1.0).all()
    assert found.absent_classes_.size == 0
    own = clone_fit(blind, X, y)
    np.testing.assert_allclose(
        found.class_prior_, own.predict_proba(X_target).mean(axis=0)
    )
    assert np.array_equal(found.labels_, own.predict(X_target))


def clone_fit(classifier, X, y):
    return LogisticRegression(C=classifier.C).fit(X, y)


def test_bad_input_is_named():
    X, y, X_target, _ = make_partial()
    fit = {"X_target": X_target}
    with pytest.raises(InvalidInputError, match="X_target has 11"):
        PartialWeights().fit(X, y, X_target=X_target[:, :11])
    for classifier in (None, GaussianNB()):
        with pytest.raises(InvalidInputError, match="y has 1 class, 0: two classes"):
            PartialWeights(classifier=classifier).fit(X, np.zeros(len(X), int), **fit)
    for name, place in (("X", (3, 2)), ("X_target", (4, 1))):
        holes = {"X": X.copy(), "X_target": X_target.copy()}
        holes[name][place] = np.nan
        told = f"{name} contains 1 NaN, the first in row {place[0]}, column {place[1]}"
        with pytest.raises(InvalidInputError, match=told):
            PartialWeights().fit(holes["X"], y, X_target=holes["X_target"])
    for name, value, told in (
        ("method", "eme", "did you mean 'em'"),
        ("sparsity", -1.0, "sparsity must be"),
        ("exponent", -1.0, "exponent must be"),
        ("n_neighbors", -1, "n_neighbors must be"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            PartialWeights(**{name: value}).fit(X, y, **fit)
    for name in ("guard", "classifier", "with_target"):
        with pytest.raises(InvalidTypeError, match=name):
            PartialWeights(**{name: 3}).fit(X, y, **fit)
