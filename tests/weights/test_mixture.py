"""Weights from log-linear and log-quadratic ratios and their mixtures."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from counterpoise.datasets import make_gaussian_shift
from counterpoise.errors import NoOverlapError, NoTargetWarning, PartialOverlapWarning
from counterpoise.weights.log_linear import LogLinearKLIEP, PairProducts

pytestmark = [
    pytest.mark.filterwarnings("ignore::counterpoise.errors.PartialOverlapWarning"),
    # Words that one of the samples does not have.
    pytest.mark.filterwarnings("ignore:.*hardly varies in the source"),
]
FAMILIES = ("full", "diag", "linear")


@pytest.fixture(scope="module")
def data():
    return make_gaussian_shift(3, 300, 250, shift=0.8, random_state=0)


def two_bumps(n, seed=0):
    """Return source, target and the ratio at the source: a target with two modes."""
    rng = np.random.default_rng(seed)
    X = 1.5 * rng.standard_normal((n, 2))
    sides = np.array([[-1.5, 0.0], [1.5, 0.0]])
    X_target = sides[rng.integers(2, size=n)] + 0.7 * rng.standard_normal((n, 2))
    bumps = [np.exp(-0.5 * ((X - c) ** 2).sum(1) / 0.49) / 0.49 for c in sides]
    source = np.exp(-0.5 * (X**2).sum(1) / 2.25) / 2.25
    return X, X_target, np.mean(bumps, axis=0) / source


def written_out(X, X_target, family):
    """Return standardized statistics of both samples, in the plainest way."""
    scale = np.sqrt((X.var(0) + X_target.var(0)) / 2)
    center = (X.mean(0) + X_target.mean(0)) / 2
    out = []
    for rows in (X, X_target):
        Z = (rows - center) / scale
        i, j = np.triu_indices(Z.shape[1])
        more = {"full": Z[:, i] * Z[:, j], "diag": Z**2, "linear": Z[:, :0]}[family]
        out.append(np.hstack([Z, more]))
    S, T = out
    middle = (S.mean(0) + T.mean(0)) / 2
    spread = np.sqrt((S.var(0) + T.var(0)) / 2)
    return (S - middle) / spread, (T - middle) / spread


@pytest.mark.parametrize("family", FAMILIES)
def test_one_component_equals_the_minimizer_of_scipy(family, data):
    S, T = written_out(data.X, data.X_target, family)

    def loss(eta):
        ridge = 0.5e-2 * eta @ eta
        return logsumexp(S @ eta) - np.log(len(S)) - (T @ eta).mean() + ridge

    def slope(eta):
        return S.T @ softmax(S @ eta) - T.mean(axis=0) + 1e-2 * eta

    # By differences of the loss scipy ends early, at a gradient of 1e-7.
    options = {"gtol": 1e-9}
    start = np.zeros(S.shape[1])
    best = minimize(loss, start, jac=slope, method="BFGS", options=options)
    w = np.exp(S @ best.x)
    fitted = LogLinearKLIEP(statistics=family, tol=1e-12)
    fitted.fit(data.X, X_target=data.X_target)
    np.testing.assert_allclose(fitted.weights_, w / w.mean(), rtol=1e-6)
    np.testing.assert_allclose(fitted.coef_[0], best.x, atol=1e-6)
    assert fitted.solution_.certificate.objective == pytest.approx(best.fun, abs=1e-9)


@pytest.mark.parametrize(
    ("d", "family", "bar"), [(1, "auto", 0.005), (5, "diag", 0.015), (10, "diag", 0.02)]
)
def test_the_known_ratio_is_recovered(d, family, bar):
    shift = make_gaussian_shift(d, 5000, 5000, random_state=0)
    w = LogLinearKLIEP(statistics=family).fit(shift.X, X_target=shift.X_target).weights_
    assert np.mean((w - shift.ratio / shift.ratio.mean()) ** 2) <= bar


def test_the_error_falls_as_rows_come():
    errors = []
    for n in (200, 1000, 5000):
        each = []
        for seed in range(3):
            shift = make_gaussian_shift(3, n, n, random_state=seed)
            w = LogLinearKLIEP().fit(shift.X, X_target=shift.X_target).weights_
            each.append(np.mean((w - shift.ratio / shift.ratio.mean()) ** 2))
        errors.append(np.mean(each))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


@pytest.mark.parametrize("seed", range(3))
def test_weights_close_most_of_the_gap_between_the_means(seed):
    shift = make_gaussian_shift(1, 1000, 1000, shift=1, scale=1, random_state=seed)
    w = LogLinearKLIEP().fit(shift.X, X_target=shift.X_target).weights_
    before = shift.X_target.mean() - shift.X.mean()
    after = (w[:, None] * shift.X).mean() - shift.X.mean()
    assert 0.7 * before <= after <= 1.1 * before


def test_swapped_samples_give_the_reciprocal_direction():
    shift = make_gaussian_shift(2, 1000, 1000, shift=1, scale=1, random_state=0)
    there = LogLinearKLIEP(statistics="linear").fit(shift.X, X_target=shift.X_target)
    back = LogLinearKLIEP(statistics="linear").fit(shift.X_target, X_target=shift.X)
    np.testing.assert_allclose(there.coef_, -back.coef_, atol=0.15)
    assert there.coef_.min() > 0.4
    logs = np.log(there.weights_), np.log(back.predict_weights(shift.X))
    assert np.corrcoef(*logs)[0, 1] < -0.99


def test_nothing_shifted_leaves_the_weights_near_one():
    for seed in range(3):
        null = make_gaussian_shift(1, 2000, 2000, shift=0, scale=1, random_state=seed)
        fitted = LogLinearKLIEP().fit(null.X, X_target=null.X_target)
        assert fitted.effective_sample_size_ >= 0.98 * 2000
        assert fitted.weights_.max() <= 5
        assert fitted.unsupported_fraction_ <= 0.015


@pytest.mark.parametrize(
    ("n", "d", "family"),
    [(20, 1, "full"), (19, 1, "diag"), (90, 3, "full"), (89, 3, "diag")],
)
def test_auto_takes_products_while_they_are_few(n, d, family):
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((n, d)), rng.standard_normal((80, d))
    fitted = LogLinearKLIEP(allow_no_overlap=True).fit(X, X_target=X_target)
    assert fitted.statistics_ == family


def test_two_components_follow_a_ratio_with_two_modes():
    X, X_target, ratio = two_bumps(2000)
    ratio /= ratio.mean()
    errors = []
    for k in (1, 2):
        fitted = LogLinearKLIEP(n_components=k).fit(X, X_target=X_target)
        errors.append(np.mean((fitted.weights_ - ratio) ** 2))
    np.testing.assert_allclose(fitted.proportions_, 0.5, atol=0.05)
    assert fitted.solution_.certificate.kind == "stationarity"
    assert fitted.solution_.converged
    values = np.array([line.objective for line in fitted.solution_.history])
    assert np.diff(values).max() <= 0.0
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize("k", [1, 3])
def test_weights_have_mean_one_by_themselves(k, data):
    fitted = LogLinearKLIEP(n_components=k).fit(data.X, X_target=data.X_target)
    assert fitted.weights_.mean() == pytest.approx(1.0, abs=1e-12)
    # Before the base scales them: the source mean is in the model.
    assert fitted.mean_ratio_ == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(
        fitted.predict_weights(data.X), fitted.weights_, rtol=1e-9
    )


def test_products_of_columns_are_those_written_out():
    rng = np.random.default_rng(0)
    Z, v, q = rng.standard_normal((7, 3)), rng.standard_normal(9), rng.random(7)
    offset, factor = rng.standard_normal(9), rng.random(9)
    lazy = PairProducts(Z, offset, factor)
    i, j = np.triu_indices(3)
    full = (np.hstack([Z, Z[:, i] * Z[:, j]]) - offset) * factor
    np.testing.assert_allclose(lazy[:], full, rtol=1e-14)
    np.testing.assert_allclose(lazy[2:5], full[2:5], rtol=1e-14)
    np.testing.assert_allclose(lazy @ v, full @ v, atol=1e-13)
    np.testing.assert_allclose(q @ lazy, q @ full, atol=1e-13)


def test_many_statistics_are_fitted_without_a_matrix_of_them():
    shift = make_gaussian_shift(32, 5600, 5600, random_state=0)
    fitted = LogLinearKLIEP().fit(shift.X, X_target=shift.X_target)
    assert fitted.statistics_ == "full"
    assert fitted.coef_.shape == (1, 560)
    assert fitted.solution_.converged


# Text: thousands of columns, sparse.


def text(n, p, tilt, seed):
    rng = np.random.default_rng(seed)
    often = np.exp(tilt * np.sin(np.arange(p))) / (np.arange(p) + 5.0)
    words = rng.choice(p, size=(n, 40), p=often / often.sum())
    rows = np.repeat(np.arange(n), 40)
    X = sparse.csr_array((np.ones(n * 40), (rows, words.ravel())), shape=(n, p))
    X.sum_duplicates()
    return X


def test_sparse_rows_give_the_weights_of_dense_ones():
    X, X_target = text(200, 30, 0.0, 0), text(200, 30, 0.5, 1)
    options = {"statistics": "linear", "tol": 1e-12}
    uncovered_fraction = LogLinearKLIEP(**options).fit(X, X_target=X_target)
    dense = LogLinearKLIEP(**options).fit(X.toarray(), X_target=X_target.toarray())
    np.testing.assert_allclose(uncovered_fraction.weights_, dense.weights_, rtol=1e-8)
    np.testing.assert_allclose(
        uncovered_fraction.predict_weights(X), uncovered_fraction.weights_, rtol=1e-9
    )
    assert LogLinearKLIEP().fit(X, X_target=X_target).statistics_ == "linear"


def test_sparse_rows_of_many_columns_are_weighed_without_densifying(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("densified")

    X, X_target = text(1000, 5_000, 0.0, 0), text(1000, 5_000, 0.5, 1)
    for name in ("toarray", "todense"):
        monkeypatch.setattr(sparse.csr_array, name, refuse)
    fitted = LogLinearKLIEP(alpha=1.0, random_state=0).fit(X, X_target=X_target)
    assert fitted.solution_.converged
    driving = np.sin(np.arange(50))
    assert np.corrcoef(fitted.coef_[0, :50], driving)[0, 1] > 0.5
    assert fitted.unsupported_fraction_ < 0.3


def test_text_that_has_not_shifted_is_not_refused():
    X, X_target = text(400, 3000, 0.0, 0), text(400, 3000, 0.0, 1)
    fitted = LogLinearKLIEP(random_state=0).fit(X, X_target=X_target)
    # The fit itself tells the samples apart: the objective is that of its own rows.
    assert fitted.solution_.certificate.objective < -10
    assert fitted.unsupported_fraction_ < 0.03


def test_products_of_sparse_columns_are_refused():
    X = text(50, 5, 0.0, 0)
    with pytest.raises(ValueError, match="sparse rows need statistics='auto' or"):
        LogLinearKLIEP(statistics="diag").fit(X, X_target=X)


# Overlap.


def test_disjoint_samples_are_refused_and_forced_ones_have_finite_weights():
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((200, 2)), rng.standard_normal((200, 2)) + 30
    with pytest.raises(NoOverlapError) as caught:
        LogLinearKLIEP().fit(X, X_target=X_target)
    assert caught.value.measure == "uncovered_fraction"
    assert caught.value.share > 0.9
    fitted = LogLinearKLIEP(allow_no_overlap=True).fit(X, X_target=X_target)
    assert np.isfinite(fitted.weights_).all()
    assert np.isfinite(fitted.predict_weights(X_target)).all()
    assert fitted.predict_weights(1e3 * X_target).max() <= np.exp(50.0) * (1 + 1e-9)


def test_a_column_constant_in_each_sample_at_two_values_is_no_overlap():
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((200, 2)), rng.standard_normal((200, 2))
    X[:, 1], X_target[:, 1] = 3.0, 4.0
    with pytest.raises(NoOverlapError):
        LogLinearKLIEP().fit(X, X_target=X_target)
    fitted = LogLinearKLIEP(allow_no_overlap=True).fit(X, X_target=X_target)
    assert np.isfinite(fitted.weights_).all()


def test_thin_coverage_in_part_is_said():
    shift = make_gaussian_shift(1, 9000, 5000, shift=1.5, scale=1, random_state=0)
    with pytest.warns(PartialOverlapWarning, match="of the target rows"):
        fitted = LogLinearKLIEP().fit(shift.X, X_target=shift.X_target)
    # N(1.5, 1) above the 99.5 % quantile 2.58 of N(0, 1).
    assert fitted.unsupported_fraction_ == pytest.approx(0.14, abs=0.02)


# What every weight estimator keeps.


@pytest.mark.parametrize(("family", "k"), [("full", 1), ("linear", 1), ("diag", 2)])
def test_permuting_rows_permutes_weights(family, k, data):
    rng = np.random.default_rng(1)
    rows, aims = rng.permutation(300), rng.permutation(250)
    weight_estimator = LogLinearKLIEP(statistics=family, n_components=k, tol=1e-12)
    w = clone(weight_estimator).fit(data.X, X_target=data.X_target).weights_
    again = (
        clone(weight_estimator).fit(data.X[rows], X_target=data.X_target[aims]).weights_
    )
    np.testing.assert_allclose(again, w[rows], rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_unit_of_a_column_does_not_matter(family, factor, data):
    unit = np.array([1.0, factor, 1.0])
    weight_estimator = LogLinearKLIEP(statistics=family, tol=1e-9)
    w = clone(weight_estimator).fit(data.X, X_target=data.X_target).weights_
    other = clone(weight_estimator).fit(data.X * unit, X_target=data.X_target * unit)
    np.testing.assert_allclose(other.weights_, w, rtol=1e-9)


@pytest.mark.parametrize(("family", "k"), [("full", 1), ("linear", 1), ("diag", 2)])
def test_a_row_twice_is_a_row_of_weight_two(family, k, data):
    weight_estimator = LogLinearKLIEP(statistics=family, n_components=k, tol=1e-12)
    weight, aim_weight = np.ones(300), np.ones(250)
    weight[:40], aim_weight[:30] = 2.0, 2.0
    weighted = clone(weight_estimator).fit(
        data.X,
        X_target=data.X_target,
        sample_weight=weight,
        target_weight=aim_weight,
    )
    repeated = clone(weight_estimator).fit(
        np.vstack([data.X, data.X[:40]]),
        X_target=(data.X_target, data.X_target[:30]),
    )
    np.testing.assert_allclose(repeated.weights_[:300], weighted.weights_, rtol=1e-9)
    assert weighted.unsupported_fraction_ == pytest.approx(
        repeated.unsupported_fraction_
    )
    plain = clone(weight_estimator).fit(data.X, X_target=data.X_target)
    assert np.abs(plain.weights_ - weighted.weights_).max() > 1e-3


def test_a_row_of_weight_zero_is_not_there_but_is_weighed(data):
    weight = np.ones(300)
    weight[:50] = 0.0
    fitted = LogLinearKLIEP().fit(data.X, X_target=data.X_target, sample_weight=weight)
    without = LogLinearKLIEP().fit(data.X[50:], X_target=data.X_target)
    np.testing.assert_allclose(fitted.weights_[50:], without.weights_, rtol=1e-9)
    np.testing.assert_allclose(
        fitted.weights_[:50], without.predict_weights(data.X[:50])
    )


def test_frames_and_arrays_give_the_same_weights_and_frames_their_names(data):
    names = ["age", "height", "mass"]
    plain = LogLinearKLIEP().fit(data.X, X_target=data.X_target)
    for frame in (pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)):
        fitted = LogLinearKLIEP().fit(
            frame(data.X, columns=names), X_target=frame(data.X_target, columns=names)
        )
        np.testing.assert_array_equal(fitted.weights_, plain.weights_)
        listed = list(fitted.statistic_names_)
        assert listed[:5] == ["age", "height", "mass", "age^2", "age height"]
        assert len(listed) == fitted.coef_.shape[1]
    assert list(plain.statistic_names_[:3]) == ["x0", "x1", "x2"]


def test_the_slopes_say_which_column_drives_the_shift():
    rng = np.random.default_rng(0)
    X, X_target = rng.standard_normal((500, 4)), rng.standard_normal((500, 4))
    X_target[:, 2] += 1.0
    X[:, 0], X_target[:, 0] = 1e6 * X[:, 0], 1e6 * X_target[:, 0]
    fitted = LogLinearKLIEP(statistics="linear").fit(X, X_target=X_target)
    assert np.argmax(np.abs(fitted.coef_[0])) == 2
    assert fitted.coef_[0, 2] == pytest.approx(1.0, abs=0.15)
    assert np.abs(np.delete(fitted.coef_[0], 2)).max() < 0.2


@pytest.mark.parametrize(
    "weight_estimator", [LogLinearKLIEP(), LogLinearKLIEP(n_components=2)]
)
def test_scikit_learns_common_checks_pass(weight_estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(weight_estimator)


def test_no_target_means_weights_of_one_and_a_warning(data):
    with pytest.warns(NoTargetWarning):
        fitted = LogLinearKLIEP().fit(data.X)
    np.testing.assert_array_equal(fitted.weights_, np.ones(300))


def test_grid_search_and_pipelines_take_it(data):
    search = GridSearchCV(
        LogLinearKLIEP(random_state=0), {"alpha": [1e-2, 100.0]}, cv=3
    )
    search.fit(data.X, X_target=(data.X_target,))
    assert search.best_params_ == {"alpha": 1e-2}
    assert search.best_score_ > 0.1
    pipe = make_pipeline(StandardScaler(), LogLinearKLIEP(tol=1e-9))
    scaled = StandardScaler().fit(data.X)
    pipe.fit(data.X, loglinearkliep__X_target=scaled.transform(data.X_target))
    alone = LogLinearKLIEP(tol=1e-9).fit(data.X, X_target=data.X_target)
    np.testing.assert_allclose(pipe[-1].weights_, alone.weights_, rtol=1e-9)


def test_a_fit_that_is_cut_short_says_so_with_its_gap(data):
    with pytest.warns(ConvergenceWarning, match="NOT converged .* optimum"):
        LogLinearKLIEP(max_iter=1, tol=1e-12).fit(data.X, X_target=data.X_target)
    with pytest.warns(ConvergenceWarning, match="stationarity"):
        LogLinearKLIEP(max_iter=1, n_components=2).fit(data.X, X_target=data.X_target)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"statistics": "cubic"}, "statistics must be one of"),
        ({"alpha": 0.0}, "alpha must be positive"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(wrong, message, data):
    with pytest.raises(ValueError, match=message):
        LogLinearKLIEP(**wrong).fit(data.X, X_target=data.X_target)
