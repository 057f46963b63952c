"""Weights of least discrepancy."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.stats import special_ortho_group
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

from counterpoise import (
    Adapted,
    DiscrepancyWeights,
    discrepancy,
    estimate_performance,
    load_model,
    target_scorer,
)
from counterpoise.datasets import make_gaussian_shift
from counterpoise.models import WeightedKernelRidge
from counterpoise.weights.discrepancy import DISCREPANCY_SOLVERS

PLAIN = {"standardize": False, "add_constant": False}


def fitted(X, T, weights=None, target_weights=None, **parameters):
    """Return the published objective's weights, unless a spread is given."""
    return DiscrepancyWeights(**{"spread": 0.0, **parameters}).fit(
        X, X_target=T, sample_weight=weights, target_weight=target_weights
    )


def two(seed=0, n=30, m=20, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.uniform(-1, 1, d)
    return X, 1.2 * rng.standard_normal((m, d))


def least_norm(X, T):
    """The optimum by somebody else's solver, and its weights."""
    z, t = cp.Variable(len(X), nonneg=True), cp.Variable()
    M = T.T @ T / len(T) - X.T @ cp.diag(z) @ X
    eye = np.eye(X.shape[1])
    problem = cp.Problem(
        cp.Minimize(t), [cp.sum(z) == 1, t * eye - M >> 0, t * eye + M >> 0]
    )
    problem.solve(solver=cp.CLARABEL)
    return problem.value, z.value


@pytest.mark.parametrize("seed", range(5))
def test_the_least_norm_is_clarabel_s(seed):
    X, T = two(seed, n=12 + seed, m=9, d=2 + seed)
    expected, _ = least_norm(X, T)
    found = fitted(X, T, tol=1e-6, **PLAIN)
    scale = max(expected, 0.01 * found.discrepancy_uniform_)
    assert found.discrepancy_ == pytest.approx(expected, abs=2e-6 * scale)
    assert found.lower_bound_ <= expected + 1e-7 * scale
    # The attributes are what the measure says of the weights.
    direct = discrepancy(X, T, sample_weight=found.weights_)
    assert found.discrepancy_ == pytest.approx(direct, rel=1e-6, abs=1e-9)
    assert found.discrepancy_uniform_ == pytest.approx(discrepancy(X, T), rel=1e-9)
    assert found.spectrum_.value == pytest.approx(direct, rel=1e-6, abs=1e-9)


def test_the_default_is_the_measure_with_scaling_and_a_constant():
    X, T = two()
    found = fitted(X, T)
    expected = discrepancy(X, T, standardize=True, add_constant=True)
    assert found.discrepancy_uniform_ == pytest.approx(expected, rel=1e-9)
    assert found.spectrum_uniform_.value == pytest.approx(expected, rel=1e-9)
    assert found.spectrum_.ranking[0][0] in {"x0", "x1", "x2", "x3", "(constant)"}


def test_of_one_column_two_points_are_mixed_in_closed_form():
    X, T = np.array([[1.0], [3.0]]), np.array([[2.0], [1.0]])
    found = fitted(X, T, tol=1e-7, **PLAIN)
    # z1 + 9 z2 = 2.5.
    np.testing.assert_allclose(found.weights_ / 2, [6.5 / 8, 1.5 / 8], atol=1e-6)
    outside = fitted(X, np.array([[5.0]]), tol=1e-7, **PLAIN)
    assert outside.discrepancy_ == pytest.approx(25 - 9, rel=1e-6)
    np.testing.assert_allclose(outside.weights_ / 2, [0, 1], atol=1e-6)


def test_orthogonal_features_make_a_linear_program():
    rng = np.random.default_rng(0)
    X = np.diag(rng.uniform(0.5, 2, 6))
    T = np.diag(rng.uniform(0.5, 2, 6))
    # min t with |a_j - z_j x_j^2| <= t.
    squares, aims = np.diag(X) ** 2, np.diag(T) ** 2 / 6
    A = np.vstack([np.diag(squares), -np.diag(squares)])
    A = np.column_stack([A, -np.ones(12)])
    answer = linprog(
        np.append(np.zeros(6), 1),
        A_ub=A,
        b_ub=np.concatenate([aims, -aims]),
        A_eq=[np.append(np.ones(6), 0)],
        b_eq=[1],
    )
    found = fitted(X, T, tol=1e-8, **PLAIN)
    assert found.discrepancy_ == pytest.approx(answer.fun, rel=1e-6)


def test_a_target_of_source_rows_is_matched():
    X, _ = two(n=40)
    found = fitted(X, X[:10], tol=1e-6)
    assert found.discrepancy_ < 1e-7
    assert fitted(X, X, tol=1e-6).discrepancy_ < 1e-10
    np.testing.assert_allclose(fitted(X, X).weights_, 1.0)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_of_equal_samples_a_kernel_leaves_the_weights_at_one(kernel):
    X, _ = two(n=40)
    found = fitted(X, X[::-1], kernel=kernel, spread=0.01)
    np.testing.assert_allclose(found.weights_, 1.0)
    assert found.solution_.converged


def test_one_row_has_all_the_weight():
    one = fitted(np.array([[1.0, 2.0]]), np.array([[2.0, 1.0], [1.0, 1.0]]), **PLAIN)
    assert one.weights_ == pytest.approx([1.0])
    assert one.solution_.converged
    equal = fitted(np.ones((5, 2)), two(d=2)[1], **PLAIN)
    np.testing.assert_allclose(equal.weights_, 1.0)
    assert equal.solution_.x.size == 1
    assert equal.solution_.converged


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("more", [{}, {"spread": 0.1}, {"max_weight": 1.8}], ids=str)
def test_weight_two_is_the_row_twice_and_zero_its_absence(kernel, more):
    X, T = two(d=2)
    weights = np.random.default_rng(0).integers(0, 3, 30).astype(float)
    aims = np.random.default_rng(1).integers(0, 3, 20).astype(float)
    parameters = {"kernel": kernel, "tol": 1e-7, "gamma": 0.3, **more}
    weighted = fitted(X, T, weights, aims, **parameters)
    rows = np.repeat(np.arange(30), weights.astype(int))
    twice = fitted(X[rows], np.repeat(T, aims.astype(int), axis=0), **parameters)
    assert twice.discrepancy_ == pytest.approx(weighted.discrepancy_, rel=1e-5)
    assert twice.discrepancy_uniform_ == pytest.approx(weighted.discrepancy_uniform_)
    if more or kernel != "linear":
        # There the solution is unique, or nearly so.
        np.testing.assert_allclose(twice.weights_, weighted.weights_[rows], atol=0.02)
    assert (weighted.weights_[weights == 0] == 0).all()
    assert np.average(weighted.weights_, weights=weights) == pytest.approx(1.0)


def test_copies_have_equal_weights():
    X, T = two()
    found = fitted(np.vstack([X, X, X[:5]]), T, tol=1e-5, standardize=False)
    np.testing.assert_array_equal(found.weights_[:30], found.weights_[30:60])
    np.testing.assert_array_equal(found.weights_[:5], found.weights_[60:])
    assert found.solution_.x.size == 30
    alone = fitted(X, T, tol=1e-5, standardize=False)
    assert alone.discrepancy_ == pytest.approx(found.discrepancy_, rel=1e-4)
    capped = fitted(np.vstack([X, X]), T, max_weight=1.5)
    np.testing.assert_array_equal(capped.weights_[:30], capped.weights_[30:])


def test_the_laws_of_rotation_and_scale():
    X, T = two(n=15, m=15)
    found = fitted(X, T, tol=1e-8, **PLAIN)
    turn = special_ortho_group.rvs(4, random_state=0)
    turned = fitted(X @ turn, T @ turn, tol=1e-8, **PLAIN)
    assert turned.discrepancy_ == pytest.approx(found.discrepancy_, rel=1e-6)
    np.testing.assert_allclose(turned.weights_, found.weights_, atol=1e-3)
    scaled = fitted(3 * X, 3 * T, tol=1e-8, **PLAIN)
    assert scaled.discrepancy_ == pytest.approx(9 * found.discrepancy_, rel=1e-6)
    np.testing.assert_allclose(scaled.weights_, found.weights_, atol=1e-3)


def test_a_kernel_given_as_a_matrix_is_that_kernel():
    X, T = two(d=2)
    K = rbf_kernel(np.vstack([X, T]), gamma=0.4)
    parameters = {"tol": 1e-6, **PLAIN}
    named = fitted(X, T, kernel="rbf", gamma=0.4, **parameters)
    given = fitted(K[:30], K[30:], kernel="precomputed", **parameters)
    assert given.discrepancy_ == pytest.approx(named.discrepancy_, rel=1e-5)
    np.testing.assert_allclose(given.weights_, named.weights_, atol=1e-2)
    np.testing.assert_allclose(
        given.spectrum_.direction, named.spectrum_.direction, atol=1e-2
    )
    # Rows that do not count have columns all the same.
    weights = np.ones(30)
    weights[3] = 0.0
    less = fitted(K[:30], K[30:], weights, kernel="precomputed", **parameters)
    rows = np.flatnonzero(weights)
    few = fitted(X[rows], T, kernel="rbf", gamma=0.4, **parameters)
    assert less.discrepancy_ == pytest.approx(few.discrepancy_, rel=1e-5)
    multiple = fitted(7 * K[:30], 7 * K[30:], kernel="precomputed", **parameters)
    assert multiple.discrepancy_ == pytest.approx(7 * named.discrepancy_, rel=1e-5)


def test_the_linear_kernel_given_as_a_matrix_is_the_linear_kernel():
    X, T = two()
    K = np.vstack([X, T]) @ np.vstack([X, T]).T
    named = fitted(X, T, tol=1e-7, standardize=False)
    given = fitted(K[:30], K[30:], kernel="precomputed", tol=1e-7)
    assert given.discrepancy_ == pytest.approx(named.discrepancy_, rel=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_rows_give_what_dense_rows_give(kernel):
    rng = np.random.default_rng(0)
    X = sparse.random_array((25, 800), density=0.02, rng=rng).tocsr()
    T = sparse.random_array((20, 800), density=0.02, rng=rng).tocsr()
    parameters = {"kernel": kernel, "standardize": False, "tol": 1e-6, "gamma": 0.3}
    found = fitted(X, T, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        dense = fitted(X.toarray(), T.toarray(), **parameters)
    assert found.discrepancy_ == pytest.approx(dense.discrepancy_, rel=1e-5)
    np.testing.assert_allclose(found.predict_weights(X), found.weights_)


def test_a_cap_bounds_the_weights_and_a_spread_evens_them():
    X, T = two(n=60, m=40)
    free = fitted(X, T, tol=1e-5)
    capped = fitted(X, T, max_weight=1.5, tol=1e-5)
    assert free.weights_.max() > 2
    assert capped.weights_.max() <= 1.5 * (1 + 1e-9)
    assert capped.discrepancy_ >= free.discrepancy_ * (1 - 1e-4)
    sizes, norms = [], []
    for spread in (0.0, 0.01, 0.1, 1.0):
        found = fitted(X, T, spread=spread, tol=1e-5)
        assert found.solution_.converged
        sizes.append(found.effective_sample_size_)
        norms.append(found.discrepancy_)
    assert sizes == sorted(sizes)
    assert norms == sorted(norms)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("more", [{}, {"spread": 0.1}], ids=str)
def test_the_discrepancy_is_that_of_the_weights_with_their_exponent(kernel, more):
    X, T = two(n=20)
    X, counts = np.vstack([X, X[:5]]), np.r_[np.full(5, 2.0), np.ones(20)]
    plain = {"kernel": kernel, "gamma": 0.5, "standardize": False}
    for exponent in (0.0, 0.5):
        found = DiscrepancyWeights(exponent=exponent, **plain, **more)
        found.fit(X, X_target=T, sample_weight=counts)
        weights = counts * found.weights_
        value = discrepancy(X, T, sample_weight=weights, add_constant=True, **plain)
        assert found.discrepancy_ == pytest.approx(value, rel=1e-9)
        assert found.spectrum_.value == pytest.approx(value, rel=1e-9)


def test_among_weights_of_no_discrepancy_a_spread_takes_the_most_even():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((200, 2)), 3 + rng.standard_normal((200, 2))])
    T = rng.standard_normal((100, 2))
    center, even = fitted(X, T, tol=1e-4), fitted(X, T, tol=1e-4, spread=1e-3)
    assert center.discrepancy_ < 1e-4 * center.discrepancy_uniform_
    assert even.discrepancy_ < 1e-3 * even.discrepancy_uniform_
    assert even.effective_sample_size_ > center.effective_sample_size_


@pytest.mark.parametrize("solver", sorted(DISCREPANCY_SOLVERS))
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_solver_is_judged_by_the_same_proof(solver, kernel):
    X, T = two(n=20, m=15, d=3)
    spread = 0.01 if solver == "dual-newton" else 0.0
    best = fitted(X, T, kernel=kernel, spread=spread, tol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = fitted(
            X, T, kernel=kernel, spread=spread, solver=solver, max_iter=200, tol=1e-4
        )
    value, least = (one.solution_.certificate.objective for one in (found, best))
    assert value >= best.lower_bound_ * (1 - 1e-9)
    assert found.lower_bound_ <= least * (1 + 1e-9)
    assert found.discrepancy_ <= found.discrepancy_uniform_ * (1 + 1e-9)
    if solver not in (
        "frobenius",
        "smoothing",
        "multiplicative-weights",
        "subgradient",
    ) and (solver, kernel) != ("sdp", "rbf"):
        # Clarabel finds nothing on the factor of a kernel.
        assert found.solution_.converged


def test_a_solver_that_stops_short_tells_its_gap():
    X, T = two(n=20, m=15, d=3)
    with pytest.warns(ConvergenceWarning, match=r"NOT converged .* proved within"):
        found = fitted(X, T, solver="subgradient", max_iter=2)
    proof = found.solution_.certificate
    assert not found.solution_.converged
    assert proof.gap > 0
    assert proof.bound <= found.discrepancy_


def test_rows_of_fit_are_known_and_others_refused():
    X, T = two()
    found = fitted(X, T)
    np.testing.assert_array_equal(found.predict_weights(X[::-1]), found.weights_[::-1])
    unknown = r"alone, and row 1 of X is none of them.*such as KLIEP"
    with pytest.raises(ValueError, match=unknown):
        found.predict_weights([X[0], T[0]])
    with pytest.raises(ValueError, match=unknown.replace("row 1", "row 0")):
        found.score(X, X_target=T)
    with pytest.raises(ValueError, match=unknown.replace("row 1", "row 0")):
        found.score(X)
    with pytest.raises(ValueError, match="predict_weights needs the rows of fit"):
        found.without_rows().predict_weights(X)
    # A row of no weight that equals another has that one's.
    weights = np.ones(31)
    weights[30] = 0.0
    again = fitted(np.vstack([X, X[7]]), T, weights)
    assert again.weights_[30] == again.weights_[7]


def test_what_is_left_is_named_and_of_a_kernel_located():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((200, 3)), columns=["a", "b", "c"])
    target = pd.DataFrame(rng.standard_normal((200, 3)), columns=["a", "b", "c"])
    # Nothing in the source varies as c does in the target.
    target["c"] *= 6
    found = fitted(frame, target, standardize=False)
    assert found.spectrum_.ranking[0][0] == "c"
    assert found.spectrum_.signed[0] > 0
    shuffled = rng.permutation(60)
    T = np.vstack([rng.standard_normal((50, 2)), 5 + rng.standard_normal((10, 2))])
    far = fitted(
        rng.standard_normal((60, 2)), T[shuffled], kernel="rbf", gamma=0.5, tol=1e-2
    )
    worst = [place - 60 for place, _ in far.spectrum_.ranking[:3]]
    assert (shuffled[worst] >= 50).all()
    assert far.spectrum_.direction.shape == (120,)


def test_without_a_target_there_is_no_spectrum():
    with pytest.warns(UserWarning, match="no X_target"):
        found = DiscrepancyWeights().fit(two()[0])
    assert found.spectrum_ is None
    assert not hasattr(DiscrepancyWeights(), "spectrum_")


def test_adapted_uses_the_weights_and_can_be_saved(tmp_path):
    shift = make_gaussian_shift(2, n=150, m=140, random_state=0)
    model = Adapted(
        WeightedKernelRidge(alpha=0.1, kernel="linear"),
        DiscrepancyWeights(spread=0.01),
        calibration_fraction=0.2,
        random_state=0,
    ).fit(shift.X, shift.y, X_target=shift.X_target)
    assert model.adapted_
    np.testing.assert_array_equal(model.predict_weights(shift.X), model.weights_)
    with pytest.raises(ValueError, match="is none of them"):
        model.predict_interval(shift.X_target)
    model.save(tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_allclose(
        again.predict(shift.X_target), model.predict(shift.X_target)
    )
    guarded = Adapted(
        WeightedKernelRidge(kernel="linear"), DiscrepancyWeights(), guard=True
    ).fit(shift.X, shift.y, X_target=shift.X_target)
    assert guarded.guard_.metric


def test_scores_of_held_out_rows_are_refused():
    shift = make_gaussian_shift(1, n=60, m=60, random_state=0)
    search = GridSearchCV(
        Adapted(WeightedKernelRidge(), DiscrepancyWeights(), random_state=0),
        {"estimator__alpha": [0.1]},
        scoring=target_scorer("neg_mean_squared_error"),
        error_score="raise",
        cv=2,
    )
    with pytest.raises(ValueError, match="knows the weights of the source rows of fit"):
        search.fit(shift.X, shift.y, X_target=(shift.X_target,))


def test_estimates_of_performance_ask_for_a_density_ratio():
    shift = make_gaussian_shift(1, n=120, m=110, random_state=0)
    data = shift.X, shift.y, shift.X_target
    model = Adapted(WeightedKernelRidge(), DiscrepancyWeights(), random_state=0)
    model.fit(shift.X, shift.y, X_target=shift.X_target)
    for weight_estimator in ("model", DiscrepancyWeights()):
        with pytest.raises(TypeError, match="DiscrepancyWeights are no density ratio"):
            estimate_performance(
                model, *data, weight_estimator=weight_estimator, cv=3, random_state=0
            )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"max_weight": 0.5}, "max_weight must be at least 1.0 or None, got 0.5"),
        ({"spread": -1.0}, "spread must be at least 0.0 or 'auto', got -1.0"),
        ({"solver": "simplex"}, "solver must be one of 'auto', 'interior-point'"),
        ({"solver": "dual-newton"}, "solver='dual-newton' needs a spread above zero"),
        ({"tol": 1e-17}, "tol = 1e-17 is below what double precision can prove"),
        ({"kernel": "poly", "coef0": -1.0}, "negative coef0"),
        ({"kernel": "precomputed"}, "must be dense and have 50 columns, got 4"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        fitted(*two(), **parameters)


def test_more_columns_than_the_dual_can_store_are_refused():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(90, 61)), rng.normal(size=(80, 61))
    with pytest.raises(ValueError, match=r"takes 60 columns at most, .* got 62"):
        fitted(X, T, solver="dual-newton", spread=0.01)


