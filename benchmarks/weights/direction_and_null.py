"""Does every weight estimator point the right way, and do nothing without shift?

Direction: N(0, 1) against N(1, 1), 1000 rows each; the share of the gap between the
means that the weighted source mean closes. Null: two samples of one density, 2000 rows
each; the effective sample size and the largest weight. All at default settings.
"""

import numpy as np
from reporting import bar, table, timed

from counterpoise import (
    KLIEP,
    KMM,
    LSIF,
    RULSIF,
    ULSIF,
    AutoWeights,
    DiscriminatorWeights,
    LogLinearKLIEP,
)

WEIGHT_ESTIMATORS = (
    AutoWeights,
    KLIEP,
    KMM,
    LSIF,
    ULSIF,
    RULSIF,
    LogLinearKLIEP,
    DiscriminatorWeights,
)
# Those that select among candidates keep more rows where nothing shifts.
SELECTS = {"AutoWeights": 0.9, "KLIEP": 0.9}
# Seeds at each dimension of the null; the bars are those of one dimension.
NULL_SEEDS = {1: 20, 10: 3}


def run(quick: bool) -> dict:
    """Try every weight estimator on every seed."""
    seeds = 2 if quick else 20
    rows, bars = [], []
    for weight_estimator in WEIGHT_ESTIMATORS:
        name = weight_estimator.__name__
        closed = [_closed(weight_estimator, seed) for seed in range(seeds)]
        rows.append([name, min(closed), float(np.median(closed)), max(closed)])
        bars.append(bar(f"{name}: share closed, worst seed", min(closed), least=0.7))
    direction = table(
        f"Direction: share of the gap in means closed, {seeds} seeds",
        "weight estimator | worst | median | most",
        rows,
    )
    rows = []
    for d, most in NULL_SEEDS.items():
        for weight_estimator in WEIGHT_ESTIMATORS:
            name = weight_estimator.__name__
            tried = range(min(seeds, most))
            seconds, pairs = timed(lambda w=weight_estimator: _nulls(w, d, tried), 1)  # noqa: B023
            pairs = np.array(pairs)
            least, largest = pairs[:, 0].min(), pairs[:, 1].max()
            middle = float(np.median(pairs[:, 0]))
            numbers = float(least), middle, float(largest), seconds / len(tried)
            rows.append([name, d, len(tried), *numbers])
            if d == 1:
                kept = SELECTS.get(name, 0.8)
                bars.append(bar(f"{name}: null, effective/n, worst", least, least=kept))
                bars.append(bar(f"{name}: null, largest weight", largest, 5))
    null = table(
        "Null: effective sample size / n, the largest weight, CPU s a fit",
        "weight estimator | d | seeds | worst | median | largest weight | s",
        rows,
    )
    return {"tables": [direction, null], "bars": bars}


def _closed(weight_estimator, seed: int) -> float:
    rng = np.random.default_rng(seed)
    X, X_target = rng.standard_normal((1000, 1)), 1 + rng.standard_normal((1000, 1))
    weights = weight_estimator(random_state=seed).fit(X, X_target=X_target).weights_
    weighted = float(np.average(X[:, 0], weights=weights))
    return (weighted - X.mean()) / (X_target.mean() - X.mean())


def _nulls(weight_estimator, d: int, seeds) -> list:
    return [_null(weight_estimator, d, seed) for seed in seeds]


def _null(weight_estimator, d: int, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(1000 + seed)
    X, X_target = rng.standard_normal((2000, d)), rng.standard_normal((2000, d))
    fitted = weight_estimator(random_state=seed).fit(X, X_target=X_target)
    return fitted.effective_sample_size_ / len(X), float(fitted.weights_.max())
