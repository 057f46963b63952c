"""Random problems over frames."""

import numpy as np

from counterpoise.linalg.stiefel import polar
from counterpoise.optim import OrthogonalProblem


def symmetric(rng, n):
    M = rng.standard_normal((n, n))
    return (M + M.T) / 2.0


def frame(rng, n, m):
    return polar(rng.standard_normal((n, m)))


def constrained(seed, slack=0.1):
    """Return a problem whose constraints some frame keeps, and a start."""
    rng = np.random.default_rng(seed)
    n, m, p = int(rng.integers(8, 15)), 2, int(rng.integers(1, 4))
    M, N, inside = symmetric(rng, n), rng.standard_normal((n, m)), frame(rng, n, m)
    constraints = []
    for _ in range(p):
        A, B = symmetric(rng, n), rng.standard_normal((n, m))
        at = np.sum(A * (inside @ inside.T)) + np.sum(B * inside)
        constraints.append((A, B, float(-at - slack)))
    return OrthogonalProblem(M, N, constraints=constraints), frame(rng, n, m)


def everything(seed, *, nonnegative=False):
    """Return a problem with every kind of term, and its raw parts."""
    rng = np.random.default_rng(seed)
    n, m = 6, 2
    parts = {
        "quadratic": symmetric(rng, n),
        "linear": rng.standard_normal((n, m)),
        "maximum": np.stack([symmetric(rng, n) for _ in range(3)]),
        "l1": (rng.standard_normal((2, n, m)), rng.standard_normal(2)),
        "constraints": [(symmetric(rng, n), rng.standard_normal((n, m)), -1.0)],
        "nonnegative": nonnegative,
    }
    return OrthogonalProblem(**parts), parts