def test_bad_samples_are_refused():
    X, T = two()
    K = rbf_kernel(np.vstack([X, T]))
    K[0, 0] = -1.0
    with pytest.raises(ValueError, match="smallest eigenvalue is -"):
        fitted(K[:30], K[30:], kernel="precomputed")
    with pytest.raises(ValueError, match="NaN"):
        fitted(np.where(X > 2, np.nan, X), T)
    with pytest.raises(ValueError, match="row"):
        fitted(X, T[:0])
    with pytest.raises(ValueError, match="columns"):
        fitted(X, T[:, :2])
    with pytest.raises(ValueError, match="two dimensions"):
        fitted(X[:, 0], T)
    with pytest.raises(ValueError, match=r"cap and spread need source rows that count"):
        fitted(X, T, np.linspace(0.1, 1.3, 30), max_weight=2.0)


def test_columns_of_uneven_scale_are_warned_about():
    X, T = two()
    units = np.array([1.0, 1e4, 1.0, 1.0])
    with pytest.warns(UserWarning, match=r"scales of the columns go from .* False"):
        fitted(X * units, T * units, standardize=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(X * units, T * units)
    with pytest.warns(UserWarning, match=r"column 1 lies .* away from zero: its level"):
        fitted(X + 1e3 * (units > 1), T + 1e3 * (units > 1))


def test_a_target_row_that_dominates_is_warned_about():
    X, T = two()
    T[7] *= 1000.0
    with pytest.warns(
        UserWarning, match=r"row 7 of X_target has 1?\d\d% of the target"
    ):
        fitted(X, T)
