"""What every weight estimator keeps, whatever its method."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import counterpoise
from counterpoise import (
    KLIEP,
    KMM,
    ULSIF,
    AutoWeights,
    DiscrepancyWeights,
    DiscriminatorWeights,
    NoOverlapError,
    NoTargetWarning,
)
from counterpoise.datasets import make_gaussian_shift, make_uncovered_cluster
from counterpoise.weights.registry import (
    WEIGHT_ESTIMATORS,
    take_sparse,
    with_parameters,
)

ALL = [
    with_parameters(entry.load(), random_state=0, **parameters)
    for entry in WEIGHT_ESTIMATORS
    for parameters in entry.laws
]
# Laws of weights that follow the target; ones do not.
FAMILIES = [w for w in ALL if not w.gives_ones]
# Laws of a density ratio of inputs at any row: weights of least discrepancy are none,
# and known at the rows of fit alone; weights by label are functions of labels.
RATIOS = [w for w in FAMILIES if w.weights_are_a_ratio and not w.needs_labels]


def named(weight_estimator):
    return str(weight_estimator).replace(" ", "").replace("random_state=0", "")


def fitted_to(weight_estimator, X, X_target=None, labels=None, **given):
    """Return a clone fitted to the samples; labels are the first column if needed."""
    again = clone(weight_estimator)
    if not again.needs_labels:
        return again.fit(X, X_target=X_target, **given)
    y = np.asarray(X)[:, 0] if labels is None else labels
    return again.fit(X, y, X_target=X_target, **given)


def forced(weight_estimator):
    """Return a clone that goes on without overlap."""
    again = clone(weight_estimator)
    return (
        again.set_params(allow_no_overlap=True)
        if "allow_no_overlap" in again.get_params()
        else again
    )


def at(weight_estimator, X):
    """Return what `predict_weights` takes: rows, or their labels."""
    return np.asarray(X)[:, 0] if weight_estimator.needs_labels else X


def one_dimension(seed, n=1000, move=1.0):
    shift = make_gaussian_shift(1, n=n, m=n, shift=move, scale=1.0, random_state=seed)
    return shift.X, shift.X_target


@pytest.mark.parametrize("weight_estimator", RATIOS, ids=named)
def test_the_weights_point_the_right_way(weight_estimator):
    for seed in range(2):
        X, X_target = one_dimension(seed)
        with warnings.catch_warnings():
            # A shift of one standard deviation leaves 6 % of the target thinly covered.
            warnings.simplefilter("ignore", counterpoise.PartialOverlapWarning)
            weights = fitted_to(weight_estimator, X, X_target).weights_
        before = X_target.mean() - X.mean()
        after = X_target.mean() - np.average(X[:, 0], weights=weights)
        # RULSIF aims at the relative ratio, which closes 83 % in expectation.
        assert 1.0 - after / before >= 0.7
        assert weights.mean() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("weight_estimator", RATIOS, ids=named)
def test_nothing_shifted_leaves_most_rows_their_worth(weight_estimator):
    X, X_target = one_dimension(7, n=2000, move=0.0)
    fitted = clone(weight_estimator).fit(X, X_target=X_target)
    kept = 0.5 if weight_estimator.has_high_variance else 0.8
    assert fitted.effective_sample_size_ >= kept * 2000
    assert fitted.weights_.max() <= (
        20.0 if weight_estimator.has_high_variance else 5.0
    )
    if (
        isinstance(weight_estimator, AutoWeights | KLIEP)
        and weight_estimator.get_params().get("gamma", "cv") == "cv"
    ):
        assert fitted.effective_sample_size_ >= 0.9 * 2000


@pytest.mark.parametrize("weight_estimator", RATIOS, ids=named)
def test_swapped_samples_give_the_reciprocal_direction(weight_estimator):
    X, X_target = one_dimension(3, n=400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", counterpoise.PartialOverlapWarning)
        there = clone(weight_estimator).fit(X, X_target=X_target)
        back = clone(weight_estimator).fit(X_target, X_target=X)
    assert np.corrcoef(X[:, 0], there.weights_)[0, 1] > 0.3
    assert np.corrcoef(X_target[:, 0], back.weights_)[0, 1] < -0.3


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_permuted_rows_get_permuted_weights(weight_estimator):
    shift = make_gaussian_shift(3, n=250, m=200, random_state=0)
    rng = np.random.default_rng(1)
    order, aims = rng.permutation(250), rng.permutation(200)
    weights = fitted_to(weight_estimator, shift.X, shift.X_target).weights_
    mixed = fitted_to(weight_estimator, shift.X[order], shift.X_target[aims]).weights_
    np.testing.assert_allclose(mixed, weights[order], atol=1e-9)


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_the_unit_of_a_column_changes_nothing(weight_estimator):
    shift = make_gaussian_shift(3, n=250, m=200, random_state=0)
    units = np.array([1e8, 1.0, 1e-8])
    fine = clone(weight_estimator)
    if "tol" in fine.get_params() and fine.get_params().get("solver") != "pairwise":
        fine.set_params(tol=1e-6 if isinstance(fine, DiscrepancyWeights) else 1e-9)
    y = shift.X[:, 0]
    weights = fitted_to(fine, shift.X, shift.X_target, y).weights_
    other = fitted_to(fine, shift.X * units, shift.X_target * units, y).weights_
    bar = (
        1e-9
        if not isinstance(weight_estimator, DiscriminatorWeights | AutoWeights)
        else 1e-6
    )
    # Pairwise steps end at a gap of 1e-3, where rounding decides which.
    bar = 2e-2 if weight_estimator.get_params().get("solver") == "pairwise" else bar
    bar = 1e-4 if isinstance(weight_estimator, DiscrepancyWeights) else bar
    np.testing.assert_allclose(other, weights, rtol=bar, atol=bar)


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_frames_and_arrays_give_the_same_bytes(weight_estimator):
    shift = make_gaussian_shift(2, n=120, m=100, random_state=0)
    names = ["a", "b"]
    plain = fitted_to(weight_estimator, shift.X, shift.X_target)
    for frame in (
        lambda X: pd.DataFrame(X, columns=names),
        lambda X: pl.DataFrame(X, schema=names),
    ):
        fitted = fitted_to(weight_estimator, frame(shift.X), frame(shift.X_target))
        assert fitted.weights_.tobytes() == plain.weights_.tobytes()
        assert list(fitted.feature_names_in_) == names
        assert fitted.predict_weights(at(weight_estimator, frame(shift.X))).shape == (
            120,
        )


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_the_same_seed_gives_the_same_bytes_and_fit_writes_no_parameter(
    weight_estimator,
):
    shift = make_gaussian_shift(2, n=120, m=100, random_state=0)
    twice = clone(weight_estimator)
    before = dict(twice.get_params())
    labels = {"y": shift.X[:, 0]} if weight_estimator.needs_labels else {}
    twice.fit(shift.X, X_target=shift.X_target, **labels)
    first = twice.weights_.tobytes()
    twice.fit(shift.X, X_target=shift.X_target, **labels)
    assert twice.weights_.tobytes() == first
    assert {k: v for k, v in twice.get_params().items() if v is not before[k]} == {}


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_without_a_target_all_weights_are_one(weight_estimator):
    X = np.random.default_rng(0).standard_normal((30, 2))
    with pytest.warns(NoTargetWarning):
        fitted = fitted_to(weight_estimator, X)
    assert (fitted.weights_ == 1.0).all()
    assert (fitted.predict_weights(at(weight_estimator, X)) == 1.0).all()
    assert fitted.score(X) == 0.0


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_a_tuple_of_targets_is_stacked(weight_estimator):
    shift = make_gaussian_shift(2, n=120, m=100, random_state=0)
    whole = fitted_to(weight_estimator, shift.X, shift.X_target).weights_
    pieces = (shift.X_target[:40], shift.X_target[40:])
    parts = fitted_to(weight_estimator, shift.X, pieces).weights_
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_no_nan_comes_out_of_odd_but_possible_samples(weight_estimator):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 60), np.ones(60), rng.standard_normal(60)])
    X_target = np.column_stack(
        [rng.integers(0, 2, 40), np.ones(40), rng.standard_normal(40)]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fitted_to(
            forced(weight_estimator),
            np.vstack([X, X[:5]]),
            np.vstack([X_target, X_target]),
        )
    assert np.isfinite(fitted.weights_).all()
    assert (fitted.weights_ >= 0).all()
    if fitted.weights_are_a_ratio:
        assert np.isfinite(fitted.predict_weights(at(weight_estimator, 100 * X))).all()


@pytest.mark.parametrize("far", [np.array([6.0, 0.0]), 30.0, 1000.0])
@pytest.mark.parametrize("weight_estimator", RATIOS, ids=named)
def test_disjoint_samples_are_refused(weight_estimator, far):
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((300, 2)), rng.standard_normal((300, 2)) + far
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(NoOverlapError) as caught:
            clone(weight_estimator).fit(X, X_target=X_target)
        assert caught.value.share > 0.5
        forced = (
            clone(weight_estimator)
            .set_params(allow_no_overlap=True)
            .fit(X, X_target=X_target)
        )
    assert np.isfinite(forced.weights_).all()
    assert np.isfinite(forced.predict_weights(X)).all()
    assert np.isfinite(forced.score(X, X_target=X_target))


KERNELS = [KLIEP(random_state=0), ULSIF(random_state=0), KMM(random_state=0)]


@pytest.mark.parametrize("weight_estimator", KERNELS, ids=named)
def test_a_hole_is_seen_whatever_the_width(weight_estimator):
    for seed in range(3):
        shift = make_uncovered_cluster(0.15, random_state=seed)
        with pytest.warns(counterpoise.PartialOverlapWarning):
            fitted = clone(weight_estimator).fit(shift.X, X_target=shift.X_target)
        assert 0.1 < fitted.unsupported_fraction_ < 0.25


@pytest.mark.parametrize(
    "weight_estimator", [KLIEP(), DiscriminatorWeights()], ids=named
)
def test_copies_of_rows_are_no_shift(weight_estimator):
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((2, 150, 3))
    thrice = clone(weight_estimator).set_params(random_state=0)
    thrice.fit(np.repeat(X, 3, axis=0), X_target=np.repeat(X_target, 3, axis=0))
    assert thrice.effective_sample_size_ > 0.9 * 450


def test_auto_weights_speak_for_the_covered_part():
    shift = make_uncovered_cluster(0.15, random_state=0)
    with pytest.warns(counterpoise.PartialOverlapWarning):
        auto = AutoWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
    assert np.corrcoef(auto.weights_, shift.ratio)[0, 1] > 0.9
    assert auto.weights_.max() <= 1.001 * auto.largest_weight_ / auto.mean_ratio_


def test_auto_takes_the_right_family_for_gaussian_pairs():
    shift = make_gaussian_shift(5, n=1500, m=1500, random_state=0)
    auto = AutoWeights(random_state=0).fit(shift.X, X_target=shift.X_target)
    error = np.mean((auto.weights_ - shift.ratio / shift.ratio.mean()) ** 2)
    assert error < 0.05
    results = auto.cv_results_
    assert results["score"][0] == 0.0
    assert results["chosen"].sum() == 1
    assert len(results["candidate"]) == 20


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_sparse_rows_are_taken_or_those_are_named_that_take_them(weight_estimator):
    X = sparse.random_array((60, 8), density=0.3, rng=np.random.default_rng(0)).tocsr()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if type(weight_estimator).__name__ in take_sparse():
            fitted = forced(weight_estimator)
            if "statistics" in fitted.get_params():
                fitted.set_params(statistics="linear")
            assert np.isfinite(fitted.fit(X, X_target=X[:40]).weights_).all()
        else:
            with pytest.raises(TypeError, match=f"dense .* required. {take_sparse()}"):
                clone(weight_estimator).fit(X, np.ones(60), X_target=X)


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_mixed_tables_are_refused_with_the_name_of_the_encoder(weight_estimator):
    good, text = pd.DataFrame({"a": [1.0, 2.0, 3.0]}), pd.DataFrame({"a": list("xyz")})
    missing = pd.DataFrame({"a": [1.0, None, 3.0]})
    for X, X_target in ((text, text), (good, text), (missing, good)):
        with pytest.raises(ValueError, match=r"counterpoise\.data\.TableEncoder"):
            clone(weight_estimator).fit(X, np.ones(3), X_target=X_target)


def test_grid_search_compares_widths_by_the_two_sided_score():
    shift = make_gaussian_shift(1, n=300, m=300, random_state=0)
    search = GridSearchCV(KLIEP(allow_no_overlap=True), {"gamma": [0.5, 500.0]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(shift.X, X_target=(shift.X_target,))
    assert search.best_params_ == {"gamma": 0.5}


def test_the_rows_and_columns_behind_the_weights_can_be_asked_for():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    X_target = rng.standard_normal((300, 3)) + np.array([0.0, 1.0, 0.0])
    kliep = KLIEP(gamma="median").fit(X, X_target=X_target)
    assert int(np.argmax(kliep.driving_columns())) == 1
    most, least = kliep.extreme_rows(10)
    assert X[most, 1].mean() > X[least, 1].mean() + 1
    assert kliep.weights_[most].min() > kliep.weights_[least].max()


@pytest.mark.parametrize("weight_estimator", ALL, ids=named)
def test_the_scale_of_weights_that_are_no_counts_does_not_matter(weight_estimator):
    shift = make_gaussian_shift(2, n=150, m=120, random_state=0)
    rng = np.random.default_rng(0)
    own, aims = rng.random(150) + 0.2, rng.random(120) + 0.2
    results = [
        fitted_to(
            weight_estimator,
            shift.X,
            shift.X_target,
            sample_weight=scale * own,
            target_weight=scale * aims,
        ).weights_
        for scale in (1.0, 1 / own.sum())
    ]
    # These end at a gap of 1e-3, where rounding decides which.
    rough = weight_estimator.get_params().get("solver") == "pairwise"
    rough = rough or isinstance(weight_estimator, DiscrepancyWeights)
    np.testing.assert_allclose(results[0], results[1], rtol=2e-2 if rough else 1e-6)
    assert np.average(results[0], weights=own) == pytest.approx(1.0, abs=1e-9)


def test_the_exponent_flattens_the_weights():
    X, X_target = one_dimension(0, n=300)
    full = KLIEP(gamma=1.0).fit(X, X_target=X_target)
    half = KLIEP(gamma=1.0, exponent=0.5).fit(X, X_target=X_target)
    none = KLIEP(gamma=1.0, exponent=0.0).fit(X, X_target=X_target)
    np.testing.assert_allclose(
        half.weights_, counterpoise.flatten_weights(full.weights_, 0.5), rtol=1e-9
    )
    assert none.weights_ == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("entry", WEIGHT_ESTIMATORS, ids=lambda entry: entry.name)
def test_scikit_learn_s_common_checks_pass(entry):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(entry.load()())
