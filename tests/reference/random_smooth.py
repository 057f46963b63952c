"""Random problems for the solvers that take no simple set, with optima of others."""

from itertools import product

import cvxpy as cp
import numpy as np
from optim.assignment.random_assignments import optimum as least_assignment
from optim.assignment.random_assignments import random_assignment
from optim.spectral.random_moments import optimum as least_norm
from optim.spectral.random_moments import random_problem as random_moments
from optim.test_mean_matching import CASES, both
from optim.test_mean_matching import optimum as least_distance
from reference.random_problems import optimum as least_value
from reference.random_problems import random_mixture, to_eleven_digits

from counterpoise.optim import (
    KernelDiscrepancy,
    LogLinearMixture,
    LogLinearRatio,
    OrthogonalProblem,
)


def tilted(seed):
    """Return a log-linear ratio and its least value, by cvxpy."""
    S, T, ridge = statistics(seed)
    shares = np.random.default_rng(seed).dirichlet(np.full(len(S), 3.0))
    x = cp.Variable(S.shape[1])
    value = cp.log_sum_exp(S @ x + np.log(shares)) - T.mean(axis=0) @ x
    program = cp.Problem(cp.Minimize(value + 0.5 * ridge * cp.sum_squares(x)))
    to_eleven_digits(program)
    return LogLinearRatio(S, T.mean(axis=0), shares, ridge), float(program.value)


def one_component(seed):
    """Return a mixture of one component, which is the ratio itself."""
    S, T, ridge = statistics(seed)
    shares = np.random.default_rng(seed).dirichlet(np.full(len(S), 3.0))
    _, best = tilted(seed)
    return LogLinearMixture(S, T, shares, np.full(len(T), 1 / len(T)), 1, ridge), best


def statistics(seed):
    rng = np.random.default_rng(seed)
    n, m, p = (
        int(rng.integers(5, 60)),
        int(rng.integers(5, 60)),
        int(rng.integers(1, 8)),
    )
    S = rng.standard_normal((n, p))
    T = rng.uniform(0.0, 0.7) + rng.uniform(0.5, 1.2) * rng.standard_normal((m, p))
    return S, T, 10.0 ** rng.uniform(-2, 0)


def mean_matching(seed):
    """Return weights of means brought together, with the whole kernel."""
    problem, _ = both(CASES[seed % len(CASES)], seed)
    return problem, least_distance(problem)


def mixture(seed):
    """Return a mixture likelihood, from which columns can be left out."""
    problem = random_mixture(seed)
    return problem, least_value(problem)


def moments(seed):
    """Return a discrepancy by columns."""
    problem = random_moments(seed)
    return problem, least_norm(problem)


def spread_moments(seed):
    """Return a discrepancy by columns with a price of uneven weights."""
    problem = random_moments(seed, spread=0.05)
    return problem, least_norm(problem)


def kernel_moments(seed):
    """Return the same problem seen through the linear kernel of its rows."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(3, 25)), int(rng.integers(3, 25))
    X = rng.standard_normal((m, 4)) + rng.uniform(-1, 1, 4)
    T = rng.standard_normal((n, 4)) * rng.uniform(0.5, 1.5)
    both_samples = np.vstack([X, T])
    K = both_samples @ both_samples.T
    problem = KernelDiscrepancy(K, np.full(n, 1.0 / n))
    return problem, least_norm(problem.features())


def assignment(seed):
    """Return an assignment of items to few words, with a graph or without."""
    problem = random_assignment(
        12 + seed, 4 + seed, seed, smoothness=0.02 * (seed % 2), equal=seed > 1
    )
    return problem, least_assignment(problem)


def quadratic_over_frames(seed):
    """Return one quadratic over frames; its least value is a sum of eigenvalues."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(3, 9)), int(rng.integers(1, 3))
    M = rng.standard_normal((n, n))
    problem = OrthogonalProblem(M, n_columns=m)
    return problem, np.linalg.eigvalsh((M + M.T) / 2.0)[:m].sum()


def longest_vectors_over_frames(seed):
    """Return a maximum whose vectors all fit into a frame: the shortest counts."""
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(4, 8)), 3
    vectors = rng.standard_normal((count, n))
    stack = -vectors[:, :, None] * vectors[:, None, :]
    problem = OrthogonalProblem(maximum=stack, n_columns=count)
    return problem, -(vectors**2).sum(axis=1).min()


def blocks_over_frames(seed):
    """Return a graph of two blocks; its best labels are found by trying them all."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 9))
    block = np.arange(n) < n // 2
    W = np.where(block[:, None] == block, 1.0, 0.01) * rng.uniform(0.5, 1.0, (n, n))
    W = np.triu(W, 1) + np.triu(W, 1).T
    L = np.diag(W.sum(axis=1)) - W
    least = min(
        sum(np.linalg.eigvalsh(L[np.ix_(own, own)])[0] for own in (cut, ~cut))
        for cut in map(np.array, product([False, True], repeat=n))
        if cut.any() and not cut.all()
    )
    return OrthogonalProblem(L, n_columns=2, nonnegative=True), least


FAMILIES = {
    "tilted": tilted,
    "one component": one_component,
    "mean matching": mean_matching,
    "mixture": mixture,
    "moments": moments,
    "moments with a spread": spread_moments,
    "kernel moments": kernel_moments,
    "assignment": assignment,
    "quadratic over frames": quadratic_over_frames,
    "longest vectors over frames": longest_vectors_over_frames,
    "blocks over frames": blocks_over_frames,
}
