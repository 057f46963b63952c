"""Are weights and model equal to the bit, whoever computes?

The plain loop, Dask's synchronous and threaded schedulers, clusters of one and two
processes on this machine; three seeds. A quick run: the plain loop and two processes.
"""

import hashlib

import numpy as np
from reporting import bar, table
from sklearn.linear_model import Ridge

from counterpoise import (
    KLIEP,
    ULSIF,
    Adapted,
    AutoWeights,
    DiscrepancyWeights,
    DiscriminatorWeights,
    LogLinearKLIEP,
)
from counterpoise.data import Blocks, distribute
from counterpoise.shift.domain_classifier import logistic

WAYS = {
    "ULSIF": lambda: ULSIF(gamma=0.2, regularization=0.1, random_state=0),
    "LogLinearKLIEP": lambda: LogLinearKLIEP(random_state=0),
    "KLIEP": lambda: KLIEP(gamma=0.2, n_centers=100, random_state=0),
    "logistic": lambda: DiscriminatorWeights(
        estimator=logistic(False, 4), random_state=0
    ),
    "discrepancy": lambda: DiscrepancyWeights(),
    "AutoWeights": lambda: AutoWeights(random_state=0),
}


def run(quick: bool) -> dict:
    seeds = (0,) if quick else (0, 1, 2)
    schedulers = [None, 2] if quick else [None, "synchronous", "threads", 1, 2]
    found: dict = {}
    for who in schedulers:
        if who is None:
            found[who] = [digests(seed) for seed in seeds]
            continue
        with distribute(who):
            found[who] = [digests(seed) for seed in seeds]
    rows = [
        [str(who), *(one[name][:8] for one in found[who] for name in one)]
        for who in schedulers
    ]
    names = [f"{name} {seed}" for seed in seeds for name in found[None][0]]
    told = table("digests", " | ".join(["who", *names]), rows)
    bars = [
        bar(f"{who}: digests that differ",
            sum(a[k] != b[k] for a, b in zip(found[who], found[None], strict=True)
                for k in a), 0)
        for who in schedulers[1:]
    ]  # fmt: skip
    return {"bars": bars, "tables": [told]}


def digests(seed: int) -> dict[str, str]:
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(15_000, 4)), rng.normal(0.3, 0.9, (14_000, 4))
    y = X[:, 0] + 0.3 * X[:, 0] ** 2 + 0.1 * rng.normal(size=15_000)
    source = Blocks.from_arrays(X, rows=997)
    target = Blocks.from_arrays(T, rows=1_201)
    out = {}
    for name, make in WAYS.items():
        fitted = make().fit(source, X_target=target)
        out[name] = hashlib.sha256(fitted.weights_.tobytes()).hexdigest()
    model = Adapted(Ridge(), LogLinearKLIEP(), random_state=0)
    model.fit(source, y, X_target=target)
    out["model"] = hashlib.sha256(model.predict(target).tobytes()).hexdigest()
    return out
