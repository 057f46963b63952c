"""Answers of measures, diagnoses and drawn data."""

from functools import partial

from registry import answer, answers, picked
from samples_at_hand import (
    mixed,
    mixed_response,
    numbers,
    row_weights,
    sparse,
)

import counterpoise as cp
from counterpoise import datasets

PAIRS = {
    "numbers": numbers,
    "far": partial(numbers, shift=9.0),
    "same": partial(numbers, shift=0.0),
    "sparse": sparse,
    "mixed": mixed,
}


@answers("mmd", {name: PAIRS[name] for name in ("numbers", "far", "same")})
def _mmd(pair):
    X, _, X_target, _ = pair()
    found = [
        cp.mmd(X, X_target, n_permutations=50, random_state=0),
        cp.mmd(X, X_target, gamma=0.3),
    ]
    return [
        picked(one, "value", "unbiased_square", "p_value", "gamma") for one in found
    ]


@answer("mmd: weights")
def _weighted_mmd():
    pair = numbers()
    found = cp.mmd(
        pair.X,
        pair.X_target,
        standardize=True,
        sample_weight=row_weights(),
        target_weight=row_weights(90, whole=False),
        n_permutations=50,
        random_state=0,
    )
    return {"told": str(found), "value": float(found), "p": found.p_value}


@answers("discrepancy", ["linear", "rbf", "poly"])
def _discrepancy(kernel):
    pair = numbers()
    spectrum = cp.shift.discrepancy_spectrum(
        pair.X,
        pair.X_target,
        kernel=kernel,
        standardize=True,
        add_constant=True,
        n_permutations=30,
        random_state=0,
    )
    return {
        "value": cp.discrepancy(pair.X, pair.X_target, kernel=kernel),
        "weighted": cp.discrepancy(
            pair.X, pair.X_target, kernel=kernel, sample_weight=row_weights(whole=False)
        ),
        **picked(spectrum, "eigenvalues", "signed", "direction", "p_value"),
    }


@answers("overlap", PAIRS)
def _overlap(pair):
    X, _, X_target, _ = pair()
    return {
        **picked(
            cp.overlap(X, X_target, random_state=0),
            *("uncovered_fraction", "auc", "scores", "scores_target"),
        ),
        "domain_auc": cp.domain_auc(X, X_target, random_state=0),
    }


@answers("diagnose", PAIRS | {"mixed, more": mixed_response})
def _diagnose(pair):
    X, _, X_target, _ = pair()
    found = cp.diagnose(X, X_target, n_permutations=50, random_state=0)
    html = found._repr_html_() if hasattr(found, "_repr_html_") else ""
    return {"record": found.to_dict(), "told": str(found), "html": html}


@answer("diagnose: weights")
def _weighted():
    pair = numbers()
    found = cp.diagnose(
        pair.X,
        pair.X_target,
        sample_weight=row_weights(),
        target_weight=row_weights(90, whole=False),
        n_permutations=50,
        random_state=0,
    )
    return {"record": found.to_dict(), "told": str(found)}


MAKERS = {
    "articulated pose": partial(datasets.make_articulated_pose, n=40, m=30),
    "class subset": partial(datasets.make_class_subset, n=60, m=30),
    "gaussian": partial(datasets.make_gaussian_shift, d=2, n=50, m=40),
    "mixture": partial(datasets.make_mixture_shift, d=5, n=40, m=30),
    "sinc": partial(datasets.make_sinc_shift, n=50, m=30),
    "uncovered cluster": partial(datasets.make_uncovered_cluster, n=50, m=40),
    "breast cancer": datasets.load_breast_cancer_shift,
    "diabetes": datasets.load_diabetes_shift,
}


@answers("data", MAKERS)
def _made(make):
    found = make(random_state=0)
    return picked(
        found, "X", "y", "X_target", "y_target", "ratio", "ratio_target", "covered"
    )
