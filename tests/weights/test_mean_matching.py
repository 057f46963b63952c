"""Kernel mean matching: the problem, its ridge, and what users hold it to."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import counterpoise.weights.kmm as module
from counterpoise.datasets import make_gaussian_shift, make_uncovered_cluster
from counterpoise.errors import NoOverlapError, PartialOverlapWarning
from counterpoise.weights import kmm as estimator
from counterpoise.weights.kmm import KMM, MATCHING_RIDGES


def shifted(n=120, m=80, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), 0.6 + 0.8 * rng.normal(size=(m, d))


def squared_mmd(v, X, T, gamma, q=None):
    q = np.full(len(T), 1.0 / len(T)) if q is None else q
    K, across = rbf_kernel(X, gamma=gamma), rbf_kernel(X, T, gamma=gamma)
    return v @ K @ v - 2.0 * v @ across @ q + q @ rbf_kernel(T, gamma=gamma) @ q


def by_clarabel(X, T, gamma, bound, slack, ridge):
    """Value of the published quadratic program with a ridge."""
    n = len(X)
    v = cp.Variable(n)
    K = rbf_kernel(X, gamma=gamma)
    value = cp.quad_form(v, cp.psd_wrap(K + 1e-14 * np.eye(n)))
    value += ridge * cp.sum_squares(v)
    value -= 2.0 * rbf_kernel(X, T, gamma=gamma).mean(axis=1) @ v
    sums = [cp.sum(v) >= 1.0 - slack, cp.sum(v) <= 1.0 + slack]
    program = cp.Problem(cp.Minimize(value), [v >= 0.0, v <= bound / n, *sums])
    program.solve(cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    return program.value + rbf_kernel(T, gamma=gamma).mean()


@pytest.mark.parametrize("rank", [300, 5], ids=["factored", "stored"])
@pytest.mark.parametrize(
    ("bound", "slack", "ridge"),
    [
        (1000.0, None, 1.0),
        (1000.0, None, 0.0),
        (1.5, None, 0.1),
        (3.0, 0.1, 0.01),
        (1000.0, 1.0 - 120**-0.5, 0.0),
    ],
)
def test_the_value_is_that_of_clarabel_and_bounds_and_sum_hold(
    bound, slack, ridge, rank, monkeypatch
):
    monkeypatch.setattr(module, "LARGEST_FACTOR_RANK", rank)
    X, T = shifted()
    kmm = KMM(
        gamma=0.3,
        max_weight=bound,
        slack=slack,
        alpha=ridge,
        standardize=False,
        tol=1e-8,
    ).fit(X, X_target=T)
    w, eps = kmm.weights_, slack or 0.0
    assert w.min() >= 0.0
    assert w.max() <= bound + 1e-9
    assert abs(w.mean() - 1.0) <= eps + 1e-9
    v = w / len(X)
    value = squared_mmd(v, X, T, 0.3) + ridge * v @ v
    assert abs(value - by_clarabel(X, T, 0.3, bound, eps, ridge)) <= 1e-6 * 0.1
    assert kmm.mmd_**2 == pytest.approx(squared_mmd(v, X, T, 0.3), abs=1e-11)
    assert kmm.solution_.converged
    assert kmm.solution_.certificate.objective == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_gradient_steps_on_a_stored_kernel_agree_with_clarabel(ridge, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FACTOR_RANK", 5)
    for part in (module, estimator):
        monkeypatch.setattr(part, "LARGEST_ARRAY", 120 * 120)
    X, T = shifted()
    kmm = KMM(gamma=1.0, alpha=ridge, standardize=False).fit(X, X_target=T)
    assert kmm.solution_.n_iter > 15
    v = kmm.weights_ / len(X)
    value = squared_mmd(v, X, T, 1.0) + ridge * v @ v
    assert abs(value - by_clarabel(X, T, 1.0, 1000.0, 0.0, ridge)) <= 1e-6 * 0.1


def test_a_factor_that_hides_too_much_says_so_and_its_bound_is_true(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FACTOR_RANK", 10)
    monkeypatch.setattr(module, "LARGEST_ARRAY", 100)
    X, T = shifted()
    kmm = KMM(gamma=1.0, alpha=1.0, standardize=False)
    with pytest.warns(ConvergenceWarning, match="what the factor leaves out"):
        kmm.fit(X, X_target=T)
    proof, v = kmm.solution_.certificate, kmm.weights_ / len(X)
    best = by_clarabel(X, T, 1.0, 1000.0, 0.0, 1.0)
    value = squared_mmd(v, X, T, 1.0) + v @ v
    assert kmm.solution_.n_iter < 50
    assert proof.bound <= best + 1e-9
    assert proof.objective >= value
    assert proof.gap >= value - best
    assert np.isfinite(kmm.predict_weights(T)).all()


@pytest.mark.parametrize("solver", ["frank-wolfe", "pairwise"])
@pytest.mark.parametrize("bound", [1000.0, 3.0])
def test_frank_wolfe_variants_come_near_the_same_optimum(solver, bound):
    X, T = shifted()
    exact = KMM(gamma=0.5, alpha=3.0, max_weight=bound).fit(X, X_target=T)
    other = clone(exact).set_params(solver=solver, tol=1e-2, max_iter=3000)
    other.fit(X, X_target=T)
    assert other.solution_.n_iter > exact.solution_.n_iter
    assert other.weights_.max() <= bound + 1e-9
    excess = (
        other.solution_.certificate.objective - exact.solution_.certificate.objective
    )
    assert 0.0 < excess <= 1e-2 * other.solution_.certificate.scale
    np.testing.assert_allclose(other.weights_, exact.weights_, atol=0.5)


def test_the_chosen_ridge_is_the_largest_that_reaches_the_noise_floor():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(600, 1)), 1.0 + rng.normal(size=(500, 1))
    kmm = KMM(standardize=False).fit(X, X_target=T)
    q, m = np.full(500, 1 / 500), 500
    kernel = rbf_kernel(T, gamma=kmm.gamma_)
    spread = 1.0 - (kernel.sum() - m) / (m * (m - 1))
    v = kmm.weights_ / 600
    floor = np.sqrt(spread * (v @ v + 1 / m))
    assert kmm.noise_floor_ == pytest.approx(floor, rel=1e-9)
    assert kmm.mmd_ == pytest.approx(np.sqrt(squared_mmd(v, X, T, kmm.gamma_, q)), 1e-6)
    assert kmm.mmd_ <= kmm.noise_floor_
    assert kmm.ridge_ in MATCHING_RIDGES[1:]
    larger = MATCHING_RIDGES[MATCHING_RIDGES.index(kmm.ridge_) - 1]
    more = clone(kmm).set_params(alpha=larger).fit(X, X_target=T)
    assert more.mmd_ > more.noise_floor_


def test_a_ridge_buys_effective_size():
    X, T = shifted(300, 300)
    sizes = [
        KMM(alpha=r).fit(X, X_target=T).effective_sample_size_
        for r in (0.01, 0.1, 1.0, 10.0)
    ]
    assert (np.diff(sizes) > 0.0).all()


def test_the_median_rule_is_the_median_distance_of_target_rows():
    X, T = shifted()
    i, j = np.triu_indices(len(T), k=1)
    median = np.median(((T[i] - T[j]) ** 2).sum(axis=1))
    kmm = KMM(standardize=False, alpha=1.0).fit(X, X_target=T)
    assert kmm.gamma_ == pytest.approx(0.5 / median, rel=1e-9)


@pytest.mark.parametrize("d", [1, 5])
@pytest.mark.parametrize("seed", range(3))
def test_most_of_a_gap_in_means_is_closed(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1000, d))
    T = rng.normal(size=(1000, d))
    T[:, 0] += 1.0
    w = KMM().fit(X, X_target=T).weights_
    before, after = X[:, 0].mean(), w @ X[:, 0] / w.sum()
    assert after - before >= 0.7 * (T[:, 0].mean() - before)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_shifted_leaves_nearly_all_of_the_sample(seed):
    rng = np.random.default_rng(seed)
    kmm = KMM().fit(rng.normal(size=(2000, 1)), X_target=rng.normal(size=(2000, 1)))
    assert kmm.effective_sample_size_ >= 0.9 * 2000
    assert kmm.weights_.max() <= 5.0


def test_the_known_ratio_is_approached_as_rows_are_added():
    errors = []
    for n in (300, 3000, 30_000):
        shift = make_gaussian_shift(1, n, n, random_state=0)
        w = KMM().fit(shift.X, X_target=shift.X_target).weights_
        errors.append(np.mean((w - shift.ratio / shift.ratio.mean()) ** 2))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.003


def test_new_rows_get_nearly_the_known_ratio():
    shift = make_gaussian_shift(2, 2000, 2000, random_state=0)
    fresh = make_gaussian_shift(2, 1000, 10, random_state=1)
    kmm = KMM().fit(shift.X, X_target=shift.X_target)
    new = kmm.predict_weights(fresh.X)
    assert new.min() >= 0.0
    assert np.mean(new) == pytest.approx(1.0, abs=0.05)
    uniform = np.mean((1.0 - fresh.ratio) ** 2)
    assert np.mean((new - fresh.ratio) ** 2) < 0.1 * uniform


@pytest.mark.parametrize("rank", [300, 5], ids=["factored", "stored"])
@pytest.mark.parametrize("bound", [1000.0, 1.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_weights_of_the_fits_own_rows_are_its_weights(
    rank, bound, weighted, monkeypatch
):
    monkeypatch.setattr(module, "LARGEST_FACTOR_RANK", rank)
    X, T = shifted()
    own = np.random.default_rng(0).integers(1, 4, len(X)) if weighted else None
    kmm = KMM(max_weight=bound, tol=1e-10, allow_no_overlap=True)
    kmm.fit(X, X_target=T, sample_weight=own)
    assert bound == 1000.0 or kmm.weights_.max() == pytest.approx(bound)
    np.testing.assert_allclose(kmm.predict_weights(X), kmm.weights_, atol=1e-4)


def test_the_weights_of_new_rows_solve_the_conditions_of_the_optimum():
    X, T = shifted()
    kmm = KMM(gamma=0.5, alpha=2.0, standardize=False, tol=1e-10).fit(X, X_target=T)
    v = kmm.weights_ / len(X)

    def pull(rows):
        to_target = rbf_kernel(rows, T, gamma=0.5).mean(axis=1)
        return len(X) / 2.0 * (to_target - rbf_kernel(rows, X, gamma=0.5) @ v)

    inside = int(np.argmax(v))
    new = np.random.default_rng(5).normal(size=(50, 2))
    expected = pull(new) + kmm.weights_[inside] - pull(X)[inside]
    np.testing.assert_allclose(
        kmm.predict_weights(new), np.maximum(expected, 0.0), atol=1e-4
    )


def test_without_a_ridge_the_weights_of_new_rows_are_a_regression():
    X, T = shifted()
    kmm = KMM(gamma=0.5, alpha=0.0, standardize=False, max_weight=5.0)
    kmm.fit(X, X_target=T)
    K = rbf_kernel(X, gamma=0.5)
    dual = np.linalg.solve(K + 1e-3 * np.eye(len(X)), kmm.weights_)
    expected = rbf_kernel(T, X, gamma=0.5) @ dual / (K @ dual).mean()
    np.testing.assert_allclose(
        kmm.predict_weights(T), np.clip(expected, 0, 5), atol=1e-3
    )


def test_target_rows_of_no_weight_do_not_ruin_the_score():
    shift = make_gaussian_shift(10, n=500, m=500, random_state=0)
    fresh = make_gaussian_shift(10, n=500, m=500, random_state=1)
    kmm = KMM().fit(shift.X, X_target=shift.X_target)
    assert (kmm.predict_weights(fresh.X_target) == 0).any()
    assert kmm.score(fresh.X, X_target=fresh.X_target) > 0.05


@pytest.mark.parametrize("d", [1, 3])
def test_the_order_of_rows_does_not_matter(d):
    X, T = shifted(200, 150, d)
    rng = np.random.default_rng(1)
    p, q = rng.permutation(200), rng.permutation(150)
    w = KMM(tol=1e-9).fit(X, X_target=T).weights_
    again = KMM(tol=1e-9).fit(X[p], X_target=T[q]).weights_
    np.testing.assert_allclose(again, w[p], atol=1e-9)


@pytest.mark.parametrize("factor", [1e8, 1e-8])
def test_the_scale_of_a_column_does_not_matter(factor):
    X, T = shifted()
    scale = np.array([factor, 1.0])
    w = KMM(tol=1e-9).fit(X, X_target=T).weights_
    again = KMM(tol=1e-9).fit(X * scale, X_target=T * scale).weights_
    np.testing.assert_allclose(again, w, atol=1e-9)


def test_a_row_of_weight_two_is_the_row_twice():
    X, T = shifted()
    a, b = np.ones(120), np.ones(80)
    a[:40], b[10:35] = 2.0, 2.0
    weighted = KMM(tol=1e-9).fit(X, X_target=T, sample_weight=a, target_weight=b)
    twice = KMM(tol=1e-9).fit(
        np.concatenate([X, X[:40]]), X_target=np.concatenate([T, T[10:35]])
    )
    np.testing.assert_allclose(twice.weights_[:120], weighted.weights_, atol=1e-8)
    np.testing.assert_allclose(twice.weights_[120:], weighted.weights_[:40], atol=1e-8)
    assert twice.ridge_ == weighted.ridge_
    for name in ("gamma_", "mmd_", "noise_floor_"):
        assert getattr(twice, name) == pytest.approx(getattr(weighted, name), 1e-7)
    assert a @ weighted.weights_ / a.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(
        twice.predict_weights(T), weighted.predict_weights(T), rtol=1e-6
    )


def test_a_row_of_weight_zero_is_absent_and_still_weighed():
    X, T = shifted()
    a = np.ones(120)
    a[:30] = 0.0
    weighted = KMM(tol=1e-9).fit(X, X_target=T, sample_weight=a)
    without = KMM(tol=1e-9).fit(X[30:], X_target=T)
    np.testing.assert_allclose(weighted.weights_[30:], without.weights_, atol=1e-9)
    np.testing.assert_allclose(
        weighted.weights_[:30], without.predict_weights(X[:30]), atol=1e-9
    )


def test_frames_give_the_same_weights_as_arrays():
    X, T = shifted()
    w = KMM().fit(X, X_target=T).weights_
    for frame in (
        lambda Z: pd.DataFrame(Z, columns=["a", "b"]),
        lambda Z: pl.DataFrame(Z, schema=["a", "b"]),
    ):
        kmm = KMM().fit(frame(X), X_target=frame(T))
        np.testing.assert_array_equal(kmm.weights_, w)
        assert list(kmm.feature_names_in_) == ["a", "b"]


@pytest.mark.filterwarnings("ignore::counterpoise.errors.NoTargetWarning")
def test_the_common_checks_of_scikit_learn_pass():
    results = check_estimator(KMM(), on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    assert sum(result["status"] == "passed" for result in results) > 30


def test_it_works_in_a_pipeline_and_a_grid_search():
    X, T = shifted()
    pipe = make_pipeline(StandardScaler(), KMM(standardize=False))
    pipe.fit(X, kmm__X_target=T)
    assert pipe[-1].weights_.shape == (120,)
    search = GridSearchCV(KMM(random_state=0), {"gamma": [0.05, 0.5]}, cv=3)
    search.fit(X, X_target=(T,))
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.gamma_ in (0.05, 0.5)


def test_the_score_prefers_weights_to_none_where_something_has_shifted():
    X, T = shifted(600, 500)
    kmm = KMM(random_state=0).fit(X[:400], X_target=T[:300])
    assert kmm.score(X[400:], X_target=T[300:]) > 0.1
    assert kmm.score(X[400:]) > 0.1
    assert kmm.score(X[400:]) == kmm.score(X[400:])


def test_disjoint_samples_are_refused_although_the_effective_size_looks_fine():
    X, T = shifted()
    with pytest.raises(NoOverlapError):
        KMM(gamma=1.0).fit(X, X_target=T + 50.0)
    forced = KMM(gamma=1.0, allow_no_overlap=True)
    with pytest.warns(PartialOverlapWarning, match=r"100\.0%"):
        forced.fit(X, X_target=T + 50.0)
    assert forced.unsupported_fraction_ == 1.0
    assert np.isfinite(forced.weights_).all()


@pytest.mark.parametrize("rank", [300, 20], ids=["factored", "stored"])
def test_uncovered_target_rows_are_counted(rank, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FACTOR_RANK", rank)
    shift = make_uncovered_cluster(random_state=0)
    kmm = KMM(standardize=False, alpha=1.0, allow_no_overlap=True, gamma=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartialOverlapWarning)
        kmm.fit(shift.X, X_target=shift.X_target)
    expected = rbf_kernel(shift.X_target, shift.X, gamma=0.5).sum(axis=1)
    assert kmm.unsupported_fraction_ == pytest.approx(
        np.mean(expected < 1.0), abs=1e-12
    )
    assert kmm.unsupported_fraction_ > 0.05


def test_copies_constants_and_identical_samples_are_no_trouble():
    X, _ = shifted()
    same = KMM().fit(X, X_target=X)
    np.testing.assert_allclose(same.weights_, 1.0, atol=1e-6)
    assert same.mmd_ <= 1e-6
    copies = KMM().fit(np.repeat(X, 3, axis=0), X_target=np.repeat(X[:50], 2, axis=0))
    assert np.isfinite(copies.weights_).all()
    constant = KMM().fit(np.ones((30, 2)), X_target=np.ones((20, 2)))
    np.testing.assert_allclose(constant.weights_, 1.0, atol=1e-9)


def test_a_bound_of_one_leaves_weights_of_one():
    X, T = shifted()
    np.testing.assert_allclose(KMM(max_weight=1.0).fit(X, X_target=T).weights_, 1.0)


def test_a_search_cut_short_says_so():
    X, T = shifted()
    with pytest.warns(ConvergenceWarning, match="NOT converged"):
        KMM(alpha=0.0, max_iter=1).fit(X, X_target=T)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": -1.0}, "gamma must be positive"),
        ({"max_weight": 0.5}, "max_weight must be at least 1"),
        ({"slack": 1.0}, "slack must be in"),
        ({"alpha": -1.0}, "alpha must be at least 0"),
        ({"solver": "quadratc"}, "did you mean 'quadratic'"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    X, T = shifted()
    with pytest.raises(ValueError, match=message):
        KMM(**parameters).fit(X, X_target=T)
