"""Are holes inside the source seen, and does the estimate speak for the rest?

(a) The square |x0|, |x1| < 0.4 has no source rows and holds a tenth of the target, in
2, 5, 10 and 30 columns; a linear model errs there by 3. (b) Two categories of 8 levels,
4 of 64 joint cells empty in the source. Before: "no shift detected" in 9 of 10 and 10
of 10, interval covering 0 of 10. A hole is to be seen in 0.95 of the draws, and the
interval to hold in as many, as far as the number of draws tells (`chance`).
"""

import numpy as np
import pandas as pd
from chance import share_at_least
from reporting import bar, table
from sizes import first_and_draws
from sklearn.linear_model import LinearRegression

from counterpoise import diagnose, estimate_performance

ROWS = 1000
EMPTY = np.array([[2, 5], [6, 1], [0, 3], [4, 7]])


def run(quick: bool) -> dict:
    """Measure verdicts, shares and coverage on the covered part."""
    first, draws = first_and_draws(quick, 2, 20)
    rows, bars, every = [], [], []
    least = share_at_least(0.95, draws)
    for n, d in ((ROWS, 2), (ROWS, 5), (ROWS, 10), (ROWS, 30), (ROWS // 2, 2)):
        found = [_square(n, d, first + k) for k in range(draws)]
        seen, share, caught, covers = np.mean(found, axis=0)
        rows.append([f"square, {n} rows, {d} columns", seen, share, caught, covers])
        if n == ROWS:
            every.append((seen, covers))
            what = f"square in {d} columns"
            bars.append(bar(f"{what}: seen", seen, least=least))
            bars.append(bar(f"{what}: covered part", covers, least=least))
    for n, more in ((ROWS, 0), (ROWS, 10)):
        found = [_cells(n, more, first + k) for k in range(draws)]
        seen, share, caught = np.mean(found, axis=0)
        rows.append([f"cells, {n} rows, {2 + more} columns", seen, share, caught, None])
        bars.append(bar(f"cells in {2 + more} columns: seen", seen, least=least))
    # Few draws of each kind are many of all.
    all_seen, all_covers = np.mean(every, axis=0)
    least = share_at_least(0.95, len(every) * draws)
    bars.append(bar("all squares: seen", all_seen, least=least))
    bars.append(bar("all squares: covered part", all_covers, least=least))
    told = table(
        "CoverageGaps",
        "hole | verdict is not 'no shift detected' | thin / true share | rows of the "
        "hole "
        "in thin | interval holds the truth of the covered part",
        rows,
    )
    return {"tables": [told], "bars": bars}


def _inside(X):
    return (np.abs(X[:, :2]) < 0.4).all(axis=1)


def _rows(n, d, rng, *, hole):
    X = rng.standard_normal((2 * n, d))
    X = X[~_inside(X)][:n] if hole else X[:n]
    return X, X[:, 0] + 3.0 * _inside(X) + 0.3 * rng.standard_normal(n)


def _square(n, d, seed):
    rng = np.random.default_rng(50_000 + seed)
    taught, (X, y) = _rows(n, d, rng, hole=True), _rows(n, d, rng, hole=True)
    T, answers = _rows(n, d, rng, hole=False)
    found = diagnose(X, T, random_state=seed)
    model = LinearRegression().fit(*taught)
    told = estimate_performance(model, X, y, T, random_state=seed)
    # The same rows and seed: what the estimate calls covered.
    seen, inside = found.overlap, _inside(T)
    is_outside_support = np.isin(np.arange(n), seen.uncovered_rows)
    left = ~(seen.is_outside_support | seen.near_hole)
    truth = ((model.predict(T) - answers) ** 2)[seen.rows_target[left]].mean()
    estimate = next(iter(told.covered.metrics.values())).doubly_robust
    return (
        found.verdict != "no shift detected",
        found.uncovered_fraction / inside.mean(),
        is_outside_support[inside].mean(),
        estimate.low <= truth <= estimate.high,
    )


def _cells(n, more, seed):
    rng = np.random.default_rng(60_000 + seed)
    S, T = rng.integers(0, 8, (2 * n, 2)), rng.integers(0, 8, (n, 2))
    S = S[~_empty(S)][:n]
    frames = []
    for codes in (S, T):
        frame = pd.DataFrame({f"n{j}": rng.standard_normal(n) for j in range(more)})
        frame["a"], frame["b"] = (codes[:, j].astype(str) for j in (0, 1))
        frames.append(frame)
    found = diagnose(*frames, random_state=seed)
    inside = _empty(T)
    is_outside_support = np.isin(np.arange(n), found.overlap.uncovered_rows)
    return (
        found.verdict != "no shift detected",
        found.uncovered_fraction / inside.mean(),
        is_outside_support[inside].mean(),
    )


def _empty(codes):
    return (codes[:, None] == EMPTY).all(axis=2).any(axis=1)
