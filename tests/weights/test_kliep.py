"""KLIEP: every solver, every form of its matrix, and what is proved about them."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from counterpoise import KLIEP, NoOverlapError, PartialOverlapWarning
from counterpoise.data import memory_budget
from counterpoise.data.two_samples import TwoSamples
from counterpoise.datasets import (
    make_gaussian_shift,
    make_sinc_shift,
    make_uncovered_cluster,
)
from counterpoise.linalg.kernels import Kernel
from counterpoise.optim import Constrained, Corrective, MixtureLikelihood, solve
from counterpoise.shift.two_sample_tests import median_gamma
from counterpoise.weights import kernel_design as low_rank_design
from counterpoise.weights.kernel_design import (
    ComputedDesign,
    LowRankDesign,
    StoredDesign,
    covering,
    source_means,
)
from counterpoise.weights.kliep import held_out_kliep
from counterpoise.weights.search import HeldOut, choose, folds_of_both, two_sided_score


def nmse(weights, ratio):
    return np.mean((weights / weights.mean() - ratio / ratio.mean()) ** 2)


@pytest.fixture(scope="module")
def sinc():
    return make_sinc_shift(random_state=0)


@pytest.mark.parametrize(
    ("solver", "tol"),
    [
        ("projected-gradient", 1e-4),
        ("frank-wolfe", 1e-3),
        ("away", 1e-3),
        ("pairwise", 1e-4),
        ("corrective", 1e-6),
    ],
)
def test_every_solver_reaches_a_proved_gap_and_the_same_weights(solver, tol, sinc):
    exact = KLIEP(gamma=3.0, tol=1e-9).fit(sinc.X, X_target=sinc.X_target)
    kliep = KLIEP(gamma=3.0, solver=solver, tol=tol).fit(sinc.X, X_target=sinc.X_target)
    assert kliep.solution_.converged
    assert kliep.weights_.mean() == pytest.approx(1.0, abs=1e-12)
    assert np.mean((kliep.weights_ - exact.weights_) ** 2) < 10 * tol
    gaps = [line.gap for line in kliep.solution_.history]
    assert gaps[-1] < gaps[0]


def test_the_published_loop_ends_short_of_the_optimum_and_is_said_to(sinc):
    with pytest.warns(ConvergenceWarning, match=r"NOT converged .* proved within"):
        kliep = KLIEP(gamma=12.5, solver="original", standardize=False).fit(
            sinc.X, X_target=sinc.X_target
        )
    exact = KLIEP(gamma=12.5, standardize=False).fit(sinc.X, X_target=sinc.X_target)
    short = (
        kliep.solution_.certificate.objective - exact.solution_.certificate.objective
    )
    assert short > 1e-3
    assert np.count_nonzero(kliep.coef_) > 3 * np.count_nonzero(exact.coef_)


@pytest.mark.parametrize(("d", "bar"), [(1, 0.02), (5, 0.05)])
def test_the_known_ratio_is_recovered(d, bar):
    shift = make_gaussian_shift(d, n=1000, m=1000, random_state=1)
    kliep = KLIEP(random_state=0).fit(shift.X, X_target=shift.X_target)
    assert nmse(kliep.weights_, shift.ratio) < bar
    assert kliep.predict_weights(shift.X) == pytest.approx(kliep.weights_, abs=1e-12)


def test_the_one_sided_score_goes_for_narrower_kernels_than_the_two_sided():
    shift = make_gaussian_shift(10, n=500, m=500, random_state=0)
    two = KLIEP(random_state=0).fit(shift.X, X_target=shift.X_target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = KLIEP(gamma="cv-one-sided", random_state=0, allow_no_overlap=True).fit(
            shift.X, X_target=shift.X_target
        )
    assert one.gamma_ > two.gamma_
    assert nmse(one.weights_, shift.ratio) > 2 * nmse(two.weights_, shift.ratio)
    curve = two.cv_results_
    assert curve["chosen"].sum() == 1
    assert len(curve["score"]) == len(curve["one_sided_score"]) == 8


def test_uniform_weights_score_zero_and_the_true_ratio_scores_the_divergence():
    share = np.full(4, 0.25)
    assert two_sided_score(np.ones(4), np.ones(4), share, share) == 0.0
    shift = make_gaussian_shift(1, n=20_000, m=20_000, random_state=0)
    even = np.full(20_000, 1 / 20_000)
    score = two_sided_score(shift.ratio_target, shift.ratio, even, even)
    known = np.log(1 / 0.9) + (0.81 + 0.25) / 2 - 0.5
    logs = np.log(shift.ratio_target)
    error = np.sqrt((logs.var() + shift.ratio.var()) / 20_000)
    assert abs(score - known) < 3 * error


def test_a_simpler_candidate_within_the_error_is_taken_and_a_wild_one_is_not():
    rng = np.random.default_rng(0)
    samples = TwoSamples.of(np.zeros((400, 1)), np.zeros((400, 1)))
    good = np.exp(0.5 * rng.standard_normal(400))
    near = HeldOut(good * np.exp(0.01 * rng.standard_normal(400)), np.ones(400))
    best = HeldOut(good * 1.0001, np.ones(400))
    wild = HeldOut(
        np.exp(5 * rng.standard_normal(400) - 5.0), 20 * rng.random(400) ** 8
    )
    assert choose([near, best], samples).chosen == 0
    assert choose([wild, best], samples).chosen == 1
    banned = HeldOut(good * 2.0, np.ones(400), admissible=False)
    assert choose([banned, best], samples).chosen == 1


def test_the_score_holds_out_target_rows_of_the_fit(sinc):
    narrow = KLIEP(gamma=500.0, allow_no_overlap=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        narrow.fit(sinc.X, X_target=sinc.X_target)
        wide = KLIEP(gamma=1.0, random_state=0).fit(sinc.X, X_target=sinc.X_target)
    fresh = make_sinc_shift(random_state=1)
    assert narrow.score(fresh.X) < wide.score(fresh.X)
    again = wide.score(fresh.X, X_target=fresh.X_target)
    assert abs(wide.score(fresh.X) - again) < 0.1


def three_designs(seed=0, sigma=0.3, m=400, relative=0.0):
    shift = make_gaussian_shift(1, n=600, m=m, random_state=seed)
    samples = TwoSamples.of(shift.X, shift.X_target)
    gamma = 0.5 / sigma**2
    scale = source_means(samples, samples.target, Kernel("rbf", gamma), relative)
    stored = StoredDesign.of(
        samples.target, samples.target, Kernel("rbf", gamma), scale
    )
    computed = ComputedDesign(
        samples.target, samples.target, Kernel("rbf", gamma), scale
    )
    return samples, gamma, stored, computed


def test_stored_and_computed_kernels_are_the_same_matrix():
    _, _, stored, computed = three_designs()
    v = np.random.default_rng(0).random(400)
    np.testing.assert_allclose(computed.pull(v), stored.pull(v), rtol=1e-12)
    i = np.array([3, 77, 200])
    np.testing.assert_allclose(computed.columns(i), stored.columns(i), rtol=1e-12)


def test_no_matrix_above_the_budget_is_made_and_the_answer_is_the_same():
    shift = make_gaussian_shift(10, n=400, m=600, random_state=0)
    kliep = KLIEP(gamma=0.1, n_centers=None, tol=1e-8, standardize=False)
    stored = kliep.fit(shift.X, X_target=shift.X_target)
    weights = stored.weights_
    with memory_budget(1_000_000):
        small = kliep.fit(shift.X, X_target=shift.X_target)
    assert small.solution_.converged
    assert small.solution_.history[-1].counts["passes"] >= 1
    np.testing.assert_allclose(small.weights_, weights, atol=1e-3)


def test_the_low_rank_certificate_is_never_below_the_true_gap(monkeypatch):
    monkeypatch.setattr(low_rank_design, "FEWEST_FACTORED", 10)
    capped = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sigma = 10.0 ** rng.uniform(-0.5, 0.8)
        # Coarse pivots, as if the rank had been capped.
        monkeypatch.setattr(low_rank_design, "PIVOT_TOL", 10.0 ** rng.uniform(-12, -2))
        relative = float(rng.choice([0.0, 0.1]))
        samples, gamma, stored, _ = three_designs(seed, sigma, 120, relative)
        low = LowRankDesign.of(samples, Kernel("rbf", gamma), relative)
        if low is None:
            continue
        capped += low.root.max() > 1e-4
        x = np.zeros(120)
        some = rng.choice(120, 5, replace=False)
        x[some] = rng.dirichlet(np.ones(5))
        true = MixtureLikelihood(stored).certify(x)
        proved = MixtureLikelihood(low).certify(x)
        assert proved.gap >= true.gap - 1e-12
        assert proved.objective == pytest.approx(true.objective, abs=1e-9)
    assert capped > 20


def test_a_low_rank_fit_agrees_with_the_stored_one():
    shift = make_gaussian_shift(1, n=500, m=3200, random_state=0)
    kliep = KLIEP(gamma=2.0, n_centers=None, tol=1e-8)
    fitted = kliep.fit(shift.X, X_target=shift.X_target)
    assert fitted.solution_.converged
    samples = TwoSamples.of(shift.X, shift.X_target)
    scale = np.sqrt(0.5 * (shift.X.var() + shift.X_target.var()))
    samples = samples.with_rows(samples.source / scale, samples.target / scale)
    means = source_means(samples, samples.target, Kernel("rbf", 2.0))
    stored = StoredDesign.of(samples.target, samples.target, Kernel("rbf", 2.0), means)
    exact = solve(MixtureLikelihood(stored), Corrective(), tol=1e-8)
    assert exact.certificate.objective == pytest.approx(
        fitted.solution_.certificate.objective, abs=1e-8
    )


def test_a_start_covers_every_row_with_few_centers():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 2))
    for gamma in (0.01, 1.0, 100.0, 1e4):
        start = covering(rows, rows, Kernel("rbf", gamma))
        assert start.sum() == pytest.approx(1.0)
        assert (Kernel("rbf", gamma).matrix(rows, rows) @ start > 0).all()
    assert np.count_nonzero(covering(rows, rows, Kernel("rbf", 0.01))) == 1


def test_a_cluster_without_source_rows_is_said_and_guarded_against():
    shift = make_uncovered_cluster(0.15, random_state=0)
    with pytest.warns(
        PartialOverlapWarning, match="% of the target rows have hardly any"
    ):
        kliep = KLIEP(relative=0.05, random_state=0).fit(
            shift.X, X_target=shift.X_target
        )
    assert np.isfinite(kliep.weights_).all()
    plain = KLIEP(gamma=kliep.gamma_, allow_no_overlap=True)
    with pytest.warns(PartialOverlapWarning):
        plain.fit(shift.X, X_target=shift.X_target)
    guarded = np.corrcoef(kliep.weights_, shift.ratio)[0, 1]
    assert guarded > 0.75
    assert guarded > np.corrcoef(plain.weights_, shift.ratio)[0, 1] + 0.1


def test_disjoint_samples_are_refused_unless_forced():
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((300, 2)), rng.standard_normal((300, 2)) + 50
    with pytest.raises(NoOverlapError) as caught:
        KLIEP(random_state=0).fit(X, X_target=X_target)
    assert caught.value.share > 0.9
    with pytest.warns(PartialOverlapWarning):
        forced = KLIEP(random_state=0, allow_no_overlap=True).fit(X, X_target=X_target)
    assert np.isfinite(forced.weights_).all()


def test_few_rows_get_the_median_width_and_a_warning():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="too few to choose a width"):
        kliep = KLIEP().fit(rng.standard_normal((15, 1)), X_target=rng.random((15, 1)))
    assert not hasattr(kliep, "cv_results_")


def test_sparse_rows_give_the_weights_of_dense_ones():
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.random((200, 30)) * (rng.random((200, 30)) < 0.2)
    X_target = rng.random((150, 30)) * (rng.random((150, 30)) < 0.3)
    dense = KLIEP(gamma="median", tol=1e-9).fit(X, X_target=X_target)
    uncovered_fraction = KLIEP(gamma="median", tol=1e-9).fit(
        sparse.csr_array(X), X_target=sparse.csr_array(X_target)
    )
    np.testing.assert_allclose(uncovered_fraction.weights_, dense.weights_, atol=1e-6)


def test_weights_follow_the_same_centers_when_rows_are_repeated(sinc):
    X, X_target = sinc.X[:200], sinc.X_target[:100]
    twice = KLIEP(gamma=2.0, standardize=False, tol=1e-10)
    by_weight = np.ones(100)
    by_weight[:30] = 2.0
    a = twice.fit(X, X_target=X_target, target_weight=by_weight).predict_weights(X)
    b = twice.fit(X, X_target=np.vstack([X_target, X_target[:30]])).predict_weights(X)
    np.testing.assert_allclose(a, b, atol=1e-6)
    source = np.ones(200)
    source[:50] = 2.0
    c = twice.fit(X, X_target=X_target, sample_weight=source).predict_weights(X)
    d = twice.fit(np.vstack([X, X[:50]]), X_target=X_target).predict_weights(X)
    np.testing.assert_allclose(c, d, atol=1e-6)


def test_a_width_without_source_neighbors_is_not_admissible():
    shift = make_gaussian_shift(5, n=200, m=200, random_state=0)
    samples = TwoSamples.of(shift.X, shift.X_target)
    gamma, parts = median_gamma(samples.target), folds_of_both(samples, 0)
    assert held_out_kliep(samples, gamma, 0.0, parts).admissible
    assert not held_out_kliep(samples, 1e4 * gamma, 0.0, parts).admissible


def test_the_kliep_certificate_holds_for_the_generic_problem_too(sinc):
    gamma = 10.0
    samples = TwoSamples.of(sinc.X, sinc.X_target)
    scale = source_means(samples, samples.target, Kernel("rbf", gamma))
    A = Kernel("rbf", gamma).matrix(samples.target, samples.target) / scale
    problem = MixtureLikelihood(A)
    solution = solve(problem, Corrective(), tol=1e-9)
    generic = Constrained(problem.objective, problem.domain).certify(solution.x)
    assert generic.gap >= solution.certificate.gap - 1e-15
    assert generic.gap < 1e-8


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"gamma": -1.0}, "gamma must be positive"),
        ({"gamma": "best"}, "gamma must be"),
        ({"n_centers": 0}, "n_centers must be at least 1"),
        ({"relative": 1.0}, "relative must be in"),
        ({"solver": "simplex"}, "solver must be one of"),
        ({"line_search": "guess"}, "line_search must be one of"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"exponent": 2.0}, "exponent must be in"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"callback": 3}, "callback must be callable or None"),
    ],
)
def test_parameters_that_make_no_sense_are_named(parameters, words, sinc):
    with pytest.raises((ValueError, TypeError), match=words):
        KLIEP(**parameters).fit(sinc.X, X_target=sinc.X_target)
