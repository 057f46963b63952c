"""Does the worst pair's subspace classify better than LDA's? Seven Gaussian classes.

Ten columns, means N(0, 2 I), unit covariance, 100 rows a class to fit and 100 to judge
by the nearest class mean; 100 repeats, paired.
"""

import time

import numpy as np
from reporting import bar, table
from subspace_methods import error_of_nearest_mean, methods

LEAST = {2: 2.5, 3: 1.5, 4: 0.8}
SLOW = ("Fantope stand-in for the SDP sequence",)
FIRST_SEED = 30_000


def run(quick):
    repeats = 10 if quick else 100
    found = {}
    for k in range(repeats):
        X, y, X_test, y_test = seven_classes(FIRST_SEED + k)
        for m in (1, 2, 3, 4, 5):
            for name, method in methods(m).items():
                if name in SLOW and k >= 20:
                    continue
                began = time.process_time()
                method.fit(X, y)
                seconds = time.process_time() - began
                error = error_of_nearest_mean(
                    method.transform(X), y, method.transform(X_test), y_test
                )
                distance = getattr(method, "min_distance_", np.nan)
                bound = getattr(method, "bound_", np.nan)
                found.setdefault((m, name), []).append(
                    (error, distance, bound, seconds)
                )
    rows, bars = [], []
    for (m, name), own in found.items():
        lda = np.array(found[m, "LDA"])[: len(own), 0]
        error, distance, bound, seconds = np.array(own).T
        margin = lda - error
        spread = margin.std() / np.sqrt(len(own))
        rows.append(
            [
                m,
                name,
                len(own),
                error.mean(),
                margin.mean(),
                spread,
                distance.mean(),
                bound.mean(),
                seconds.mean(),
            ]
        )
        if m in LEAST and name == "softmin + polar":
            what = f"m = {m}: error below LDA, points"
            bars.append(bar(what, margin.mean(), least=LEAST[m]))
    shown = table(
        "Seven Gaussian classes in ten columns, nearest mean",
        "m | method | repeats | error % | below LDA | its se | distance | bound | s",
        rows,
    )
    return {"table": shown, "bars": bars}


def seven_classes(seed, classes=7, columns=10, rows=100):
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((classes, columns)) * np.sqrt(2.0)

    def draw():
        noise = rng.standard_normal((classes * rows, columns))
        return np.repeat(means, rows, axis=0) + noise

    y = np.repeat(np.arange(classes), rows)
    return draw(), y, draw(), y
