"""Which candidate wins, how rows count, when a weight estimator warns or refuses."""

import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from counterpoise import (
    KLIEP,
    AutoWeights,
    DiscrepancyWeights,
    InvalidInputError,
    LogLinearKLIEP,
    UniformWeights,
)
from counterpoise.data import memory_budget
from counterpoise.data.labels_and_weights import as_counts as counts
from counterpoise.data.parameters import as_seed
from counterpoise.data.two_samples import TwoSamples
from counterpoise.errors import NoOverlapError, NoTargetWarning, PartialOverlapWarning
from counterpoise.linalg.arrays import row_keys
from counterpoise.optim import Certificate, Corrective, Solution
from counterpoise.shift.support import find_coverage_gaps
from counterpoise.weights.auto import Candidate, Trials, candidates, ranks
from counterpoise.weights.base import FitResult, WeightEstimator
from counterpoise.weights.discrepancy import warn_of_one_row, warn_of_scales
from counterpoise.weights.discriminator import calibration_error, calibration_line
from counterpoise.weights.kliep import select_gamma
from counterpoise.weights.least_squares import _plan as moments_planned
from counterpoise.weights.least_squares_search import Curve, count_admissible, search
from counterpoise.weights.search import (
    Deadline,
    HeldOut,
    choose,
    is_clearly_worse,
    isolated_share,
    thinned,
    two_sided_score,
    unsupported_share,
)

HAIR = 1e-9


def samples_of(n, m):
    return TwoSamples.of(np.zeros((n, 1)), np.zeros((m, 1)))


def log_weights(logs, n=2, **more):
    """Return a candidate with these log weights at the target, and ones elsewhere."""
    return HeldOut(np.exp(np.array(logs, dtype=float)), np.ones(n), **more)


# -- the choice ------------------------------------------------------------------------


def gain(held_out):
    """Return the score and its error by the formulas of the docstring."""
    w = held_out.source.mean()
    of_target = np.log(2 * held_out.target / (w + held_out.target))
    of_source = np.log(2 * w / (w + held_out.source))
    error = of_target.var() / of_target.size + of_source.var() / of_source.size
    return of_target.mean() + of_source.mean(), np.sqrt(error)


def behind(best, deficit):
    """Return a candidate with this deficit to the best, noisier or not."""
    score, _ = gain(best)
    # A shift of all log weights at the target moves the score without end.
    low, high = -50.0, 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        moved = HeldOut(best.target * np.exp(middle), best.source)
        low, high = (
            (middle, high) if score - gain(moved)[0] > deficit else (low, middle)
        )
    return HeldOut(best.target * np.exp(high), best.source)


def test_uniform_weights_score_nothing_and_the_score_is_that_of_the_formula():
    samples = samples_of(3, 4)
    ones = HeldOut(np.ones(4), np.ones(3))
    some = HeldOut(np.array([0.5, 2.0, 3.0, 1.0]), np.array([0.2, 1.0, 4.0]))
    found = choose([ones, some], samples)
    assert found.scores[0] == pytest.approx(0.0, abs=1e-15)
    assert found.scores[1] == pytest.approx(gain(some)[0])


def test_the_first_within_four_tenths_of_the_bests_error_is_taken():
    samples = samples_of(3, 4)
    best = HeldOut(np.array([3.0, 2.0, 4.0, 1.0]), np.array([0.5, 1.0, 1.5]))
    _, error = gain(best)
    inside, outside = (
        behind(best, times * error) for times in (0.4 - 1e-6, 0.4 + 1e-6)
    )
    assert choose([inside, best], samples).chosen == 0
    assert choose([outside, best], samples).chosen == 1
    found = choose([outside, inside, best], samples)
    assert (found.chosen, found.best) == (1, 2)
    assert found.allowed == pytest.approx(0.4 * error)


def test_of_equally_simple_candidates_the_one_of_the_higher_score_is_taken():
    samples = samples_of(3, 4)
    best = HeldOut(np.array([3.0, 2.0, 4.0, 1.0]), np.array([0.5, 1.0, 1.5]))
    _, error = gain(best)
    near, nearer, far = (behind(best, t * error) for t in (0.3, 0.2, 0.5))
    offered = [far, near, nearer, best]
    assert choose(offered, samples).chosen == 1
    assert choose(offered, samples, [0, 1, 1, 3]).chosen == 2
    assert choose(offered, samples, [0, 1, 1, 1]).chosen == 3
    assert choose(offered, samples, [0, 1, 2, 0]).chosen == 3
    # Of equal scores the first.
    assert choose([near, near, best], samples, [0, 0, 2]).chosen == 0


