"""LSIF, uLSIF and RuLSIF: exact fits, exact left-out rows, and the right direction."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from reference.random_problems import to_eleven_digits
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from counterpoise.data.two_samples import TwoSamples
from counterpoise.datasets import make_gaussian_shift
from counterpoise.errors import NoOverlapError, NoTargetWarning, PartialOverlapWarning
from counterpoise.optim import PathError, follow
from counterpoise.weights.least_squares import LSIF, RULSIF, ULSIF
from counterpoise.weights.least_squares_search import (
    Curve,
    PenaltyPath,
    leave_one_out,
    search,
)

METHODS = (LSIF, ULSIF, RULSIF)
# A width and a penalty that suit all three, where nothing is to be chosen.
FIXED = {"gamma": 0.5, "regularization": 0.05}


def two_normals(seed, shift=1.0, n=1000, m=1000, d=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), shift + rng.normal(size=(m, d))


def row_weights(kind, size, rng):
    if kind == "ones":
        return np.ones(size)
    if kind == "counts":
        return rng.integers(1, 4, size).astype(float)
    return rng.uniform(0.1, 2.5, size)


def ridge_fit(phi, psi, p, q, penalty, relative):
    """Return the clipped coefficients from the definition."""
    p, q = p / p.sum(), q / q.sum()
    H = (1 - relative) * (phi.T * p) @ phi + relative * (psi.T * q) @ psi
    alpha = np.linalg.solve(H + penalty * np.eye(len(H)), q @ psi)
    return np.maximum(alpha, 0.0)


@pytest.mark.parametrize("weights", ["ones", "counts", "fractions"])
@pytest.mark.parametrize("relative", [0.0, 0.3])
@pytest.mark.parametrize(("n", "m"), [(30, 45), (45, 30)])
def test_a_ratio_left_out_in_closed_form_is_that_of_a_refit(n, m, relative, weights):
    rng = np.random.default_rng(n)
    X, T = rng.normal(size=(n, 2)), 0.4 + rng.normal(size=(m, 2))
    p, q = row_weights(weights, n, rng), row_weights(weights, m, rng)
    centers, gamma, penalties = T[:12], 0.4, np.array([1.0, 0.1, 1e-3])
    curve = leave_one_out(
        TwoSamples.of(X, T, p, q),
        (np.arange(n), np.arange(m)),
        centers,
        gamma,
        penalties,
        relative,
    )
    phi, psi = (rbf_kernel(rows, centers, gamma=gamma) for rows in (X, T))
    clipped = 0
    for k, penalty in enumerate(penalties):
        for i in range(n):
            rest = p - np.minimum(p, 1.0) * (np.arange(n) == i)
            alpha = ridge_fit(phi, psi, rest, q, penalty, relative)
            clipped += (alpha == 0).sum()
            assert curve.ratio_source[k, i] == pytest.approx(phi[i] @ alpha, abs=1e-10)
        for j in range(m):
            rest = q - np.minimum(q, 1.0) * (np.arange(m) == j)
            alpha = ridge_fit(phi, psi, p, rest, penalty, relative)
            assert curve.ratio_target[k, j] == pytest.approx(psi[j] @ alpha, abs=1e-10)
    assert clipped > 0


def path_of(seed, d, size=40, factor=0.6):
    X, T = two_normals(seed, 0.5, 300, 200, d)
    gamma = 0.5 / (factor * np.sqrt(2 * d)) ** 2
    phi, psi = (rbf_kernel(rows, T[:size], gamma=gamma) for rows in (X, T))
    return PenaltyPath(phi.T @ phi / len(phi), psi.mean(axis=0))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("factor", [0.3, 0.6, 2.0])
def test_the_path_is_that_of_another_solver_at_any_penalty(d, factor):
    for seed in range(3):
        program = path_of(seed, d, factor=factor)
        path = follow(program)
        root = np.linalg.cholesky(program.ridged)
        rng = np.random.default_rng(seed)
        for penalty in rng.uniform(0, 1, 5) ** 3 * program.start:
            right = np.linalg.solve(root, program.h - penalty)
            x = nnls(root.T, right, maxiter=10_000)[0]
            np.testing.assert_allclose(
                path.at(penalty), x, atol=1e-8 * max(1.0, x.max())
            )


def test_every_breakpoint_and_the_middle_of_every_piece_is_certified():
    for seed in range(4):
        path = follow(path_of(seed, d=1 + seed))
        middles = 0.5 * (path.thetas[1:] + path.thetas[:-1])
        assert path.n_events > 5
        assert path.thetas[-1] == 0.0
        for theta in [*path.thetas, *middles]:
            proof = path.certify(theta)
            assert proof.holds(1e-10)
            assert proof.infeasibility == 0.0


def test_entries_that_tie_do_not_stop_the_path():
    # Two pairs of basis functions alike in everything: all events come in twos.
    H = np.kron(np.array([[1.0, 0.3], [0.3, 1.0]]), np.array([[1.0, 0.5], [0.5, 1.0]]))
    path = follow(PenaltyPath(H, np.array([1.0, 1.0, 0.5, 0.5])))
    for theta in np.linspace(0.0, 1.0, 11):
        assert path.certify(theta).holds(1e-9)
    np.testing.assert_allclose(path.at(0.2)[0], path.at(0.2)[1], rtol=1e-9)


def test_lsif_equals_a_quadratic_program_of_clarabel():
    X, T = two_normals(0, 0.3, 200, 150)
    fitted = LSIF(
        gamma=2.0, regularization=0.02, n_centers=None, standardize=False, tol=1e-9
    ).fit(X, X_target=T)
    phi, psi = (rbf_kernel(rows, fitted.centers_, gamma=2.0) for rows in (X, T))
    x = cp.Variable(len(fitted.centers_), nonneg=True)
    value = cp.sum_squares(phi @ x) / (2 * len(X)) - (psi.mean(axis=0) - 0.02) @ x
    ridge = 1e-10 * (phi**2).mean()
    program = cp.Problem(cp.Minimize(value + 0.5 * ridge * cp.sum_squares(x)))
    to_eleven_digits(program)
    proof = fitted.solution_.certificate
    assert proof.kind == "duality gap"
    assert proof.objective == pytest.approx(program.value, abs=1e-8)
    ratio = phi @ x.value
    np.testing.assert_allclose(fitted.weights_, ratio / ratio.mean(), atol=1e-3)
    assert 0 < np.count_nonzero(fitted.coef_) < 40


@pytest.mark.parametrize("relative", [0.0, 0.2])
def test_ridge_weights_are_the_closed_form(relative):
    X, T = two_normals(1, 0.7, 200, 150, 3)
    rng = np.random.default_rng(0)
    p, q = rng.uniform(0.1, 3, 200), rng.uniform(0.1, 3, 150)
    fitted = RULSIF(
        relative=relative,
        gamma=0.2,
        regularization=0.1,
        n_centers=30,
        standardize=False,
        random_state=0,
    ).fit(X, X_target=T, sample_weight=p, target_weight=q)
    assert fitted.centers_.shape == (30, 3)
    phi, psi = (rbf_kernel(rows, fitted.centers_, gamma=0.2) for rows in (X, T))
    alpha = ridge_fit(phi, psi, p, q, 0.1, relative)
    np.testing.assert_allclose(fitted.coef_, alpha, atol=1e-10)
    ratio = phi @ alpha
    np.testing.assert_allclose(
        fitted.weights_, ratio / np.average(ratio, weights=p), rtol=1e-9
    )
    np.testing.assert_allclose(fitted.predict_weights(X), fitted.weights_, rtol=1e-12)
    assert fitted.solution_.certificate.kind == "closed form, then clipped"
    assert fitted.solution_.certificate.gap <= 1e-12
    if relative == 0.0:
        plain = ULSIF(
            **{k: v for k, v in fitted.get_params().items() if k != "relative"}
        )
        plain.fit(X, X_target=T, sample_weight=p, target_weight=q)
        np.testing.assert_allclose(plain.weights_, fitted.weights_, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_weights_close_most_of_the_gap_between_the_means(method, seed):
    X, T = two_normals(seed)
    weights = method(random_state=0).fit(X, X_target=T).weights_
    closed = ((weights - 1) * X[:, 0]).mean() / (T.mean() - X.mean())
    assert 0.7 <= closed <= 1.2
    assert weights.mean() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_shifted_leaves_the_weights_near_one(method):
    X, T = two_normals(0, 0.0, 2000, 2000)
    fitted = method(random_state=0).fit(X, X_target=T)
    assert fitted.effective_sample_size_ >= 0.9 * 2000
    assert fitted.weights_.max() <= 2.0


@pytest.mark.parametrize(("method", "bar"), [(LSIF, 0.01), (ULSIF, 0.02)])
def test_the_known_ratio_is_approached_as_rows_come(method, bar):
    def error(n):
        total = 0.0
        for seed in range(2):
            shift = make_gaussian_shift(n=n, m=n, random_state=seed)
            fitted = method(random_state=0).fit(shift.X, X_target=shift.X_target)
            true = shift.ratio / shift.ratio.mean()
            total += float(((fitted.weights_ - true) ** 2).mean()) / 2
        return total

    few, many = error(200), error(2500)
    assert many < 0.5 * few
    assert many <= bar


def test_the_way_back_from_the_relative_ratio_is_the_ratio():
    shift = make_gaussian_shift(n=4000, m=4000, random_state=0)
    fitted = RULSIF(relative=0.3, random_state=0).fit(shift.X, X_target=shift.X_target)
    relative = fitted.weights_ * fitted.mean_ratio_
    true = shift.ratio / (0.3 * shift.ratio + 0.7)
    assert ((relative - true) ** 2).mean() <= 0.01
    back = 0.7 * relative / (1.0 - 0.3 * relative)
    assert ((back - shift.ratio) ** 2).mean() <= 0.03
    assert relative.max() < 1 / 0.3


def test_the_held_out_loss_of_the_textbook_takes_a_wild_fit_and_ours_does_not():
    X, T = two_normals(7)
    fitted = LSIF(random_state=0).fit(X, X_target=T)
    curve = fitted.cv_results_
    textbook = int(
        np.argmax(np.where(curve["admissible"], curve["least_squares_score"], -np.inf))
    )
    wild = clone(fitted).set_params(
        gamma=curve["gamma"][textbook], regularization=curve["regularization"][textbook]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wild.fit(X, X_target=T)
    assert wild.weights_.max() > 100
    assert fitted.weights_.max() < 20
    assert curve["chosen"].sum() == 1


@pytest.mark.parametrize("method", METHODS)
def test_the_curve_of_the_choice_is_kept_and_what_was_chosen_repeats_the_fit(method):
    X, T = two_normals(0, 0.5, 200, 150)
    fitted = method(random_state=0).fit(X, X_target=T)
    curve = fitted.cv_results_
    assert {len(column) for column in curve.values()} == {72}
    chosen = int(np.flatnonzero(curve["chosen"])[0])
    assert curve["gamma"][chosen] == fitted.gamma_
    assert curve["regularization"][chosen] == fitted.regularization_
    again = clone(fitted).set_params(
        gamma=fitted.gamma_, regularization=fitted.regularization_
    )
    again.fit(X, X_target=T)
    assert not hasattr(again, "cv_results_")
    np.testing.assert_array_equal(again.weights_, fitted.weights_)


def test_a_choice_of_the_penalty_alone_keeps_the_width():
    X, T = two_normals(0, 0.5, 200, 150)
    fitted = ULSIF(gamma=0.7, random_state=0).fit(X, X_target=T)
    assert fitted.gamma_ == 0.7
    assert len(fitted.cv_results_["score"]) == 9
    narrow = LSIF(regularization=0.01, random_state=0).fit(X, X_target=T)
    assert narrow.regularization_ == 0.01
    assert len(narrow.cv_results_["score"]) == 8


def test_widths_that_leave_a_tenth_of_the_target_uncovered_are_not_taken():
    X, T = two_normals(3, 0.0, 60, 400, 6)
    fitted = ULSIF(random_state=0, allow_no_overlap=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(X, X_target=T)
    curve = fitted.cv_results_
    assert not curve["admissible"].all()
    assert curve["admissible"].any()
    scale = fitted.column_scale_
    for gamma in np.unique(curve["gamma"]):
        reach = rbf_kernel(T / scale, X / scale, gamma=gamma).sum(axis=1)
        admissible = (reach < 1).mean() <= 0.1
        assert (curve["admissible"][curve["gamma"] == gamma] == admissible).all()
    assert curve["admissible"][curve["chosen"]].all()
    reach = rbf_kernel(T / scale, X / scale, gamma=fitted.gamma_).sum(axis=1)
    assert fitted.unsupported_fraction_ == pytest.approx((reach < 1).mean(), abs=1e-12)


@pytest.mark.parametrize(("n_admissible", "gamma"), [(2, 2.0), (1, 1.0), (0, 1.0)])
def test_the_best_admissible_width_is_taken_and_the_widest_if_there_is_none(
    n_admissible, gamma
):
    X, T = two_normals(0, n=50, m=40)
    sharpness = {1.0: 0.5, 2.0: 1.0}

    def curve_at(gamma):
        ratios = (np.exp(sharpness[gamma] * rows.T) for rows in (X, T))
        return Curve(np.array([0.1]), *ratios)

    chosen, penalty, table = search(
        curve_at, TwoSamples.of(X, T), 0.0, np.array([1.0, 2.0]), n_admissible
    )
    assert table["score"][1] > table["score"][0] + table["standard_error"][0]
    assert (chosen, penalty) == (gamma, 0.1)
    np.testing.assert_array_equal(table["admissible"], np.arange(2) < n_admissible)


@pytest.mark.parametrize("method", METHODS)
def test_permuting_rows_permutes_weights(method):
    X, T = two_normals(0, 0.5, 240, 230, 2)
    rng = np.random.default_rng(0)
    first, second = rng.permutation(240), rng.permutation(230)
    one = method(random_state=0, tol=1e-9).fit(X, X_target=T)
    other = method(random_state=0, tol=1e-9).fit(X[first], X_target=T[second])
    np.testing.assert_allclose(other.weights_, one.weights_[first], atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("factor", [1e8, 1e-8])
def test_the_unit_of_a_column_does_not_matter(method, factor):
    X, T = two_normals(0, 0.5, 240, 230, 2)
    scale = np.array([factor, 1.0])
    one = method(random_state=0, tol=1e-9).fit(X, X_target=T)
    other = method(random_state=0, tol=1e-9).fit(X * scale, X_target=T * scale)
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-9)
    np.testing.assert_allclose(
        other.predict_weights(T * scale), one.predict_weights(T), atol=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_centers", [50, None])
def test_a_row_twice_is_a_row_of_weight_two(method, n_centers):
    X, T = two_normals(0, 0.5, 120, 110, 2)
    twice_source, twice_target = np.arange(0, 120, 3), np.arange(0, 110, 4)
    p, q = np.ones(120), np.ones(110)
    p[twice_source] = q[twice_target] = 2.0
    weighted = method(n_centers=n_centers, random_state=0, tol=1e-9).fit(
        X, X_target=T, sample_weight=p, target_weight=q
    )
    doubled = clone(weighted).fit(
        np.vstack([X, X[twice_source]]), X_target=np.vstack([T, T[twice_target]])
    )
    assert doubled.gamma_ == pytest.approx(weighted.gamma_, rel=1e-9)
    np.testing.assert_allclose(doubled.weights_[:120], weighted.weights_, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_row_of_weight_zero_is_not_there_but_is_weighed(method):
    X, T = two_normals(0, 0.5, 120, 110)
    p = np.ones(120)
    p[:20] = 0.0
    some = method(random_state=0).fit(X, X_target=T, sample_weight=p)
    without = method(random_state=0).fit(X[20:], X_target=T)
    np.testing.assert_allclose(some.weights_[20:], without.weights_, atol=1e-9)
    np.testing.assert_allclose(
        some.weights_[:20], without.predict_weights(X[:20]), atol=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
def test_frames_and_arrays_give_the_same_weights(method):
    X, T = two_normals(0, 0.5, 100, 90, 2)
    expected = method(**FIXED, random_state=0).fit(X, X_target=T).weights_
    for frame in (
        lambda rows: pd.DataFrame(rows, columns=["a", "b"]),
        lambda rows: pl.DataFrame(rows, schema=["a", "b"]),
    ):
        fitted = method(**FIXED, random_state=0).fit(frame(X), X_target=frame(T))
        np.testing.assert_array_equal(fitted.weights_, expected)


@pytest.mark.parametrize("method", METHODS)
def test_scikit_learns_common_checks_pass(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(method())


@pytest.mark.parametrize("method", METHODS)
def test_no_target_means_weights_of_one_and_a_warning(method):
    X, _ = two_normals(0, n=50)
    with pytest.warns(NoTargetWarning):
        fitted = method().fit(X)
    np.testing.assert_array_equal(fitted.weights_, np.ones(50))


def test_grid_search_and_pipelines_take_them():
    X, T = two_normals(0, 0.7, 150, 120)
    grid = GridSearchCV(
        ULSIF(gamma="median", regularization=0.1, n_centers=20, random_state=0),
        {"regularization": [1e3, 1e-2]},
        cv=3,
    ).fit(X, X_target=(T,))
    assert grid.best_params_ == {"regularization": 1e-2}
    pipeline = make_pipeline(StandardScaler(), LSIF(**FIXED, random_state=0))
    pipeline.fit(X, lsif__X_target=StandardScaler().fit(X).transform(T))
    assert pipeline[-1].solution_.converged
    score = pipeline[-1].score(X, X_target=T)
    assert np.isfinite(score)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("m", [1, 2, 12])
def test_few_rows_get_the_median_width_and_a_warning(method, m):
    X, T = two_normals(0, 0.0, 100, m)
    with pytest.warns(UserWarning, match=f"100 source and {m} target rows are too few"):
        fitted = method(random_state=0, allow_no_overlap=True).fit(X, X_target=T)
    assert np.isfinite(fitted.weights_).all()
    assert fitted.weights_.mean() == pytest.approx(1.0)
    assert not hasattr(fitted, "cv_results_")
    if m == 12:
        scaled = T[:, 0] / fitted.column_scale_
        squares = np.subtract.outer(scaled, scaled)[np.triu_indices(m, 1)] ** 2
        assert fitted.gamma_ == pytest.approx(0.5 / np.median(squares), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_disjoint_samples_are_refused_and_forced_ones_have_finite_weights(method):
    X, T = two_normals(0, 500.0, 100, 90)
    with pytest.raises(NoOverlapError):
        method(random_state=0, standardize=False).fit(X, X_target=T)
    forced = method(random_state=0, standardize=False, allow_no_overlap=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forced.fit(X, X_target=T)
    assert np.isfinite(forced.weights_).all()
    assert forced.weights_.mean() == pytest.approx(1.0)
    assert forced.unsupported_fraction_ == 1.0


@pytest.mark.parametrize("stop", [{"max_iter": 2}, {"max_time": 0.0}])
def test_a_path_ended_early_is_said_with_its_gap(stop):
    X, T = two_normals(0, 0.5, 100, 90)
    fitted = LSIF(gamma=0.5, regularization=1e-3, random_state=0, **stop)
    (name, value), *_ = stop.items()
    words = rf"NOT converged \({name} = {value:g}"
    with pytest.warns(ConvergenceWarning, match=words):
        fitted.fit(X, X_target=T)
    assert fitted.path_ is None
    assert "proved" not in fitted.solution_.ended
    assert fitted.solution_.certificate.gap > 1e-6
    assert np.isfinite(fitted.weights_).all()


@pytest.mark.parametrize("method", METHODS)
def test_the_clock_covers_the_choice_of_the_width(method):
    X, T = two_normals(0, 0.5, 100, 90)
    fitted = method(random_state=0, max_time=1e-6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.fit(X, X_target=T)
    said = [str(one.message) for one in caught]
    assert any("max_time = 1e-06 s: 1 of 8 widths were tried" in one for one in said)
    assert set(fitted.cv_results_["gamma"]) == {fitted.gamma_}
    # Enough time changes nothing.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PartialOverlapWarning)
        ample = method(random_state=0, max_time=1e6).fit(X, X_target=T)
        whole = method(random_state=0).fit(X, X_target=T)
    assert ample.weights_.tobytes() == whole.weights_.tobytes()


@pytest.mark.parametrize("method", METHODS)
def test_the_median_width_counts_target_weights(method):
    X, T = two_normals(0, 0.5, 100, 90)
    counts = np.where(T[:, 0] > 0.5, 5, 1)
    fixed = {"gamma": "median", "regularization": 0.01, "random_state": 0}
    fits = [
        method(**fixed).fit(X, X_target=T, target_weight=counts),
        method(**fixed).fit(X, X_target=np.repeat(T, counts, axis=0)),
        method(**fixed).fit(X, X_target=T),
    ]
    weighted, repeated, plain = (fitted.gamma_ for fitted in fits)
    assert weighted == pytest.approx(repeated, rel=1e-9)
    assert abs(weighted / plain - 1) > 0.05


def test_a_path_ended_after_the_penalty_still_gives_its_solution():
    X, T = two_normals(0, 0.5, 100, 90)
    seen = []
    fitted = LSIF(
        gamma=0.5,
        regularization=0.3,
        random_state=0,
        callback=lambda here: seen.append(here.theta) or here.theta < 0.25,
    ).fit(X, X_target=T)
    whole = LSIF(gamma=0.5, regularization=0.3, random_state=0).fit(X, X_target=T)
    assert fitted.path_ is None
    assert whole.path_.n_events > len(seen) > 1
    np.testing.assert_allclose(fitted.weights_, whole.weights_, rtol=1e-12)


def test_a_penalty_that_leaves_nothing_is_refused():
    X, T = two_normals(0, 0.5, 100, 90)
    with pytest.raises(ValueError, match=r"regularization must be below 0\.\d+"):
        LSIF(gamma=0.5, regularization=2.0).fit(X, X_target=T)


@pytest.mark.parametrize(
    ("method", "wrong", "message"),
    [
        (ULSIF, {"gamma": -1.0}, "gamma must be positive"),
        (LSIF, {"regularization": 0.0}, "regularization must be positive"),
        (LSIF, {"n_centers": 0}, "n_centers must be at least 1"),
        (RULSIF, {"relative": 1.0}, r"relative must be in \[0.0, 1.0\)"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(method, wrong, message):
    X, T = two_normals(0, n=30, m=30)
    with pytest.raises(ValueError, match=message):
        method(**wrong).fit(X, X_target=T)


def test_a_path_is_not_followed_for_ever():
    with pytest.raises(PathError, match="more than 3 events"):
        follow(path_of(0, d=1), max_events=3)
