"""How much of the weights is used, what counts as classes, what is warned of."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import stdtrit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise import Adapted, InvalidInputError
from counterpoise.adaptation.adapted import (
    CutTargetWarning,
    FarTargetWarning,
    TimeOrderWarning,
    TrainingRowsWarning,
    row_marks,
    split_for_calibration,
    warn_if_cut,
    warn_if_far,
    warn_if_fitted_to,
    warn_if_hardly_covered,
    warn_if_in_time_order,
)
from counterpoise.adaptation.guard import (
    Guard,
    _errors_to,
    choose_exponent,
    follows_path,
    mixed,
    paired_standard_error,
    smallest_sufficient,
)
from counterpoise.adaptation.labeling import _greedy as greedy
from counterpoise.adaptation.labeling import _unsure as unsure
from counterpoise.adaptation.model_io import _check_sizes
from counterpoise.adaptation.performance_estimation import _statement as statement
from counterpoise.adaptation.performance_estimation import (
    check_is_ratio,
    estimate_performance,
    methods_asked,
    moved_columns,
    some_rows,
    target_sets,
)
from counterpoise.adaptation.routing import (
    are_classes,
    check_takes_weights,
    default_estimator,
    drawn_rows,
    fit_weighted,
    weight_keyword,
)
from counterpoise.data import memory_budget
from counterpoise.data.samples import Samples
from counterpoise.data.two_samples import flatten_weights
from counterpoise.errors import PartialOverlapWarning
from counterpoise.performance.metrics import as_metric
from counterpoise.svm import WeightedSVC, WeightedSVR
from counterpoise.svm.transductive import _worst_pair as worst_pair
from counterpoise.weights.base import UniformWeights
from counterpoise.weights.discrepancy import DiscrepancyWeights

TRIED = (0.0, 0.25, 0.5, 0.75, 1.0)


def warned(function, *given):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function(*given)
    return [one.category for one in seen]


# -- the guard -------------------------------------------------------------------------


def chosen(means, errors, effective=1000.0):
    means, errors = np.array(means), np.array(errors)
    return smallest_sufficient(
        means, errors, int(np.argmin(means)), effective, 1.0, TRIED, "exponent"
    )


def test_the_smallest_exponent_within_one_standard_error_is_chosen():
    means = [1.0, 0.75, 0.5, 0.375, 0.625]
    assert chosen(means, [0.1, 0.1, 0.125, 0.0, 0.1])[0] == 2
    place, why = chosen(means, [0.1, 0.1, 0.1249, 0.0, 0.1])
    assert place == 3
    assert why.endswith(": it is used")
    place, why = chosen(means, [0.625, 0.1, 0.1, 0.0, 0.1])
    assert place == 0
    assert "within one standard error: rows stay unweighted" in why


def test_no_weights_are_used_where_none_is_better():
    place, why = chosen([0.4, 0.5, 0.6, 0.7, 0.8], [0.0] * 5)
    assert (place, why.split(":")[0]) == (0, "no amount of weights is better than none")
    place, why = smallest_sufficient(
        np.array([1.0]), np.zeros(1), 0, 99.0, 1.0, (0.0,), "exponent"
    )
    assert (place, why.split(":")[0]) == (0, "all weights are equal")


def test_with_fewer_than_fifty_effective_rows_a_gain_is_held_against_students_law():
    means = [1.0, 0.9, 0.9, 0.9, 0.75]

    def at(effective, errors):
        return chosen(means, [0.25 / errors, 0.0, 0.0, 0.0, 0.0], effective)

    # Student's 0.975 quantile of 48.9 degrees of freedom is 2.0097, of one 12.706.
    assert at(50.0, 2.0)[0] == 4
    assert at(49.9, 2.0)[0] == 0
    assert at(49.9, 2.009)[0] == 0
    assert at(49.9, 2.011)[0] == 4
    assert at(2.0, 12.70)[0] == 0
    assert at(2.0, 12.71)[0] == 4
    assert at(1.0, 1e9)[0] == 0
    assert "less than inf standard errors" in at(1.0, 1e9)[1]
    place, why = at(2.0, 2.8)
    assert place == 0
    assert "too few to tell" in why
    assert "less than 12.7 standard errors" in why
    # One row says nothing, however sure it looks; and what is asked for is not more.
    assert chosen([1.0, 1.0, 1.0, 1.0, 0.0], [0.0] * 5, 1.0)[0] == 0
    exact = stdtrit(9.0, 0.975) * 0.125
    assert chosen([exact, 1.0, 1.0, 1.0, 0.0], [0.125] + [0.0] * 4, 10.0)[0] == 0


class Blend:
    """A model that is the better the more it is weighted; the label is column 1."""

    def __init__(self, exponent, fold, classes):
        self.exponent, self.fold, self.classes = exponent, fold, classes

    def predict(self, X):
        said = X[:, 0] + self.exponent * (X[:, 1] - X[:, 0]) + 0.1 * self.fold
        return (said > 0.6).astype(float) if self.classes else said


@pytest.mark.parametrize(
    ("scoring", "of_mean", "slope"),
    [
        (None, lambda mean: mean, lambda best: 1.0),
        ("neg_root_mean_squared_error", np.sqrt, lambda best: 0.5 / np.sqrt(best)),
        ("accuracy", lambda mean: 1.0 - mean, lambda best: 1.0),
    ],
)
@pytest.mark.parametrize("grouped", [False, True])
def test_the_guard_estimates_gains_by_weighted_losses_of_held_out_rows(
    scoring, of_mean, slope, grouped
):
    """The formula of `choose_exponent`, written once more."""
    rng = np.random.default_rng(3)
    n = 80
    y, classes = np.tile([0.0, 1.0], n // 2), scoring == "accuracy"
    X = np.column_stack([rng.random(n), y])
    weights, counts = rng.random(n), rng.integers(1, 4, n).astype(float)
    groups = np.arange(n) // 4 if grouped else None
    # Rows 20 to 39 are held out twice, and the last ten never.
    parts = [np.arange(40), np.arange(20, 70)]
    folds = [(np.setdiff1d(np.arange(n), part), part) for part in parts]
    seen = []

    def fit(X, y, sample_weights, fold):
        seen.append(sample_weights)
        return [Blend(e, fold, classes) for e in TRIED]

    metric = as_metric(scoring, LinearRegression(), y)
    found = choose_exponent(fit, metric, X, y, weights, counts, folds, groups)
    for (kept, _), given in zip(folds, seen, strict=True):
        power = weights[kept] ** 0.5
        assert given[0] == pytest.approx(counts[kept])
        assert given[2] / given[2][0] == pytest.approx(
            power * counts[kept] / (power * counts[kept])[0]
        )

    def loss(model, rows):
        said = model.predict(X[rows])
        return (said != y[rows]) if classes else (said - y[rows]) ** 2

    losses, times = np.zeros((5, n)), np.zeros(n)
    for fold, part in enumerate(parts):
        times[part] += 1
        for j, e in enumerate(TRIED):
            losses[j, part] += loss(Blend(e, fold, classes), part)
    losses, share = losses[:, :70] / times[:70], (counts * weights)[:70]
    share = share / share.sum()
    means = losses @ share
    # Exponents may tie but for rounding.
    best = TRIED.index(found.best)
    assert means[best] == pytest.approx(means.min(), abs=1e-12)
    unit = slope(means[best])

    def error(j, k):
        part = share * (losses[j] - losses[k] - (means[j] - means[k]))
        if grouped:
            part = np.add.reduceat(part, np.flatnonzero(np.arange(70) % 4 == 0))
        return unit * np.sqrt(part @ part)

    assert found.best > 0.0
    assert found.values == pytest.approx([of_mean(mean) for mean in means])
    assert found.errors == pytest.approx([error(j, best) for j in range(5)])
    place = TRIED.index(found.chosen)
    assert found.gain == pytest.approx(unit * (means[0] - means[place]))
    assert found.gain_error == pytest.approx(error(0, place))
    assert found.rows == 70
    assert found.effective_rows == pytest.approx(1 / (share @ share))
    assert "left out" not in found.reason


def test_the_error_of_a_share_of_the_weights_is_that_of_no_difference():
    d, shares = np.array([1.0, 2.0, 0.0, 0.0]), np.full(4, 0.25)
    assert paired_standard_error(d, shares, None, center=False) == pytest.approx(
        np.sqrt(5) / 4
    )
    by = np.array([0, 0, 1, 1])
    assert paired_standard_error(d, shares, by, center=False) == pytest.approx(0.75)


@pytest.mark.parametrize("size", [1.0, 1e9])
def test_a_gain_the_size_of_rounding_is_not_a_reason_for_weights(size):
    shares = np.full(100, 0.01)

    def choose(gain):
        # Losses of either sign: the allowance goes by their size.
        losses = size * np.tile([-3.0, 1.0], (2, 50))
        means = np.array([0.0, -gain * size * 2.0])
        errors = _errors_to(losses, 1, shares, None)
        return smallest_sufficient(means, errors, 1, 1e3, 1.0, (0.0, 1.0), "exponent")[
            0
        ]

    assert choose(0.999e-12) == 0
    assert choose(1.001e-12) == 1


def test_rows_of_a_group_are_summed_before_they_are_squared():
    d, share = np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, 0.25)
    assert paired_standard_error(d, share, None) == pytest.approx(0.5)
    assert paired_standard_error(d, share, np.array([0, 0, 1, 1])) == pytest.approx(
        np.sqrt(0.5)
    )


class Constant:
    """A model that says how it was weighted."""

    def __init__(self, weight):
        self.weight = weight

    def predict(self, X):
        uneven = self.weight is not None and np.ptp(self.weight) > 0
        return np.full(len(X), 0.0 if uneven else 1.0)


def guard_of(weights, **more):
    n = len(weights)
    X, y = np.arange(float(n))[:, None], np.tile([0.0, 0.1], n // 2)
    folds = [(np.arange(n // 2), np.arange(n // 2, n))]
    metric = as_metric(None, LinearRegression(), y)
    seen = []

    def fit(X, y, weights, fold):
        seen.extend(weights)
        return [Constant(weight) for weight in weights]

    weights = np.asarray(weights, dtype=float)
    return choose_exponent(fit, metric, X, y, weights, np.ones(n), folds, **more), seen


def test_equal_weights_leave_nothing_to_choose():
    found, seen = guard_of(np.ones(4))
    assert found.exponents == (0.0,)
    assert seen == [None]


def test_five_powers_are_tried_and_no_weights_are_none_at_all():
    found, seen = guard_of(np.tile([0.5, 1.5], 100))
    assert found.exponents == TRIED
    assert seen[0] is None
    assert seen[-1] == pytest.approx(np.tile([0.5, 1.5], 50))
    # All powers but none do as well: the smallest of them is taken.
    assert found.chosen == 0.25
    assert found.gain == pytest.approx(found.values[0] - found.values[1])


def guard(kind, chosen):
    return Guard((), (), (), "m", False, 1.0, chosen, 0, 0, 1, 1.0, "", kind)


def test_the_weights_of_a_model_are_a_power_or_a_share_of_the_ratio():
    ratio = np.array([0.5, 1.5])
    model = Adapted(LinearRegression())
    model.weight_estimator_ = object()
    model.guard_ = None
    model._set_weights(ratio, None)
    assert (model.exponent_, model.adapted_, model.weights_ is ratio) == (1, True, True)
    model.guard_ = guard("exponent", 0.5)
    model._set_weights(ratio, None)
    assert model.weights_ == pytest.approx(flatten_weights(ratio, 0.5))
    model.guard_ = guard("mixing", 0.5)
    model._set_weights(ratio, None)
    assert model.weights_ == pytest.approx([0.75, 1.25])
    assert (model.exponent_, model.mixing_) == (1.0, 0.5)
    model.guard_ = guard("mixing", 0.0)
    model._set_weights(ratio, None)
    assert not model.adapted_
    model.guard_ = None
    model.weight_estimator_ = None
    model._set_weights(np.ones(2), None)
    assert not model.adapted_


def test_the_guard_is_asked_with_the_automatic_weighter_alone_unless_told():
    assert Adapted(guard="auto", weight_estimator="auto")._is_guarded()
    assert not Adapted(guard="auto", weight_estimator=UniformWeights())._is_guarded()
    assert Adapted(guard=True, weight_estimator=UniformWeights())._is_guarded()
    assert not Adapted(guard=False, weight_estimator="auto")._is_guarded()


# -- exact paths -----------------------------------------------------------------------


def test_exact_paths_serve_errors_of_classes_without_ties_and_means_of_responses():
    error = as_metric("error_rate", WeightedSVC(), [0, 1])
    accuracy = as_metric("accuracy", WeightedSVC(), [0, 1])
    auc = as_metric("roc_auc", WeightedSVC(), [0, 1])
    squared = as_metric(None, WeightedSVR(), [0.5])
    assert follows_path(WeightedSVC(), error)
    assert follows_path(make_pipeline(StandardScaler(), WeightedSVC()), accuracy)
    assert not follows_path(WeightedSVC(), auc)
    assert not follows_path(WeightedSVC(break_ties=True), error)
    assert not follows_path(WeightedSVC(kernel="precomputed"), error)
    assert follows_path(WeightedSVR(), squared)
    assert not follows_path(WeightedSVR(), as_metric("r2", WeightedSVR(), [0.5]))
    assert not follows_path(Ridge(), squared)


def test_a_share_of_the_weights_has_mean_one_over_rows_as_often_as_they_count():
    ratio, counts = np.array([1.0, 4.0]), np.array([3.0, 1.0])
    full = mixed(ratio, 1.0, counts)
    assert full @ counts == pytest.approx(4.0)
    assert mixed(ratio, 0.0, counts).tolist() == [1.0, 1.0]
    assert mixed(ratio, 0.5, counts) == pytest.approx(0.5 + 0.5 * full)


# -- what comes in ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["a", "b"], True),
        ([True, False], True),
        ([3, 900], True),
        ([0.5, 1.5], False),
        (np.arange(20).repeat(10), True),
        (np.arange(20).repeat(10)[1:], False),
        (np.arange(21).repeat(10), False),
        (np.arange(3).repeat(10), True),
        (np.arange(3).repeat(10)[1:], False),
        (np.zeros((3, 2)), False),
        ([], False),
    ],
)
def test_whole_numbers_are_classes_up_to_twenty_of_ten_rows_each(labels, classes):
    assert are_classes(np.asarray(labels)) == classes


def test_the_default_estimator_goes_by_the_labels():
    classes = default_estimator([[1.0], [2.0]], [0, 1], 0)
    assert isinstance(classes, HistGradientBoostingClassifier)


def test_a_bare_target_of_as_many_rows_as_the_source_is_warned_of():
    target = np.zeros((3, 1))
    assert warned(warn_if_cut, target, 3) == [CutTargetWarning]
    assert warned(warn_if_cut, (target, target, target), 3) == []
    assert warned(warn_if_cut, target, 4) == []


def test_a_target_is_far_where_every_column_is_beyond_twenty_quartile_distances():
    source = np.column_stack([np.arange(5.0), np.arange(5.0)])
    # Quartiles are two apart: the room is forty.
    inside, outside = [44.0, 44.1], [44.1, -40.1]
    assert warned(warn_if_far, source, np.array([inside])) == []
    assert warned(warn_if_far, source, np.array([outside])) == [FarTargetWarning]
    both = np.array([outside, [0.0, -40.1]])
    assert warned(warn_if_far, source, both) == []


def test_rows_of_the_fit_are_warned_of_above_half_unless_twins_are_common():
    fitted = row_marks(np.arange(10.0)[:, None])
    known = row_marks(np.r_[np.arange(5.0), 95.0, 96, 97, 98, 99][:, None])
    more = row_marks(np.r_[np.arange(6.0), 96.0, 97, 98, 99][:, None])
    assert warned(warn_if_fitted_to, known, fitted) == []
    assert warned(warn_if_fitted_to, more, fitted) == [TrainingRowsWarning]
    twins = row_marks(np.r_[np.arange(8.0), 0.0, 1.0][:, None])
    assert warned(warn_if_fitted_to, more, twins) == []


def test_marks_of_rows_know_no_minus_zero():
    marks = row_marks(np.array([[0.0], [-0.0], [1.0]]))
    assert marks[0] == marks[1] != marks[2]


def test_rows_in_the_order_of_time_are_warned_of():
    walk = np.random.default_rng(0).normal(size=(200, 2)).cumsum(axis=0)
    assert warned(warn_if_in_time_order, walk) == [TimeOrderWarning]
    shuffled = np.random.default_rng(1).permutation(walk)
    assert warned(warn_if_in_time_order, shuffled) == []


def test_a_target_that_is_missing_is_warned_of_ignored_or_refused():
    for how, expected in (("ignore", 0), ("warn", 1)):
        model = Adapted(LinearRegression(), missing_target=how)
        seen = warned(model.fit, [[0.0], [1.0]], [0.0, 1.0])
        assert len(seen) == expected
        assert model.weights_.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="no X_target was given"):
        Adapted(LinearRegression(), missing_target="raise").fit([[0.0]], [0.0])


# -- how weights reach an estimator ----------------------------------------------------


def test_weights_go_to_the_last_step_and_to_nobody_who_takes_none():
    pipeline = make_pipeline(StandardScaler(), Ridge())
    assert weight_keyword(pipeline) == "ridge__sample_weight"
    assert weight_keyword(Ridge()) == "sample_weight"
    assert weight_keyword(KNeighborsRegressor()) is None
    with pytest.raises(TypeError, match="KNeighborsRegressor takes no sample_weight"):
        check_takes_weights(KNeighborsRegressor())


def test_rows_are_drawn_with_replacement_or_a_budget_of_different_ones():
    weights = np.array([0.0, 1.0, 1.0, 0.0])
    assert set(drawn_rows(weights, 0).tolist()) <= {1, 2}
    assert drawn_rows(weights, 0).size == 4
    assert drawn_rows(weights, 0, n_rows=2).tolist() == [1, 2]
    assert drawn_rows(weights, 0, n_rows=1).size == 1
    heavy = np.r_[1e9, np.ones(9)]
    assert 0 in drawn_rows(heavy, 0, n_rows=3)


def test_equal_weights_are_not_drawn_by():
    X, y = np.arange(8.0)[:, None], np.arange(8.0)
    plain = fit_weighted(KNeighborsRegressor(1), X, y, np.ones(8), resample=True)
    assert plain.predict(X).tolist() == y.tolist()
    drawn = fit_weighted(
        KNeighborsRegressor(1), X, y, np.r_[np.ones(7), 0.0], resample=True
    )
    assert drawn.predict([[7.0]])[0] < 7.0


# -- calibration, labeling, transduction ----------------------------------------------


def test_as_many_groups_are_held_out_as_come_nearest_to_the_share():
    groups = np.repeat(np.arange(4), 5)
    for share, held in ((0.3, 5), (0.4, 10), (0.9, 15), (0.01, 5)):
        kept, out = split_for_calibration(20, share, groups, 0)
        assert out.size == held
        assert not set(groups[kept]) & set(groups[out])
    assert split_for_calibration(20, 0.0, None, 0)[1].size == 0
    with pytest.raises(ValueError, match="two groups or more"):
        split_for_calibration(4, 0.5, [1, 1, 1, 1], 0)


def test_the_row_that_leaves_the_least_variance_is_asked_first_and_no_twin_of_it():
    # The first two tell the same; the third stands alone.
    left = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert greedy(left.copy(), np.ones(3), 2).tolist() == [0, 2]
    assert greedy(left.copy(), np.array([0.1, 0.1, 1.0]), 1).tolist() == [2]
    # A row that hardly varies tells less than a second label of the first.
    left[2, 2] = 0.4
    assert greedy(left, np.ones(3), 2).tolist() == [0, 1]


def test_a_row_that_the_model_is_sure_of_counts_a_tenth():
    model = LogisticRegression(C=1e6).fit([[-9.0], [9.0]], ["a", "b"])
    found = unsure(model, (np.array([[0.0], [9.0]]),))
    assert found == pytest.approx([1.0, 0.1])
    regressor = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    assert unsure(regressor, (np.zeros((2, 1)),)).tolist() == [1.0, 1.0]


def test_two_labels_are_exchanged_where_slacks_add_up_to_more_than_two():
    z = np.array([1.0, 1.0, -1.0, -1.0])
    assert worst_pair(z, np.array([0.5, 1.0, 0.2, 1.0])) is None
    assert worst_pair(z, np.array([0.5, 1.1, 0.2, 1.0])).tolist() == [1, 3]
    assert worst_pair(z, np.array([3.0, 0.0, 0.0, 0.0])) is None


# -- the estimate of performance -------------------------------------------------------


def test_the_statement_says_few_rows_and_thin_cover_at_their_thresholds():
    assert "few" not in statement(100, 9, 50.0, 0.05)
    assert "few, so that the intervals are wide" in statement(100, 9, 49.9, 0.0)
    assert "extrapolate" not in statement(100, 9, 50.0, 0.05)
    assert "extrapolate there" in statement(100, 9, 50.0, 0.051)


def test_a_model_is_asked_for_no_more_than_its_metrics_need():
    model = LogisticRegression()
    of = {name: as_metric(name, model, [0, 1]) for name in ("neg_log_loss", "accuracy")}
    assert methods_asked([of["neg_log_loss"]], model, True) == ("predict_proba",)
    assert methods_asked(list(of.values()), model, True) == ("predict", "predict_proba")
    auc = as_metric("roc_auc", model, [0, 1])
    assert methods_asked([of["neg_log_loss"], auc], model, True) is None


def test_weights_and_losses_are_learned_from_five_thousand_rows_at_most():
    assert some_rows(5000, 0).size == 5000
    some = some_rows(5001, 0)
    assert some.size == 5000
    assert (np.diff(some) > 0).all()


def test_one_labeled_row_is_too_few():
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    X, y = np.arange(30.0)[:, None], np.arange(30.0)
    with pytest.raises(ValueError, match="X_target_labeled has 1 row, at least 2"):
        estimate_performance(
            model, X, y, X, X_target_labeled=X[:1], y_target_labeled=y[:1]
        )
    with pytest.raises(ValueError, match="y_target_labeled is missing"):
        estimate_performance(model, X, y, X, X_target_labeled=X[:2])


def test_weights_that_are_no_ratio_estimate_nothing():
    check_is_ratio(UniformWeights())
    with pytest.raises(TypeError, match="DiscrepancyWeights are no density ratio"):
        check_is_ratio(DiscrepancyWeights())


def test_a_model_without_a_calibration_has_no_sets():
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    assert target_sets(model, [np.zeros((2, 1))], [0.0, 1.0]) is None


def test_the_target_is_sliced_by_the_three_columns_that_moved_most():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 5)), rng.normal(size=(60, 5))
    T += [0.0, 3.0, 1.0, 2.0, 0.1]
    rows = np.arange(60)
    samples = Samples.read(X, T)
    found = moved_columns(samples, np.ones(60), rows, rows)
    assert [one.name for one in found] == ["x1", "x3", "x2"]
    assert moved_columns(samples, np.zeros(60), rows, rows) == []


# -- hardly covered --------------------------------------------------------------------


def test_a_target_that_is_hardly_covered_is_warned_of_and_not_refused():
    def found(uncovered_fraction, verdict):
        return SimpleNamespace(
            uncovered_fraction=uncovered_fraction,
            uncovered_fraction_low=0.4,
            uncovered_fraction_high=0.6,
            verdict=verdict,
        )

    with pytest.warns(PartialOverlapWarning, match="40.0% to 60.0%"):
        warn_if_hardly_covered(found(0.501, "shift, partial overlap"))
    # Warnings are errors.
    warn_if_hardly_covered(found(0.5, "shift, partial overlap"))
    warn_if_hardly_covered(found(0.9, "no overlap"))


# -- model files -----------------------------------------------------------------------


def test_a_model_file_is_refused_by_its_members_its_ratio_and_its_size():
    def package(count, size, packed, name="1.npy"):
        one = SimpleNamespace(file_size=size, compress_size=packed, filename=name)
        return SimpleNamespace(infolist=lambda: [one] * count)

    _check_sizes(package(100_000, 0, 0))
    with pytest.raises(InvalidInputError, match="100001 members"):
        _check_sizes(package(100_001, 0, 0))
    _check_sizes(package(1, 1100, 1))
    with pytest.raises(InvalidInputError, match="which no compression gives"):
        _check_sizes(package(1, 1101, 1))
    with memory_budget(1100):
        _check_sizes(package(1, 1100, 1100))
        _check_sizes(package(1, 55, 55, "schema.json"))
        for name, size in (("1.npy", 1101), ("schema.json", 56)):
            with pytest.raises(
                InvalidInputError, match="bytes unpacked, and the memory"
            ):
                _check_sizes(package(1, size, size, name))
