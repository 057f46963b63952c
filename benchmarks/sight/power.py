"""Are small shifts found, and those that `detectable` says would be?

A thousand rows of each sample, ten columns: one level of a category 1.7 times as
common, a cluster of 3 % of the target in all columns, a scale of 1.25 in one column,
and the sizes that `Diagnosis.detectable` tells. Before: none of the first three was
found. Each is to be found as often as a power of 0.6 to 0.8 is in all but one of a
hundred runs of as many draws (`chance`), and all together as one of 0.7.
"""

import numpy as np
from chance import share_at_least
from reporting import bar, table
from sizes import first_and_draws

from counterpoise import diagnose
from counterpoise.shift.verdict_tests import (
    detectable,
)

ROWS, COLUMNS, LEVELS = 1000, 10, 8


def run(quick: bool) -> dict:
    """Count how often a shift is found."""
    first, draws = first_and_draws(quick, 3, 20)
    least = detectable(ROWS, ROWS, COLUMNS, LEVELS, n_categories=1)
    kinds = {
        "a level of 20 % times 1.7": (_level, (0.2, 1.7), 0.8),
        "a level of 10 % times 1.7": (_level, (0.1, 1.7), None),
        "a cluster of 3 %": (_cluster, (0.03,), 0.8),
        "a scale of 1.25": (_scale, (1.25,), 0.8),
        f"mean {least.mean:.2f}": (_mean, (least.mean,), 0.7),
        f"scale {least.scale:.2f}": (_scale, (least.scale,), 0.6),
        f"level {least.level:.2f}": (_level, (0.1, least.level), 0.7),
        f"hole {least.hole:.3f}": (_hole, (least.hole,), 0.7),
    }
    rows, bars, every = [], [], []
    for name, (draw, size, wanted) in kinds.items():
        found = []
        for k in range(draws):
            rng = np.random.default_rng(90_000 + first + k)
            X, T = draw(rng, *size)
            found.append(diagnose(X, T, random_state=k).verdict != "no shift detected")
        rows.append([name, float(np.mean(found))])
        if wanted is not None:
            every += found
            least_found = share_at_least(wanted, draws)
            bars.append(bar(f"{name}: found", float(np.mean(found)), least=least_found))
    least_found = share_at_least(0.7, len(every))
    bars.append(bar("all of them: found", float(np.mean(every)), least=least_found))
    told = table("Small shifts, 1,000 rows, 10 columns", "shift | found", rows)
    return {"tables": [told], "bars": bars}


def _normals(rng):
    return rng.standard_normal((2, ROWS, COLUMNS))


def _mean(rng, size):
    X, T = _normals(rng)
    T[:, 0] += size
    return X, T


def _scale(rng, size):
    X, T = _normals(rng)
    T[:, 0] *= size
    return X, T


def _cluster(rng, share):
    X, T = _normals(rng)
    k = round(share * ROWS)
    T[:k] = rng.standard_normal(COLUMNS) + 0.1 * rng.standard_normal((k, COLUMNS))
    return X, T


def _level(rng, share, factor):
    p, q = (np.full(LEVELS, (1 - s) / (LEVELS - 1)) for s in (share, factor * share))
    p[0], q[0] = share, factor * share
    frames = []
    for chances in (p, q):
        rows = rng.standard_normal((ROWS, COLUMNS)).astype(object)
        rows[:, 0] = [f"level {k}" for k in rng.choice(LEVELS, ROWS, p=chances)]
        frames.append(rows)
    return frames


def _hole(rng, share):
    half = np.sqrt(share) / 2
    center = rng.uniform(half, 1 - half, size=2)
    X, T = rng.uniform(size=(3 * ROWS, COLUMNS)), rng.uniform(size=(ROWS, COLUMNS))
    inside = (np.abs(X[:, :2] - center) < half).all(axis=1)
    return X[~inside][:ROWS], T
