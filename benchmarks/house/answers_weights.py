"""Answers of every weight estimator, in many settings."""

import numpy as np
import pandas as pd
from registry import answer, answers, picked, refused
from samples_at_hand import classes, mixed, numbers, row_weights, sparse
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise import (
    KLIEP,
    KMM,
    LSIF,
    RULSIF,
    ULSIF,
    AutoWeights,
    DiscrepancyWeights,
    DiscriminatorWeights,
    LabelShiftWeights,
    LogLinearKLIEP,
    UniformWeights,
)


def told(weight_estimator, rows, **scored):
    """Return what a fitted weight estimator knows and says about other rows."""
    solution = weight_estimator.solution_
    return {
        **picked(
            weight_estimator,
            "weights_",
            "effective_sample_size_",
            "unsupported_fraction_",
            "n_features_in_",
            "coef_",
            "centers_",
            "gamma_",
            "regularization_",
            "mmd_",
            "noise_floor_",
            "discrepancy_",
            "discrepancy_uniform_",
            "lower_bound_",
            "auc_",
        ),
        "feature_names_in_": list(getattr(weight_estimator, "feature_names_in_", ())),
        "cv_results_": getattr(weight_estimator, "cv_results_", None),
        "solution": {
            "x": solution.x,
            "n_iter": solution.n_iter,
            "converged": solution.converged,
            "ended": solution.ended,
            **picked(solution.certificate, "kind", "objective", "bound", "gap"),
            **picked(solution.certificate, "scale", "residual", "infeasibility"),
            "history": [(h.n_iter, h.objective, h.gap) for h in solution.history],
        },
        "weights": _or_error(lambda: weight_estimator.predict_weights(rows)),
        "is_extrapolation": _or_error(lambda: weight_estimator.is_extrapolation(rows)),
        "score": _or_error(lambda: weight_estimator.score(rows, **scored)),
    }


def _or_error(call):
    found = []
    said = refused(lambda: found.append(call()))
    return found[0] if found else said


SETTINGS = {
    "KLIEP cv": KLIEP(random_state=0),
    "KLIEP one-sided": KLIEP(gamma="cv-one-sided", random_state=0),
    "KLIEP median": KLIEP(gamma="median", random_state=0),
    "KLIEP 0.5": KLIEP(gamma=0.5),
    "KLIEP all centers": KLIEP(gamma=0.5, n_centers=None),
    "KLIEP 20 centers": KLIEP(gamma=0.5, n_centers=20, random_state=3),
    "KLIEP relative": KLIEP(gamma=0.5, relative=0.2),
    "KLIEP relative cv": KLIEP(relative=0.1, random_state=0),
    "KLIEP not standardized": KLIEP(gamma=0.5, standardize=False),
    "KLIEP exponent": KLIEP(gamma=0.5, exponent=0.5),
    "KLIEP few steps": KLIEP(gamma=0.5, max_iter=2),
    **{
        f"KLIEP {solver}": KLIEP(gamma=0.4, solver=solver, max_iter=200)
        for solver in (
            "projected-gradient",
            "original",
            "frank-wolfe",
            "away",
            "pairwise",
            "corrective",
        )
    },
    "KLIEP armijo": KLIEP(gamma=0.4, solver="away", line_search="armijo", max_iter=200),
    "KLIEP open": KLIEP(
        gamma=0.4, solver="frank-wolfe", line_search="open", max_iter=200
    ),
    "LSIF cv": LSIF(n_centers=40, random_state=0),
    "LSIF fixed": LSIF(gamma=0.5, regularization=0.1, n_centers=40, random_state=0),
    "LSIF median": LSIF(gamma="median", n_centers=40, random_state=0),
    "ULSIF cv": ULSIF(random_state=0),
    "ULSIF fixed": ULSIF(gamma=0.5, regularization=0.1, random_state=0),
    "ULSIF all centers": ULSIF(gamma=0.5, n_centers=None),
    "RULSIF cv": RULSIF(random_state=0),
    "RULSIF half": RULSIF(relative=0.5, gamma="median", random_state=0),
    "KMM": KMM(random_state=0),
    "KMM gamma": KMM(gamma=0.5, max_weight=5.0, slack=0.1),
    "KMM ridge": KMM(gamma=0.5, alpha=0.01, exponent=0.7),
    **{
        f"KMM {solver}": KMM(gamma=0.5, solver=solver, max_iter=300)
        for solver in ("frank-wolfe", "pairwise", "quadratic")
    },
    "LogLinearKLIEP": LogLinearKLIEP(),
    "LogLinearKLIEP full": LogLinearKLIEP(statistics="full", alpha=0.1),
    "LogLinearKLIEP linear": LogLinearKLIEP(statistics="linear"),
    "LogLinearKLIEP two": LogLinearKLIEP(n_components=2, random_state=0),
    "DiscrepancyWeights": DiscrepancyWeights(),
    "DiscrepancyWeights rbf": DiscrepancyWeights(kernel="rbf"),
    "DiscrepancyWeights poly": DiscrepancyWeights(kernel="poly", degree=2),
    "DiscrepancyWeights cap": DiscrepancyWeights(max_weight=3.0, spread=0.1),
    "DiscrepancyWeights plain": DiscrepancyWeights(
        add_constant=False, standardize=False
    ),
    **{
        f"DiscrepancyWeights {solver}": DiscrepancyWeights(
            solver=solver, tol=1e-2, max_iter=60
        )
        for solver in (
            "interior-point",
            "column-generation",
            "subspace",
            "smoothing",
            "multiplicative-weights",
            "sdp",
            "subgradient",
            "frobenius",
        )
    },
    "DiscriminatorWeights": DiscriminatorWeights(random_state=0),
    "DiscriminatorWeights raw": DiscriminatorWeights(calibrate=False, random_state=0),
    "DiscriminatorWeights logistic": DiscriminatorWeights(
        estimator=LogisticRegression(), random_state=0
    ),
    "AutoWeights": AutoWeights(random_state=0),
    "UniformWeights": UniformWeights(),
}


