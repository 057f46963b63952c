"""Is the uncovered share of a target seen, and is nothing seen where nothing shifts?

Overlap: a target of which a share q of the rows lies in a disjoint cluster and the rest
is drawn as the source, 1000 rows of each, five columns; `thin` should be q. Null: both
samples of one distribution; the verdict should be that no shift was found.

Run it with ``python benchmarks/adaptation/overlap_and_null.py [--draws 100]``.
"""

import argparse
import time

import numpy as np

from counterpoise.datasets import make_uncovered_cluster
from counterpoise.diagnosis import diagnose

ROWS, COLUMNS = 1000, 5
# The share in the cluster, and the verdict that goes with it.
SHARES = {
    0.0: "no shift found",
    0.1: "shift, thin in part",
    0.3: "shift, thin in part",
    0.6: "no overlap",
    1.0: "no overlap",
}
UNCOVERED = ("shift, thin in part", "no overlap")
# `thin` is to be so near q in this share of the draws; at q = 0 and q = 1 the verdict
# is to be right in all, and in this share where nothing shifts.
NEAR, OFTEN, QUIET = 0.05, 0.95, 0.9


def main() -> None:
    """Print what was measured beside what was wanted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=100)
    draws = parser.parse_args().draws
    began = time.process_time()
    # `thin` alone: no permutations, which only make it longer.
    found = {q: [_cluster(q, seed) for seed in range(draws)] for q in SHARES}
    print(f"A share q of the target in a disjoint cluster, {draws} draws each")
    print("   q  thin: least  middle   most   near q  verdict right")
    for q, diagnoses in found.items():
        thin = np.array([one.thin for one in diagnoses])
        right = np.mean([one.verdict == SHARES[q] for one in diagnoses])
        near = np.mean(np.abs(thin - q) <= NEAR)
        numbers = f"{thin.min():.3f}   {np.median(thin):.3f}  {thin.max():.3f}"
        print(f"  {q:.1f}        {numbers}    {near:5.0%}          {right:5.0%}")
        _judge(f"thin within {NEAR} of q = {q}", near, OFTEN)
        if q in (0.0, 1.0):
            _judge(f"verdict {SHARES[q]!r} at q = {q}", right, 1.0)
        if q == 0.0:
            covered = np.mean([one.verdict not in UNCOVERED for one in diagnoses])
            _judge("nothing called thin or apart at q = 0.0", covered, 1.0)
    print(f"Two samples of one distribution, {draws} draws each")
    for name, draw in NULLS.items():
        diagnoses = [_null(draw, seed) for seed in range(draws)]
        quiet = np.mean([one.verdict == "no shift found" for one in diagnoses])
        alarms = np.mean(
            [min(f.adjusted_p_value for f in one.features) < 0.05 for one in diagnoses]
        )
        chance = np.mean([one.mmd_p_value < 0.05 for one in diagnoses])
        _judge(f"{name}: no shift found", quiet, QUIET)
        print(f"    a feature below 0.05 after Holm: {alarms:.0%}; MMD: {chance:.0%}")
    print(f"{time.process_time() - began:.0f} s of CPU")


def _judge(what: str, measured: float, wanted: float) -> None:
    verdict = "holds" if measured >= wanted else "FALLS SHORT"
    print(f"    {what}: {measured:.0%} of draws (wanted {wanted:.0%}) {verdict}")


def _cluster(q: float, seed: int):
    shift = make_uncovered_cluster(
        q, n=ROWS, m=ROWS, d=COLUMNS, shift=0, random_state=seed
    )
    return diagnose(shift.X, shift.X_target, n_permutations=0, random_state=seed)


def _null(draw, seed: int):
    rng = np.random.default_rng(1000 + seed)
    return diagnose(draw(rng), draw(rng), n_permutations=99, random_state=seed)


def _normal(rng: np.random.Generator):
    return rng.standard_normal((ROWS, COLUMNS))


def _mixed(rng: np.random.Generator):
    rows = np.empty((ROWS, 4), dtype=object)
    rows[:, 0] = rng.standard_normal(ROWS)
    rows[:, 1] = np.where(rng.random(ROWS) < 0.1, None, rng.integers(0, 9, ROWS))
    rows[:, 2] = [f"common {k}" for k in rng.integers(0, 6, ROWS)]
    rows[:, 3] = [f"rare {k}" for k in rng.zipf(1.5, ROWS)]
    return rows


NULLS = {"five normal columns": _normal, "a mixed table": _mixed}


if __name__ == "__main__":
    main()
