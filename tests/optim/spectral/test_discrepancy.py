"""The discrepancy's value, bounds and proofs, against closed forms and cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from optim.spectral.random_moments import optimum, random_problem
from scipy.optimize import linprog

from counterpoise.optim import Discrepancy, DualMatrix


def samples(seed=0, m=30, n=20, N=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, N)) + 0.5, rng.normal(size=(n, N))


def weights(rng, m):
    z = rng.exponential(size=m) ** 3
    return z / z.sum()


def symmetric(rng, N):
    Y = rng.normal(size=(N, N))
    return Y + Y.T


def test_one_column_is_the_difference_of_mean_squares():
    X, T = np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [4.0]])
    z = np.array([0.5, 0.25, 0.25])
    problem = Discrepancy.of(X, T, np.array([0.75, 0.25]))
    assert problem.norm(z) == pytest.approx(abs(7.0 - 3.75), rel=1e-14)
    assert problem.uniform_value == pytest.approx(7.0 - 14.0 / 3.0, rel=1e-14)


def test_the_norm_is_the_largest_modulus_of_an_eigenvalue():
    X, T = samples()
    z = weights(np.random.default_rng(1), 30)
    M = T.T @ T / 20 - sum(z[i] * np.outer(X[i], X[i]) for i in range(30))
    norm = Discrepancy.of(X, T).norm(z)
    assert norm == pytest.approx(np.linalg.norm(M, 2), rel=1e-12)


def test_fewer_rows_than_columns_are_rotated_without_a_change():
    X, T = samples(m=5, n=4, N=40)
    z = weights(np.random.default_rng(2), 5)
    problem = Discrepancy.of(X, T)
    assert problem.rows.shape == (5, 9)
    whole = Discrepancy(X, T.T @ T / 4)
    assert problem.norm(z) == pytest.approx(whole.norm(z), rel=1e-12)
    assert problem.certify(z).bound == pytest.approx(whole.certify(z).bound, rel=1e-6)


def test_a_dual_matrix_is_divided_by_its_nuclear_norm_only_above_one():
    problem = Discrepancy.of(*samples())
    Y = symmetric(np.random.default_rng(3), 6)
    nuclear = np.abs(np.linalg.eigvalsh(Y)).sum()
    rows = problem.rows
    pulls = np.einsum("ij,jk,ik->i", rows, Y / nuclear, rows)
    by_hand = np.sum(problem.target_moment * Y) / nuclear - pulls.max()
    assert problem.dual_value(Y) == pytest.approx(by_hand, rel=1e-12)
    assert problem.dual_value(0.1 * Y / nuclear) == pytest.approx(0.1 * by_hand)
    values, vectors = np.linalg.eigh(Y)
    assert problem.dual_value(DualMatrix(vectors, values)) == pytest.approx(by_hand)


@pytest.mark.parametrize("cap", [None, 0.08])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_a_bound_is_the_minimum_over_the_weights(cap, spread):
    problem = Discrepancy.of(*samples(), cap=cap, spread=spread)
    Y = symmetric(np.random.default_rng(4), 6)
    Y /= np.abs(np.linalg.eigvalsh(Y)).sum()
    pulls, target = problem.pull(Y), float(np.sum(problem.target_moment * Y))
    top = 1.0 if cap is None else cap
    if spread == 0.0:
        best = linprog(-pulls, A_eq=np.ones((1, 30)), b_eq=[1.0], bounds=(0.0, top)).fun
    else:
        z = cp.Variable(30)
        even = spread * problem.uniform_value * (30 * cp.sum_squares(z) - 1)
        limits = [z >= 0, z <= top, cp.sum(z) == 1]
        best = cp.Problem(cp.Minimize(even - pulls @ z), limits).solve("CLARABEL")
    assert problem.dual_value(Y) == pytest.approx(target + best, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [{}, {"spread": 0.2}], ids=["plain", "spread"])
def test_no_certificate_is_out_of_order(seed, options):
    problem = random_problem(seed, **options)
    best = optimum(problem)
    rng = np.random.default_rng(seed)
    rounding = 1e-6 * best + 1e-7 * problem.uniform_value
    for _ in range(3):
        Y = symmetric(rng, problem.rows.shape[1])
        z = weights(rng, problem.size)
        proof = problem.certify(z, Y)
        assert proof.bound <= best + rounding
        assert proof.objective >= best - rounding
        assert proof.gap == proof.objective - proof.bound
        assert proof.bound >= problem.certify(z).bound - rounding
        assert problem.judge(z, problem.value(z), Y).gap >= proof.gap - rounding


def test_the_proof_from_the_weights_alone_is_tight_at_the_optimum():
    X, T = samples(m=60, n=50, N=8)
    problem = Discrepancy.of(X, T)
    z, t = cp.Variable(60, nonneg=True), cp.Variable()
    outer = np.stack([np.outer(x, x).ravel() for x in X], axis=1)
    M = problem.target_moment - cp.reshape(outer @ z, (8, 8), order="C")
    M = 0.5 * (M + M.T)
    limits = [t * np.eye(8) >> M, M >> -t * np.eye(8), cp.sum(z) == 1]
    cp.Problem(cp.Minimize(t), limits).solve("CLARABEL")
    found = problem.certify(z.value)
    assert found.holds(0.05)
    assert not problem.certify(problem.start()).holds(0.05)


def test_the_scale_is_a_hundredth_of_equal_weights_where_the_optimum_is_zero():
    X, _ = samples()
    problem = Discrepancy.of(X, X[:5])
    z = np.zeros(30)
    z[:5] = 0.2
    proof = problem.certify(z)
    assert proof.scale == pytest.approx(0.01 * problem.uniform_value)
    assert proof.holds(1e-9)
    assert proof.bound <= 1e-12


def test_equal_samples_have_nothing_to_prove():
    X, _ = samples()
    problem = Discrepancy.of(X, X)
    proof = problem.certify(problem.start())
    assert proof.scale == 1.0
    assert proof.holds(1e-12)
    zero = Discrepancy(np.zeros((3, 2)), np.zeros((2, 2)))
    assert zero.certify(zero.start()).holds(1e-12)


def test_weights_are_normalized_before_the_proof_and_reported_as_they_are():
    problem = Discrepancy.of(*samples())
    z = weights(np.random.default_rng(5), 30)
    proof = problem.certify(2.0 * z)
    assert proof.objective == pytest.approx(problem.norm(z), rel=1e-12)
    assert proof.infeasibility == pytest.approx(1.0, rel=1e-9)
    assert not proof.holds(1e3)


def test_the_spread_vanishes_at_equal_weights_and_grows_with_concentration():
    problem = Discrepancy.of(*samples(), spread=0.5)
    assert problem.spread_term(problem.start()) == pytest.approx(0.0, abs=1e-12)
    one = np.eye(30)[0]
    term = 0.5 * problem.uniform_value * 29.0
    assert problem.value(one) - problem.norm(one) == pytest.approx(term)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cap": 0.01}, "cap must be at least 1 / 30"),
        ({"spread": -1.0}, "spread must be non-negative, got -1"),
        ({"target_share": -np.ones(20)}, "target_share must have 20 non-negative"),
        ({"target_rows": np.ones((3, 2))}, "target_rows must have 6 columns"),
        ({"rows": np.full((3, 6), np.nan)}, "rows must be finite, got nan at row 0"),
    ],
)
def test_bad_input_is_named(change, message):
    X, T = samples()
    with pytest.raises(ValueError, match=message):
        Discrepancy.of(**({"rows": X, "target_rows": T} | change))
