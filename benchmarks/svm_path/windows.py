"""A window of 2200 days that moves by five: an update against a refit."""

import numpy as np
from reporting import bar, table, timed
from samples import folder, nasdaq
from sklearn.svm import SVC

from counterpoise.convex.solvers.parametric import DenseRows, Follower, from_zero
from counterpoise.numerics.kernels import rbf

N, STEP, MOVES = 2200, 5, 5


def weights(n, C):
    """The oldest row first: 2 C / (1 + exp(3 - 6 i / n))."""
    return 2 * C / (1 + np.exp(3 - 6 * np.arange(1, n + 1) / n))


def run(quick):
    if folder() is None:
        print("  COUNTERPOISE_DATA is not set: left out")
        return {"bars": []}
    X, y = nasdaq()
    total = N + STEP * MOVES
    X, y = X[:total], y[:total].astype(float)
    K = rbf(X, X, 1.0 / X.shape[1])
    one = np.ones(total)
    rows, bars = [], []
    for C in (1.0, 100.0, 1e4):
        follower = Follower(DenseRows(K), y)

        def bounds(first):
            c = np.zeros(total)
            c[first : first + N] = weights(N, C)  # noqa: B023
            return c

        from_zero(follower, one, 0 * one, bounds(0))
        seconds = []
        for k in range(1, MOVES + 1):
            c = bounds(STEP * k)
            spent, path = timed(lambda: follower.move(upper=c), calls=1)  # noqa: B023
            seconds.append(spent)
        some = slice(STEP * MOVES, total)
        gamma = 1.0 / X.shape[1]
        refit, _ = timed(
            lambda: SVC(C=1.0, gamma=gamma).fit(X[some], y[some], weights(N, C)),  # noqa: B023
            calls=2,
        )
        ours = float(np.mean(seconds))
        residual = path.certify(1.0).residual
        rows.append([C, path.n_events, 1e3 * ours, 1e3 * refit, refit / ours, residual])
        least = 12 if C <= 100 else 60
        bars.append(bar(f"C = {C:g}: refit / update", refit / ours, least=least))
    header = "C | events | update ms | refit ms | times faster | residual"
    return {"table": table("Windows", header, rows), "bars": bars}