def test_candidates_of_the_same_columns_or_as_safe_are_equally_simple():
    rng = np.random.default_rng(0)
    samples = TwoSamples.of(*rng.normal(size=(2, 50, 2)))
    offered = candidates(Trials(samples, 0, Deadline()), {})
    names = [one.name for one in offered]
    for one, other in (
        ("logistic on squares", "log-ratio diag"),
        ("two Gaussians", "log-ratio diag"),
        ("two Gaussians of ranks", "log-ratio diag"),
    ):
        assert ranks(offered)[names.index(one)] == names.index(other)
    assert len(set(ranks(offered))) == len(offered) - 3
    best = HeldOut(np.array([3.0, 2.0, 4.0, 1.0]), np.array([0.5, 1.0, 1.5]))
    near = behind(best, 0.3 * gain(best)[1])
    two = [
        Candidate("one", UniformWeights(), lambda: near),
        Candidate("other", UniformWeights(), lambda: best, as_simple_as="one"),
    ]
    taken, _ = AutoWeights()._choose(two, Trials(samples_of(3, 4), 0, Deadline()))
    assert taken.name == "other"


def test_of_two_estimates_of_a_log_linear_ratio_the_likelihoods_is_taken():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2, 50, 2))
    for samples in (
        TwoSamples.of(*rows),
        TwoSamples.of(*(sparse.csr_array(one) for one in rows)),
    ):
        offered = candidates(Trials(samples, 0, Deadline()), {})
        assert [one.name for one in offered[:3]] == [
            "uniform",
            "logistic",
            "log-ratio linear",
        ]
        assert ranks(offered)[:3] == [0, 1, 2]


def test_all_candidates_are_scored_on_one_division_of_the_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    # A row of both samples, and one that is there twice.
    T[0], T[1] = X[0], T[2]
    trials = Trials(TwoSamples.of(X, T), 3, Deadline())
    held_out = []

    class Watched(BaseEstimator):
        def fit(self, rows, y, sample_weight=None):
            self.classes_ = np.unique(y)
            return self

        def decision_function(self, rows):
            held_out.append({tuple(row) for row in rows})
            return rows[:, 0]

    trials.held_out({"watched": Watched()})
    source, target = trials.samples.source, trials.samples.target
    by_parts = [
        {tuple(row) for row in (*source[parts == k], *target[aims == k])}
        for parts, aims in [trials.parts]
        for k in range(5)
    ]
    assert held_out == by_parts
    seen = []
    monkeypatch.setattr(
        "counterpoise.weights.auto.held_out_kliep",
        lambda scaled, gamma, relative, parts, rival: (
            seen.append(parts) or HeldOut(np.ones(40), np.ones(60))
        ),
    )
    for one in candidates(trials, {}):
        if one.name.startswith("kernel") and one.try_out is not None:
            one.try_out()
    assert seen
    for parts in seen:
        assert [part.tolist() for part in parts] == [p.tolist() for p in trials.parts]


def test_a_noisy_candidate_is_excused_no_more_than_a_near_copy_of_the_best():
    samples = samples_of(4, 4)
    best = HeldOut(np.array([3.0, 2.0, 4.0, 1.5]), np.array([0.5, 1.0, 1.5, 1.0]))
    score, error = gain(best)
    copy = behind(best, 0.6 * error)
    # The same deficit, its log weights far apart.
    target = np.array([90.0, 0.2, 60.0, 1.0])
    noisy = behind(HeldOut(target, best.source), 0.0)
    noisy = behind(noisy, gain(noisy)[0] - (score - 0.6 * error))
    assert gain(noisy)[1] > 2 * gain(copy)[1]
    assert choose([copy, best], samples).chosen == 1
    assert choose([noisy, best], samples).chosen == 1


def test_the_error_counts_the_weights_at_source_rows_too():
    samples = samples_of(2, 2)
    best = HeldOut(np.array([2.0, 2.0]), np.array([0.5, 1.5]))
    found = choose([best], samples)
    of_source = np.log(1 / np.array([1.5, 2.5]))
    assert found.allowed == pytest.approx(0.4 * of_source.std() / np.sqrt(2))


