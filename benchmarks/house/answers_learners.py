"""Answers of every learner: fits, exact paths, updates and twin models."""

import numpy as np
from registry import answer, answers, picked
from samples_at_hand import classes, numbers, row_weights

from counterpoise.models import WeightedKernelRidge
from counterpoise.svm import (
    HeteroscedasticSVR,
    KernelQuantileRegressor,
    OneClassSVMPath,
    RankingSVM,
    SlidingWindowSVC,
    TransductiveSVC,
    WeightedSVC,
    WeightedSVR,
)
from counterpoise.twin_gp import DirectTwinGP, TwinGP, WeightedGPR, WeightedKNN

RIDGES = {
    "rbf": {"gamma": 0.5},
    "default": {},
    "linear": {"kernel": "linear", "alpha": 0.1},
    "poly": {"kernel": "poly", "degree": 2, "fit_intercept": False},
    "rank": {"gamma": 0.5, "rank": 20},
}


@answers("WeightedKernelRidge", RIDGES)
def _ridge(settings):
    pair = numbers()
    out = {}
    for name, w in (("plain", None), ("weighted", row_weights(whole=False))):
        model = WeightedKernelRidge(**settings).fit(pair.X, pair.y, w)
        out[name] = model.predict(pair.X_target)
    both = np.column_stack([pair.y, pair.X[:, 0]])
    model = WeightedKernelRidge(**settings).fit(pair.X, both)
    return out | {"several": model.predict(pair.X_target)}


def _machine(model):
    proof = model.certify()
    return {
        **picked(model, "dual_coef_", "intercept_", "support_"),
        **picked(proof, "kind", "objective", "bound", "gap", "scale", "residual"),
    }


MACHINES = {
    "rbf": WeightedSVC(C=2.0),
    "linear": WeightedSVC(kernel="linear"),
    "poly": WeightedSVC(kernel="poly", degree=2, coef0=1.0, gamma=0.3),
    "balanced": WeightedSVC(class_weight="balanced", C=0.5),
    "three": WeightedSVC(C=1.0),
    "three, one against one": WeightedSVC(decision_function_shape="ovo"),
    "rbf, regression": WeightedSVR(C=2.0),
    "linear, regression": WeightedSVR(kernel="linear", epsilon=0.3),
}


@answers("WeightedSVC and SVR", MACHINES)
def _svm(model):
    if isinstance(model, WeightedSVR):
        pair, name = numbers(), "predict"
    else:
        pair = classes(k=3 if model is MACHINES["three"] else 2)
        name = "decision_function"
        if model.decision_function_shape == "ovo":
            pair = classes(k=3)
    model.fit(pair.X, pair.y, row_weights(whole=False))
    first = _machine(model) | {"f": getattr(model, name)(pair.X_target)}
    left = model.leave_one_out()
    slopes = model.sensitivity(pair.X_target[:5])
    model.update(row_weights())
    moved = _machine(model) | {"f": getattr(model, name)(pair.X_target)}
    model.update(
        X_add=pair.X_target[:5],
        y_add=pair.y_target[:5],
        sample_weight_add=np.full(5, 0.7),
        remove=[0, 3, 7],
    )
    changed = _machine(model) | {"f": getattr(model, name)(pair.X_target)}
    return {
        "first": first,
        "left": picked(left, "decision", "predictions", "error"),
        "slopes": slopes,
        "moved": moved,
        "changed": changed,
    }


def _followed(path, rows):
    low, high = min(path.thetas), max(path.thetas)
    middle = 0.5 * (low + high)
    out = {
        **picked(path, "thetas", "n_events", "parameter"),
        "middle": path.decision_function(rows, middle),
        "at": picked(path.at(middle), "dual_coef_", "intercept_"),
        **picked(path.certify(), "kind", "objective", "bound", "gap", "residual"),
        "record": path.to_dict(),
        "events": path.events()[:20],
    }
    try:
        out["curve"] = picked(path.validation_error, "loss", "thetas", "values")
        out |= {"best": path.best_interval, "optimal": path.optimal_intervals}
    except (AttributeError, ValueError) as error:
        out["curve"] = str(error)
    return out


PATHS = {
    "weights": (WeightedSVC(), {"sample_weight": row_weights(whole=False)}),
    "C": (WeightedSVC(), {"C": (0.1, 5.0)}),
    "C, three": (WeightedSVC(C=1.0, gamma=0.3), {"C": (0.2, 2.0)}),
    "regression, weights": (WeightedSVR(), {"sample_weight": row_weights()}),
    "regression, C": (WeightedSVR(), {"C": (0.1, 2.0)}),
    "regression, epsilon": (WeightedSVR(), {"epsilon": (0.4, 0.1)}),
}


@answers("path", PATHS)
def _path(case):
    model, moved = case
    if isinstance(model, WeightedSVR):
        pair = numbers(80, 40)
    else:
        pair = classes(80, 40, k=3 if model.gamma == 0.3 else 2)
    moved = {k: v[:80] if k == "sample_weight" else v for k, v in moved.items()}
    model.fit(pair.X, pair.y)
    path = model.path(**moved, X_val=pair.X_target, y_val=pair.y_target)
    return _followed(path, pair.X_target)


