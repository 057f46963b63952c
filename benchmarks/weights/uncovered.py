"""What do weights do where a part of the target has no source rows near?

15 % of the target in a cluster that the source misses: the weights must be finite, a
warning must say so, and on the covered part they must follow the true ratio. Disjoint
samples must be refused.
"""

import warnings

import numpy as np
from reporting import bar, table

from counterpoise import KLIEP, AutoWeights, NoOverlapError
from counterpoise.datasets import make_uncovered_cluster


def run(quick: bool) -> dict:
    """Try the two weighters that guard against it."""
    seeds = 2 if quick else 10
    rows, bars = [], []
    for name, make in _WEIGHTERS.items():
        found = np.array([_partial(make(seed), seed) for seed in range(seeds)])
        refused = sum(_refuses(make(seed), seed) for seed in range(seeds))
        least, middle = float(found[:, 0].min()), float(np.median(found[:, 0]))
        said, finite = float(found[:, 1].mean()), float(found[:, 2].mean())
        rows.append([name, least, middle, said, finite, refused / seeds])
        bars += [
            bar(f"{name}: correlation on the covered part, worst", least, least=0.9),
            bar(f"{name}: share of seeds that warn", said, least=1),
            bar(f"{name}: share of seeds with finite weights", finite, least=1),
            bar(f"{name}: disjoint samples refused", refused / seeds, least=1),
        ]
    shown = table(
        f"15 % of the target uncovered, {seeds} seeds; disjoint samples",
        "weighter | worst correlation | median | warned | finite | disjoint refused",
        rows,
    )
    return {"tables": [shown], "bars": bars}


def _partial(weighter, seed: int) -> tuple[float, bool, bool]:
    shift = make_uncovered_cluster(random_state=seed)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        weights = weighter.fit(shift.X, X_target=shift.X_target).weights_
    names = [one.category.__name__ for one in said]
    follows = float(np.corrcoef(weights, shift.ratio)[0, 1])
    finite = bool(np.isfinite(weights).all())
    return follows, "PartialOverlapWarning" in names, finite


def _refuses(weighter, seed: int) -> bool:
    rng = np.random.default_rng(seed)
    X, X_target = rng.standard_normal((300, 3)), 30 + rng.standard_normal((300, 3))
    try:
        weighter.fit(X, X_target=X_target)
    except NoOverlapError:
        return True
    return False


_WEIGHTERS = {
    "AutoWeights": lambda seed: AutoWeights(random_state=seed),
    "KLIEP(relative=0.05)": lambda seed: KLIEP(relative=0.05, random_state=seed),
}
