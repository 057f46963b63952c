"""Finite numbers or an error of ours, whatever the magnitude."""

import numpy as np
import pytest
from hostile.magnitudes import SLOW, SUBJECTS, fault, fault_of

import counterpoise as cp
from counterpoise.weights.registry import WEIGHT_ESTIMATORS, with_parameters


@pytest.mark.parametrize("name", SUBJECTS)
def test_what_comes_out_is_finite_or_an_error_of_ours(name):
    found = {seed: fault(name, seed) for seed in range(10 if name in SLOW else 300)}
    assert {seed: one for seed, one in found.items() if one is not None} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUBJECTS)
def test_what_comes_out_is_finite_or_an_error_of_ours_in_the_long_run(name):
    cases = range(1_000, 1_500 if name in SLOW else 6_000)
    found = {seed: fault(name, seed) for seed in cases}
    assert {seed: one for seed, one in found.items() if one is not None} == {}


@pytest.mark.parametrize("name", ["domain_auc", "overlap", "DiscriminatorWeights"])
def test_equal_columns_whose_variance_rounds_below_zero_raise_no_warning(name):
    # scikit-learn's weighted variance is negative for one constant in five.
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(40, 2)), rng.normal(0.3, size=(30, 2))
    case = {"y": X[:, 0], "w": rng.random(40), "X": X, "X_target": X_target}
    for constant in rng.normal(size=5):
        X[:, 1] = X_target[:, 1] = constant
        assert fault_of(SUBJECTS[name], case) is None


@pytest.mark.parametrize(("kernel", "magnitude"), [("linear", 1e120), ("poly", 1e50)])
def test_a_ridge_of_huge_products_is_refused_in_a_sentence(kernel, magnitude):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    X[3] *= magnitude
    with pytest.raises(cp.InvalidInputError, match="divide the columns"):
        cp.models.WeightedKernelRidge(kernel=kernel).fit(X, y)


@pytest.mark.parametrize("name", ["WeightedSVR", "KernelQuantileRegressor", "TwinGP",
                                  "WeightedGPR", "WeightedKNN"])  # fmt: skip
@pytest.mark.parametrize("largest", [1e20, 1e280])
def test_products_of_weights_and_responses_are_numbers_or_refused(name, largest):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(20, 2)), rng.uniform(0.5, 1.0, 20)
    case = {"X": X, "X_target": X[:9], "y": X[:, 0] * 1e139, "w": w * largest}
    assert fault_of(SUBJECTS[name], case) is None


WITH_A_WIDTH = [
    entry.load()
    for entry in WEIGHT_ESTIMATORS
    if "gamma" in entry.load()().get_params()
]


@pytest.mark.parametrize("gamma", [1e-200, 1e200])
@pytest.mark.parametrize("allow_no_overlap", [False, True])
@pytest.mark.parametrize("kind", WITH_A_WIDTH, ids=lambda kind: kind.__name__)
def test_widths_of_any_size_give_weights_or_a_sentence(kind, gamma, allow_no_overlap):
    def ask(case):
        one = with_parameters(kind, gamma=gamma, allow_no_overlap=allow_no_overlap)
        return [one.fit(case["X"], case["y"], X_target=case["X_target"]).weights_]

    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    assert fault_of(ask, {"X": X, "y": X[:, 0], "X_target": X_target}) is None


def test_huge_numbers_in_arrays_of_objects_are_refused_by_every_measure():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(20, 2)) * 1e200).astype(object)
    for measure in (cp.mmd, cp.discrepancy, cp.domain_auc, cp.overlap, cp.diagnose):
        with pytest.raises(cp.InvalidInputError, match="squares are not finite"):
            measure(X, X[:10])


def test_one_row_that_has_all_the_weight_is_told_of_by_mixtures():
    rng = np.random.default_rng(0)
    w = np.zeros(20)
    w[3] = 1.0
    with pytest.raises(cp.InvalidInputError):
        cp.LogLinearKLIEP().fit(
            rng.normal(size=(20, 2)),
            X_target=rng.normal(size=(15, 2)),
            sample_weight=w,
        )


@pytest.mark.parametrize(
    "exact",
    [
        cp.LSIF(gamma=1.0, regularization=0.1, n_centers=None),
        cp.ULSIF(gamma=1.0, regularization=0.1, n_centers=None),
        cp.RULSIF(gamma=1.0, regularization=0.1, n_centers=None),
    ],
    ids=lambda one: type(one).__name__,
)
def test_more_centers_than_memory_are_refused_before_any_work(exact):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(20, 1)), rng.normal(size=(20_000, 1))
    told = r"moments of 20000 centers take 3.0 GiB, above .* 1.0 GiB: .*n_centers=100"
    with pytest.raises(cp.InvalidInputError, match=told):
        exact.fit(X, X_target=X_target)


def test_more_rows_than_memory_are_refused_by_an_exact_ridge():
    X = np.zeros((100_000, 1))
    told = r"100000 rows takes 74.5 GiB, above .* 1.0 GiB: give a rank"
    with pytest.raises(cp.InvalidInputError, match=told):
        cp.models.WeightedKernelRidge(gamma=1.0).fit(X, X[:, 0])


@pytest.mark.filterwarnings("ignore:.* of the target rows have hardly any source rows")
@pytest.mark.parametrize("power", [-400, -600, -900, -1030])
@pytest.mark.parametrize(
    "name",
    ["ULSIF", "RULSIF", "KLIEP", "KMM", "LogLinearKLIEP", "DiscriminatorWeights"],
)
def test_a_column_in_another_unit_however_small_has_the_same_weights(name, power):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(60, 2)), rng.normal(0.4, 1.0, size=(50, 2))
    unit = np.ldexp(np.ones(2), [0, power])
    found = []
    for one in (1.0, unit):
        weight_estimator = getattr(cp, name)()
        if "random_state" in weight_estimator.get_params():
            weight_estimator.set_params(random_state=0)
        found.append(weight_estimator.fit(X * one, X_target=X_target * one))
    # Numbers below 2^-1022 have lost some of their digits.
    close = 1e-9 if power < -1000 else 1e-12
    assert np.abs(found[0].weights_ - found[1].weights_).max() < close
    if found[0].weights_are_a_ratio:
        new = [
            one.predict_weights(X_target * u)
            for one, u in zip(found, (1.0, unit), strict=True)
        ]
        assert np.abs(new[0] - new[1]).max() < close * new[0].max()


def test_a_network_refuses_columns_whose_coefficients_are_no_floats():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2)) * [1.0, 1e-310]
    with pytest.raises(cp.InvalidInputError, match=r"column 1 .* multiply the column"):
        cp.networks.ConvexNetworkRegressor().fit(X, X[:, 0])


@pytest.mark.parametrize("magnitude", [1e60, 1e80, 1e94, 1e130])
@pytest.mark.parametrize("name", ["DiscrepancyWeights", "DiscrepancyWeights1"])
def test_one_row_far_from_all_others_leaves_the_discrepancy_a_number(name, magnitude):
    rng = np.random.default_rng(0)
    X, X_target = rng.normal(size=(20, 2)), rng.normal(0.3, 1.0, size=(15, 2))
    X[4] *= magnitude
    case = {"X": X, "X_target": X_target, "y": X[:, 0], "w": np.ones(20)}
    assert fault_of(SUBJECTS[name], case) is None
