"""`counterpoise demo`: the main job on bundled data, with the truth beside it."""

import argparse
from typing import Any

import numpy as np


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("demo", help="run the main job on bundled data")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Weigh the rows of a bundled table and print what is proved about the weights."""
    from counterpoise.convex import MixtureLikelihood, solve
    from counterpoise.datasets import load_breast_cancer_shift
    from counterpoise.numerics.kernels import median_distance, rbf

    shift = load_breast_cancer_shift()
    X, X_target, ratio = shift.X, shift.X_target, shift.ratio
    names = shift.feature_names
    assert ratio is not None
    assert names is not None
    print(f"source: {len(X)} labelled rows of a screening clinic")
    print(f"target: {len(X_target)} unlabelled rows of a referral hospital")

    scale = np.sqrt(0.5 * (X.var(axis=0) + X_target.var(axis=0)))
    moved = (X_target.mean(axis=0) - X.mean(axis=0)) / scale
    print("\nWhat has shifted most (difference of means, in standard deviations):")
    for k in np.argsort(-np.abs(moved))[:5]:
        print(f"  {names[k]:<24} {moved[k]:+.2f}")

    gamma = 0.5 / median_distance(X_target / scale) ** 2
    source_mean = rbf(X / scale, X_target / scale, gamma).mean(axis=0)
    basis = rbf(X_target / scale, X_target / scale, gamma) / source_mean
    solution = solve(MixtureLikelihood(basis))
    weights = rbf(X / scale, X_target / scale, gamma) @ (solution.x / source_mean)
    effective = weights.sum() ** 2 / (weights**2).sum()
    print("\nWeights of the source rows (KLIEP, median width):")
    print(f"  {solution}")
    print(f"  {np.count_nonzero(solution.x)} of {len(X_target)} Gaussians are used")
    print(f"  mean {weights.mean():.6f}, largest {weights.max():.1f}")
    print(f"  worth {effective:.0f} of {len(X)} rows")
    after = weights @ X / weights.sum()
    closed = 1.0 - (X_target.mean(axis=0) - after) / (
        X_target.mean(axis=0) - X.mean(axis=0)
    )
    print(f"  median share of a difference in means closed: {np.median(closed):.0%}")
    truth = np.corrcoef(np.argsort(np.argsort(weights)), np.argsort(np.argsort(ratio)))
    print(f"  rank correlation with the known ratio: {truth[0, 1]:.2f}")
    return 0 if solution.converged else 5
