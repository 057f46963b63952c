"""Random problems over frames, and starts."""

import numpy as np

from counterpoise.linalg.stiefel import polar
from counterpoise.subspaces import OrthogonalProblem


def symmetric(rng, n):
    M = rng.standard_normal((n, n))
    return (M + M.T) / 2.0


def frame(rng, n, m):
    return polar(rng.standard_normal((n, m)))


def constrained(seed, slack=0.1):
    """Return a problem of 1 to 3 quadratic constraints that some frame keeps."""
    rng = np.random.default_rng(seed)
    n, m, p = int(rng.integers(8, 21)), 2, int(rng.integers(1, 4))
    M, N = symmetric(rng, n), rng.standard_normal((n, m))
    inside = frame(rng, n, m)
    constraints = []
    for _ in range(p):
        A, B = symmetric(rng, n), rng.standard_normal((n, m))
        at = np.sum(A * (inside @ inside.T)) + np.sum(B * inside)
        constraints.append((A, B, float(-at - slack)))
    return OrthogonalProblem(M, N, constraints=constraints), frame(rng, n, m)


def smooth(seed):
    """Return a quadratic with a linear term, and a start."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(8, 51)), int(rng.integers(1, 6))
    M, N = symmetric(rng, n), rng.standard_normal((n, m))
    M *= 10.0 ** rng.uniform(-1.0, 1.0)
    return OrthogonalProblem(M, N), frame(rng, n, m)


def worst_of_many(seed, count=21):
    """Return a maximum of minus squared lengths, and a start."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(8, 31)), int(rng.integers(1, 5))
    vectors = rng.standard_normal((count, n)) * rng.uniform(0.5, 2.0, (count, 1))
    stack = -vectors[:, :, None] * vectors[:, None, :]
    return OrthogonalProblem(maximum=stack, n_columns=m), vectors, frame(rng, n, m)
