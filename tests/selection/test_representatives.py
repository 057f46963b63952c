"""A few words that stand for all items: what is promised of a fit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from optim.assignment.random_assignments import graph
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.data import memory_budget
from counterpoise.optim.assignment.problem import SparseAssignment, one_word_penalty
from counterpoise.selection import SubsetSelector

SOLVERS = ("auto", "proximal-admm", "slack-admm", "original", "conic")


def blobs(n=30, seed=0):
    rng = np.random.default_rng(seed)
    centers = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    return centers[np.arange(n) % 3] + 0.4 * rng.normal(size=(n, 2)), rng


def by_hand(selector, R, mass, W=None):
    """Return the sum that the docstring states, at the fitted assignment."""
    U = selector.assignment_
    if selector.outlier_cost is not None:
        R = np.column_stack([R, np.full(len(R), selector.outlier_cost)])
    value = (mass[:, None] * R * U).sum()
    if W is not None:
        L = np.diag(W.sum(axis=1)) - W
        value += selector.gamma_ * np.trace(U.T @ L @ U)
    norms = U.max(axis=0) if selector.norm == "max" else np.linalg.norm(U, axis=0)
    return value, norms, (mass * R.min(axis=1)).sum()


@pytest.mark.parametrize("norm", ["max", "euclidean"])
def test_everything_that_is_fitted_is_as_it_is_said(norm):
    X, rng = blobs()
    weights, W = rng.random(30) + 0.1, graph(30, 1).toarray()
    selector = SubsetSelector(sparsity=0.2, smoothness=0.3, norm=norm)
    selector.fit(X, graph=W, sample_weight=weights)
    mass = weights / weights.sum()
    R = pairwise_distances(X, metric="sqeuclidean")
    value, norms, least = by_hand(selector, R, mass, W)
    proof = selector.solution_.certificate
    total = value + selector.lambda_ * norms.sum()
    assert proof.objective == pytest.approx(total, rel=1e-10)
    assert proof.scale == pytest.approx(total - least, rel=1e-9)
    assert proof.gap <= 1e-4 * proof.scale
    assert selector.gamma_ == pytest.approx(0.3 / 30)
    assert selector.lambda_ == pytest.approx(0.2 * selector.lambda_max_)
    exact = one_word_penalty(mass[:, None] * R, norm).low
    assert selector.lambda_max_ == pytest.approx(exact)
    assert selector.lambda_max_bounds_ == (selector.lambda_max_,) * 2
    U = selector.assignment_
    assert U.min() >= 0.0
    np.testing.assert_allclose(U.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(selector.solution_.x, U.ravel())
    np.testing.assert_array_equal(selector.selected_, np.unique(U.argmax(axis=1)))
    np.testing.assert_array_equal(
        selector.selected_[selector.labels_], U.argmax(axis=1)
    )
    np.testing.assert_array_equal(
        selector.active_, np.flatnonzero(U.max(axis=0) > 1e-3)
    )
    assert selector.n_iter_ > 0
    np.testing.assert_array_equal(selector.words_, X)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_same_value(solver):
    X, _ = blobs(24)
    W = graph(24, 2)
    selector = SubsetSelector(sparsity=0.15, smoothness=0.2, solver=solver, tol=1e-5)
    value = selector.fit(X, candidates=X[:8], graph=W).solution_.certificate.objective
    other = SubsetSelector(sparsity=0.15, smoothness=0.2, tol=1e-7)
    best = other.fit(X, candidates=X[:8], graph=W).solution_.certificate.objective
    assert selector.solution_.converged
    assert value == pytest.approx(best, rel=2e-5)


def test_blobs_are_found_and_new_items_join_them():
    X, rng = blobs(60)
    selector = SubsetSelector(sparsity=0.1).fit(X)
    assert len(selector.selected_) == 3
    np.testing.assert_array_equal(
        selector.labels_ == selector.labels_[0], np.arange(60) % 3 == 0
    )
    new = X[:9] + 0.01 * rng.normal(size=(9, 2))
    np.testing.assert_array_equal(selector.predict(new), selector.labels_[:9])
    np.testing.assert_array_equal(clone(selector).fit_predict(X), selector.labels_)


def test_given_dissimilarities_need_be_neither_square_nor_symmetric():
    X, rng = blobs()
    R = rng.random((30, 5))
    selector = SubsetSelector("precomputed", 0.2).fit(R)
    assert selector.assignment_.shape == (30, 5)
    assert selector.words_ is None
    nearest = R[:, selector.selected_].argmin(axis=1)
    np.testing.assert_array_equal(selector.predict(R), nearest)
    R = pairwise_distances(X, metric="cityblock")
    by_name = SubsetSelector("cityblock", 0.2).fit(X)
    given = SubsetSelector("precomputed", 0.2).fit(R)
    np.testing.assert_array_equal(by_name.assignment_, given.assignment_)


def test_a_function_may_be_asymmetric():
    def above(item, word):
        return max(float(item[0] - word[0]), 0.0)

    X = np.array([[0.0], [1.0], [2.0]])
    selector = SubsetSelector(above, 0.0).fit(X)
    np.testing.assert_array_equal(
        selector.problem_.dissimilarities, np.maximum(X - X.T, 0.0)
    )
    # The largest word is above all items.
    assert SubsetSelector(above, 0.5).fit(X).selected_.tolist() == [2]


def test_words_may_be_dear_free_or_forbidden():
    X, _ = blobs()
    free = SubsetSelector(sparsity=0.1).fit(X)
    taken = int(free.selected_[0])
    without = SubsetSelector(sparsity=0.1).fit(X, must_exclude=[taken])
    assert taken not in without.active_
    assert not without.assignment_[:, taken].any()
    allowed = np.delete(np.arange(30), taken)
    R = pairwise_distances(X, metric="sqeuclidean")
    expected = one_word_penalty(R[:, allowed] / 30).low
    assert without.lambda_max_ == pytest.approx(expected)
    costs = np.ones(30)
    costs[taken] = 50.0
    dear = SubsetSelector(sparsity=0.1).fit(X, candidate_costs=costs)
    assert taken not in dear.active_
    assert dear.lambda_max_ == free.lambda_max_
    other = int(np.setdiff1d(np.arange(30), free.active_)[0])
    forced = SubsetSelector(sparsity=0.9).fit(X, must_include=[other])
    assert other in forced.active_
    value, norms, _ = by_hand(forced, R, np.full(30, 1 / 30))
    paid = forced.lambda_ * np.delete(norms, other).sum()
    assert forced.solution_.certificate.objective == pytest.approx(value + paid)


def test_items_that_no_word_is_near_to_are_outliers():
    X, _ = blobs()
    X = np.vstack([X, [[50.0, 50.0]]])
    selector = SubsetSelector(sparsity=0.05, outlier_cost=9.0).fit(X, candidates=X[:30])
    assert selector.assignment_.shape == (31, 31)
    assert selector.labels_[-1] == -1
    assert (selector.labels_[:-1] >= 0).all()
    assert 30 not in selector.selected_
    np.testing.assert_array_equal(
        selector.predict([[40.0, 40.0], X[0]]), [-1, selector.labels_[0]]
    )
    R = pairwise_distances(X, X[:30], metric="sqeuclidean")
    value, norms, _ = by_hand(selector, R, np.full(31, 1 / 31))
    proof = selector.solution_.certificate
    assert proof.objective == pytest.approx(value + selector.lambda_ * norms[:30].sum())
    all_out = SubsetSelector(sparsity=0.1, outlier_cost=-1.0).fit(X)
    assert all_out.selected_.size == 0
    assert (all_out.labels_ == -1).all()
    assert (all_out.predict(X) == -1).all()


def test_a_weight_of_zero_is_an_item_that_is_no_word_and_costs_nothing():
    X, _ = blobs()
    weights = np.ones(30)
    weights[:6] = 0.0
    weighted = SubsetSelector(sparsity=0.1, tol=1e-7).fit(X, sample_weight=weights)
    without = SubsetSelector(sparsity=0.1, tol=1e-7).fit(X[6:])
    assert weighted.active_.min() >= 6
    np.testing.assert_array_equal(weighted.selected_, without.selected_ + 6)
    assert weighted.lambda_max_ == pytest.approx(without.lambda_max_)
    assert weighted.solution_.certificate.objective == pytest.approx(
        without.solution_.certificate.objective, rel=1e-6
    )


def test_weights_are_repetitions_up_to_the_numbers_of_the_words():
    X, rng = blobs(20)
    weights = rng.integers(0, 4, 20)
    order = rng.permutation(20)
    weighted = SubsetSelector().fit(X[order], sample_weight=weights[order])
    repeated = SubsetSelector().fit(np.repeat(X, weights, axis=0))
    ours = weighted.words_[weighted.selected_][weighted.predict(X)]
    theirs = repeated.words_[repeated.selected_][repeated.predict(X)]
    np.testing.assert_array_equal(ours, theirs)


def test_words_of_equal_dissimilarities_are_one_without_a_graph():
    R = np.array([[0.0, 0.0, 3.0], [0.1, 0.1, 3.0], [3.0, 3.0, 0.0]])
    selector = SubsetSelector("precomputed", penalty=0.1).fit(R)
    assert selector.active_.tolist() == [0, 2]
    cheaper = SubsetSelector("precomputed", penalty=0.1)
    cheaper.fit(R, candidate_costs=[1.0, 0.5, 1.0])
    assert cheaper.active_.tolist() == [1, 2]


def test_with_a_graph_shares_of_twins_are_cheaper_than_one_of_them():
    W = np.array([[0.0, 1.0], [1.0, 0.0]])
    R = np.array([[0.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    twins = SubsetSelector("precomputed", penalty=1e-3, smoothness=20.0, tol=1e-7)
    apart = twins.fit(R, graph=W).solution_.certificate.objective
    merged = SubsetSelector("precomputed", penalty=1e-3, smoothness=20.0, tol=1e-7)
    one = merged.fit(R[:, [0, 2]], graph=W).solution_.certificate.objective
    assert apart < one - 1e-3


def test_an_absolute_penalty_takes_the_place_of_the_sparsity():
    X, _ = blobs()
    share = SubsetSelector(sparsity=0.1).fit(X)
    given = SubsetSelector(sparsity=5.0, penalty=share.lambda_).fit(X)
    np.testing.assert_array_equal(given.assignment_, share.assignment_)
    assert np.isnan(given.lambda_max_)
    assert np.isnan(given.lambda_max_bounds_).all()


@pytest.mark.parametrize("smoothness", [0.0, 1.0])
def test_a_sparsity_of_one_and_more_leaves_one_word(smoothness):
    X, _ = blobs()
    for sparsity in (1.0, 3.0):
        selector = SubsetSelector(sparsity=sparsity, smoothness=smoothness)
        selector.fit(X, graph=graph(30, 3))
        assert selector.active_.size == 1
        assert selector.n_iter_ == 0
        assert "one word" in selector.solution_.ended
        assert selector.solution_.converged


def test_closed_forms_are_certified_too():
    X, _ = blobs()
    nearest = SubsetSelector(sparsity=0.0).fit(X, candidates=X[:5])
    R = pairwise_distances(X, X[:5], metric="sqeuclidean")
    np.testing.assert_array_equal(nearest.assignment_.argmax(axis=1), R.argmin(axis=1))
    one_item = SubsetSelector("precomputed", penalty=1.0).fit(
        [[0.0, 0.5]], candidate_costs=[1.0, 0.1]
    )
    assert one_item.selected_.tolist() == [1]
    one_word = SubsetSelector(norm="euclidean", penalty=1.0).fit(X, candidates=X[:1])
    for fitted in (nearest, one_item, one_word):
        assert fitted.solution_.converged
        assert fitted.solution_.certificate.gap <= 1e-12
        assert fitted.n_iter_ == 0


def test_frames_and_pipelines_are_taken():
    X, _ = blobs()
    plain = SubsetSelector().fit(X)
    for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, ["a", "b"])):
        fitted = SubsetSelector().fit(frame, candidates=frame[:10])
        assert fitted.feature_names_in_.tolist() == ["a", "b"]
        assert fitted.n_features_in_ == 2
        np.testing.assert_array_equal(
            SubsetSelector().fit(frame).labels_, plain.labels_
        )
    labels = make_pipeline(StandardScaler(), SubsetSelector()).fit_predict(X)
    assert labels.shape == (30,)


def test_what_is_not_proved_is_said():
    X, _ = blobs()
    selector = SubsetSelector(sparsity=0.1, smoothness=1.0, tol=1e-12, max_iter=20)
    with pytest.warns(ConvergenceWarning, match="NOT converged"):
        selector.fit(X, graph=graph(30, 4))
    assert not selector.solution_.converged


def test_a_callback_sees_the_search_and_may_end_it():
    X, _ = blobs()
    seen = []

    def look(progress):
        seen.append(progress)
        return len(seen) == 2

    selector = SubsetSelector(smoothness=1.0, tol=1e-12, callback=look)
    with pytest.warns(ConvergenceWarning, match="ended by the callback"):
        selector.fit(X, graph=graph(30, 4))
    assert len(seen) == 2


REFUSED = [
    ({"sparsity": -1.0}, {}, "sparsity must be at least 0"),
    ({"smoothness": -1.0}, {}, "smoothness must be at least 0"),
    ({"penalty": -1.0}, {}, "penalty must be at least 0"),
    ({"norm": "l1"}, {}, "norm must be one of"),
    ({"solver": "admm"}, {}, "solver must be one of"),
    ({"tol": 0.0}, {}, "tol must be positive"),
    ({"max_iter": 0}, {}, "max_iter must be at least 1"),
    ({"callback": 1}, {}, "callback must be callable"),
    ({"dissimilarity": 3}, {}, "dissimilarity must be the name of a metric"),
    ({"dissimilarity": "nonsense"}, {}, "dissimilarity='nonsense'"),
    ({"solver": "original", "norm": "euclidean"}, {}, "is for norm='max'"),
    ({}, {"candidates": np.ones((2, 3))}, "candidates has 3 columns, X has 2"),
    ({"dissimilarity": "precomputed"}, {"candidates": np.ones((2, 2))}, "must be None"),
    ({}, {"graph": np.ones((3, 3))}, r"graph must have shape \(30, 30\)"),
    ({}, {"must_include": [30]}, "indices from 0 to 29, got 30"),
    ({}, {"must_exclude": [True]}, "must_exclude must be indices of words"),
    ({}, {"must_exclude": range(30)}, "must_exclude leaves no word"),
    ({}, {"must_include": [1], "must_exclude": [1]}, "word 1 is both"),
    ({}, {"candidate_costs": -np.ones(30)}, "candidate_costs must not be negative"),
    ({}, {"candidate_costs": np.ones(3)}, "candidate_costs has 3 rows"),
    ({}, {"candidate_costs": 2.0}, "one entry a word"),
    (
        {},
        {"sample_weight": np.r_[0.0, np.ones(29)], "must_include": [0]},
        "must_include has item 0, whose sample_weight is zero",
    ),
]


@pytest.mark.parametrize(("given", "fitted", "words"), REFUSED)
def test_what_cannot_be_used_is_refused_by_name(given, fitted, words):
    X, _ = blobs()
    with pytest.raises((ValueError, TypeError), match=words):
        SubsetSelector(**given).fit(X, **fitted)


def test_graphs_that_are_none_are_refused_with_the_place():
    X, _ = blobs(4)
    L = sparse.csc_array(np.diag([1.0, 1, 0, 0]) - np.eye(4)[[1, 0, 2, 3]])
    L = L.toarray()
    L[2:, 2:] = 0.0
    with pytest.raises(ValueError, match="looks like a Laplacian"):
        SubsetSelector().fit(X, graph=L)
    one_way = np.zeros((4, 4))
    one_way[0, 1] = 1.0
    with pytest.raises(ValueError, match="got 1 in row 0, column 1 and 0 in row 1"):
        SubsetSelector().fit(X, graph=one_way)
    with pytest.raises(ValueError, match="zero diagonal, got 1 in row 0"):
        SubsetSelector().fit(X, graph=np.eye(4))
    with pytest.raises(ValueError, match="NaN"):
        SubsetSelector().fit(X, graph=np.full((4, 4), np.nan))


def test_dissimilarities_that_are_none_are_refused_and_similarities_warned_about():
    def broken(item, word):
        return np.nan if word[0] == 2.0 else 0.0

    with pytest.raises(ValueError, match="of item 0 and word 2 is nan"):
        SubsetSelector(broken).fit(np.arange(4.0)[:, None])
    with pytest.warns(UserWarning, match="are these similarities"):
        SubsetSelector("precomputed").fit([[0.0, -1.0], [1.0, 0.0]])


def test_more_than_the_memory_budget_is_refused():
    with (
        memory_budget(10_000),
        pytest.raises(ValueError, match="give fewer candidates"),
    ):
        SubsetSelector().fit(np.zeros((50, 2)))


def test_a_graph_that_merges_all_items_is_warned_about():
    X, _ = blobs(12)
    W = np.ones((12, 12)) - np.eye(12)
    with pytest.warns(UserWarning, match="smoothness 1e\\+06 merges all items"):
        SubsetSelector(sparsity=0.1, smoothness=1e6).fit(X, graph=W)


def test_the_posed_problem_is_the_one_that_was_solved():
    X, _ = blobs()
    selector = SubsetSelector(sparsity=0.2, smoothness=0.3).fit(X, graph=graph(30, 5))
    problem = selector.problem_.problem(selector.lambda_)
    assert isinstance(problem, SparseAssignment)
    again = problem.certify(selector.solution_.x)
    assert again.objective == pytest.approx(selector.solution_.certificate.objective)
