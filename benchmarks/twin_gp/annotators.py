"""One label of many annotators': how near to what known reliabilities would give?

The oracle knows every annotator's noise and the labels' distribution. No bars: nothing
was asked for. "Covered" are truths within 1.96 deviations of their label.
"""

import warnings

import numpy as np
from reporting import table
from scoring import seeds

from counterpoise.twin_gp import consensus

NOISES = (0.3, 1.0, 2.5)
MEAN, SPREAD = 5.0, 2.0
CASES = {  # items, annotators, chance that a rating is there
    "2 annotators, 10 items": (10, 2, 1.0),
    "2 annotators, 300 items": (300, 2, 1.0),
    "3 annotators, 100 items": (100, 3, 1.0),
    "5 annotators, 300 items, 40 % rated": (300, 5, 0.4),
    "40 annotators, 40 items, 8 % rated": (40, 40, 0.08),
    "120 annotators, 300 items, 5 % rated": (300, 120, 0.05),
}


def run(quick):
    rows = []
    for name, case in CASES.items():
        found = [_measure(*case, seed) for seed in seeds(4 if quick else 20)]
        rows.append([name, *np.sqrt(np.nanmean(found, axis=0))[:4]])
        rows[-1] += [100.0 * share for share in np.nanmean(found, axis=0)[4:]]
    header = (
        "case | oracle, RMSE | mean | plain EM | with the bound"
        " | covered by plain EM, % | with the bound, %"
    )
    title = f"Labels of spread {SPREAD:g}, annotators of noise {NOISES}"
    return {"table": table(title, header, rows), "bars": []}


def _measure(n_items, n_annotators, share, seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(MEAN, SPREAD, n_items)
    noise = rng.choice(NOISES, n_annotators)
    ratings = truth[:, None] + noise * rng.normal(size=(n_items, n_annotators))
    ratings[rng.random(ratings.shape) > share] = np.nan
    seen = ~np.isnan(ratings)
    rated = seen.any(axis=1)
    precision = (seen / noise**2).sum(axis=1) + 1.0 / SPREAD**2
    oracle = np.nansum(ratings / noise**2, axis=1) + MEAN / SPREAD**2
    labels = {"oracle": oracle / precision, "mean": np.full(n_items, np.nan)}
    labels["mean"][rated] = np.nanmean(ratings[rated], axis=1)
    covered = []
    for name, confidence in (("plain", None), ("bound", 0.5)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = consensus(ratings, confidence=confidence)
        labels[name] = found.labels
        away = np.abs(found.labels - truth) <= 1.96 * found.deviations
        covered.append(away[rated].mean())
    squares = [((one - truth)[rated] ** 2).mean() for one in labels.values()]
    return squares + covered
