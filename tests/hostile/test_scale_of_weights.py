"""Weights of the user's own have no scale, and may span any number of magnitudes."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from counterpoise import (
    ULSIF,
    Adapted,
    InvalidInputError,
    NoOverlapError,
    PartialWeights,
    diagnose,
    discrepancy,
    domain_auc,
    estimate_performance,
    mmd,
    overlap,
)
from counterpoise.models import WeightedKernelRidge
from counterpoise.networks import ConvexNetworkRegressor
from counterpoise.selection import (
    SubsetSelector,
    select_prototypes,
    select_representatives,
)
from counterpoise.shift import discrepancy_spectrum
from counterpoise.svm import WeightedSVC
from counterpoise.twin_gp import WeightedGPR
from counterpoise.weights.registry import WEIGHT_ESTIMATORS, with_parameters

WEIGHTED = [
    with_parameters(
        entry.load(), random_state=0, allow_no_overlap=True, max_iter=300, **parameters
    )
    for entry in WEIGHT_ESTIMATORS
    for parameters in entry.laws
]
# Powers of two leave the digits of a weight as they are, others its last.
MULTIPLES = (1e-12, 1e-9, 3.7, 1e12, 1e-250)
EXACT = (2.0**-900, 2.0**-30, 2.0**55)


def named(weight_estimator):
    return str(weight_estimator).replace(" ", "").replace("random_state=0", "")


def samples(seed=0, n=60, m=50):
    rng = np.random.default_rng(seed)
    X, X_target = rng.normal(size=(n, 2)), rng.normal(0.5, 0.9, size=(m, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=n)
    return X, y, X_target, rng.uniform(0.3, 1.7, n), rng.uniform(0.3, 1.7, m)


def weighed(weight_estimator, w, v):
    X, y, X_target, *_ = samples()
    found = clone(weight_estimator).fit(
        X, y, X_target=X_target, sample_weight=w, target_weight=v
    )
    return [found.weights_, found.effective_sample_size_]


def adapted(w, v):
    X, y, X_target, *_ = samples()
    found = Adapted(
        LogisticRegression(), ULSIF(allow_no_overlap=True), random_state=0
    ).fit(X, y > 0, X_target=X_target, sample_weight=w)
    return [found.weights_, found.estimator_.coef_, found.predict_proba(X_target)]


def partial(w, v):
    X, y, X_target, *_ = samples()
    found = PartialWeights(random_state=0).fit(
        X, y > 0, X_target=X_target, sample_weight=w
    )
    return [found.weights_, found.class_prior_]


def performance(w, v):
    X, y, X_target, *_ = samples()
    model = LogisticRegression().fit(X[::2], y[::2] > 0)
    found = estimate_performance(
        model,
        X,
        y > 0,
        X_target,
        sample_weight=w,
        weight_estimator=ULSIF(),
        random_state=0,
    )
    told = (found.weighted, found.doubly_robust)
    return [[one.value, one.low, one.high] for one in told if one is not None]


def ridge(w, v):
    X, y, X_target, *_ = samples()
    return [WeightedKernelRidge().fit(X, y, sample_weight=w).predict(X_target)]


def network(w, v):
    X, y, X_target, *_ = samples()
    found = ConvexNetworkRegressor(hidden_layer_sizes=(), random_state=0)
    return [found.fit(X, y, sample_weight=w).predict(X_target)]


def selected(w, v):
    X = samples()[0]
    found = SubsetSelector(sparsity=0.3).fit(X, sample_weight=w)
    prototypes = select_prototypes(X, 3, sample_weight=w)
    return [
        found.selected_,
        prototypes.indices,
        prototypes.cost,
        select_representatives(X, 3, sample_weight=w),
    ]


def told(w, v):
    X, _, X_target, *_ = samples()
    found = diagnose(
        X,
        X_target,
        sample_weight=w,
        target_weight=v,
        n_permutations=99,
        random_state=0,
    )
    return [found.mmd, found.mmd_p_value, found.auc, found.discrepancy]


def _of_both(measure, *parts, **given):
    def measured(w, v):
        X, _, X_target, *_ = samples()
        found = measure(X, X_target, sample_weight=w, target_weight=v, **given)
        return [getattr(found, part) for part in parts] if parts else [found]

    return measured


FUNCTIONS = {
    "Adapted": adapted,
    "PartialWeights": partial,
    "estimate_performance": performance,
    "WeightedKernelRidge": ridge,
    "ConvexNetworkRegressor": network,
    "selection": selected,
    "diagnose": told,
    "mmd": _of_both(
        mmd, "value", "unbiased_square", "p_value", n_permutations=99, random_state=0
    ),
    "discrepancy": _of_both(discrepancy),
    "discrepancy_spectrum": _of_both(discrepancy_spectrum, "eigenvalues"),
    "domain_auc": _of_both(domain_auc, random_state=0),
    "overlap": _of_both(overlap, "auc", "uncovered_fraction", random_state=0),
}
CASES = {
    **{named(one): (lambda w, v, one=one: weighed(one, w, v)) for one in WEIGHTED},
    **FUNCTIONS,
}


def quietly(ask, w, v):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(w, v)


def exactness(case):
    """Return how far answers may differ: a search ends within its own tolerance."""
    return 1e-3 if "tol=0.001" in case else 1e-9


@pytest.mark.parametrize("case", CASES)
def test_any_positive_multiple_gives_the_same_answer(case):
    *_, w, v = samples()
    expected = quietly(CASES[case], w, v)
    for k, multiple in enumerate(MULTIPLES):
        found = quietly(CASES[case], multiple * w, MULTIPLES[-1 - k] * v)
        for one, other in zip(found, expected, strict=True):
            off = exactness(case)
            np.testing.assert_allclose(one, other, rtol=off, atol=3 * off)


@pytest.mark.parametrize("case", CASES)
def test_a_power_of_two_gives_the_same_bits(case):
    *_, w, v = samples()
    expected = quietly(CASES[case], w, v)
    for multiple in EXACT:
        found = quietly(CASES[case], multiple * w, v / multiple)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shape", ["spread", "two"])
def test_weights_over_hundreds_of_magnitudes_give_numbers_or_a_refusal(case, shape):
    # Weights by label search long where some bumps have next to no weight.
    for reach in (200,) if "TargetShift" in case else (10, 40, 200):
        try:
            found = quietly(CASES[case], *extreme_weights(shape, reach))
        except (InvalidInputError, NoOverlapError):
            continue
        for one in found:
            assert one is None or np.isfinite(np.asarray(one, dtype=float)).all()


def extreme_weights(shape, reach, n=60, m=50):
    """Return weights over twice so many orders of magnitude, of both samples."""
    if shape == "spread":
        rng = np.random.default_rng(reach)
        return 10.0 ** rng.uniform(-reach, reach, n), 10.0 ** rng.uniform(
            -reach, reach, m
        )
    w, v = np.full(n, 10.0**-reach), np.full(m, 10.0**-reach)
    w[:2], v[:2] = 10.0**reach, 10.0**reach
    return w, v


def test_rows_left_out_for_their_weight_are_told_of():
    X, y, *_, w, _ = samples()
    w[7] = 1e-150
    with pytest.warns(UserWarning, match=r"1 of 60 rows count for nothing .* row 7"):
        found = WeightedKernelRidge().fit(X, y, sample_weight=w)
    without = WeightedKernelRidge().fit(
        np.delete(X, 7, axis=0), np.delete(y, 7), sample_weight=np.delete(w, 7)
    )
    np.testing.assert_allclose(found.predict(X), without.predict(X), rtol=1e-9)


def test_whole_numbers_stay_counts():
    X, _, X_target, *_ = samples()
    twice = ULSIF(allow_no_overlap=True).fit(
        np.vstack([X, X]), X_target=X_target, sample_weight=np.ones(2 * len(X))
    )
    counted = ULSIF(allow_no_overlap=True).fit(
        X, X_target=X_target, sample_weight=np.full(len(X), 2.0)
    )
    np.testing.assert_allclose(counted.weights_, twice.weights_[: len(X)], rtol=1e-9)


def test_the_scale_of_an_svms_weights_trades_against_C_as_in_scikit_learn():
    X, y, X_target, w, _ = samples()
    for multiple in (1e-3, 3.7, 40.0):
        ours = WeightedSVC(C=1.0, gamma=0.5).fit(X, y > 0, sample_weight=multiple * w)
        other = WeightedSVC(C=multiple, gamma=0.5).fit(X, y > 0, sample_weight=w)
        theirs = SVC(C=1.0, tol=1e-10, gamma=0.5).fit(
            X, y > 0, sample_weight=multiple * w
        )
        values = ours.decision_function(X_target)
        np.testing.assert_allclose(
            values, other.decision_function(X_target), rtol=1e-8, atol=1e-9
        )
        np.testing.assert_allclose(
            values, theirs.decision_function(X_target), rtol=1e-5, atol=1e-7
        )


def test_the_scale_of_a_gaussian_processs_weights_trades_against_the_ridge():
    X, y, X_target, w, _ = samples()
    for multiple in (0.25, 3.7):
        plain = WeightedGPR(gamma_x=0.1, ridge_x=1e-2)
        traded = WeightedGPR(gamma_x=0.1, ridge_x=multiple * 1e-2)
        np.testing.assert_allclose(
            traded.fit(X, y, sample_weight=multiple * w).predict(X_target),
            plain.fit(X, y, sample_weight=w).predict(X_target),
            rtol=1e-6,
            atol=1e-6,
        )