@answer("path: one class")
def _one_class():
    pair = numbers(80, 40)
    model = OneClassSVMPath().fit(pair.X, nu=(0.05, 0.5))
    return {
        "thetas": getattr(model, "path_", model).thetas
        if hasattr(getattr(model, "path_", model), "thetas")
        else None,
        "f": model.decision_function(pair.X_target),
        "predicted": model.predict(pair.X_target),
        "weighted": OneClassSVMPath()
        .fit(pair.X, sample_weight=row_weights(80, whole=False))
        .decision_function(pair.X_target),
    }


@answer("path: quantiles")
def _quantiles():
    pair = numbers(80, 40)
    model = KernelQuantileRegressor(quantile=0.3, gamma=0.5).fit(pair.X, pair.y)
    path = model.path((0.1, 0.9), X_val=pair.X_target, y_val=pair.y_target)
    return {
        "predicted": model.predict(pair.X_target),
        "weighted": KernelQuantileRegressor(quantile=0.7)
        .fit(pair.X, pair.y, row_weights(80, whole=False))
        .predict(pair.X_target),
        "path": _followed(path, pair.X_target),
        "crossing": model.crossing(path, pair.X_target).to_dict(),
    }


@answers("RankingSVM", ["ndcg", "plain"])
def _ranking(case):
    pair = classes(40, 30, k=3)
    query = np.arange(40) // 10
    weighting = "ndcg" if case == "ndcg" else None
    model = RankingSVM(gamma=0.5, weighting=weighting)
    model.fit(pair.X, pair.y, query=query)
    out = {"scores": model.predict(pair.X_target)}
    if case == "ndcg":
        path = model.path()
        curve = model.validation_curve(path, pair.X_target, pair.y_target)
        out |= {"thetas": path.thetas, "half": model.scores(path, 0.5, pair.X_target)}
        out |= {"curve": curve.to_dict()}
    return out


@answer("HeteroscedasticSVR")
def _heteroscedastic():
    pair = numbers()
    model = HeteroscedasticSVR(gamma=0.5).fit(pair.X, pair.y)
    weighted = HeteroscedasticSVR(C=0.5).fit(pair.X, pair.y, row_weights(whole=False))
    return {
        "predicted": model.predict(pair.X_target),
        "weighted": weighted.predict(pair.X_target),
        **_machine(model),
    }


@answer("SlidingWindowSVC")
def _window():
    pair = classes(200, 40)
    model = SlidingWindowSVC(window=60)
    out = {}
    for k in range(0, 200, 40):
        rows = slice(k, k + 40)
        model.partial_fit(pair.X[rows], pair.y[rows], classes=[0, 1])
        out[str(k)] = model.decision_function(pair.X_target)
    whole = SlidingWindowSVC(window=60, forgetting="logistic", steepness=1.0)
    return out | {"fit": whole.fit(pair.X, pair.y).decision_function(pair.X_target)}


@answer("TransductiveSVC")
def _transductive():
    pair = classes(60, 40)
    out = {}
    for name, settings in {"default": {}, "share": {"target_share": 0.4}}.items():
        model = TransductiveSVC(n_steps=4, **settings)
        model.fit(pair.X, pair.y, X_target=pair.X_target)
        out[name] = model.decision_function(pair.X_target)
    model.fit(pair.X, pair.y, X_target=pair.X_target, sample_weight=row_weights(60))
    return out | {"weighted": model.predict(pair.X_target)}


TWINS = {
    "sharma-mittal": TwinGP(random_state=0),
    "kl": TwinGP(divergence="kl", random_state=0),
    "inverse-kl": TwinGP(divergence="inverse-kl", random_state=0),
    "landmarks": TwinGP(n_landmarks=20, random_state=0),
    "neighbors": TwinGP(n_neighbors=15, random_state=0),
    "holdout": TwinGP(search="holdout", standardize_y=True, random_state=0),
    "calibrated": TwinGP(calibration_fraction=0.3, random_state=0),
    "direct": DirectTwinGP(calibration_fraction=0.3, random_state=0),
    "GPR": WeightedGPR(calibration_fraction=0.3, random_state=0),
    "GPR, kfold": WeightedGPR(search="kfold", random_state=0),
    "KNN": WeightedKNN(calibration_fraction=0.3, random_state=0),
}


@answers("twin", TWINS)
def _twin(model):
    pair = numbers(90, 20)
    Y = np.column_stack([pair.y, np.cos(pair.X[:, 0])])
    Y_target = np.column_stack([pair.y_target, np.cos(pair.X_target[:, 0])])
    out = {}
    for name, w in (("plain", None), ("weighted", row_weights(90, whole=False))):
        model.fit(pair.X, Y, sample_weight=w)
        answer_, unsure = model.predict(pair.X_target, return_uncertainty=True)
        out[name] = {"answer": answer_, "unsure": unsure}
    out |= picked(model, "landmark_error_", "gpr_holdout_score_")
    out |= picked(model, "gamma_x_", "gamma_y_", "ridge_x_", "ridge_y_")
    if model.calibration_fraction:
        out["set"] = model.predict_set(
            pair.X_target, 0.8, sample_weight=row_weights(20, whole=False)
        )
    if isinstance(model, TwinGP):
        found = model.modes(pair.X_target[:3], n_init=4)
        out["modes"] = [picked(one, "outputs", "losses", "gaps") for one in found]
        out["divergence"] = model.divergence_value(pair.X_target, Y_target)
        out["proofs"] = [
            picked(one, "kind", "objective", "gap", "residual")
            for one in model.certify(pair.X_target[:5], Y_target[:5])
        ]
    return out
