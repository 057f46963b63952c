"""CPU seconds a round, by rows: proved without constraints, and with a class bound."""

import time

import numpy as np
from reporting import bar, table

from counterpoise.networks import ConvexNetworkClassifier

ROWS = (500, 1000, 2000, 4000, 10_000)
PROVED_ROUNDS, BOUNDED_ROUNDS = 8, 6


def sample(m, seed=0):
    """Return rows of eight columns, of which two make the rarer class together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 8))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=m) > 0.7).astype(int)
    return X, y


def seconds(m, seed, repeat, **how):
    """Return the least CPU seconds a round of some fits, and the last fit."""
    X, y = sample(m, seed)
    spent = []
    for _ in range(repeat):
        net = ConvexNetworkClassifier(random_state=seed, tol=1e-12, **how)
        began = time.process_time()
        net.fit(X, y)
        spent.append((time.process_time() - began) / net.n_iter_)
    return min(spent), net


def run(quick):
    rows, bars, proved, bounded = [], [], {}, {}
    seeds = range(1 if quick else 3)
    for m in ROWS[:2] if quick else ROWS:
        repeat = 2 if m <= 1000 else 1
        own = [seconds(m, s, repeat, max_iter=PROVED_ROUNDS) for s in seeds]
        proved[m] = float(np.mean([spent for spent, _ in own]))
        worst = max(one.exactness for _, net in own for one in net.rounds_)
        own = [
            seconds(m, s, repeat, max_iter=BOUNDED_ROUNDS, class_error_bound=0.45)
            for s in seeds
        ]
        bounded[m] = float(np.mean([spent for spent, _ in own]))
        excess = max(max(net.feasibility_["train"].values()) for _, net in own)
        rows.append([m, proved[m], worst, bounded[m], excess])
        if m == ROWS[0]:
            bars += [
                bar("s a proved round, 500 rows x (6, 6)", proved[m], 0.3),
                bar("s a constrained round, 500 rows x (6, 6)", bounded[m], 1.0),
            ]
    header = "rows | s a proved round | largest ratio | s a constrained round | excess"
    told = table("A round of 8-6-6-1", header, rows)
    for less, more in ((500, 1000), (1000, 2000), (2000, 4000)):
        if more in proved:
            for name, by in (("proved", proved), ("constrained", bounded)):
                what = f"{name} round, {less} to {more} rows: times"
                bars.append(bar(what, by[more] / by[less], 2.4))
    return {"table": told, "bars": bars}
