"""Metadata routing on or off: every public door gives the same answer."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise
from counterpoise import (
    ULSIF,
    Adapted,
    diagnose,
    domain_auc,
    estimate_performance,
    overlap,
)
from counterpoise.weights.registry import WEIGHT_ESTIMATORS

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(80, 2)), RNG.normal(0.5, 1, size=(70, 2))
# Rows that are there twice count as one of weight two.
X[1], T[3] = X[0], T[2]
Y = (X[:, 0] + RNG.normal(size=80) > 0).astype(int)
W = RNG.uniform(0.5, 2.0, size=80)
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


def weights_by(name: str) -> Callable[..., Any]:
    weight_estimator = getattr(counterpoise, name)()
    if "random_state" in weight_estimator.get_params():
        weight_estimator.set_params(random_state=0)
    return lambda **more: weight_estimator.fit(X, Y, X_target=T, **more).weights_


def adapted(estimator: Any) -> Callable[..., Any]:
    model = Adapted(estimator, random_state=0)
    return lambda **more: model.fit(X, Y, X_target=T, **more).predict(T)


DOORS: dict[str, Callable[..., Any]] = {
    "diagnose": lambda **more: diagnose(X, T, random_state=0, **more).auc,
    "overlap": lambda **more: overlap(X, T, random_state=0, **more).uncovered_fraction,
    "domain_auc": lambda **more: domain_auc(X, T, random_state=0, **more),
    "Adapted, a pipeline": adapted(LOGISTIC),
    "Adapted, boosting": adapted(None),
    **{entry.name: weights_by(entry.name) for entry in WEIGHT_ESTIMATORS},
}


@pytest.mark.parametrize("weights", [None, W], ids=["repeated rows", "weights"])
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_the_answer_is_the_same(door: Callable[..., Any], weights: Any) -> None:
    answers = []
    for routing in (False, True):
        with (
            config_context(enable_metadata_routing=routing),
            warnings.catch_warnings(action="ignore"),
        ):
            answers.append(door(sample_weight=weights))
    assert np.array_equal(*answers)


def test_behind_a_scaler_the_target_is_scaled_too_if_routed() -> None:
    inside = Adapted(make_pipeline(StandardScaler(), LogisticRegression()))
    inside.set_params(weight_estimator=ULSIF(random_state=0), random_state=0).fit(
        X, Y, X_target=T
    )
    model = Adapted(
        LogisticRegression(), weight_estimator=ULSIF(random_state=0), random_state=0
    )
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(
            StandardScaler(),
            model.set_fit_request(X_target=True),
            transform_input=["X_target"],
        ).fit(X, Y, X_target=T)
    scaled = StandardScaler().fit(X)
    by_hand = Adapted(
        LogisticRegression(), weight_estimator=ULSIF(random_state=0), random_state=0
    )
    by_hand.fit(scaled.transform(X), Y, X_target=scaled.transform(T))
    assert np.array_equal(routed[-1].weights_, by_hand.weights_)


def test_the_estimated_score_is_the_same() -> None:
    found = []
    for routing in (False, True):
        with (
            config_context(enable_metadata_routing=routing),
            warnings.catch_warnings(action="ignore"),
        ):
            model = Adapted(LOGISTIC, random_state=0).fit(X, Y, X_target=T)
            score = estimate_performance(model, X, Y, T, cv=3, random_state=0)
            found.append(score.to_dict())
    assert found[0] == found[1]