def test_an_inadmissible_candidate_is_taken_only_where_all_are():
    samples = samples_of(2, 2)
    bad = log_weights([5.0, 5.0], admissible=False)
    good = log_weights([0.1, 0.1])
    assert choose([bad, good], samples).chosen == 1
    worse = log_weights([0.1, 0.1], admissible=False)
    assert choose([worse, bad], samples).chosen == 1


def test_a_candidate_falls_short_by_more_than_three_standard_errors():
    samples = samples_of(2, 2)
    rival = log_weights([0.0, 0.0])

    def short(times):
        # Log chances of their own sample of mean -1 to the rival's, the standard error
        # of which is 1 / times.
        b = np.sqrt(2) / times
        chance = 0.5 * np.exp([-1.0 - b, -1.0 + b])
        return HeldOut(chance / (1 - chance), np.ones(2))

    assert not is_clearly_worse(short(2.999), rival, samples)
    assert is_clearly_worse(short(3.001), rival, samples)


def test_the_score_is_two_sided_and_a_vanished_weight_counts_as_the_least():
    half = np.full(2, 0.5)
    doubled = two_sided_score(np.full(2, 2.0), np.full(2, 2.0), half, half)
    assert doubled == pytest.approx(0.0)
    lost = two_sided_score(np.array([0.0, 1.0]), np.ones(2), half, half, least=1e-4)
    assert lost == pytest.approx(0.5 * np.log(1e-4))


# -- the deadline ----------------------------------------------------------------------


def test_after_half_of_max_time_no_further_candidate_is_tried():
    now = time.perf_counter()
    assert not Deadline(100.0, began=now - 49.0).half_is_over()
    assert Deadline(100.0, began=now - 51.0).half_is_over()
    assert Deadline(0.0).half_is_over()
    assert not Deadline(None).half_is_over()
    assert Deadline(1.0, began=now - 5.0).left() == 0.0


def test_a_choice_among_fewer_than_were_asked_is_told():
    with pytest.warns(UserWarning, match=r"max_time = 3 s: 2 of 8 widths were tried"):
        Deadline(3.0).warn_untried(2, 8, "widths")
    Deadline(3.0).warn_untried(8, 8, "widths")


# -- how rows count --------------------------------------------------------------------


def test_whole_weights_are_counts_and_others_count_by_what_they_are_worth():
    assert counts(np.array([2.0, 1.0, 0.0])).tolist() == [2.0, 1.0, 0.0]
    almost = np.array([2.0 + 1e-10, 1.0])
    assert counts(almost) is almost
    # (1.5)^2 / 1.25 = 1.8 rows in all, in the proportions of the weights.
    assert counts(np.array([1.0, 0.5])) == pytest.approx([1.2, 0.6])
    assert counts(np.full(4, 0.3)).tolist() == [1.0] * 4
    # Small numbers are near zero, and no counts; large ones are whole by rounding.
    assert counts(np.array([1e-10, 5e-11])) == pytest.approx([1.2, 0.6])
    assert counts(np.array([1e9, 5e8])).tolist() == [1e9, 5e8]
    assert counts(np.array([1.5e9, 7.5e8])) == pytest.approx([1.2, 0.6])


class Given(WeightEstimator):
    """A weight estimator that has found what it was given."""

    def __init__(
        self,
        found=None,
        tol=1e-6,
        max_iter=10,
        max_time=None,
        callback=None,
        exponent=1.0,
        allow_no_overlap=False,
        random_state=None,
    ):
        self.found = found
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.callback = callback
        self.exponent = exponent
        self.allow_no_overlap = allow_no_overlap
        self.random_state = random_state

    def _check_parameters(self):
        pass

    def _fit(self, samples, deadline):
        return self.found

    def _predict_weights(self, X):
        return np.full(X.shape[0], 7.0)


def found(
    unsupported_fraction=None,
    measure="uncovered_fraction",
    gap=0.0,
    ratio=(1.0, 3.0),
    **more,
):
    proof = Certificate("gap", 0.0, -gap, gap)
    solution = Solution(np.zeros(1), proof, 1e-6)
    return FitResult(solution, np.array(ratio), unsupported_fraction, measure, **more)


