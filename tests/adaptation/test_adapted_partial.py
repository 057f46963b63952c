"""Any classifier, adapted to a target that has some of the classes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from deep.partial_samples import make_partial
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from counterpoise import (
    Adapted,
    InvalidInputError,
    InvalidTypeError,
    NoTargetWarning,
    PartialWeights,
    WeakClassifierWarning,
    load_model,
)
from counterpoise.adaptation.partial import stacked, values_over_all_classes


def samples(**more):
    return make_partial(**more)


def fitted(estimator=None, weight_estimator="partial", **parameters):
    X, y, X_target, _ = samples()
    model = Adapted(
        LogisticRegression() if estimator is None else estimator,
        weight_estimator=weight_estimator,
        random_state=0,
        **parameters,
    )
    return model.fit(X, y, X_target=X_target)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        KNeighborsClassifier(),
        LinearSVC(),
        HistGradientBoostingClassifier(max_iter=20),
    ],
    ids=lambda one: type(one).__name__,
)
def test_any_classifier_serves_the_classes_that_are_there(estimator):
    X, _, X_target, y_target = samples()
    model = fitted(estimator)
    assert model.absent_classes_.tolist() == [3, 4, 5]
    assert model.adapted_
    assert model.guard_.kind == "partial"
    assert model.guard_.chosen == 1
    assert model.classes_.tolist() == list(range(6))
    assert np.mean(model.target_labels_ == y_target) > 0.95
    assert model.score(X_target, y_target) > 0.95
    assert set(model.predict(X)) <= {0, 1, 2}
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(X_target)
        assert p.shape == (len(X_target), 6)
        assert (p[:, 3:] == 0.0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.class_weight_, [2, 2, 2, 0, 0, 0])
    assert model.weights_.mean() == pytest.approx(1.0)


def test_missing_overlap_is_told_and_no_error():
    X, y, X_target, _ = samples()
    rng = np.random.default_rng(0)
    apart = [0.1 * rng.normal(size=(len(part), 1)) for part in (X, X_target)]
    X, X_target = np.hstack([X, apart[0]]), np.hstack([X_target, 2.0 + apart[1]])
    model = Adapted(LogisticRegression(), weight_estimator="partial", random_state=0)
    model.fit(X, y, X_target=X_target)
    assert model.diagnosis_.verdict == "no overlap"
    assert "no overlap" in model.summary()
    assert "Classes: " in model.summary()
    assert "by class, absent ones weigh nothing" in model.summary()
    assert f"and to {len(X_target)} target rows" in model.summary()
    assert "no class that the source has not" in model.summary()


def test_the_estimator_sees_present_rows_and_labeled_target_rows():
    _, y, X_target, _ = samples()
    model = fitted(KNeighborsClassifier(1))
    assert model.estimator_.n_samples_fit_ == np.count_nonzero(y < 3) + len(X_target)
    assert np.array_equal(model.predict(X_target), model.target_labels_)
    alone = fitted(KNeighborsClassifier(1), PartialWeights(with_target=False))
    assert alone.estimator_.n_samples_fit_ == np.count_nonzero(y < 3)


def test_where_no_class_is_absent_the_model_is_the_users_own():
    X, y, X_target, _ = samples(present=range(6))
    model = Adapted(LogisticRegression(), weight_estimator="partial", random_state=0)
    model.fit(X, y, X_target=X_target)
    assert not model.adapted_
    assert model.absent_classes_.size == 0
    own = LogisticRegression().fit(X, y)
    assert np.array_equal(model.predict_proba(X_target), own.predict_proba(X_target))
    assert (model.weights_ == 1.0).all()
    assert "all 6 of the source seem to be in the target" in model.summary()


def test_a_weak_classifier_is_left_as_it_is_with_a_warning():
    X, y, X_target, _ = samples()
    model = Adapted(
        LogisticRegression(C=1e-9), weight_estimator="partial", random_state=0
    )
    with pytest.warns(WeakClassifierWarning, match="rows stay unweighted"):
        model.fit(X, y, X_target=X_target)
    assert not model.adapted_
    assert model.guard_.chosen == 0
    assert np.array_equal(model.target_labels_, model.predict(X_target))


def test_user_weights_multiply():
    X, y, X_target, _ = samples()
    counts = np.where(y == 0, 3.0, 1.0)
    model = Adapted(LogisticRegression(), weight_estimator="partial", random_state=0)
    model.fit(X, y, X_target=X_target, sample_weight=counts)
    assert np.average(model.weights_, weights=counts) == pytest.approx(1.0)
    assert model.absent_classes_.tolist() == [3, 4, 5]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_pass_to_the_estimator_as_they_are(kind):
    X, y, X_target, y_target = samples()
    frame = pd.DataFrame if kind == "pandas" else pl.DataFrame
    names = [f"c{k}" for k in range(X.shape[1])]
    source, target = (
        frame(dict(zip(names, part.T, strict=True))) for part in (X, X_target)
    )
    words = np.array(list("abcdef"))
    model = Adapted(LogisticRegression(), weight_estimator="partial", random_state=0)
    model.fit(source, words[y], X_target=(target[:50], target[50:]))
    assert model.absent_classes_.tolist() == list("def")
    assert model.score(target, words[y_target]) > 0.95
    assert model.estimator_.feature_names_in_.tolist() == names


def test_it_is_searched_and_saved(tmp_path):
    X, y, X_target, _ = samples()
    search = GridSearchCV(
        Adapted(LogisticRegression(), weight_estimator="partial", random_state=0),
        {"estimator__C": [0.1, 1.0]},
        cv=2,
    )
    search.fit(X, y, X_target=(X_target,))
    assert search.best_estimator_.absent_classes_.tolist() == [3, 4, 5]
    with sklearn.config_context(enable_metadata_routing=True):
        routed = Adapted(
            LogisticRegression(), weight_estimator="partial", random_state=0
        )
        routed.set_fit_request(X_target=True).fit(X, y, X_target=X_target)
        assert routed.absent_classes_.tolist() == [3, 4, 5]
    path = tmp_path / "model.skops"
    model = fitted()
    model.save(path)
    again = load_model(path)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.classes_.tolist() == list(range(6))


def test_decision_values_are_over_all_classes_too():
    _, _, X_target, _ = samples()
    model = fitted(LinearSVC())
    values = model.decision_function(X_target)
    assert values.shape == (len(X_target), 6)
    assert np.array_equal(values[:, :3], model.estimator_.decision_function(X_target))
    np.testing.assert_allclose(values[:, 3:].max(axis=1), values.min(axis=1))
    np.testing.assert_allclose(values[:, 5], values[:, :3].min(axis=1) - 1.0)
    assert np.array_equal(
        model.classes_[values.argmax(axis=1)], model.predict(X_target)
    )
    # Two classes that are left have one column of values, and get two.
    two = values_over_all_classes(np.array([2.0, -1.0]), [1, 3], [0, 1, 3])
    assert two.tolist() == [[-3.0, -2.0, 2.0], [-2.0, 1.0, -1.0]]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_target_without_names_joins_a_frame_by_position(frame):
    X, _, X_target, _ = samples()
    names = [f"c{k}" for k in range(X.shape[1])]
    joined = stacked(frame(dict(zip(names, X.T, strict=True))), X_target)
    assert list(joined.columns) == names
    np.testing.assert_array_equal(np.asarray(joined), np.vstack([X, X_target]))


def test_a_fit_without_a_target_forgets_the_classes_of_the_one_before():
    X, y, _, _ = samples()
    model = fitted()
    with pytest.warns(NoTargetWarning):
        model.fit(X, y)
    for name in ("class_prior_", "class_weight_", "absent_classes_", "target_labels_"):
        assert not hasattr(model, name)
    assert model.predict_proba(X).shape == (len(X), 6)


def test_what_does_not_fit_is_refused():
    X, y, X_target, _ = samples()
    hole = X_target.copy()
    hole[4, 1] = np.nan
    model = Adapted(LogisticRegression(), weight_estimator="partial", random_state=0)
    with pytest.raises(InvalidInputError, match="X_target, row 4, column 1"):
        model.fit(X, y, X_target=hole)
    with pytest.raises(InvalidInputError, match="row 64, column 1"):
        model.fit(X, y, X_target=(X_target[:60], hole[:60]))
    with pytest.raises(
        InvalidInputError, match="y has 1 class, 0: two classes or more"
    ):
        model.fit(X, np.zeros(len(X), int), X_target=X_target)
    with pytest.raises(InvalidInputError, match="PartialWeights weighs by class"):
        fitted(calibration_fraction=0.2)
    with pytest.raises(InvalidTypeError, match="is a regressor"):
        fitted(LinearRegression())
    with pytest.raises(InvalidInputError, match="weigh needs labels"):
        fitted().predict_weights(X)
    assert fitted().predict_weights([0, 5]).tolist() == pytest.approx([2.0, 0.0])
    with pytest.raises(InvalidInputError, match="did you mean 'partial'"):
        fitted(weight_estimator="partiall")
