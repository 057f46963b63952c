"""Prototypes of digits: how far the choice is from what was proved of any choice."""

import numpy as np
from reporting import bar, table, timed
from sklearn.datasets import load_digits

from counterpoise.selection import select_prototypes, select_representatives


def run(quick):
    X = load_digits().data / 16.0
    rows, worst, least = [], 0.0, np.inf
    for n in (120, 200) if quick else (120, 200, 400):
        some = X[np.random.default_rng(n).permutation(len(X))[:n]]
        select_prototypes(some[:20])
        for k, share in ((None, 0.02), (None, 0.05), (None, 0.1), (5, 0), (20, 0)):
            given = {"sparsity": share} if k is None else {}
            seconds, found = timed(
                lambda: select_prototypes(some, k, **given),  # noqa: B023
                calls=1,
            )
            worst = max(worst, found.ratio)
            drawn = None
            if k is not None:
                drawn = _random_cost(some, k) / _cost(
                    some, select_representatives(some, k)
                )
                least = min(least, drawn)
            rows.append([n, k, share, len(found.indices), found.ratio, seconds, drawn])
    header = "n | k given | sparsity | k | objective / bound | s | random / ours"
    return {
        "table": table("Prototypes of digits", header, rows),
        "bars": [
            bar("objective / bound, worst", worst, most=1.03),
            bar(
                "cost of random rows / select_representatives, least", least, least=1.1
            ),
        ],
    }


def _cost(X, rows):
    return ((X[:, None] - X[rows][None]) ** 2).sum(-1).min(1).mean()


def _random_cost(X, k):
    rng = np.random.default_rng(0)
    return np.mean([_cost(X, rng.permutation(len(X))[:k]) for _ in range(20)])
