"""From uniform to importance weights: the path against refits at 100 thetas."""

import numpy as np
from reporting import bar, table, timed
from samples import covariate_shift
from sklearn.svm import SVC
from warm_smo import seed_alpha, smo

from counterpoise.svm import WeightedSVC

GAMMA = 0.25


def warm_seconds(model, w, C):
    """CPU seconds of 100 warm-started solves along the line."""
    machine = model.machines_[0]
    K, s = machine.follower.rows.K, machine.follower.variables.sign
    n = len(s)
    rows, one = np.arange(n), np.ones(n)

    def go():
        a, c = machine.follower.a.copy(), C * one
        for theta in np.linspace(0.0, 1.0, 101)[1:]:
            c_new = C * (1 + theta * (w - 1))
            a = seed_alpha(a, s, c, c_new)
            smo(K, rows, s, one, c_new, a, 1e-3, 10_000_000)
            c = c_new

    return timed(go, calls=1)[0]


def run(quick):
    rows, bars = [], []
    for n in (500,) if quick else (500, 1000):
        for C in (1.0, 100.0, 1e4):
            X, y, w, *_ = covariate_shift(n)
            small = WeightedSVC(C=C, gamma=GAMMA).fit(X[:80], y[:80])
            small.path(sample_weight=w[:80])
            start, model = timed(lambda: WeightedSVC(C=C, gamma=GAMMA).fit(X, y), 3)  # noqa: B023
            alone, path = timed(lambda: model.path(sample_weight=w))  # noqa: B023
            few = np.linspace(0.0, 1.0, 4 if C > 1000 else 10)

            def refits():
                for theta in few:  # noqa: B023
                    c = 1 + theta * (w - 1)  # noqa: B023
                    SVC(C=C, gamma=GAMMA).fit(X, y, sample_weight=c)  # noqa: B023

            refit = 100 * timed(refits, calls=2)[0] / few.size
            warm_seconds(small, w[:80], C)
            warm = warm_seconds(model, w, C)
            residual = path.certify().residual
            rows.append(
                [
                    n,
                    C,
                    path.n_events,
                    1e3 * alone,
                    1e3 * start,
                    refit / alone,
                    warm / alone,
                    refit / (start + alone),
                    residual,
                ]
            )
            what = f"n = {n}, C = {C:g}"
            bars += [
                bar(f"{what}: 100 refits / path", refit / alone, least=300),
                bar(f"{what}: 100 warm SMO / path", warm / alone, least=10),
                bar(
                    f"{what}: 100 refits / (Gram + start + path)",
                    refit / (start + alone),
                    least=30 if C <= 100 else 300,
                ),
                bar(f"{what}: residual", residual, most=max(1e-9, 1e-15 * C * n)),
            ]
    header = (
        "n | C | events | path ms | start ms | refits | warm SMO | whole | residual"
    )
    return {"table": table("Flattening", header, rows), "bars": bars}
