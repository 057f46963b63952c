"""Exact validation curves: equal to brute force, and what they cost."""

import numpy as np
from reporting import bar, table, timed
from samples import covariate_shift
from sklearn.datasets import make_blobs

from counterpoise.svm import WeightedSVC


def mismatches(model, path, X, y, n_thetas):
    """Count the thetas at which the curve is not what the model there makes."""
    wrong = 0
    for theta in np.linspace(0.0, 1.0, n_thetas):
        f = path.at(float(theta))._functions(X)
        if np.abs(f).min() < 1e-9:
            continue
        error = np.mean(model._answers(f) != y)
        wrong += abs(error - path.validation_error.at(float(theta))) > 1e-9
    return wrong


def run(quick):
    n_thetas = 200 if quick else 1000
    rows, bars = [], []
    for C in (0.1, 0.3, 10.0, 1000.0):
        X, y, w, X_val, y_val = covariate_shift(300)
        model = WeightedSVC(C=C, gamma=0.25).fit(X, y)
        path = model.path(sample_weight=w, X_val=X_val, y_val=y_val)
        wrong = mismatches(model, path, X_val, y_val, n_thetas)
        rows.append([2, C, path.n_events, path.jumps.size, wrong])
        bars.append(bar(f"mismatches, two classes, C = {C:g}", wrong, most=0))
    for n, C in ((60, 0.1), (250, 0.01), (250, 1.0)):
        X, y = make_blobs(n + 150, 4, centers=3, cluster_std=4.0, random_state=4)
        w = np.random.default_rng(0).exponential(1.0, n)
        model = WeightedSVC(C=C, gamma=0.05).fit(X[:n], y[:n])
        path = model.path(sample_weight=w, X_val=X[n:], y_val=y[n:])
        wrong = mismatches(model, path, X[n:], y[n:], n_thetas)
        rows.append([3, C, path.n_events, path.jumps.size, wrong])
        bars.append(bar(f"mismatches, three classes, C = {C:g}", wrong, most=0))
    X, y, w, X_val, y_val = covariate_shift(1000)
    model = WeightedSVC(C=100.0, gamma=0.25).fit(X, y)
    alone, _ = timed(lambda: model.path(sample_weight=w))
    path = model.path(sample_weight=w, X_val=X_val, y_val=y_val)
    path.validation_curve()
    curve, _ = timed(path.validation_curve)
    bars.append(bar("path with curve / path alone", 1 + curve / alone, most=3))
    header = "classes | C | events | bias jumps | mismatches"
    return {"table": table("Validation curves", header, rows), "bars": bars}
