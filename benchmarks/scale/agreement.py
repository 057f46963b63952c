"""Do blocks get the weights of rows in memory, and one blocking those of another?

10^5 rows a side of five columns; centers by the same rule in both.
"""

import numpy as np
from reporting import bar, table

from counterpoise import (
    KLIEP,
    RULSIF,
    ULSIF,
    DiscrepancyWeights,
    DiscriminatorWeights,
    LogLinearKLIEP,
)
from counterpoise.data import Blocks
from counterpoise.shift.domain_classifier import logistic

CLOSED, SMOOTH, MIXED = 1e-9, 1e-6, 1e-4
WAYS = {
    "ULSIF": (lambda: ULSIF(gamma=0.2, regularization=0.1, random_state=0), CLOSED),
    "RULSIF": (lambda: RULSIF(gamma=0.2, regularization=0.1, random_state=0), CLOSED),
    "LogLinearKLIEP": (lambda: LogLinearKLIEP(random_state=0), SMOOTH),
    "LogLinearKLIEP diag": (lambda: LogLinearKLIEP(statistics="diag"), SMOOTH),
    "logistic": (
        lambda: DiscriminatorWeights(
            estimator=logistic(False, 5, tol=1e-12), calibrate=False, random_state=0
        ),
        SMOOTH,
    ),
    "KLIEP": (
        lambda: KLIEP(gamma=0.2, n_centers=500, tol=1e-9, random_state=0),
        MIXED,
    ),
    "discrepancy": (lambda: DiscrepancyWeights(spread=0.1, tol=1e-9), None),
}


def run(quick: bool) -> dict:
    n = 12_000 if quick else 100_000
    rng = np.random.default_rng(0)
    units = np.array([1.0, 10.0, 0.01, 1e4, 1.0])
    X, T = rng.normal(size=(n, 5)) * units, rng.normal(0.3, 1.0, (n, 5)) * units
    rows, bars = [], []
    for name, (make, most) in WAYS.items():
        one = make().fit(Blocks.from_arrays(X, rows=7_000), X_target=_blocks(T, 9_999))
        other = make().fit(_blocks(X, 33_333), X_target=_blocks(T, 5_000))
        # Memory weighs by the fit too: out of fold, as a discriminator does, is no
        # function of the row.
        whole = make().fit(X, X_target=T)
        in_memory = whole.weights_
        if name == "logistic":
            ratio = whole.predict_weights(X) * whole.mean_ratio_
            in_memory = ratio / ratio.mean()
        apart = float(np.abs(one.weights_ / in_memory - 1.0).max())
        if name == "discrepancy":
            apart = float(np.sqrt(((one.weights_ - in_memory) ** 2).mean()))
        blockings = float(np.abs(one.weights_ / other.weights_ - 1.0).max())
        rows.append([name, apart, blockings])
        if most is not None:
            bars.append(bar(f"{name}: against memory, relative", apart, most))
        bars.append(bar(f"{name}: one blocking or another", blockings, CLOSED))
    told = table(f"{n:,} rows a side", "weight estimator | memory | blocking", rows)
    return {"bars": bars, "tables": [told]}


def _blocks(rows, k):
    return Blocks.from_arrays(rows, rows=k)
