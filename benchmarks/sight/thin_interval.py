"""Do refusals hold from one draw of a pair to the next, near a thin share of one half?

Two normals 2.55 apart in one of three columns, and a disjoint cluster of half of the
target: `thin` is about one half. How often its interval holds the mean over the draws,
and how often "no overlap" is said. Before: by `thin` > 0.5, in half of the draws.
"""

import os

import numpy as np
from reporting import bar, table

from counterpoise.datasets import make_uncovered_cluster
from counterpoise.samples import overlap


def run(quick: bool) -> dict:
    """Measure coverage and refusals."""
    first, draws = int(os.environ.get("SEED", "0")), 6 if quick else 40
    rows, bars = [], []
    for name, draw in (("normals", _normals), ("cluster", _cluster)):
        for n in (300, 1000):
            found = [
                overlap(*draw(n, 80_000 + first + k), random_state=k)
                for k in range(draws)
            ]
            thin = np.array([one.thin for one in found])
            holds = np.mean([o.thin_low <= thin.mean() <= o.thin_high for o in found])
            before = float((thin > 0.5).mean())
            refused = np.mean([one.verdict == "no overlap" for one in found])
            rows.append([name, n, thin.mean(), thin.std(), before, refused, holds])
            bars.append(bar(f"{name}, {n} rows: refused", refused, most=0.1))
            bars.append(bar(f"{name}, {n} rows: interval", holds, least=0.85))
    told = table(
        "thin near one half",
        "pair | rows | mean | deviation | refused before | refused | interval holds",
        rows,
    )
    return {"tables": [told], "bars": bars}


def _normals(n, seed):
    X, T = np.random.default_rng(seed).standard_normal((2, n, 3))
    T[:, 0] += 2.55
    return X, T


def _cluster(n, seed):
    shift = make_uncovered_cluster(0.5, n=n, m=n, d=5, shift=0, random_state=seed)
    return shift.X, shift.X_target
