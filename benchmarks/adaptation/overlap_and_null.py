"""Is the uncovered share of a target seen, and is nothing seen where nothing shifts?

Overlap: a target of which a share q of the rows lies in a disjoint cluster and the rest
is drawn as the source, 1000 rows of each, five columns; `uncovered_fraction` should be
q. Null: both samples of one distribution; the verdict should be that no shift was
found. DRAWS says how many draws.
"""

import os

import numpy as np
from reporting import bar, table

from counterpoise import diagnose
from counterpoise.datasets import make_uncovered_cluster

ROWS, COLUMNS = 1000, 5
# The share in the cluster, and the verdict that goes with it.
SHARES = {
    0.0: "no shift detected",
    0.1: "shift, partial overlap",
    0.3: "shift, partial overlap",
    0.6: "no overlap",
    1.0: "no overlap",
}
UNCOVERED = ("shift, partial overlap", "no overlap")
# `uncovered_fraction` is to be so near q in this share of the draws; at q = 0 and q =
# 1 the verdict is to be right in all, and in this share where nothing shifts.
NEAR, OFTEN, QUIET = 0.05, 0.95, 0.9


def run(quick: bool) -> dict:
    """Measure shares and verdicts beside what was wanted."""
    draws = int(os.environ.get("DRAWS", "4" if quick else "100"))
    rows, bars = [], []
    for q in SHARES:
        # `uncovered_fraction` alone: no permutations, which only make it longer.
        found = [_cluster(q, seed) for seed in range(draws)]
        uncovered_fraction = np.array([one.uncovered_fraction for one in found])
        right = float(np.mean([one.verdict == SHARES[q] for one in found]))
        near = float(np.mean(np.abs(uncovered_fraction - q) <= NEAR))
        rows.append(
            [
                q,
                uncovered_fraction.min(),
                np.median(uncovered_fraction),
                uncovered_fraction.max(),
                near,
                right,
            ]
        )
        bars.append(bar(f"thin within {NEAR} of q = {q}", near, least=OFTEN))
        if q in (0.0, 1.0):
            bars.append(bar(f"verdict {SHARES[q]!r} at q = {q}", right, least=1.0))
        if q == 0.0:
            covered = float(np.mean([one.verdict not in UNCOVERED for one in found]))
            bars.append(bar("nothing thin or apart at q = 0.0", covered, least=1.0))
    shares = table(
        f"A share q of the target in a disjoint cluster, {draws} draws each",
        "q | thin: least | middle | most | near q | verdict right",
        rows,
    )
    rows = []
    for name, draw in NULLS.items():
        found = [_null(draw, seed) for seed in range(draws)]
        quiet = float(np.mean([one.verdict == "no shift detected" for one in found]))
        alerts = [min(f.adjusted_p_value for f in one.features) < 0.05 for one in found]
        chance = [one.mmd_p_value < 0.05 for one in found]
        rows.append([name, quiet, float(np.mean(alerts)), float(np.mean(chance))])
        bars.append(bar(f"{name}: no shift detected", quiet, least=QUIET))
    nothing = table(
        f"Two samples of one distribution, {draws} draws each",
        "rows | no shift detected | a feature below 0.05 (Holm) | MMD below 0.05",
        rows,
    )
    return {"tables": [shares, nothing], "bars": bars}


def _cluster(q: float, seed: int):
    shift = make_uncovered_cluster(
        q, n=ROWS, m=ROWS, d=COLUMNS, shift=0, random_state=seed
    )
    return diagnose(shift.X, shift.X_target, n_permutations=0, random_state=seed)


def _null(draw, seed: int):
    rng = np.random.default_rng(1000 + seed)
    return diagnose(draw(rng), draw(rng), n_permutations=99, random_state=seed)


def _normal(rng: np.random.Generator):
    return rng.standard_normal((ROWS, COLUMNS))


def _mixed(rng: np.random.Generator):
    rows = np.empty((ROWS, 4), dtype=object)
    rows[:, 0] = rng.standard_normal(ROWS)
    rows[:, 1] = np.where(rng.random(ROWS) < 0.1, None, rng.integers(0, 9, ROWS))
    rows[:, 2] = [f"common {k}" for k in rng.integers(0, 6, ROWS)]
    rows[:, 3] = [f"rare {k}" for k in rng.zipf(1.5, ROWS)]
    return rows


NULLS = {"five normal columns": _normal, "a mixed table": _mixed}