def fit_given(**how):
    estimator = {k: how.pop(k) for k in ("allow_no_overlap", "exponent") if k in how}
    weights = {k: how.pop(k) for k in ("sample_weight",) if k in how}
    X = np.arange(2.0 + ("sample_weight" in weights))[:, None]
    return Given(found(**how), **estimator).fit(X, X_target=np.zeros((2, 1)), **weights)


def test_weights_have_mean_one_over_rows_as_often_as_they_count():
    assert fit_given().weights_.tolist() == [0.5, 1.5]
    weighted = fit_given(sample_weight=[3.0, 1.0, 0.0])
    assert weighted.weights_[:2] @ [3.0, 1.0] == pytest.approx(4.0)
    # A row that does not count is weighed all the same.
    assert weighted.weights_[2] == pytest.approx(7.0 / 1.5)


def test_the_exponent_is_taken_before_the_mean():
    assert fit_given(exponent=0.5, ratio=(1.0, 9.0)).weights_.tolist() == [0.5, 1.5]


def test_a_ratio_that_vanishes_everywhere_makes_weights_of_one():
    vanished = fit_given(ratio=(0.0, 0.0))
    assert vanished.weights_.tolist() == [1.0, 1.0]
    assert vanished.predict_weights([[0.0]]).tolist() == [1.0]


def test_missing_overlap_is_told_above_five_in_a_hundred_and_refused_above_half():
    fit_given(unsupported_fraction=0.05)
    with pytest.warns(PartialOverlapWarning, match=r"5.1% of the target rows"):
        fit_given(unsupported_fraction=0.051)
    with pytest.warns(PartialOverlapWarning):
        fit_given(unsupported_fraction=0.5)
    # The lower end of the share's interval decides.
    with pytest.raises(NoOverlapError):
        fit_given(unsupported_fraction=0.6, unsupported_fraction_low=0.5 + HAIR)
    with pytest.warns(PartialOverlapWarning):
        fit_given(unsupported_fraction=0.6, unsupported_fraction_low=0.5)
    # By two target rows alone nothing is sure but all of them.
    with pytest.warns(PartialOverlapWarning):
        fit_given(unsupported_fraction=0.9)
    with pytest.raises(NoOverlapError):
        fit_given(unsupported_fraction=1.0)
    with pytest.warns(PartialOverlapWarning):
        fit_given(unsupported_fraction=0.9, allow_no_overlap=True)


def test_target_rows_beyond_a_kernel_are_told_above_two_in_a_hundred():
    fit_given(unsupported_fraction=0.02, measure="unsupported_fraction")
    with pytest.warns(PartialOverlapWarning):
        fit_given(unsupported_fraction=0.021, measure="unsupported_fraction")


def test_a_proof_that_does_not_hold_is_told_with_its_numbers():
    fit_given(gap=1e-6)
    with pytest.warns(UserWarning, match="NOT converged.*raise max_iter or max_time"):
        fit_given(gap=1.1e-6)


def test_without_a_target_all_weights_are_one_and_that_is_said():
    with pytest.warns(NoTargetWarning):
        alone = UniformWeights().fit(np.zeros((3, 1)))
    assert alone.weights_.tolist() == [1.0] * 3
    assert alone.score(np.zeros((3, 1))) == 0.0


def test_a_row_is_beyond_a_tenth_of_the_range_outside_both_samples():
    X, T = np.array([[0.0], [5.0]]), np.array([[2.0], [10.0]])
    fitted = UniformWeights().fit(X, X_target=T)
    rows = np.array([[-1.0], [-1.01], [11.0], [11.01]])
    assert fitted.is_extrapolation(rows).tolist() == [False, True, False, True]


# -- kernels ---------------------------------------------------------------------------


def test_a_target_row_is_uncovered_with_less_than_one_expected_source_neighbor():
    # Two source rows at distance sqrt(log 2): each counts one half.
    far = np.sqrt(np.log(2.0))
    source = np.array([[0.0], [0.0]])
    for away, share in ((far * (1 - 1e-9), 0.0), (far * (1 + 1e-9), 1.0)):
        samples = TwoSamples.of(source, np.array([[away]]))
        assert unsupported_share(samples, 1.0) == share


