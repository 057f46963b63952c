"""Do the thresholds of overlap hold on data that did not set them?

Generators with heavy tails, correlated columns, zeros and ones, and cubes; holes are
clusters of target rows that the source misses. Counted are false alarms (no hole, or no
shift at all) and misses.

- left out: AutoWeights leaves out target rows beyond every source row, from 5 % on.
- lonely: a kernel method says that more than 10 % of the target is far from all source
  rows.
- no shift: `overlap` does not find one, by the interval that is wider by sqrt(2).
- the correlation of the weights with the true ratio on the covered part, where kernels
  with up to 30 % of uncovered rows are admitted.
"""

import argparse
import warnings

import numpy as np
from reporting import table

from counterpoise import AutoWeights, overlap
from counterpoise.data.two_samples import TwoSamples, pooled_scale, scale_columns
from counterpoise.weights.base import ISOLATED_BY_CHANCE
from counterpoise.weights.search import isolated_share

FIRST_SEED = 70_000


def normal(rng, n, d):
    """Correlated normal columns."""
    mix = np.eye(d) + 0.4 * np.tri(d, k=-1) / np.sqrt(d)
    return rng.standard_normal((n, d)) @ mix.T


def heavy(rng, n, d):
    """Columns with tails: Student's t with three degrees of freedom."""
    return rng.standard_t(3, size=(n, d))


def cube(rng, n, d):
    """Uniform columns."""
    return rng.uniform(-1.7, 1.7, size=(n, d))


def mixed(rng, n, d):
    """Half log-normal columns, half zeros and ones."""
    half = d // 2
    ones = rng.random((n, d - half)) < 0.3
    return np.hstack([np.exp(0.5 * rng.standard_normal((n, half))), ones])


GENERATORS = (normal, heavy, cube, mixed)


def without_hole(rng, make, n, d, move):
    """Return two samples, the target tilted along the first column."""
    X, pool = make(rng, n, d), make(rng, 6 * n, d)
    tilt = np.exp(move * np.clip(pool[:, 0], -3, 3))
    chosen = rng.choice(6 * n, n, replace=False, p=tilt / tilt.sum())
    return X, pool[chosen], np.exp(move * np.clip(X[:, 0], -3, 3))


def with_hole(rng, make, n, d, q, move):
    """Return the same with a share q of the target where the source is not."""
    X, X_target, ratio = without_hole(rng, make, n, d, move)
    gone = rng.random(n) < q
    direction = rng.standard_normal(d)
    direction *= 8 * np.sqrt(d) / np.linalg.norm(direction)
    X_target[gone] = 0.5 * X_target[gone] + direction
    return X, X_target, ratio


def looked_at(X, X_target, seed):
    """Return the share left out, whether it is lonely, and the weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        auto = AutoWeights(random_state=seed, allow_no_overlap=True).fit(
            X, X_target=X_target
        )
        samples = TwoSamples.of(X, X_target)
        scale = pooled_scale(samples)
    kept = auto.weight_estimator_._samples_.target.shape[0]
    scaled = samples.with_rows(scale_columns(X, scale), scale_columns(X_target, scale))
    return (
        1 - kept / len(X_target),
        isolated_share(scaled) > ISOLATED_BY_CHANCE,
        auto.weights_,
    )


def holes(seeds, n):
    """Count false alarms and misses of holes."""
    rows = []
    for make in GENERATORS:
        for d in (2, 8, 20):
            for q in (0.0, 0.1, 0.2, 0.3):
                found = []
                for k in range(seeds):
                    rng = np.random.default_rng(FIRST_SEED + k)
                    X, X_target, ratio = with_hole(rng, make, n, d, q, 0.4)
                    left, lonely, weights = looked_at(X, X_target, k)
                    follows = (
                        np.corrcoef(weights, ratio)[0, 1] if np.ptp(weights) else 0
                    )
                    found.append((left, lonely, follows))
                left, lonely, follows = np.array(found, dtype=float).T
                alerts = int((left > 0).sum()), int(lonely.sum())
                rows.append([make.__name__, d, q, *alerts, left.mean(), follows.min()])
    table(
        f"Holes, n = m = {n}, {seeds} seeds: runs that leave out, runs that say lonely",
        "generator | d | q | left out | lonely | mean share | worst correlation",
        rows,
    )


def verdicts(seeds):
    """Count false alarms and misses of the verdict "no shift detected"."""
    rows = []
    for make in GENERATORS:
        for n in (60, 300, 1000):
            for move in (0.0, 0.4):
                said = []
                for k in range(seeds):
                    rng = np.random.default_rng(FIRST_SEED + k)
                    X, X_target, _ = without_hole(rng, make, n, 5, move)
                    said.append(overlap(X, X_target, random_state=k).verdict)
                rows.append([make.__name__, n, move, said.count("no shift detected")])
    table(
        f"Verdicts, d = 5, {seeds} seeds: no shift detected",
        "generator | n | tilt | no shift detected",
        rows,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=500)
    asked = parser.parse_args()
    verdicts(4 * asked.seeds)
    holes(asked.seeds, asked.rows)
