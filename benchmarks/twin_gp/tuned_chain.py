"""Tuned and unweighted: do twin GPs beat GPR on the articulated chain?

Bars were set from the figures of a prototype. GPR's candidates are printed, since a
baseline that tries too little makes others look good. They are some of 11 widths and 8
ridges; on 32 draws, apart from this, trying all 88 found nothing better.
"""

import numpy as np
from reporting import bar, table, timed
from scoring import change, joint_error, seeds

from counterpoise import DirectTwinGP, TwinGP, WeightedGPR, WeightedKNN
from counterpoise.datasets import make_articulated_pose

METHODS = {
    "GPR": WeightedGPR,
    "weighted k-NN": WeightedKNN,
    "direct TGP": DirectTwinGP,
    "KLTGP": lambda **how: TwinGP(divergence="kl", **how),
    "SMTGP": TwinGP,
}
SETTINGS = [  # scenario, rows, draws, draws when quick
    ("none", 500, 8, 3),
    ("none3", 500, 8, 2),
    ("none", 1500, 5, 1),
]


def run(quick):
    rows, bars, candidates = [], [], []
    for scenario, n, many, few in SETTINGS:
        draws = few if quick else many
        errors, spent, tried, asked = _measure(scenario, n, draws)
        cameras = "three cameras" if scenario.endswith("3") else "one camera"
        for name, of_seed in errors.items():
            percent, p = change(of_seed, errors["GPR"])
            mean = sum(of_seed) / len(of_seed)
            rows.append([cameras, n, name, tried[name], mean, percent, p, spent[name]])
        candidates.append(_candidates(f"{cameras}, N = {n}, {draws} draws", asked))
        bars += _judge(cameras, n, errors)
    header = (
        "cameras | N | method | settings | joint error, mm | against GPR, % | p"
        " | s a seed"
    )
    out = table("Tuned by a held-out quarter", header, rows)
    return {"table": out, "candidates": candidates, "bars": bars}


def _measure(scenario, n, draws):
    errors = {name: [] for name in METHODS}
    spent = dict.fromkeys(METHODS, 0.0)
    tried = dict.fromkeys(METHODS, 0)
    asked = []
    for seed in seeds(draws):
        shift = make_articulated_pose(scenario, n, 1000, random_state=seed)
        for name, make in METHODS.items():

            def answer(make=make, seed=seed, shift=shift):
                model = make(search="holdout", random_state=seed)
                model.fit(shift.X, shift.y)
                return model, model.predict(shift.X_target)

            seconds, (model, answers) = timed(answer, calls=1)
            spent[name] += seconds / draws
            tried[name] = max(tried[name], len(model.cv_results_["score"]))
            errors[name].append(joint_error(answers, shift.y_target).mean())
            if name == "GPR":
                asked.append(_asked(model, shift.X))
    return errors, spent, tried, asked


def _asked(model, X):
    """Return the points that a GPR tried, (width in units of the rule's, ridge)."""
    found = model.cv_results_
    rule = 1.0 / (4.0 * X.var(axis=0).sum())
    widths = np.sqrt(rule / found["param_gamma_x"]).round(2)
    points = list(zip(widths.tolist(), found["param_ridge_x"].tolist(), strict=True))
    return points, points[int(np.argmin(found["score"]))]


def _candidates(where, asked):
    """Print in how many draws GPR tried a point, and in how many it took it."""
    points = [point for tried, _ in asked for point in tried]
    taken = [best for _, best in asked]
    widths, ridges = (sorted(set(axis)) for axis in zip(*points, strict=True))
    rows = []
    for ridge in ridges:
        counts = [(points.count((w, ridge)), taken.count((w, ridge))) for w in widths]
        cells = [f"{n} ({best})" if best else n or None for n, best in counts]
        rows.append([f"{ridge:g}", *cells])
    header = " | ".join(["ridge", *(f"width {w:g}" for w in widths)])
    return table(f"Draws in which GPR tried (took): {where}", header, rows)


def _judge(cameras, n, errors):
    percent = {name: change(of, errors["GPR"]) for name, of in errors.items()}
    where = f"{cameras}, N = {n}"
    if cameras == "three cameras":
        what = f"{where}: SMTGP against GPR, %"
        return [bar(what, percent["SMTGP"][0], most=0.0)]
    if n == 500:
        return [
            bar(f"{where}: SMTGP against GPR, %", percent["SMTGP"][0], most=-7.0),
            bar(f"{where}: its p", percent["SMTGP"][1], most=0.01),
            bar(f"{where}: KLTGP against GPR, %", percent["KLTGP"][0], most=-4.0),
            bar(f"{where}: its p", percent["KLTGP"][1], most=0.01),
        ]
    return [bar(f"{where}: SMTGP against GPR, %", percent["SMTGP"][0], most=-10.0)]
