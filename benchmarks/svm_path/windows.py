"""A window of 2200 days that moves by five: an update against a refit."""

import numpy as np
from reporting import bar, left_out, table, timed
from samples import folder, nasdaq
from sklearn.svm import SVC

from counterpoise.svm import SlidingWindowSVC

N, STEP, MOVES = 2200, 5, 5


def run(quick):
    if folder() is None:
        return left_out("COUNTERPOISE_DATA is not set")
    X, y = nasdaq()
    gamma = 1.0 / X.shape[1]
    rows, bars = [], []
    for forgetting in ("logistic", "exponential"):
        small = SlidingWindowSVC(window=90, forgetting=forgetting, gamma=gamma)
        small.fit(X[:90], y[:90]).partial_fit(X[90:95], y[90:95])
        for C in (1.0, 100.0) if quick else (1.0, 100.0, 1e4):
            model = SlidingWindowSVC(
                window=N, forgetting=forgetting, C=C, gamma=gamma
            ).fit(X[:N], y[:N])
            seconds, events = [], []
            for k in range(MOVES):
                some = slice(N + STEP * k, N + STEP * (k + 1))
                spent, _ = timed(
                    lambda: model.partial_fit(X[some], y[some]),  # noqa: B023
                    calls=1,
                )
                seconds.append(spent)
                events.append(int(model.n_iter_.sum()))
            window, weights = model.window_, model.sample_weight_[model.window_]
            theirs = SVC(C=C, gamma=gamma)
            rows_of = slice(STEP * MOVES, N + STEP * MOVES)
            assert np.array_equal(model.X_fit_[window], X[rows_of])
            refit, _ = timed(
                lambda: theirs.fit(X[rows_of], y[rows_of], weights),  # noqa: B023
                calls=2,
            )
            ours = float(np.mean(seconds))
            rows.append(
                [
                    forgetting,
                    C,
                    float(np.mean(events)),
                    1e3 * ours,
                    1e3 * refit,
                    refit / ours,
                    model.certify().residual,
                ]
            )
            least = 12 if C <= 100 else 60
            what = f"{forgetting}, C = {C:g}: refit / update"
            bars.append(bar(what, refit / ours, least=least))
    header = "forgetting | C | events | update ms | refit ms | times faster | residual"
    return {"table": table("Windows", header, rows), "bars": bars}
