"""How fast are fit and predict, and what do landmarks cost in accuracy?"""

import time

import numpy as np
from reporting import bar, table
from scipy.optimize import minimize
from scoring import joint_error

from counterpoise import TwinGP
from counterpoise.datasets import make_articulated_pose

NAMES = {"kl": "KLTGP", "sharma-mittal": "SMTGP"}
# Largest CPU seconds of fit and predict, by rows and landmarks.
BARS = {(2000, 200): (1.0, 0.6), (2000, 400): (1.0, 1.2), (5000, 400): (8.0, 2.0)}


def run(quick):
    rows, bars = [], []
    for n in (500, 2000) if quick else (500, 2000, 5000):
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
    return {"table": table(title, header, rows), "bars": bars}


def _measure(n, shift, divergence):
    rows, bars, exact = [], [], None
    for landmarks in (None, 200, 400):
        model = TwinGP(
            divergence=divergence,
            theta=0.5,
            ridge_x=1e-2,
            ridge_y=1e-2,
            n_landmarks=landmarks,
            tol=1e-6,
        )
        fit, _ = _clock(lambda: model.fit(shift.X, shift.y))  # noqa: B023
        spent, answers = _clock(lambda: model.predict(shift.X_target))  # noqa: B023
        error = joint_error(answers, shift.y_target).mean()
        if landmarks is None:
            exact, base, base_error = answers, spent, error
            ratio = _one_by_one(model, shift.X_target) / (spent / len(answers))
            what = f"N = {n}, {NAMES[divergence]}: one SciPy BFGS a point / batched"
            bars.append(bar(what, ratio, least=20.0))
        away = joint_error(answers, exact).mean()
        kind = "exact" if landmarks is None else f"{landmarks} landmarks"
        name = f"N = {n}, {NAMES[divergence]}, {kind}"
        rows.append(
            [n, NAMES[divergence], kind, fit, spent, error, away, model.landmark_error_]
        )
        if (n, landmarks) in BARS:
            most_fit, most = BARS[n, landmarks]
            bars += [
                bar(f"{name}: fit s", fit, most=most_fit),
                bar(f"{name}: predict s", spent, most=most),
                bar(f"{name}: error against exact", error / base_error - 1, most=0.01),
            ]
        if n == 5000 and landmarks == 400:
            least = 8.0 if divergence == "kl" else 20.0
            bars.append(bar(f"{name}: exact / it", base / spent, least=least))
    return rows, bars


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
