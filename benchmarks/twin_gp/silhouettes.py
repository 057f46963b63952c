"""Silhouettes to poses of another motion: all methods, weighted and not.

Published on HumanEva, whose features are not to be had (Chapaneri and Jayaswal 2019):
motion transfer, three cameras, SMTGP 144.9 / 154.7 / 148.3 mm for three subjects and
IW-SMTGP 142.4 / 151.6 / 147.3 mm, -0.7 to -2.0 %.
"""

import numpy as np
import real_data
from reporting import bar, table
from scoring import joint_error

from counterpoise import (
    KLIEP,
    DirectTwinGP,
    TwinGP,
    WeightedGPR,
    WeightedKNN,
    flatten,
)

METHODS = {
    "GPR": WeightedGPR,
    "weighted k-NN": WeightedKNN,
    "direct TGP": DirectTwinGP,
    "KLTGP": lambda **how: TwinGP(divergence="kl", tol=1e-6, **how),
    "SMTGP": lambda **how: TwinGP(tol=1e-6, **how),
}
BLOCK = 97  # frames of a training block
TEST_BLOCK = 38


def run(quick):
    data = real_data.silhouettes()
    if data is None:
        print("  left out: COUNTERPOISE_DATA names no folder with these data")
        return {"bars": []}
    print(__doc__.partition("\n\n")[2])
    X, y, X_target, _ = data
    # Every fourth block of frames is held out together.
    groups = np.arange(len(X)) // BLOCK % 4
    weighter = KLIEP(random_state=0, force=True).fit(X, X_target=X_target)
    size = 100.0 * weighter.effective_sample_size_ / len(X)
    kinds = {"none": None}
    if not quick:
        kinds |= {"KLIEP": weighter.weights_, "root": flatten(weighter.weights_, 0.5)}
    errors, rows = {}, []
    for kind, weights in kinds.items():
        for name, make in METHODS.items():
            errors[name, kind], model = _error(make, X, y, weights, groups, data)
            base = errors["GPR", "none"] if kind == "none" else errors[name, "none"]
            low, high = _interval(errors[name, kind], base)
            mean = errors[name, kind].mean()
            print(f"  {name}, weights {kind}: {mean:.3f}", flush=True)
            percent = 100.0 * (mean / base.mean() - 1.0)
            tried = len(model.cv_results_["score"])
            held = model.holdout_score_
            rows.append([name, kind, tried, held, mean, percent, low, high])
    header = (
        "method | weights | settings | held-out distance | test error"
        " | against GPR or unweighted, % | low | high"
    )
    title = f"1927 frames, 418 of another motion; KLIEP's effective size {size:.0f} %"
    bars = [
        bar("GPR: test error", errors["GPR", "none"].mean(), most=3.05),
        bar("SMTGP: test error", errors["SMTGP", "none"].mean(), most=2.55),
        bar("KLTGP: test error", errors["KLTGP", "none"].mean(), most=2.65),
    ]
    for name in ("SMTGP", "KLTGP"):
        high = _interval(errors[name, "none"], errors["GPR", "none"])[1]
        bars.append(bar(f"{name} against GPR, upper end, %", high, most=0.0))
    return {"table": table(title, header, rows), "bars": bars}


def _error(make, X, y, weights, groups, data):
    model = make(search="holdout", random_state=0)
    model.fit(X, y, weights, groups=groups)
    return joint_error(model.predict(data[2]), data[3]), model


def _interval(new, old, draws=2000):
    """Return the 95 % interval of the change, by bootstrap over blocks of frames."""
    blocks = np.array_split(np.arange(len(new)), len(new) // TEST_BLOCK)
    rng = np.random.default_rng(0)
    changes = []
    for _ in range(draws):
        some = np.concatenate(
            [blocks[k] for k in rng.integers(0, len(blocks), len(blocks))]
        )
        changes.append(100.0 * (new[some].mean() / old[some].mean() - 1.0))
    return tuple(float(q) for q in np.quantile(changes, [0.025, 0.975]))