def test_a_target_row_is_lonely_beyond_the_last_but_one_spacing_of_the_source():
    # Spacings of one, but for two rows that are three and nine away.
    source = np.r_[np.arange(20.0), 22.0, 31.0][:, None]
    target = np.array([[-3.0], [-3.1]])
    assert isolated_share(TwoSamples.of(source, target)) == 0.5
    few = np.arange(19.0)[:, None]
    assert isolated_share(TwoSamples.of(few, np.array([[99.0], [100.0]]))) == 0.0


def test_with_fewer_than_twenty_rows_the_width_is_the_median_distance():
    rows = np.arange(19.0)[:, None]
    with pytest.warns(UserWarning, match="too few to choose a width"):
        gamma, curve = select_gamma(TwoSamples.of(rows, rows), 0.0, False, 0)
    assert curve is None
    assert gamma == pytest.approx(1 / (2 * 6.0**2), rel=0.2)
    rows = np.arange(20.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert select_gamma(TwoSamples.of(rows, rows), 0.0, False, 0)[1] is not None


def test_many_columns_let_more_centers_join():
    def n_join(d):
        kliep = KLIEP(gamma=0.5)
        kliep.n_features_in_ = d
        method = kliep._method("auto", object())
        assert isinstance(method, Corrective)
        return method.n_join

    assert (n_join(9), n_join(10)) == (10, 30)


# -- the search of least squares -------------------------------------------------------


def curves_by(tables):
    """Return curves of one penalty each, with log ratios at two target rows."""

    def curve_at(gamma):
        logs = np.array([tables[gamma]])
        return Curve(np.array([1.0]), np.ones((1, 2)), np.exp(logs))

    return curve_at


def test_widths_that_reach_too_little_of_the_target_are_shown_and_not_taken():
    tables = {1.0: [0.1, 0.1], 2.0: [5.0, 5.0]}
    samples = samples_of(2, 2)
    gamma, _, shown = search(
        curves_by(tables), samples, 0.0, np.array([1.0, 2.0]), n_admissible=1
    )
    assert gamma == 1.0
    assert shown["admissible"].tolist() == [True, False]
    # The widest is taken where none is admissible.
    none, _, shown = search(
        curves_by(tables), samples, 0.0, np.array([1.0, 2.0]), n_admissible=0
    )
    assert none == 1.0
    assert shown["admissible"].tolist() == [False, False]


def test_the_best_of_the_covering_widths_is_taken_where_it_beats_the_simplest():
    # Scores of 0.393, 0.413 and 0.432; 0.056 is allowed.
    tables = {1.0: [2.0, 0.5], 2.0: [2.4, 0.5], 3.0: [3.0, 0.5]}
    samples, gammas = samples_of(2, 2), np.array([1.0, 2.0, 3.0])

    def taken(n_covering):
        return search(
            curves_by(tables), samples, 0.0, gammas, 3, n_covering=n_covering
        )[0]

    assert [taken(n) for n in (0, 1, 2, 3)] == [1.0, 1.0, 2.0, 3.0]


def test_the_widths_that_reach_all_but_a_tenth_of_the_target_are_admissible():
    source = np.zeros((2, 1))
    target = np.r_[np.zeros(9), 1.0][:, None]
    # The one row far out is a tenth of the target.
    gammas = np.array([1.0, 10.0, 100.0])
    assert count_admissible(TwoSamples.of(source, target), gammas) == 3
    target = np.r_[np.zeros(8), 1.0, 1.0][:, None]
    # It has two expected neighbors times exp(-gamma).
    assert count_admissible(TwoSamples.of(source, target), gammas) == 0
    assert count_admissible(TwoSamples.of(source, target), np.array([0.5, 1.0])) == 1


# -- the classifier's line -------------------------------------------------------------


def test_a_line_that_falls_is_flat():
    labels = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    rising = np.array([-1.0, 0.2, 0.1, 1.0, 2.0])
    assert calibration_line(rising, labels, np.ones(5))[0] > 0.0
    slope, intercept = calibration_line(-rising, labels, np.ones(5))
    assert slope == 0.0
    assert intercept == pytest.approx(np.log(3 / 2))
    assert calibration_line(np.ones(5), labels, np.ones(5))[0] == 0.0


def test_rows_of_one_probability_are_in_one_bin():
    p, labels = np.full(10, 0.5), np.repeat([0.0, 1.0], 5)
    assert calibration_error(p, labels, np.ones(10)) == pytest.approx(0.0)


# -- discrepancy -----------------------------------------------------------------------


def test_row_keys_know_no_minus_zero():
    a, b, c = row_keys(np.array([[0.0], [-0.0], [1.0]]))
    assert a == b != c


def test_discrepancy_weights_know_the_rows_of_the_fit_alone():
    X, T = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [2.5]])
    weight = [1.0, 1.0, 1.0, 0.0]
    fitted = DiscrepancyWeights().fit(X, X_target=T, sample_weight=weight)
    # What did not count and equals no row that did has no weight.
    assert fitted.weights_[3] == 0.0
    assert fitted.predict_weights(X[:3]) == pytest.approx(fitted.weights_[:3])
    with pytest.raises(ValueError, match="row 1 of X is none of them"):
        fitted.predict_weights([[0.0], [0.5]])


