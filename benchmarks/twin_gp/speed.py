"""How fast are fit and predict, and what do landmarks cost in accuracy?

Bars were set from the figures of a prototype; neighbors and n_landmarks="auto" have
none. Times are those of one fit and one predict. A table at the end fits each kind of
model in a process of its own, twice: the difference is what loading and compiling take.
"""

import time
from multiprocessing import get_context

import numpy as np
from reporting import bar, quietly, table
from scipy.optimize import minimize
from scoring import joint_error

from counterpoise.datasets import make_articulated_pose
from counterpoise.twin_gp import TwinGP

NAMES = {"kl": "KLTGP", "sharma-mittal": "SMTGP"}
# Largest CPU seconds of fit and predict, by rows and model.
BARS = {
    (2000, "200 landmarks"): (1.0, 0.6),
    (2000, "400 landmarks"): (1.0, 1.2),
    (5000, "400 landmarks"): (8.0, 2.0),
}


MODELS = {
    "exact": {"n_landmarks": None},
    "200 landmarks": {"n_landmarks": 200},
    "400 landmarks": {"n_landmarks": 400},
    "auto": {"n_landmarks": "auto"},
    "100 neighbors": {"n_neighbors": 100},
}


def run(quick):
    rows, bars = [], []
    for n in (500,) if quick else (500, 2000, 5000):
        shift = make_articulated_pose("none", n, 1000, random_state=0)
        for divergence in NAMES:
            rows_of, bars_of = _measure(n, shift, divergence)
            rows += rows_of
            bars += bars_of
    header = (
        "N | method | model | fit s | predict s | joint error, mm | from exact, mm"
        " | landmark_error_"
    )
    title = "1000 test points, 18 outputs, 30 inputs, ridge 1e-2, tol 1e-6"
    out = table(title, header, rows)
    return {"table": out, "first call": _first_calls(), "bars": bars}


def _model(divergence, kind):
    how = {"theta": 0.5, "ridge_x": 1e-2, "ridge_y": 1e-2, "tol": 1e-6}
    return TwinGP(divergence=divergence, **how, **MODELS[kind])


def _measure(n, shift, divergence):
    rows, bars, exact = [], [], None
    for kind in MODELS:
        model = _model(divergence, kind)
        fit, _ = _clock(lambda: model.fit(shift.X, shift.y))  # noqa: B023
        spent, answers = _clock(lambda: model.predict(shift.X_target))  # noqa: B023
        error = joint_error(answers, shift.y_target).mean()
        if kind == "exact":
            exact, base, base_error = answers, spent, error
            ratio = _one_by_one(model, shift.X_target) / (spent / len(answers))
            what = f"N = {n}, {NAMES[divergence]}: one SciPy BFGS a point / batched"
            bars.append(bar(what, ratio, least=20.0))
        away = joint_error(answers, exact).mean()
        name = f"N = {n}, {NAMES[divergence]}, {kind}"
        rows.append(
            [n, NAMES[divergence], kind, fit, spent, error, away, model.landmark_error_]
        )
        if (n, kind) in BARS:
            most_fit, most = BARS[n, kind]
            bars += [
                bar(f"{name}: fit s", fit, most=most_fit),
                bar(f"{name}: predict s", spent, most=most),
                bar(f"{name}: error against exact", error / base_error - 1, most=0.01),
            ]
        if n == 5000 and kind == "400 landmarks":
            least = 8.0 if divergence == "kl" else 20.0
            bars.append(bar(f"{name}: exact / it", base / spent, least=least))
    return rows, bars


def _first_calls(n=500, divergence="sharma-mittal"):
    """Return CPU seconds of a first and a second fit in a fresh process."""
    rows = []
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for kind in MODELS:
            first, second = pool.apply(_fit_twice, (divergence, kind, n))
            rows.append([kind, first, second, first - second])
    header = "model | first fit s | second fit s | difference"
    return table(f"A fresh process each, {NAMES[divergence]}, N = {n}", header, rows)


def _fit_twice(divergence, kind, n):
    shift = make_articulated_pose("none", n, 1, random_state=0)
    with quietly():
        return [
            _clock(lambda: _model(divergence, kind).fit(shift.X, shift.y))[0]
            for _ in range(2)
        ]


def _one_by_one(model, X, count=20):
    """Return CPU seconds a point of SciPy's BFGS on the same loss and gradient."""
    X = X[np.linspace(0, len(X) - 1, count).astype(int)]
    first, radius = np.array([0]), model.model_.settings.radius

    def solve():
        for x in X:
            problem = model.model_.pose(x[None])

            def loss(y, problem=problem):
                value, gradient = problem.evaluate(y[None] * radius, first)
                return value[0], gradient[0] * radius

            start = problem.start()[0] / radius
            minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-6})

    return _clock(solve)[0] / count


def _clock(function):
    began = time.process_time()
    result = function()
    return time.process_time() - began, result
