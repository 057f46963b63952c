"""`counterpoise demo`: the main job on bundled data, with the truth beside it."""

import argparse
import warnings
from typing import Any

import numpy as np


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("demo", help="run the main job on bundled data")
    parser.add_argument("--seed", type=int, default=0, help="seed of all choices")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Weigh the rows of a bundled table and print what is proved about the weights."""
    from scipy.stats import spearmanr

    from counterpoise.datasets import load_breast_cancer_shift
    from counterpoise.samples import overlap
    from counterpoise.weights import KMM, AutoWeights

    shift = load_breast_cancer_shift()
    X, X_target, ratio, names = (
        shift.X,
        shift.X_target,
        shift.ratio,
        shift.feature_names,
    )
    assert ratio is not None
    assert names is not None
    print(f"source: {len(X)} labelled rows of a screening clinic")
    print(f"target: {len(X_target)} unlabelled rows of a referral hospital")

    print("\nIs there a shift, and does the source cover the target?")
    print(f"  {overlap(X, X_target, random_state=chosen.seed)}")
    scale = np.sqrt(0.5 * (X.var(axis=0) + X_target.var(axis=0)))
    moved = (X_target.mean(axis=0) - X.mean(axis=0)) / scale
    print("  moved most (difference of means, in standard deviations):")
    for k in np.argsort(-np.abs(moved))[:3]:
        print(f"    {names[k]:<20} {moved[k]:+.2f}")

    print("\nWeights of the source rows (the first fit compiles for some seconds):")
    converged = True
    for weighter in (
        AutoWeights(random_state=chosen.seed),
        KMM(random_state=chosen.seed),
    ):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fitted = weighter.fit(X, X_target=X_target)
        weights, solution = fitted.weights_, fitted.solution_
        assert solution is not None
        converged &= solution.converged
        after = (weights @ X / weights.sum() - X_target.mean(axis=0)) / scale
        print(f"  {type(weighter).__name__}")
        if isinstance(fitted, AutoWeights):
            print(f"    chosen: {fitted.weighter_}")
        print(f"    {solution.certificate}")
        print(
            f"    effective sample size {fitted.effective_sample_size_:.0f} "
            f"of {len(X)}, largest weight {weights.max():.1f}"
        )
        print(
            f"    mean difference over {len(names)} columns: "
            f"{np.abs(moved).mean():.2f} standard deviations before, "
            f"{np.abs(after).mean():.2f} after"
        )
        truth = spearmanr(weights, ratio).statistic
        print(f"    rank correlation with the known ratio: {truth:.2f}")
        for warning in said:
            print(f"    warning: {warning.message}")
    return 0 if converged else 5
