"""Clusters of a graph by non-negative orthonormal indicators."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import laplacian
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from counterpoise.errors import InvalidInputError
from counterpoise.subspaces import OrthogonalGraphClustering
from counterpoise.subspaces.clustering import neighbor_graph

MOONS, HALVES = make_moons(200, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def moons():
    return OrthogonalGraphClustering(2, random_state=0).fit(MOONS)


def test_two_moons_are_told_apart_and_k_means_does_not(moons):
    assert adjusted_rand_score(HALVES, moons.labels_) == 1.0
    plain = KMeans(2, n_init=10, random_state=0).fit_predict(MOONS)
    assert adjusted_rand_score(HALVES, plain) < 0.6


def test_the_indicator_is_exactly_feasible_and_its_value_and_bound_are_true(moons):
    P, L = moons.indicator_, laplacian(moons.affinity_matrix_, form="array")
    assert P.min() >= 0.0
    np.testing.assert_allclose(P.T @ P, np.eye(2), atol=1e-13)
    assert moons.objective_ == pytest.approx(np.trace(P.T @ (L @ P)), rel=1e-9)
    least = np.linalg.eigvalsh(L.toarray())[:2].sum()
    assert moons.bound_ == pytest.approx(least, abs=1e-9)
    assert moons.objective_ >= moons.bound_ - 1e-9
    assert moons.solution_.converged
    np.testing.assert_array_equal(moons.labels_, P.argmax(axis=1))


def test_new_rows_get_the_label_of_their_neighbors(moons):
    fresh, truth = make_moons(100, noise=0.05, random_state=1)
    swapped = moons.labels_[0] != HALVES[0]
    assert np.mean(moons.predict(fresh) == (truth ^ swapped)) >= 0.99
    assert np.mean(moons.predict(MOONS) == moons.labels_) >= 0.99
    # However far away, a row belongs somewhere.
    assert moons.predict([[1e6, 1e6]])[0] in (0, 1)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_given_affinities_are_clustered_and_predicted(moons, kind):
    W = moons.affinity_matrix_
    W = W.toarray() if kind == "dense" else W
    fitted = OrthogonalGraphClustering(2, affinity="precomputed", random_state=0).fit(W)
    assert adjusted_rand_score(moons.labels_, fitted.labels_) == 1.0
    np.testing.assert_array_equal(fitted.predict(W[:7]), fitted.labels_[:7])
    assert fitted.predict(np.zeros((1, 200)))[0] in (0, 1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_iris_is_clustered_alike_from_every_seed(seed):
    X, y = load_iris(return_X_y=True)
    fitted = OrthogonalGraphClustering(3, random_state=seed).fit(X)
    assert adjusted_rand_score(y, fitted.labels_) > 0.74


def test_the_parabolic_relaxation_finds_blobs():
    X, y = make_blobs(60, centers=3, random_state=3)
    how = OrthogonalGraphClustering(3, relaxation="parabolic", n_init=2, random_state=0)
    assert adjusted_rand_score(y, how.fit(X).labels_) == 1.0


def test_the_same_seed_gives_the_same_bytes():
    X, _ = make_blobs(40, centers=3, random_state=4)
    how = OrthogonalGraphClustering(3, random_state=1)
    one, other = how.fit(X).indicator_, clone(how).fit(X).indicator_
    assert one.tobytes() == other.tobytes()


def test_one_cluster_and_a_cluster_a_row_are_possible():
    X, _ = make_blobs(6, centers=2, random_state=5)
    assert set(OrthogonalGraphClustering(1).fit(X).labels_) == {0}
    each = OrthogonalGraphClustering(6).fit(X)
    assert sorted(each.labels_) == list(range(6))


def test_rows_without_a_neighbor_get_the_largest_clusters_label():
    W = np.zeros((9, 9))
    W[:5, :5] = W[5:8, 5:8] = 1.0
    how = OrthogonalGraphClustering(2, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="1 rows have no neighbor .*row 8"):
        fitted = how.fit(W)
    assert fitted.labels_[8] == fitted.labels_[0] != fitted.labels_[5]
    np.testing.assert_array_equal(fitted.indicator_[8], 0.0)


def test_a_graph_of_more_parts_than_clusters_is_told():
    W = sparse.block_diag([np.ones((3, 3))] * 3, format="csr")
    how = OrthogonalGraphClustering(2, affinity="precomputed", random_state=0)
    with pytest.warns(
        UserWarning, match="falls into 3 parts, more than n_clusters = 2"
    ):
        how.fit(W)


def test_rows_that_are_all_the_same_have_a_graph():
    search = NearestNeighbors(n_neighbors=3).fit(np.ones((5, 2)))
    affinity, width = neighbor_graph(search)
    assert width == 1.0
    assert affinity.min() >= 0.0


def test_callbacks_and_budgets_end_the_search():
    seen = []
    how = OrthogonalGraphClustering(2, n_init=1, callback=seen.append, random_state=0)
    fitted = how.fit(MOONS)
    assert len(seen) == fitted.n_iter_ + 1
    short = OrthogonalGraphClustering(2, max_time=0.0, random_state=0).fit(MOONS)
    np.testing.assert_allclose(
        short.indicator_.T @ short.indicator_, np.eye(2), atol=1e-13
    )


@pytest.mark.parametrize(
    ("how", "X", "words"),
    [
        ({"n_clusters": 0}, MOONS, "n_clusters must be at least 1"),
        ({"n_clusters": 9}, MOONS[:4], "n_clusters = 9 exceeds n_samples = 4"),
        ({"affinity": "rbf"}, MOONS, "affinity must be one of"),
        ({"n_init": 0}, MOONS, "n_init must be at least 1"),
        ({"affinity": "precomputed"}, MOONS, "square matrix of affinities"),
        (
            {"affinity": "precomputed", "n_clusters": 2},
            -np.ones((3, 3)),
            "must not be negative, got -1 at row 0, column 0",
        ),
        (
            {"affinity": "precomputed", "n_clusters": 2},
            np.triu(np.ones((3, 3))),
            "symmetric: those of rows 0 and 1 differ by 1",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(how, X, words):
    with pytest.raises(InvalidInputError, match=words):
        OrthogonalGraphClustering(**how).fit(X)
