"""Max-min distance analysis."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.errors import InvalidInputError
from counterpoise.subspaces import MaxMinDistanceAnalysis

X, Y = load_wine(return_X_y=True)


def classes_of(seed, count=6, columns=8, rows=40):
    rng = np.random.default_rng(seed)
    means = 1.4 * rng.standard_normal((count, columns))
    y = np.repeat(np.arange(count), rows)
    return means[y] + rng.standard_normal((len(y), columns)), y


def within(X, y, shrinkage=0.0):
    rest = np.vstack([X[y == k] - X[y == k].mean(axis=0) for k in np.unique(y)])
    S = rest.T @ rest / len(X)
    return S + shrinkage * np.trace(S) / len(S) * np.eye(len(S))


@pytest.mark.parametrize("solver", ["softmin", "mm", "relaxation", "fantope"])
def test_every_solver_gives_what_it_promises(solver):
    A, y = classes_of(0)
    fitted = MaxMinDistanceAnalysis(2, solver=solver, random_state=0).fit(A, y)
    Q = fitted.components_
    np.testing.assert_allclose(Q @ within(A, y) @ Q.T, np.eye(2), atol=1e-8)
    Z = fitted.transform(A)
    np.testing.assert_allclose(Z, (A - fitted.mean_) @ Q.T)
    means = np.array([Z[y == k].mean(axis=0) for k in range(6)])
    squares = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(fitted.pair_distances_, squares, atol=1e-8)
    least = squares[np.triu_indices(6, 1)].min()
    assert fitted.min_distance_ == pytest.approx(least)
    assert fitted.bound_ >= fitted.min_distance_
    objective = fitted.solution_.certificate.objective
    assert objective == pytest.approx(-fitted.min_distance_)
    assert fitted.solution_.converged


def test_the_nearest_pair_is_further_apart_than_in_lda():
    for seed in range(5):
        A, y = classes_of(seed)
        ours = MaxMinDistanceAnalysis(2).fit(A, y)
        lda = LinearDiscriminantAnalysis(n_components=2, solver="eigen").fit(A, y)
        Z = lda.transform(A)
        means = np.array([Z[y == k].mean(axis=0) for k in range(6)])
        S = within(Z, y)
        gaps = (means[:, None] - means[None]) @ np.linalg.inv(np.linalg.cholesky(S)).T
        least = (gaps**2).sum(axis=2)[np.triu_indices(6, 1)].min()
        assert ours.min_distance_ > least


def test_two_classes_give_the_direction_of_lda():
    A, y = classes_of(1, count=2)
    ours = MaxMinDistanceAnalysis(1).fit(A, y).components_[0]
    lda = LinearDiscriminantAnalysis(solver="eigen", n_components=1).fit(A, y)
    direction = lda.scalings_[:, 0]
    cosine = ours @ direction / np.linalg.norm(ours) / np.linalg.norm(direction)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-9)


def test_with_as_many_directions_as_the_means_span_nothing_is_lost():
    A, y = classes_of(2, count=4)
    for m in (3, 5):
        fitted = MaxMinDistanceAnalysis(m).fit(A, y)
        S, means = within(A, y), np.array([A[y == k].mean(axis=0) for k in range(4)])
        gaps = [means[i] - means[j] for i in range(4) for j in range(i)]
        least = min(gap @ np.linalg.solve(S, gap) for gap in gaps)
        assert fitted.min_distance_ == pytest.approx(least, rel=1e-6)
        assert fitted.bound_ == pytest.approx(least, rel=1e-6)


def test_more_starts_are_never_worse():
    A, y = classes_of(3)
    one = MaxMinDistanceAnalysis(2, random_state=0).fit(A, y).min_distance_
    many = MaxMinDistanceAnalysis(2, n_init=4, random_state=0).fit(A, y)
    assert many.min_distance_ >= one - 1e-9


def test_a_shrinkage_is_a_ridge_on_the_covariance_within_classes():
    A, y = classes_of(4, rows=2, columns=12)
    with pytest.warns(UserWarning, match="6 of 12 directions have no spread"):
        MaxMinDistanceAnalysis(2).fit(A, y)
    fitted = MaxMinDistanceAnalysis(2, shrinkage=0.1).fit(A, y)
    Q = fitted.components_
    np.testing.assert_allclose(Q @ within(A, y, 0.1) @ Q.T, np.eye(2), atol=1e-8)


def test_classes_with_one_mean_are_named():
    A = np.vstack([X[:60], X[:60], X[100:130]])
    y = np.repeat(["a", "b", "c"], [60, 60, 30])
    with pytest.warns(UserWarning, match="'a'.* and .*'b'.* have the same mean"):
        fitted = MaxMinDistanceAnalysis(1).fit(A, y)
    assert fitted.min_distance_ == pytest.approx(0.0, abs=1e-12)
    assert fitted.bound_ == pytest.approx(0.0, abs=1e-12)
    assert fitted.pair_distances_[0, 2] > 1.0


def test_a_kernel_separates_what_no_line_does():
    rng = np.random.default_rng(0)
    radius = np.repeat([1.0, 2.0, 3.0], 50)
    angle = rng.uniform(0.0, 2.0 * np.pi, 150)
    A = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    A += 0.1 * rng.standard_normal(A.shape)
    y = radius.astype(int)
    kernel = MaxMinDistanceAnalysis(2, kernel="rbf", gamma=1.0, shrinkage=1e-3)
    model = make_pipeline(kernel, NearestCentroid()).fit(A[::2], y[::2])
    plain = make_pipeline(MaxMinDistanceAnalysis(2), NearestCentroid())
    assert model.score(A[1::2], y[1::2]) >= 0.95
    assert plain.fit(A[::2], y[::2]).score(A[1::2], y[1::2]) <= 0.7
    with pytest.raises(InvalidInputError, match="not defined with a kernel"):
        kernel.fit(A, y).inverse_transform(np.zeros((1, 2)))


def test_it_works_in_pipelines_searches_and_with_frames():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MaxMinDistanceAnalysis(), NearestCentroid()),
        {"maxmindistanceanalysis__n_components": [1, 2]},
        cv=3,
    ).fit(X, Y)
    assert search.best_score_ > 0.9
    names = [f"c{k}" for k in range(X.shape[1])]
    analysis = MaxMinDistanceAnalysis(random_state=0)
    plain = analysis.fit_transform(X, Y)
    out = clone(analysis).set_output(transform="pandas")
    table = out.fit_transform(pd.DataFrame(X, columns=names), Y)
    assert list(table.columns) == [
        "maxmindistanceanalysis0",
        "maxmindistanceanalysis1",
    ]
    np.testing.assert_allclose(table.to_numpy(), plain, atol=1e-8)
    again = clone(analysis).fit(pl.DataFrame(X, schema=names), Y)
    np.testing.assert_array_equal(again.components_, analysis.components_)
    np.testing.assert_array_equal(again.feature_names_in_, names)


def test_rows_come_back_from_the_subspace():
    fitted = MaxMinDistanceAnalysis(2).fit(X, Y)
    Z = fitted.transform(X)
    np.testing.assert_allclose(
        fitted.transform(fitted.inverse_transform(Z)), Z, atol=1e-6
    )


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"n_components": 14}, "n_components = 14 exceeds n_features = 13"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"kernel": "rfb"}, "did you mean 'rbf'"),
        ({"shrinkage": -1.0}, "shrinkage must be at least 0"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"kernel": "linear", "n_components": 99}, "exceeds the 13 coordinates"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(how, words):
    with pytest.raises(InvalidInputError, match=words):
        MaxMinDistanceAnalysis(**how).fit(X, Y)


def test_labels_and_rows_are_checked():
    with pytest.raises(InvalidInputError, match="y has 1 class"):
        MaxMinDistanceAnalysis().fit(X, np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="needs 2 directions"):
        MaxMinDistanceAnalysis().fit(np.eye(3), [0, 1, 2])
