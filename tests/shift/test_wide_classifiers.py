"""Rows of very many columns, as text has them."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import ttest_ind
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.naive_bayes import MultinomialNB

from counterpoise import AutoWeights, domain_auc
from counterpoise.shift.domain_classifier import (
    Components,
    NaiveBayesScaler,
    SignificantColumns,
    TfidfWeighting,
    domain_score,
)


def documents(n, rate, rng):
    """Return counts of words, Poisson of these rates."""
    lengths = rng.poisson(rate.sum(), n)
    words = rng.choice(rate.size, lengths.sum(), p=rate / rate.sum())
    rows = np.repeat(np.arange(n), lengths)
    return sparse.csr_array((np.ones(words.size), (rows, words)), (n, rate.size))


def tilted(n=400, n_words=3000, seed=0, factor=2.0):
    """Return documents with ten words so many times as frequent in the target."""
    rng = np.random.default_rng(seed)
    rate = 60 / np.arange(1, n_words + 1) / np.log(n_words)
    words = np.arange(20, 30)
    more = rate.copy()
    more[words] *= factor
    return documents(n, rate, rng), documents(n, more, rng), words


def test_ten_words_among_thousands_are_found_and_weighed():
    X, T, words = tilted(n=800, factor=1.6)
    # Columns divided by their spread have an AUC of 0.55.
    assert domain_auc(X, T, random_state=0) > 0.66
    fitted = AutoWeights(random_state=0, allow_no_overlap=True).fit(X, X_target=T)
    source, target = (rows[:, words].mean(axis=0) for rows in (X, T))
    gap = target - source

    def closed(weights):
        weighted = weights @ X[:, words] / weights.sum()
        return (weighted - source) @ gap / (gap @ gap)

    truth = 1.6 ** X[:, words].sum(axis=1)
    assert closed(fitted.weights_) > 0.8 * closed(truth)


def test_topics_in_other_shares_are_weighed_by_components():
    rng = np.random.default_rng(1)
    rates = np.tile(60 / np.arange(1, 2001) / np.log(2000), (2, 1))
    for rate in rates:
        rate[rng.choice(2000, 300, replace=False)] *= 5
    topic = np.repeat([0, 1], [300, 100])
    X = sparse.vstack(
        [documents(k, r, rng) for k, r in zip((300, 100), rates, strict=True)]
    ).tocsr()
    T = sparse.vstack(
        [documents(k, r, rng) for k, r in zip((100, 300), rates, strict=True)]
    ).tocsr()
    fitted = AutoWeights(random_state=0, allow_no_overlap=True).fit(X, X_target=T)
    assert type(fitted.weight_estimator_).__name__ == "DiscriminatorWeights"
    # One third and three.
    assert fitted.weights_[topic == 0].mean() < 0.5
    assert fitted.weights_[topic == 1].mean() > 2.3


def test_rows_of_text_with_weights_are_told_apart_as_rows_written_out():
    X, T, _ = tilted(n=120, n_words=300)
    weight = np.where(np.arange(120) % 4 == 0, 2.0, 1.0)
    once = domain_score(X, T, sample_weight=weight, random_state=0)
    twice = domain_score(
        X[np.repeat(np.arange(120), weight.astype(int))], T, random_state=0
    )
    assert once.auc == pytest.approx(twice.auc, abs=0.03)
    assert once.model == twice.model


def test_places_of_64_bits_are_taken():
    X, T, _ = tilted(n=60, n_words=200)
    wide = [
        sparse.csr_array(
            (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)),
            shape=rows.shape,
        )
        for rows in (X, T)
    ]
    assert domain_auc(*wide, random_state=0) == domain_auc(X, T, random_state=0)


def test_striking_columns_go_by_welchs_test():
    X, T, _ = tilted(n=200, n_words=300)
    both = sparse.vstack([X, T]).tocsr()
    y = np.repeat([0, 1], 200)
    kept = SignificantColumns().fit(both, y).kept_
    dense = both.toarray()
    with np.errstate(all="ignore"):
        p = ttest_ind(dense[y == 1], dense[y == 0], equal_var=False).pvalue
    order = np.argsort(np.nan_to_num(p, nan=1.0))
    # Of two hundred rows Student's quantiles are nearly normal, and ddof hardly counts.
    assert len(set(order[: kept.size]) ^ set(kept)) <= 4


def test_telling_words_have_the_factors_of_naive_bayes():
    X, T, _ = tilted(n=100, n_words=300)
    both, y = sparse.vstack([X, T]).tocsr(), np.repeat([0, 1], 100)
    logs = MultinomialNB().fit(both, y).feature_log_prob_
    fitted = NaiveBayesScaler().fit(both, y)
    assert fitted.factor_ == pytest.approx(logs[1] - logs[0])
    expected = both.toarray() * fitted.factor_
    assert fitted.transform(both).toarray() == pytest.approx(expected)


def test_rare_words_are_those_of_tf_idf():
    X, _, _ = tilted(n=50, n_words=300)
    expected = TfidfTransformer().fit_transform(X).toarray()
    assert TfidfWeighting().fit(X).transform(X).toarray() == pytest.approx(expected)
    empty = sparse.csr_array((1, 300))
    assert TfidfWeighting().fit(X).transform(empty).nnz == 0


def test_components_span_the_first_directions_and_a_weight_of_two_is_the_row_twice():
    X, _, _ = tilted(n=60, n_words=300)
    rows = Components().fit(X).transform(X)
    other = TruncatedSVD(12, algorithm="arpack", random_state=0).fit_transform(X)
    assert rows @ rows.T == pytest.approx(other @ other.T, abs=1e-8)
    weight = np.where(np.arange(60) % 3 == 0, 2, 1)
    twice = X[np.repeat(np.arange(60), weight)]
    one = Components().fit(X, None, weight.astype(float)).transform(X)
    other = Components().fit(twice).transform(X)
    assert one @ one.T == pytest.approx(other @ other.T, abs=1e-7)


def test_few_rows_of_text_are_told_apart_all_the_same():
    X, T, _ = tilted(n=6, n_words=150)
    found = domain_score(X, T, random_state=0)
    assert 0.0 <= found.auc <= 1.0