# Scores are drawn as well: every one has a seed.
for _one in SETTINGS.values():
    if _one.random_state is None:
        (
            _one.set_params(random_state=0)
            if "random_state" in _one.get_params()
            else _one
        )


@answers("weight_estimator", SETTINGS)
def _fitted(weight_estimator):
    pair = numbers()
    weight_estimator.fit(pair.X, X_target=pair.X_target)
    return told(weight_estimator, pair.X_target[:40])


SHORT = {
    "KLIEP": KLIEP(gamma=0.5, random_state=0),
    "KLIEP cv": KLIEP(random_state=0),
    "ULSIF": ULSIF(random_state=0),
    "KMM": KMM(random_state=0),
    "LogLinearKLIEP": LogLinearKLIEP(random_state=0),
    "DiscrepancyWeights": DiscrepancyWeights(),
    "DiscriminatorWeights": DiscriminatorWeights(random_state=0),
    "AutoWeights": AutoWeights(random_state=0),
}


# Selection among families takes seconds: not in every group.
ONE_FAMILY = {name: one for name, one in SHORT.items() if name != "AutoWeights"}


@answers("weight estimator with counts of rows", SHORT)
def _counted(weight_estimator):
    pair = numbers()
    weight_estimator.fit(
        pair.X,
        X_target=pair.X_target,
        sample_weight=row_weights(),
        target_weight=row_weights(90),
    )
    return told(weight_estimator, pair.X_target[:20])


@answers("weight estimator with fractions of rows", SHORT)
def _fractions(weight_estimator):
    pair = numbers()
    weight_estimator.fit(
        pair.X, X_target=pair.X_target, sample_weight=row_weights(whole=False)
    )
    return told(weight_estimator, pair.X_target[:20])


@answers("weight estimator of sparse rows", SHORT)
def _sparse(weight_estimator):
    pair = sparse()
    said = refused(lambda: weight_estimator.fit(pair.X, X_target=pair.X_target))
    if said != "no error":
        return said
    return told(weight_estimator, pair.X_target[:20])


@answers("weight estimator of a mixed frame", SHORT)
def _mixed(weight_estimator):
    pair = mixed()
    said = refused(lambda: weight_estimator.fit(pair.X, X_target=pair.X_target))
    if said != "no error":
        return said
    return told(weight_estimator, pair.X_target[:20])


@answers("weight estimator of a frame of numbers", ONE_FAMILY)
def _frame(weight_estimator):
    pair = numbers()
    names = ["one", "two", "three"]
    X, X_target = (pd.DataFrame(rows, columns=names) for rows in pair[::2])
    return told(weight_estimator.fit(X, X_target=X_target), X_target[:20])


@answers("weight estimator without overlap", ONE_FAMILY)
def _apart(weight_estimator):
    pair = numbers(shift=9.0)
    said = refused(lambda: weight_estimator.fit(pair.X, X_target=pair.X_target))
    weight_estimator.set_params(
        **(
            {"allow_no_overlap": True}
            if "allow_no_overlap" in weight_estimator.get_params()
            else {}
        )
    )
    weight_estimator.fit(pair.X, X_target=pair.X_target)
    weight_estimator.set_params(
        **(
            {"allow_no_overlap": False}
            if "allow_no_overlap" in weight_estimator.get_params()
            else {}
        )
    )
    return {"refused": said, "forced": told(weight_estimator, pair.X_target[:20])}


@answers("weight estimator without target", SHORT)
def _alone(weight_estimator):
    return weight_estimator.fit(numbers().X).weights_


@answer("weight estimator: precomputed kernel")
def _precomputed():
    pair = numbers()
    rows = np.vstack([pair.X, pair.X_target])
    K = rows @ rows.T + 1.0
    weight_estimator = DiscrepancyWeights(kernel="precomputed").fit(
        K[:120], X_target=K[120:]
    )
    return picked(weight_estimator, "weights_", "discrepancy_", "lower_bound_")


@answer("weight estimator: path of LSIF")
def _path():
    pair = numbers()
    weight_estimator = LSIF(
        gamma=0.5, regularization=0.05, n_centers=30, random_state=0
    )
    weight_estimator.fit(pair.X, X_target=pair.X_target)
    path = getattr(weight_estimator, "path_", None)
    return None if path is None else picked(path, "thetas", "points", "n_events")


@answers("target shift", ["classes", "response", "counts", "three classes"])
def _target_shift(case):
    pair = {"response": numbers(), "three classes": classes(k=3)}.get(case, classes())
    weight_estimator = LabelShiftWeights(random_state=0)
    given = {"sample_weight": row_weights()} if case == "counts" else {}
    weight_estimator.fit(pair.X, pair.y, X_target=pair.X_target, **given)
    return {
        **picked(
            weight_estimator, "weights_", "effective_sample_size_", "gamma_", "gamma_y_"
        ),
        "weights": weight_estimator.predict_weights(pair.y_target[:20]),
        "score": _or_error(lambda: weight_estimator.score(pair.X, pair.y)),
    }


@answer("weights: flatten, clip, effective size")
def _changed():
    weights = row_weights(whole=False)
    return {
        "flat": cp.flatten_weights(weights, 0.5),
        "clipped": cp.clip_weights(weights, 1.5),
        "size": cp.effective_sample_size(weights),
    }
