"""Prototypes with a bound, and rows for a budget of labels."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from counterpoise.selection import Prototypes, select_prototypes, select_representatives


def points(n=12, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def cheapest(C, penalty, sizes):
    """Return the least cost of all sets, one after the other."""
    return min(
        C[:, list(words)].min(axis=1).sum() + penalty * size
        for size in sizes
        for words in combinations(range(C.shape[1]), size)
    )


@pytest.mark.parametrize("seed", range(4))
def test_no_choice_goes_below_the_bound_and_ours_is_near_the_best(seed):
    X = points(seed=seed)
    C = pairwise_distances(X, metric="sqeuclidean") / 12
    found = select_prototypes(X, sparsity=0.1)
    assert isinstance(found, Prototypes)
    best = cheapest(C, found.penalty, range(1, 13))
    assert found.bound <= best + 1e-12
    assert best <= found.objective + 1e-12
    assert found.objective <= 1.02 * best
    near = C[:, found.indices]
    assert found.cost == pytest.approx(near.min(axis=1).sum())
    np.testing.assert_array_equal(found.labels, near.argmin(axis=1))
    assert found.objective == pytest.approx(
        found.cost + found.penalty * len(found.indices)
    )
    assert found.ratio == pytest.approx(found.objective / found.bound)


@pytest.mark.parametrize("k", [1, 2, 4, 11, 12])
def test_a_given_number_is_kept_and_its_cost_bounded(k):
    X = points(seed=5)
    C = pairwise_distances(X, metric="sqeuclidean") / 12
    found = select_prototypes(X, k)
    assert len(found.indices) == k
    best = cheapest(C, 0.0, [k])
    assert found.bound <= best + 1e-12
    assert found.objective == found.cost
    assert best - 1e-12 <= found.cost <= 1.02 * best + 1e-12
    assert found.ratio >= 1.0


def test_candidates_are_rows_or_points_or_columns():
    X = points(20)
    rows = select_prototypes(X, 2, candidates=[3, 5, 7])
    assert set(rows.indices) <= {3, 5, 7}
    others = points(4, seed=9)
    free = select_prototypes(X, 2, candidates=others)
    assert free.indices.max() < 4
    R = pairwise_distances(X, others, metric="sqeuclidean")
    given = select_prototypes(R, 2, dissimilarity="precomputed")
    np.testing.assert_array_equal(given.indices, free.indices)
    assert given.cost == pytest.approx(free.cost)


def test_weights_count_and_rows_without_weight_are_no_prototypes():
    X = points(20)
    weights = np.ones(20)
    weights[:10] = 0.0
    weighted = select_prototypes(X, 3, sample_weight=weights)
    alone = select_prototypes(X[10:], 3)
    np.testing.assert_array_equal(weighted.indices, alone.indices + 10)
    assert weighted.cost == pytest.approx(alone.cost)


def test_without_time_the_bound_still_holds():
    X = points(30)
    C = pairwise_distances(X, metric="sqeuclidean") / 30
    for k in (None, 2):
        found = select_prototypes(X, k, max_time=0.0)
        assert np.isfinite(found.bound)
        sizes = range(1, 3) if k is None else [2]
        assert found.bound <= cheapest(C, found.penalty * (k is None), sizes)


def test_equal_rows_have_one_prototype_and_no_cost():
    found = select_prototypes(np.ones((6, 2)), sparsity=0.1)
    assert found.indices.tolist() == [0]
    assert found.cost == 0.0
    assert found.ratio == 1.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_prototypes": 0}, "n_prototypes must be at least 1"),
        ({"n_prototypes": 13}, "n_prototypes must be at most 12"),
        ({"sparsity": -1.0}, "sparsity must be at least 0"),
        ({"max_time": -1.0}, "max_time must be at least 0"),
        ({"candidates": [12]}, "candidates must be indices from 0 to 11"),
        ({"candidates": np.ones((2, 3))}, "candidates has 3 columns"),
        ({"candidates": []}, "candidates is empty"),
        (
            {"candidates": [0, 1], "sample_weight": np.r_[0.0, np.ones(11)]},
            "candidates has row 0, whose sample_weight is zero",
        ),
    ],
)
def test_prototypes_that_cannot_be_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        select_prototypes(points(), **given)


def cost_of(X, rows):
    return pairwise_distances(X, X[rows], metric="sqeuclidean").min(axis=1).mean()


def test_rows_to_label_stand_for_all_and_the_first_are_worth_most():
    X = points(60)
    rows = select_representatives(X, 5)
    assert len(set(rows.tolist())) == 5
    rng = np.random.default_rng(0)
    drawn = [cost_of(X, rng.permutation(60)[:5]) for _ in range(50)]
    assert cost_of(X, rows) < min(drawn)
    gains = -np.diff([cost_of(X, rows[: j + 1]) for j in range(5)])
    assert (np.diff(gains) <= 1e-12).all()


def test_labeled_rows_stand_for_their_neighbors():
    X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    assert select_representatives(X, 2, labeled=[2]).tolist() != [2, 3]
    chosen = select_representatives(X, 2, labeled=[2])
    assert {int(row) // 2 for row in chosen} == {0, 2}
    weights = np.array([1.0, 1, 1, 1, 0, 0])
    assert select_representatives(X, 1, labeled=[2], sample_weight=weights)[0] in (
        0,
        1,
    )
    R = pairwise_distances(X)
    np.testing.assert_array_equal(
        select_representatives(R, 2, labeled=[2], dissimilarity="precomputed"),
        select_representatives(X, 2, labeled=[2], dissimilarity="euclidean"),
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n_rows": 0}, "n_rows must be at least 1"),
        ({"n_rows": 12, "labeled": [0]}, "n_rows must be at most 11"),
        ({"n_rows": 1, "labeled": [12]}, "labeled must be indices"),
        (
            {"n_rows": 1, "labeled": [0], "sample_weight": np.r_[0.0, np.ones(11)]},
            "labeled has row 0, whose sample_weight is zero",
        ),
        ({"n_rows": 1, "dissimilarity": "precomputed"}, "X must be square"),
    ],
)
def test_rows_that_cannot_be_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        select_representatives(np.abs(points()), **given)
