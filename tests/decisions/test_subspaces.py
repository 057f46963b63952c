"""Frames for users: what is refused, left out, warned of, and which search is kept."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from counterpoise.errors import InvalidInputError
from counterpoise.optim import Certificate, attested
from counterpoise.subspaces import (
    MaxMinDistanceAnalysis,
    OrthogonalGraphClustering,
    OrthogonalProblem,
    SharedSubspace,
    shared_subspace,
    solve_orthogonal,
)
from counterpoise.subspaces import clustering as graph_clustering
from counterpoise.subspaces import discriminant as max_min_distance
from counterpoise.subspaces.discriminant import class_means, coinciding, pose_distances
from counterpoise.subspaces.orthogonal import read_start, warn_if_not_converged

EYE = np.eye(3)
PROBLEM = OrthogonalProblem(np.diag([1.0, 2.0, 3.0]), np.ones((3, 1)))


def test_a_start_is_orthonormal_to_a_millionth():
    for excess, taken in ((4e-7, True), (6e-7, False)):
        start = (1.0 + excess) * EYE[:, :1]
        if taken:
            np.testing.assert_array_equal(read_start(PROBLEM, start, None), start)
        else:
            with pytest.raises(InvalidInputError, match="orthonormal"):
                read_start(PROBLEM, start, None)


def found(violation, residual):
    proof = Certificate("stationarity", 1.0, residual=residual, infeasibility=violation)
    return attested(EYE[:, :1], proof, 1e-6)


def test_what_is_warned_of_a_frame_depends_on_its_violation():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_not_converged("x", found(1e-6, 1e-6))
    with pytest.warns(ConvergenceWarning, match="no feasible point found.*1.1e-06"):
        warn_if_not_converged("x", found(1.1e-6, 0.0))
    with pytest.warns(ConvergenceWarning, match="NOT converged"):
        warn_if_not_converged("x", found(9e-7, 1.0))


def test_a_penalty_above_a_hundred_slopes_that_keeps_the_start_is_told():
    # A stationary frame stays where it is, whatever the penalty.
    P = -np.ones((3, 1)) / np.sqrt(3.0)
    still = OrthogonalProblem(EYE, np.ones((3, 1)))
    how = {"start": P, "solver": "relaxation", "polish": False}
    with pytest.warns(UserWarning, match="it keeps the start"):
        solve_orthogonal(still, penalty=101.0 * still.slope, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solve_orthogonal(still, penalty=99.0 * still.slope, **how)
    # One that moves is no matter of the penalty.
    with pytest.warns(ConvergenceWarning):
        solve_orthogonal(
            PROBLEM,
            start=EYE[:, :1],
            solver="relaxation",
            polish=False,
            penalty=101.0 * PROBLEM.slope,
            max_iter=3,
        )


def spread(smallest):
    """Return rows of two classes whose second column has so much variance."""
    rest = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    rest[:, 1] *= np.sqrt(smallest)
    return np.vstack([rest, rest + np.array([5.0, 0.0])]), np.repeat([0, 1], 4)


def test_directions_without_spread_are_left_out_or_refused():
    X, y = spread(3e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert class_means(X, y, 0.0, "x", 2).whitener.shape == (2, 2)
    X, y = spread(3e-11)
    with pytest.warns(UserWarning, match="1 of 2 directions have no spread"):
        assert class_means(X, y, 0.0, "x", 1).whitener.shape == (2, 1)
    with pytest.raises(InvalidInputError, match="needs 2 directions"):
        class_means(X, y, 0.0, "x", 2)


def test_means_that_coincide_are_left_out_by_name():
    rng = np.random.default_rng(0)
    rest = rng.standard_normal((20, 3))
    rest -= rest.mean(axis=0)
    y = np.repeat(list("abc"), 20)
    for apart, same in ((1e-7, True), (1e-5, False)):
        shifts = np.array([[0.0, 0.0, 0.0], [apart, 0.0, 0.0], [1.0, 0.0, 0.0]])
        X = np.vstack([rest + shift for shift in shifts])
        means = class_means(X, y, 0.0, "x", 1)
        if same:
            with pytest.warns(UserWarning, match="'a'.* and .*'b'"):
                out = coinciding(means, "x")
            problem, _ = pose_distances(means, means.span(), out, 1)
            assert len(problem.forms) == 2
        else:
            assert not coinciding(means, "x").any()


def test_a_kernel_has_as_many_coordinates_as_rows_beyond_the_classes():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((10, 4)), np.repeat([0, 1], 5)
    fitted = MaxMinDistanceAnalysis(8, kernel="rbf", gamma=5.0, shrinkage=1.0).fit(X, y)
    assert fitted.components_.shape == (8, 8)
    with pytest.raises(InvalidInputError, match="exceeds the 8 coordinates"):
        MaxMinDistanceAnalysis(9, kernel="rbf", gamma=5.0, shrinkage=1.0).fit(X, y)


def test_of_several_searches_the_best_is_kept(monkeypatch):
    values = iter([-1.0, -3.0, -2.0])

    def solved(problem, *_, **__):
        proof = Certificate("stationarity", next(values), -9.0, residual=0.0)
        return attested(np.eye(*problem.shape), proof, 1e-3)

    monkeypatch.setattr(max_min_distance, "solve", solved)
    rng = np.random.default_rng(2)
    y = np.repeat(np.arange(4), 10)
    X = rng.standard_normal((40, 5)) + 3.0 * np.eye(5)[y]
    fitted = MaxMinDistanceAnalysis(2, n_init=3, random_state=0).fit(X, y)
    assert fitted.solution_.certificate.objective == -3.0


def blobs():
    rng = np.random.default_rng(3)
    centers = 6.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [3, 3], [3, 4.5]])
    return np.vstack([c + rng.standard_normal((12, 2)) for c in centers])


def test_starts_are_settled_labels_and_none_comes_twice(monkeypatch):
    runs = []
    whole = graph_clustering.KMeans

    def spy(k, n_init, random_state):
        runs.append(n_init)
        return whole(k, n_init=n_init, random_state=random_state)

    monkeypatch.setattr(graph_clustering, "KMeans", spy)
    solved = []

    def kept(problem, method, start, **how):
        solved.append(start)
        proof = Certificate("stationarity", 0.0, -1.0, residual=0.0)
        return attested(start, proof, 1e-4)

    monkeypatch.setattr(graph_clustering, "solve", kept)
    OrthogonalGraphClustering(6, random_state=0).fit(blobs())
    assert runs == [10] * 4
    assert len(solved) == 1


def test_the_start_of_the_lowest_objective_wins(monkeypatch):
    values = iter([0.2, 0.1, 0.3])
    starts = [np.arange(72) % 6, (np.arange(72) + 1) % 6, np.arange(72) // 12]
    monkeypatch.setattr(
        OrthogonalGraphClustering, "_starts", lambda self, *_: iter(starts)
    )

    def solved(problem, method, start, **how):
        proof = Certificate("stationarity", next(values), 0.0, residual=0.0)
        return attested(start, proof, 1e-4)

    monkeypatch.setattr(graph_clustering, "solve", solved)
    fitted = OrthogonalGraphClustering(6, random_state=0).fit(blobs())
    assert fitted.objective_ == 0.1
    np.testing.assert_array_equal(fitted.labels_, starts[1])


def test_rows_alone_and_parts_of_a_graph_are_told():
    W = np.zeros((8, 8))
    W[:4, :4] = W[4:7, 4:7] = 1.0
    how = OrthogonalGraphClustering(2, affinity="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="no neighbor") as told:
        fitted = how.fit(W)
    assert len(told) == 1
    assert fitted.labels_[7] == fitted.labels_[0]
    with pytest.warns(UserWarning, match="falls into 2 parts"):
        how.set_params(n_clusters=1).fit(W[:7, :7])


def test_more_than_thirty_columns_are_searched_in_a_subspace(monkeypatch):
    asked = []

    def spy(problem, basis):
        asked.append(problem.shape[0])
        raise LookupError

    monkeypatch.setattr(shared_subspace, "restricted", spy)
    stop = SimpleNamespace(solve=lambda *_, **__: (_ for _ in ()).throw(KeyError))
    monkeypatch.setattr(shared_subspace, "solve", stop.solve)
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1, 2], 40)
    for columns, error in ((30, KeyError), (31, LookupError)):
        X = rng.standard_normal((120, columns)) + np.eye(columns)[y]
        with pytest.raises(error):
            SharedSubspace(2, random_state=0).fit(X, y, X_target=X + 1.0)
    assert asked == [31]


def test_samples_too_far_apart_share_no_subspace():
    still = np.zeros((1, 1))
    shared_subspace._refuse_far(EYE[:1, :1], np.array([0.9e30]), still)
    for far in ((np.array([1.1e30]), still), (np.zeros(1), np.array([[1.1e60]]))):
        with pytest.raises(InvalidInputError, match="squared spreads of a class"):
            shared_subspace._refuse_far(EYE[:1, :1], *far)
