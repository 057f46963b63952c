"""Twelve sparsities, each from the one before, against twelve fits."""

import numpy as np
from instances import image_like
from reporting import bar, table, timed

from counterpoise.selection import SubsetSelector


def run(quick):
    rows, worst = [], 0.0
    for seed in range(2 if quick else 5):
        one = image_like(200, 20, seed)
        selector = SubsetSelector("precomputed", 0.1, 0.2)
        selector.fit(one.R, graph=one.W, sample_weight=one.mass)
        seconds, path = timed(selector.path, calls=3, most=5.0)
        assert all(solution.converged for solution in path.solutions)

        def apart(path=path, one=one):
            for sparsity in path.sparsities:
                other = SubsetSelector("precomputed", float(sparsity), 0.2)
                other.fit(one.R, graph=one.W, sample_weight=one.mass)

        separate, _ = timed(apart, calls=1)
        worst = max(worst, seconds)
        words = f"{path.active[0].sum()} to {path.active[-1].sum()}"
        rows.append([seed, seconds, separate, words, int(np.isnan(path.enters).sum())])
    header = "seed | path s | twelve fits s | active words | never active"
    return {
        "table": table("Path of 12, n = 200, l = 20, tol 1e-4", header, rows),
        "bars": [bar("path of 12 at n = 200: s", worst, most=0.5)],
    }
