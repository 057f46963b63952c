"""What is said about bad input, and warnings on the way."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from registry import answers, refused
from samples_at_hand import classes, mixed, numbers
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise import optim as convex


def _with(rows, value):
    out = rows.copy()
    out[3, 1] = value
    return out


def _fit(weight_estimator, **changed):
    pair = numbers()
    given = {"X": pair.X, "X_target": pair.X_target} | changed
    return lambda: weight_estimator.fit(given.pop("X"), **given)


def _adapt(X=None, y=None, X_target=None, estimator=None, **settings):
    pair = classes()
    return lambda: cp.Adapted(
        LogisticRegression() if estimator is None else estimator, **settings
    ).fit(
        pair.X if X is None else X,
        pair.y if y is None else y,
        X_target=pair.X_target if X_target is None else X_target,
    )


PAIR, FRAMES = classes(), mixed()
QUADRATIC = convex.Constrained(
    convex.Quadratic(np.eye(3), np.zeros(3)), convex.Simplex(3)
)
CALLS = {
    "NaN": _fit(cp.KLIEP(gamma=0.5), X=_with(PAIR.X, np.nan)),
    "infinite target": _fit(cp.KMM(), X_target=_with(PAIR.X_target, np.inf)),
    "columns": _fit(cp.ULSIF(), X_target=PAIR.X_target[:, :2]),
    "names of columns": _fit(
        cp.KLIEP(gamma=0.5),
        X=pd.DataFrame(PAIR.X, columns=list("abc")),
        X_target=pd.DataFrame(PAIR.X_target, columns=list("abd")),
    ),
    "one dimension": _fit(cp.KLIEP(gamma=0.5), X=PAIR.X[:, 0]),
    "no rows": _fit(cp.KLIEP(gamma=0.5), X_target=PAIR.X_target[:0]),
    "text": _fit(cp.KLIEP(gamma=0.5), X=PAIR.X.astype(str).astype(object)),
    "categories": _fit(cp.KLIEP(), X=FRAMES.X, X_target=FRAMES.X_target),
    "sparse mmd": lambda: cp.mmd(sp.csr_array(PAIR.X), sp.csr_array(PAIR.X_target)),
    "gamma": _fit(cp.KLIEP(gamma=-1.0)),
    "gamma, word": _fit(cp.KLIEP(gamma="big")),
    "solver": _fit(cp.KLIEP(solver="best")),
    "cap": _fit(cp.DiscrepancyWeights(max_weight=0.02)),
    "exponent": _fit(cp.KLIEP(gamma=0.5, exponent=2.0)),
    "tol": _fit(cp.KLIEP(gamma=0.5, tol=0.0)),
    "negative weights": _fit(cp.KLIEP(gamma=0.5), sample_weight=-np.ones(120)),
    "short weights": _fit(cp.KLIEP(gamma=0.5), sample_weight=np.ones(5)),
    "zero weights": _fit(cp.KLIEP(gamma=0.5), sample_weight=np.zeros(120)),
    "not fitted": lambda: cp.KLIEP().predict_weights(PAIR.X),
    "weigh columns": lambda: _fit(cp.KLIEP(gamma=0.5))().predict_weights(PAIR.X[:, :2]),
    "one class": _adapt(y=np.zeros(120)),
    "missing labels": _adapt(y=np.where(np.arange(120) == 4, np.nan, PAIR.y)),
    "short labels": _adapt(y=PAIR.y[:50]),
    "no estimator": _adapt(estimator="tree"),
    "weight_estimator": _adapt(weight_estimator="best"),
    "target columns": _adapt(X_target=PAIR.X_target[:, :2]),
    "missing columns": _adapt(
        X=FRAMES.X, y=FRAMES.y, X_target=FRAMES.X_target.drop(columns="age")
    ),
    "budget": _adapt(budget=-3),
    "calibration": _adapt(calibration_fraction=1.5),
    "cv": _adapt(cv="weeks"),
    "scoring": _adapt(scoring="goodness"),
    "diagnose": lambda: cp.diagnose(PAIR.X, PAIR.X_target[:1]),
    "metric": lambda: cp.estimate_performance(
        LogisticRegression().fit(PAIR.X, PAIR.y), *PAIR[:3], scoring=["goodness"]
    ),
    "rows to label": lambda: cp.select_rows_to_label(
        LogisticRegression().fit(PAIR.X, PAIR.y), PAIR.X, PAIR.X_target, 1000
    ),
    "labels of TwinGP": lambda: cp.twin_gp.TwinGP().fit(PAIR.X, _with(PAIR.X, np.nan)),
    "C": lambda: cp.svm.WeightedSVC(C=-1.0).fit(PAIR.X, PAIR.y),
    "path": lambda: cp.svm.WeightedSVC().fit(PAIR.X, PAIR.y).path(C=(0.0, 1.0)),
    "tau": lambda: cp.svm.KernelQuantileRegressor(quantile=2.0).fit(*numbers()[:2]),
    "consensus": lambda: cp.twin_gp.consensus(np.ones(3)),
    "mismatch": lambda: convex.solve(QUADRATIC, convex.Newton()),
    "start": lambda: convex.solve(QUADRATIC, x=np.ones(3)),
    "solver class": lambda: convex.solve(QUADRATIC, convex.FrankWolfe),
    "newer record": lambda: cp.Report.from_dict({"version": 99}),
    "flatten": lambda: cp.flatten_weights([1.0, -1.0], 0.5),
    "data": lambda: cp.datasets.make_gaussian_shift(n=-1),
}


@answers("refusal", CALLS)
def _refusal(call):
    return refused(call)
