"""Random problems over simple sets, with optima from cvxpy and Clarabel."""

import warnings

import cvxpy as cp
import numpy as np

from counterpoise.optim import (
    Box,
    CappedSimplex,
    Constrained,
    MixtureLikelihood,
    NegativeMeanLog,
    Quadratic,
    Simplex,
)

CONDITIONS = (1e1, 1e5, 1e9)


def random_problem(seed):
    """Return a problem: every set with every objective, by turns of the seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    domain = (
        Simplex(n),
        CappedSimplex(n, float(rng.uniform(1.2, 5.0)) / n),
        CappedSimplex(n, 4.0 * rng.random(n) + 0.1, total=0.1 * n, slack=0.05 * n),
        Box(-rng.uniform(0, 2, n), rng.uniform(0.1, 2, n)),
    )[seed % 4]
    kind = (seed // 4) % 4
    if kind < 3:
        return Constrained(random_quadratic(rng, n, CONDITIONS[kind]), domain)
    m = int(rng.integers(2, 60))
    weights = None if rng.random() < 0.5 else rng.random(m) + 0.01
    if isinstance(domain, Box):
        domain = Box(np.zeros(n), rng.uniform(0.1, 2, n))
        A = rng.standard_normal((m, n))
        A *= np.sign(A @ domain.start())[:, None]
    else:
        A = np.exp(-rng.exponential(size=(m, n)) * 10.0 ** rng.uniform(-1, 1.5))
        if isinstance(domain, Simplex) and rng.random() < 0.5:
            return MixtureLikelihood(A, weights)
    return Constrained(NegativeMeanLog(A, weights), domain)


def random_mixture(seed):
    """Return a small mixture likelihood; every other one is KLIEP's, on Gaussians."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(2, 50)), int(rng.integers(2, 40))
    weights = None if rng.random() < 0.5 else rng.random(m) + 0.01
    if seed % 2:
        A = np.exp(-rng.exponential(size=(m, n)) * 10.0 ** rng.uniform(-1, 1.5))
        return MixtureLikelihood(A, weights)
    d, width = int(rng.integers(1, 4)), 10.0 ** rng.uniform(-0.5, 0.7)
    source = rng.standard_normal((60, d))
    target = rng.uniform(0.0, 1.0) + rng.uniform(0.5, 1.2) * rng.standard_normal((m, d))

    def kernel(a, b):
        apart = a[:, None] - b[None]
        return np.exp(-0.5 * (apart**2).sum(axis=2) / width**2)

    b = np.maximum(kernel(source, target).mean(axis=0), 1e-12)
    return MixtureLikelihood(kernel(target, target) / b, weights)


def random_quadratic(rng, n, condition):
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    spectrum = np.logspace(0, -np.log10(condition), n)
    if rng.random() < 0.3:
        spectrum[n // 2 :] = 0.0
    Q = 10.0 ** rng.uniform(-1, 2) * (basis * spectrum) @ basis.T
    return Quadratic(0.5 * (Q + Q.T), rng.standard_normal(n))


def optimum(problem):
    """Return the least value, by cvxpy and Clarabel."""
    return _solved(problem)[0]


def feasible_optimum(problem):
    """Return the value at the point of Clarabel, brought into the set.

    No feasible point's value lies below the least one, so that no gap may be smaller
    than a value less this one: not even by what Clarabel's last digits are worth.
    """
    return float(problem.objective.value(problem.domain.project(_solved(problem)[1])))


def _solved(problem):
    x = cp.Variable(problem.domain.size)
    A, b, G, h = problem.domain.polyhedron()
    constraints = [G @ x <= h]
    if A.shape[0]:
        constraints.append(A @ x == b)
    objective = problem.objective
    if isinstance(objective, Quadratic):
        spectrum, basis = np.linalg.eigh(objective.Q)
        root = basis * np.sqrt(np.maximum(spectrum, 0.0))
        value = 0.5 * cp.sum_squares(root.T @ x) + objective.c @ x
    else:
        value = -objective.weights @ cp.log(objective.A @ x)
    program = cp.Problem(cp.Minimize(value), constraints)
    to_eleven_digits(program)
    return float(program.value), np.asarray(x.value)


def to_eleven_digits(program):
    """Solve a cvxpy problem as well as Clarabel can."""
    with warnings.catch_warnings():
        # At this accuracy Clarabel may say that the last digits are not certain.
        warnings.simplefilter("ignore")
        program.solve(
            solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11
        )
