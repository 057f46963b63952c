"""Valence and arousal of songs of another year: all methods, weighted and not.

Published rows are of other songs and features, with parameters chosen for the highest
R2. Nothing is judged here: two noisy outputs without ambiguity are no case for a twin
GP, and one that wins by much should be suspected.
"""

import numpy as np
import real_data
from published import MOODS
from reporting import left_out, table
from scoring import seeds
from silhouettes import METHODS

from counterpoise import KLIEP, flatten_weights

YEARS = ((2013, 2014), (2014, 2013))


def run(quick):
    data = real_data.moods()
    if data is None:
        return left_out("COUNTERPOISE_DATA names no folder with these data")
    rows, draws = [], 1 if quick else 4
    for pair in YEARS[:1] if quick else YEARS:
        errors = _measure(data, pair, draws, quick)
        where = f"{pair[0]} -> {pair[1]}"
        for (name, kind), of_draw in errors.items():
            joint, *r2 = np.mean(of_draw, axis=0)
            base = errors["GPR" if kind == "none" else name, "none"]
            percent = 100.0 * (joint / np.mean(base, axis=0)[0] - 1.0)
            rows.append([where, name, kind, *r2, joint, percent])
    rows += _published()
    header = (
        "years | method | weights | R2 valence | R2 arousal | joint RMSE"
        " | against GPR or unweighted, %"
    )
    title = f"80 % subsamples, tuned by a held-out quarter, {draws} draws"
    return {"table": table(title, header, rows), "bars": []}


def _published():
    rows = []
    for (where, name), figures in MOODS.items():
        (r2_valence, valence), (r2_arousal, arousal) = figures
        joint = float(np.hypot(valence, arousal))
        plain = np.hypot(*(rmse for _, rmse in MOODS[where, "SMTGP"]))
        percent = None if name == "SMTGP" else 100.0 * (joint / plain - 1.0)
        kind = "none" if name == "SMTGP" else "KLIEP"
        rows.append(
            [where, "published SMTGP", kind, r2_valence, r2_arousal, joint, percent]
        )
    return rows


def _measure(data, pair, draws, quick):
    X, y, year = data
    source, target = (np.flatnonzero(year == one) for one in pair)
    errors = {}
    for seed in seeds(draws):
        rng = np.random.default_rng(seed)
        rows = rng.choice(source, int(0.8 * len(source)), replace=False)
        aims = rng.choice(target, int(0.8 * len(target)), replace=False)
        rows, aims = rows[:600], aims[:600]
        mean, scale = X[rows].mean(axis=0), X[rows].std(axis=0)
        A, B = (X[rows] - mean) / scale, (X[aims] - mean) / scale
        weights = (
            KLIEP(random_state=seed, allow_no_overlap=True).fit(A, X_target=B).weights_
        )
        kinds = {"none": None}
        if not quick:
            kinds |= {"KLIEP": weights, "root": flatten_weights(weights, 0.5)}
        for kind, w in kinds.items():
            for name, make in METHODS.items():
                model = make(search="holdout", random_state=seed).fit(A, y[rows], w)
                away = model.predict(B) - y[aims]
                r2 = 1 - (away**2).mean(axis=0) / y[aims].var(axis=0)
                joint = np.sqrt((away**2).mean(axis=0).sum())
                errors.setdefault((name, kind), []).append([joint, *r2])
    return errors
