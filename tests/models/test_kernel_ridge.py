"""Weighted kernel ridge regression."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import counterpoise
from counterpoise.models import WeightedKernelRidge, kernel_ridge
from counterpoise.optim.problems import KernelRidge


def data(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n) + 5.0
    return X, y, rng.exponential(1.0, n), rng


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_without_weights_it_is_that_of_scikit_learn(kernel):
    X, y, _, rng = data()
    new = rng.standard_normal((20, 3))
    numbers = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 0.5}
    ours = WeightedKernelRidge(alpha=0.01, fit_intercept=False, **numbers).fit(X, y)
    theirs = TheirRidge(alpha=60 * 0.01, **numbers).fit(X, y)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-9)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-9)


def test_with_weights_it_is_that_of_scikit_learn_too():
    X, y, w, rng = data()
    new = rng.standard_normal((20, 3))
    ours = WeightedKernelRidge(alpha=0.01, gamma=0.5, fit_intercept=False)
    theirs = TheirRidge(alpha=w.sum() * 0.01, kernel="rbf", gamma=0.5)
    expected = theirs.fit(X, y, sample_weight=w).predict(new)
    np.testing.assert_allclose(ours.fit(X, y, w).predict(new), expected, atol=1e-9)
    # No gamma: one over the number of columns, as theirs.
    default = WeightedKernelRidge(alpha=0.01, fit_intercept=False).fit(X, y, w)
    theirs = TheirRidge(alpha=w.sum() * 0.01, kernel="rbf").fit(X, y, w)
    np.testing.assert_allclose(default.predict(new), theirs.predict(new), atol=1e-9)


@pytest.mark.parametrize("rank", [None, 3])
def test_the_intercept_is_not_penalized(rank):
    X, y, w, rng = data()
    new = rng.standard_normal((20, 3))
    ours = WeightedKernelRidge(alpha=0.1, kernel="linear", rank=rank).fit(X, y, w)
    theirs = Ridge(alpha=w.sum() * 0.1).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(new), theirs.predict(new), atol=1e-9)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-9)
    moved = WeightedKernelRidge(alpha=0.1, kernel="linear", rank=rank)
    moved.fit(X, y + 1e6, w)
    np.testing.assert_allclose(moved.predict(new) - 1e6, ours.predict(new), atol=1e-8)


def test_the_weighted_mean_of_the_labels_is_not_the_intercept():
    X, y, w, _ = data()
    model = WeightedKernelRidge(alpha=1e-3).fit(X, y, w)
    assert abs(model.intercept_ - np.average(y, weights=w)) > 1e-3
    # Weighted residuals add up to zero instead.
    assert w @ (y - model.predict(X)) == pytest.approx(0.0, abs=1e-9 * w.sum())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("rank", [None, 12])
def test_weight_two_is_the_row_twice_and_zero_its_absence(rank, intercept):
    X, y, _, rng = data()
    new = rng.standard_normal((20, 3))
    weights = rng.integers(0, 3, 60).astype(float)
    model = WeightedKernelRidge(gamma=0.5, rank=rank, fit_intercept=intercept)
    weighted = model.fit(X, y, weights).predict(new)
    twice = np.repeat(np.arange(60), weights.astype(int))
    np.testing.assert_allclose(
        model.fit(X[twice], y[twice]).predict(new), weighted, atol=1e-8
    )
    np.testing.assert_allclose(
        model.fit(X, y, 7.5 * weights).predict(new), weighted, atol=1e-8
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "precomputed"])
@pytest.mark.parametrize("intercept", [True, False])
def test_full_rank_is_exact(kernel, intercept):
    X, y, w, rng = data(n=40)
    new = rng.standard_normal((10, 3))
    if kernel == "precomputed":
        new, X = rbf_kernel(new, X, gamma=0.5), rbf_kernel(X, gamma=0.5)
    options = {"kernel": kernel, "alpha": 1e-2, "fit_intercept": intercept}
    exact = WeightedKernelRidge(**options).fit(X, y, w)
    full = WeightedKernelRidge(rank=40, **options).fit(X, y, w)
    np.testing.assert_allclose(full.predict(new), exact.predict(new), atol=1e-6)
    assert full.rank_error_ < 1e-8 * np.abs(X @ X.T).max() ** 3
    assert exact.rank_error_ is None
    assert exact.solution_.converged
    assert full.solution_.converged


def test_low_rank_is_near_and_says_what_it_leaves_out():
    X, y, _, rng = data(n=400, d=2)
    new = rng.standard_normal((50, 2))
    exact = WeightedKernelRidge(gamma=0.2).fit(X, y).predict(new)
    errors, left = [], []
    for rank in (5, 20, 60):
        model = WeightedKernelRidge(gamma=0.2, rank=rank).fit(X, y)
        assert model.dual_coef_.shape == (rank,)
        assert model.X_fit_.shape == (rank, 2)
        errors.append(np.abs(model.predict(new) - exact).max())
        left.append(model.rank_error_)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3
    assert left[0] > left[1] > left[2] > 0


def test_several_outputs_are_several_models():
    X, y, w, rng = data()
    Y = np.column_stack([y, X[:, 1] ** 2, np.ones(60)])
    new = rng.standard_normal((20, 3))
    for rank in (None, 15):
        model = WeightedKernelRidge(gamma=0.5, rank=rank)
        together = model.fit(X, Y, w)
        assert together.predict(new).shape == (20, 3)
        assert together.intercept_.shape == (3,)
        predicted = together.predict(new)
        for k in range(3):
            alone = WeightedKernelRidge(gamma=0.5, rank=rank).fit(X, Y[:, k], w)
            np.testing.assert_allclose(predicted[:, k], alone.predict(new), atol=1e-9)


def test_given_matrices_and_callables_are_kernels():
    X, y, w, rng = data()
    new = rng.standard_normal((20, 3))

    def kernel(A, B):
        return polynomial_kernel(A, B, degree=2, gamma=0.5, coef0=1.0)

    named = WeightedKernelRidge(kernel="poly", degree=2, gamma=0.5).fit(X, y, w)
    given = WeightedKernelRidge(kernel="precomputed").fit(kernel(X, X), y, w)
    called = WeightedKernelRidge(kernel=kernel).fit(X, y, w)
    expected = named.predict(new)
    np.testing.assert_allclose(given.predict(kernel(new, X)), expected, atol=1e-9)
    np.testing.assert_allclose(called.predict(new), expected, atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("rank", [None, 8])
def test_sparse_rows_give_what_dense_rows_give(kernel, rank):
    rng = np.random.default_rng(0)
    X = sparse.random_array((40, 12), density=0.3, rng=rng).tocsr()
    y = rng.standard_normal(40)
    model = WeightedKernelRidge(kernel=kernel, rank=rank, alpha=0.1)
    dense = model.fit(X.toarray(), y).predict(X.toarray())
    bar = 1e-8 if rank is None or kernel != "rbf" else 0.3
    np.testing.assert_allclose(model.fit(X, y).predict(X), dense, atol=bar)


def test_frames_give_what_arrays_give():
    X, y, w, _ = data()
    frame = pd.DataFrame(X, columns=list("abc"))
    model = WeightedKernelRidge().fit(frame, pd.Series(y), w)
    assert list(model.feature_names_in_) == list("abc")
    plain = WeightedKernelRidge().fit(X, y, w)
    assert model.predict(frame).tobytes() == plain.predict(X).tobytes()


@pytest.mark.parametrize("intercept", [True, False])
def test_the_gap_bounds_the_excess_at_any_point(intercept):
    X, y, w, rng = data(n=25)
    K = rbf_kernel(X, gamma=0.5)
    share = w / w.sum()
    Y = np.column_stack([y, y**2])
    problem = KernelRidge(K.dot, Y, share, 0.05, intercept)

    def objective(flat):
        """The objective as the docstring has it, over h and b."""
        c, b = flat[:-2].reshape(25, 2), flat[-2:] * intercept
        left = Y - K @ c - b
        norm = np.sum(c * (K @ c))
        return 0.5 * np.sum(share @ left**2) + 0.025 * norm

    start = np.zeros(52)
    best = minimize(objective, start, method="BFGS", options={"gtol": 1e-9}).fun
    model = WeightedKernelRidge(alpha=0.05, gamma=0.5, fit_intercept=intercept)
    found = model.fit(X, Y, w).solution_
    assert found.certificate.gap < 1e-20
    assert found.certificate.objective == pytest.approx(best, rel=1e-6)
    for size in (1e-3, 0.1, 3.0):
        v = found.x + size * rng.standard_normal(found.x.shape)
        proof = problem.certify(v)
        assert proof.objective - best <= proof.gap * (1 + 1e-9) + 1e-6
        assert proof.gap < 100 * size**2
        inside = v - intercept * problem.roots * (problem.roots.T @ v)
        flat = np.append((problem.roots * inside).ravel(), problem.intercepts(v))
        assert problem.value(v) == pytest.approx(objective(flat), rel=1e-9)
    # The gap is that between primal and dual, no more.
    assert problem.certify(problem.start()).gap == pytest.approx(problem.scale)


def test_a_factor_that_does_not_solve_is_warned_about(monkeypatch):
    X, y, _, _ = data()
    real = kernel_ridge.cho_solve
    monkeypatch.setattr(kernel_ridge, "cho_solve", lambda *a: 0.5 * real(*a))
    with pytest.warns(ConvergenceWarning, match=r"proved within .*; raise alpha"):
        WeightedKernelRidge().fit(X, y)


def test_a_kernel_that_is_none_is_refused():
    X, y, _, _ = data()
    with pytest.raises(ValueError, match=r"alpha = 0\.001 is too small"):
        WeightedKernelRidge(kernel="precomputed").fit(-X @ X.T, y)
    with pytest.raises(ValueError, match="its diagonal goes down to -"):
        WeightedKernelRidge(kernel="precomputed", rank=5).fit(-X @ X.T, y)
    with pytest.raises(ValueError, match="must be a square matrix, got shape"):
        WeightedKernelRidge(kernel="precomputed").fit(X, y)


@pytest.mark.parametrize("rank", [None, 5])
def test_equations_without_a_factor_are_refused(rank, monkeypatch):
    def fails(*_, **__):
        raise np.linalg.LinAlgError("not positive definite")

    X, y, _, _ = data()
    monkeypatch.setattr(kernel_ridge, "cho_factor", fails)
    with pytest.raises(ValueError, match=r"alpha = 0\.001 is too small"):
        WeightedKernelRidge(rank=rank).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha must be positive, got 0.0"),
        ({"gamma": -1.0}, "gamma must be positive or None, got -1.0"),
        ({"rank": 0}, "rank must be at least 1 or None, got 0"),
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"kernel": "poly", "coef0": -1.0}, "negative coef0"),
        ({"kernel": lambda A, B: np.ones((2, 2))}, r"must have shape \(60, 60\)"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    X, y, _, _ = data()
    with pytest.raises(ValueError, match=message):
        WeightedKernelRidge(**parameters).fit(X, y)


@pytest.mark.parametrize("rank", [None, 4])
def test_odd_rows_give_numbers(rank):
    for X in (np.zeros((5, 2)), np.ones((5, 2)), 1e5 * np.eye(5)):
        for kernel in ("rbf", "linear"):
            model = WeightedKernelRidge(kernel=kernel, rank=rank, alpha=0.1)
            model.fit(X, np.arange(5.0))
            assert np.isfinite(model.predict(X)).all()
    one = WeightedKernelRidge(rank=rank).fit([[1.0]], [3.0])
    assert one.predict([[2.0]]) == pytest.approx(3.0)


def test_it_works_in_grid_search():
    X, y, w, _ = data()
    search = GridSearchCV(WeightedKernelRidge(), {"alpha": [1e-3, 10.0]}, cv=3)
    assert search.fit(X, y, sample_weight=w).best_params_ == {"alpha": 1e-3}


def test_it_is_public():
    assert counterpoise.models.WeightedKernelRidge is WeightedKernelRidge


EVERY = [WeightedKernelRidge(), WeightedKernelRidge(rank=150)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(EVERY)
def test_scikit_learn_is_content(estimator, check):
    check(estimator)