def test_one_column_decides_from_a_hundred_times_the_scale_on():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(50, 1))
    base = base / base.std()
    for factor, told in ((99.9, False), (100.1, True)):
        rows = np.hstack([base, factor * base])
        samples = TwoSamples.of(rows, rows)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warn_of_scales(samples, False, "linear")
        assert bool(seen) == told


def test_the_level_of_a_column_is_told_unless_the_kernel_is_gaussian():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(50, 1))
    base = (base - base.mean()) / base.std()
    samples = TwoSamples.of(base + 100.1, base + 100.1)
    with pytest.warns(UserWarning, match="its level decides"):
        warn_of_scales(samples, True, "linear")
    warn_of_scales(samples, True, "rbf")
    near = TwoSamples.of(base + 99.9, base + 99.9)
    warn_of_scales(near, True, "linear")


def test_one_of_five_target_rows_may_not_have_most_of_the_squared_norm():
    places = np.arange(10, 15)
    with pytest.warns(UserWarning, match="row 11 of X_target has 51%"):
        warn_of_one_row(np.array([12.0, 51, 12, 12, 13]), 1.0, places)
    warn_of_one_row(np.array([12.0, 50, 12, 13, 13]), 1.0, places)
    warn_of_one_row(np.array([10.0, 80, 5, 5]), 1.0, places[:4])
    # The discrepancy is larger than what the row can explain.
    warn_of_one_row(np.array([12.0, 51, 12, 12, 13]), 110.0, places)


# -- statistics of the log-linear ratio ------------------------------------------------


def test_all_products_are_taken_with_ten_source_rows_for_each_statistic():
    # Two columns have five statistics.
    for n, family in ((50, "full"), (49, "diag")):
        assert LogLinearKLIEP()._family_of(n, 2) == family


# -- the automatic choice --------------------------------------------------------------


def test_no_automatic_weight_is_below_a_ten_thousandth_or_above_the_largest():
    auto = AutoWeights()
    auto.largest_weight_ = 3.0
    weights = np.array([0.0, 0.5e-4, 0.5, 3.0, 9.0])
    assert auto._bounded(weights).tolist() == [1e-4, 1e-4, 0.5, 3.0, 3.0]


def test_with_too_few_rows_all_weights_are_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(19, 1))
    with pytest.warns(UserWarning, match="too few to choose weights"):
        auto = AutoWeights(random_state=0).fit(X, X_target=rng.normal(size=(40, 1)))
    assert isinstance(auto.weight_estimator_, UniformWeights)


def test_candidates_come_in_order_of_simplicity():
    rng = np.random.default_rng(0)

    def names(n, d):
        samples = TwoSamples.of(rng.normal(size=(n, d)), rng.normal(size=(30, d)))
        return [one.name for one in candidates(Trials(samples, 0, Deadline()), {})]

    assert names(50, 2)[:9] == [
        "uniform",
        "logistic",
        "log-ratio linear",
        "log-ratio diag",
        "two Gaussians",
        "two Gaussians of ranks",
        "log-ratio full, ridge 0.1",
        "log-ratio full",
        "kernel 2 median",
    ]
    assert names(50, 2)[-4:] == [
        "logistic on squares",
        "logistic on products, C = 0.01",
        "logistic on products, C = 0.1",
        "boosted",
    ]
    assert "log-ratio full" not in names(49, 2)
    # Fourteen products of four columns, and half of the fewer rows.
    assert "log-ratio full, ridge 0.1" in names(28, 4)
    assert "log-ratio full, ridge 0.1" not in names(27, 4)
    assert "log-ratio full, ridge 0.1" not in names(50, 1)


