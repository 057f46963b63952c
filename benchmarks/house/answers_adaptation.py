"""Answers of the main job: adapted models, and what they are worth on the target."""

from functools import partial

import numpy as np
from registry import answer, answers, picked, refused
from samples_at_hand import (
    classes,
    mixed,
    mixed_response,
    numbers,
    of_mixed,
    row_weights,
    sparse,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

import counterpoise as cp
from counterpoise import KLIEP, ULSIF, Adapted, UniformWeights
from counterpoise.svm import WeightedSVC


def told(model, pair):
    """Return what an adapted model decided, says and predicts."""
    out = {
        **picked(
            model, "weights_", "exponent_", "mixing_", "adapted_", "n_features_in_"
        ),
        "guard": None if model.guard_ is None else model.guard_.to_dict(),
        "diagnosis": model.diagnosis_.to_dict(),
        "predicted": model.predict(pair.X_target),
        "summary": model.summary(),
        "score": model.score(pair.X_target, pair.y_target),
        "weights": _or_error(lambda: model.predict_weights(pair.X_target[:20])),
    }
    if hasattr(model, "predict_proba"):
        out["shares"] = model.predict_proba(pair.X_target)
    return out


def _or_error(call):
    found = []
    said = refused(lambda: found.append(call()))
    return found[0] if found else said


def _few(estimator=None, **settings):
    return Adapted(estimator, random_state=0, **settings)


def _logistic(**settings):
    return _few(LogisticRegression(), **settings)


GROUPS = np.arange(120) // 6
CASES = {
    "None, classes": (_few(), classes, {}),
    "None, response": (_few(), numbers, {}),
    "None, mixed": (_few(), mixed, {}),
    "Ridge": (_few(Ridge()), numbers, {}),
    "Ridge, wide": (_few(Ridge()), partial(numbers, 150, 100, 8), {}),
    "logistic": (_logistic(), classes, {}),
    "logistic, three classes": (_logistic(), partial(classes, k=3), {}),
    "logistic, same": (_logistic(), partial(classes, shift=0.0), {}),
    "SVC": (_few(WeightedSVC()), classes, {}),
    "sparse": (_logistic(), sparse, {}),
    "mixed": (_few(of_mixed(LogisticRegression())), mixed, {}),
    "mixed, no dates": (
        _few(of_mixed(LogisticRegression())),
        partial(mixed, dates=False),
        {},
    ),
    "mixed, response": (_few(of_mixed(Ridge())), mixed_response, {}),
    "forest": (_few(RandomForestClassifier(10, random_state=0)), classes, {}),
    "budget": (_logistic(max_samples=40), classes, {}),
    "resample": (_few(KNeighborsClassifier(), resample=True), classes, {}),
    "groups": (_logistic(), classes, {"groups": GROUPS}),
    "blocks": (_logistic(cv="blocks"), classes, {}),
    "cv and scoring": (_logistic(cv=3, scoring="accuracy"), classes, {}),
    "no guard": (_logistic(guard=False), classes, {}),
    "counts": (_logistic(), classes, {"sample_weight": row_weights()}),
    "fractions": (_few(Ridge()), numbers, {"sample_weight": row_weights(whole=False)}),
    "KLIEP": (_logistic(weight_estimator=KLIEP(gamma=0.5)), classes, {}),
    "ULSIF": (_few(Ridge(), weight_estimator=ULSIF()), numbers, {}),
    "uniform": (_few(Ridge(), weight_estimator=UniformWeights()), numbers, {}),
    "discrepancy": (
        _few(Ridge(), weight_estimator=cp.DiscrepancyWeights()),
        numbers,
        {},
    ),
    "target shift": (
        _logistic(weight_estimator=cp.LabelShiftWeights(random_state=0)),
        classes,
        {},
    ),
    "forced": (_logistic(allow_no_overlap=True), partial(classes, shift=9.0), {}),
}


@answers("Adapted", CASES)
def _adapted(case):
    model, pair, given = case
    pair = pair()
    model.fit(pair.X, pair.y, X_target=pair.X_target, **given)
    return told(model, pair)


@answers("Adapted, calibrated", {"response": numbers, "classes": classes})
def _calibrated(pair):
    pair = pair(200, 90)
    kind = Ridge if pair.y.dtype.kind == "f" else LogisticRegression
    model = _few(kind(), calibration_fraction=0.4)
    model.fit(pair.X, pair.y, X_target=pair.X_target)
    says = model.predict_interval if kind is Ridge else model.predict_set
    return told(model, pair) | {"said": says(pair.X_target, 0.8)}


@answer("Adapted: without target, without overlap")
def _lacking():
    pair, far = classes(), classes(shift=9.0)
    alone = _logistic().fit(pair.X, pair.y)
    return {
        "alone": alone.predict_proba(pair.X_target),
        "summary": alone.summary(),
        "refused": refused(
            lambda: _logistic().fit(far.X, far.y, X_target=far.X_target)
        ),
        "raised": refused(
            lambda: _logistic(missing_target="raise").fit(pair.X, pair.y)
        ),
    }


@answer("Adapted: next week")
def _next_week():
    pair, later = classes(), classes(shift=1.5)
    model = cp.adapt(
        LogisticRegression(), pair.X, pair.y, pair.X_target, random_state=0
    )
    found = model.diagnose(later.X_target, random_state=0)
    return {"record": found.to_dict(), "told": str(found)}


WORTH = {
    "classes": (LogisticRegression(), classes, {}),
    "response": (Ridge(), numbers, {}),
    "metrics": (LogisticRegression(), classes, {"scoring": ["accuracy", "roc_auc"]}),
    "more metrics": (
        Ridge(),
        numbers,
        {"scoring": ["neg_mean_absolute_error", "r2"], "confidence_level": 0.8},
    ),
    "KLIEP": (LogisticRegression(), classes, {"weight_estimator": KLIEP(gamma=0.5)}),
    "uniform": (Ridge(), numbers, {"weight_estimator": UniformWeights()}),
    "labels": (LogisticRegression(), classes, {"labels": 40}),
    "labels, response": (Ridge(), numbers, {"labels": 40}),
    "counts": (Ridge(), numbers, {"sample_weight": row_weights()}),
    "groups": (LogisticRegression(), classes, {"groups": GROUPS}),
    "sparse": (LogisticRegression(), sparse, {}),
    "adapted": (_logistic(), classes, {}),
    "adapted, mixed": (_few(of_mixed(LogisticRegression())), mixed, {}),
}


@answers("estimate_performance", WORTH)
def _worth(case):
    model, pair, given = case
    pair, given = pair(), dict(given)
    if isinstance(model, Adapted):
        model.fit(pair.X, pair.y, X_target=pair.X_target)
    else:
        model.fit(pair.X, pair.y)
    few = given.pop("labels", 0)
    if few:
        given |= {
            "X_target_labeled": pair.X_target[:few],
            "y_target_labeled": pair.y_target[:few],
        }
    found = cp.estimate_performance(
        model, pair.X, pair.y, pair.X_target, random_state=0, **given
    )
    return {"record": found.to_dict(), "told": str(found)}


@answers("target_scorer", ["default", "accuracy", "neg_log_loss"])
def _scorer(scoring):
    pair = classes()
    scorer = cp.target_scorer(None if scoring == "default" else scoring)
    model = _logistic(weight_estimator=KLIEP(gamma=0.5), guard=False)
    search = GridSearchCV(model, {"estimator__C": [0.01, 1.0]}, scoring=scorer, cv=2)
    search.fit(pair.X, pair.y, X_target=pair.X_target)
    return {
        "means": search.cv_results_["mean_test_score"],
        "best": str(search.best_params_),
        "one": scorer(
            model.fit(pair.X, pair.y, X_target=pair.X_target), pair.X, pair.y
        ),
    }


@answers("select_rows_to_label", {"classes": classes, "response": numbers})
def _rows(pair):
    pair = pair()
    kind = Ridge if pair.y.dtype.kind == "f" else LogisticRegression
    model = _few(kind(), weight_estimator=KLIEP(gamma=0.5))
    model.fit(pair.X, pair.y, X_target=pair.X_target)
    return cp.select_rows_to_label(model, pair.X, pair.X_target, 8, random_state=0)


@answers("consensus", ["whole", "gaps", "plain"])
def _consensus(case):
    rng = np.random.default_rng(4)
    truth = rng.standard_normal(40)
    ratings = truth[:, None] + rng.standard_normal((40, 5)) * [0.1, 0.3, 0.5, 1.0, 2.0]
    if case == "gaps":
        ratings[rng.random(ratings.shape) < 0.3] = np.nan
    settings = {"confidence": None, "shrink": False} if case == "plain" else {}
    found = cp.twin_gp.consensus(ratings, **settings)
    return picked(
        found, "labels", "deviations", "noise", "mean", "spread", "n_iter", "residual"
    )


@answer("bounds")
def _bounds():
    bounds = cp.bounds
    diagonal = np.linspace(0.5, 1.0, 30)
    found = {
        "any": bounds.any_hypothesis(0.3, 0.1, 0.2, 0.05),
        "contraction": bounds.contraction_deviation(
            100, 80, complexity=0.1, complexity_target=0.2, loss_bound=1.0
        ),
        "operator": bounds.discrepancy_deviation(100, radius=2.0),
        "kernel": bounds.kernel_ridge(
            0.1, norm_bound=1.0, alpha=0.1, radius=1.0, loss_bound=2.0
        ),
        "distance": bounds.model_distance(0.1, norm_bound=1.0, alpha=0.1),
        "pointwise": bounds.pointwise_loss(
            0.1, norm_bound=1.0, alpha=0.1, radius=1.0, mu=1.0
        ),
    }
    return {
        name: picked(one, "value", "bounds", "form", "assumptions")
        for name, one in found.items()
    } | {
        "complexity": bounds.rademacher_complexity(diagonal, 2.0),
        "norm": bounds.ridge_norm(numbers().y, 0.1, row_weights()),
    }
