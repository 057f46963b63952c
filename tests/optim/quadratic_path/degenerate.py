"""Random degenerate problems, and chains of moves through them."""

from dataclasses import dataclass

import numpy as np

from counterpoise.optim.quadratic_path.follower import Follower, from_prices, from_zero
from counterpoise.optim.quadratic_path.problem import DenseRows, RowsOnDemand


def rbf(X, gamma=1.0):
    squares = ((X[:, None] - X[None]) ** 2).sum(2)
    return np.exp(-gamma * squares / X.shape[1])


def on_demand(K, n_rows):
    """The matrix as rows on demand, of which so many are kept."""

    def block(rows, columns):
        return K[rows] if columns is None else K[np.ix_(rows, columns)]

    return RowsOnDemand(block, K.diagonal().copy(), 8 * n_rows * len(K))


@dataclass
class Chain:
    """A follower with a first solution, and weights to move it to."""

    K: np.ndarray
    follower: Follower
    weights: list

    def limit(self):
        """What rounding leaves of the residual."""
        size = np.abs(self.follower.a).sum() * max(1.0, np.abs(self.K).max())
        return max(1e-9, 1e-15 * size)


def chain(seed, n_moves=6, few_rows=False):
    """Small integer, duplicated or random rows; weights with ties and zeros."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 40)), int(rng.integers(1, 4))
    X = [
        rng.integers(0, 3, (n, d)).astype(float),
        rng.standard_normal((n, d)),
        np.round(rng.random((n, d)), 1),
    ][rng.integers(3)]
    if rng.random() < 0.3:
        X = np.r_[X, X[: n // 2]]
    n = len(X)
    which = rng.integers(4)
    K = [X @ X.T, rbf(X), (1 + X @ X.T) ** 2, rbf(X, 20.0)][which]
    K = (K + K.T) / 2
    C = 10.0 ** rng.integers(-1, 4)

    def weights():
        kind = rng.integers(4)
        if kind == 0:
            return C * rng.integers(0, 3, n).astype(float)
        if kind == 1:
            return C * np.ones(n)
        if kind == 2:
            return C * rng.random(n)
        return C * rng.exponential(1.0, n) * (rng.random(n) > 0.4)

    rows = on_demand(K, 8) if few_rows else DenseRows(K)
    kind = rng.integers(3)
    twice = kind == 1
    if kind == 0:
        y = rng.integers(0, 2, n) * 2.0 - 1.0
        follower, p = Follower(rows, y), np.ones(n)
    elif kind == 1:
        y = np.round(X[:, 0] + rng.standard_normal(n), int(rng.integers(0, 3)))
        epsilon = float(rng.choice([0.05, 0.5, 1.0]))
        both = np.r_[np.arange(n), np.arange(n)]
        follower = Follower(rows, np.repeat([1.0, -1.0], n), both)
        p = np.r_[y - epsilon, -y - epsilon]
    else:
        follower, p = Follower(rows, np.ones(n), bias=False), np.ones(n)
    targets = [weights() for _ in range(n_moves + 1)]
    if twice:
        targets = [np.r_[c, c] for c in targets]
    zero = np.zeros(p.size)
    if rng.random() < 0.5:
        from_prices(follower, p, zero, targets[0], seed=seed)
    else:
        from_zero(follower, p, zero, targets[0])
    return Chain(K, follower, targets[1:])


def worst_residual(seed, n_moves=6, n_random=20, few_rows=False):
    """The largest residual on a chain, in units of what rounding allows."""
    rng = np.random.default_rng(seed)
    one = chain(seed, n_moves, few_rows)
    worst = 0.0
    for c in one.weights:
        path = one.follower.move(upper=c)
        limit = one.limit()
        for theta in np.r_[path.thetas, rng.random(n_random)]:
            worst = max(worst, path.certify(theta).residual / limit)
    return worst
