"""Support vector machines get the share of the weights that their exact path asks."""

import json
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from counterpoise import ULSIF, Adapted
from counterpoise.adaptation.guard import choose_mixing, follows_path, mixed
from counterpoise.performance.intervals import folds_of
from counterpoise.performance.metrics import as_metric
from counterpoise.svm import WeightedSVC, WeightedSVR


def shifted(n: int = 240, seed: int = 0) -> Any:
    """Classes that no line parts, and weights by which one corner counts."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    y = (X[:, 0] > X[:, 1] ** 2 + 0.3 * rng.standard_normal(n)).astype(int)
    w = np.exp(2.0 * X[:, 1])
    return X, y, w / w.mean(), rng


def losses_of(model: Any, X: Any, y: Any, w: Any, folds: Any, share: float) -> Any:
    """Held-out losses of refits, one by one."""
    out = np.empty(len(y))
    for kept, held in folds:
        own = mixed(w[kept] / w[kept].mean(), share)
        fitted = model.fit(X[kept], y[kept], own)
        if isinstance(model, WeightedSVC):
            out[held] = fitted.predict(X[held]) != y[held]
        else:
            out[held] = (fitted.predict(X[held]) - y[held]) ** 2
    return out


def guard_of(model: Any, X: Any, y: Any, w: Any, **more: Any) -> Any:
    classes = isinstance(model, WeightedSVC)
    folds = folds_of(None, X, y, is_classifier=classes, seed=0)
    metric = as_metric(more.pop("scoring", None), model, y)
    counts = np.ones(len(y))
    return choose_mixing(model, metric, X, y, w, counts, folds, **more), folds


@pytest.mark.parametrize("scoring", [None, "accuracy"])
def test_values_are_those_of_refits_at_these_shares(scoring: Any) -> None:
    X, y, w, _ = shifted()
    model = WeightedSVC(C=2.0, kernel="linear")
    guard, folds = guard_of(model, X, y, w, scoring=scoring)
    for share, value in zip(guard.exponents, guard.values, strict=True):
        # Where a share is a breakpoint itself, values are those just above it.
        above = min(share + 1e-9, 1.0)
        found = losses_of(model, X, y, w, folds, above) @ w / w.sum()
        if scoring == "accuracy":
            found = 1.0 - found
        assert value == pytest.approx(found, abs=1e-12)


def test_the_smallest_share_within_one_error_of_the_best_is_taken() -> None:
    taken = []
    for seed in range(6):
        X, y, w, rng = shifted(seed=seed)
        model = WeightedSVC(C=0.3, kernel="linear")
        guard, folds = guard_of(model, X, y, w)
        rows = w / w.sum()
        best = losses_of(model, X, y, w, folds, guard.best + 1e-9)
        grid = np.concatenate([rng.random(15), guard.chosen * rng.random(15)])
        for share in grid:
            found = losses_of(model, X, y, w, folds, share)
            # On all shares between, not only on a grid, nothing is better.
            assert rows @ found >= rows @ best - 1e-12
            within = rows @ (found - best) <= np.linalg.norm(rows * (found - best))
            assert not (within and share < guard.chosen)
        chosen = losses_of(model, X, y, w, folds, min(guard.chosen + 1e-9, 1.0))
        error = np.linalg.norm(rows * (chosen - best))
        assert rows @ (chosen - best) <= error + 1e-12
        assert guard.gain == pytest.approx(
            rows @ (losses_of(model, X, y, w, folds, 0.0) - chosen), abs=1e-12
        )
        taken.append(guard.chosen)
    assert min(taken) < max(taken)


def test_one_row_that_changes_sides_is_no_reason_for_weights() -> None:
    moved = 0
    for seed in range(12):
        X, y, w, _ = shifted(100, seed)
        model = WeightedSVC(C=0.3, kernel="linear")
        guard, folds = guard_of(model, X, y, w)
        none = losses_of(model, X, y, w, folds, 0.0)
        best = losses_of(model, X, y, w, folds, guard.best + 1e-9)
        if np.count_nonzero(none - best) == 1:
            moved += 1
            assert guard.chosen == 0.0
    assert moved


def test_the_curve_has_the_intervals_on_which_the_machine_is_best() -> None:
    X, y, w, _ = shifted()
    guard, _ = guard_of(WeightedSVC(C=0.3, kernel="linear"), X, y, w)
    curve = guard.curve
    assert any(low <= guard.best <= high for low, high in curve["optimal_intervals"])
    assert curve["best"] == pytest.approx(min(guard.values), abs=1e-12)
    assert curve["thetas"][0] == 0.0
    json.dumps(guard.to_dict())


def test_what_is_told_of_responses_is_of_its_share() -> None:
    X, _, w, rng = shifted(120)
    y = np.sin(3.0 * X[:, 1]) + 0.2 * rng.standard_normal(120)
    model = WeightedSVR(C=1.0, kernel="linear")
    guard, folds = guard_of(model, X, y, w)
    for share, value in zip(guard.exponents, guard.values, strict=True):
        found = losses_of(model, X, y, w, folds, share) @ w / w.sum()
        assert value == pytest.approx(found, rel=1e-7)
    assert 0.0 < guard.chosen <= guard.best


def test_adapted_machines_are_fitted_to_mixed_weights() -> None:
    X, y, _, rng = shifted()
    X_target = X[np.argsort(-X[:, 1] + 0.5 * rng.random(len(X)))[:120]]
    model = Adapted(
        WeightedSVC(C=0.3, kernel="linear"), ULSIF(), guard=True, random_state=0
    ).fit(X, y, X_target=X_target)
    assert model.guard_.kind == "mixing"
    assert model.mixing_ == model.guard_.chosen
    ratio = model.weight_estimator_.weights_
    expected = 1.0 + model.mixing_ * (ratio - 1.0)
    np.testing.assert_allclose(model.weights_, expected, atol=1e-12)
    other = WeightedSVC(C=0.3, kernel="linear").fit(X, y, expected)
    np.testing.assert_allclose(
        model.estimator_.decision_function(X), other.decision_function(X), atol=1e-9
    )
    assert model.adapted_ == (model.mixing_ > 0.0)
    assert f"{model.mixing_:.3g} of them used" in model.summary()


def test_a_pipeline_is_looked_through() -> None:
    X, y, w, _ = shifted()
    X = 50.0 * X + 3.0
    folds = folds_of(None, X, y, is_classifier=True, seed=0)
    pipeline = make_pipeline(StandardScaler(), WeightedSVC(C=0.3, kernel="linear"))
    metric = as_metric(None, pipeline, y)
    assert follows_path(pipeline, metric)
    guard = choose_mixing(pipeline, metric, X, y, w, np.ones(len(y)), folds)
    for share, value in zip(guard.exponents, guard.values, strict=True):
        wrong = np.empty(len(y))
        for kept, out in folds:
            own = mixed(w[kept], min(share + 1e-9, 1.0))
            pipeline.fit(X[kept], y[kept], weightedsvc__sample_weight=own)
            wrong[out] = pipeline.predict(X[out]) != y[out]
        assert value == pytest.approx(wrong @ w / w.sum(), abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_mixed_weights_are_of_mean_one_whatever_the_mean_of_the_ratio(
    share: float,
) -> None:
    ratio = np.array([0.0, 1.0, 5.0])
    expected = 1.0 + share * (ratio / 2.0 - 1.0)
    np.testing.assert_allclose(mixed(ratio, share), expected, atol=1e-15)


def test_counts_of_two_are_rows_twice() -> None:
    X, y, w, _ = shifted(80)
    counts = 1.0 + (np.arange(80) % 2)
    twice = np.repeat(np.arange(80), counts.astype(int))
    folds = folds_of(None, X, y, is_classifier=True, seed=0)
    place = np.empty(80, dtype=int)
    for k, (_, out) in enumerate(folds):
        place[out] = k
    copies = [
        (np.flatnonzero(place[twice] != k), np.flatnonzero(place[twice] == k))
        for k in range(len(folds))
    ]
    model = WeightedSVC(C=0.5, kernel="linear")
    metric = as_metric(None, model, y)
    once = choose_mixing(model, metric, X, y, w, counts, folds)
    again = choose_mixing(
        model, metric, X[twice], y[twice], w[twice], np.ones(len(twice)), copies
    )
    assert once.values == pytest.approx(again.values, abs=1e-12)
    assert once.chosen == pytest.approx(again.chosen, abs=1e-6)


@pytest.mark.parametrize(
    ("estimator", "scoring"),
    [
        (WeightedSVC(), "roc_auc"),
        (SVC(), None),
        (WeightedSVC(kernel="precomputed"), None),
        (WeightedSVC(break_ties=True), None),
    ],
)
def test_what_has_no_exact_path_is_left_to_exponents(
    estimator: Any, scoring: Any
) -> None:
    assert not follows_path(estimator, as_metric(scoring, estimator, [0, 1]))


def test_a_budget_of_rows_is_left_to_exponents() -> None:
    X, y, _, _ = shifted()
    model = Adapted(WeightedSVC(), ULSIF(), guard=True, max_samples=60, random_state=0)
    model.fit(X, y, X_target=X[X[:, 1] > 0.0])
    assert model.guard_.kind == "exponent"
    assert model.mixing_ == 1.0
