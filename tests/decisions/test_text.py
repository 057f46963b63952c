"""How wide sparse rows are scaled, told apart and weighed, at every threshold."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from counterpoise.data.two_samples import TwoSamples, pooled_scale
from counterpoise.shift.domain_classifier import (
    STRENGTHS,
    HeldOutLogistic,
    SignificantColumns,
    linear_classifiers,
)
from counterpoise.weights.auto import Trials, candidates
from counterpoise.weights.search import Deadline


def counts(n, d, seed):
    """Return sparse counts whose columns are ever rarer."""
    rng = np.random.default_rng(seed)
    return sparse.csr_array(
        rng.poisson(3.0 / np.arange(1, d + 1), (n, d)).astype(float)
    )


def spreads(X, T):
    dense = [rows.toarray() for rows in (X, T)]
    return np.sqrt(0.5 * (dense[0].var(axis=0) + dense[1].var(axis=0)))


def test_sparse_rows_of_more_than_a_hundred_columns_have_one_scale():
    # A column that never varies has none.
    some = sparse.diags_array(np.arange(101) != 7, dtype=float)
    X, T = (counts(60, 101, 0) @ some).tocsr(), (counts(50, 101, 1) @ some).tocsr()
    spread = spreads(X, T)
    scale = pooled_scale(TwoSamples.of(X, T))
    entries = (X != 0).sum(axis=0) / 60 + (T != 0).sum(axis=0) / 50
    order = np.argsort(spread)
    half = np.searchsorted(np.cumsum(entries[order]), entries.sum() / 2)
    expected = np.where(spread > 0, spread[order][half], 0.0)
    assert scale == pytest.approx(expected)
    assert scale[7] == 0.0
    assert spread.std() > 0.1


def test_sparse_rows_of_a_hundred_columns_are_divided_as_dense_ones():
    X, T = counts(60, 100, 0), counts(50, 100, 1)
    assert pooled_scale(TwoSamples.of(X, T)) == pytest.approx(spreads(X, T), abs=1e-9)
    assert list(linear_classifiers(X)) == ["logistic"]
    assert len(linear_classifiers(counts(60, 101, 0))) == 5


def losses_by_hand(X, y):
    """Return the log-loss of every fifth row of each class at every strength."""
    left = np.zeros(y.size, dtype=bool)
    for label in (0, 1):
        left[np.flatnonzero(y == label)[4::5]] = True
    size = (X**2).sum(axis=1).mean()
    models = [
        LogisticRegression(C=s / size, tol=1e-8, max_iter=9999) for s in STRENGTHS
    ]
    return size, [
        log_loss(y[left], model.fit(X[~left], y[~left]).predict_proba(X[left]))
        for model in models
    ]


@pytest.mark.parametrize("noise", [0.3, 3.0])
def test_the_ridge_is_that_of_the_least_loss_of_every_fifth_row(noise):
    rng = np.random.default_rng(1)
    X = 7.0 * rng.normal(size=(120, 40))
    y = (X[:, :5].sum(axis=1) + noise * 7 * rng.normal(size=120) > 0).astype(int)
    size, losses = losses_by_hand(X, y)
    fitted = HeldOutLogistic(tol=1e-8).fit(X, y)
    assert fitted.strength_ == STRENGTHS[int(np.argmin(losses))]
    again = LogisticRegression(C=fitted.strength_ / size, tol=1e-8, max_iter=9999)
    expected = again.fit(X, y).decision_function(X)
    assert fitted.decision_function(X) == pytest.approx(expected, abs=1e-3)
    assert (fitted.predict(X) == (expected > 0)).all()


def test_trying_ends_where_the_loss_rises(monkeypatch):
    rng = np.random.default_rng(2)
    X, y = np.repeat(rng.normal(size=(50, 30)), 2, axis=0), np.tile([0, 1], 50)
    tried = []
    plain = LogisticRegression.fit

    def fit(self, *given):
        tried.append(self.C)
        return plain(self, *given)

    monkeypatch.setattr(LogisticRegression, "fit", fit)
    fitted = HeldOutLogistic().fit(X, y)
    # Nothing can be learned: the second is no better, and the first is fitted to all.
    assert fitted.strength_ == STRENGTHS[0]
    every = STRENGTHS[0] / (X**2).sum(axis=1).mean()
    assert tried == [tried[0], pytest.approx(10 * tried[0]), pytest.approx(every)]


def test_one_row_of_a_class_leaves_the_strongest_ridge():
    X, y = np.random.default_rng(3).normal(size=(3, 2)), np.array([0, 0, 1])
    assert HeldOutLogistic().fit(X, y).strength_ == STRENGTHS[0]


def test_columns_made_by_labels_do_not_see_the_held_out_rows():
    seen = []

    class Watched(SignificantColumns):
        def fit(self, X, y, sample_weight=None):
            seen.append(X.shape[0])
            return super().fit(X, y, sample_weight)

    X, y = counts(100, 150, 3), np.repeat([0, 1], 50)
    fitted = HeldOutLogistic(Watched()).fit(X, y)
    assert seen == [80, 100]
    # Of noise nothing is learned, though its striking words seem to tell.
    assert fitted.strength_ <= STRENGTHS[1]


def columns_of_p_values(p, n=400):
    """Return rows of two classes whose columns differ with these p-values."""
    y = np.repeat([0, 1], n)
    one = np.tile([-1.0, 1.0], n)
    # Of variance one in each class, so that z is the difference times sqrt(n / 2).
    apart = norm.isf(np.asarray(p) / 2) / np.sqrt(n / 2)
    X = one[:, None] + y[:, None] * apart + 3.0
    return sparse.csr_array(X), y


def test_striking_columns_are_those_of_a_false_share_of_a_fifth():
    # The twelfth of forty is below 0.2 * 12 / 40 though the eleventh is above its own.
    p = np.full(40, 0.9)
    p[:12] = [1e-6] * 10 + [0.058, 0.059]
    kept = SignificantColumns().fit(*columns_of_p_values(p)).kept_
    assert kept.tolist() == list(range(12))
    p[11] = 0.061
    kept = SignificantColumns().fit(*columns_of_p_values(p)).kept_
    assert kept.tolist() == list(range(10))


def test_ten_columns_are_striking_at_least():
    p = np.linspace(0.5, 0.99, 40)
    X, y = columns_of_p_values(p)
    fitted = SignificantColumns().fit(X, y)
    assert fitted.kept_.tolist() == list(range(10))
    assert fitted.transform(X).shape == (800, 10)


def test_striking_columns_count_rows_by_their_weights():
    X, y = columns_of_p_values(np.full(12, 0.9))
    dense = X.toarray()
    # The last two columns differ in rows of no weight only.
    light = np.arange(800) % 4 == 0
    dense[:, 10:] = np.tile([-1.0, -1.0, 1.0, 1.0], 200)[:, None]
    dense[:, 10:] += np.where(light & (y == 1), 5.0, 0.0)[:, None]
    rows = sparse.csr_array(dense)
    assert {10, 11} <= set(SignificantColumns().fit(rows, y).kept_)
    weight = np.where(light, 1e-9, 1.0)
    assert {10, 11}.isdisjoint(SignificantColumns().fit(rows, y, weight).kept_)


def test_text_is_weighed_by_classifiers_alone():
    names = {}
    for d in (100, 101):
        samples = TwoSamples.of(counts(60, d, 0), counts(50, d, 1))
        trials = Trials(samples, 0, Deadline(None))
        names[d] = [one.name for one in candidates(trials, {})]
    assert names[100] == ["uniform", "logistic", "log-ratio linear"]
    assert names[101] == [
        "uniform",
        "logistic on components",
        "logistic on striking words",
        "logistic on rare words",
        "logistic on telling words",
        "logistic",
    ]
