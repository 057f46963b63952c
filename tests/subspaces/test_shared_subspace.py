"""Directions that separate classes while source and target agree."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline

from counterpoise import NoTargetWarning
from counterpoise.errors import InvalidInputError
from counterpoise.subspaces import MaxMinDistanceAnalysis, SharedSubspace


def shifted(seed=0, columns=6, rows=60):
    """Return three classes; the target has moved where they differ most."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), rows)
    means = np.zeros((3, columns))
    means[:, 0], means[:, 1], means[:, 2] = [0, 4, 8], [0, 3, 0], [0, 0, 3]
    X = means[y] + rng.standard_normal((len(y), columns))
    X_target = means[y] + rng.standard_normal((len(y), columns))
    X_target[:, 0] = 2.0 * X_target[:, 0] + 6.0
    return X, y, X_target


@pytest.mark.parametrize("criterion", ["max-min", "trace"])
@pytest.mark.parametrize("relaxation", ["sdp", "parabolic"])
def test_both_moments_agree_and_the_classes_are_apart(criterion, relaxation):
    X, y, X_target = shifted()
    shared = SharedSubspace(
        2, criterion=criterion, relaxation=relaxation, random_state=0
    ).fit(X, y, X_target=X_target)
    Q = shared.components_
    rest = np.vstack([X[y == k] - X[y == k].mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(Q @ (rest.T @ rest / len(X)) @ Q.T, np.eye(2), atol=1e-7)
    mean_shift = ((Q @ (X.mean(axis=0) - X_target.mean(axis=0))) ** 2).sum()
    spread = np.cov(X.T, bias=True) - np.cov(X_target.T, bias=True)
    assert shared.mean_shift_ == pytest.approx(mean_shift)
    assert shared.spread_shift_ == pytest.approx(np.trace(Q @ spread @ Q.T))
    assert mean_shift <= 0.1 + 1e-6
    assert abs(shared.spread_shift_) <= 0.1 + 1e-6
    assert shared.solution_.converged
    assert -shared.solution_.certificate.objective <= shared.bound_ + 1e-9
    assert shared.min_distance_ > 1.0
    # Without constraints the frame would follow the shift.
    free = MaxMinDistanceAnalysis(2).fit(X, y).components_
    assert ((free @ (X.mean(axis=0) - X_target.mean(axis=0))) ** 2).sum() > 1.0


def test_a_classifier_of_the_source_then_serves_the_target():
    X, y, X_target = shifted(1)
    shared = make_pipeline(SharedSubspace(2, random_state=0), NearestCentroid())
    shared.fit(X, y, sharedsubspace__X_target=X_target)
    free = make_pipeline(MaxMinDistanceAnalysis(2), NearestCentroid()).fit(X, y)
    assert shared.score(X_target, y) > free.score(X_target, y) + 0.2


def test_a_smaller_epsilon_leaves_less_room():
    X, y, X_target = shifted(2)
    reached = [
        SharedSubspace(2, epsilon=epsilon, random_state=0)
        .fit(X, y, X_target=X_target)
        .bound_
        for epsilon in (1.0, 0.1, 0.01)
    ]
    assert reached[0] >= reached[1] - 1e-6 >= reached[2] - 2e-6


def test_without_a_target_only_the_classes_count():
    X, y, _ = shifted(3)
    with pytest.warns(NoTargetWarning, match="no X_target"):
        alone = SharedSubspace(2, random_state=0).fit(X, y)
    assert np.isnan(alone.mean_shift_)
    best = MaxMinDistanceAnalysis(2).fit(X, y).min_distance_
    assert alone.min_distance_ == pytest.approx(best, rel=0.05)


def test_no_frame_within_epsilon_is_told_with_the_least_violation():
    X, y, X_target = shifted(4, columns=3)
    with pytest.warns(ConvergenceWarning, match="no feasible point found.*violation"):
        SharedSubspace(3, random_state=0).fit(X, y, X_target=X_target + 5.0)


def test_many_columns_are_searched_in_a_subspace_and_still_agree():
    X, y, X_target = shifted(5, columns=33, rows=80)
    shared = SharedSubspace(2, random_state=0).fit(X, y, X_target=X_target)
    assert shared.mean_shift_ <= 0.1 + 1e-6
    assert abs(shared.spread_shift_) <= 0.1 + 1e-6
    assert shared.min_distance_ > 1.0
    assert shared.bound_ >= shared.min_distance_


def test_clones_and_seeds_repeat_the_bytes():
    X, y, X_target = shifted(6)
    shared = SharedSubspace(2, random_state=0).fit(X, y, X_target=(X_target,))
    again = clone(shared).fit(X, y, X_target=X_target)
    assert shared.components_.tobytes() == again.components_.tobytes()
    assert shared.get_feature_names_out().tolist() == [
        "sharedsubspace0",
        "sharedsubspace1",
    ]


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"n_components": 9}, "n_components = 9 exceeds n_features = 6"),
        ({"criterion": "max"}, "did you mean 'max-min'"),
        ({"epsilon": -0.1}, "epsilon must be at least 0"),
    ],
)
def test_what_makes_no_sense_is_refused_with_words(how, words):
    X, y, X_target = shifted(7)
    with pytest.raises(InvalidInputError, match=words):
        SharedSubspace(**how).fit(X, y, X_target=X_target)


def test_a_target_of_other_columns_is_refused():
    X, y, X_target = shifted(8)
    with pytest.raises(InvalidInputError, match="X_target has 5 columns, X has 6"):
        SharedSubspace().fit(X, y, X_target=X_target[:, :5])
