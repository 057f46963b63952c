"""Random discrepancy problems, and their optima from cvxpy and Clarabel."""

import cvxpy as cp
import numpy as np

from counterpoise.optim import Discrepancy


def random_problem(seed, **options):
    """Two samples of up to 15 columns, some with repeated rows or dead columns."""
    rng = np.random.default_rng(seed)
    m, n, N = rng.integers(2, 40), rng.integers(2, 40), rng.integers(1, 16)
    X = rng.standard_normal((m, N)) * 10 ** rng.uniform(-2, 2) + rng.uniform(-1, 1, N)
    T = rng.standard_normal((n, N)) * X.std() + X.mean(axis=0) * rng.uniform(0, 2)
    if seed % 5 == 0:
        X = np.vstack([X, X[: m // 2]])
    if seed % 7 == 0:
        X[:, 0] = T[:, 0] = 0.0
    return Discrepancy.of(X, T, **options)


def thesis_samples(m, n, N, seed=0):
    """The artificial domains of Alvarez Melis (2013), chapter 6."""
    rng = np.random.default_rng(seed)
    target_mean = rng.uniform(-1, 1, N)
    means = rng.uniform(-1, 1, (N, N))
    T = target_mean + rng.standard_normal((n, N))
    from_target = rng.random(m) < 0.2
    centers = means[rng.integers(0, N, m)]
    centers[from_target] = target_mean
    return centers + rng.standard_normal((m, N)), T


def optimum(problem):
    """The optimum by cvxpy and Clarabel."""
    m, N = problem.rows.shape
    unit = problem.uniform_value
    z, t = cp.Variable(m, nonneg=True), cp.Variable()
    outer = np.stack([np.outer(x, x).ravel() for x in problem.rows], axis=1) / unit
    M = problem.target_moment / unit - cp.reshape(outer @ z, (N, N), order="C")
    M = 0.5 * (M + M.T)
    limits = [t * np.eye(N) >> M, M >> -t * np.eye(N), cp.sum(z) == 1]
    if problem.cap is not None:
        limits.append(z <= problem.cap)
    spread = problem.spread * (m * cp.sum_squares(z) - 1)
    whole = cp.Problem(cp.Minimize(t + spread), limits)
    whole.solve(solver="CLARABEL")
    return unit * max(float(whole.value), 0.0)
