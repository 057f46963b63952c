"""Regression re-weighted by its residuals: sweeps of moves against refits."""

import numpy as np
from reporting import bar, table, timed
from samples import boston, folder
from sklearn.svm import SVR

from counterpoise.convex.solvers.parametric import DenseRows, Follower, from_prices
from counterpoise.numerics.kernels import rbf

EPSILON, GAMMA, SWEEPS = 0.05, 1.0 / 13.0, 50


def next_weights(off, C):
    """C sigma / |residual|, with a floor for residuals of zero."""
    sigma = np.sqrt(np.mean(off**2))
    floor = min(0.01, EPSILON / sigma)
    return C * sigma / np.maximum(np.abs(off), floor * sigma)


def run(quick):
    if folder() is None:
        print("  COUNTERPOISE_DATA is not set: left out")
        return {"bars": []}
    X, y = boston()
    chosen = np.random.default_rng(0).permutation(len(y))[:404]
    X, y = X[chosen], y[chosen]
    n = len(y)
    K = rbf(X, X, GAMMA)
    both = np.r_[np.arange(n), np.arange(n)]
    p = np.r_[y - EPSILON, -y - EPSILON]
    rows, bars = [], []
    for C in (1.0, 100.0, 1000.0):
        follower = Follower(DenseRows(K), np.repeat([1.0, -1.0], n), both)
        from_prices(follower, p, np.zeros(2 * n), np.full(2 * n, C))
        seconds, used, old = 0.0, [], None
        for _ in range(SWEEPS):
            off = y - follower.f
            if old is not None:
                change = np.where(old == 0.0, 1.0 * (off != 0.0), (old - off) / old)
                if np.mean(np.abs(change)) <= 1e-3:
                    break
            old, c = off, next_weights(off, C)
            spent, _ = timed(
                lambda: follower.move(upper=np.r_[c, c]),  # noqa: B023
                calls=1,
            )
            seconds += spent
            used.append(c)
        few = used[:: max(1, len(used) // 3)][:3]

        def refits():
            for c in few:  # noqa: B023
                SVR(C=1.0, epsilon=EPSILON, gamma=GAMMA).fit(X, y, c)

        refit = timed(refits, calls=1)[0] / len(few) * len(used)
        rows.append([C, len(used), 1e3 * seconds, 1e3 * refit, refit / seconds])
        least = {1.0: 10, 100.0: 100, 1000.0: 300}[C]
        bars.append(bar(f"C = {C:g}: refits / path", refit / seconds, least=least))
    header = "C | sweeps | ours ms | refits ms | times faster"
    return {"table": table("Heteroscedastic regression", header, rows), "bars": bars}