def test_classifiers_of_few_parameters_are_asked_about_the_rows_of_their_fit():
    rng = np.random.default_rng(0)

    def by_heart(n):
        samples = TwoSamples.of(rng.normal(size=(n, 2)), rng.normal(size=(50, 2)))
        offered = candidates(Trials(samples, 0, Deadline()), {})
        return {one.name for one in offered if one.by_heart}

    # Two Gaussians of two columns have ten parameters: a tenth of a hundred rows.
    assert by_heart(50) == {"boosted"}
    assert by_heart(49) == {"boosted", "two Gaussians", "two Gaussians of ranks"}
    sparse_rows = sparse.csr_array(rng.normal(size=(50, 11)))
    samples = TwoSamples.of(sparse_rows, sparse_rows)
    _, logistic, _ = candidates(Trials(samples, 0, Deadline()), {})
    assert logistic.by_heart


@pytest.mark.parametrize("by_heart", [False, True])
def test_what_was_learned_by_heart_is_weighed_out_of_fold(by_heart):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(2, 60, 2))
    samples = TwoSamples.of(X, T + 0.5)
    trials = Trials(samples, 0, Deadline())
    (chosen,) = (c for c in candidates(trials, {}) if c.name == "logistic")
    auto = AutoWeights(random_state=0)
    found = auto._fit_chosen(replace(chosen, by_heart=by_heart), samples, trials)
    fitted = auto.weight_estimator_
    held_out = fitted.held_out_.source / fitted.mean_ratio_
    at_rows = held_out if by_heart else fitted._weigh_rows(samples.source)
    np.testing.assert_allclose(found, at_rows)
    assert not np.allclose(held_out, fitted._weigh_rows(samples.source))


class OnlyUniform(AutoWeights):
    """The automatic choice where there is nothing to choose from."""

    def _candidates(self, samples, seed):
        yield next(super()._candidates(samples, seed))


def test_target_rows_beyond_every_source_row_are_left_out_above_five_in_a_hundred():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    inside = rng.normal(size=(200, 1)) * 0.5

    def fitted(n_out):
        T = np.vstack([inside, 40.0 + 0.01 * rng.normal(size=(n_out, 1))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return OnlyUniform(random_state=0).fit(X, X_target=T)

    # The weight estimator that was chosen has seen the other target rows alone.
    assert fitted(30).weight_estimator_.rows_of_fit.target.shape[0] < 210
    assert fitted(8).weight_estimator_.rows_of_fit.target.shape[0] == 208


def with_a_gap(n, seed):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(-1, 1, size=(2 * n, 1))
    return rows[np.abs(rows[:, 0]) > 0.1][:n], rng.uniform(-1, 1, size=(n, 1))


def fitted_to(X, T):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return OnlyUniform(random_state=0).fit(X, X_target=T)


def test_target_rows_in_holes_are_uncovered_left_out_and_beyond():
    X, T = with_a_gap(600, seed=0)
    found = fitted_to(X, T)
    share = (np.abs(T[:, 0]) < 0.1).mean()
    assert found.unsupported_fraction_ == pytest.approx(share, abs=0.03)
    left = found.weight_estimator_.rows_of_fit.target.shape[0]
    assert left == pytest.approx(600 * (1 - share), abs=18)
    assert found.is_extrapolation([[0.0], [0.5]]).tolist() == [True, False]


def test_a_source_row_that_was_not_looked_at_fills_a_hole():
    X, T = with_a_gap(2600, seed=1)
    looked_at, _ = thinned(TwoSamples.of(X, T), as_seed(0))
    kept = np.zeros(2600, dtype=bool)
    kept[looked_at] = True
    # Of the rows that are not looked at, one lies in the gap of all the others.
    order = np.flatnonzero(~kept)[:1]
    X[order] = 0.0
    balls = find_coverage_gaps(TwoSamples.of(X[kept], T[:2000]), 0)
    assert balls.hold(np.array([[0.0]])).item()
    assert not balls.without(X).hold(np.array([[0.0]])).item()


def test_moments_above_the_budget_are_refused():
    with memory_budget(8 * 100**2):
        moments_planned(100)
        with pytest.raises(InvalidInputError, match="the moments of 101 centers take"):
            moments_planned(101)
