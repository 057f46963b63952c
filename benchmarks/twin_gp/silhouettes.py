"""Silhouettes to poses of another motion: all methods, weighted and not.

Every fourth block of frames makes a quarter. Judged is the choice by all four quarters,
each held out once, the same for every method. It was made the judged one when the
figures of single quarters were known: SMTGP 2.35 to 2.65, KLTGP 2.35 to 2.57, as the
quarter happens to be; these stand in a table of their own, without bars. The bars were
set before that, from the figures of a prototype with one quarter held out: GPR 3.00 +-
.05, SMTGP 2.55, KLTGP 2.65, and an interval of the change against GPR below zero.

A quick run has every tenth frame, and of the bars the two intervals alone.

Published rows are HumanEva's, motion transfer with three cameras, in mm: other people
and cameras, so that only their changes can be compared.
"""

import re
import warnings

import numpy as np
import real_data
from published import POSES
from reporting import bar, left_out, table
from scoring import joint_error

from counterpoise import KLIEP, flatten_weights
from counterpoise.twin_gp import DirectTwinGP, TwinGP, WeightedGPR, WeightedKNN

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
        return left_out("COUNTERPOISE_DATA names no folder with these data")
    X, y, X_target, y_target = data
    some = np.arange(0, len(X), 10 if quick else 1)
    quarters = some // BLOCK % 4
    X = X[some]
    data = X, y[some], X_target, y_target
    weight_estimator = KLIEP(random_state=0, allow_no_overlap=True).fit(
        X, X_target=X_target
    )
    size = 100.0 * weight_estimator.effective_sample_size_ / len(X)
    kinds = {"none": None}
    if not quick:
        kinds |= {
            "KLIEP": weight_estimator.weights_,
            "root": flatten_weights(weight_estimator.weights_, 0.5),
        }
    errors, rows = {}, []
    for kind, weights in kinds.items():
        for name in METHODS:
            far, model, edges = _error(name, "groups", data, quarters, weights)
            errors[name, kind] = far
            base = errors["GPR", "none"] if kind == "none" else errors[name, "none"]
            print(f"  {name}, weights {kind}: {far.mean():.3f}", flush=True)
            held = [len(model.cv_results_["score"]), model.holdout_score_]
            percent = 100.0 * (far.mean() / base.mean() - 1.0)
            ends = _interval(far, base)
            rows.append([name, kind, *held, far.mean(), percent, *ends, edges])
    header = (
        "method | weights | settings | held-out distance | test error"
        " | against GPR or unweighted, % | low | high | search ended at the edge"
    )
    title = (
        f"{len(X)} frames, 418 of another motion; KLIEP's effective size {size:.0f} %"
    )
    out = {"table": table(title, header, rows + _published())}
    if not quick:
        out["single"] = _single_quarters(data, quarters)
    return out | {"bars": _judge(errors, quick)}


def _judge(errors, quick):
    mean = {name: errors[name, "none"].mean() for name in METHODS}
    # A tenth of the frames has other errors, in the same order.
    bars = (
        []
        if quick
        else [
            bar("GPR: test error", mean["GPR"], least=2.95, most=3.05),
            bar("SMTGP: test error", mean["SMTGP"], most=2.55),
            bar("KLTGP: test error", mean["KLTGP"], most=2.65),
        ]
    )
    for name in ("SMTGP", "KLTGP"):
        high = _interval(errors[name, "none"], errors["GPR", "none"])[1]
        bars.append(bar(f"{name} against GPR, upper end, %", high, most=0.0))
    return bars


def _single_quarters(data, quarters):
    """Return what comes out when one quarter alone is held out, each in its turn.

    The same label is always held out, so turned labels hold out every quarter once.
    """
    rows = []
    for turn in range(4):
        turned = (quarters - turn) % 4
        gpr = np.nan
        for name in ("GPR", "KLTGP", "SMTGP"):
            far, model, edges = _error(name, "holdout", data, turned)
            mean = far.mean()
            gpr = mean if name == "GPR" else gpr
            percent = 100.0 * (mean / gpr - 1.0)
            rows.append([turn, name, model.holdout_score_, mean, percent, edges])
    header = (
        "labels turned by | method | held-out distance | test error | against GPR, %"
        " | search ended at the edge"
    )
    return table("One quarter held out, no weights, no bars", header, rows)


def _published():
    rows = []
    for k, (plain, weighted) in enumerate(POSES["motion3"], start=1):
        name = f"published SMTGP, subject {k}"
        percent = 100.0 * (weighted / plain - 1.0)
        rows.append([name, "none", None, None, plain, *[None] * 4])
        rows.append([name, "KLIEP", None, None, weighted, percent, *[None] * 3])
    return rows


def _error(name, search, data, groups, weights=None):
    """Return errors of the test frames, the model, and what its search warned of."""
    X, y, X_target, y_target = data
    model = METHODS[name](search=search, random_state=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y, weights, groups=groups)
    ended = "|".join(str(one.message) for one in said)
    edges = re.findall(r"at the edge of what it offers \(([^)]*)\)", ended)
    if "used up its" in ended:
        edges.append("its budget")
    return (
        joint_error(model.predict(X_target), y_target),
        model,
        "; ".join(edges) or None,
    )


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
