"""Weights reach the estimator to the bit, whatever is around it."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from adaptation.spy import Spy
from scipy import sparse
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.adaptation.routing import (
    check_takes_weights,
    drawn_rows,
    fit_weighted,
    rows_of,
)

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(40, 2)), RNG.random(40)
Y = X[:, 0]


def _last(model: Any) -> Any:
    """Return the spy inside a fitted estimator."""
    if isinstance(model, Spy):
        return model
    for name in ("best_estimator_", "regressor_"):
        if hasattr(model, name):
            return _last(getattr(model, name))
    if hasattr(model, "estimators_"):
        return _last(model.estimators_[0])
    return _last(model[-1])


AROUND = {
    "alone": Spy(),
    "pipeline": make_pipeline(StandardScaler(), Spy()),
    "transformed target": TransformedTargetRegressor(Spy()),
    "pipeline around that": make_pipeline(
        StandardScaler(), TransformedTargetRegressor(Spy())
    ),
    "search": GridSearchCV(Spy(), {"shade": [0, 1]}, cv=2, scoring="r2"),
    "search around a pipeline": GridSearchCV(
        make_pipeline(StandardScaler(), Spy()), {"spy__shade": [0, 1]}, cv=2
    ),
    "pipeline around a search": make_pipeline(
        StandardScaler(), GridSearchCV(Spy(), {"shade": [0, 1]}, cv=2)
    ),
    "vote": VotingRegressor([("a", Spy())]),
    "many outputs": MultiOutputRegressor(Spy()),
}


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("estimator", AROUND.values(), ids=AROUND)
def test_weights_arrive_to_the_bit(estimator: Any, routing: bool) -> None:
    y = Y[:, None] if isinstance(estimator, MultiOutputRegressor) else Y
    with config_context(enable_metadata_routing=routing):
        fitted = fit_weighted(estimator, X, y, W)
    assert np.array_equal(_last(fitted).seen_weight_, W)


@pytest.mark.parametrize("routing", [False, True])
def test_calibration_around_a_classifier_hands_weights_on(routing: bool) -> None:
    labels = (Y > 0).astype(int)
    heavy = np.where(Y > 0, 1e6, 1.0)
    around = CalibratedClassifierCV(LogisticRegression(), cv=2)
    with config_context(enable_metadata_routing=routing):
        fitted = fit_weighted(around, X, labels, heavy)
        inner = fitted.calibrated_classifiers_[0].estimator
        plain = fit_weighted(around, X, labels, None)
    # Weights of a million move the intercept of the classifier inside.
    before = plain.calibrated_classifiers_[0].estimator.intercept_[0]
    assert inner.intercept_[0] > before + 1.0


def test_without_weights_the_estimator_is_called_as_ever() -> None:
    assert fit_weighted(Spy(), X, Y, None).seen_weight_ is None


def test_the_users_estimator_is_not_touched() -> None:
    mine = make_pipeline(StandardScaler(), Spy())
    with config_context(enable_metadata_routing=True):
        fit_weighted(mine, X, Y, W)
    assert mine[-1].get_metadata_routing().fit.requests["sample_weight"] is None
    assert not hasattr(mine[-1], "mean_")


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (KNeighborsRegressor(), "^KNeighborsRegressor takes no"),
        (
            make_pipeline(StandardScaler(), KNeighborsRegressor()),
            "last step of the pipeline, KNeighborsRegressor",
        ),
        (
            GridSearchCV(KNeighborsRegressor(), {}),
            "KNeighborsRegressor in GridSearchCV",
        ),
        (
            MultiOutputRegressor(KNeighborsRegressor()),
            "KNeighborsRegressor in MultiOutputRegressor",
        ),
    ],
)
def test_an_estimator_without_weights_is_refused_by_name(
    estimator: Any, name: str
) -> None:
    with pytest.raises(TypeError, match=name) as told:
        check_takes_weights(estimator)
    assert "resample=True" in str(told.value)
    assert "max_samples=k" in str(told.value)


def test_rows_are_drawn_in_proportion_to_their_weights() -> None:
    weights = np.repeat([1.0, 3.0], 2000)
    rows = drawn_rows(weights, 0)
    assert rows.size == 4000
    share = float((rows >= 2000).mean())
    assert abs(share - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 4000)


def test_a_budget_draws_different_rows_the_heavier_the_likelier() -> None:
    weights = np.repeat([1.0, 3.0], 2000)
    rows = drawn_rows(weights, 0, 400)
    assert np.unique(rows).size == rows.size == 400
    # With replacement three quarters would be heavy; without it a little less.
    assert 0.68 < float((rows >= 2000).mean()) < 0.79


def test_a_budget_never_takes_rows_of_weight_zero() -> None:
    assert drawn_rows(np.array([0.0, 1.0, 2.0]), 0, 3).tolist() == [1, 2]


def test_rows_are_taken_from_anything() -> None:
    rows = np.array([2, 0])
    assert rows_of([1, 2, 3], rows) == [3, 1]
    assert rows_of(pd.Series([1, 2, 3]), rows).tolist() == [3, 1]
    assert rows_of(pl.DataFrame({"a": [1, 2, 3]}), rows)["a"].to_list() == [3, 1]
    for kind in ("coo", "dia", "bsr", "csc"):
        matrix = sparse.eye_array(3).asformat(kind)
        assert rows_of(matrix, rows).toarray().argmax(axis=1).tolist() == [2, 0]
