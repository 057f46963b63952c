import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor

from counterpoise.adaptation import labeling as labeling
from counterpoise.adaptation.labeling import select_rows_to_label


def waves(rng, n, moved):
    X = rng.normal(size=(n, 2)) + moved
    return X, np.sin(1.5 * X[:, 0]) * X[:, 1] + X[:, 0] + 0.3 * rng.normal(size=n)


def test_labels_of_chosen_rows_help_a_refit_more_than_those_of_random_rows():
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = waves(rng, 300, 0.0)
        X_target, y_target = waves(rng, 800, 1.2)
        X_test, y_test = waves(rng, 3000, 1.2)
        forest = RandomForestRegressor(25, min_samples_leaf=3, random_state=0)

        def loss(rows, forest=forest, X=X, y=y, X_target=X_target, y_target=y_target,
                 X_test=X_test, y_test=y_test):  # fmt: skip
            forest.fit(np.vstack([X, X_target[rows]]), np.append(y, y_target[rows]))
            return np.mean((forest.predict(X_test) - y_test) ** 2)

        chosen = select_rows_to_label(forest.fit(X, y), X, X_target, 20, random_state=0)
        by_chance = np.mean([loss(rng.choice(800, 20, replace=False)) for _ in "ab"])
        gains.append(1 - loss(chosen) / by_chance)
    assert np.mean(gains) > 0.1
    assert np.mean(np.array(gains) > 0) >= 0.75


def test_rows_are_chosen_where_the_source_has_none_and_never_twice():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X_target = np.vstack([rng.normal(size=(150, 2)), rng.normal(6, 0.5, size=(50, 2))])
    model = DummyRegressor().fit(X, X[:, 0])
    chosen = select_rows_to_label(model, X, X_target, 10, random_state=0)
    assert len(set(chosen.tolist())) == 10
    assert (chosen[:3] >= 150).all()


def test_copies_of_a_row_are_not_all_chosen():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 1))
    X_target = np.vstack([np.full((50, 1), 5.0), np.full((50, 1), 8.0)])
    model = DummyRegressor().fit(X, X[:, 0])
    chosen = select_rows_to_label(model, X, X_target, 2)
    assert sorted(X_target[chosen, 0]) == [5.0, 8.0]


class HalfSure(ClassifierMixin, BaseEstimator):
    """Is sure of rows above zero, and of no others."""

    classes_ = np.arange(2)

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)

    def predict_proba(self, X):
        p = np.where(X[:, 0] > 0, 0.99, 0.5)
        return np.column_stack([1 - p, p])


def test_rows_that_a_classifier_is_unsure_of_come_first():
    X = np.linspace(-0.5, 0.5, 40)[:, None]
    X_target = np.array([[2.0], [-2.0], [2.1], [-2.1]])
    first = select_rows_to_label(HalfSure(), X, X_target, 1)
    assert X_target[first[0]] < 0
    again = select_rows_to_label(HalfSure(), -X, -X_target, 1)
    assert -X_target[again[0]] < 0


def test_all_rows_can_be_asked_for_and_no_more():
    X, X_target = np.arange(10.0)[:, None], np.arange(5.0)[:, None]
    model = DummyRegressor().fit(X, X[:, 0])
    assert sorted(select_rows_to_label(model, X, X_target, 5)) == [0, 1, 2, 3, 4]
    for k in (0, 6):
        with pytest.raises(ValueError, match="n_rows must be"):
            select_rows_to_label(model, X, X_target, k)


def test_mixed_tables_and_tuples_are_taken():
    rng = np.random.default_rng(3)

    def frame(n, color):
        return pd.DataFrame({"x": rng.normal(size=n), "c": rng.choice(color, n)})

    X, first, second = frame(60, ["r", "g"]), frame(20, ["g", "b"]), frame(30, ["b"])
    model = DummyRegressor().fit(X, np.arange(60.0))
    chosen = select_rows_to_label(model, X, (first, second), 4, random_state=0)
    together = select_rows_to_label(
        model, X, pd.concat([first, second]), 4, random_state=0
    )
    assert chosen.tolist() == together.tolist()


def test_many_rows_are_chosen_in_rounds_that_fit_into_memory(monkeypatch):
    monkeypatch.setattr(labeling, "CANDIDATES_AT_ONCE", 50)
    seen = []
    greedy = labeling._greedy
    monkeypatch.setattr(
        labeling, "_greedy", lambda left, *more: seen.append(left.shape) or
        greedy(left, *more),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X_target = np.vstack([rng.normal(size=(200, 2)), rng.normal(6, 1, size=(40, 2))])
    model = DummyRegressor().fit(X, X[:, 0])
    chosen = select_rows_to_label(model, X, X_target, 120, random_state=0)
    assert len(set(chosen.tolist())) == 120
    assert max(map(max, seen)) <= 50
    assert len(seen) == 3
    # By turns: every round begins where the source has no rows.
    assert (chosen[:3] >= 200).all()
    every = select_rows_to_label(model, X, X_target, 240, random_state=0)
    assert sorted(every) == list(range(240))
