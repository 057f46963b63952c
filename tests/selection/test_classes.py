"""Which classes of the source a target holds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from counterpoise.selection import ClassSelection, select_classes
from counterpoise.weights.partial import (
    auto_sparsity,
    classes_by_probabilities,
    common_components,
    default_predictions,
    neighbor_laplacian,
)

NAMES = np.array(["ant", "bee", "cat", "dog", "elk", "fox"])


def samples(present=(0, 2), n=240, m=120, seed=0, spread=0.8):
    """Return a source of six classes and a moved target of some of them."""
    rng = np.random.default_rng(seed)
    centers = 2.5 * rng.normal(size=(6, 8))
    codes = np.arange(n) % 6
    X = centers[codes] + spread * rng.normal(size=(n, 8))
    there = np.array(present)[np.arange(m) % len(present)]
    target = centers[there] + 0.4 + spread * rng.normal(size=(m, 8))
    return X, NAMES[codes], target, NAMES[there]


def test_the_classes_of_a_target_are_found():
    X, y, X_target, y_target = samples()
    found = select_classes(X, y, X_target)
    assert isinstance(found, ClassSelection)
    np.testing.assert_array_equal(found.classes, NAMES)
    np.testing.assert_array_equal(found.classes[found.present], ["ant", "cat"])
    assert found.shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.shares, found.assignment.mean(axis=0))
    np.testing.assert_array_equal(found.labels, NAMES[found.assignment.argmax(axis=1)])
    assert np.mean(found.labels == y_target) > 0.95
    assert found.assignment.shape == (120, 6)
    assert found.solution.converged
    assert 0.4 < found.confidence <= 1.0
    assert 0.0 < found.sparsity < 0.15


def test_where_all_classes_are_there_nothing_is_taken_away():
    X, y, X_target, y_target = samples(range(6))
    found = select_classes(X, y, X_target)
    assert found.present.all()
    p = default_predictions(X, y, X_target, 0)[0].probabilities
    alone = np.mean(NAMES[p.argmax(axis=1)] == y_target)
    assert np.mean(found.labels == y_target) >= alone - 0.01


@pytest.mark.parametrize("present", [(0,), (1, 4), (0, 1, 2, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_labels_are_no_worse_than_those_of_the_classifier(present, seed):
    X, y, X_target, y_target = samples(present, seed=seed, spread=1.5)
    found = select_classes(X, y, X_target)
    p = default_predictions(X, y, X_target, 0)[0].probabilities
    alone = np.mean(NAMES[p.argmax(axis=1)] == y_target)
    assert np.mean(found.labels == y_target) >= alone - 0.01


@pytest.mark.filterwarnings("ignore:the classifier is unsure")
def test_a_classifier_that_has_collapsed_takes_no_class_away():
    X, y, X_target, _ = samples(range(6))
    dull = RandomForestClassifier(1, max_depth=1, random_state=0)
    found = select_classes(X, y, X_target, estimator=dull)
    says = clone(dull).fit(X, y).predict(X)
    unseen = ~np.isin(NAMES, says)
    assert unseen.sum() >= 3
    assert not found.class_costs[unseen].any()
    free = select_classes(X, y, X_target, estimator=dull, sparsity=0.0)
    assert set(free.classes[free.present]) <= set(found.classes[found.present])


def test_any_classifier_graph_and_sparsity_may_be_given():
    X, y, X_target, y_target = samples()
    frame = pd.DataFrame(X).add_prefix("c")
    target = pd.DataFrame(X_target).add_prefix("c")
    forest = RandomForestClassifier(50, random_state=0)
    found = select_classes(frame, y, target, estimator=forest, sparsity=0.05)
    assert found.sparsity == 0.05
    assert (found.class_costs == 1.0).all()
    assert np.mean(found.labels == y_target) > 0.95
    assert not hasattr(forest, "classes_")
    alike = (y_target[:, None] == y_target).astype(float)
    np.fill_diagonal(alike, 0.0)
    given = select_classes(X, y, X_target, graph=alike)
    assert np.mean(given.labels == y_target) > 0.95
    alone = select_classes(X, y, X_target, n_neighbors=0, sparsity=0.0)
    p = default_predictions(X, y, X_target, 0)[0].probabilities
    np.testing.assert_array_equal(alone.labels, NAMES[p.argmax(axis=1)])


def test_the_costs_are_negative_logarithms_with_a_floor():
    p = np.array([[1.0, 0.0], [0.5, 0.5]])
    found = classes_by_probabilities(
        np.array([0, 1]), p, None, sparsity=0.0, smoothness=0.0
    )
    assert found.solution.certificate.objective == pytest.approx(0.5 * np.log(2.0))
    both = classes_by_probabilities(
        np.array([0, 1]), p[:, ::-1], None, sparsity=1.0, smoothness=0.0
    )
    # One class pays for both rows at most -log 1e-6.
    assert both.solution.certificate.objective <= 0.5 * (np.log(2.0) - np.log(1e-6))


def test_the_default_sees_unit_rows_of_common_components():
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(40, 60)) + 3.0, rng.normal(size=(30, 60))
    source, target = common_components(X, X_target, 0)
    assert source.shape == (40, 50)
    np.testing.assert_allclose(np.linalg.norm(source, axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(target, axis=1), 1.0)
    again, _ = common_components(X, X_target, 0)
    np.testing.assert_array_equal(source, again)
    narrow, _ = common_components(X[:, :5], X_target[:, :5], 0)
    moved = X[:, :5] - X[:, :5].mean(axis=0)
    np.testing.assert_allclose(
        narrow, moved / np.linalg.norm(moved, axis=1, keepdims=True)
    )


def test_neighbors_are_mutual():
    L = neighbor_laplacian(np.array([[0.0], [1.0], [1.5], [9.0]]), 1).toarray()
    np.testing.assert_array_equal(L, L.T)
    assert np.trace(L) == 6
    assert neighbor_laplacian(np.zeros((3, 1)), 7).shape == (3, 3)


def test_an_unsure_classifier_is_said_to_be_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 5, 200)
    with pytest.warns(UserWarning, match="unsure of the target"):
        select_classes(X, y, rng.normal(size=(80, 5)))


def test_one_target_row_is_enough():
    X, y, X_target, _ = samples()
    found = select_classes(X, y, X_target[:1])
    assert found.present.sum() == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"y": np.repeat("a", 240)}, "two classes or more"),
        ({"y": NAMES}, "y has 6 rows, X has 240"),
        ({"sparsity": -1.0}, "sparsity must be at least 0"),
        ({"sparsity": "much"}, "sparsity must be"),
        ({"smoothness": -1.0}, "smoothness must be at least 0"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"n_neighbors": -1}, "n_neighbors must be at least 0"),
        ({"graph": np.zeros((3, 3))}, r"graph must have shape \(120, 120\)"),
        ({"X_target": np.zeros((4, 3))}, "X_target"),
        ({"estimator": RidgeClassifier()}, "must have predict_proba"),
        ({"estimator": 3}, "estimator must be a classifier"),
        ({"X_target": np.full((5, 8), np.nan)}, "NaN"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(change, words):
    X, y, X_target, _ = samples()
    given = {"X": X, "y": y, "X_target": X_target, **change}
    with pytest.raises((ValueError, TypeError), match=words):
        select_classes(**given)


def test_the_auto_rule_is_its_formula():
    shares = np.array([0.6, 0.3, 0.1, 0.0])
    sparsity, costs = auto_sparsity(shares)
    effective = 1.0 / 0.46
    assert sparsity == pytest.approx(0.15 * (1 - effective / 4))
    np.testing.assert_allclose(costs, [0.0, 0.0, 1 - 0.2 * effective, 1.0])
    _, found = auto_sparsity(shares, np.array([1.0, 1.0, 0.25, 0.1]))
    np.testing.assert_allclose(found, [0.0, 0.0, 0.5 * costs[2], 0.2])
    even, free = auto_sparsity(np.full(5, 0.2))
    assert even == pytest.approx(0.0, abs=1e-15)
    assert not free.any()


def test_the_same_seed_gives_the_same_bytes():
    X, y, X_target, _ = samples()
    wide = np.random.default_rng(1).normal(size=(8, 70))
    one, other = (
        select_classes(X @ wide, y, X_target @ wide, random_state=3) for _ in range(2)
    )
    assert one.assignment.tobytes() == other.assignment.tobytes()
    plain = LogisticRegression(max_iter=500)
    found = select_classes(X, y, X_target, estimator=plain)
    assert found.solution.converged
